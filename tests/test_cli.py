"""What holds for every command: pipes that close, outputs that fill up, completion, usage errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from teenycuda_cli.cli import run

SAMPLE = str(Path(__file__).parent.parent / "samples" / "vector_add.ptx")
COMMAND = [sys.executable, "-m", "teenycuda_cli"]


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_a_closed_pipe_ends_the_program_quietly(option: list[str]) -> None:
    """The reader may go at any time: no message, no traceback, and not the code of a failed check."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        ended = subprocess.run(
            [*COMMAND, "inspect", SAMPLE, *option], stdout=closed, stderr=subprocess.PIPE, check=False
        )
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("option", [[], ["--json"]])
@pytest.mark.parametrize("file", [SAMPLE, "/nowhere"])
def test_a_full_disk_is_told(option: list[str], file: str) -> None:
    """An output that cannot be written is an error with a message, whatever was to be written."""
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [*COMMAND, "inspect", file, *option], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert ended.returncode == 3
    assert b"Traceback" not in ended.stderr
    assert b"error: cannot" in ended.stderr


def test_a_usage_error_is_a_document_with_json() -> None:
    """`--json` prints exactly one document, also when the command line is wrong."""
    ended = subprocess.run([*COMMAND, "launch", "--json"], capture_output=True, check=False)
    document = json.loads(ended.stdout)
    assert ended.returncode == document["exit_code"] == 2
    assert document["schema"] == "teenycuda.launch/1"
    assert document["error"]["kind"] == "usage"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_their_completion(shell: str) -> None:
    """Each shell that Click serves gets a script that defines a completion."""
    ended = subprocess.run(
        COMMAND,
        capture_output=True,
        check=False,
        env=os.environ | {"_TEENYCUDA_COMPLETE": f"{shell}_source"},
    )
    assert ended.returncode == 0
    assert b"teenycuda" in ended.stdout


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["launc"], "no such command 'launc'", "did you mean launch?"),
        (["make"], "no such command 'make'", "commands are inspect, strip, load, launch, devices"),
        (["launch", "f.ptx", "x=ptr:4xf32"], "(x=ptr:4xf32)", "--arg x=ptr:4xf32"),
        (["launch", "f.ptx", "--kernel", "k"], "no such option '--kernel'", "it is called --entry here"),
        (["strip", "f.ptx", "--kernel", "k"], "no such option '--kernel'", "teenycuda strip --help"),
        (["launch", "--seed", "-1"], "-1 is not in the range", "teenycuda launch --help"),
        (["launch", "--seed", "1e3"], "'1e3' is no whole number", "teenycuda launch --help"),
        (["launch", "--timeout", "0"], "'0'; expected a number of seconds above 0", "launch --help"),
        (["load", "--timeout", "nan"], "'nan'; expected a number of seconds above 0", "load --help"),
    ],
)
def test_a_usage_error_says_the_way_out(
    words: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line with the mistake, one with what to do."""
    assert run(words) == 2
    told, way = capsys.readouterr().err.splitlines()
    assert told.startswith("error: ")
    assert message in told
    assert way.startswith("hint: ")
    assert hint in way


def test_no_word_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    """The help is shown as a message, with the code of a usage error."""
    assert run([]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("Usage: teenycuda ")
    assert "inspect" in told.err
