"""What `--expect` takes: files, fills and expressions, brought into the buffer's shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from teenycuda_cli.driver.arguments.element_types import ELEMENT_TYPES
from teenycuda_cli.driver.checks.expectations import (
    Operand,
    Subject,
    expected_values,
    parse_expectation,
    part_of,
)
from teenycuda_cli.errors import UsageError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def expected(
    what: str, kind: str = "f32", shape: tuple[int, ...] = (2, 3), index: int = 0, **values: Any
) -> Any:
    """The numbers that a buffer must hold."""
    subject = Subject("out", ELEMENT_TYPES[kind], shape, index)
    operands = {
        name: Operand(name, value) if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }
    return expected_values(parse_expectation(f"out={what}"), subject, operands, seed=0)


@pytest.mark.parametrize(
    ("what", "result"),
    [
        ("zeros", np.zeros((2, 3))),
        ("5", np.full((2, 3), 5.0)),
        ("1,2,3,4,5,6", np.arange(1.0, 7.0).reshape(2, 3)),
        ("arange:1", np.arange(1.0, 7.0).reshape(2, 3)),
        ("x+1", X + 1.0),
        ("x.ravel()", X),
        ("x.reshape(6,1)", X),
        ("x[0]", np.broadcast_to(X[0], (2, 3))),
        ("x.sum()", np.full((2, 3), 15.0)),
        ("[1,2,3]", np.broadcast_to([1.0, 2, 3], (2, 3))),
        ("-n", np.full((2, 3), -7.0)),
    ],
)
def test_what_can_be_expected(what: str, result: Any) -> None:
    """Fills, numbers, lists and expressions fill the buffer's shape."""
    np.testing.assert_array_equal(expected(what, x=X, n=7), result)


def test_random_fills_are_those_of_the_same_argument() -> None:
    """`--expect x=randn` is what `--arg x=…=randn` was filled with."""
    wanted = np.random.default_rng([0, 4]).standard_normal((2, 3)).astype(np.float32)
    np.testing.assert_array_equal(expected("randn", index=4), wanted)


def test_a_name_alone_is_exact() -> None:
    """A copied buffer of 64-bit integers is compared bit by bit."""
    x = np.array([2**63 - 1, -(2**63), 2**53 + 1], np.int64)
    for what in ("x", "x+0", "~~x", "x*3-x-x"):
        assert expected(what, "i64", (3,), x=x).tolist() == x.tolist()
    for what in ("x+0.5", "x/2", "exp(x)", "where(x>0,x,0.5)", "x>0.5"):
        with pytest.raises(UsageError, match="beyond 2\\^53"):
            expected(what, "i64", (3,), x=x)
    assert expected("x", "f32", (3,), x=x).astype(np.float32).tolist() == x.astype(np.float32).tolist()
    assert expected("x$1", "i64", (3,), **{"x$1": x}).tolist() == x.tolist()


@pytest.mark.parametrize(
    "what", ["y", "y+0", "x+y", "a*x-99*y", "where(x>0,x,y)", "y.sum()", "full_like(x,y)"]
)
def test_poison_is_nothing_to_expect(what: str) -> None:
    """An expression that reads a buffer without contents is refused: it would expect poison."""
    y = Operand("y", np.full((2, 3), np.nan), poisoned=True)
    with pytest.raises(UsageError, match="y holds poison before the launch: give it contents"):
        expected(what, x=X, y=y, a=1)


@pytest.mark.parametrize("what", ["y.size+0*x", "zeros_like(y)+6", "arange(y.size)[5]+1", "full_like(y,6)"])
def test_the_shape_of_a_buffer_without_contents_is_known(what: str) -> None:
    """Its extents can be used."""
    y = Operand("y", np.full((2, 3), np.nan), poisoned=True)
    assert expected(what, x=X, y=y).tolist() == [[6.0] * 3] * 2


def test_an_argument_hides_a_fill_of_the_same_name() -> None:
    """With an argument called `ones`, ones is that argument."""
    assert expected("ones", ones=np.full((2, 3), 7.0)).tolist() == [[7.0] * 3] * 2


@pytest.mark.parametrize(
    ("part", "what", "places", "values"),
    [
        ("[0]", "x[1]", [0, 1, 2], [3, 4, 5]),
        ("[:,1]", "1,2", [1, 4], [1, 2]),
        ("[1,n-5]", "n", [5], [7]),
        ("[::-1,2:0:-1]", "0", [[5, 4], [2, 1]], [[0, 0], [0, 0]]),
        ("[x>3]", "x[x>3]+1", [4, 5], [5, 6]),
        ("[x==0]", "n==7", [0], [1]),
        ("[[1,0],[0,2]]", "arange:1", [3, 2], [1, 2]),
        ("[...]", "x", [[0, 1, 2], [3, 4, 5]], X),
    ],
)
def test_a_part_of_a_buffer(part: str, what: str, places: Any, values: Any) -> None:
    """What stands in brackets picks the elements that are checked, as numpy's indices do."""
    subject = Subject("out", ELEMENT_TYPES["f32"], (2, 3), 0)
    operands = {"x": Operand("x", X), "n": 7}
    expectation = parse_expectation(f"out{part}={what}")
    subject = part_of(expectation, subject, operands)
    assert subject.places is not None
    assert subject.places.tolist() == places
    found = expected_values(expectation, subject, operands, seed=0)
    np.testing.assert_array_equal(found, values)


