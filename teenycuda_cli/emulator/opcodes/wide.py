"""mov of 128 bits: between registers that are two of 64 bits each, and from and to their parts."""

from __future__ import annotations

import numpy as np

from teenycuda_cli.emulator.codegen import compute
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.memory import parts

_MOV = "data-movement-and-conversion-instructions-mov"


@effect("mov.type d, a", type="b128", isa=_MOV, keeps_memory=True)
@effect("mov.type d, {a, b}", type="b128", types="a:half b:half", isa=_MOV, keeps_memory=True)
@effect("mov.type {d, e}, a", type="b128", types="d:half e:half", isa=_MOV, keeps_memory=True)
def mov(emit: Emitter, op: Op) -> None:
    """The lower half comes first."""
    targets, _ = parts(op.operands[0], "b128")
    sources, _ = parts(op.operands[1], "b128")
    values = [f"{emit.bind(compute.duplicate)}({emit.integer(source, 64)})" for source in sources]
    emit.store_results(op, targets, f"({', '.join(values)})", emit.mask(op), [np.dtype(np.int64)] * 2)


_QUARTERS = "a:b32 b:b32 c:b32 e:b32"


@effect("mov.b128 d, {a, b, c, e}", types=_QUARTERS, isa=_MOV)
@effect("mov.b128 {a, b, c, e}, d", types=_QUARTERS, isa=_MOV)
def quarters(emit: Emitter, op: Op) -> None:
    """Lowered to `mov.b64` and `mov.b128`: never emitted itself."""
    raise NotImplementedError(op.instruction.name)
