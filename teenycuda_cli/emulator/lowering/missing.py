"""What a kernel uses that the emulator lacks, told by instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from teenycuda_cli.errors import UnsupportedError, UnsupportedInstruction
from teenycuda_cli.ptx.source import Source
from teenycuda_cli.wording import counted, plural


@dataclass(frozen=True, slots=True)
class Missing:
    """A use of an instruction or feature that the emulator lacks."""

    offset: int
    name: str
    reason: str


def unsupported(kernel: str, text: Source, missing: Sequence[Missing]) -> UnsupportedError:
    """The error that names each instruction once, with all of its lines; placed at the first use."""
    uses: dict[tuple[str, str], list[int]] = {}
    for item in sorted(missing, key=lambda item: item.offset):
        uses.setdefault((item.name, item.reason), []).append(text.position(item.offset)[0])
    first_line, first_column = text.position(min(item.offset for item in missing))
    what = "an instruction" if len(uses) == 1 else f"{len(uses)} instructions"
    places = f", in {len(missing)} places" if len(missing) > len(uses) else ""
    return UnsupportedError(
        f"the kernel {kernel} uses {what} that the emulator lacks{places}",
        file=text.name,
        line=first_line,
        column=first_column,
        context=tuple(f"{name} {_places(lines)}: {reason}" for (name, reason), lines in uses.items()),
        hint="run it on a GPU with --device cuda; `teenycuda load` tells whether it is PTX at all",
        instructions=tuple(
            UnsupportedInstruction(name, tuple(dict.fromkeys(lines)), reason)
            for (name, reason), lines in uses.items()
        ),
    )


def _places(lines: Sequence[int]) -> str:
    """`at line 3`, or `17 times, at lines 31, 35, 40`."""
    different = list(dict.fromkeys(lines))
    at = f"at {plural(len(different), 'line')} {', '.join(map(str, different))}"
    return at if len(lines) == 1 else f"{counted(len(lines), 'time')}, {at}"
