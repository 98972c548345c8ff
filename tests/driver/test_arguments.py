"""The argument language: what it takes, what it refuses and how it says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teenycuda_cli.driver.arguments.element_types import ELEMENT_TYPES, SPELLINGS
from teenycuda_cli.driver.arguments.initializers import Initializer
from teenycuda_cli.driver.arguments.language import (
    Address,
    Alias,
    Buffer,
    Bytes,
    Scalar,
    parse_argument,
    parse_arguments,
)
from teenycuda_cli.driver.arguments.numbers import parse_number
from teenycuda_cli.errors import UsageError

TYPES = sorted(ELEMENT_TYPES)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
INTEGERS = [name for name, element in ELEMENT_TYPES.items() if element.is_integer]


@given(st.sampled_from(INTEGERS), st.data())
def test_integers_come_back_as_written(name: str, data: st.DataObject) -> None:
    """TYPE:NUMBER keeps every value of the type, in decimal and in hex."""
    element = ELEMENT_TYPES[name]
    value = data.draw(st.integers(element.lowest, element.highest))
    assert parse_argument(f"{name}:{value}", 0).value == Scalar(element, value, str(value))
    if value >= 0:
        parsed = parse_argument(f"{name}:{value:#x}", 0).value
        assert isinstance(parsed, Scalar)
        assert parsed.number == value


@given(st.sampled_from(INTEGERS), st.integers(-(2**70), 2**70))
def test_integers_beyond_their_type_are_refused(name: str, value: int) -> None:
    """A number that the type cannot hold is refused, with the range."""
    element = ELEMENT_TYPES[name]
    if element.lowest <= value <= element.highest:
        return
    with pytest.raises(
        UsageError, match=f"does not fit {name}; expected {element.lowest} to {element.highest}"
    ):
        parse_argument(f"{name}:{value}", 0)


@given(st.floats(allow_nan=False))
def test_floats_come_back_as_written(value: float) -> None:
    """A float's shortest text parses to the same float."""
    parsed = parse_argument(f"f64:{value!r}", 0).value
    assert isinstance(parsed, Scalar)
    assert float(parsed.number) == value


@given(
    NAMES,
    st.sampled_from(TYPES),
    st.lists(st.integers(1, 10**6), min_size=1, max_size=5),
    st.sampled_from(
        ["", "=zeros", "=1.5", "=arange:2:3", "=randn:0:1", "=1,2,3", "=nan", "@x.npy", "@a=b,c:d"]
    ),
)
def test_buffers_come_back_as_written(name: str, type_name: str, shape: list[int], rest: str) -> None:
    """A buffer's name, shape, type, contents and file are what was written."""
    extents = "x".join(map(str, shape))
    argument = parse_argument(f"{name}=ptr:{extents}x{type_name}{rest}", 3)
    value = argument.value
    assert isinstance(value, Buffer)
    assert (argument.name, argument.index) == (name, 3)
    assert (value.shape, value.type) == (tuple(shape), ELEMENT_TYPES[type_name])
    assert value.file == (rest[1:] if rest.startswith("@") else None)
    assert (value.initializer is not None) == rest.startswith("=")


@given(st.binary(min_size=1, max_size=40))
def test_bytes_come_back_as_written(data: bytes) -> None:
    """bytes:HEX is the struct's bytes."""
    assert parse_argument(f"bytes:{data.hex()}", 0).value == Bytes(data, None)


def refusal(text: str) -> UsageError | None:
    """What the parser has against a text; None where it takes it."""
    try:
        parse_argument(text, 0)
    except UsageError as error:
        return error
    return None


@given(st.text(max_size=30))
def test_any_text_parses_or_is_refused_with_its_place(text: str) -> None:
    """No text makes the parser fail in another way, and a refusal has a column within the text."""
    error = refusal(text)
    if error is not None:
        assert error.column is not None
        assert 1 <= error.column <= len(text) + 1
        assert error.context


STARTS = ["i32:", "ptr:", "ptr:4x", "bytes:", "x=", "ptr:4xf32=", "f32:"]


@given(st.sampled_from(STARTS), st.text("0123456789xf:=,+-.e@", max_size=20))
def test_near_misses_parse_or_are_refused(start: str, rest: str) -> None:
    """Texts near to the language are taken, or refused with a place."""
    error = refusal(start + rest)
    assert error is None or error.column is not None


@pytest.mark.parametrize("spelling", sorted(SPELLINGS))
def test_other_spellings(spelling: str) -> None:
    """fp16, float32, int32 … are the types that they are elsewhere."""
    value = parse_argument(f"ptr:4x{spelling}", 0).value
    assert value == Buffer(ELEMENT_TYPES[SPELLINGS[spelling]], (4,))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4096", Scalar(None, 4096, "4096")),
        ("-1.5e-3", Scalar(None, -0.0015, "-1.5e-3")),
        ("bool:true", Scalar(ELEMENT_TYPES["bool"], 1, "true")),
        ("bool:0", Scalar(ELEMENT_TYPES["bool"], 0, "0")),
        ("ptr:null", Address(0)),
        ("ptr:0x7f0000000000", Address(0x7F0000000000)),
        ("ptr:@x.npy", Buffer(None, None, file="x.npy")),
        ("bytes:@p.bin", Bytes(None, "p.bin")),
        ("ptr:8xi32=1,2,-3", Buffer(ELEMENT_TYPES["i32"], (8,), Initializer("list", (1, 2, -3)))),
        ("ptr:8xf32=rand", Buffer(ELEMENT_TYPES["f32"], (8,), Initializer("rand", (0.0, 1.0)))),
        ("ptr:8xf32=arange:5", Buffer(ELEMENT_TYPES["f32"], (8,), Initializer("arange", (5, 1)))),
        ("ptr:2xc64=1+2j,3j", Buffer(ELEMENT_TYPES["c64"], (2,), Initializer("list", (1 + 2j, 3j)))),
    ],
)
def test_values(text: str, value: object) -> None:
    """Each form of the grammar is what it says."""
    assert parse_argument(text, 0).value == value


