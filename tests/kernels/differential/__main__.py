"""Random kernels, whole, on a GPU and on the emulator: the same bytes.

`python -m tests.kernels.differential record OUT --seeds A-B` runs the kernels of
these seeds on a GPU and writes OUT/recorded.xz, which belongs beside this file,
and OUT/whole.npz, all that they left. `… compare FILE` runs those of either file
on the emulator, and prints what differs. `… show SEED` prints a kernel.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.kernels.differential.assembled import OPEN
from tests.kernels.differential.kernels import made
from tests.kernels.differential.maker import WORDS
from tests.kernels.differential.recording import Recorded, kernel_digest, read, recorded, write
from tests.kernels.differential.running import Words, run_all

WRITE_EVERY = 100
SHOWN = 6


def record(out: Path, seeds: range, device: str, jobs: int) -> int:
    """Run kernels on a device and write what they leave; 0."""
    out.mkdir(parents=True, exist_ok=True)
    kernels: dict[int, Recorded] = {}
    whole: dict[str, Words] = {}

    def save() -> None:
        write(out / "recorded.xz", kernels)
        with (out / "whole.npz").open("wb") as file:
            np.savez_compressed(file, **whole)

    for left in run_all(device, seeds, jobs):
        digest = kernel_digest(made(left.seed))
        if left.words is None:
            kernels[left.seed] = Recorded(digest, [], [], left.failure)
            print(f"{left.seed}: {left.failure}", flush=True)
        else:
            kernels[left.seed] = recorded(digest, left.words)
            whole[f"{left.seed} {digest}"] = left.words
        if not len(kernels) % WRITE_EVERY:
            save()
            print(f"{len(kernels)} of {len(seeds)} kernels", flush=True)
    save()
    print(f"{len(whole)} of {len(kernels)} kernels recorded in {out}")
    return 0


def _differences(expected: Words, got: Words) -> str:
    """The first words that differ: of which thread they are, and which of its words."""
    places = np.flatnonzero(expected != got)
    if not len(places):
        return ""
    shown = [
        f"thread {n // WORDS} word {n % WORDS}: {got[n]:#x}, not {expected[n]:#x}" for n in places[:SHOWN]
    ]
    return f"{len(places)} of {len(got)} words differ; " + "; ".join(shown)


def _recordings(file: Path) -> Iterator[tuple[int, str, Recorded | Words]]:
    """Seed, kernel's hash, and what was left."""
    if file.suffix == ".npz":
        with np.load(file) as whole:
            for name in whole.files:
                seed, digest = name.split()
                yield int(seed), digest, whole[name]
    else:
        for seed, each in read(file).items():
            yield seed, each.kernel, each


def compare(file: Path, jobs: int) -> int:
    """Run what was recorded on the emulator and print what differs; 1 if anything does."""
    known = {seed: (digest, left) for seed, digest, left in _recordings(file)}
    verdicts: Counter[str] = Counter()
    for own in run_all("cpu", sorted(known), jobs):
        digest, left = known[own.seed]
        if isinstance(left, Recorded) and left.failure:
            verdict, text = "failed on the GPU", left.failure
        elif kernel_digest(made(own.seed)) != digest:
            verdict, text = (
                "made anew",
                "the seed no longer makes the kernel that was recorded: record it again",
            )
        elif own.words is None:
            verdict, text = "fails", own.failure
        else:
            text = left.difference(own.words) if isinstance(left, Recorded) else _differences(left, own.words)
            verdict = "differs" if text else "same"
            if text and own.seed in OPEN:
                verdict = "differs, as is known"
        verdicts[verdict] += 1
        if text:
            print(f"{own.seed}: {verdict}: {text}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))
    return 1 if set(verdicts) - {"same", "differs, as is known"} else 0


def _seeds(text: str) -> range:
    match = re.fullmatch(r"([0-9]+)-([0-9]+)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is no range of seeds; give one such as 1-600")
    return range(int(match[1]), int(match[2]) + 1)


def main() -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record")
    recorder.add_argument("out", type=Path)
    recorder.add_argument("--seeds", type=_seeds, required=True)
    recorder.add_argument("--device", default="cuda", help="cpu for a dry run on the emulator")
    comparer = commands.add_parser("compare")
    comparer.add_argument("file", type=Path)
    for each in (recorder, comparer):
        each.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1), help="kernels at a time")
    shower = commands.add_parser("show")
    shower.add_argument("seed", type=int)
    options = parser.parse_args()
    if options.command == "record":
        return record(options.out, options.seeds, options.device, options.jobs)
    if options.command == "compare":
        return compare(options.file, options.jobs)
    print(made(options.seed).text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
