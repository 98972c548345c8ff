"""Trials of ld and st on the parameters of functions, and of moves between 128 bits and four registers."""

from __future__ import annotations

from collections.abc import Iterator

from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware import effects_memory
from tests.hardware.effects_bulk import tail
from tests.hardware.effects_memory import Shape
from tests.hardware.forms import Skipped
from tests.hardware.trials import Output, Trial, drawn

_BLOB = 64
_PLACE = 16
"""Where in a parameter the instruction is at work, on 16 bytes."""
_LANES = 32
_REGISTERS = """
.reg .b16 %h<40>; .reg .b32 %r<60>; .reg .b64 %d<40>; .reg .f32 %f<40>; .reg .f64 %g<40>; .reg .b128 %q<4>;
"""
_WIDE = "sm_100 and above have loads and stores of 32 bytes"


def load(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial | Skipped]:
    """From what a function is given."""
    shape = Shape(name, bound)
    if shape.total > 16:
        yield Skipped(name, _WIDE)
        return
    if name == "ld.param::func.b128":
        yield Skipped(name, "ptxas 13.0 keeps the low half alone of what it loads so")
        return
    if shape.space != "param::func":
        yield from effects_memory.load(form, name, bound, plain)
        return
    for what, prefix, size in shape.registers():
        width = size * shape.count
        before = f"""
        .func NAMEf(.param .align 16 .b8 given[{_BLOB}], .param .b64 where)
        {{ {_REGISTERS} ld.param.b64 %d8, [where]; {name} {shape.group(prefix)}, [given+{2 * shape.total}];
        {_saved(prefix, size, shape.count)} ret; }}
        """
        body = f"""
        mad.wide.u32 %d1, %tx, {_BLOB}, %b0; mad.wide.u32 %d2, %tx, {width}, %b1;
        {{ .param .align 16 .b8 blob[{_BLOB}]; .param .b64 to; {_filled(range(0, _BLOB, 4))}
        st.param.b64 [to], %d2; call NAMEf, (blob, to); }}
        """
        unit = min(size, 8)
        yield _trial(f"{name} d, [a]{what}", form, body, before, Output(unit, _LANES * width // unit))


def store(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial | Skipped]:
    """Into what a function is given, and into what it gives back."""
    shape = Shape(name, bound)
    if shape.total > 16:
        yield Skipped(name, _WIDE)
        return
    if not shape.space.startswith("param"):
        yield from effects_memory.store(form, name, bound, plain)
        return
    whole = Output(4, _LANES * _BLOB // 4)
    around = [at for at in range(0, _BLOB, 4) if not _PLACE <= at < _PLACE + 16]
    for what, prefix, size in shape.registers():
        loads = effects_memory.loaded(prefix, size, shape.count)

        def stores(variable: str, group: str = shape.group(prefix)) -> str:
            places = range(_PLACE, _PLACE + 16, shape.total)
            return " ".join(f"{name} [{variable}+{at}], {group};" for at in places)

        words = range(0, _BLOB, 4)
        before = f"""
        .func NAMEf(.param .align 16 .b8 given[{_BLOB}], .param .b64 where)
        {{ {_REGISTERS} ld.param.b64 %d2, [where]; {_emptied("given", words)} ret; }}
        """
        body = f"""
        mad.wide.u32 %d1, %tx, {_BLOB}, %b0; mad.wide.u32 %d2, %tx, {_BLOB}, %b1; {loads}
        {{ .param .align 16 .b8 blob[{_BLOB}]; .param .b64 to; {_filled(around)} {stores("blob")}
        st.param.b64 [to], %d2; call NAMEf, (blob, to); }}
        """
        yield _trial(f"{name} [a], b; given{what}", form, body, before, whole)
        before = f"""
        .func (.param .align 16 .b8 blob[{_BLOB}]) NAMEf(.param .b64 where)
        {{ {_REGISTERS} ld.param.b64 %d1, [where]; {loads} {_filled(around)} {stores("blob")} ret; }}
        """
        body = f"""
        mad.wide.u32 %d1, %tx, {_BLOB}, %b0; mad.wide.u32 %d2, %tx, {_BLOB}, %b1;
        {{ .param .align 16 .b8 back[{_BLOB}]; .param .b64 from; st.param.b64 [from], %d1;
        call (back), NAMEf, (from); {_emptied("back", words)} }}
        """
        yield _trial(f"{name} [a], b; given back{what}", form, body, before, whole)


def _trial(text: str, form: Form, body: str, before: str, output: Output) -> Trial:
    given = drawn("parameters", _LANES * _BLOB // 4)
    return Trial(text, form, body, (given,), (output,), before, block=(_LANES, 1, 1))


def _saved(prefix: str, size: int, count: int) -> str:
    """Registers to where %d8 points."""
    first = effects_memory.first(prefix)
    return " ".join(
        f"st.global.b{8 * size} [%d8+{number * size}], {prefix}{first + number};" for number in range(count)
    )


def _filled(places: range | list[int]) -> str:
    """Words of a parameter from where %d1 points."""
    return " ".join(f"ld.global.b32 %r1, [%d1+{at}]; st.param.b32 [blob+{at}], %r1;" for at in places)


def _emptied(variable: str, places: range) -> str:
    """Words of a parameter to where %d2 points."""
    return " ".join(f"ld.param.b32 %r1, [{variable}+{at}]; st.global.b32 [%d2+{at}], %r1;" for at in places)


def move(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """128 bits out of four registers, and into them."""
    operands = tail(form)
    four = {
        "{a, b, c, e}, d": "mov.b128 {%r1, %r2, %r3, %r4}, %q0; mov.b64 %d1, {%r4, %r3};"
        " mov.b64 %d2, {%r2, %r1}; mov.b128 %q1, {%d1, %d2};",
        "d, {a, b, c, e}": "mov.b128 {%d1, %d2}, %q0; mov.b64 {%r1, %r2}, %d1; mov.b64 {%r3, %r4}, %d2;"
        " mov.b128 %q1, {%r4, %r1, %r2, %r3};",
    }
    if operands not in four:
        yield from effects_memory.move(form, name, bound, plain)
        return
    body = f"""
    mad.wide.u32 %d9, %lane, 16, %b0; ld.global.b128 %q0, [%d9]; {four[operands]}
    mad.wide.u32 %d9, %lane, 16, %b1; st.global.b128 [%d9], %q1;
    """
    output = Output(4, _LANES * 4)
    given = drawn("moved", _LANES * 4)
    yield Trial(f"{name} {operands}", form, body, (given,), (output,), block=(_LANES, 1, 1))


RECIPES = {"ld": load, "st": store, "mov": move}
