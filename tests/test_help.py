"""The help: every command and every option explains itself, with an example; shells can complete."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from teenycuda_cli import __version__
from teenycuda_cli.cli import COMMANDS, group, run
from teenycuda_cli.driver.assembly.assembler import AssemblerMissing
from teenycuda_cli.errors import CheckFailed, TeenycudaError

PROGRAM = str(Path(sys.executable).with_name("teenycuda"))


def _command(name: str) -> click.Command:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command


def _help(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run([*words, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` says what a command does, and shows command lines to start from."""
    text = _help([name], capsys)
    assert text.startswith(f"Usage: teenycuda {name}")
    assert COMMANDS[name].split()[0].lower() in text.lower()
    examples = re.search(r"^  Examples?:\n((?:    .*\n|\n)+)", text, re.M)
    assert examples, text
    assert f"teenycuda {name}" in examples[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_use_options_that_exist(name: str) -> None:
    """An example in the help names no option that the command does not have."""
    command = _command(name)
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    text = (command.help or "").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith(f"teenycuda {name}")]
    assert lines
    for line in lines:
        words = {word.split("=")[0] for word in shlex.split(line) if re.match(r"--?[a-zA-Z]", word)}
        assert words <= known | {"--help"}, line


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_does(name: str) -> None:
    """No option is without its line of help."""
    options = [parameter for parameter in _command(name).params if isinstance(parameter, click.Option)]
    assert [option.name for option in options if not option.help and not option.hidden] == []


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_a_narrow_terminal(name: str) -> None:
    """No line of any help is wider than 80 columns."""
    words = [PROGRAM, *filter(None, [name]), "--help"]
    plain = os.environ | {"COLUMNS": "80"}
    done = subprocess.run(words, env=plain, capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []


def _all_errors(kind: type[TeenycudaError] = TeenycudaError) -> list[type[TeenycudaError]]:
    return [found for each in kind.__subclasses__() for found in (each, *_all_errors(each))]


def test_every_way_to_end_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """The help and the README have every exit code, and every key of a document's error."""
    readme = Path(__file__).parents[1].joinpath("README.md").read_text()
    told = " ".join(_help([], capsys).split())
    codes = told[told.index("Exit codes:") : told.index("With --json")]
    kinds = readme[readme.index("| `kind` |") :].split("\n", 1)[0]
    of_launch = " ".join(_help(["launch"], capsys).split())
    assert AssemblerMissing in _all_errors()
    for error in _all_errors():
        assert f" {error.exit_code} " in codes
        assert f" {error.exit_code} " in of_launch[of_launch.index("Exit codes:") :]
        assert f"| {error.exit_code} | " in readme
        assert f"`{error.kind}`" in readme
        if error.exit_code != CheckFailed.exit_code:
            assert re.search(rf"`{error.kind}`[^()]*\({error.exit_code}\)", kinds)
    for key in TeenycudaError("").document:
        assert re.search(rf"\b{key}\b", told)
        assert f"`{key}`" in readme


def test_the_group_lists_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """`teenycuda --help` lists each command with one line."""
    text = " ".join(_help([], capsys).split())
    for name, line in COMMANDS.items():
        assert f" {name} {line}" in text


@pytest.mark.parametrize("command", [[PROGRAM], [sys.executable, "-m", "teenycuda_cli"]])
def test_version(command: list[str]) -> None:
    """The installed command and `python -m teenycuda_cli` are the same program."""
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"teenycuda, version {__version__}\n"


def test_every_document_names_every_command() -> None:
    """The README has a section for each command."""
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    for name in COMMANDS:
        assert re.search(rf"^### `?{name}`?$", readme, re.M), name


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell: str) -> None:
    """The documented variable prints a completion script for each shell."""
    environment = os.environ | {"_TEENYCUDA_COMPLETE": f"{shell}_source"}
    done = subprocess.run([PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert "_TEENYCUDA_COMPLETE" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("teenycuda in", "plain,inspect"),
        ("teenycuda launch k.ptx --gr", "plain,--grid"),
        *((f"teenycuda {name} ker", "file,ker") for name in ("inspect", "strip", "load", "launch")),
        ("teenycuda strip k.ptx -o ker", "file,ker"),
        ("teenycuda launch k.ptx --device cu", "plain,cuda"),
        ("teenycuda load k.ptx --device cp", "plain,cpu"),
    ],
)
def test_completion_answers(line: str, answer: str) -> None:
    """Commands, options, file names and devices are completed."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    environment = os.environ | words | {"_TEENYCUDA_COMPLETE": "bash_complete"}
    done = subprocess.run([PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert answer in done.stdout.splitlines(), done.stderr
