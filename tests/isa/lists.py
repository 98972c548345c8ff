"""Where the emulator and ptxas differ, form by form, each with the reason in a line above it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

LACKING = Path(__file__).with_name("lacking.txt")
"""What ptxas takes for sm_89, and the emulator does not."""
EXCESS = Path(__file__).with_name("excess.txt")
"""What the emulator takes, and ptxas for no target."""
NO_REASON = "?"


def read(file: Path) -> dict[str, str]:
    """The forms of a list, each with its reason."""
    found, reason = {}, NO_REASON
    for line in file.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            found[line] = reason
    return found


def renew(file: Path, forms: Iterable[str]) -> None:
    """Write these forms, with the reasons that are known; `?` for a new one, which a person then gives."""
    known = read(file) if file.exists() else {}
    by_reason: dict[str, list[str]] = {}
    for form in forms:
        by_reason.setdefault(known.get(form, NO_REASON), []).append(form)
    groups = ["\n".join((f"# {reason}", *sorted(by_reason[reason]))) for reason in sorted(by_reason)]
    file.write_text("\n\n".join(groups) + "\n")
