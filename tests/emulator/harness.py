"""A kernel from PTX text, run through the device protocol on the emulator."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teenycuda_cli.driver.device import Allocation, LaunchConfig, LaunchOutcome
from teenycuda_cli.driver.image import image_of
from teenycuda_cli.emulator.device import EmulatedDevice, Options

HEAD = ".version 8.3\n.target sm_80\n.address_size 64\n"


def entry(body: str, params: str = ".param .u64 out", name: str = "k", before: str = "") -> str:
    """A module of one kernel: registers by kind are declared, `%out` holds the address in `out`."""
    load = "ld.param.u64 %out, [out];" if re.search(r"\bout\b", params) else ""
    return (
        f"{HEAD}{before}\n.visible .entry {name}({params})\n{{\n"
        ".reg .pred %p<40>; .reg .b16 %h<40>; .reg .b32 %r<80>; .reg .b64 %d<80>; .reg .b64 %out;\n"
        ".reg .f32 %f<40>; .reg .f64 %g<40>;\n"
        f"{load}\n{body}\n}}\n"
    )


INDEX = """
mov.u32 %r70, %tid.x; mov.u32 %r71, %tid.y; mov.u32 %r72, %tid.z;
mov.u32 %r73, %ntid.x; mov.u32 %r74, %ntid.y; mov.u32 %r75, %ntid.z;
mad.lo.u32 %r76, %r72, %r74, %r71; mad.lo.u32 %r76, %r76, %r73, %r70;
mul.lo.u32 %r77, %r73, %r74; mul.lo.u32 %r77, %r77, %r75;
mov.u32 %r70, %ctaid.x; mov.u32 %r71, %ctaid.y; mov.u32 %r72, %ctaid.z;
mov.u32 %r73, %nctaid.x; mov.u32 %r74, %nctaid.y;
mad.lo.u32 %r78, %r72, %r74, %r71; mad.lo.u32 %r78, %r78, %r73, %r70;
mad.lo.u32 %r79, %r78, %r77, %r76;
"""
"""%r76: the thread's linear id in its block, %r78: the block's in the grid, %r79: the thread's in the grid."""


def store(register: str, kind: str = "u32", size: int = 4) -> str:
    """`out[%r79] = register`."""
    return (
        f"mul.wide.u32 %d79, %r79, {size}; add.u64 %d79, %out, %d79; st.global.{kind} [%d79], {register};\n"
    )


class Session:
    """A device with one module."""

    def __init__(self, text: str, *, lanes: int = 1 << 16, watchdog: int = 1 << 22, **options: Any) -> None:
        """Load the text under the name `k.ptx`."""
        self.device = EmulatedDevice(Options(lanes=lanes, watchdog=watchdog, **options))
        self.module = self.device.load(image_of(text.encode("latin-1"), "k.ptx"))
        self.buffers: dict[str, Allocation] = {}

    def buffer(self, name: str, values: NDArray[Any]) -> Allocation:
        """A buffer of the user's, holding `values`."""
        allocation = self.device.allocate(values.nbytes, name)
        self.device.write(allocation.address, values.tobytes())
        self.buffers[name] = allocation
        return allocation

    def values(self, name: str, dtype: Any) -> NDArray[Any]:
        """What a buffer holds."""
        allocation = self.buffers[name]
        return np.frombuffer(self.device.read(allocation.address, allocation.size), dtype)

    def launch(
        self,
        *arguments: Allocation | int | float | bytes,
        grid: Sequence[int] = (1,),
        block: Sequence[int] = (32,),
        shared: int = 0,
        timeout: float | None = None,
        name: str = "k",
        cluster: tuple[int, int, int] | None = None,
        cooperative: bool = False,
    ) -> LaunchOutcome:
        """Run the kernel; numbers are packed by the parameter's size."""
        self.device.annotate(list(self.buffers.values()))
        function = self.module.function(name)
        params = tuple(
            _pack(argument, size)
            for argument, (_, size) in zip(arguments, function.info.parameters, strict=True)
        )
        gx, gy, gz = (*grid, 1, 1)[:3]
        bx, by, bz = (*block, 1, 1)[:3]
        config = LaunchConfig((gx, gy, gz), (bx, by, bz), cluster, shared, params, cooperative=cooperative)
        return function.launch(config, timeout=timeout)


def _pack(argument: Allocation | int | float | bytes, size: int) -> bytes:
    if isinstance(argument, Allocation):
        return struct.pack("<Q", argument.address)
    if isinstance(argument, bytes):
        return argument
    if isinstance(argument, float):
        return struct.pack("<f" if size == 4 else "<d", argument)
    return (argument & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


def run(
    text: str,
    count: int,
    dtype: Any = np.uint32,
    *,
    grid: Sequence[int] = (1,),
    block: Sequence[int] = (32,),
    shared: int = 0,
    **options: Any,
) -> NDArray[Any]:
    """Launch a kernel of one parameter, a buffer of `count` zeros, and give what it leaves there."""
    session = Session(text, **options)
    out = session.buffer("out", np.zeros(count, dtype))
    session.launch(out, grid=grid, block=block, shared=shared)
    return session.values("out", dtype)
