"""The syntax tree that the parser builds, and how it behaves on hostile text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teenycuda_cli.errors import PtxSyntaxError
from teenycuda_cli.ptx.body import BodyParser
from teenycuda_cli.ptx.layout import element_size
from teenycuda_cli.ptx.parser import parse, parse_bodies
from teenycuda_cli.ptx.reachable import with_reachable_bodies
from teenycuda_cli.ptx.source import Source
from teenycuda_cli.ptx.syntax import (
    Address,
    Arguments,
    Block,
    Component,
    Compound,
    Float,
    Instruction,
    Integer,
    Label,
    LabelTable,
    Loc,
    Minus,
    Module,
    Name,
    Negated,
    Pair,
    Prototype,
    Registers,
    Selected,
    Sink,
    Statement,
    SymbolAddress,
    Variable,
    Vector,
)
from tests.work import calls

CORPUS = Path(__file__).parents[1] / "corpus"
FILES = sorted(CORPUS.glob("*/*.ptx"))
COMPILED = [path for path in FILES if path.parent.name != "grammar" and path.stem != "axpy.debug"]
HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred p, q; .reg .v4 .b32 v; .reg .f32 f<4>;\n"


def module_of(text: str, **options: bool) -> Module:
    """The module of a text behind the usual head."""
    return parse(Source((HEAD + text).encode("latin-1"), "t.ptx"), **options)


def body_of(text: str) -> tuple[Statement, ...]:
    """The statements of a body, the registers' declarations left out."""
    body = module_of(f".global .u32 g[4];\n.entry k() {{ {REGISTERS} {text} }}").entries[0].body
    assert body is not None
    return body[5:]


def instruction(text: str) -> Instruction:
    """The first instruction of a body."""
    return next(s for s in body_of(text) if isinstance(s, Instruction))


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("%r2", Name("%r2")),
        ("%r02", Name("%r2")),
        ("%tid.x", Name("%tid.x")),
        ("v.y", Component(Name("v"), 1)),
        ("v.a", Component(Name("v"), 3)),
        ("-5", Integer(-5)),
        ("(1+2)*3", Integer(9)),
        ("1 ? 2 : 0 ? 3 : 4", Integer(2)),
        ("0x10U", Integer(16)),
        ("017", Integer(15)),
        ("0b101", Integer(5)),
        ("WARP_SZ-1", Integer(31)),
        ("(.u64)-1", Integer(2**64 - 1)),
        ("~0", Integer(2**64 - 1)),
        ("0f3f800000", Float(0x3F800000, 32)),
        ("0d3ff0000000000000", Float(0x3FF0000000000000, 64)),
        ("1.5", Float(0x3FF8000000000000, 64)),
        (".5", Float(0x3FE0000000000000, 64)),
        ("1E+5", Float(0x40F86A0000000000, 64)),
        ("-1.0", Float(0xBFF0000000000000, 64)),
        ("[%rd1]", Address(Name("%rd1"), 0)),
        ("[%rd1+4+4]", Address(Name("%rd1"), 8)),
        ("[%rd1 + -4]", Address(Name("%rd1"), -4)),
        ("[%rd1+(4*2)]", Address(Name("%rd1"), 8)),
        ("[16]", Address(None, 16)),
        ("g+4", Address(Name("g"), 4)),
        ("g[2]", Address(Name("g"), 8)),
        ("{%r1, _, 5}", Vector((Name("%r1"), Sink(), Integer(5)))),
        ("{ %r1 }", Vector((Name("%r1"),))),
        ("!p", Negated(Name("p"))),
        ("-%r1", Minus(Name("%r1"))),
        ("-%r1.h1", Minus(Selected(Name("%r1"), "h1"))),
        ("%r1.b7654", Selected(Name("%r1"), "b7654")),
        ("p|q", Pair(Name("p"), Name("q"))),
        ("_|p", Pair(Sink(), Name("p"))),
        ("[%rd1, {%r1, %r2}]", Compound((Name("%rd1"), Vector((Name("%r1"), Name("%r2")))))),
        ("[%rd1+8, {%r1}]", Compound((Address(Name("%rd1"), 8), Vector((Name("%r1"),))))),
    ],
)
def test_operands(text: str, operand: object) -> None:
    """An operand becomes its node, alike with and without a comment that bars the short way."""
    assert instruction(f"foo.x {text};").operands == (operand,)
    assert instruction(f"foo.x /**/ {text};").operands == (operand,)


