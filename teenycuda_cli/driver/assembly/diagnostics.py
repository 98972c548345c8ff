"""What the assembler said, as a list: severity, message, place in the user's file, and what to do.

Reads the logs of nvJitLink, ptxas and the driver, which are alike:

    ptxas application ptx input, line 7; error   : Arguments mismatch for instruction 'mov'
    ptxas fatal   : Ptx assembly aborted due to errors
    error   : Undefined reference to 'f' in 'input.ptx'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from teenycuda_cli.driver.assembly.assembler import Assembly
from teenycuda_cli.driver.assembly.hints import Subject, hint_for
from teenycuda_cli.errors import PtxSyntaxError
from teenycuda_cli.ptx.source import Source

TEXT_SHOWN = 1000
"""A source line longer than this is cut to what is around the column."""

LineMap = Callable[[int], int]
"""From a line of the text that was assembled to that of the user's file."""

_SEVERITY = r"(?P<severity>info|warning|error|fatal)\s*: ?\s*(?P<message>.*)"
_PLACED = re.compile(r"(?:ptxas )?(?P<file>.*?), line (?P<line>\d+); " + _SEVERITY, re.DOTALL)
_PLAIN = re.compile(r"(?:ptxas |nvlink )?\s*" + _SEVERITY, re.DOTALL)
_STATUS = re.compile(r"ERROR (?:NVJITLINK_\w+|\d+): (?P<message>.*)", re.DOTALL)
_CONTINUED_INFO = re.compile(r"ptxas\s+\. ")
_ON_LINE = re.compile(r" (?:encountered )?on line (\d+)$")
_QUOTED = re.compile(r"'([^']+)'")
_DIRECTIVE = re.compile(r"(?<![\w.'])\.[a-z]\w+|(?<=expected for )\w+")
_TOKEN_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%")
_SUMMARY = "Ptx assembly aborted due to errors"
_ANYWHERE = re.compile(
    r"Undefined reference to '(?P<undefined>\S+)'"
    r"|Entry function '(?P<entry>\S+)' uses"
    r"|^label '(?P<label>\S+)' invalid"
    r"|Unresolved (?:extern \w+|label) '(?P<unresolved>\S+)'"
    r"|(?P<target>\.target|SM-family|future architecture)"
)
_HEADER = re.compile(r"^[ \t]*\.(version|target)\s+([\w.]+)", re.MULTILINE)
_HEADER_SEARCHED = 65536


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing the assembler said. Line and column count from 1 in the user's file; `text` is that line.

    `length` is how many characters from the column the message is about.
    """

    severity: str  # "error", "warning"
    message: str
    line: int | None
    column: int | None
    text: str | None
    length: int = 1
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """One message of a log: severity as written ("fatal" too), and the assembled text's line if given."""

    severity: str
    message: str
    line: int | None


def remarks(log: str) -> Iterator[Remark]:
    """The messages in a log of nvJitLink, ptxas or the driver, in order.

    A line of no known form continues the message before it (a quoted string
    may hold line ends).
    """
    pending: Remark | None = None
    for line in log.split("\n"):
        remark = _remark(line)
        if remark is not None:
            if pending is not None:
                yield pending
            pending = remark
        elif pending is not None and line.strip() and not _CONTINUED_INFO.match(line):
            pending = Remark(pending.severity, f"{pending.message}\n{line}", pending.line)
        elif pending is None and line.strip():
            pending = Remark("info", line, None)
    if pending is not None:
        yield pending


def diagnose(assembly: Assembly, source: Source, line_map: LineMap | None = None) -> tuple[Diagnostic, ...]:
    """Errors and warnings of an assembly, with places in the user's file, which `source` holds."""
    subject = _subject(assembly, source)
    crashed = assembly.failure is not None and assembly.version is None
    said = [] if crashed else [*remarks(assembly.error_log), *remarks(assembly.info_log)]
    wanted = [each for each in said if each.severity != "info" and each.message != _SUMMARY]
    spoken = [each for each in wanted if each.severity != "status"]
    if not spoken and assembly.failure is None:
        spoken = wanted
    found = [_diagnostic(each, source, line_map, subject) for each in spoken]
    if assembly.failure is not None:
        found = _with_failure(found, assembly.failure, assembly.failure_hint)
    if not found and not assembly.ok:
        found.append(Diagnostic("error", "the assembler failed and did not say why", None, None, None))
    return tuple(found)


