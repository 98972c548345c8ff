"""Control characters in names and values, which must not reach a terminal as such."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from teenycuda_cli.cli import run
from tests.commands.launch_kernels import HEADER, SCALE

BINARY = Path(__file__).parent / "binary"
ESCAPE = "\x1b[31m"
NAME = f"a{ESCAPE}\x07\nb\x7f\u202e.ptx"
SHOWN = r"a\x1b[31m\x07\nb\x7f\u202e.ptx"
ARGUMENTS = ["x=ptr:256xf32=ones", "y=ptr:256xf32", "2.5", "256"]
LAUNCH = [
    *("launch", NAME, "--device", "cpu", "--grid", "4", "--block", "64"),
    *(word for text in ARGUMENTS for word in ("--arg", text)),
]

COMMANDS: dict[str, tuple[list[str], int]] = {
    "inspect": (["inspect", NAME], 0),
    "inspect two": (["inspect", NAME, f"no{NAME}"], 3),
    "inspect another entry": (["inspect", NAME, "--entry", ESCAPE], 2),
    "inspect without metadata": (["inspect", NAME, "--meta", f"no{NAME}"], 3),
    "inspect a cubin": (["inspect", "named.cubin"], 0),
    "strip": (["strip", NAME, "-o", "out.ptx"], 0),
    "strip to nowhere": (["strip", NAME, "-o", f"no/{NAME}"], 3),
    "load": (["load", NAME, "--arch", "sm_90"], 0),
    "load for no architecture": (["load", NAME, "--arch", ESCAPE], 2),
    "load on the emulator": (["load", NAME, "--device", "cpu"], 0),
    "load a cubin": (["load", "named.cubin", "--arch", "sm_90a"], 0),
    "launch": (LAUNCH, 0),
    "launch without arguments": (["launch", NAME], 2),
    "launch a cubin": (["launch", "named.cubin", "--device", "cpu"], 5),
    "signature of a cubin": (["launch", "named.cubin", "--device", "cuda:9", "--dry-run"], 2),
    "dry run": ([*LAUNCH, "--dry-run"], 0),
    "dry run of a cubin": (
        [
            *("launch", "named.cubin", "--device", "cuda:9", "--dry-run", "--grid", "1", "--block", "1"),
            *("--arg", "ptr:null", "--arg", "ptr:null", "--arg", "i32:1"),
        ],
        0,
    ),
    "save": ([*LAUNCH, "--save", f"y={NAME}.npy"], 0),
    "save nowhere": ([*LAUNCH, "--save", f"y=no/{NAME}.npy"], 3),
    "expect": ([*LAUNCH, "--expect", "y=where(x\x0c>0,2.5,0)"], 0),
    "expect a file": ([*LAUNCH, "--expect", f"y=@{NAME}.npy"], 3),
    "expect in vain": ([*LAUNCH, "--expect", "y=x\x0c"], 1),
    "expect nonsense": ([*LAUNCH, "--expect", f"y={ESCAPE}"], 2),
    "no argument": ([*LAUNCH, "--arg", ESCAPE], 2),
    "no buffer": ([*LAUNCH, "--show", ESCAPE], 2),
    "no tolerance": ([*LAUNCH, "--expect", "y=x", "--tol", ESCAPE], 2),
    "no device": ([*LAUNCH, "--device", ESCAPE], 2),
    "no number": ([*LAUNCH, "--seed", ESCAPE], 2),
    "no command": ([ESCAPE], 2),
    "no option": (["inspect", f"--{ESCAPE}"], 2),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with escapes in its name and its metadata, and a cubin with one in a kernel's name."""
    monkeypatch.chdir(tmp_path)
    meta = f"// meta:name=scale\n// meta:shared={ESCAPE}\n// meta:num_warps=x\x07y\n"
    Path(NAME).write_text(meta + HEADER + SCALE)
    cubin = (BINARY / "add.sm90a.cubin").read_bytes()
    Path("named.cubin").write_bytes(cubin.replace(b"add\0", b"a\x1bd\0").replace(b".add", b".a\x1bd"))


@pytest.mark.parametrize("name", COMMANDS)
def test_people_see_escapes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a command shows, on both streams: text alone, in which lines end where ours end."""
    words, code = COMMANDS[name]
    assert run(words) == code
    out, err = capsys.readouterr()
    assert all(character.isprintable() or character in "\n\t" for character in out + err), out + err
    if NAME in words:
        assert "\nb" not in out + err


def test_a_name_is_shown_with_its_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    """As Python writes them."""
    assert run(["inspect", NAME]) == 0
    assert capsys.readouterr().out.startswith(f"{SHOWN}: PTX 8.0")
    assert run(["inspect", f"no{NAME}"]) == 3
    assert capsys.readouterr().err.startswith(f"no{SHOWN}: error: ")


@pytest.mark.parametrize("name", [name for name in COMMANDS if not name.startswith("no ")])
def test_documents_have_names_as_they_are(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has escapes of its own, so that a script finds the name that it gave."""
    words, code = COMMANDS[name]
    assert run([*words, "--json"]) == code
    out = capsys.readouterr().out
    assert out.isascii()
    assert "\x1b" not in out
    document = json.loads(out)
    if name == "inspect":
        assert document["files"][0]["path"] == NAME
        assert "x\x07y" in document["files"][0]["warnings"][0]


def test_on_a_terminal_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Colour is ours alone."""
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
    monkeypatch.setitem(os.environ, "TERM", "xterm")
    for words in (["inspect", NAME], ["inspect", "named.cubin"], [*LAUNCH, "--save", f"y={NAME}.npy"]):
        assert run(words) == 0
        out, err = capsys.readouterr()
        assert ESCAPE not in out + err
        assert "\x07" not in out + err
    assert run(["load", "named.cubin", "--arch", "sm_90a"]) == 0
    assert r"a\x1bd" in capsys.readouterr().out