def test_instruction_parts() -> None:
    """Guard, opcode, modifiers and place of an instruction are told apart."""
    one = instruction("@ ! p ld.global.L1::no_allocate.v2.b32 {%r1,%r2}, [%rd1];")
    assert (one.predicate, one.negated, one.opcode) == ("p", True, "ld")
    assert one.modifiers == ("global", "L1::no_allocate", "v2", "b32")
    assert one.name == "ld.global.L1::no_allocate.v2.b32"


def test_offsets_are_the_texts() -> None:
    """An instruction's offsets cut its text, guard and semicolon included, out of the file."""
    text = f"{HEAD}.entry k() {{ .reg .pred p; L: @p bra L; ret; // c\n /* x */ @!p ret ; }}"
    body = parse(Source(text.encode(), "t.ptx")).entries[0].body
    assert body is not None
    cut = [text[s.offset : s.end] for s in body if isinstance(s, Instruction)]
    assert cut == ["@p bra L;", "ret;", "@!p ret ;"]


def test_calls() -> None:
    """A call keeps returns, target, arguments and prototype apart."""
    call = instruction("call.uni (%r1), %rd1, (%r2, 5, _), proto;")
    assert call.operands == (
        Arguments((Name("%r1"),)),
        Name("%rd1"),
        Arguments((Name("%r2"), Integer(5), Sink())),
        Name("proto"),
    )
    assert instruction("call f;").operands == (Name("f"),)


def test_tables_and_prototypes() -> None:
    """`.branchtargets`, `.calltargets` and `.callprototype` keep the label in front of them."""
    table, prototype = body_of(
        "T: .branchtargets A, B<2>; P: .callprototype (.param .b32 _) _ (.reg .b64 x);"
    )
    assert isinstance(table, LabelTable)
    assert (table.name, table.kind, table.targets) == ("T", "branchtargets", ("A", "B0", "B1"))
    assert isinstance(prototype, Prototype)
    assert [v.type for v in (*prototype.returns, *prototype.params)] == ["b32", "b64"]


def test_scopes_nest() -> None:
    """Blocks are statements of their own, with their labels, registers and variables."""
    statements = body_of("{ .reg .b32 a; L: { .shared .align 8 .b8 s[16]; L: } } { .reg .b64 a; L: }")
    assert [type(s) for s in statements] == [Block, Block]
    first = statements[0]
    assert isinstance(first, Block)
    assert [type(s) for s in first.statements] == [Registers, Label, Block]
    inner = first.statements[2]
    assert isinstance(inner, Block)
    assert isinstance(inner.statements[0], Variable)
    assert inner.statements[0].size == 16


def test_loc() -> None:
    """`.loc` may go on over lines, and may be followed by a statement on its own line."""
    plain, long, _ = body_of(".loc 1 2 3\n .loc 4 5 6,\n function_name L+2, inlined_at 7 8 9 ret;")
    assert isinstance(plain, Loc)
    assert (plain.file, plain.line, plain.column, plain.inlined_at) == (1, 2, 3, None)
    assert isinstance(long, Loc)
    assert (long.file, long.line, long.column, long.inlined_at) == (4, 5, 6, (7, 8, 9))


def test_variables() -> None:
    """Shapes, sizes, alignments and initial values of variables."""
    module = module_of(
        ".visible .const .align 8 .b8 a[] = {1, 2, 3};\n.global .u32 x;\n"
        ".global .u64 p[3] = {generic(x)+8, x, 7};\n.global .u8 m[2] = {0xff(x), 0xff00(x+1)};\n"
        ".global .v2 .f32 w[2] = {{1.0, 2.0}};\n.extern .shared .align 16 .b8 dyn[];\n"
        ".global .attribute(.managed) .s32 managed;\n.global .b32 many<2>;\n.entry k() {}"
    )
    found = {variable.name: variable for variable in module.variables}
    assert list(found) == ["a", "x", "p", "m", "w", "dyn", "managed", "many0", "many1"]
    assert (found["a"].shape, found["a"].size, found["a"].align) == ((3,), 3, 8)
    assert found["p"].initializer == (
        SymbolAddress("x", 8, True, None),
        SymbolAddress("x", 0, False, None),
        Integer(7),
    )
    assert found["m"].initializer == (
        SymbolAddress("x", 0, False, 0xFF),
        SymbolAddress("x", 1, False, 0xFF00),
    )
    assert (found["w"].size, found["w"].align, found["w"].vector) == (16, 8, 2)
    assert (found["dyn"].size, found["dyn"].linkage) == (None, "extern")
    assert found["managed"].managed