def test_random_numbers_of_a_part_are_those_of_the_whole() -> None:
    """The part of a copy of a random buffer is as that buffer is there."""
    whole = Subject("out", ELEMENT_TYPES["f32"], (2, 3), 4)
    expectation = parse_expectation("out[1]=randn")
    found = expected_values(expectation, part_of(expectation, whole, {}), {}, seed=0)
    wanted = np.random.default_rng([0, 4]).standard_normal((2, 3)).astype(np.float32)
    assert found.tolist() == wanted[1].tolist()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("out[9]=1", "out of bounds"),
        ("out[0:0]=1", "no element of out \\(2x3\\) is in this part"),
        ("out[0][1]=1", "expected a name and one index"),
        ("out[=1", "expected NAME=WHAT"),
        ("out[0.5]=1", "whole numbers"),
        ("out[y]=1", "no argument is called 'y'"),
        ("out[0]=x", "values of shape 2x3 for the buffer's 3"),
        ("out[0]+1=x", "expected a name and one index"),
        ("[0]=x", "expected NAME=WHAT"),
    ],
)
def test_parts_that_are_none(text: str, says: str) -> None:
    """Anything but one index that picks elements is refused."""

    def work_out() -> None:
        expectation = parse_expectation(text)
        subject = part_of(expectation, Subject("out", ELEMENT_TYPES["f32"], (2, 3), 0), {"x": X})
        expected_values(expectation, subject, {"x": X}, seed=0)

    with pytest.raises(UsageError, match=says):
        work_out()


@pytest.mark.parametrize(
    ("kind", "array"),
    [
        ("f32", X),
        ("f32", X.astype(np.float64)),
        ("f16", X.astype(np.int64)),
        ("i32", X.astype(np.uint8)),
        ("bf16", X),
        ("bool", X > 2),
    ],
)
def test_files(tmp_path: Path, kind: str, array: Any) -> None:
    """An .npy of any number type is compared by value."""
    np.save(tmp_path / "x.npy", array)
    np.testing.assert_array_equal(expected(f"@{tmp_path / 'x.npy'}", kind), array)


def test_raw_files_and_bits(tmp_path: Path) -> None:
    """A raw file has the buffer's own elements; uint16 of an .npy are the bits of bf16."""
    (tmp_path / "x.raw").write_bytes(np.array([0x3F80, 0x4000], np.uint16).tobytes())
    np.save(tmp_path / "x.npy", np.array([0x3F80, 0x4000], np.uint16))
    for name in ("x.raw", "x.npy"):
        assert expected(f"@{tmp_path / name}", "bf16", (2,)).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("1,2", "2 values for 6 elements"),
        ("x.T", "values of shape 3x2 for the buffer's 2x3"),
        ("1j*x", "complex values"),
        ("rand:5:1", "LO 5 is above HI 1"),
        ("y", "no argument is called 'y'"),
        ("@", "the file's name is missing"),
    ],
)
def test_what_cannot_be_expected(what: str, says: str) -> None:
    """A shape or type that does not fit is refused."""
    with pytest.raises(UsageError, match=says):
        expected(what, x=X)


def test_a_buffer_of_truth_values_is_a_mask() -> None:
    """`~` is the logical not of a bool buffer, and the complement of an integer one."""
    mask = np.array([True, False])
    assert expected("~x", "bool", (2,), x=mask).tolist() == [0, 1]
    assert expected("x*3", "i32", (2,), x=mask).tolist() == [3, 0]
    assert expected("~x", "i32", (2,), x=np.array([1, 0], np.int32)).tolist() == [-2, -1]


def test_a_type_in_quotes_is_explained() -> None:
    """Types are written without quotes; the message says so."""
    words = {
        "float32": "float32",
        "u4": "uint32",
        "f2": "float16",
        "i8": "int64",
        "bf16": "bf16",
        "u32": "u32",
    }
    for quoted, word in words.items():
        with pytest.raises(UsageError, match="text is not part") as caught:
            expected(f"x.astype('{quoted}')", x=X)
        assert caught.value.hint == f"write {word}, without quotes"
    with pytest.raises(UsageError, match="text is not part") as caught:
        expected("x.astype('O')", x=X)
    assert caught.value.hint is None
