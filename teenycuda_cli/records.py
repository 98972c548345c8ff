"""Values of several named parts, of which a file or a kernel makes thousands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

Made = TypeVar("Made")


@dataclass_transform(frozen_default=True)
def record(made: type[Made]) -> type[Made]:
    """Like `dataclass(frozen=True, slots=True)`, but made five times as fast.

    That nobody writes to one is checked by types alone, not when the program runs.
    """
    return dataclass(slots=True, unsafe_hash=True)(made)
