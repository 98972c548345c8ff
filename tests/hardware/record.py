"""Records what the hardware gives for every case and trial: `python -m tests.hardware.record --out DIR`.

Writes DIR/outputs.xz, which belongs beside this file, and DIR/differing.npz:
the whole outputs of those in which the emulator differs, to find out why.
`--only values`, `effects` or `missing` records a part alone; what the file
here has of the others is taken over.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from teenycuda_cli.driver.assembly.assembler import AssemblerMissing, assemble
from teenycuda_cli.driver.device import Device
from teenycuda_cli.driver.registry import open_device
from tests.hardware.effects import all_trials
from tests.hardware.emulated import evaluated
from tests.hardware.forms import Case, cases
from tests.hardware.inputs import Array, digest, inputs, signature
from tests.hardware.kernels import Module, modules
from tests.hardware.recording import FILE, Recording, read
from tests.hardware.running import Outcome, cases_of, refusals, run, without
from tests.hardware.trials import Trial, TrialModule, input_digest, trial_modules

ARCH = "sm_90a"
DIFFERING_BYTES = 40 << 20
PARTS = ("all", "values", "effects", "missing")


def tried(part: str, pattern: str, known: Recording | None) -> list[Case | Trial]:
    """The cases and trials of one of `PARTS` (missing: not in `known`) that match a pattern."""
    found: list[Case | Trial] = []
    if part != "effects":
        found += [case for case in cases() if isinstance(case, Case)]
    if part != "values":
        found += all_trials()
    if part == "missing" and known is not None:
        found = [case for case in found if _is_missing(case, known)]
    return [case for case in found if re.search(pattern, case.text)]


def _is_missing(case: Case | Trial, known: Recording) -> bool:
    """Whether there are no results of a case, or a trial is not what it was when it was recorded."""
    if isinstance(case, Trial) and case.text in known:
        return known.inputs.get(case.text) != input_digest(case)
    return case.text not in known and case.text not in known.failures


def legal(module: Module | TrialModule) -> tuple[Module | TrialModule, list[tuple[Case | Trial, str]]]:
    """The module without what nvJitLink refuses, and what that is; all of it where there is no nvJitLink."""
    refused: list[tuple[Case | Trial, str]] = []
    while module.kernels:
        try:
            assembly = assemble(module.text.encode(), arch=ARCH)
        except AssemblerMissing:
            break
        found = [] if assembly.ok else refusals(module, assembly.error_log.splitlines())
        if not found:
            break
        refused += found
        module = without(module, [case for case, _ in found])
    return module, refused


class Recorder:
    """Collects outcomes into a recording, and keeps whole outputs where the emulator differs."""

    def __init__(self, recording: Recording, emulator: Device) -> None:
        """What is recorded is added to a recording, and compared with what the emulator gives."""
        self.recording = recording
        self.emulator = emulator
        self.differing: dict[str, Array] = {}
        self.verdicts: Counter[str] = Counter()
        self._inputs: dict[str, Sequence[Array]] = {}
        self._bytes = 0

    def resume(self, out: Path) -> None:
        """Go on with the differing outputs of the process before."""
        with np.load(out / "differing.npz") as file:
            self.differing = {str(name): file[f"r{index}"] for index, name in enumerate(file["names"])}

    def take(self, outcome: Outcome) -> None:
        """Add one outcome."""
        case = outcome.case
        if outcome.failure:
            self.recording.failures[case.text] = outcome.failure
            self.verdicts["failed"] += 1
            return
        self.recording.failures.pop(case.text, None)
        self.recording.add(case.text, outcome.results, whole=case.approximate)
        try:
            own = self._own(case)
            same = all(np.array_equal(a, b) for a, b in zip(own, outcome.results, strict=True))
            verdict = "same" if same else "differs"
        except Exception as error:  # whatever the emulator does, the hardware's outputs are kept
            print(f"{case.text}: {error!r}", file=sys.stderr)
            verdict = "emulator fails"
        self.verdicts[verdict] += 1
        if verdict != "same" and self._bytes < DIFFERING_BYTES:
            for index, result in enumerate(outcome.results):
                self.differing[f"{case.text} #{index}"] = result
                self._bytes += result.nbytes

    def _own(self, case: Case | Trial) -> Sequence[Array]:
        """What the emulator gives, and a note of the inputs."""
        if isinstance(case, Case):
            return evaluated(case, self._read(case))
        self.recording.inputs[case.text] = input_digest(case)
        (outcome,) = run(self.emulator, next(iter(trial_modules([case]))))
        if outcome.failure:
            raise RuntimeError(outcome.failure)
        return outcome.results

    def _read(self, case: Case) -> Sequence[Array]:
        key = signature(case.read)
        if key not in self._inputs:
            self._inputs[key] = inputs(case.read)
            self.recording.inputs[key] = digest(self._inputs[key])
        return self._inputs[key]

    def write(self, out: Path) -> None:
        """Write both files, the recording at once."""
        out.mkdir(parents=True, exist_ok=True)
        self.recording.write(out / "outputs.part")
        (out / "outputs.part").replace(out / "outputs.xz")
        arrays: dict[str, Any] = {f"r{index}": array for index, array in enumerate(self.differing.values())}
        arrays["names"] = np.array(list(self.differing), dtype=str)
        np.savez_compressed(out / "differing.npz", **arrays)


class Crashes:
    """What was being tried when a worker died, kept in a file: it is tried again alone, then never."""

    def __init__(self, out: Path) -> None:
        """The file is in the folder of the recording."""
        self._doing, self._known = out / "doing.json", out / "crashes.json"
        self.texts: dict[str, bool] = json.loads(self._known.read_text()) if self._known.exists() else {}

    def begin(self, texts: Sequence[str]) -> None:
        """Tell what is about to be tried."""
        self._doing.write_text(json.dumps(texts))

    def note(self) -> None:
        """A worker died: note what it was at, and what of that it tried alone."""
        doing = json.loads(self._doing.read_text())
        self.texts |= dict.fromkeys(doing, len(doing) == 1)
        self._known.write_text(json.dumps(self.texts))


def outcomes(device: Device, chosen: Sequence[Case | Trial], crashes: Crashes) -> Iterator[Outcome]:
    """What becomes of each case and trial on a device."""
    known = crashes.texts
    calm = [case for case in chosen if case.text not in known]
    groups: list[list[Case | Trial]] = [calm, *([case] for case in chosen if known.get(case.text) is False)]
    yield from (Outcome(case, failure=CRASH) for case in chosen if known.get(case.text))
    for group in groups:
        made: list[Module | TrialModule] = [*modules([case for case in group if isinstance(case, Case)])]
        made += trial_modules([case for case in group if isinstance(case, Trial)])
        for module in made:
            crashes.begin([case.text for case in cases_of(module)])
            kept, refused = legal(module)
            yield from (Outcome(case, failure=f"refused: {reason}") for case, reason in refused)
            yield from run(device, kept)


CRASH = "refused: the driver's assembler crashes"
FAULTED = 75
"""Exit status of a worker whose device is lost to a launch that failed."""
MOST_FAULTS = 50
WRITE_EVERY = 45
"""Seconds: so much is lost of a recording that is stopped."""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the folder for the files")
    parser.add_argument("--device", default="cuda", help="cpu for a dry run on the emulator")
    parser.add_argument("--only", choices=PARTS, default="all", help="record this part alone")
    parser.add_argument("--match", default="", help="a pattern: record only what matches it")
    parser.add_argument("--worker", choices=("first", "next"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Record in a process of its own; after a launch that fails, go on behind it in another one."""
    options = _options()
    if options.worker:
        _work(options)
        return
    for worker in ("first", *["next"] * MOST_FAULTS):
        command = [sys.executable, "-m", "tests.hardware.record", *sys.argv[1:], "--worker", worker]
        status = _run(command)
        if status < 0 and status != -signal.SIGTERM:
            Crashes(options.out).note()
        elif status != FAULTED:
            sys.exit(status)


