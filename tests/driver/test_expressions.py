"""Expressions: what they can compute, and that they can do nothing else."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from teenycuda_cli.driver.checks.expression_bounds import Bounds
from teenycuda_cli.driver.checks.expressions import evaluate
from teenycuda_cli.driver.memory_size import memory_bytes
from teenycuda_cli.errors import TimeoutExpired, UsageError
from tests.work import calls, peak_bytes

X = np.arange(12.0).reshape(3, 4) - 5
Y = np.linspace(-1, 1, 12).reshape(4, 3)
VALUES: dict[str, Any] = {"x": X, "y": Y, "n": 4096, "a": 0.5, "max": np.ones(3)}


def softmax(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The numpy way."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x+1", X + 1),
        ("x @ y", X @ Y),
        ("x.sum()", X.sum()),
        ("where(x>0,x,0)", np.maximum(X, 0)),
        (
            "exp(x-max(x,axis=1,keepdims=True))/exp(x-max(x,axis=1,keepdims=True)).sum(axis=1,keepdims=True)",
            softmax(X),
        ),
        ("arange(n)*2", np.arange(4096) * 2),
        ("np.exp(x)+np.pi", np.exp(X) + np.pi),
        ("x.T.reshape(2,-1)", X.T.reshape(2, -1)),
        ("x[1:,::-1]", X[1:, ::-1]),
        ("x[:,None]*1", X[:, None]),
        ("x[...,0]", X[..., 0]),
        ("x[[0,2]]", X[[0, 2]]),
        ("x[x>0]", X[X > 0]),
        ("(x>0)&(x<3)|(x==-1)", ((X > 0) & (X < 3)) | (X == -1)),
        ("-1<x<3", (X > -1) & (X < 3)),
        ("(x>0)+(x>1)", (X > 0) * 1.0 + (X > 1)),
        ("~(x>0)", X <= 0),
        ("x//2+x%3", X // 2 + X % 3),
        ("(x+5).astype(i32)&3", np.arange(12).reshape(3, 4) & 3),
        ("x.astype(u8)", X.astype(np.int64) % 256),
        ("(x*1000).astype(i8)", (X * 1000).astype(np.int64).astype(np.int8)),
        ("(x/3).astype(f16)", (X / 3).astype(np.float16)),
        ("n*1.5-a", 4096 * 1.5 - 0.5),
        ("clip(x,-1,1)+sort(y,axis=0).T", np.clip(X, -1, 1) + np.sort(Y, axis=0).T),
        ("concatenate([x,x],axis=1)", np.concatenate([X, X], axis=1)),
        ("stack((x,x)).shape", [2, 3, 4]),
        ("cumsum(x,1)[:,-1]", X.sum(axis=1)),
        ("bincount((x+5).ravel()//2, minlength=8)", [2, 2, 2, 2, 2, 2, 0, 0]),
        ("x.argmax()+x.shape[1]", 15),
        ("1/0", np.inf),
        ("2**10+10%3-7//2", 1022),
        ("1<<5", 32),
        ("x.mean(axis=(0,1))", X.mean()),
        ("1j*x", 1j * X),
        ("max(x)", 6),
        (" x + 1 ", X + 1),
        ("erf(a)", 0.5204998778130465),
        ("[1,2,3]", [1, 2, 3]),
    ],
)
def test_what_expressions_compute(text: str, expected: Any) -> None:
    """Expressions mean what they mean in numpy, in float64 and in integers."""
    result = np.asarray(evaluate(text, VALUES))
    np.testing.assert_allclose(result, expected, rtol=1e-15, atol=1e-15)
    assert result.dtype in (np.float64, np.complex128, np.bool_, np.int64)


ATTACKS = [
    "().__class__",
    "().__class__.__bases__[0].__subclasses__()",
    "x.__class__",
    "x.__array_interface__",
    "x._data",
    "x.tofile('p')",
    "x.dump('p')",
    "x.dtype",
    "x.base",
    "x.ctypes",
    "x.data",
    "x.setflags(write=1)",
    "np.__dict__",
    "np.save('p', x)",
    "np.load('p')",
    "np.fromfile('p')",
    "np.memmap('p')",
    "np.linalg",
    "np.lib.npyio",
    "np.core",
    "np.testing",
    "open('/etc/passwd')",
    "__import__('os').system('true')",
    "eval('1')",
    "exec('1')",
    "getattr(x, 'sum')",
    "globals()",
    "print(x)",
    "lambda: 1",
    "(lambda f: f(f))(lambda f: f(f))",
    "[i for i in x]",
    "[1 for a in x for b in x for c in x]",
    "{i: i for i in x}",
    "(i for i in x)",
    "f'{x}'",
    "f'{x.__class__}'",
    "'a'*10**9",
    "'%s' % x",
    "x if a else y",
    "a and x",
    "not a",
    "(z := 5)",
    "*x,",
    "sum(*x)",
    "sum(**x)",
    "sum(x, out=y)",
    "exp(x, out=x)",
    "exp(x, y)",
    "sum(x, dtype=object)",
    "x.astype(object)",
    "x.astype('O')",
    "x in y",
    "x is y",
    "x[y.__class__]",
    "exp",
    "x.sum",
    "f32",
    "None",
    "...",
    "n[0]",
    "x[0.5]",
    "x[99]",
    "[x,1].size",
    "x[a:1.5]",
    "max(x, y)",
    "reshape(x, 5)",
    "x@x",
    "zeros(-1)",
    "x.reshape(2**70)",
    "await x",
    "x; y",
    "x = y",
    "import os",
    "",
    "   ",
    "x +",
    "((",
    "x..T",
    "1__0",
    "\0",
    "x\n+",
    "é",
    "é.sum()+" + "x" * 200 + "y",
    "unknown + 1",
    "x.unknown",
    "unknown(x)",
    "print",
    "1<<-1",
    "1<<100",
    "x<<64",
    "a&1",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_what_expressions_refuse(text: str) -> None:
    """All else is a usage error, with a caret under the place."""
    with pytest.raises(UsageError) as caught:
        evaluate(text, VALUES)
    assert caught.value.message
    if caught.value.column is not None:
        assert "^" in caught.value.context[1]


BOMBS = [
    "10**10**10",
    "9**9**9**9**9",
    "2**2**2**2**2**2**2",
    "(2**64)**(2**64)",
    "1" + "0" * 4000,
    "1" * 4096,
    "+".join(["1"] * 1500),
    "*".join(["9**60"] * 400),
    "-" * 4000 + "1",
    "~" * 4000 + "1",
    "(" * 90 + "1" + ")" * 90,
    "(" * 1000 + "1" + ")" * 1000,
    "[" * 1000,
    "x" + ".T" * 1500,
    "x" + "[0:1]" * 500,
    "zeros(10**10)",
    "zeros((10**5,10**5))",
    "zeros((2**31,2**33))",
    "ones(2**62)",
    "full((2**40,),1)",
    "eye(10**6)",
    "arange(1e18)",
    "arange(0,1,1e-300)",
    "arange(0,inf)",
    "arange(nan)",
    "linspace(0,1,10**12)",
    "tile(x,10**9)",
    "repeat(x,10**12)",
    "broadcast_to(a,(10**9,10**9))",
    "x.reshape(12,1,1)*zeros((2**24,))",
    "outer(zeros(10**6),zeros(10**6))",
    "zeros(2**20)[:,None]+zeros(2**20)",
    "zeros((1,2**20))[zeros(2**20)]",
    "zeros((2**13,2**13))@zeros((2**13,2**13))@zeros((2**13,2**13))",
    "bincount(full(1,1e15))",
    "bincount(full(1,10),minlength=10**12)",
    "diag(zeros(10**6))",
    "x" * 5000,
    "1e308*10**400",
    "sum(" * 99 + "x" + ")" * 99,
    "(arange(2**16)+2**200)*1",
    "(arange(2**12)*2**100+1)*(arange(2**12)*2**100)",
    "(arange(4)+2**60)**(2**60)",
    "(arange(4)+2)**(arange(4)*2**61)",
    "prod(arange(2**16)+1)",
    "cumprod(arange(2**12)+2**63)",
    "arange(2**10)<<63<<63<<63<<63<<63",
    "(arange(2**12).reshape(64,64)+2**40)@(arange(2**12).reshape(64,64)+2**40)",
    "arange(2**200,2**200+2**16)",
    "[9**99]",
]


@pytest.mark.parametrize("text", BOMBS, ids=range(len(BOMBS)))
def test_no_expression_hangs_or_fills_the_memory(text: str) -> None:
    """Whatever is too large ends as a number (infinity, too) or as a usage error, within what it may use."""
    results: list[Any] = []

    def compute() -> None:
        bounds = Bounds(elements=1 << 16, work=1 << 18, products=1 << 20)
        try:
            results.append(evaluate(text, VALUES, bounds=bounds))
        except UsageError as error:
            results.append(error.message)

    assert peak_bytes(compute) < 8 << 20
    assert calls(compute) < 100_000
    assert all(result is not None for result in results)


def test_what_an_expression_may_use() -> None:
    """Arrays of 64 million elements at most, or twice the largest argument's; 32 times that altogether."""
    bounds = Bounds.for_arguments(12)
    assert bounds.elements == min(1 << 26, memory_bytes() // 64)
    assert bounds.work == 32 * bounds.elements
    assert bounds.products == 1 << 38
    assert Bounds.for_arguments(1 << 27).elements == 1 << 28
    for text in (f"zeros({bounds.elements + 1})", f"broadcast_to(a,({bounds.elements},2))"):
        with pytest.raises(UsageError, match=f"the limit here is {bounds.elements}"):
            evaluate(text, VALUES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zeros(17)", "an array of 17 elements; the limit here is 16"),
        ("x+zeros((2,1,1))", "an array of 24 elements"),
        ("zeros(16)+" * 40 + "1", "more work than an expression may do"),
        ("zeros((4,4))@zeros((4,4))", "a matrix product larger"),
    ],
)
def test_bounds_are_kept(text: str, message: str) -> None:
    """Arrays, work and products beyond them are refused."""
    with pytest.raises(UsageError, match=message):
        evaluate(text, VALUES, bounds=Bounds(elements=16, work=512, products=63))


