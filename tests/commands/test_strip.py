"""`teenycuda strip`, through the command line."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from teenycuda_cli.cli import run

CORPUS = Path(__file__).parents[1] / "corpus"
TRITON = CORPUS / "triton" / "softmax.sm90.ptx"
DEBUG = CORPUS / "nvcc" / "kernels.debug.ptx"


def test_to_standard_output() -> None:
    """The text goes to standard output, what went to standard error."""
    result = subprocess.run(
        [sys.executable, "-m", "teenycuda_cli", "strip", str(TRITON)], capture_output=True, check=True
    )
    assert b".loc" not in result.stdout
    assert b"// meta:name=softmax" in result.stdout
    assert b"49 .loc, 2 .file, .debug_abbrev" in result.stderr


def test_from_standard_input(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-` is standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TRITON.read_bytes())))
    assert run(["strip", "-"]) == 0
    assert b"<stdin>: removed" in capfdbinary.readouterr().err


def test_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`-o` writes a file whole; naming the input writes over it, and keeps its permissions."""
    path = tmp_path / "k.ptx"
    path.write_bytes(TRITON.read_bytes())
    path.chmod(0o640)
    out = tmp_path / "out.ptx"
    assert run(["strip", str(path), "-o", str(out)]) == 0
    assert path.read_bytes() == TRITON.read_bytes()
    assert run(["strip", str(path), "-o", str(path)]) == 0
    assert path.read_bytes() == out.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["k.ptx", "out.ptx"]
    capsys.readouterr()
    assert run(["strip", str(out)]) == 0
    assert "nothing to remove" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--keep-lineinfo"]], ids=["all", "keep-lineinfo"])
def test_verify(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--verify` assembles both sides and finds the same machine code."""
    out = tmp_path / "out.ptx"
    assert run(["strip", str(DEBUG), "-o", str(out), "--verify", "--json", *words]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "teenycuda.strip/1"
    assert document["verified"]["compared"] is True
    assert document["verified"]["same"] is True
    assert document["removed"]["target_debug"] is True
    assert document["bytes_after"] == out.stat().st_size


def test_verify_where_the_original_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What assembles only once stripped is verified to assemble."""
    out = tmp_path / "out.ptx"
    assert run(["strip", str(CORPUS / "rust" / "axpy.debug.ptx"), "-o", str(out), "--verify"]) == 0
    assert "does not assemble" in capsys.readouterr().err


def test_verify_bad_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Code that does not assemble fails with the line of the user's file, and nothing is written."""
    path, out = tmp_path / "k.ptx", tmp_path / "out.ptx"
    path.write_text('.version 8.0\n.target sm_90\n.file 1 "a"\n.entry k() {\n.loc 1 1 1\nadd.foo %r1;\n}\n')
    assert run(["strip", str(path), "-o", str(out), "--verify"]) == 3
    assert f"{path}:6" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"garbage", "no PTX"),
        (b"\x7fELF\x02", "machine code"),
        (b".version 8.0\n.target sm_90\n/* x", "never ends"),
        (b".version 8.0\n.target sm_90\n.global .b32 \xe9;", "no ASCII"),
    ],
)
def test_bad_input(data: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad input is told with exit code 3, and leaves the output as it was."""
    path, out = tmp_path / "k.ptx", tmp_path / "out.ptx"
    path.write_bytes(data)
    out.write_text("old")
    assert run(["strip", str(path), "-o", str(out)]) == 3
    assert words in capsys.readouterr().err
    assert out.read_text() == "old"
    assert run(["strip", str(path), "-o", str(out), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["exit_code"] == 3


@pytest.mark.parametrize("path", ["missing.ptx", "", ".", "/dev/zero"])
def test_unreadable(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be read is a file error with its name."""
    assert run(["strip", path, "-o", str(tmp_path / "out.ptx")]) == 3
    assert "error:" in capsys.readouterr().err
    assert not os.listdir(tmp_path)


def test_unwritable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be written is a file error, and leaves nothing behind."""
    for out in (tmp_path, tmp_path / "none" / "out.ptx"):
        assert run(["strip", str(TRITON), "-o", str(out)]) == 3
    assert "error:" in capsys.readouterr().err
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x1f\x8b\x08" + bytes(9), "gzip"),
        (".version 8.0\n".encode("utf-16"), "UTF-16"),
        (b"\n", "is empty"),
        (b"\x7fELF" + bytes(60), "machine code"),
        (b"hello\n", "a PTX file begins with .version"),
    ],
)
def test_what_is_no_ptx(data: bytes, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told what the file is, as the other commands tell it."""
    file = tmp_path / "kernel.ptx"
    file.write_bytes(data)
    assert run(["strip", str(file)]) == 3
    assert says in capsys.readouterr().err