def test_parameter_layout() -> None:
    """Parameters lie at their natural alignment, as cuFuncGetParamInfo gives them."""
    entry = module_of(
        ".entry k(.param .u8 a, .param .u64.ptr.global.align 16 p, .param .align 2 .b8 h[2],\n"
        ".param .b8 .align 8 s [ 0x10 ], .param .f32 x, .param .align 64 .b8 tm[128], .param .b128 w) {}"
    ).entries[0]
    assert [(p.name, p.offset, p.size, p.align) for p in entry.parameters] == [
        ("a", 0, 1, 1),
        ("p", 8, 8, 8),
        ("h", 16, 2, 2),
        ("s", 24, 16, 8),
        ("x", 40, 4, 4),
        ("tm", 64, 128, 64),
        ("w", 192, 16, 16),
    ]
    pointer = entry.parameters[1].pointer
    assert pointer is not None
    assert (pointer.space, pointer.align) == ("global", 16)


def test_six_hundred_parameters() -> None:
    """An entry may have hundreds of parameters."""
    params = ",\n".join(f".param .u64 p{index}" for index in range(600))
    assert len(module_of(f".entry k({params}) {{}}").entries[0].parameters) == 600


def test_directives() -> None:
    """Performance directives, of which the last of its kind counts, and unknown newer ones."""
    directives = (
        module_of(
            ".entry k() .reqntid 64 .reqntid 0200, 2 .minnctapersm 3 .maxnreg 40 .explicitcluster\n"
            '.reqnctapercluster 2, 1, 1 .pragma "nounroll"; .newer 3, "x" {}'
        )
        .entries[0]
        .directives
    )
    assert directives.reqntid == (128, 2)
    assert (directives.minnctapersm, directives.maxnreg) == (3, 40)
    assert directives.explicitcluster
    assert directives.reqnctapercluster == (2, 1, 1)
    assert directives.pragmas == ("nounroll",)
    assert directives.other == (("newer", ("3", '"x"')),)


def test_declaration_and_definition_are_one() -> None:
    """A forward declaration and its definition are one function."""
    module = module_of(
        ".visible .func (.param .b32 r) f(.param .b32 a);\n.entry k() {}\n"
        ".func (.param .b32 r) f(.param .b32 a) { ret; }"
    )
    assert [(f.name, f.defined, f.linkage) for f in module.functions] == [
        ("f", True, "visible"),
        ("k", True, "none"),
    ]


def test_version_is_a_pair() -> None:
    """`.version 8.10` is (8, 10); a module may be on one line and need no .address_size."""
    module = parse(Source(b".version 8.10 .target sm_90, sm_80 .entry k { ret; }", "t.ptx"))
    assert (module.version, module.version_text) == ((8, 10), "8.10")
    assert (module.target, module.address_size) == (("sm_90", "sm_80"), 64)


def test_strings_hide() -> None:
    """Strings have no escapes and hide comments, braces and directives; comments hide strings."""
    module = module_of(
        '.file 1 "C:\\dir\\"\n.file 2 ".visible .entry x() { // /* ;\n"\n// "\n/* " */\n'
        '.entry k() { // } "\n /* } */ ret; }\n// meta:name=k \\\n.entry j() {}',
        bodies=False,
    )
    assert [file.name for file in module.files] == ["C:\\dir\\", ".visible .entry x() { // /* ;\n"]
    assert [entry.name for entry in module.entries] == ["k", "j"]


def test_lines_end_at_line_feeds_only() -> None:
    """A carriage return, form feed or vertical tab does not end a comment."""
    module = module_of("// a\r b\x0b c\x0c d\x1c .entry x() {}\n.entry k() {}\r\n")
    assert [entry.name for entry in module.entries] == ["k"]


