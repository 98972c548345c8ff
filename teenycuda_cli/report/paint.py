"""Colour where there is a terminal that wants it, plain text everywhere else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TextIO

from teenycuda_cli.wording import visible


@dataclass(frozen=True, slots=True)
class Paint:
    """Marks words, and makes visible what is in them; no colour unless `enabled`."""

    enabled: bool

    @classmethod
    def for_stream(cls, stream: TextIO) -> Paint:
        """Colour for a terminal, unless NO_COLOR is set or the terminal is dumb."""
        wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return cls(wanted and stream.isatty())

    def good(self, text: str) -> str:
        """What went well."""
        return self._marked(text, "32")

    def bad(self, text: str) -> str:
        """What went wrong."""
        return self._marked(text, "1;31")

    def name(self, text: str) -> str:
        """A buffer's name."""
        return self._marked(text, "36")

    def strong(self, text: str) -> str:
        """What the line is about."""
        return self._marked(text, "1")

    def _marked(self, text: str, code: str) -> str:
        shown = visible(text)
        return f"\x1b[{code}m{shown}\x1b[0m" if self.enabled else shown
