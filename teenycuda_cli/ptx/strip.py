"""PTX without its debug information, so that the driver takes it.

Removed together are `.loc`, `.file`, `@@DWARF` lines, `.section .debug_…`
with the labels that follow it at module level, and `debug` in `.target`. A
line that held nothing but what was removed goes whole, with the comment behind
it, unless that comment carries metadata; where something else stands on the
line, the removed tokens alone go. A byte-order mark goes, the text ends at its
first NUL (as the driver reads it), and bytes that are no ASCII become `?` in
comments and strings. Every other byte stays.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from functools import cached_property
from io import BytesIO
from typing import NamedTuple

from teenycuda_cli.ptx.source import Source
from teenycuda_cli.ptx.tokens import BLANK, LINE_MARK

_BLANKS = b" \t"
_NEWLINE = 10
BOM = b"\xef\xbb\xbf"
_WORD = rb"(?:[A-Za-z][A-Za-z0-9_$]*+|[_$%][A-Za-z0-9_$]++)"
_INTEGER = rb"[0-9][0-9A-Za-z]*+(?![.0-9A-Za-z_$])"
_B = BLANK.encode()
_END = rb"(?![A-Za-z0-9_$])"

# All that may hide a directive, and everything else up to the next one.
_SKIP = re.compile(
    rb'(?:[^/".@\#]++|(?<=[A-Za-z0-9_$%])\.|\.(?!(?:loc|file|section|target)' + _END + rb")"
    rb'|//[^\n]*+|/\*(?s:.*?)\*/|/(?!\*)|"[^"]*+"|@(?!@DWARF)|' + LINE_MARK.encode() + rb"|\#)*+"
)
_PLACE = (_B + _INTEGER) * 3
_INLINED = (
    _B + b"," + _B + b"function_name" + _END + _B + _WORD + rb"(?:" + _B + rb"\+" + _B + _INTEGER + rb")?+"
    + _B + b"," + _B + b"inlined_at" + _PLACE
)  # fmt: skip
_LOC = re.compile(rb"\.loc" + _PLACE + rb"(?P<inlined>(?:" + _INLINED + rb")++)?+")
_LOC_LINE = re.compile(
    rb"\.loc[ \t]++[0-9]++[ \t]++[0-9]++[ \t]++[0-9]++[ \t\r]*+"
    rb"(?://(?![ \t]*+(?:meta:|TRITON_))[^\n]*+)?+\n(?![ \t\r\n]*+[,/\#])"
)
_FILE = re.compile(
    rb"\.file" + _B + _INTEGER + _B + rb'"(?P<name>[^"]*+)"(?:' + _B + b"," + _B + _INTEGER + rb"){0,2}+"
)
_SECTION = re.compile(rb"\.section" + _B + rb"(\.[A-Za-z0-9_$.]++)" + _B + rb"\{")
_LABELS = re.compile(rb"(?:" + _B + _WORD + _B + rb":)*+")
_LABEL = re.compile(_B + rb"(" + _WORD + _B + rb":)")
_INSIDE = re.compile(rb'(?:[^{}"/]++|//[^\n]*+|/\*(?s:.*?)\*/|/(?!\*)|"[^"]*+")*+')
_TARGET = re.compile(rb"\.target" + _B + _WORD + rb"(?:" + _B + b"," + _B + _WORD + rb")*+")
_DEBUG_OPTION = re.compile(_B + b"," + _B + rb"debug(?![A-Za-z0-9_$.])")
_DWARF = re.compile(rb"@@DWARF[^\n]*+")
_HEAD = re.compile(_B + rb"\.version" + _END)
_BLANK_BEHIND = re.compile(rb"[ \t\r]*+(?://(?![ \t]*+(?:meta:|TRITON_))[^\n]*+)?+(?:\n|\Z)")
_GLUE = re.compile(rb'[A-Za-z0-9_$%."]{2}|[/*<>=!&|@:]{2}')  # two that could read as one token
_NOT_ASCII = re.compile(rb'(//[^\n]*+|/\*(?s:.*?)\*/|"[^"]*+")|[\x80-\xff]')
_HIGH = re.compile(rb"[\x80-\xff]")


class Removed(NamedTuple):
    """What a strip took away: counts, names of debug sections, bytes."""

    locs: int = 0
    inlined: int = 0  # `function_name …, inlined_at …` parts cut off kept `.loc`s
    files: int = 0
    sections: tuple[str, ...] = ()
    labels: int = 0
    target_debug: bool = False
    dwarf_lines: int = 0
    byte_order_mark: bool = False
    behind_nul: int = 0  # bytes from the first NUL on
    not_ascii: int = 0  # bytes that became `?`

    @property
    def anything(self) -> bool:
        """Whether the text was changed."""
        return self != Removed()


class Stripped:
    """Stripped text, what was removed, and the way back to the user's lines."""

    def __init__(self, data: bytes, removed: Removed, original: bytes, cuts: array[int]) -> None:
        """`cuts`: begin and end of each removed stretch of the original, in order."""
        self.data = data
        self.removed = removed
        self.original = original
        self.cuts = cuts

    def user_line(self, line: int) -> int:
        """The line of the original that a line of the stripped text was; both from 1."""
        lines, shifts = self._shifts
        return line + shifts[bisect_right(lines, line) - 1]

    @cached_property
    def _shifts(self) -> tuple[list[int], list[int]]:
        """From which stripped line on, how many lines were removed before it."""
        lines, shifts = [1], [0]
        line, removed, end = 1, 0, 0
        for index in range(0, len(self.cuts), 2):
            begin = self.cuts[index]
            line += self.original.count(b"\n", end, begin)
            end = self.cuts[index + 1]
            gone = self.original.count(b"\n", begin, end)
            if not gone:
                continue
            removed += gone
            # A line that goes on behind the cut keeps the number it began with.
            begun = begin > 0 and self.original[begin - 1 : begin] != b"\n"
            lines.append(line + begun)
            shifts.append(removed)
        return lines, shifts


