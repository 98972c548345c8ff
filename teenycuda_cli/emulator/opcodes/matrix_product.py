"""What mma and wmma.mma share: registers of whole warps in, a product, registers out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from teenycuda_cli.emulator.codegen.arguments import MASK
from teenycuda_cli.emulator.codegen.compute import Reader
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op, Register
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.machine.warps import active_warps, gather_registers, scatter_registers
from teenycuda_cli.emulator.numerics.matrix import Spec
from teenycuda_cli.emulator.opcodes.memory import elements
from teenycuda_cli.emulator.program import Program

Multiply: TypeAlias = Callable[..., Any]
"""d from a `Spec`, the matrices a, b and c, and what comes behind them."""


class Held(Protocol):
    """How lanes hold a matrix; see `fragments.Fragment`."""

    @property
    def registers(self) -> int:
        """Without their copies."""

    @property
    def copies(self) -> int:
        """How often the registers are repeated."""

    @property
    def word(self) -> Any:
        """A register's bits."""

    def matrix(self, words: Any) -> Any:
        """Registers, (registers, warps, 32), as (rows, columns, warps)."""

    def words(self, matrix: Any) -> Any:
        """The opposite."""


@dataclass(frozen=True, slots=True, eq=False)
class MatrixProduct:
    """Lanes, mask and the registers of a, b and c, and of what else there is, in; those of d out."""

    program: Program
    op: Op
    spec: Spec
    held: tuple[Held, ...]  # a, b, c, d, and what comes behind c
    multiply: Multiply

    def __call__(self, lanes: Lanes, mask: Mask, bits: list[Any]) -> list[Any]:
        """Raises LaunchError where lanes of a warp are missing."""
        warps = active_warps(self.program, self.op, lanes, mask)
        matrices = []
        start = 0
        for held in (*self.held[:3], *self.held[4:]):
            words = gather_registers(lanes, bits[start : start + held.registers], held.word, warps)
            matrices.append(held.matrix(words))
            start += held.registers * held.copies
        found = self.held[3].words(self.multiply(self.spec, *matrices))
        return scatter_registers(lanes, found, warps)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A product as generated code calls it: what registers hold is read as bits, and bits are made of d."""

    product: MatrixProduct
    readers: tuple[Reader, ...]
    dtypes: tuple[Any, ...]  # of the destinations

    def __call__(self, lanes: Lanes, mask: Mask, *values: Any) -> Any:
        """A value for each destination."""
        bits = [read(lanes, value) for read, value in zip(self.readers, values, strict=True)]
        results = self.product(lanes, mask, bits)
        return tuple([part.view(dtype) for part, dtype in zip(results, self.dtypes, strict=True)])


def emit_product(emit: Emitter, op: Op, product: MatrixProduct) -> None:
    """Code of d = a × b + c; what stands behind c is read as 32 bits, but for a last constant."""
    wide = product.held[0].word.itemsize == 8
    bits = "b64" if wide else "b32"
    sources = [source for operand in op.operands[1 : len(product.held)] for source in elements(operand)]
    arguments = [emit.argument(source, bits) for source in sources]
    destinations = elements(op.operands[0])
    unit = np.dtype(np.int64 if wide else np.int32)
    dtypes = [emit.kept(each).dtype if isinstance(each, Register) else unit for each in destinations]
    readers = tuple([emit.reader(argument, bits) for argument in arguments])
    run = emit.bind(Run(product, readers, tuple(dtypes)))
    emit.call(op, destinations, run, (MASK, *arguments), dtypes)
