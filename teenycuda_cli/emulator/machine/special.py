"""Special registers: what `%tid.x` and its like hold for the lanes of a batch."""

from __future__ import annotations

import time
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from teenycuda_cli.emulator.machine.values import affine, wrap
from teenycuda_cli.ptx.operands import VECTOR_SPECIALS

if TYPE_CHECKING:
    from teenycuda_cli.emulator.machine.lanes import Lanes

_AXES = {"x": 0, "y": 1, "z": 2, "w": 3}
_PLAIN = frozenset(
    [
        "%laneid",
        "%warpid",
        "%nwarpid",
        "%smid",
        "%nsmid",
        "%gridid",
        "%clock",
        "%clock_hi",
        "%clock64",
        "%globaltimer",
        "%globaltimer_lo",
        "%globaltimer_hi",
        "%lanemask_eq",
        "%lanemask_le",
        "%lanemask_lt",
        "%lanemask_ge",
        "%lanemask_gt",
        "%dynamic_smem_size",
        "%total_smem_size",
        "%aggr_smem_size",
        "%reserved_smem_offset_begin",
        "%reserved_smem_offset_end",
        "%reserved_smem_offset_cap",
        "%is_explicit_cluster",
        "%cluster_ctarank",
        "%cluster_nctarank",
        "%current_graph_exec",
        "%reserved_smem_offset_0",
        "%reserved_smem_offset_1",
        *[f"%pm{number}{suffix}" for number in range(8) for suffix in ("", "_64")],
        *[f"%envreg{number}" for number in range(32)],
    ]
)
_LONG = frozenset(
    [
        "%clock64",
        "%globaltimer",
        "%gridid",
        "%current_graph_exec",
        *[f"%pm{number}_64" for number in range(8)],
    ]
)
RESERVED_SHARED = 1024
"""Bytes of each block's shared memory that an sm_90 keeps for itself, and what of them it uses."""
RESERVED_USED = 0x120
RESERVED_PREFIX = "%reserved_smem_offset_"
RESERVED_PLACES = {RESERVED_PREFIX + "0", RESERVED_PREFIX + "1"}
"""Addresses in them; the kernel's own memory lies behind where it reads these."""
SHARED_UNIT = 128
"""Bytes by which a block's shared memory grows."""
_SHORT = frozenset(["%tid", "%ntid", "%ctaid", "%nctaid", "%gridid"])
"""May be read as 16 bits too."""
_PREDICATE = "%is_explicit_cluster"
_READERS = frozenset(["mov", "cvt"])
VARYING = frozenset(["%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"])


def is_special(name: str) -> bool:
    """Whether a name is a special register that the emulator knows."""
    head, dot, axis = name.partition(".")
    return name in _PLAIN or (bool(dot) and axis in _AXES and head in VECTOR_SPECIALS)


def special_width(name: str) -> int:
    """Bits of a special register; 1 for a predicate."""
    return 1 if name == _PREDICATE else 64 if name in _LONG else 32


def may_read(name: str, opcode: str, type_name: str) -> bool:
    """Whether an instruction may read a special register as a type: only `mov` and `cvt` do."""
    if name == _PREDICATE or type_name == "pred":
        return name == _PREDICATE and type_name == "pred" and opcode == "mov"
    if opcode not in _READERS or type_name[0] not in "bus":
        return False
    if opcode == "cvt" or int(type_name[1:]) == special_width(name):
        return True
    is_short = name.partition(".")[0] in _SHORT
    return is_short and (type_name[1:] == "16" or (name in _LONG and type_name[1:] == "32"))


def read(lanes: Lanes, name: str, before: int = 0) -> Any:
    """The value of a special register, as registers hold it; `before`: operations of the block so far."""
    if name in VARYING:
        return _time(lanes, name, before)
    known = lanes.batch.specials.get(name)
    if known is None:
        known = _work_out(lanes, name)
        if type(known) is np.ndarray:
            return known
        lanes.batch.specials[name] = known
    return known


def _work_out(lanes: Lanes, name: str) -> Any:
    head, _, axis = name.partition(".")
    if axis:
        return _vector(lanes, head, _AXES[axis])
    if name in {"%laneid", "%warpid"} or name.startswith("%lanemask"):
        return _of_lane(lanes, name)
    batch = lanes.batch
    shared = batch.launch
    own = shared.shared_size - shared.reserved_shared
    constants = {
        "%nwarpid": 64,  # places for warps in a multiprocessor, as in an H200
        "%nsmid": 1,
        "%gridid": batch.launch.number,
        "%dynamic_smem_size": shared.dynamic_shared,
        "%total_smem_size": -(-own // SHARED_UNIT) * SHARED_UNIT,
        "%aggr_smem_size": own + RESERVED_SHARED,
        "%reserved_smem_offset_end": RESERVED_USED,
        "%reserved_smem_offset_cap": RESERVED_SHARED,
        "%cluster_nctarank": prod(shared.cluster or (1,)),
        _PREDICATE: shared.cluster is not None,
        "%envreg1": wrap(shared.workspace >> 32, 32),  # as the driver has it
        "%envreg2": wrap(shared.workspace, 32),
    }
    if name == "%cluster_ctarank" and shared.cluster is not None:
        x, y, z = (_vector(lanes, "%cluster_ctaid", axis) for axis in range(3))
        return (z * shared.cluster[1] + y) * shared.cluster[0] + x
    return constants.get(name, 0)


def _vector(lanes: Lanes, head: str, axis: int) -> Any:
    batch = lanes.batch
    grid, block = batch.launch.grid, batch.launch.block
    if axis >= len(grid):
        return 0
    size = 1 if batch.launch.cluster is None else batch.launch.cluster[axis]
    uniform = {
        "%ntid": block[axis],
        "%nctaid": grid[axis],
        "%nclusterid": grid[axis] // size,
        "%cluster_nctaid": size,
    }
    if head in uniform:
        return uniform[head]
    if head == "%tid":
        return affine(0, batch.steps_of(("t", axis)), batch.extents)
    ctaid = affine(batch.origin[axis], batch.steps_of(("c", axis)), batch.extents)
    if head == "%ctaid" or (size == 1 and head == "%clusterid"):
        return ctaid
    if size == 1:
        return 0
    numbers = ctaid if isinstance(ctaid, int) else lanes.array(ctaid, 32)
    return numbers // size if head == "%clusterid" else numbers % size


def _of_lane(lanes: Lanes, name: str) -> Any:
    batch = lanes.batch
    linear = affine(0, batch.thread_weights, batch.extents)
    if name in {"%laneid", "%warpid"} and (isinstance(linear, int) or linear.high < 32):
        return linear if name == "%laneid" else 0
    threads = np.int32(0) if isinstance(linear, int) else lanes.array(linear, 32)
    if name == "%warpid":
        return threads >> np.int32(5)
    lane = threads & np.int32(31)
    if name == "%laneid":
        return np.asarray(lane)
    one = np.left_shift(np.uint32(1), lane.astype(np.uint32))
    below = one - np.uint32(1)
    masks = {"eq": one, "lt": below, "le": below | one, "ge": ~below, "gt": ~(below | one)}
    return np.atleast_1d(masks[name[-2:]]).view(np.int32)


def _time(lanes: Lanes, name: str, before: int) -> int:
    if name.startswith("%globaltimer"):
        now = time.time_ns()
        if name == "%globaltimer":
            return wrap(now, 64)
        return wrap(now >> 32 if name.endswith("hi") else now, 32)
    now = lanes.batch.clock(before)
    if name == "%clock64":
        return now
    return wrap(now >> 32 if name == "%clock_hi" else now, 32)
