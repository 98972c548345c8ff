"""What is found in text without tokens: numbers of `.loc`, comments with metadata."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_METADATA_MARKS = ("meta:", "TRITON_")
_METADATA = re.compile(r'//[ \t]*+((?:meta:|TRITON_)[^\n]*+)|//[^\n]*+|/\*(?s:.*?)\*/|"[^"]*+"')
_LOC = re.compile(r'//[^\n]*+|/\*(?s:.*?)\*/|"[^"]*+"|(\.loc)(?![A-Za-z0-9_$:])')
_LOC_ALONE = re.compile(r"\.loc(?![A-Za-z0-9_$:])")


def count_locs(text: str, begin: int, end: int) -> int:
    """The number of `.loc`s between two offsets, those in comments and strings aside."""
    at = text.find(".loc", begin, end)
    if at < 0:
        return 0
    if text.find("/*", begin, end) >= 0 or text.find('"', begin, end) >= 0:
        return sum(map(bool, _LOC.findall(text, begin, end)))
    found = len(_LOC_ALONE.findall(text, at, end))
    if found == text.count("\n\t.loc\t", begin, end):
        return found  # as compilers write them: each begins its line
    found = 0
    for match in _LOC_ALONE.finditer(text, at, end):
        line = text.rfind("\n", begin, match.start()) + 1
        found += text.find("//", line, match.start()) < 0
    return found


def metadata_comments(text: str, spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, str], ...]:
    """Comments that carry metadata, with the offset of their `//`.

    `spans` are bodies and sections, in order. Only stretches between their
    edges that mention metadata are looked through, each from its start, so
    that neither a string nor a block comment is taken for one.
    """
    found: list[tuple[int, str]] = []
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    for begin, end in pairwise(edges):
        if any(text.find(mark, begin, end) >= 0 for mark in _METADATA_MARKS):
            for match in _METADATA.finditer(text, begin, end):
                if match[1] is not None:
                    found.append((match.start(), match[1].rstrip("\r")))
    return tuple(found)
