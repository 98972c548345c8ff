"""The assembler's logs as diagnostics: severities, places in the user's file, hints."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teenycuda_cli.driver.assembly.assembler import Assembly
from teenycuda_cli.driver.assembly.diagnostics import Diagnostic, diagnose, remarks
from teenycuda_cli.driver.assembly.usage import Spills, spills_in_log
from teenycuda_cli.ptx.source import Source
from tests.work import calls

REFUSED = Assembly(
    ok=False,
    arch="sm_90",
    assembler="nvjitlink",
    version="13.0",
    cubin=None,
    error_log="",
    info_log="",
    truncated=False,
    ms=1.0,
    entries=(),
)
TEXT = """.version 8.4
.target sm_90a, debug
.address_size 64
.extern .func away(); // not_away
.visible .entry k(.param .u64 p)
{
\tmov.u32 %x, %y; mov.b32 %z, 1;
\t.reg .b32 %x1, %x;
}
"""


def _diagnose(error_log: str, info_log: str = "", text: str = TEXT) -> tuple[Diagnostic, ...]:
    return diagnose(replace(REFUSED, error_log=error_log, info_log=info_log), Source(text.encode(), "k.ptx"))


@pytest.mark.parametrize(
    ("log", "place"),
    [
        ("ptxas application ptx input, line 7; error   : Unknown symbol '%y'", (7, 14)),
        ("ptxas k.ptx, line 7; error   : Arguments mismatch for instruction 'mov'", (7, 2)),
        ("ptxas application ptx input, line 8; error   : Duplicate definition of variable '%x'", (8, 17)),
        ("ptxas application ptx input, line 3; error   : Something without a name", (3, None)),
        ("error   : Undefined reference to 'away' in 'input.ptx'", (4, 15)),
        ("ptxas fatal   : Unresolved extern function 'away'", (4, 15)),
        ("error   : Entry function 'k' uses too much shared data (0xc001 bytes, 0xc000 max)", (5, 17)),
        ("ptxas fatal   : SM version specified by .target is higher than default SM version assumed", (2, 1)),
        ("ptxas fatal   : Unexpected non-ASCII character encountered on line 5", (5, None)),
        ("ptxas application ptx input, line 99; error   : past the end", (10, None)),
        ("ptxas error   : Something general", (None, None)),
    ],
)
def test_places(log: str, place: tuple[int | None, int | None]) -> None:
    """Each known form of message gets its line, and the column of what it names."""
    found = _diagnose(log)[-1]
    assert (found.line, found.column) == place
    assert found.severity == "error"


def test_the_summary_says_nothing_new() -> None:
    """`aborted due to errors` and nvJitLink's own status lines are left out when there is an error."""
    log = (
        "ptxas application ptx input, line 7; error   : Unknown symbol '%y'\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n"
        "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (input.ptx)\n"
    )
    assert [each.message for each in _diagnose(log)] == ["Unknown symbol '%y'"]


def test_a_status_alone_is_told() -> None:
    """Where nvJitLink's status line is all there is, it is the error."""
    assert [each.message for each in _diagnose("ERROR 9: complete\n")] == ["complete"]


def test_a_known_reason_takes_the_place_of_one_message() -> None:
    """A reason that is known without the log has the place that the log tells, and its own hint."""
    log = "ptxas fatal   : SM version specified by .target is higher than default SM version assumed"
    assembly = replace(REFUSED, error_log=log, failure="the PTX is for another GPU", failure_hint="buy one")
    (found,) = diagnose(assembly, Source(TEXT.encode(), "k"))
    assert (found.message, found.line, found.hint) == ("the PTX is for another GPU", 2, "buy one")


def test_warnings_come_from_either_log() -> None:
    """Warnings stand in the info log, and stay warnings."""
    (warning,) = _diagnose("", "ptxas warning : Too big maxrregcount value specified 999, will be ignored\n")
    assert (warning.severity, warning.line) == ("warning", None)
    assert warning.hint is not None


def test_info_is_no_diagnostic() -> None:
    """Registers and compile times are not among the messages."""
    info = (
        "ptxas info    : 0 bytes gmem\n"
        "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "info    : used 26 registers\n"
    )
    assert diagnose(replace(REFUSED, ok=True, info_log=info), Source(b"", "x")) == ()


def test_a_message_over_several_lines_stays_one() -> None:
    """A quoted string with a line end in it does not tear its message apart."""
    (found,) = _diagnose("ptxas error   : bad name 'a\nb' here\n")
    assert found.message == "bad name 'a\nb' here"


