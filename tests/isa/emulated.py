"""What the emulator has against instructions: the same that a launch of them would tell."""

from __future__ import annotations

from teenycuda_cli.driver.image import image_of
from teenycuda_cli.emulator.device import EmulatedDevice, Options
from teenycuda_cli.emulator.lower import Lowering
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
    """Reasons by index: all at once where instructions are unsupported, else the first that is no PTX."""
    loaded = EmulatedDevice(Options()).load(image_of(module(forms, target).encode(), "forms.ptx"))
    try:
        (entry,) = loaded.module.entries
        Lowering(loaded.module, loaded.image.source, entry, loaded.addresses).run()
    except UnsupportedError as error:
        return {line - first_line(): each.reason for each in error.instructions for line in each.lines}
    except TeenycudaError as error:
        return {(error.line or 0) - first_line(): error.message}
    return {}