def strip(source: Source, *, keep_lineinfo: bool = False) -> Stripped:
    """Take the debug information out of PTX.

    With `keep_lineinfo`, `.file` and `.loc` stay, without the part of a `.loc`
    that points into a removed section. Raises PtxSyntaxError where the text
    does not begin as PTX does, a comment, string or section never ends, or a
    byte outside of them is no ASCII.
    """
    return _Strip(source, keep_lineinfo).run()


class _Strip:
    """A walk over the text, from one directive to the next."""

    def __init__(self, source: Source, keep_lineinfo: bool) -> None:
        self.source = source
        self.keep_lineinfo = keep_lineinfo
        data = source.data
        nul = data.find(b"\0")
        self.behind_nul = len(data) - nul if nul >= 0 else 0
        self.data = data[:nul] if nul >= 0 else data
        self.cuts = array("Q")
        self.locs = self.inlined = self.files = self.labels = self.dwarf_lines = 0
        self.target_debug = False
        self.sections: list[str] = []

    def run(self) -> Stripped:
        """Walk, then put together what is left."""
        start = 0
        while self.data.startswith(BOM, start):
            start += len(BOM)
        if start:
            self.cuts.extend((0, start))
        if not _HEAD.match(self.data, start):
            raise self.source.error(
                start,
                "this is no PTX: it does not begin with .version",
                hint="a PTX file begins with .version, .target and .address_size",
            )
        self._walk(start)
        if self.behind_nul:
            self.cuts.extend((len(self.data), len(self.source.data)))
        kept, not_ascii = self._without_high_bytes(self._kept())
        removed = Removed(
            locs=self.locs,
            inlined=self.inlined,
            files=self.files,
            sections=tuple(self.sections),
            labels=self.labels,
            target_debug=self.target_debug,
            dwarf_lines=self.dwarf_lines,
            byte_order_mark=start > 0,
            behind_nul=self.behind_nul,
            not_ascii=not_ascii,
        )
        return Stripped(kept, removed, self.source.data, self.cuts)

    def _walk(self, position: int) -> None:
        """Go from directive to directive; the usual `.loc` alone on its line goes at once."""
        data, skip, loc_line, cuts = self.data, _SKIP.match, _LOC_LINE.match, self.cuts
        size = len(data)
        wanted = not self.keep_lineinfo
        last = cuts[-1] if cuts else 0
        while True:
            match = skip(data, position)
            assert match is not None  # it matches the empty text
            at = match.end()
            if at == size:
                return
            line = loc_line(data, at) if wanted else None
            begin = at - 1
            while data[begin] in _BLANKS:
                begin -= 1
            if line is None or data[begin] != _NEWLINE:
                position = self._directive(at)
                last = cuts[-1] if cuts else 0
                continue
            self.locs += 1
            position = line.end()
            if begin + 1 == last:
                cuts[-1] = position
            else:
                cuts.extend((begin + 1, position))
            last = position

    def _directive(self, at: int) -> int:
        """Remove the directive at an offset if it is one of debug information; returns where to go on."""
        found = self.data[at : at + 2]
        if found == b".l":
            return self._loc(at)
        if found == b".f":
            return self._file(at)
        if found == b".s":
            return self._section(at)
        if found == b".t":
            return self._target(at)
        if found == b"@@":
            match = _DWARF.match(self.data, at)
            assert match is not None
            self.dwarf_lines += 1
            return self._cut(at, match.end())
        what, end = ("comment", "*/") if found == b"/*" else ("string", '"')
        raise self.source.error(at, f"this {what} never ends", hint=f"close it with {end}")

    def _loc(self, at: int) -> int:
        match = _LOC.match(self.data, at)
        if match is None:
            return at + 1
        if not self.keep_lineinfo:
            self.locs += 1
            return self._cut(at, match.end())
        if match["inlined"] is not None:
            self.inlined += 1
            self._add(match.start("inlined"), match.end())
        return match.end()

    def _file(self, at: int) -> int:
        match = _FILE.match(self.data, at)
        if match is None:
            return at + 1
        # A name without a last part crashes ptxas 13.0 as soon as a .loc refers to it.
        if self.keep_lineinfo and match["name"] and match["name"][-1:] not in (b"/", b"\\"):
            return match.end()
        self.files += 1
        return self._cut(at, match.end())

    def _section(self, at: int) -> int:
        match = _SECTION.match(self.data, at)
        if match is None:
            return at + 1
        end = self._closing(match.end(), at)
        name = match[1].decode("ascii")
        if not name.startswith(".debug"):
            return end
        self.sections.append(name)
        labels = _LABELS.match(self.data, end)
        if labels is not None and labels.end() > end:
            self.labels += labels[0].count(b":")
            position = self._cut(at, end)
            return self._cut_labels(max(position, end), labels.end())
        return self._cut(at, end)

    def _cut_labels(self, begin: int, end: int) -> int:
        """Remove the labels of a stretch one by one; the comments between them stay."""
        position = begin
        while position < end and (match := _LABEL.match(self.data, position)):
            position = self._cut(match.start(1), match.end())
        return position

    def _closing(self, position: int, at: int) -> int:
        """The offset behind the `}` of the section at `at`."""
        depth = 1
        while depth:
            match = _INSIDE.match(self.data, position)
            assert match is not None
            position = match.end() + 1
            brace = self.data[match.end() : position]
            if brace not in (b"{", b"}"):
                raise self.source.error(at, "this section is never closed", hint="a `}` is missing")
            depth += 1 if brace == b"{" else -1
        return position

    def _target(self, at: int) -> int:
        match = _TARGET.match(self.data, at)
        if match is None:
            return at + 1
        for option in _DEBUG_OPTION.finditer(self.data, at, match.end() + 1):
            self.target_debug = True
            self._add(*option.span())
        return match.end()

    def _cut(self, begin: int, end: int) -> int:
        """Remove a directive, and its whole line if nothing else is on it; returns where to go on."""
        data = self.data
        line = data.rfind(b"\n", 0, begin) + 1
        earliest = max(line, self.cuts[-1] if self.cuts else 0)
        behind = _BLANK_BEHIND.match(data, end)
        if (
            behind
            and not data[earliest:begin].strip(b" \t")
            and (earliest == line or self._at_line_start(earliest))
        ):
            begin, end = earliest, behind.end()
        self._add(begin, end)
        return end

    def _at_line_start(self, cut_end: int) -> bool:
        """Whether the cut that ends here began at its line's start, so that the line is empty so far."""
        begin = self.cuts[-2]
        return cut_end == self.cuts[-1] and (begin == 0 or self.data[begin - 1 : begin] == b"\n")

    def _add(self, begin: int, end: int) -> None:
        if self.cuts and self.cuts[-1] == begin:
            self.cuts[-1] = end
        else:
            self.cuts.extend((begin, end))

    def _kept(self) -> bytes:
        """The text without the cuts; tokens that a cut would glue together get a space."""
        data, cuts = self.source.data, self.cuts
        if not cuts:
            return data
        view = memoryview(data)
        out = BytesIO()
        end = 0
        for index in range(0, len(cuts), 2):
            begin = cuts[index]
            out.write(view[end:begin])
            end = cuts[index + 1]
            if begin and _GLUE.match(data[begin - 1 : begin] + data[end : end + 1]):
                out.write(b" ")
        out.write(view[end:])
        return out.getvalue()

    def _without_high_bytes(self, data: bytes) -> tuple[bytes, int]:
        """The text with `?` for bytes above ASCII in comments and strings, and their number."""
        if data.isascii():
            return data, 0
        count = 0

        def replaced(match: re.Match[bytes]) -> bytes:
            nonlocal count
            if match[1] is None:
                at = self.source.data.find(match[0])
                raise self.source.error(
                    at, f"byte 0x{match[0][0]:02x} is no ASCII, and stands outside of comments and strings"
                )
            text, number = _HIGH.subn(b"?", match[1])
            count += number
            return text

        return _NOT_ASCII.sub(replaced, data), count
