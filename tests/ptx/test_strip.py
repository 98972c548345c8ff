"""Stripping: what goes, what stays, and the way back to the user's lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teenycuda_cli.errors import PtxSyntaxError
from teenycuda_cli.ptx.parser import parse
from teenycuda_cli.ptx.source import Source
from teenycuda_cli.ptx.strip import Stripped, strip
from teenycuda_cli.ptx.syntax import Block, Loc, Statement

CORPUS = Path(__file__).parents[1] / "corpus"
FILES = [
    path
    for path in sorted(CORPUS.glob("*/*.ptx"))
    if path.stem not in ("06b_file_escaped_quote", "11b_prefix4")
]
HEAD = ".version 9.0\n.target sm_90\n"


def stripped(text: str | bytes, *, keep_lineinfo: bool = False) -> Stripped:
    """A text behind the usual head, stripped."""
    data = text.encode() if isinstance(text, str) else text
    return strip(Source(HEAD.encode() + data, "t.ptx"), keep_lineinfo=keep_lineinfo)


def left(text: str | bytes, *, keep_lineinfo: bool = False) -> str:
    """What is left of a text."""
    return stripped(text, keep_lineinfo=keep_lineinfo).data.decode()[len(HEAD) :]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (".entry k() {\n\t.loc 1 2 3   // k.py:2:3\n\tret;\n}\n", ".entry k() {\n\tret;\n}\n"),
        (".entry k() { .loc 1 2 3 ret; }\n", ".entry k() {  ret; }\n"),
        (".entry k() {\nL: .loc 1 2 3 // c\nret; }\n", ".entry k() {\nL:  // c\nret; }\n"),
        (".entry k() {\n.loc 1 2 3,\n function_name L+4, inlined_at 4 5 6\nret; }", ".entry k() {\nret; }"),
        (".entry k() {\n.loc 1 2 3 .loc 1 2 4\nret; }", ".entry k() {\nret; }"),
        (".entry k() {\r\n\t.loc 1 2 3\r\n\tret;\r\n}\r\n", ".entry k() {\r\n\tret;\r\n}\r\n"),
        ('\t.file\t1 "a.cu", 12, 34\n.global .b32 x;\n', ".global .b32 x;\n"),
        ('.file 1 "a" .global .b32 x;\n', " .global .b32 x;\n"),
        (".section .debug_x { .b8 1 }.global .b32 x;", ".global .b32 x;"),
        (".section .debug_x\n{\n.b8 1 // }\n}\n// meta:name=k\n", "// meta:name=k\n"),
        (".section .debug_x {} // meta:name=k\n", " // meta:name=k\n"),
        (".section .debug_x {} // c\n// d\n", "// d\n"),
        (".section .debug_x {}\n$L__end:\nL2:  // c\n.section .debug_y {}\n", ""),
        (".section .nv_x { .b8 1 }\n", ".section .nv_x { .b8 1 }\n"),
        ("@@DWARF .byte 1\n@@DWARF .byte 2\n.global .b32 x;", ".global .b32 x;"),
        ('// .loc 1 2 3\n/* .file 1 "a" */\n', '// .loc 1 2 3\n/* .file 1 "a" */\n'),
        ('.pragma ".loc 1 2 3";\n', '.pragma ".loc 1 2 3";\n'),
        (".entry loc(.param .b32 file) { .reg .b32 debug, section; .local .b32 x; ret; }", None),
        (".entry k() { ld.local.b32 %r1, [a]; st.target.location x; }", None),
    ],
)
def test_what_goes_and_what_stays(text: str, kept: str | None) -> None:
    """Debug information goes, with its line if nothing else is on it; every other byte stays."""
    assert left(text) == (text if kept is None else kept)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (".target sm_90, debug\n", ".target sm_90\n"),
        (".target sm_90 , debug, texmode_independent\n", ".target sm_90, texmode_independent\n"),
        (".target sm_90,\n debug // c\n", ".target sm_90 // c\n"),
        (".target sm_90, sm_80\n", ".target sm_90, sm_80\n"),
    ],
)
def test_debug_of_target(before: str, after: str) -> None:
    """`debug` alone goes from `.target`."""
    found = strip(Source(f".version 9.0\n{before}.entry debug() {{}}\n".encode(), "t.ptx"))
    assert found.data.decode() == f".version 9.0\n{after}.entry debug() {{}}\n"
    assert found.removed.target_debug == ("debug" in before)


def test_lineinfo_kept() -> None:
    """With line information kept, `.loc` loses only what points into a removed section."""
    text = '.entry k() {\n.loc 1 2 3, function_name L, inlined_at 4 5 6\n.loc 1 2 3\nret;\n}\n.file 1 "a"\n'
    section = ".section .debug_str {\nL: .b8 1\n}\n"
    assert left(text + section, keep_lineinfo=True) == text.replace(", function_name L, inlined_at 4 5 6", "")


def test_bytes_above_ascii() -> None:
    """They become `?` in comments and strings, one for one, and are an error elsewhere."""
    found = stripped('// déjà\n/* — */ .pragma "é";\n')
    assert found.data.decode("ascii")[len(HEAD) :] == '// d??j??\n/* ??? */ .pragma "??";\n'
    assert found.removed.not_ascii == 9
    with pytest.raises(PtxSyntaxError) as caught:
        stripped(".global .b32 é;")
    assert (caught.value.line, caught.value.column) == (3, 14)


def test_byte_order_mark_and_nul() -> None:
    """A byte-order mark goes; the text ends at its first NUL."""
    found = strip(Source(b"\xef\xbb\xbf" + HEAD.encode() + b".entry k() {}\n\0garbage\xff\0", "t.ptx"))
    assert found.data.decode() == HEAD + ".entry k() {}\n"
    assert found.removed.byte_order_mark
    assert found.removed.behind_nul == 10


@pytest.mark.parametrize("text", [b"", b"garbage", b"\x7fELF", b".target sm_90\n", b"// only a comment"])
def test_no_ptx(text: bytes) -> None:
    """What does not begin as PTX is refused."""
    with pytest.raises(PtxSyntaxError):
        strip(Source(text, "t.ptx"))


@pytest.mark.parametrize(
    "text", ["/* x", '.file 1 "x', ".section .debug_x { .b8 1 ", ".section .debug_x { /*"]
)
def test_unterminated(text: str) -> None:
    """What never ends is an error, and nothing is removed by halves."""
    with pytest.raises(PtxSyntaxError) as caught:
        stripped(text)
    assert caught.value.line == 3


def _check_place(error: PtxSyntaxError) -> None:
    assert error.line
    assert error.column


def _code(statements: tuple[Statement, ...]) -> list[object]:
    """A body's statements without their places and `.loc`s."""
    found: list[object] = []
    for statement in statements:
        if isinstance(statement, Block):
            found.append(_code(statement.statements))
        elif not isinstance(statement, Loc):
            fields = {name: getattr(statement, name) for name in type(statement).__slots__}
            found.append([(n, v) for n, v in fields.items() if n not in ("offset", "end", "registers")])
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
@pytest.mark.parametrize("keep", [False, True], ids=["all", "keep-lineinfo"])
def test_corpus(path: Path, keep: bool) -> None:
    """Stripping twice is stripping once, the code parses to the same, and each line leads back to its own."""
    source = Source(path.read_bytes(), path.name)
    once = strip(source, keep_lineinfo=keep)
    assert strip(Source(once.data, path.name), keep_lineinfo=keep).data == once.data
    if not keep:
        try:
            before = parse(source, tolerant=True)
        except PtxSyntaxError:
            before = None
        if before is not None:
            after = parse(Source(once.data, path.name)) if not before.faults else None
            if after is not None:
                assert [_code(f.body or ()) for f in after.functions] == [
                    _code(f.body or ()) for f in before.functions
                ]
                assert (after.files, after.sections, after.loc_count) == ((), (), 0)
    lines = source.data.split(b"\n")
    for number, line in enumerate(once.data.split(b"\n"), 1):
        original = lines[once.user_line(number) - 1]
        if line.isascii() and original.isascii() and line.strip():
            assert line == original or line.split()[0] in original


