"""Value instructions for random kernels, most with the same in plain Python.

A row is a template, the kinds of its destinations and sources, and a function
on unsigned numbers (None where there is none: those stand in kernels that
only devices judge). Kinds: r d h registers of 32, 64, 16 bits, f g floats of
32 and 64 bits, p predicates; # is a constant below 256.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

WIDTH = {"r": 32, "d": 64, "h": 16}
Meaning = Callable[..., Any] | None


@dataclass(frozen=True)
class Row:
    """`{0}`, `{1}` … are the destinations, then the sources."""

    template: str
    destinations: str
    sources: str
    meaning: Meaning
    sm: int = 80


def signed(value: int, width: int) -> int:
    """Bits as a number with a sign."""
    return value - (1 << width) if value >> (width - 1) else value


def _row(opcode: str, kinds: str, meaning: Meaning = None, sm: int = 80) -> Row:
    places = ", ".join(f"{{{index}}}" for index in range(len(kinds)))
    return Row(f"{opcode} {places};", kinds[0], kinds[1:], meaning, sm)


def _quotient(a: int, b: int) -> int:
    return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


def _shift_right(a: int, b: int, width: int, sign: bool) -> int:
    return (signed(a, width) if sign else a) >> min(b, width)


def _shift_left(a: int, b: int, width: int) -> int:
    return a << b if b < width else 0


def _reversed(a: int, width: int) -> int:
    return int(f"{a:0{width}b}"[::-1], 2)


def _field(a: int, b: int, c: int, width: int, sign: bool) -> int:
    """`bfe`."""
    start, length = b & 255, c & 255
    value = signed(a, width) if sign else a
    part = value >> min(start, width)
    if not length:
        return 0
    if length >= width - start:
        return part
    part &= (1 << length) - 1
    return signed(part, length) if sign else part


def _insert(a: int, b: int, c: int, d: int, width: int) -> int:
    """`bfi`."""
    start, length = c & 255, d & 255
    mask = ((1 << length) - 1) << start & ((1 << width) - 1) if start < width else 0
    return (b & ~mask) | ((a << start if start < width else 0) & mask)


def _permute(a: int, b: int, c: int) -> int:
    """`prmt`."""
    both = b << 32 | a
    result = 0
    for place in range(4):
        selector = c >> (4 * place) & 15
        byte = both >> (8 * (selector & 7)) & 255
        if selector & 8:
            byte = 255 if byte & 128 else 0
        result |= byte << (8 * place)
    return result


def _lop3(a: int, b: int, c: int, table: int) -> int:
    return sum((table >> ((a >> n & 1) << 2 | (b >> n & 1) << 1 | (c >> n & 1)) & 1) << n for n in range(32))


def _found(a: int, width: int, sign: bool) -> int:
    """`bfind`."""
    a = ~a & ((1 << width) - 1) if sign and a >> (width - 1) else a
    return a.bit_length() - 1


def _dp4a(a: int, b: int, c: int) -> int:
    return c + sum(signed(a >> n & 255, 8) * (b >> n & 255) for n in (0, 8, 16, 24))


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def _as(sign: str, width: int, compare: Callable[[Any, Any], bool]) -> Callable[[int, int], bool]:
    if sign == "u":
        return compare
    return lambda a, b: compare(signed(a, width), signed(b, width))


def _integers(k: str, w: int) -> Iterator[Row]:
    """Of one width, which the meanings take from their defaults."""
    yield _row(f"add.u{w}", k * 3, lambda a, b: a + b)
    yield _row(f"sub.s{w}", k * 3, lambda a, b: a - b)
    yield _row(f"mul.lo.s{w}", k * 3, lambda a, b: a * b)
    yield _row(f"mad.lo.u{w}", k * 4, lambda a, b, c: a * b + c)
    yield _row(f"mul.hi.u{w}", k * 3, lambda a, b: a * b >> w)
    yield _row(f"mul.hi.s{w}", k * 3, lambda a, b: signed(a, w) * signed(b, w) >> w)
    for name, divided in (("div", lambda a, b: a // (b | 1)), ("rem", lambda a, b: a % (b | 1))):
        yield Row(f"or.b{w} {{0}}, {{2}}, 1; {name}.u{w} {{0}}, {{1}}, {{0}};", k, k * 2, divided)
    for name, of_signed in (("div", _quotient), ("rem", lambda a, b: a - b * _quotient(a, b))):
        yield Row(
            f"or.b{w} {{0}}, {{2}}, 1; {name}.s{w} {{0}}, {{1}}, {{0}};",
            k,
            k * 2,
            lambda a, b, of_signed=of_signed: of_signed(signed(a, w), signed(b | 1, w)),
        )
    yield _row(f"min.s{w}", k * 3, lambda a, b: min(signed(a, w), signed(b, w)))
    yield _row(f"max.u{w}", k * 3, max)
    yield _row(f"and.b{w}", k * 3, lambda a, b: a & b)
    yield _row(f"or.b{w}", k * 3, lambda a, b: a | b)
    yield _row(f"xor.b{w}", k * 3, lambda a, b: a ^ b)
    yield _row(f"not.b{w}", k * 2, lambda a: ~a)
    yield _row(f"cnot.b{w}", k * 2, lambda a: int(not a))
    yield _row(f"neg.s{w}", k * 2, lambda a: -a)
    yield _row(f"abs.s{w}", k * 2, lambda a: abs(signed(a, w)))
    yield _row(f"shl.b{w}", f"{k}{k}r", lambda a, b: _shift_left(a, b, w))
    yield _row(f"shr.u{w}", f"{k}{k}r", lambda a, b: _shift_right(a, b, w, False))
    yield _row(f"shr.s{w}", f"{k}{k}r", lambda a, b: _shift_right(a, b, w, True))
    yield _row(f"selp.b{w}", f"{k}{k}{k}p", lambda a, b, p: a if p else b)
    for name, sign in product(COMPARE, "us"):
        yield _row(f"setp.{name}.{sign}{w}", f"p{k}{k}", _as(sign, w, COMPARE[name]))
    if w == 16:
        return
    yield _row(f"popc.b{w}", f"r{k}", lambda a: a.bit_count())
    yield _row(f"clz.b{w}", f"r{k}", lambda a: w - a.bit_length())
    yield _row(f"brev.b{w}", k * 2, lambda a: _reversed(a, w))
    yield _row(f"bfind.s{w}", f"r{k}", lambda a: _found(a, w, True))
    yield _row(f"bfind.u{w}", f"r{k}", lambda a: _found(a, w, False))
    dynamic = "RR" if w == 32 else "##"  # of 64 bits the hardware takes more than the low 8 of both
    yield _row(f"bfe.u{w}", f"{k}{k}{dynamic}", lambda a, b, c: _field(a, b, c, w, False))
    yield _row(f"bfe.s{w}", f"{k}{k}##", lambda a, b, c: _field(a, b, c, w, True))
    yield _row(f"bfi.b{w}", f"{k}{k}{k}{dynamic}", lambda a, b, c, d: _insert(a, b, c, d, w))
    yield _row(f"slct.b{w}.s32", f"{k}{k}{k}r", lambda a, b, c: a if not c >> 31 else b)


def _mixed() -> Iterator[Row]:
    """Between widths, and of 32 bits alone."""
    yield _row("mul.wide.u32", "drr", lambda a, b: a * b)
    yield _row("mul.wide.s32", "drr", lambda a, b: signed(a, 32) * signed(b, 32))
    yield _row("mad.wide.s32", "drrd", lambda a, b, c: signed(a, 32) * signed(b, 32) + c)
    yield _row("mul.wide.u16", "rhh", lambda a, b: a * b)
    yield _row("mul24.lo.u32", "rrr", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF))
    yield _row("sad.u32", "rrrr", lambda a, b, c: abs(a - b) + c)
    yield _row("lop3.b32", "rrrr#", _lop3)
    yield _row("prmt.b32", "rrrr", _permute)
    yield _row("dp4a.s32.u32", "rrrr", _dp4a)
    yield _row("shf.l.wrap.b32", "rrrr", lambda a, b, c: ((b << 32 | a) << (c & 31)) >> 32)
    yield _row("shf.r.wrap.b32", "rrrr", lambda a, b, c: (b << 32 | a) >> (c & 31))
    yield _row("shf.r.clamp.b32", "rrrr", lambda a, b, c: (b << 32 | a) >> min(c, 32))
    yield _row("cvt.u64.u32", "dr", lambda a: a)
    yield _row("cvt.s64.s32", "dr", lambda a: signed(a, 32))
    yield _row("cvt.u32.u64", "rd", lambda a: a)
    yield _row("cvt.s32.s8", "rr", lambda a: signed(a & 255, 8))
    yield _row("cvt.u32.u16", "rh", lambda a: a)
    yield _row("cvt.s32.s16", "rh", lambda a: signed(a, 16))
    yield _row("cvt.u16.u32", "hr", lambda a: a)
    yield _row("cvt.sat.s16.s32", "hr", lambda a: max(-(1 << 15), min((1 << 15) - 1, signed(a, 32))))
    yield Row("mov.b64 {0}, {{{1}, {2}}};", "d", "RR", lambda a, b: b << 32 | a)
    yield Row("mov.b64 {{{0}, {1}}}, {2};", "rr", "D", lambda a: (a, a >> 32))
    yield Row("mov.b32 {0}, {{{1}, {2}}};", "r", "HH", lambda a, b: b << 16 | a)
    yield Row("mov.b32 {{{0}, {1}}}, {2};", "hh", "R", lambda a: (a, a >> 16))
    yield Row(
        "add.cc.u32 {0}, {2}, {3}; addc.u32 {1}, {4}, {5};",
        "rr",
        "rrrr",
        lambda a, b, c, d: (a + b, c + d + (a + b >> 32)),
    )
    yield Row(
        "sub.cc.u64 {0}, {2}, {3}; subc.u64 {1}, {4}, {5};",
        "dd",
        "dddd",
        lambda a, b, c, d: (a - b, c - d - (a < b)),
    )
    yield Row(
        "mad.lo.cc.u32 {0}, {2}, {3}, {4}; madc.hi.u32 {1}, {2}, {3}, {5};",
        "rr",
        "rrrr",
        lambda a, b, c, d: (a * b + c, (a * b >> 32) + d + (((a * b & 0xFFFFFFFF) + c) >> 32)),
    )
    yield Row("and.pred {0}, {1}, {2};", "p", "pp", lambda a, b: a and b)
    yield Row("xor.pred {0}, {1}, {2};", "p", "pp", lambda a, b: a != b)
    yield Row("not.pred {0}, {1};", "p", "p", lambda a: not a)
    yield Row(
        "setp.lt.and.u32 {0}|{1}, {2}, {3}, {4};",
        "pp",
        "rrp",
        lambda a, b, c: (a < b and c, a >= b and c),
    )
    yield Row("set.le.u32.s32 {0}, {1}, {2};", "r", "rr", lambda a, b: -(signed(a, 32) <= signed(b, 32)))


def _floats() -> Iterator[Row]:
    """Judged by devices alone. A NaN is replaced behind each, since the ISA leaves its bits open."""
    for k, t in (("f", "f32"), ("g", "f64")):
        for mode in ("rn", "rz", "rm", "rp"):
            yield _row(f"add.{mode}.{t}", k * 3)
            yield _row(f"mul.{mode}.{t}", k * 3)
            yield _row(f"fma.{mode}.{t}", k * 4)
        for opcode in ("sub.rn", "div.rn", "min", "max"):
            yield _row(f"{opcode}.{t}", k * 3)
        yield _row(f"sqrt.rn.{t}", k * 2)
        yield _row(f"rcp.rn.{t}", k * 2)
        yield _row(f"neg.{t}", k * 2)
        yield _row(f"abs.{t}", k * 2)
        yield _row(f"copysign.{t}", k * 3)
        yield _row(f"selp.{t}", f"{k}{k}{k}p")
        yield _row(f"cvt.rni.{t}.{t}", k * 2)
        for kind, name in (("r", "s32"), ("r", "u32"), ("d", "s64"), ("d", "u64")):
            yield _row(f"cvt.rn.{t}.{name}", f"{k}{kind}")
            yield _row(f"cvt.rzi.{name}.{t}", f"{kind}{k}")
        for name in ("lt", "leu", "neu", "ge", "eq", "num"):
            yield _row(f"setp.{name}.{t}", f"p{k}{k}")
        yield _row(f"testp.subnormal.{t}", f"p{k}")
        yield _row(f"set.gt.u32.{t}", f"r{k}{k}")
    yield _row("add.rn.ftz.f32", "fff")
    yield _row("fma.rn.ftz.sat.f32", "ffff")
    yield _row("mul.rn.sat.f32", "fff")
    yield _row("cvt.rn.f32.f64", "fg")
    yield _row("cvt.f64.f32", "gf")
    yield _row("cvt.rn.f16.f32", "hf")
    yield _row("cvt.f32.f16", "fH")
    yield _row("cvt.rn.f16x2.f32", "rff")
    yield _row("cvt.rn.bf16x2.f32", "rff")
    yield _row("cvt.rn.bf16.f32", "hf")
    yield _row("cvt.rna.tf32.f32", "rf")
    yield _row("mov.b32", "fr")
    yield _row("mov.b64", "gd")
    yield Row("mov.b32 {0}, {1};", "r", "f", None)
    yield Row("mov.b64 {0}, {1};", "d", "g", None)
    yield Row("slct.f32.f32 {0}, {1}, {2}, {3};", "f", "fff", None)
    for opcode in ("add.rn", "mul.rn", "sub.rn", "min", "max", "max.NaN"):
        yield _row(f"{opcode}.f16x2", "RRR".replace("R", "r", 1))
        yield _row(f"{opcode}.f16", "hHH")
    yield _row("fma.rn.f16x2", "rRRR")
    yield _row("fma.rn.relu.f16", "hHHH")
    yield _row("fma.rn.bf16x2", "rRRR")
    yield _row("fma.rn.bf16", "hHHH")
    yield _row("min.bf16x2", "rRR")
    yield _row("add.rn.bf16x2", "rRR", sm=90)
    yield _row("mul.rn.bf16", "hHH", sm=90)
    yield Row("setp.lt.f16x2 {0}|{1}, {2}, {3};", "pp", "RR", None)
    yield _row("vabsdiff4.u32.u32.u32.add", "rRRR")


INTEGERS = [*_integers("r", 32), *_integers("d", 64), *_integers("h", 16), *_mixed()]
FLOATS = list(_floats())