def test_lines_are_those_of_the_user() -> None:
    """Lines of the assembled text are mapped back to the user's file."""
    log = "ptxas application ptx input, line 5; error   : Unknown symbol '%y'"
    (found,) = diagnose(replace(REFUSED, error_log=log), Source(TEXT.encode(), "k"), lambda line: line + 2)
    assert (found.line, found.column, found.text) == (7, 14, TEXT.split("\n")[6])


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("Unsupported .version 9.9; current version is '9.0'", "up to 9.0"),
        ("PTX .version 7.0 does not support .target sm_90", ".version 7.8"),
        ("PTX .version 8.6 does not support .target sm_100f", ".version 8.8"),
        ("Feature 'x' requires PTX ISA .version 8.6 or later", "raise .version to 8.6; the file says 8.4"),
        ("Feature '.reqnctapercluster' requires .target sm_90 or higher", ".target sm_90 or later"),
        ("Instruction 'wgmma.fence' not supported on .target 'sm_90'", ".target sm_90a"),
        ("PTX with .target 'sm_90a' cannot be compiled for architecture 'sm_90'", "--arch sm_90a"),
        ("Program with .target 'sm_100f' cannot be compiled to different SM-family architecture", "family"),
        ("SM version specified by .target is higher than default SM version assumed", "--arch sm_90a"),
        ("Debug information not found in presence of .target debug", "--no-strip"),
        ("Unresolved label '$L__info_string4' used in function_name attribute", "--no-strip"),
        ("Optimized debugging not supported", "-O"),
        ("Unexpected non-ASCII character encountered on line 5", "strip"),
        ("Undefined reference to '__nv_expf'", "libdevice"),
        ("Undefined reference to 'away'", ".extern"),
        ("Entry function 'k' uses too much shared data (0xc001 bytes, 0xc000 max)", "49152"),
        ("Missing .version directive at start of file 'application ptx input'", ".version"),
    ],
)
def test_known_causes_have_a_hint(message: str, words: str) -> None:
    """Each cause that is known comes with what to do."""
    (found,) = _diagnose(f"ptxas application ptx input, line 1; error   : {message}")
    assert found.hint is not None
    assert words in found.hint


def test_thousands_of_errors_are_no_burden() -> None:
    """Ten thousand messages about a line of 40 KB take a few calls each, and do not repeat the line whole."""
    text = "x " * 20_000 + "mov.u32 %r1, %r2;"
    log = "\n".join(
        f"ptxas application ptx input, line 1; error   : Unknown symbol '%r{index % 3}'"
        for index in range(10_000)
    )
    found: list[Diagnostic] = []
    assert calls(lambda: found.extend(_diagnose(log, text=text))) < 200 * 10_000
    assert len(found) == 10_000
    assert all(len(each.text or "") < 1100 for each in found)
    assert any("%r1" in (each.text or "") for each in found)


_words = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=40)


@given(st.text())
def test_any_log_is_read(log: str) -> None:
    """Whatever the log, it is read without an error, and a failed assembly has at least one."""
    found = _diagnose(log)
    assert any(each.severity == "error" for each in found) or any(
        each.severity == "warning" for each in found
    )


@given(st.lists(st.tuples(st.integers(1, 10**6), st.sampled_from(["error  ", "warning", "fatal  "]), _words)))
def test_each_message_is_found_again(said: list[tuple[int, str, str]]) -> None:
    """A log made of known lines is read back: severity, line and message of each."""
    log = "\n".join(
        f"ptxas application ptx input, line {line}; {kind} : {words}" for line, kind, words in said
    )
    expected = [(kind.strip(), line) for line, kind, _ in said]
    assert [(each.severity, each.line) for each in remarks(log)] == expected
    for remark, (_, _, words) in zip(remarks(log), said, strict=True):
        assert re.sub(r"\s", "", remark.message) == re.sub(r"\s", "", words)


def test_spills_in_both_spellings_of_a_log() -> None:
    """Stack frames and spills are read from nvJitLink's log and from ptxas's own, functions included."""
    log = (
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
        "ptxas info    : Function properties for k\n"
        "ptxas         .     40 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
        "ptxas info    : Function properties for $f\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "info    : Function properties for 'k':\n"
        "info    : used 26 registers, used 5 barriers, 0 stack, 0 bytes smem\n"
    )
    assert spills_in_log(log) == {"k": Spills(40, 4, 8), "$f": Spills(0, 0, 0)}