def test_lines_lead_back() -> None:
    """A stripped line leads to the line of the original that it began as."""
    text = 'a\n.file 1 "x"\n.file 2 "y"\nb\n.entry k() { .loc 1 1 1\n.loc 1 2\n 3\nret; }\n'
    text += ".section .debug_x {\n\n}\nc\n"
    found = stripped(text)
    shown = found.data.decode().split("\n")
    assert shown[2:] == ["a", "b", ".entry k() { ", "ret; }", "c", ""]
    assert [found.user_line(number) for number in range(1, 9)] == [1, 2, 3, 6, 7, 10, 14, 15]


PIECES = st.sampled_from(
    [
        ".loc 1 2 3",
        ".loc 1",
        ", function_name L, inlined_at 1 2 3",
        '.file 1 "a"',
        '.file 1 "',
        ".section .debug_x {",
        "}",
        "{",
        "L:",
        "$L__end:",
        "\n",
        " ",
        "// c",
        "// meta:shared=1",
        "/*",
        "*/",
        '"',
        ".target sm_90, debug",
        "debug",
        "@@DWARF x",
        "ret;",
        ".b8 1",
        ".local",
        "ld.loc",
        ".",
        "é",
        "\0",
        "\r\n",
        "\t",
        '# 1 "x"',
        ".section .nv_x {}",
        "é",
    ]
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECES, max_size=20).map("".join), st.booleans())
def test_any_text(text: str, keep: bool) -> None:
    """Of any text, strip says what is wrong, or gives a text that strip leaves alone."""
    try:
        once = stripped(text, keep_lineinfo=keep)
    except PtxSyntaxError as error:
        _check_place(error)
        return
    assert once.data.isascii()
    assert b"\0" not in once.data
    if not (keep and "function_name" in text):  # a removal may put a .loc and a stray tail of one together
        assert strip(Source(once.data, "t.ptx"), keep_lineinfo=keep).data == once.data
    for number in range(1, once.data.count(b"\n") + 2):
        assert 1 <= once.user_line(number) <= once.original.count(b"\n") + 1


def test_blanks_that_only_ptxas_knows_as_such() -> None:
    """A form feed and 0x1a stand between tokens like a blank, also inside a `.loc`."""
    assert left(b".entry k() {\n\t.loc\x0c1\x1a2 3\n\tret; }\n") == ".entry k() {\n\tret; }\n"


def test_a_name_over_two_lines_behind_a_cpp_mark() -> None:
    """What a `# 5 "…"` names is text, also where the name goes on in the next line."""
    text = '# 5 "a .loc 1 2 3\n"\n.entry k() { ret; }\n'
    assert left(text) == text


def test_what_a_removal_brings_together_makes_no_new_token() -> None:
    """Neither words nor operators run together: `*/` before a `.loc` and `*` behind it open no comment."""
    assert left("/* */.loc 1 2 3*x") == "/* */ *x"
    assert left("a .loc 1 2 3\tb").split() == ["a", "b"]


def test_a_place_inlined_twice() -> None:
    """Each `inlined_at` of a `.loc` goes, so that what strip gives, it leaves alone."""
    tail = ", function_name L, inlined_at 1 2 3"
    assert left(f".loc 1 2 3{tail}{tail}\n", keep_lineinfo=True) == ".loc 1 2 3\n"