@settings(deadline=None)
@given(st.text("xyna0123456789.+-*/%@()[],:<>=&|~^ sumaxexp", max_size=25))
def test_any_text_gives_numbers_or_a_usage_error(text: str) -> None:
    """No text makes the evaluator fail in another way."""
    try:
        result = evaluate(text, VALUES, bounds=Bounds(elements=1 << 16, work=1 << 20, products=1 << 20))
    except UsageError:
        return
    assert np.asarray(result).dtype.kind in "bfciuO"


def test_the_caret_stands_under_the_part() -> None:
    """A message points at the part it is about."""
    with pytest.raises(UsageError) as caught:
        evaluate("x + exq(y)*2", VALUES)
    assert caught.value.column == 5
    assert caught.value.context == ("  x + exq(y)*2", "      ^~~")
    assert caught.value.hint == "did you mean exp?"


def test_arguments_are_left_as_they_are() -> None:
    """An expression cannot change an argument's array."""
    x = np.array([3.0, 1.0, 2.0])
    for text in ("x.sort()", "sort(x)", "-x", "x.clip(0,1)", "x.round()", "x+0"):
        evaluate(text, {"x": x})
    assert x.tolist() == [3.0, 1.0, 2.0]


def test_the_deadline_counts() -> None:
    """--timeout ends a computation between two steps."""
    with pytest.raises(TimeoutExpired):
        evaluate("x+1", VALUES, deadline=time.monotonic() - 1)
