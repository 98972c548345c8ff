"""Special registers: what `%tid.x` and its like hold for the lanes of a batch."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from teenycuda_cli.emulator.values import affine, wrap

if TYPE_CHECKING:
    from teenycuda_cli.emulator.lanes import Lanes

_AXES = {"x": 0, "y": 1, "z": 2}
_VECTORS = (
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
)
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
    ]
)
VARYING = frozenset(["%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"])


def is_special(name: str) -> bool:
    """Whether a name is a special register that the emulator knows."""
    head, dot, axis = name.partition(".")
    return name in _PLAIN or (bool(dot) and axis in _AXES and head in _VECTORS)


def special_width(name: str) -> int:
    """Bits of a special register."""
    return 64 if name in {"%clock64", "%globaltimer", "%gridid", "%current_graph_exec"} else 32


def read(lanes: Lanes, name: str) -> Any:
    """The value of a special register, as registers hold it."""
    known = lanes.batch.specials.get(name)
    if known is None:
        known = _work_out(lanes, name)
        if type(known) is np.ndarray or name in VARYING:
            return known
        lanes.batch.specials[name] = known
    return known


def _work_out(lanes: Lanes, name: str) -> Any:
    head, _, axis = name.partition(".")
    if axis:
        return _vector(lanes, head, _AXES[axis])
    if name in VARYING:
        return _time(lanes, name)
    if name in {"%laneid", "%warpid"} or name.startswith("%lanemask"):
        return _of_lane(lanes, name)
    batch = lanes.batch
    shared = batch.launch
    constants = {
        "%nwarpid": (batch.threads + 31) // 32,
        "%nsmid": 1,
        "%gridid": batch.launch.number,
        "%dynamic_smem_size": shared.dynamic_shared,
        "%total_smem_size": shared.shared_size,
        "%aggr_smem_size": shared.shared_size,
        "%cluster_nctarank": 1,
    }
    return constants.get(name, 0)


def _vector(lanes: Lanes, head: str, axis: int) -> Any:
    batch = lanes.batch
    grid, block = batch.launch.grid, batch.launch.block
    if head == "%ntid":
        return block[axis]
    if head in {"%nctaid", "%nclusterid"}:
        return grid[axis]
    if head == "%tid":
        return affine(0, batch.steps_of(("t", axis)), batch.extents)
    if head in {"%ctaid", "%clusterid"}:
        return affine(batch.origin[axis], batch.steps_of(("c", axis)), batch.extents)
    return 1 if head == "%cluster_nctaid" else 0


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


def _time(lanes: Lanes, name: str) -> int:
    if name.startswith("%globaltimer"):
        now = time.time_ns()
        if name == "%globaltimer":
            return wrap(now, 64)
        return wrap(now >> 32 if name.endswith("hi") else now, 32)
    now = lanes.batch.clock()
    if name == "%clock64":
        return now
    return wrap(now >> 32 if name == "%clock_hi" else now, 32)
