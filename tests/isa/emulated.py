"""What the emulator has against instructions: the same that a launch of them would tell."""

from __future__ import annotations

from teenycuda_cli.driver.image import image_of
from teenycuda_cli.emulator.device import EmulatedDevice, Options
from teenycuda_cli.errors import TeenycudaError, UnsupportedError
from tests.isa.grammar import first_line, module


def lacking(forms: list[str], target: str = "sm_89") -> dict[str, str]:
    """The forms that the emulator does not take, and why."""
    left, found = forms, {}
    while left:
        refused = _refused(left, target)
        if not refused:
            return found
        found |= {left[index]: reason for index, reason in refused.items()}
        left = [form for index, form in enumerate(left) if index not in refused]
    return found


def _refused(forms: list[str], target: str) -> dict[int, str]:
    """Reasons by index: of all that is unsupported, or of the first that is found out later or is no PTX."""
    image = image_of(module(forms, target).encode(), "forms.ptx")
    try:
        EmulatedDevice(Options()).load(image).function("k")
    except TeenycudaError as error:
        if isinstance(error, UnsupportedError) and error.instructions:
            return {line - first_line(): each.reason for each in error.instructions for line in each.lines}
        return {(error.line or 0) - first_line(): error.message}
    return {}
