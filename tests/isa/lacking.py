"""The list of what ptxas takes and the emulator lacks."""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).with_name("lacking.txt")


def listed() -> dict[str, str]:
    """The forms of `lacking.txt`, each with the reason above it."""
    found, reason = {}, ""
    for line in FILE.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            assert reason
            found[line] = reason
    return found
