"""Addresses in the shared memory of a cluster's blocks: mapa and getctarank."""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.arguments import MASK
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.machine import clusters
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.opcodes.effects import effect

_ISA = "data-movement-and-conversion-instructions-"


class Map:
    """`mapa`: lanes, address, rank and mask in, an address in the block of that rank out."""

    def __init__(self, width: int) -> None:
        """`width` is that of addresses, in bits."""
        self.dtype = np.dtype(f"i{width // 8}")

    def __call__(self, lanes: Lanes, address: Any, rank: Any, mask: Mask) -> Any:
        """A rank that no block of the cluster has gives an address that cannot be used."""
        del mask
        place = np.asarray(lanes.integers(address, 8 * self.dtype.itemsize)).astype(np.int64)
        number = np.asarray(lanes.integers(rank, 32)).astype(np.int64)
        ranks = np.minimum(number & 0xFFFFFFFF, clusters.MOST)
        return np.broadcast_to(clusters.mapped(place, ranks).astype(self.dtype), lanes.shape)


@effect(
    "mapa{.space}.type d, a, b",
    space="shared::cluster",
    type="u32 u64",
    types="b:u32",
    isa=_ISA + "mapa",
    keeps_memory=True,
)
def mapa(emit: Emitter, op: Op) -> None:
    """The same place in another block's shared memory."""
    width = int(op.operation.modifiers["type"][1:])
    address = emit.integer_argument(op.operands[1], width)
    rank = emit.integer_argument(op.operands[2], 32)
    run = Map(width)
    emit.call(op, [op.operands[0]], emit.bind(run), (address, rank, MASK), [run.dtype])


def rank_of(lanes: Lanes, address: Any, mask: Mask) -> Any:
    """The ranks of the blocks in whose memory addresses lie."""
    del mask
    place = np.asarray(lanes.integers(address, 64)).astype(np.int64)
    ranks = clusters.ranks_of(lanes.batch, lanes.blocks(), place)
    return np.broadcast_to(ranks.astype(np.int32), lanes.shape)


@effect(
    "getctarank{.space}.type d, a",
    space="shared::cluster",
    type="u32 u64",
    types="d:u32",
    isa=_ISA + "getctarank",
    keeps_memory=True,
)
def getctarank(emit: Emitter, op: Op) -> None:
    """The rank of the block in whose shared memory an address lies."""
    address = emit.integer_argument(op.operands[1], int(op.operation.modifiers["type"][1:]))
    results = [np.dtype(np.int32)]
    emit.call(op, [op.operands[0]], emit.bind(rank_of), (address, MASK), results)