def test_names_default_to_their_place() -> None:
    """Arguments without a name are arg0, arg1, … by their place among all."""
    assert [a.name for a in parse_arguments(["1", "n=2", "3"])] == ["arg0", "n", "arg2"]


def test_an_alias_names_an_earlier_buffer() -> None:
    """ptr:NAME+BYTES is the buffer of an earlier argument."""
    assert parse_arguments(["x=ptr:4xf32", "y=ptr:x+8"])[1].value == Alias("x", 8)


@pytest.mark.parametrize(
    ("text", "column", "says", "hint"),
    [
        ("x=ptr:4096xf23=randn", 12, "unknown element type 'f23'", "did you mean f32?"),
        ("x=ptr:4096xfloat33", 12, "unknown element type", "float32"),
        ("i33:5", 1, "unknown type 'i33'", "did you mean i32?"),
        ("i32:1.5", 5, "not a whole number", None),
        ("i8:200", 4, "200 does not fit i8; expected -128 to 127", None),
        ("u32:-1", 5, "does not fit", None),
        ("bool:2", 6, "does not fit", None),
        ("f32:abc", 5, "'abc' is no number", None),
        ("f64:1e309", 5, "'1e309' is beyond the range of every type", None),
        ("1e309", 1, "'1e309' is beyond the range of every type", None),
        ("9" * 5000, 1, "9…' is beyond the range of every type", None),
        ("ptr:4xf64=1e309", 11, "'1e309' is beyond the range of every type", None),
        ("ptr:4xf64=0,-1e309", 13, "'-1e309' is beyond the range of every type", None),
        ("ptr:4xbool=true", 12, "unknown initial value 'true'", "write 1"),
        ("a.b=ptr:4xf32", 1, "'a.b' is no name", "letter"),
        ("a b=5", 1, "'a b' is no name", "letter"),
        ("=5", 1, "the name before the = is missing", "letter"),
        ("e4m3:1", 1, "type of buffers", None),
        ("4096xf32", 1, "is no value", "ptr:4096xf32"),
        ("@x.npy", 1, "is no value", "ptr:@x.npy"),
        ("true", 1, "is no number", "bool:true"),
        ("ptr:4096", 5, "is no pointer", "0x1000"),
        ("ptr:0xf32", 5, "looks like an empty buffer", "0x0f32"),
        ("ptr:4x0xf32", 7, "a buffer of no elements", None),
        ("ptr:9999999999999999999xf32", 5, "more than any memory", None),
        ("ptr:4x", 7, "the element type is missing", None),
        ("ptr:4xf32=", 11, "the initial value is missing", None),
        ("ptr:4xf32=zeroes", 11, "unknown initial value", "zeros"),
        ("ptr:4xf32=1,,2", 13, "a number is missing", None),
        ("ptr:4xf32=randint", 11, "randint", None),
        ("ptr:4xi32=randint:5:5", 19, "no whole number", None),
        ("ptr:4xf32=rand:1", 11, "rand", None),
        ("ptr:4xf32=arange:x", 18, "'x' is no number", None),
        ("ptr:4xf32@", 11, "file's name is missing", None),
        ("ptr:", 5, "nothing stands here", None),
        ("bytes:abc", 7, "3 hex digits", None),
        ("bytes:ag", 8, "no hex digit", None),
        ("", 1, "nothing stands here", None),
        ("x=", 3, "nothing stands here", None),
        ("ptr:0x10000000000000000", 5, "does not fit 64 bits", None),
        ("ptr:x+", 7, "no count of bytes", None),
    ],
)
def test_refusals(text: str, column: int, says: str, hint: str | None) -> None:
    """A refusal gives the column, what stands there, what was expected, and a way out."""
    with pytest.raises(UsageError) as caught:
        parse_argument(text, 0)
    assert caught.value.column == column
    assert says in caught.value.message
    assert caught.value.context[1].index("^") == column + 1
    if hint:
        assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["x=1", "x=2"], "a second argument called 'x'"),
        (["arg1=1", "2"], "a second argument called 'arg1'"),
        (["ptr:y", "y=ptr:4xf32"], "no earlier argument is called 'y'"),
        (["n=4", "ptr:n"], "'n' is no buffer"),
        (["ptr:f32"], "no earlier argument is called 'f32'"),
    ],
)
def test_arguments_that_do_not_go_together(texts: list[str], says: str) -> None:
    """Names differ, and an alias needs a buffer before it."""
    with pytest.raises(UsageError, match=says):
        parse_arguments(texts)


@pytest.mark.parametrize("text", ["1_000", "0x", "1e", "--1", "0b2", "٣", "1 ", "nano", "1" * 401, "0x1.8p1"])
def test_what_is_no_number(text: str) -> None:
    """Python's own liberties with numbers are not the language's."""
    assert parse_number(text) is None


def test_whole_numbers_may_have_an_exponent() -> None:
    """i32:1e3 is i32:1000."""
    assert parse_argument("i32:1e3", 0).value == Scalar(ELEMENT_TYPES["i32"], 1000, "1e3")
