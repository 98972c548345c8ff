"""cvt against exact fractions and the ISA's rules for what does not fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.numerics import exact_reference as reference
from tests.numerics.exact_reference import BF16, F16, F32, F64, LAYOUTS, Layout
from tests.numerics.float_bits import bits, edges
from tests.numerics.instruction_runner import run
from tests.numerics.test_integer import EDGES, number

INTEGERS = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"]
FLOATS_AND_INTEGERS = [
    (a, b)
    for a in ("f32", "f64", "f16", "bf16")
    for b in INTEGERS
    if (a, b) not in {("bf16", "u8"), ("bf16", "s8")}  # which PTX has no cvt between
]
WHOLE: dict[str, Callable[[Fraction], int]] = {
    "rni": round,
    "rzi": math.trunc,
    "rmi": math.floor,
    "rpi": math.ceil,
}


def limits(kind: str) -> tuple[int, int]:
    """The range of an integer type."""
    width = int(kind[1:])
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_integer_to_integer(target: str, source: str) -> None:
    """Integers are cut or extended; .sat clamps them."""
    width = int(source[1:])
    values = [v & ((1 << width) - 1) for v in EDGES[64] + EDGES[32] + EDGES[16]]
    numbers = [number(v, source) for v in values]
    mask = (1 << int(target[1:])) - 1
    assert run(f"cvt.{target}.{source}", values) == [n & mask for n in numbers]
    low, high = limits(target)
    if limits(source)[0] < low or limits(source)[1] > high:
        want = [max(low, min(n, high)) & mask for n in numbers]
        assert run(f"cvt.sat.{target}.{source}", values) == want


def to_integer(value: int, layout: Layout, source: str, target: str, mode: str) -> int:
    """A float as an integer."""
    low, high = limits(target)
    width = int(target[1:])
    mask = (1 << width) - 1
    if reference.is_nan(value, layout):
        return 1 << (width - 1) if source == "f64" or width == 64 else 0
    if reference.is_infinite(value, layout):
        return (low if reference.negative(value, layout) else high) & mask
    return max(low, min(WHOLE[mode](reference.value(value, layout)), high)) & mask


def floats_near_integers(layout: Layout) -> list[int]:
    """Edges, halves, and the borders of the integer types."""
    values = edges(layout)
    borders = (2**7, 2**8, 2**15, 2**16, 2**31, 2**32, 2**63, 2**64)
    for border in (Fraction(1, 2), Fraction(3, 2), Fraction(5, 2), 3, 200, 300, *borders):
        for sign in (1, -1):
            near = reference.rounded(Fraction(border) * sign, layout, "rz")
            values += [near - 1, near, min(near + 1, (1 << layout.width) - 1)]
    return values


@pytest.mark.parametrize("mode", WHOLE)
@pytest.mark.parametrize(("source", "target"), FLOATS_AND_INTEGERS)
def test_float_to_integer(source: str, target: str, mode: str) -> None:
    """Floats are rounded as asked and clamped; NaN becomes 0 or the top bit."""
    layout = LAYOUTS[source]
    values = floats_near_integers(layout)
    want = [to_integer(v, layout, source, target, mode) for v in values]
    assert run(f"cvt.{mode}.{target}.{source}", values) == want
    if source == "f32":
        flushed = [reference.flush(v, F32) for v in values]
        want = [to_integer(v, layout, source, target, mode) for v in flushed]
        assert run(f"cvt.{mode}.ftz.sat.{target}.f32", values) == want


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(("target", "source"), FLOATS_AND_INTEGERS)
def test_integer_to_float(target: str, source: str, mode: str) -> None:
    """Integers are rounded once, in every mode."""
    layout, width = LAYOUTS[target], int(source[1:])
    values = {v & ((1 << width) - 1) for v in EDGES[64] + EDGES[32]}
    for bit in range(width):
        step = 1 << max(bit - layout.fraction - 1, 0)
        values |= {((1 << bit) + k * step + e) & ((1 << width) - 1) for k in (1, 3) for e in (-1, 0, 1)}
    ordered = sorted(values)
    want = [reference.rounded(Fraction(number(v, source)), layout, mode) if v else 0 for v in ordered]
    assert run(f"cvt.{mode}.{target}.{source}", ordered) == want


def convert(value: int, source: Layout, target: Layout, mode: str) -> int:
    """From one float format to another."""
    if reference.is_nan(value, source):
        return target.nan
    sign = target.sign if reference.negative(value, source) else 0
    if reference.is_infinite(value, source):
        return sign | target.infinity
    if reference.is_zero(value, source):
        return sign
    return reference.rounded(reference.value(value, source), target, mode)


def borders(source: Layout, target: Layout) -> list[int]:
    """Edges of both formats, and ties between values of the target, give or take a trifle."""
    values = edges(source)
    for bits_ in edges(target):
        for other in (bits_ - 1, bits_):
            if 0 < other & (target.sign - 1) < target.infinity - 1:
                middle = (reference.value(other, target) + reference.value(other + 1, target)) / 2
                near = reference.rounded(middle, source, "rz")
                values += [near - 1, near, near + 1]
    return [value % (1 << source.width) for value in values]


NARROWING = [
    ("f32", "f64"),
    ("f16", "f32"),
    ("f16", "f64"),
    ("bf16", "f32"),
    ("bf16", "f64"),
    ("f16", "bf16"),
    ("bf16", "f16"),
]


def narrowed(values: list[int], target: str, source: str, mode: str) -> list[int]:
    """The values rounded once; from f64 to a half a NaN keeps its sign and the upper bits of its payload."""
    to, of = LAYOUTS[target], LAYOUTS[source]
    results = []
    for value in values:
        if source == "f64" and to.width == 16 and reference.is_nan(value, of):
            payload = value >> (52 - to.fraction) & ((1 << to.fraction) - 1)
            sign = to.sign if reference.negative(value, of) else 0
            results.append(sign | to.infinity | payload | 1 << (to.fraction - 1))
        else:
            results.append(convert(value, of, to, mode))
    return results


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(("target", "source"), NARROWING)
def test_narrowing(target: str, source: str, mode: str) -> None:
    """Floats become narrower with one rounding."""
    values = borders(LAYOUTS[source], LAYOUTS[target])
    assert run(f"cvt.{mode}.{target}.{source}", values) == narrowed(values, target, source, mode)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from(NARROWING), st.sampled_from(["rn", "rz", "rm", "rp"]))
def test_narrowing_any_bits(data: st.DataObject, pair: tuple[str, str], mode: str) -> None:
    """Floats become narrower with one rounding, whatever their bits."""
    of = LAYOUTS[pair[1]]
    values = data.draw(st.lists(bits(of), min_size=2, max_size=60))
    assert run(f"cvt.{mode}.{pair[0]}.{pair[1]}", values) == narrowed(values, *pair, mode)


@pytest.mark.parametrize("mode", ["rn", "rp"])
def test_narrowing_flushed_and_saturated(mode: str) -> None:
    """.ftz flushes f32 on either side, .sat clamps."""
    values = borders(F64, F32)
    plain = [convert(v, F64, F32, mode) for v in values]
    assert run(f"cvt.{mode}.ftz.f32.f64", values) == [reference.flush(v, F32) for v in plain]
    assert run(f"cvt.{mode}.sat.f32.f64", values) == [reference.saturate(v, F32) for v in plain]
    values = borders(F32, F16)
    plain = [convert(v, F32, F16, mode) for v in values]
    assert run(f"cvt.{mode}.ftz.f16.f32", values) == plain  # the hardware flushes nothing here
    plain = [reference.saturate(convert(v, F32, F16, mode), F16) for v in values]
    assert run(f"cvt.{mode}.sat.f16.f32", values) == plain


WIDENING = [("f64", "f32"), ("f32", "f16"), ("f64", "f16"), ("f32", "bf16"), ("f64", "bf16")]


@pytest.mark.parametrize(("target", "source"), WIDENING)
def test_widening(target: str, source: str) -> None:
    """Floats become wider unchanged."""
    to, of = LAYOUTS[target], LAYOUTS[source]
    values = list(range(1 << 16)) if of.width == 16 else edges(of)
    values = [v for v in values if not reference.is_nan(v, of)]
    assert run(f"cvt.{target}.{source}", values) == [convert(v, of, to, "rn") for v in values]


@pytest.mark.parametrize("mode", WHOLE)
@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
def test_whole_numbers(kind: str, mode: str) -> None:
    """Rounding to a whole number keeps the format and the sign of zero."""
    layout = LAYOUTS[kind]
    values = floats_near_integers(layout)
    want = []
    for v in values:
        sign = v & layout.sign
        if reference.is_nan(v, layout):
            want.append(layout.nan)
        elif reference.is_infinite(v, layout):
            want.append(v)
        else:
            whole = WHOLE[mode](reference.value(v, layout))
            want.append(reference.rounded(Fraction(whole), layout, "rn") if whole else sign)
    assert run(f"cvt.{mode}.{kind}.{kind}", values) == want


def relu(value: int, layout: Layout) -> int:
    """Negative to +0."""
    return 0 if reference.negative(value, layout) and not reference.is_nan(value, layout) else value


@pytest.mark.parametrize("mode", ["rn", "rz"])
@pytest.mark.parametrize(("kind", "layout"), [("f16", F16), ("bf16", BF16)])
def test_pairs_of_halves(kind: str, layout: Layout, mode: str) -> None:
    """cvt to f16x2 and bf16x2 puts a above b; .relu and .satfinite."""
    values = borders(F32, layout)
    other = values[::-1]
    one = {v: convert(v, F32, layout, mode) for v in values}
    want = [one[a] << 16 | one[b] for a, b in zip(values, other, strict=True)]
    assert run(f"cvt.{mode}.{kind}x2.f32", values, other) == want
    rest = {v: relu(r, layout) for v, r in one.items()}
    want = [rest[a] << 16 | rest[b] for a, b in zip(values, other, strict=True)]
    assert run(f"cvt.{mode}.relu.{kind}x2.f32", values, other) == want
    assert run(f"cvt.{mode}.relu.{kind}.f32", values) == [rest[v] for v in values]
    for v, r in one.items():
        if r & ~layout.sign == layout.infinity:
            one[v] = r - 1
    assert run(f"cvt.{mode}.satfinite.{kind}.f32", values) == [one[v] for v in values]
    want = [relu(one[v], layout) for v in values]
    assert run(f"cvt.{mode}.relu.satfinite.{kind}.f32", values) == want


def test_tf32() -> None:
    """tf32 keeps 10 bits of fraction."""
    layout = reference.Layout(8, 10, 0x3FFFF)
    values = borders(F32, layout)
    for name, mode in (("rna", "rna"), ("rn", "rn"), ("rz", "rz")):
        want = []
        for v in values:
            short = convert(v, F32, layout, mode)
            nan = v & 0xFFFFE000 if mode == "rna" else 0x7FFFE000
            want.append(nan if reference.is_nan(v, F32) else short << 13)
        assert run(f"cvt.{name}.tf32.f32", values) == want, name


def fp8(value: int, exponent: int, fraction: int, top: int) -> int:
    """e4m3 or e5m2 with .satfinite: the format's own infinity or NaN patterns lie above `top`."""
    if reference.is_nan(value, F32):
        return 0x7F
    sign = 0x80 if reference.negative(value, F32) else 0
    if reference.is_zero(value, F32):
        return sign
    if reference.is_infinite(value, F32):
        return sign | top
    wide = reference.Layout(exponent + 3, fraction, 0)  # room above: the bias is put right below
    bias = (1 << (exponent - 1)) - 1
    scaled = abs(reference.value(value, F32))
    exact = scaled * reference.power(bias - wide.bias)
    low = reference.power(1 - bias - fraction)
    if scaled < reference.power(1 - bias):
        count, lost = divmod(scaled, low)
        up = 2 * lost > low or (2 * lost == low and count % 2 == 1)
        return sign | int(count) + up
    if scaled > 1000000:
        return sign | top
    rounded = reference.rounded(exact * reference.power(wide.bias - bias), wide, "rn")
    return sign | min(rounded - ((wide.bias - bias) << fraction), top)


