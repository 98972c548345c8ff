"""The page `docs/supported-ptx.md`: the table of instructions, and how each chapter is held to hardware.

python -m tests.hardware.document > docs/supported-ptx.md
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from textwrap import wrap

from teenycuda_cli.emulator.opcodes.table import supported
from teenycuda_cli.emulator.supported import chapter, page
from tests.hardware.conformance import all_cases, all_tried, recording, skipped, trial_verdicts, verdict
from tests.hardware.effects import all_trials
from tests.isa.judge import ACCEPTED
from tests.isa.judge import read as accepted
from tests.isa.lists import LACKING, read


def counts() -> str:
    """Forms by chapter: all, those with outputs of the hardware, how they agree; then why others have none.

    A form is an instruction with the modifiers that change what it does;
    scopes, caches and hints do not count. It is as exact as the least exact of
    its cases, which are all run here.
    """
    forms: dict[str, set[str]] = defaultdict(set)
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))  # chapter → verdict
    for each in (*map(verdict, all_cases()), *trial_verdicts(all_trials())):
        name = each.case.text.split()[0]
        forms[chapter(each.case.form)].add(name)
        found[chapter(each.case.form)][each.kind].add(name)
    chapters = {form.opcode: chapter(form) for form in supported()}
    reasons: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for case in skipped():
        name = case.text.split()[0]
        opcode = name.partition(".")[0]
        forms[chapters[opcode]].add(name)
        reasons[case.reason][opcode].add(name)
    lines = [
        "## How far it is held to hardware",
        "",
        f"Outputs were recorded on: {recording().device}.",
        "",
        "| chapter | forms | recorded | exact | within a bound |",
        "|---|---|---|---|---|",
    ]
    rows = [(title, len(forms[title]), *_agreement(found[title])) for title in sorted(forms)]
    rows.append(("**all**", *[sum(row[column] for row in rows) for column in range(1, 5)]))
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    lines += ["", "Without outputs of the hardware:", ""]
    for tried in all_tried():
        if tried.text in recording().failures:
            reasons[recording().failures[tried.text]][tried.form.opcode].add(tried.text.split()[0])
    for reason, opcodes in sorted(reasons.items()):
        named = ", ".join(f"`{opcode}` ({len(names)})" for opcode, names in sorted(opcodes.items()))
        lines.append(_item(f"{reason}: {named}"))
    return "\n".join((*lines, "", *_lacking()))


def _agreement(found: dict[str, set[str]]) -> tuple[int, int, int]:
    """How many forms are recorded, exact, and within a bound, of the forms by verdict."""
    exact, bounded, differing = found["exact"], found["bounded"], found["differs"]
    bounded = bounded - differing
    return len(exact | bounded | differing), len(exact - bounded - differing), len(bounded)


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
        yield _item(f"{reason}: {', '.join(shown)}")
    yield ""


def _item(text: str) -> str:
    """An item of a list, over as many lines as it needs."""
    lines = wrap(text, 116, break_long_words=False, break_on_hyphens=False)
    return "- " + "\n  ".join(lines)


if __name__ == "__main__":
    sys.stdout.write(page(counts()))
