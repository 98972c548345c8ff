"""The parser against what ptxas 13.0 took and refused, case by case (verdicts/*.txt)."""

from __future__ import annotations

from pathlib import Path

import pytest

from teenycuda_cli.errors import PtxSyntaxError
from teenycuda_cli.ptx.parser import parse
from teenycuda_cli.ptx.source import Source

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
KERNEL = ".visible .entry k() { ret; }\n"
LABELLED_KERNEL = ".visible .entry k() { L: ret; M: }\n"
PRELUDE = """.file 1 "x"
.global .texref t; .global .surfref s; .global .u32 g[4]; .global .u32 gg[2][3];
.func (.reg .b32 r) f (.reg .b32 a, .reg .b32 b) { mov.b32 r, a; ret; }
.func f0 () { ret; }
.func f1 { ret; }
.visible .entry k(.param .u64 o) {
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred p,q; .reg .f32 f<4>; .reg .v4 .b32 v;
.reg .b16 h<9>; .reg .f64 d<3>;
"""


def _cases(name: str) -> list[tuple[str, str]]:
    rows = []
    for line in (Path(__file__).parent / "verdicts" / f"{name}.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            verdict, text = line.split(" | ", 1)
            rows.append((verdict, text.encode().decode("unicode_escape")))
    return rows


def _check(verdict: str, text: str) -> None:
    source = Source(text.encode("latin-1"), "case.ptx")
    if verdict == "accept":
        parse(source)
        return
    with pytest.raises(PtxSyntaxError) as caught:
        parse(source)
    error = caught.value
    assert error.file == "case.ptx"
    assert error.line
    assert error.column
    assert error.message
    assert len(error.context) == 2  # the line, and the caret under it


@pytest.mark.parametrize(("verdict", "text"), _cases("statements"))
def test_statements_in_a_body(verdict: str, text: str) -> None:
    """A statement parses if and only if ptxas takes its syntax."""
    _check(verdict, f"{HEAD}{PRELUDE}{text}\nret;\n}}\n")


@pytest.mark.parametrize(("verdict", "text"), _cases("entries"))
def test_entries(verdict: str, text: str) -> None:
    """Parameters and directives of an entry parse if and only if ptxas takes them."""
    _check(verdict, f"{HEAD}.entry k {text}")


@pytest.mark.parametrize(("verdict", "text"), _cases("modules_before"))
def test_module_statements_before_a_kernel(verdict: str, text: str) -> None:
    """Variables and functions parse if and only if ptxas takes them."""
    _check(verdict, f"{HEAD}{text}\n{KERNEL}")


@pytest.mark.parametrize(("verdict", "text"), _cases("modules_after"))
def test_module_statements_behind_a_kernel(verdict: str, text: str) -> None:
    """Sections, files, aliases and the like parse if and only if ptxas takes them."""
    _check(verdict, f"{HEAD}{LABELLED_KERNEL}{text}")


@pytest.mark.parametrize(("verdict", "text"), _cases("files"))
def test_files(verdict: str, text: str) -> None:
    """The first directives of a file parse if and only if ptxas takes them."""
    _check(verdict, text)
