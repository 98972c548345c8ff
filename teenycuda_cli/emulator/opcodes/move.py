"""mov between registers, and between a register and a vector of narrower ones; selp."""

from __future__ import annotations

from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.numerics import moves
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_TYPES = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"
_MOV = "data-movement-and-conversion-instructions-mov"


@op("mov.type d, a", type=_TYPES, isa=_MOV)
@op("mov.pred d, {!}a", isa=_MOV)
def mov(m: Modifiers) -> Value:
    """The same bits; a variable's address and special registers are the engine's to read."""
    return Value(moves.copy, lane="{0}", affine="mov")


@op("mov.type d, {a, b}", type="b32 b64", types="a:half b:half", isa=_MOV)
def pack2(m: Modifiers) -> Value:
    """Two halves joined, the first one lowest."""
    bits = int(m["type"][1:]) // 2
    return Value(moves.pack(m["type"]), lane=f"{{0}} | {{1}} << {bits}")


@op("mov.type {a, b}, s", type="b32 b64", types="a:half b:half", isa=_MOV)
def unpack2(m: Modifiers) -> Value:
    """Two halves taken apart, the lowest first."""
    bits = int(m["type"][1:]) // 2
    lane = f"({{0}} & {(1 << bits) - 1:#x}, {{0}} >> {bits})"
    return Value(moves.unpack(m["type"], 2), lane=lane)


@op("mov.b64 d, {a, b, c, e}", types="a:b16 b:b16 c:b16 e:b16", isa=_MOV)
def pack4(m: Modifiers) -> Value:
    """Four 16-bit parts joined, the first one lowest."""
    return Value(moves.pack("b64"), lane="{0} | {1} << 16 | {2} << 32 | {3} << 48")


@op("mov.b64 {a, b, c, e}, s", types="a:b16 b:b16 c:b16 e:b16", isa=_MOV)
def unpack4(m: Modifiers) -> Value:
    """Four 16-bit parts taken apart, the lowest first."""
    parts = ", ".join(f"{{0}} >> {shift} & 0xffff" for shift in (0, 16, 32, 48))
    return Value(moves.unpack("b64", 4), lane=f"({parts})")


@op(
    "selp.type d, a, b, {!}c",
    type="b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64",
    types="c:pred",
    isa="comparison-and-selection-instructions-selp",
)
def selp(m: Modifiers) -> Value:
    """a where c holds, else b."""
    return Value(moves.select(m["type"]), lane="{0} if {2} else {1}")


@effect(
    "mov.vec.type d, a",
    vec="v2 v4",
    type="b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64",
    isa=_MOV,
)
def whole_vector(emit: Emitter, op: Op) -> None:
    """Lowered to one `mov` an element: never emitted itself."""
    raise NotImplementedError(op.instruction.name)