@pytest.mark.parametrize(
    ("kind", "exponent", "fraction", "top"), [("e4m3", 4, 3, 0x7E), ("e5m2", 5, 2, 0x7B)]
)
def test_fp8(kind: str, exponent: int, fraction: int, top: int) -> None:
    """fp8 rounds to nearest even and clamps; decoding gives the same f16 back."""
    finite = [code for code in range(256) if code & 0x7F <= top]
    halves = run(f"cvt.rn.f16x2.{kind}x2", [code | code << 8 for code in range(256)])
    singles = [half & 0xFFFF for half in halves]
    for code in finite:
        part = code & 0x7F
        bias = (1 << (exponent - 1)) - 1
        power = max(part >> fraction, 1) - bias - fraction
        magnitude = ((part & ((1 << fraction) - 1)) + ((part >> fraction > 0) << fraction)) * reference.power(
            power
        )
        assert abs(reference.value(singles[code], F16)) == magnitude
        assert singles[code] >> 15 == code >> 7
    assert singles[0x7F] == 0x7FFF
    back = run(f"cvt.rn.satfinite.{kind}x2.f16x2", [singles[c] | singles[c] << 16 for c in finite])
    assert back == [c | c << 8 for c in finite]
    values = edges(F32)
    for code in finite:
        here = reference.value(singles[code], F16)
        step = reference.value(singles[code & 0x80 | max((code & 0x7F) - 1, 0)], F16)
        for middle in ((here + step) / 2, here):
            if middle:
                near = reference.rounded(middle, F32, "rz")
                values += [near - 1, near, near + 1]
    want = [fp8(v, exponent, fraction, top) for v in values]
    other = values[::-1]
    both = [a << 8 | b for a, b in zip(want, want[::-1], strict=True)]
    assert run(f"cvt.rn.satfinite.{kind}x2.f32", values, other) == both
    want = [0 if code & 0x80 and code != 0xFF else code for code in want]
    both = [a << 8 | b for a, b in zip(want, want[::-1], strict=True)]
    assert run(f"cvt.rn.satfinite.relu.{kind}x2.f32", values, other) == both


def test_pack() -> None:
    """cvt.pack clamps two integers and puts them below c."""
    a, b = [300, -5, 7, -40000], [-1, 70000, 127, 2]
    raw_a, raw_b = [[v & 0xFFFFFFFF for v in part] for part in (a, b)]
    want = [(max(0, min(x, 0xFFFF)) << 16) | max(0, min(y, 0xFFFF)) for x, y in zip(a, b, strict=True)]
    assert run("cvt.pack.sat.u16.s32", raw_a, raw_b) == want
    c = [0xDEADBEEF] * 4
    want = []
    for x, y in zip(a, b, strict=True):
        low, high = max(-128, min(y, 127)) & 0xFF, max(-128, min(x, 127)) & 0xFF
        want.append((0xDEADBEEF << 16 & 0xFFFFFFFF) | high << 8 | low)
    assert run("cvt.pack.sat.s8.s32.b32", raw_a, raw_b, c) == want
