"""Devices by name: `auto`, `cuda`, `cuda:N`, `cpu`.

`auto` is the first GPU, or the embedded emulator where there is none. A GPU's
driver is started by a thread as soon as the name is known, so that it gets
ready while the rest of the program is imported and the file is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from teenycuda_cli.errors import DeviceNotFound, UsageError

if TYPE_CHECKING:
    from teenycuda_cli.driver.cuda.device import CudaDevice
    from teenycuda_cli.driver.cuda.library import DriverStart
    from teenycuda_cli.driver.device import Device
    from teenycuda_cli.driver.properties import DeviceProperties

Notice = Callable[[str], None]
"""Called with one line for the user, which belongs on standard error."""


def check_spec(spec: str) -> tuple[str, int | None]:
    """Kind ("auto", "cuda", "cpu") and number of a device by name; raises UsageError for any other name.

    Example: "cuda:1" gives ("cuda", 1), "cuda" gives ("cuda", None).
    """
    match = re.fullmatch(r"(auto|cpu|cuda)|cuda:([0-9]{1,4})", spec)
    if not match:
        raise UsageError(
            f"no device {spec!r}", hint="a device is auto, cuda, cuda:N (N counts from 0) or cpu"
        )
    if match[2] is not None:
        return "cuda", int(match[2])
    return match[1], None


class DeviceStart:
    """A device on its way: the driver starts in a thread, `open` waits for it."""

    def __init__(self, spec: str, kind: str, start: DriverStart | None) -> None:
        """`spec` is the name asked for, `start` None for the emulator, which needs no starting."""
        self.spec = spec
        self._kind = kind
        self._start = start

    def check(self) -> None:
        """Raise DeviceNotFound where a GPU was asked for by name and is not there.

        For errors that have nothing to do with the device: on a machine that
        lacks it, that it is not there comes before them all.
        """
        if self._start is not None and self._kind != "auto":
            self._start.wait()

    def is_emulator(self) -> bool:
        """Whether it is the emulator, of `auto` where there is no GPU: then the driver is waited for."""
        if self._start is None or self._kind != "auto":
            return self._start is None
        try:
            self._start.wait()
        except DeviceNotFound:
            return True
        return False

    def open(self, notice: Notice | None = None) -> Device:
        """The device, ready to use as a context manager.

        `auto` falls back to the emulator, and tells `notice` why in one line.
        Raises DeviceNotFound where a GPU was asked for by name and is not there.
        """
        return self.open_gpu(notice, "running on the embedded emulator") or _open_emulator()

    def open_gpu(self, notice: Notice | None, instead: str) -> CudaDevice | None:
        """The GPU; None for `cpu`, and for `auto` where there is none: then `notice` is told.

        `instead` is what happens then, in words. Raises DeviceNotFound as `open`.
        """
        if self._start is None:
            return None
        try:
            if not self._start.is_running:
                self._start.wait()  # there may be no GPU, and then what follows is not needed
            from teenycuda_cli.driver.cuda.device import open_cuda  # noqa: PLC0415  (while the driver starts)

            return open_cuda(self._start, notice)
        except DeviceNotFound as missing:
            if self._kind != "auto":
                raise
            if notice:
                notice(f"{instead}: {missing.message}")
            return None


def start_device(spec: str, *, cache: bool = True) -> DeviceStart:
    """Begin to open a device by name; returns at once.

    `cache` lets the driver keep what it assembled; without, each load is
    assembled anew and has its log. Raises UsageError for a name that is none.
    """
    kind, number = check_spec(spec)
    if kind == "cpu":
        return DeviceStart(spec, kind, None)
    from teenycuda_cli.driver.cuda.library import DriverStart  # noqa: PLC0415  (the emulator needs no CUDA)

    return DeviceStart(spec, kind, DriverStart(number or 0, cache=cache))


def foresee(words: Sequence[str]) -> DeviceStart | None:
    """Begin to open the device that a command line seems to ask for, before it is read properly.

    None where it launches nothing. What comes of it is for `launch`, if that
    asks for the same device.
    """
    if list(words[:1]) != ["launch"] or not {"--dry-run", "--help", "-h"}.isdisjoint(words):
        return None
    spec = "auto"
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if word == "--device":
            spec = following
        elif word.startswith("--device="):
            spec = word.removeprefix("--device=")
    try:
        return start_device(spec)
    except UsageError:
        return None


def open_device(spec: str, notice: Notice | None = None, *, cache: bool = True) -> Device:
    """The device of that name, as `start_device` and `open` in one step."""
    return start_device(spec, cache=cache).open(notice)


def look_up(spec: str, notice: Notice | None = None) -> DeviceProperties | None:
    """What a launch on the device of that name would run on, with no context made on any.

    `auto` tells `notice` where it is not a GPU. None for a GPU asked for by
    name that is not there.
    """
    from teenycuda_cli.driver.cuda.library import detect  # noqa: PLC0415  (not for a launch)
    from teenycuda_cli.driver.properties import emulator_properties  # noqa: PLC0415  (as above)

    kind, number = check_spec(spec)
    if kind == "cpu":
        return emulator_properties()
    try:
        version, count = detect()
    except DeviceNotFound as missing:
        if kind == "cuda":
            return None
        if notice:
            notice(f"the embedded emulator would run it: {missing.message}")
        return emulator_properties()
    from teenycuda_cli.driver.cuda.properties import cuda_properties  # noqa: PLC0415  (as above)

    return dict(enumerate(cuda_properties(version, count))).get(number or 0)


def list_devices(notice: Notice | None = None) -> tuple[DeviceProperties, ...]:
    """The emulator and every GPU; where there is no GPU, `notice` is told why in one line."""
    from teenycuda_cli.driver.cuda.library import detect  # noqa: PLC0415  (as above)
    from teenycuda_cli.driver.properties import emulator_properties  # noqa: PLC0415  (not for a launch)

    try:
        version, count = detect()
    except DeviceNotFound as missing:
        if notice:
            notice(f"no GPU: {missing.message}")
        return (emulator_properties(),)
    from teenycuda_cli.driver.cuda.properties import cuda_properties  # noqa: PLC0415  (as above)

    return (emulator_properties(), *cuda_properties(version, count))


def _open_emulator() -> Device:
    from teenycuda_cli.emulator.device import EmulatedDevice  # noqa: PLC0415  (imports numpy)

    return EmulatedDevice()
