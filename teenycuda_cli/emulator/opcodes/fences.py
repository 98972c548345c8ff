"""Fences and hints to caches, which do nothing here: memory is one, and nothing is cached."""

from __future__ import annotations

from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.forms import Modifiers
from teenycuda_cli.emulator.opcodes.memory import SCOPES

_FENCE = "parallel-synchronization-and-communication-instructions-membar"
_PREFETCH = "data-movement-and-conversion-instructions-prefetch-prefetchu"


def _is_restricted(m: Modifiers) -> bool:
    """Acquiring orders what is in the cluster, releasing what is in the block."""
    return (
        m["sem"] == {"shared::cluster": "acquire", "shared::cta": "release"}[m["restrict"].partition("::")[2]]
    )


@effect(
    "membar.level ",
    "membar.proxy.alias ",
    level="cta gl sys",
    isa=_FENCE,
    keeps_memory=True,
)
@effect(
    "fence{.sem}.scope ",
    "fence.proxy.alias ",
    "fence.proxy.async{.within} ",
    "fence.mbarrier_init.release.cluster ",
    sem="sc acq_rel acquire release",
    scope=SCOPES,
    within="global shared::cta shared::cluster",
    isa=_FENCE,
    keeps_memory=True,
)
@effect(
    "fence.sem.restrict.cluster ",
    "fence.proxy.async::generic.sem.restrict.cluster ",
    sem="acquire release",
    restrict="sync_restrict::shared::cluster sync_restrict::shared::cta",
    where=_is_restricted,
    isa=_FENCE,
    keeps_memory=True,
)
@effect(
    "fence.proxy.tensormap::generic.release.scope ",
    "fence.proxy.tensormap::generic.acquire.scope [a], size",
    scope=SCOPES,
    types="size:u32=",
    isa=_FENCE,
    keeps_memory=True,
)
def fence(emit: Emitter, op: Op) -> None:
    """Nothing: what a lane writes, all lanes see at once."""


def _is_prefetch(m: Modifiers) -> bool:
    """Eviction priorities are those of global memory."""
    return m["space"] != "local" or "::" not in m["level"]


@effect(
    "prefetch{.space}.level [a]",
    space="global local",
    level="L1 L2 L2::evict_last L2::evict_normal",
    where=_is_prefetch,
    isa=_PREFETCH,
    keeps_memory=True,
)
@effect("prefetch{.space}.tensormap [a]", space="const param", isa=_PREFETCH, keeps_memory=True)
@effect("prefetchu.L1 [a]", isa=_PREFETCH, keeps_memory=True)
@effect(
    "applypriority{.global}.L2::evict_normal [a], size",
    types="size:u32=",
    isa="data-movement-and-conversion-instructions-applypriority",
    keeps_memory=True,
)
@effect(
    "discard{.global}.L2 [a], size",
    types="size:u32=",
    isa="data-movement-and-conversion-instructions-discard",
    keeps_memory=True,
)
def hint(emit: Emitter, op: Op) -> None:
    """Nothing: there is no cache. What is discarded stays as it is."""


@effect(
    "setmaxnreg.action.sync.aligned.u32 count",
    action="inc dec",
    types="count:u32=",
    isa="miscellaneous-instructions-setmaxnreg",
    keeps_memory=True,
)
def registers(emit: Emitter, op: Op) -> None:
    """Nothing: a lane has as many registers as it names."""
