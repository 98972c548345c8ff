"""The text of a PTX file, byte for byte, and places in it."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property


class Source:
    """PTX text under its name; one character a byte (Latin-1), so an offset is a byte offset."""

    def __init__(self, data: bytes, name: str) -> None:
        """Keep `data` as it is; `name` is what messages call the file."""
        self.data = data
        self.name = name

    @cached_property
    def text(self) -> str:
        """The bytes as characters; nothing is translated, nothing is lost."""
        return self.data.decode("latin-1")

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        find = self.data.find
        at = find(b"\n")
        while at >= 0:
            starts.append(at + 1)
            at = find(b"\n", at + 1)
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1. Lines end at \\n only, as ptxas counts them."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """The text of a line, from 1, without its end."""
        start = self._line_starts[line - 1]
        end = self.data.find(b"\n", start)
        return self.data[start : end if end >= 0 else len(self.data)].decode("latin-1").rstrip("\r")
