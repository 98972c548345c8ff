"""Which PTX version introduced which target."""

from __future__ import annotations

import re

_INTRODUCED = {
    "sm_30": (3, 0), "sm_32": (4, 0), "sm_35": (3, 1), "sm_37": (4, 1),
    "sm_50": (4, 0), "sm_52": (4, 1), "sm_53": (4, 2),
    "sm_60": (5, 0), "sm_61": (5, 0), "sm_62": (5, 0),
    "sm_70": (6, 0), "sm_72": (6, 1), "sm_75": (6, 3),
    "sm_80": (7, 0), "sm_86": (7, 1), "sm_87": (7, 4), "sm_88": (9, 0), "sm_89": (7, 8),
    "sm_90": (7, 8), "sm_90a": (8, 0),
    "sm_100": (8, 6), "sm_100a": (8, 6), "sm_100f": (8, 8),
    "sm_101": (8, 6), "sm_101a": (8, 6), "sm_101f": (8, 8),
    "sm_103": (8, 8), "sm_103a": (8, 8), "sm_103f": (8, 8),
    "sm_110": (9, 0), "sm_110a": (9, 0), "sm_110f": (9, 0),
    "sm_120": (8, 7), "sm_120a": (8, 7), "sm_120f": (8, 8),
    "sm_121": (8, 8), "sm_121a": (8, 8), "sm_121f": (8, 8),
}  # fmt: skip
_ARCHITECTURE = re.compile(r"(?:sm|compute)_([0-9]+)([af]?)\Z")
FIRST_WITH_CLUSTERS = 90


def architecture_number(target: str) -> int | None:
    """90 of `sm_90a`; None for what names no architecture."""
    match = _ARCHITECTURE.match(target)
    return int(match[1]) if match and len(match[1]) < 6 else None


def introduced(target: str) -> tuple[int, int] | None:
    """The first PTX version that knows a target; None where the table does not."""
    return _INTRODUCED.get(target)
