"""The README and the samples' page say nothing that is not so."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from teenycuda_cli import errors
from teenycuda_cli.cli import run
from teenycuda_cli.driver.checks.expression_functions import FUNCTIONS
from teenycuda_cli.emulator.supported import page, summary
from tests.hardware.document import counts
from tests.transcripts import ROOT, Transcript, agrees, read_transcripts, run_transcript

README = (ROOT / "README.md").read_text()
SECTIONS = [
    "Install",
    "Commands",
    "Arguments",
    "With and without a GPU",
    "Supported PTX",
    "Exit codes and JSON",
    "How it is built",
    "Developing",
]


@pytest.mark.parametrize(
    "transcript", read_transcripts(ROOT / "README.md"), ids=lambda transcript: f"line{transcript.line}"
)
def test_transcript(transcript: Transcript, tmp_path: Path) -> None:
    """Each command of the README prints what the README shows."""
    for step, printed in zip(transcript.steps, run_transcript(transcript, tmp_path), strict=True):
        assert agrees(step.output, printed), f"$ {step.command}\n{printed}"


def test_sections() -> None:
    """The sections come in the order that readers of this project know."""
    assert re.findall(r"^## (.+)$", README, re.M) == SECTIONS


def test_two_commands_set_up() -> None:
    """One line installs and runs the main job, another installs and runs the tests."""
    install = README[README.index("## Install") : README.index("## Commands")]
    commands = re.findall(r"^    (\S.*)$", install, re.M)
    assert len(commands) == 2
    assert "launch samples/" in commands[0]
    assert "--expect" in commands[0]
    assert "pytest" in commands[1]


def test_every_exit_code_is_listed() -> None:
    """The table of exit codes has each code that an error can have."""
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.M)}
    assert listed == {0, 2} | {kind.exit_code for kind in _kinds(errors.TeenycudaError)}


def _kinds(kind: type[errors.TeenycudaError]) -> set[type[errors.TeenycudaError]]:
    return {kind}.union(*(_kinds(child) for child in kind.__subclasses__()))


def test_supported_instructions_are_those_of_the_table() -> None:
    """The list in the README and the page in docs/ are what the opcode table gives."""
    assert summary() in README
    assert (ROOT / "docs" / "supported-ptx.md").read_text() == page(counts())


def test_functions_of_expressions_are_those_that_there_are() -> None:
    """The README lists what an expression may call."""
    listed = re.search(r"^```text\n(abs .*?)^```$", README, re.M | re.S)
    assert listed
    assert listed[1].split() == sorted(FUNCTIONS)


@pytest.mark.parametrize(
    "words",
    [
        ["inspect", "samples/saxpy.ptx"],
        ["strip", "samples/saxpy.ptx"],
        ["load", "samples/saxpy.ptx", "--device", "cpu"],
        ["launch", "samples/hello.ptx", "--device", "cpu", "--grid", "1", "--block", "1", "--arg", "1"],
        ["devices"],
    ],
    ids=lambda words: words[0],
)
def test_keys_of_documents(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Each document has the keys that its row lists, in order, and those that every document has."""
    assert run([words[0], *(str(ROOT / word) if "/" in word else word for word in words[1:]), "--json"]) == 0
    keys = list(json.loads(capsys.readouterr().out))
    row = re.search(rf"^\| `{words[0]}` \| ([^:;,\n]*)", README[README.index("| document |") :], re.M)
    assert row
    listed = [key.removesuffix("[]") for key in re.findall(r"`([a-z_\[\]]+)`", row[1])]
    assert keys == ["schema", *listed, "error", "exit_code"]


def test_every_folder_is_named() -> None:
    """How it is built: each package has its line."""
    section = README[README.index("## How it is built") : README.index("## Developing")]
    for folder in (path.parent.name for path in (ROOT / "teenycuda_cli").glob("*/__init__.py")):
        assert f"{folder}/" in section


def _smoke(folder: Path) -> subprocess.CompletedProcess[str]:
    script = re.search(r"^```sh\n(.*?)^```$", README, re.M | re.S)
    assert script
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", script[1]],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_smoke_script(tmp_path: Path) -> None:
    """The script for CI jobs passes as it stands, and fails for a kernel that computes something else."""
    samples = tmp_path / "samples"
    samples.mkdir()
    good = (ROOT / "samples" / "axpy.ptx").read_text()
    (samples / "axpy.ptx").write_text(good)
    assert _smoke(tmp_path).stdout.endswith("\nthe kernel is right\n")
    (samples / "axpy.ptx").write_text(good.replace("mul.rn.f32", "add.rn.f32"))
    done = _smoke(tmp_path)
    assert done.returncode == 1
    assert "the kernel computes something else" in done.stdout
