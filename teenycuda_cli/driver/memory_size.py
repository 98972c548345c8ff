"""Whether what a command line asks for fits this machine's memory, told before anything is allocated."""

from __future__ import annotations

import os
from functools import cache
from math import prod

from teenycuda_cli.driver.arguments.element_types import ElementType
from teenycuda_cli.errors import UsageError
from teenycuda_cli.wording import counted

COPIES = 3  # before, on the emulator, after


def check_fits(name: str, shape: tuple[int, ...], element: ElementType | None) -> None:
    """Raise UsageError for a buffer larger than the memory there is; extents of any size are fine.

    `element` None takes the shape as bytes.
    """
    size = prod(shape) * (element.size if element else 1)
    available = memory_bytes()
    if size * COPIES > available:
        what = f" ({'x'.join(map(str, shape))}x{element.name})" if element else ""
        raise UsageError(
            f"{name}{what}: {shown_bytes(size)} do not fit this machine's memory of {shown_bytes(available)}",
            hint=f"a buffer is held {COPIES} times: before, during and after the launch",
        )


@cache
def memory_bytes() -> int:
    """Memory of this machine, or of the container where that is less."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, encoding="ascii") as stream:
                text = stream.read().strip()
        except OSError:
            continue
        if text.isdigit():
            return min(physical, int(text))
    return physical


def shown_bytes(size: int) -> str:
    """A size for people: `4096 bytes`, `1.5 GiB`."""
    if size >= 1 << 60:
        return "more than 1024 PiB"
    for power, unit in ((50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB")):
        if size >= 1 << power:
            whole, rest = divmod(size * 10 >> power, 10)
            return f"{whole}.{rest} {unit}"
    return counted(size, "byte")