def _with_failure(found: list[Diagnostic], failure: str, hint: str | None) -> list[Diagnostic]:
    """The reason before the assembler's words; where these are one message, in its stead and at its place."""
    if len(found) == 1 and found[0].severity == "error":
        return [replace(found[0], message=failure, hint=hint)]
    return [Diagnostic("error", failure, None, None, None, hint=hint), *found]


def _remark(line: str) -> Remark | None:
    status = _STATUS.fullmatch(line)
    if status:
        return Remark("status", status["message"], None)
    plain = _PLAIN.fullmatch(line)
    if plain:
        at = _ON_LINE.search(plain["message"])
        return Remark(plain["severity"], plain["message"].strip(), int(at[1]) if at else None)
    placed = _PLACED.fullmatch(line)
    if placed:
        message = placed["message"].replace(f" at start of file '{placed['file']}'", "")
        return Remark(placed["severity"], message.strip(), int(placed["line"]))
    return None


def _subject(assembly: Assembly, source: Source) -> Subject:
    header = dict(_HEADER.findall(source.text[:_HEADER_SEARCHED]))
    return Subject(assembly.arch, header.get("target"), header.get("version"))


def _diagnostic(remark: Remark, source: Source, line_map: LineMap | None, subject: Subject) -> Diagnostic:
    severity = "warning" if remark.severity == "warning" else "error"
    message = remark.message.removesuffix(" in 'input.ptx'")
    hint = hint_for(message, subject)
    line, column, length = remark.line, None, 1
    if line is not None:
        line = min(max(line_map(line) if line_map else line, 1), source.position(len(source.data))[0])
        column, length = _column(message, source, line)
    elif (elsewhere := _ANYWHERE.search(message)) is not None:
        token = ".target" if elsewhere["target"] else elsewhere[elsewhere.lastgroup or 0]
        place = _first_occurrence(source, token)
        if place is not None:
            (line, column), length = place, len(token)
    text = None if line is None else _shown(source.line_text(line), column)
    return Diagnostic(severity, message, line, column, text, length, hint)


def _column(message: str, source: Source, line: int) -> tuple[int | None, int]:
    """Where on the line the token stands that the message quotes, and its length."""
    text = source.line_text(line)
    places = [(token, _occurrences(text, token)) for token in _named_tokens(message)]
    for token, columns in places:
        if len(columns) == 1 or (columns and "Parsing error" not in message):
            return columns[0], len(token)
    if "Parsing error" in message:
        column = _parser_column(source, line)
        if column is not None:
            return column, max((len(token) for token, columns in places if column in columns), default=1)
    for token, columns in places:
        if columns:
            return columns[-1], len(token)
    non_ascii = re.search(r"[^\x00-\x7f]", text) if "non-ASCII" in message else None
    return (non_ascii.start() + 1, 1) if non_ascii else (None, 1)


def _named_tokens(message: str) -> list[str]:
    """What a message is about, most telling first: quoted tokens, directives by name."""
    directives = [each if each.startswith(".") else f".{each}" for each in _DIRECTIVE.findall(message)]
    return [*_QUOTED.findall(message), *directives]


def _parser_column(source: Source, line: int) -> int | None:
    """The column of the first syntax error, as our parser sees it, if it is on that line."""
    from teenycuda_cli.ptx.parser import parse  # noqa: PLC0415  (for a syntax error only)

    try:
        parse(source)
    except PtxSyntaxError as error:
        return error.column if error.line == line else None
    return None


def _occurrences(text: str, token: str) -> list[int]:
    """Columns at which a token stands by itself in a line."""
    columns = []
    at = text.find(token)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(token) : at + len(token) + 1]
        if not (token[0] in _TOKEN_CHARACTERS and before in _TOKEN_CHARACTERS and before) and not (
            token[-1] in _TOKEN_CHARACTERS and after in _TOKEN_CHARACTERS and after
        ):
            columns.append(at + 1)
        at = text.find(token, at + 1)
    return columns


def _first_occurrence(source: Source, token: str) -> tuple[int, int] | None:
    """The first place where a token stands by itself, outside comments that begin on its line."""
    at = source.text.find(token)
    while at >= 0:
        line, column = source.position(at)
        text = source.line_text(line)
        if column in _occurrences(text, token) and "//" not in text[: column - 1]:
            return line, column
        at = source.text.find(token, at + 1)
    return None


def _shown(text: str, column: int | None) -> str:
    if len(text) <= TEXT_SHOWN:
        return text
    start = max((column or 1) - TEXT_SHOWN // 2, 0)
    return ("…" if start else "") + text[start : start + TEXT_SHOWN] + "…"
