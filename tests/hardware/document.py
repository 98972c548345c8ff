"""The page `docs/supported-ptx.md`: the table of instructions, and how each chapter is held to hardware.

python -m tests.hardware.document > docs/supported-ptx.md
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator

from teenycuda_cli.emulator.opcodes.table import supported
from teenycuda_cli.emulator.supported import chapter, page
from tests.hardware.conformance import all_tried, recording, skipped
from tests.isa.judge import ACCEPTED
from tests.isa.judge import read as accepted
from tests.isa.lists import LACKING, read


def counts() -> str:
    """Forms by chapter: all, those with outputs of the hardware, how they agree; then why others have none.

    A form is an instruction with the modifiers that change what it does;
    scopes, caches and hints do not count. `test_conformance` holds each that
    is recorded to the hardware's own bits, so that none is merely within a
    bound.
    """
    forms: dict[str, set[str]] = defaultdict(set)
    recorded: dict[str, set[str]] = defaultdict(set)
    for case in all_tried():
        name = case.text.split()[0]
        forms[chapter(case.form)].add(name)
        if case.text in recording():
            recorded[chapter(case.form)].add(name)
    chapters = {form.opcode: chapter(form) for form in supported()}
    reasons: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for each in skipped():
        name = each.text.split()[0]
        opcode = name.partition(".")[0]
        forms[chapters[opcode]].add(name)
        reasons[each.reason][opcode].add(name)
    lines = [
        "## How far it is held to hardware",
        "",
        f"Outputs were recorded on: {recording().device}.",
        "",
        "| chapter | forms | recorded | exact | within a bound |",
        "|---|---|---|---|---|",
    ]
    rows = [(title, len(forms[title]), len(recorded[title])) for title in sorted(forms)]
    rows.append(("**all**", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    lines += [f"| {title} | {all_} | {some} | {some} | 0 |" for title, all_, some in rows]
    lines += ["", "Without outputs of the hardware:", ""]
    for case in all_tried():
        if case.text in recording().failures:
            reasons[recording().failures[case.text]][case.form.opcode].add(case.text.split()[0])
    for reason, opcodes in sorted(reasons.items()):
        named = ", ".join(f"`{opcode}` ({len(names)})" for opcode, names in sorted(opcodes.items()))
        lines.append(f"- {reason}: {named}")
    return "\n".join((*lines, "", *_lacking()))


def _lacking() -> Iterator[str]:
    """What ptxas takes and the emulator does not, by reason: names, or the number of forms of known names."""
    lacking = read(LACKING)
    had = {form.split()[0] for form in accepted(ACCEPTED) if form not in lacking}
    yield "## What ptxas takes besides"
    yield ""
    yield "Of all that ptxas 13.0 takes up to sm_89, textures and surfaces aside, the emulator lacks these,"
    yield "and in the numbers given forms with operands that mean nothing, all in `tests/isa/lacking.txt`:"
    yield ""
    names: dict[str, dict[str, None]] = defaultdict(dict)
    operands: dict[str, Counter[str]] = defaultdict(Counter)
    for form, reason in lacking.items():
        name = form.split()[0]
        if name in had:
            operands[reason][name.split(".")[0]] += 1
        else:
            names[reason][name] = None
    for reason in dict.fromkeys(lacking.values()):
        shown = [f"`{name}`" for name in names[reason]]
        shown += [f"`{opcode}` ({count})" for opcode, count in operands[reason].items()]
        yield f"- {reason}: {', '.join(shown)}"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(page(counts()))
