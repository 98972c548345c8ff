"""What is said when a kernel does what it must not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from teenycuda_cli.emulator.machine.memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE, Arena, Region
from teenycuda_cli.errors import LaunchError, TimeoutExpired
from teenycuda_cli.wording import counted

if TYPE_CHECKING:
    from teenycuda_cli.emulator.ir import Op
    from teenycuda_cli.emulator.machine.access import Site
    from teenycuda_cli.emulator.machine.lanes import Lanes
    from teenycuda_cli.emulator.program import Program

_DOING = {"atom": "atomic", "red": "reduction"}


def where(program: Program, op: Op) -> tuple[int, int, tuple[str, ...]]:
    """Line and column of an instruction, and lines that show it: its text and its source line."""
    text = program.text
    line, column = text.position(op.instruction.offset)
    shown = " ".join(text.text[op.instruction.offset : op.instruction.end].split())
    context = [f"at {shown}"]
    if op.loc is not None:
        name = program.files.get(op.loc.file, f"file {op.loc.file}")
        context.append(f"from {name}:{op.loc.line}:{op.loc.column}")
    if not op.function.is_entry:
        context.append(f"in the function {op.function.name}")
    return line, column, tuple(context)


def dim3(value: tuple[int, int, int]) -> str:
    """`(x, y, z)`, as people write it."""
    return f"({value[0]}, {value[1]}, {value[2]})"


def fault(
    program: Program, op: Op, lanes: Lanes, lane: int, count: int, what: str, extra: tuple[str, ...] = ()
) -> LaunchError:
    """The error of an instruction at which `count` lanes failed, `lane` of the batch first."""
    line, column, context = where(program, op)
    block, thread = lanes.batch.place(lane)
    others = "" if count == 1 else f" (and {counted(count - 1, 'more thread')} at once)"
    return LaunchError(
        f"the kernel {program.entry} {what}",
        file=program.text.name,
        line=line,
        column=column,
        context=(f"by thread {dim3(thread)} of block {dim3(block)}{others}", *context, *extra),
    )


def first_of(program: Program, op: Op, lanes: Lanes, mask: Any, bad: Any, what: str) -> LaunchError:
    """The error of an instruction at which some lanes of a mask failed, those that `bad` marks."""
    failing = np.flatnonzero(bad)
    return fault(program, op, lanes, int(lanes.numbers(mask)[failing[0]]), len(failing), what)


def timeout(program: Program, op: Op | None, seconds: float) -> TimeoutExpired:
    """The error of a kernel that was still running when its time was over."""
    return TimeoutExpired(
        f"--timeout passed: kernel {program.entry} was still running {seconds:.3g} s after its launch",
        **stuck(program, op),
    )


def watchdog(program: Program, op: Op | None, steps: int) -> LaunchError:
    """The error of a kernel that does not seem to end."""
    return LaunchError(
        f"the kernel {program.entry} does not end: {steps} steps of one batch of blocks",
        hint="an infinite loop, or one that waits for a block that has not started yet",
        **stuck(program, op),
    )


def stuck(program: Program, op: Op | None) -> dict[str, Any]:
    """Where a kernel is, for an error."""
    if op is None:
        return {"file": program.text.name}
    line, column, context = where(program, op)
    return {"file": program.text.name, "line": line, "column": column, "context": context}


def refuse(site: Site, lanes: Lanes, numbers: Any, addresses: Any, bad: Any, space: str) -> LaunchError:
    """The error of a memory access; `bad` marks the failing ones among the active lanes `numbers`."""
    failing = np.flatnonzero(bad)
    first = int(failing[0])
    address = int(addresses[first])
    what, extra = describe(site, lanes.batch, address, space)
    return fault(site.program, site.op, lanes, int(numbers[first]), len(failing), what, extra)


def describe(site: Site, batch: Any, address: int, space: str) -> tuple[str, tuple[str, ...]]:
    """What an access did wrong, and the nearest buffer."""
    size = site.size * site.count
    doing = _DOING.get(site.op.instruction.opcode) or ("store" if site.writes else "load")
    access = f"{'an' if doing[0] in 'aeiou' else 'a'} {doing} of {counted(size, 'byte')}"
    windowed = _of_window(site, batch, access, address, space)
    if windowed is not None:
        return windowed
    address &= (1 << 64) - 1
    arena: Arena = batch.launch.arena
    region = arena.region(address)
    if region is not None and address + size <= region.end:
        if not region.writable and doing != "load":
            return f"wrote to read-only memory: {access} at {address:#x}, in {region.name}", ()
        return f"used a misaligned address: {access} at {address:#x} must be aligned to {size}", (
            _in(region, address),
        )
    if address < 4096:
        return f"used a null pointer: {access} at {address:#x}", ()
    freed = batch.launch.heap.was(address)
    what = "went out of bounds" if freed is None else "used freed memory"
    told = nearest(arena, address, size) if freed is None else (freed.name,)
    return f"{what}: {access} at {address:#x}", told


def _of_window(
    site: Site, batch: Any, access: str, address: int, space: str
) -> tuple[str, tuple[str, ...]] | None:
    """The same where shared or local memory is concerned."""
    windowed = _window(address)
    if windowed:
        what = f"used a generic address of {windowed} memory as one of {space} memory"
        return f"{what}: {access} at {address:#x}", (f"cvta.to.{windowed} makes {windowed} addresses of it",)
    if space == "shared":
        limit = batch.launch.shared_size
        return _owned(
            site,
            access,
            address,
            limit,
            "shared memory",
            "a block has",
            f"--shared gives {batch.launch.dynamic_shared}" if batch.launch.dynamic_shared else _NO_DYNAMIC,
        )
    if space == "local":
        return _owned(site, access, address, batch.launch.local_size, "local memory", "a thread has", "")
    return None


_NO_DYNAMIC = "--shared gives 0: --shared BYTES, or Triton's metadata by --meta, gives more"


def _window(address: int) -> str:
    """The space that a generic address lies in, where that is not global memory."""
    for name, start in (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW)):
        if start <= address < start + WINDOW_SIZE:
            return name
    return ""


def _in(region: Any, address: int) -> str:
    return f"{region.name} + {counted(address - region.start, 'byte')}"


def _owned(
    site: Site, access: str, address: int, limit: int, name: str, who: str, more: str
) -> tuple[str, tuple[str, ...]]:
    size = site.size * site.count
    if address >= 0 and address + size <= limit:
        return f"used a misaligned address: {access} in {name} at {address:#x} must be aligned to {size}", ()
    offset = _signed(address)
    where = f"at offset {offset}, {_missed(offset, size, limit)}"
    detail = f"{who} {counted(limit, 'byte')} of {name}" + (f", of which {more}" if more else "")
    return f"went out of bounds: {access} in {name} {where}", (detail,)


def _signed(address: int) -> int:
    """An address in a window, of 32 or 64 bits, as the number that may be negative."""
    half = 1 << 31 if 0 <= address < 1 << 32 else 1 << 63
    return (address + half) % (2 * half) - half


def _missed(offset: int, size: int, limit: int) -> str:
    """Where an access of `size` bytes lies that does not fit `limit` bytes, told by where it begins."""
    if offset < 0:
        return f"begins {counted(-offset, 'byte')} before the start"
    if offset < limit:
        return f"its last {counted(offset + size - limit, 'byte')} past the end"
    return f"begins {counted(offset - limit, 'byte')} past the end"


_NEAR = 1 << 16
"""Bytes beyond which an access is no overrun of a buffer."""


def nearest(arena: Arena, address: int, size: int) -> tuple[str, ...]:
    """The buffer that an address just misses."""
    if not arena.regions:
        return ()
    region = min(arena.regions, key=lambda each: _distance(each, address))
    if _distance(region, address) > _NEAR:
        # Nobody just missed that one; a user knows the arguments better than a compiler's variables.
        arguments = [each for each in arena.regions if each.name in arena.argument_names]
        region = min(arguments, key=lambda each: _distance(each, address), default=region)
    length = region.end - region.start
    text = _missed(address - region.start, size, length)
    return (f"{text} of {region.name} ({counted(length, 'byte')} at {region.start:#x})",)


def _distance(region: Region, address: int) -> int:
    """How many bytes an address lies outside of a region: 0 inside, 1 right behind it."""
    return max(region.start - address, address - region.end + 1, 0)