def _bodies(module: Module) -> list[object]:
    return [function.body for function in module.functions]


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_short_way_and_long_way_agree(path: Path) -> None:
    """The quick reading of usual lines gives the same tree as the reading token by token."""
    source = Source(path.read_bytes(), path.name)
    module = parse(source)
    parser = BodyParser(source, {v.name: element_size(v) for v in module.variables if v.shape}, fast=False)
    for function in module.functions:
        if function.body_span:
            body, end = parser.parse(function.body_span[0], function.returns + function.params)
            assert body == function.body
            assert end == function.body_span[1] + 1


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_headers_alone_agree(path: Path) -> None:
    """Without bodies everything else is the same, and bodies can be had later, all or as needed."""
    source = Source(path.read_bytes(), path.name)
    whole, headers = parse(source), parse(source, bodies=False)
    assert all(body is None for body in _bodies(headers))
    assert (headers.variables, headers.files, headers.sections) == (
        whole.variables,
        whole.files,
        whole.sections,
    )
    assert headers.loc_count == whole.loc_count
    assert parse_bodies(source, headers).functions == whole.functions
    for entry in whole.entries:
        needed = with_reachable_bodies(source, headers, entry.name)
        found = next(f for f in needed.functions if f.name == entry.name)
        assert found.body == entry.body


def test_reachable_bodies_follow_calls() -> None:
    """Functions that an entry calls, or whose address a variable takes, come with it; others do not."""
    text = f"""{HEAD}.func a() {{ ret; }} .func b() {{ call a; ret; }} .func c() {{ ret; }}
    .func d() {{ ret; }}
    .global .u64 table[1] = {{d}};
    .entry k() {{ .reg .b64 t; call b; mov.u64 t, table; ret; }}"""
    source = Source(text.encode(), "t.ptx")
    module = with_reachable_bodies(source, parse(source, bodies=False), "k")
    assert [f.name for f in module.functions if f.body is not None] == ["a", "b", "d", "k"]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        (".entry k() {\n  add.s32 %r1,, %r2;\n}", 5, 15, ("an operand", "`,`")),
        (".entry k() {\n  ld.u32 %r1, [%rd1-4];\n}", 5, 20, ("`]`", "`-`")),
        (".entry k(.param .u64 .ptr .align 16 .global a) {}", 4, 37, ("name", "`.global`")),
        (".entry k() { ret; ", 4, 12, ("never closed",)),
        (".entry k() {} /* x", 4, 15, ("comment never ends",)),
        ('.file 1 "abc', 4, 9, ("string never ends",)),
        (".entry k() { L: L: }", 4, 17, ("`L`", "already")),
        (".entry k() {} .entry k() {}", 4, 22, ("`k`", "already")),
        ("\x01", 4, 1, ("byte 0x01",)),
    ],
)
def test_errors_have_their_place(text: str, line: int, column: int, words: tuple[str, ...]) -> None:
    """An error names line and column, what was expected and what was there, with a caret under it."""
    with pytest.raises(PtxSyntaxError) as caught:
        module_of(text)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert all(word in error.message for word in words)
    shown, caret = error.context
    assert shown.startswith(f" {line} | ")
    assert caret.index("^") == len(f" {line} | ") + column - 1


def test_long_lines_are_shown_in_part() -> None:
    """The snippet of a 40 KB line is a window around the caret."""
    with pytest.raises(PtxSyntaxError) as caught:
        module_of(f".entry k() {{ {'add.s32 %r1, %r2, %r3; ' * 2000} ;; }}")
    shown, caret = caught.value.context
    assert len(shown) < 120
    assert shown[caret.index("^")] == ";"


@pytest.mark.parametrize(
    "text",
    [
        ".entry k() { .reg .b32 r; mov.b32 r, " + "(" * 100_000 + "1" + ")" * 100_000 + "; }",
        ".entry k() { .reg .b32 r; mov.b32 r, " + "-" * 100_000 + "1; }",
        ".entry k() { .reg .b32 r; mov.b32 r, " + "1?" * 50_000 + "1" + ":1" * 50_000 + "; }",
        ".entry k() " + "{" * 50_000 + "}" * 50_000,
        ".entry k() " + "{" * 50_000,
        ".global .b32 a" + "[1]" * 20_000 + " = " + "{" * 20_000 + "1" + "}" * 20_000 + ";",
        ".entry k() { foo {" + "%r1," * 100_000 + "%r1}; }",
        ".entry k() { foo " + "[a," * 50_000 + "; }",
        ".entry k() { foo " + "{" * 50_000 + "; }",
        ".entry k() { " + "L " * 100_000 + " }",
        ".entry k() { " + "/*" * 100_000,
        ".entry k() { " + '"' * 100_001,
        "/" * 100_000,
        "#" * 100_000,
        ".entry k() { .reg .b32 " + ",".join(f"a{i}" for i in range(20_000)) + "; .reg .b32 a<30000>; }",
        ".global .b32 a = " + "9" * 100_000 + ";",
        ".section .debug_x { " + ".b8 1\n" * 50_000 + " }",
    ],
    ids=range(17),
)
def test_hostile_text_is_no_burden(text: str) -> None:
    """Deep nesting and endless lines parse or fail with work linear in their length, without recursion."""

    def parse_both() -> None:
        for bodies in (True, False):
            try:
                module_of(text, bodies=bodies)
            except PtxSyntaxError as error:
                _check_place(error)

    assert calls(parse_both) < 100 * len(text)


