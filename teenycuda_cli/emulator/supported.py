"""The instructions that the emulator runs, as documentation: generated from the opcode table.

`python -m teenycuda_cli.emulator.supported` prints a page with a table a
chapter, with `--summary` the table that stands in the README.
`docs/supported-ptx.md` is the page with the counts of `tests.hardware.document`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby

from teenycuda_cli.emulator.opcodes.table import Form, supported

ISA = "https://docs.nvidia.com/cuda/parallel-thread-execution/index.html"

HEAD = """\
# Supported PTX

What the embedded emulator runs, by chapter of the PTX ISA, in the ISA's own syntax: `{.name}` may be left
out, and a name with alternatives beside it stands for one of them. The front end (`inspect`, `strip`, `load`)
takes all of PTX; `launch` on the emulator names every instruction that is not here, with its lines, before
anything runs, and ends with 5.

Generated from the opcode table and the recording of an H200 by `python -m tests.hardware.document`.
"""


def _chapters() -> Iterator[tuple[str, list[Form]]]:
    """Each chapter's title and its rows, chapters and opcodes in alphabetical order."""
    rows = sorted(supported(), key=lambda form: (chapter(form), form.opcode))
    for title, forms in groupby(rows, key=chapter):
        yield title, list(forms)


def chapter(form: Form) -> str:
    """The chapter out of an anchor: everything before the last `instructions`, made readable."""
    stem, found, _ = form.isa.partition("-instruction")
    return (stem + " instructions" if found else form.isa).replace("-", " ").capitalize()


def _alternatives(form: Form) -> str:
    shown = [f"*{name}*: {' '.join(choices)}" for name, choices in form.alternatives.items()]
    return "; ".join(shown)


def page(more: str = "") -> str:
    """The whole list, a table a chapter; `more` stands before them."""
    lines = [HEAD, more] if more else [HEAD]
    for title, forms in _chapters():
        lines += [f"## {title}", "", "| instruction | alternatives |", "|---|---|"]
        for form in forms:
            syntax = form.syntax.replace("|", "\\|")
            lines.append(f"| [`{syntax}`]({ISA}#{form.isa}) | {_alternatives(form)} |")
        lines.append("")
    return "\n".join(lines)


def summary() -> str:
    """One row a chapter, with the names of its instructions."""
    lines = ["| chapter | instructions |", "|---|---|"]
    for title, forms in _chapters():
        names = dict.fromkeys(f"`{form.opcode}`" for form in forms)
        lines.append(f"| {title} | {' '.join(names)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(summary() if "--summary" in sys.argv[1:] else page())
