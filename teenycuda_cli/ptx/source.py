"""The text of a PTX file, byte for byte, and places in it."""

from __future__ import annotations

from functools import cached_property

from teenycuda_cli.errors import PtxSyntaxError

SNIPPET_WIDTH = 96


class Source:
    """PTX text under its name; one character a byte (Latin-1), so an offset is a byte offset."""

    def __init__(self, data: bytes, name: str) -> None:
        """Keep `data` as it is; `name` is what messages call the file."""
        self.data = data
        self.name = name
        self._known = (0, 1)  # an offset whose line was counted already

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
        known_offset, line = self._known
        if offset >= known_offset:
            line += self.data.count(b"\n", known_offset, offset)
        else:
            line -= self.data.count(b"\n", offset, known_offset)
        self._known = (offset, line)
        return line, offset - self.data.rfind(b"\n", 0, offset)

    def line_text(self, line: int) -> str:
        """The text of a line, from 1, without its end."""
        start = self._line_starts[line - 1]
        end = self.data.find(b"\n", start)
        return self.data[start : end if end >= 0 else len(self.data)].decode("latin-1").rstrip("\r")

    def snippet(self, line: int, column: int, length: int = 1) -> tuple[str, ...]:
        """The line, numbered, and a caret under `length` characters from `column`.

        A long line is cut to a window around the caret; tabs stay aligned, and
        what is no printable ASCII shows as `?`.
        """
        text = self.line_text(line)
        start = max(0, column - 1 - SNIPPET_WIDTH // 2) if len(text) > SNIPPET_WIDTH else 0
        shown = text[start : start + SNIPPET_WIDTH]
        cut = ("…" if start else "", "…" if start + SNIPPET_WIDTH < len(text) else "")
        shown = "".join(c if c == "\t" or " " <= c <= "~" else "?" for c in shown)
        before = shown[: column - 1 - start]
        blank = " " * len(cut[0]) + "".join("\t" if c == "\t" else " " for c in before)
        caret = "^" + "~" * (min(length, len(shown) - len(before)) - 1)
        number = str(line)
        return (
            f" {number} | {cut[0]}{shown}{cut[1]}",
            f" {' ' * len(number)} | {blank}{caret}",
        )

    def error(self, offset: int, message: str, *, hint: str | None = None, length: int = 1) -> PtxSyntaxError:
        """A syntax error at an offset, with its place and a snippet; to be raised by the caller."""
        line, column = self.position(min(offset, len(self.data)))
        return PtxSyntaxError(
            message,
            file=self.name,
            line=line,
            column=column,
            hint=hint,
            context=self.snippet(line, column, length),
        )