def _check_place(error: PtxSyntaxError) -> None:
    assert error.line
    assert error.column


def _parses_or_says_why(data: bytes) -> None:
    for bodies in (True, False):
        try:
            assert isinstance(parse(Source(data, "f.ptx"), bodies=bodies), Module)
        except PtxSyntaxError as error:
            _check_place(error)


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    """Any bytes at all give a module or a syntax error."""
    _parses_or_says_why(data)
    _parses_or_says_why(HEAD.encode() + data)


SEEDS = [CORPUS / "rust/axpy.ptx", CORPUS / "rust/axpy.debug.ptx", CORPUS / "triton/vector_add.sm90.ptx"]
PIECES = st.sampled_from(
    [
        b"{",
        b"}",
        b"(",
        b")",
        b"[",
        b"]",
        b";",
        b",",
        b'"',
        b"/*",
        b"*/",
        b"//",
        b"\n",
        b"\0",
        b"\xff",
        b"@",
        b"!",
        b".reg",
        b".param",
        b".entry k",
        b".loc 1 1 1",
        b".file 1",
        b".section .debug_x {",
        b"%r1",
        b"0x",
        b"1e",
        b"+",
        b"-",
        b"|",
        b"<3>",
        b":",
        b"_",
        b".version 9.0",
        b"$L:",
        b"call",
        b'# 1 "x"',
        b"\\",
        b"?",
        b".",
    ]
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), PIECES), max_size=4))
def test_mutated_compiler_output(path: Path, changes: list[tuple[float, int, bytes]]) -> None:
    """Compiler output with pieces cut out and put in gives a module or a syntax error."""
    data = path.read_bytes()
    for where, length, piece in changes:
        at = int(where * len(data))
        data = data[:at] + piece + data[at + length :]
    _parses_or_says_why(data)


STATEMENT = st.lists(
    st.sampled_from(
        [
            "add",
            "L",
            ".s32",
            ".x",
            " ",
            "\n",
            ",",
            ";",
            ":",
            "%r1",
            "%r01",
            "g",
            "[",
            "]",
            "{",
            "}",
            "+",
            "-",
            "4",
            "017",
            "1.5",
            "0f3f800000",
            "_",
            "|",
            "!",
            "@p ",
            "(",
            ")",
            "call",
            "WARP_SZ",
            "// c\n",
            "/**/",
            ".loc 1 2 3\n",
            "%tid.x",
            "::y",
            "ret;",
            "mov.b32 %r1, %r2;",
            "U",
            "?",
            '"',
            "v.x",
            ".b0",
            "\t",
        ]
    ),
    max_size=12,
).map("".join)


@settings(max_examples=400)
@given(STATEMENT)
def test_short_way_never_differs(text: str) -> None:
    """Whatever the text, the quick reading and the reading token by token agree, also in their errors."""
    source = Source(f"{{ {REGISTERS} {text} }}".encode(), "f.ptx")
    outcomes: list[object] = []
    for fast in (True, False):
        try:
            outcomes.append(BodyParser(source, {"g": 4}, fast=fast).parse(0, ()))
        except PtxSyntaxError as error:
            outcomes.append((error.message, error.line, error.column))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("between", ["\n", " /* */ "])
def test_a_version_apart_from_its_directive(between: str) -> None:
    """ptxas wants the number on the line of `.version`; the message says that, not that 8.0 is no version."""
    with pytest.raises(PtxSyntaxError, match=r"must stand on the line of \.version"):
        parse(Source(f".version{between}8.0\n.target sm_90\n".encode(), "v.ptx"))
