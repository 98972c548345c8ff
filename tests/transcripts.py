"""Reads the console transcripts of a Markdown file, and runs them as a reader would.

A transcript is a fenced block marked `console`: lines starting with `$ ` are
commands (continued where a line ends in a backslash), the others what they
print, on both streams. `…` in an output line stands for any text, alone on a
line for any number of lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SEPARATOR = "\x1e\n"


@dataclass(frozen=True)
class Step:
    """A command and what it prints."""

    command: str
    output: str


@dataclass(frozen=True)
class Transcript:
    """A block of steps that one shell runs in turn; `line` is where it starts."""

    line: int
    steps: tuple[Step, ...]


def read_transcripts(path: Path) -> list[Transcript]:
    """All transcripts of a Markdown file, in order."""
    text = path.read_text()
    return [
        Transcript(text.count("\n", 0, block.start()) + 1, _steps(block[1]))
        for block in re.finditer(r"^```console\n(.*?)^```$", text, re.M | re.S)
    ]


def _steps(block: str) -> tuple[Step, ...]:
    found = re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
    return tuple(Step(command, output) for command, output in found)


# Where the project is not installed, the checkout itself answers to the command's name.
COMMAND = f'command -v teenycuda >/dev/null || teenycuda() {{ "{sys.executable}" -m teenycuda_cli "$@"; }}\n'


def run_transcript(transcript: Transcript, folder: Path, *, gpu: bool = False) -> list[str]:
    """What each step prints, run in `folder`, in which the samples are found as in the repository.

    GPUs are hidden unless `gpu`, since transcripts show what is printed without one.
    """
    if not (folder / "samples").exists():
        (folder / "samples").symlink_to(ROOT / "samples")
    script = COMMAND + "".join(
        f"{step.command}\nstatus=$?; printf '\\036\\n'; (exit $status)\n" for step in transcript.steps
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    plain = {"PATH": path, "NO_COLOR": "1", "COLUMNS": "100", "PYTHONUTF8": "1"}
    plain["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    if not gpu:
        plain["CUDA_VISIBLE_DEVICES"] = ""
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env=os.environ | plain,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return done.stdout.split(SEPARATOR)[: len(transcript.steps)]


def agrees(expected: str, printed: str) -> bool:
    """Whether a step printed what its transcript shows, white space at line ends aside."""
    pattern = ""
    for line in expected.splitlines():
        text = r".*".join(re.escape(part) for part in line.rstrip().split("…"))
        pattern += r"(?:.*\n)*" if line.strip() == "…" else rf"{text}[ \t]*\n"
    return (
        re.fullmatch(pattern, printed if not printed or printed.endswith("\n") else printed + "\n")
        is not None
    )