def _run(command: list[str]) -> int:
    """The exit status of a worker, which is stopped with this process."""
    with subprocess.Popen(command) as worker:
        signal.signal(signal.SIGTERM, lambda *_: worker.terminate())
        return worker.wait()


def _work(options: argparse.Namespace) -> None:
    """Record what is chosen, or the rest of it, and print a short table."""
    start = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with open_device(options.device) as device, open_device("cpu") as emulator:
        driver = getattr(device, "version", 0) // 10
        chip = device.name.removeprefix("NVIDIA ")
        name = f"{chip}, {device.arch}, CUDA {driver // 100}.{driver % 100}"
        goes_on = options.worker == "next"
        known = _known(options, name)
        chosen = tried("missing" if goes_on else options.only, options.match, known)
        if goes_on and options.only in ("values", "effects"):
            chosen = [case for case in chosen if isinstance(case, Case) == (options.only == "values")]
        for case in chosen:
            known.drop(case.text)
        recorder = Recorder(known, emulator)
        if goes_on:
            recorder.resume(options.out)
        else:
            recorder.write(options.out)
        written = time.monotonic()
        try:
            for outcome in outcomes(device, chosen, Crashes(options.out)):
                recorder.take(outcome)
                if time.monotonic() > written + WRITE_EVERY:
                    recorder.write(options.out)
                    written = time.monotonic()
                if outcome.lost and options.device != "cpu":
                    print(f"lost the device: {outcome.case.text}: {outcome.failure}", file=sys.stderr)
                    recorder.write(options.out)
                    sys.stderr.flush()
                    os._exit(FAULTED)
        finally:
            recorder.write(options.out)
    reasons = Counter(reason for reason in recorder.recording.failures.values())
    for reason, count in reasons.most_common(20):
        print(f"{count:6}  {reason[:150]}")
    for verdict, count in recorder.verdicts.most_common():
        print(f"{count:6}  {verdict}")
    print(f"{recorder.recording.device}; {time.monotonic() - start:.1f} s")


def _known(options: argparse.Namespace, name: str) -> Recording:
    """What is recorded already and stays: nothing where all is recorded anew, or on another device."""
    if options.worker == "next":
        return read(options.out / "outputs.xz")
    if not FILE.exists() or (options.only == "all" and not options.match):
        return Recording(name)
    known = read()
    if known.device == name:
        return known
    print(f"what there is was recorded on {known.device} and is left out", file=sys.stderr)
    return Recording(name)


if __name__ == "__main__":
    main()
