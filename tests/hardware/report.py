"""How the emulator stands to the hardware: `python -m tests.hardware.report [PATTERN]`."""

from __future__ import annotations

import re
import sys
from collections import Counter

from tests.hardware.conformance import Verdict, all_cases, recording, skipped, trial_verdicts, verdict
from tests.hardware.effects import all_trials
from tests.hardware.forms import Skipped
from tests.hardware.trials import Trial

SHOWN = 40


def main(pattern: str = "") -> None:
    """Print counts, the distribution of approximate results, and what differs, the worst first."""
    found = [verdict(case) for case in all_cases() if re.search(pattern, case.text)]
    found += trial_verdicts([trial for trial in all_trials() if re.search(pattern, trial.text)])
    rows = {id(each.case.form) for each in found}
    print(f"recorded on {recording().device}")
    print(f"{len(found):6}  instructions tried in {len(rows)} rows of the table; {len(skipped())} cannot be")
    _counts(found)
    _distribution([each for each in found if each.distances])
    _reasons([each for each in found if each.kind == "refused"])
    _untried([each for each in skipped() if re.search(pattern, each.text)])
    waiting = [each.case.text for each in found if each.kind == "unrecorded"]
    if waiting:
        print("\nunrecorded:", *waiting, sep="\n")
    differing = sorted((each for each in found if each.kind == "differs"), key=lambda each: -each.lanes)
    for each in differing[:SHOWN]:
        print(f"\n{each.case.text}: {each.lanes} lanes\n{each.note}")
    if len(differing) > SHOWN:
        names = ", ".join(each.case.text.split()[0] for each in differing[SHOWN:])
        print(f"\n… and {len(differing) - SHOWN} more: {names}")


def _counts(found: list[Verdict]) -> None:
    """A line a verdict: how many values, effects, and both."""
    counts = Counter((isinstance(each.case, Trial), each.kind) for each in found)
    print(f"{'both':>6} {'values':>7} {'effects':>8}")
    for kind in ("exact", "bounded", "differs", "refused", "unrecorded"):
        values, effects = counts[False, kind], counts[True, kind]
        print(f"{values + effects:6} {values:7} {effects:8}  {kind}")


def _distribution(found: list[Verdict]) -> None:
    if found:
        print(f"\n{'units from the hardware':40} {'0':>7} {'1':>7} {'2':>7} {'3-9':>7} {'more':>7}")
    for each in found:
        print(f"{each.case.text:40} {' '.join(f'{count:7}' for count in each.distances)}")


def _reasons(found: list[Verdict]) -> None:
    reasons: dict[str, list[str]] = {}
    for each in found:
        reasons.setdefault(each.note, []).append(each.case.text)
    for reason, texts in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"\n{len(texts):6}  {reason}\n        {'; '.join(texts[:4])}{' …' if len(texts) > 4 else ''}")


def _untried(found: list[Skipped]) -> None:
    """What has no outputs of the hardware because there is nothing to try, by opcode."""
    groups: dict[tuple[str, str], int] = {}
    for each in found:
        key = each.text.partition(".")[0].split()[0], each.reason
        groups[key] = groups.get(key, 0) + 1
    print()
    for (opcode, reason), count in sorted(groups.items()):
        print(f"{count:6}  {opcode} not tried: {reason}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
