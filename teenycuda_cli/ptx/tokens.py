"""The tokens of PTX, taken one at a time by one regular expression."""

from __future__ import annotations

import re

from teenycuda_cli.errors import PtxSyntaxError
from teenycuda_cli.ptx.source import Source

# Between tokens: blanks (a form feed and 0x1a among them), comments (they neither nest nor continue a
# line), and the `# 1 "f"` of cpp, with numbers and a line's end behind the name.
_SPACE = r"[ \t\r\f\x1a]"
LINE_MARK = (
    rf'\#{_SPACE}*+(?:line{_SPACE}*+)?+[0-9]++{_SPACE}++"[^"]*+"(?:{_SPACE}++[0-9]++)*+{_SPACE}*+(?=\n)'
)
BLANK = rf"(?:[ \t\r\n\f\x1a]++|//[^\n]*+|/\*(?s:.*?)\*/|{LINE_MARK})*+"
WORD = r"(?:[A-Za-z][A-Za-z0-9_$]*+|[_$%][A-Za-z0-9_$]++)"
DOT = r"\.[A-Za-z0-9_$]++(?:::[A-Za-z0-9_$]++)*+"

_TOKEN = re.compile(
    rf"""{BLANK}(?:
      (?P<word>{WORD})
    | (?P<float>0[fF][0-9A-Fa-f]{{8}}|0[dD][0-9A-Fa-f]{{16}}
        |(?:[0-9]++\.[0-9]*+|\.[0-9]++(?![A-Za-df-z_$]))(?:[eE][-+]?[0-9]++)?|[0-9]++[eE][-+]?[0-9]++)
    | (?P<dot>{DOT})
    | (?P<int>(?:0[xX][0-9A-Fa-f]++|0[bB][01]++|0[0-7]*+|[1-9][0-9]*+)U?)
    | (?P<string>"[^"]*+")
    | (?P<op><<|>>|<=|>=|==|!=|&&|\|\||(?!/\*)[-+*/%&|^~!?:;,(){{}}\[\]<>=@_])
    | (?P<end>\Z)
    )""",
    re.VERBOSE,
)

# Text that hides braces and semicolons, or a brace: all that finding the end of a `{ … }` needs.
_NEXT_BRACE = re.compile(r'//[^\n]*+|/\*(?s:.*?)\*/|"[^"]*+"|([{}])|(/\*|")')

# The inside of a `{ … }`, as deep as compilers nest; deeper ones are counted brace by brace.
_HIDING = r'//[^\n]*+|/\*(?s:.*?)\*/|"[^"]*+"|/(?![/*])'
_FLAT = rf'(?:[^{{}}"/]++|{_HIDING})*+'
_NESTED = rf'(?:[^{{}}"/]++|{_HIDING}|\{{{_FLAT}\}})*+'
_INSIDE = re.compile(rf'(?:[^{{}}"/]++|{_HIDING}|\{{{_NESTED}\}})*+')


class Cursor:
    """A place in a text: the current token's `kind`, `value` and start `at`; `end` is behind it.

    Kinds are word, dot (a word with its leading dot), int, float, string, op
    and end. Raises PtxSyntaxError where no token can be read.
    """

    __slots__ = ("at", "end", "kind", "previous_end", "source", "text", "value")

    def __init__(self, source: Source, at: int = 0) -> None:
        """Stand on the first token at or behind `at`."""
        self.source = source
        self.text = source.text
        self.end = at
        self.advance()

    def advance(self) -> None:
        """Step to the next token; at the end of the text, stay there."""
        self.previous_end = self.end
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            raise self._no_token()
        kind = match.lastgroup
        assert kind is not None
        self.kind = kind
        self.value = match[kind]
        self.at, self.end = match.span(kind)

    def jump(self, at: int) -> None:
        """Step to the first token at or behind an offset."""
        self.end = at
        self.advance()

    def accept(self, value: str) -> bool:
        """Step over the token if it is `value`; strings never are."""
        if self.value != value:
            return False
        self.advance()
        return True

    def expect(self, value: str, where: str = "") -> None:
        """Step over `value`, or raise."""
        if self.value != value:
            raise self.unexpected(f"`{value}`{where}")
        self.advance()

    def take(self, kind: str, expected: str) -> str:
        """Step over a token of a kind and return its text, or raise with what was expected."""
        if self.kind != kind:
            raise self.unexpected(expected)
        value = self.value
        self.advance()
        return value

    def name(self, expected: str) -> str:
        """Step over an identifier and return it, or raise with what was expected."""
        return self.take("word", expected)

    def unexpected(self, expected: str, hint: str | None = None) -> PtxSyntaxError:
        """An error about the current token; to be raised by the caller."""
        got = "the end of the file" if self.kind == "end" else f"`{shortened(self.value)}`"
        return self.source.error(
            self.at,
            f"expected {expected}, got {got}",
            hint=hint,
            length=max(1, len(self.value.partition("\n")[0])),
        )

    def error(self, message: str, *, at: int | None = None, hint: str | None = None) -> PtxSyntaxError:
        """An error at an offset, by default the current token's; to be raised by the caller."""
        if at is None:
            return self.source.error(self.at, message, hint=hint, length=max(1, len(self.value)))
        return self.source.error(at, message, hint=hint)

    def _no_token(self) -> PtxSyntaxError:
        skipped = re.compile(BLANK).match(self.text, self.end)
        at = skipped.end() if skipped else self.end
        character = self.text[at]
        if self.text.startswith("/*", at):
            return self.source.error(at, "this comment never ends", hint="close it with */", length=2)
        if character == '"':
            return self.source.error(at, "this string never ends", hint='close it with "')
        shown = character if " " < character <= "~" else f"byte 0x{ord(character):02x}"
        quoted = f"`{shown}`" if len(shown) == 1 else shown
        return self.source.error(at, f"{quoted} is no part of PTX here")


def shortened(text: str, limit: int = 40) -> str:
    """Text for a message: its first line, cut to `limit` characters."""
    first, newline, _ = text.partition("\n")
    return first if len(first) <= limit and not newline else first[:limit] + "…"


def closing_brace(source: Source, at: int) -> int:
    """The offset of the `}` that closes the `{` at `at`; comments and strings are looked through.

    Raises PtxSyntaxError if there is none.
    """
    text = source.text
    match = _INSIDE.match(text, at + 1)
    assert match is not None
    end = match.end()
    if text.startswith("}", end):
        return end
    return _closing_brace_counted(source, at)


def _closing_brace_counted(source: Source, at: int) -> int:
    depth = 0
    for match in _NEXT_BRACE.finditer(source.text, at):
        brace = match[1]
        if brace == "{":
            depth += 1
        elif brace == "}":
            depth -= 1
            if not depth:
                return match.start()
        elif match[2]:
            what, end = ("comment", "*/") if match[2] == "/*" else ("string", '"')
            raise source.error(match.start(), f"this {what} never ends", hint=f"close it with {end}")
    raise source.error(at, "this `{` is never closed", hint="a `}` is missing")
