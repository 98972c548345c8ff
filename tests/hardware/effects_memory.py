"""Trials of ld and st: every type and vector, into and out of registers of the type's size and wider ones."""

from __future__ import annotations

from collections.abc import Iterator

from teenycuda_cli.emulator.numerics.types import dtype
from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware.inputs import Array
from tests.hardware.trials import THREADS, Output, Trial, drawn

BYTES = THREADS * 16
_PARAMETER_BYTES = 256
_POLICY = "createpolicy.fractional.L2::evict_first.b64 %d39, 1.0;"
_FAMILIES = {16: "%h", 32: "%r", 64: "%d"}


def _bytes() -> Array:
    """What memory holds at first, in numbers of 16 bytes a thread."""
    return drawn("memory", BYTES // 4)


def first(prefix: str) -> int:
    """The number of the first register that holds data; there are few of 128 bits."""
    return 1 if prefix == "%q" else 10


class Shape:
    """What one spelling moves."""

    def __init__(self, name: str, bound: dict[str, str]) -> None:
        self.name = name
        self.type = bound["type"]
        self.count = int((bound.get("vec") or "v1")[1:])
        self.size = dtype(self.type).itemsize
        self.total = self.size * self.count
        self.space = bound.get("space", "")
        self.hint = bool(bound.get("hint"))

    def registers(self) -> Iterator[tuple[str, str, int]]:
        """What they are called, their prefix and their bytes: of the type itself, and wider ones."""
        if self.type == "b128":
            yield "", "%q", 16
            return
        bits = 8 * self.size
        if self.type[0] == "f":
            yield "", "%f" if bits == 32 else "%g", self.size
            yield "; bits", _FAMILIES[bits], self.size
            return
        for width, prefix in _FAMILIES.items():
            if width >= bits:
                yield "" if width == max(bits, 16) else f"; {width} bits", prefix, width // 8
        if self.type in ("b32", "b64"):
            yield "; float", "%f" if bits == 32 else "%g", self.size

    def tried(self, plain: bool) -> list[tuple[str, str, int]]:
        """Wider registers in global memory, and in shared memory for single elements."""
        whole = plain and (self.space == "global" or (self.count == 1 and self.space == "shared"))
        return list(self.registers())[: None if whole else 1]

    def group(self, prefix: str) -> str:
        """`%r1`, or `{%r1, %r2}`."""
        names = ", ".join(f"{prefix}{first(prefix) + number}" for number in range(self.count))
        return names if self.count == 1 else f"{{{names}}}"

    @property
    def text(self) -> str:
        """The modifiers as a policy needs them."""
        return _POLICY if self.hint else ""


def _copied(target: str, target_space: str, source: str, source_space: str, size: int = 16) -> str:
    return " ".join(
        f"ld.{source_space}.b32 %r59, [{source}+{at}]; st.{target_space}.b32 [{target}+{at}], %r59;"
        for at in range(0, size, 4)
    )


def _filled(space: str) -> str:
    """The thread's 16 bytes from the first buffer, where they are to be loaded from a space of its own."""
    if space == "global":
        return ""
    return f"mad.wide.u32 %d1, %lane, 16, %b0; {_copied('%d6', space, '%d1', 'global')}"


def _emptied(space: str) -> str:
    """The other way round, into the last buffer of a store."""
    if space == "global":
        return ""
    return f"mad.wide.u32 %d1, %lane, 16, %b2; {_copied('%d1', 'global', '%d6', space)}"


def _spaces(shape: Shape) -> list[tuple[str, str, str, str]]:
    """Where memory is: what that is called, declarations, code for the address in %d5 (and in %d6, as the
    space's own load and store take it), and the space's name."""
    shared = ".shared .align 16 .b8 NAMEs[4096];", "mov.u64 %d7, NAMEs; mad.wide.u32 %d6, %tx, 16, %d7;"
    local = ".local .align 16 .b8 NAMEl[16];", "mov.u64 %d6, NAMEl;"
    out = "mad.wide.u32 %d6, %lane, 16, %bOUT;"
    own = "mov.u64 %d5, %d6;"
    if shape.space == "":
        return [
            ("", "", out + own, "global"),
            (" in shared memory", shared[0], shared[1] + "cvta.shared.u64 %d5, %d6;", "shared"),
            (" in local memory", "", f"{local[0]} {local[1]} cvta.local.u64 %d5, %d6;", "local"),
        ]
    if shape.space == "global":
        return [("", "", out + own, "global")]
    if shape.space.startswith("shared"):
        return [("", shared[0], shared[1] + own, "shared")]
    if shape.space == "local":
        return [("", "", f"{local[0]} {local[1]} {own}", "local")]
    return []


def _stored(prefix: str, size: int, shape: Shape, buffer: int) -> str:
    kind = f"b{8 * size}"
    return f"mad.wide.u32 %d8, %lane, {shape.count * size}, %b{buffer};" + " ".join(
        f"st.global.{kind} [%d8+{number * size}], {prefix}{first(prefix) + number};"
        for number in range(shape.count)
    )


def _register_output(shape: Shape, size: int) -> Output:
    unit = min(size, 8)
    return Output(unit, THREADS * shape.count * size // unit)


def load(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Bytes of memory into registers, which are kept whole."""
    shape = Shape(name, bound)
    if shape.total > 16 or shape.space == "param::func":
        return
    policy = ", %d39" if shape.hint else ""
    for what, prefix, size in shape.tried(plain):
        group = shape.group(prefix)
        if shape.space in ("const", "param", "param::entry"):
            yield _constant_load(form, shape, what, prefix, size)
            continue
        for where, before, code, space in _spaces(shape):
            if not plain and where:
                continue
            body = f"""
            {code.replace("%bOUT", "%b0")} {shape.text}
            {_filled(space)}
            {name} {group}, [%d5]{policy}; {_stored(prefix, size, shape, 1)}
            """
            text = f"{name} d, [a]{', policy' if policy else ''}{where}{what}"
            yield Trial(text, form, body, (_bytes(),), (_register_output(shape, size),), before)


def _constant_load(form: Form, shape: Shape, what: str, prefix: str, size: int) -> Trial:
    """From constant memory each thread at its place, from parameters the same for all."""
    values = _bytes()
    if shape.space == "const":
        numbers = ", ".join(map(str, values[: 16 * 32].tolist()))
        before = f".const .align 16 .b32 NAMEc[{16 * 32}] = {{{numbers}}};"
        code = "and.b32 %r58, %lane, 31; mov.u64 %d6, NAMEc; mad.wide.u32 %d5, %r58, 16, %d6;"
        place, params = "%d5", ()
    else:
        before, code = "", ""
        place = f"given+{shape.total * 2}"
        data = values.tobytes()[:_PARAMETER_BYTES]
        params = ((f".param .align 16 .b8 given[{_PARAMETER_BYTES}]", data),)
    policy = ", %d39" if shape.hint else ""
    read = f"{shape.name} {shape.group(prefix)}, [{place}]{policy};"
    body = f"{code} {shape.text} {read} {_stored(prefix, size, shape, 0)}"
    outputs = (_register_output(shape, size),)
    return Trial(f"{shape.name} d, [a]{what}", form, body, (), outputs, before, params=params)


def store(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Registers into memory that held something else before."""
    shape = Shape(name, bound)
    if shape.total > 16:
        return
    policy = ", %d39" if shape.hint else ""
    for what, prefix, size in shape.tried(plain):
        given = drawn("registers", THREADS * shape.count * size // 2, 2)
        for where, before, code, space in _spaces(shape):
            if not plain and where:
                continue
            body = f"""
            {code.replace("%bOUT", "%b2")} {shape.text}
            mad.wide.u32 %d1, %lane, 16, %b0; {_copied("%d6", space, "%d1", "global")}
            mad.wide.u32 %d1, %lane, {shape.count * size}, %b1;
            {loaded(prefix, size, shape.count)}
            {name} [%d5], {shape.group(prefix)}{policy};
            {_emptied(space)}
            """
            text = f"{name} [a], b{', policy' if policy else ''}{where}{what}"
            yield Trial(text, form, body, (_bytes(), given), (Output(4, BYTES // 4),), before)


def loaded(prefix: str, size: int, count: int) -> str:
    return " ".join(
        f"ld.global.b{8 * size} {prefix}{first(prefix) + number}, [%d1+{number * size}];"
        for number in range(count)
    )


def move(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """128 bits between a register and two halves, and between registers."""
    halves = form.syntax.partition(" ")[2]
    codes = {
        "d, a": "mov.b128 %q1, %q0;",
        "d, {a, b}": "mov.b128 {%d1, %d2}, %q0; mov.b128 %q1, {%d2, %d1};",
        "{d, e}, a": "mov.b128 {%d1, %d2}, %q0; add.u64 %d1, %d1, 1; mov.b128 %q1, {%d1, %d2};",
    }
    if halves not in codes:
        return
    body = f"""
    mad.wide.u32 %d9, %lane, 16, %b0; ld.global.b128 %q0, [%d9]; {codes[halves]}
    mad.wide.u32 %d9, %lane, 16, %b1; st.global.b128 [%d9], %q1;
    """
    yield Trial(f"{name} {halves}", form, body, (_bytes(),), (Output(4, BYTES // 4),))


RECIPES = {"ldu": load}
