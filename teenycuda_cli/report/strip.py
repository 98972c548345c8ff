"""What `strip` says of its work: lines on standard error, or a JSON document."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from teenycuda_cli.wording import counted

if TYPE_CHECKING:
    from teenycuda_cli.ptx.strip import Removed, Stripped
    from teenycuda_cli.verification import Verification

SCHEMA = "teenycuda.strip/1"


def summary(name: str, stripped: Stripped, verification: Verification | None) -> Iterator[str]:
    """What went, in one line, and what verifying showed, in another."""
    removed = stripped.removed
    gone = len(stripped.original) - len(stripped.data)
    if removed.anything:
        share = f"{gone:,} of {counted(len(stripped.original), 'byte', spec=',')}"
        yield f"{name}: removed {', '.join(_parts(removed))}; {share}"
    else:
        yield f"{name}: nothing to remove"
    if removed.behind_nul > 1:
        yield f"{name}: warning: the text ends at its first NUL, as the driver reads it"
    if verification is not None:
        yield f"{name}: {_verdict(verification)}"


def _parts(removed: Removed) -> Iterator[str]:
    for count, what in (
        (removed.locs, ".loc"),
        (removed.files, ".file"),
        (removed.inlined, "inlined_at of .loc"),
    ):
        if count:
            yield f"{count} {what}"
    for section, count in Counter(removed.sections).items():
        yield section if count == 1 else f"{count} {section}"
    for there, what in (
        (removed.target_debug, "`debug` of .target"),
        (removed.byte_order_mark, "the byte-order mark"),
    ):
        if there:
            yield what
    for count, one, many in (
        (removed.labels, "label behind a section", "labels behind sections"),
        (removed.dwarf_lines, "@@DWARF line", "@@DWARF lines"),
        (removed.behind_nul, "byte from the first NUL on", "bytes from the first NUL on"),
    ):
        if count:
            yield counted(count, one, many)
    if removed.not_ascii:
        yield counted(removed.not_ascii, "byte that is no ASCII", "bytes that are no ASCII") + " (now `?`)"


def _verdict(verification: Verification) -> str:
    arch = verification.arch
    if not verification.compared:
        return f"verified that it assembles for {arch}; {verification.reason}"
    return f"verified: the same machine code for {arch} ({counted(verification.sections, 'section')})"


def document(name: str, out: str | None, stripped: Stripped, verification: Verification | None) -> str:
    """The JSON document of a strip."""
    removed = stripped.removed
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "file": name,
        "out": out,
        "bytes_before": len(stripped.original),
        "bytes_after": len(stripped.data),
        "removed": {
            "locs": removed.locs,
            "inlined": removed.inlined,
            "files": removed.files,
            "sections": list(removed.sections),
            "labels": removed.labels,
            "target_debug": removed.target_debug,
            "dwarf_lines": removed.dwarf_lines,
            "byte_order_mark": removed.byte_order_mark,
            "behind_nul": removed.behind_nul,
            "not_ascii": removed.not_ascii,
        },
        "verified": verification
        and {
            "arch": verification.arch,
            "same": verification.ok if verification.compared else None,
            "compared": verification.compared,
            "sections": verification.sections,
            "reason": verification.reason,
        },
        "error": None,
        "exit_code": 0,
    }
    return json.dumps(content, indent=2)
