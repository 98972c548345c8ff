"""What each entry uses, from the assembler's verbose log and from the cubin."""

from __future__ import annotations

import re
from dataclasses import dataclass

from teenycuda_cli.binary import Cubin, Kernel, KernelParameter, read
from teenycuda_cli.driver.device import FunctionInfo
from teenycuda_cli.errors import FileError

_PROPERTIES = re.compile(r"Function properties for '?([^\s':]+)'?:?$")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True, slots=True)
class Spills:
    """Bytes of a function's stack frame, and of it stored and loaded because registers ran out."""

    stack_frame: int
    stores: int
    loads: int


@dataclass(frozen=True, slots=True)
class EntryUsage:
    """What an entry uses, in bytes; None is unknown.

    `stack_bytes` is a thread's own stack frame, `local_bytes` with the frames
    of all that it calls, `const_bytes` the module's `.const` variables, as the
    driver counts them. `max_threads` is what the entry or its registers allow
    a block.
    """

    name: str
    registers: int | None
    stack_bytes: int | None
    spill_store_bytes: int | None
    spill_load_bytes: int | None
    local_bytes: int | None
    shared_bytes: int | None
    const_bytes: int | None
    max_threads: int | None
    params: tuple[KernelParameter, ...]
    binary_version: int | None  # 90 for sm_90a
    ptx_version: int | None = None
    barriers: int | None = None

    @classmethod
    def of_function(cls, info: FunctionInfo) -> EntryUsage:
        """What a device's `FunctionInfo` tells; stack and spills are not in it."""
        return cls(
            name=info.name,
            registers=info.registers,
            stack_bytes=None,
            spill_store_bytes=None,
            spill_load_bytes=None,
            local_bytes=info.local_bytes,
            shared_bytes=info.static_shared,
            const_bytes=info.const_bytes,
            max_threads=info.max_threads,
            params=tuple(KernelParameter(index, *place) for index, place in enumerate(info.parameters)),
            binary_version=info.binary_version,
            ptx_version=info.ptx_version,
        )


def spills_in_log(log: str) -> dict[str, Spills]:
    """Stack frame and spills of each function that a verbose log tells of, entries and others.

    Example: the lines `Function properties for k` and `0 bytes stack frame, 0
    bytes spill stores, 0 bytes spill loads` give {"k": Spills(0, 0, 0)}.
    """
    found: dict[str, Spills] = {}
    function = None
    for line in log.split("\n"):
        named = _PROPERTIES.search(line)
        if named:
            function = named[1]
        elif function is not None and (stack := _STACK.search(line)):
            found[function] = Spills(int(stack[1]), int(stack[2]), int(stack[3]))
            function = None
    return found


def entry_usage(cubin: bytes, log: str) -> tuple[EntryUsage, ...]:
    """What the cubin says of each entry, with the spills, which only the log tells."""
    spills = spills_in_log(log)
    try:
        content = read(cubin, "the assembler's cubin")
    except FileError:
        return ()  # a container newer than this reader: the assembly is good all the same
    kernels = content.kernels if isinstance(content, Cubin) else ()
    return tuple(usage_of(kernel, spills.get(kernel.name)) for kernel in kernels)


def usage_of(kernel: Kernel, spills: Spills | None = None) -> EntryUsage:
    """An entry of a cubin as usage; spills are unknown where there was no log."""
    digits = re.search(r"\d+", kernel.arch)
    return EntryUsage(
        name=kernel.name,
        registers=kernel.registers,
        stack_bytes=kernel.frame,
        spill_store_bytes=spills.stores if spills else None,
        spill_load_bytes=spills.loads if spills else None,
        local_bytes=kernel.local,
        shared_bytes=kernel.static_shared,
        const_bytes=kernel.const,
        max_threads=kernel.max_threads,
        params=kernel.params,
        binary_version=int(digits[0]) if digits else None,
        barriers=kernel.barriers,
    )
