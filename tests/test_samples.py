"""The samples: every command that their README shows, on every device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.transcripts import ROOT, Step, Transcript, read_transcripts, run_transcript

SAMPLES = ROOT / "samples"
COMMANDS = [step.command for page in read_transcripts(SAMPLES / "README.md") for step in page.steps]
# The exit code of the faulty one, by device.
FAULT = {"cpu": "4", "cuda": "1"}


def _file(command: str) -> str:
    return Path(command.split()[2]).name


@pytest.mark.parametrize("command", COMMANDS, ids=_file)
def test_sample(command: str, device: str, tmp_path: Path) -> None:
    """A sample's command runs and its check holds; the faulty one is found out."""
    steps = Step(f"{command} --device {device}", ""), Step("echo $?", "")
    printed, code = run_transcript(Transcript(1, steps), tmp_path, gpu=device == "cuda")
    expected = FAULT[device] if _file(command) == "out_of_bounds.ptx" else "0"
    assert code.strip() == expected, printed


def test_every_sample_has_its_command_and_its_source() -> None:
    """No PTX lies there without a command that runs it and a source that it was made from."""
    kernels = {path.name for path in SAMPLES.glob("*.ptx")}
    assert {_file(command) for command in COMMANDS} == kernels
    for name in kernels:
        assert any((SAMPLES / name).with_suffix(suffix).exists() for suffix in (".cu", ".py", ".rs")), name


def test_every_command_checks_something() -> None:
    """Each command states what must come out, but for the one that prints and the one that faults."""
    unchecked = {_file(command) for command in COMMANDS if "--expect" not in command}
    assert unchecked == {"hello.ptx", "out_of_bounds.ptx"}
