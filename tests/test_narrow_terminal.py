"""On a terminal of 80 columns tables keep their shape."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.transcripts import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")


def on_terminal(*words: str) -> list[str]:
    """The lines that a command prints on a terminal of 80 columns, without colour."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "NO_COLOR"}}
    subprocess.run(
        [sys.executable, "-m", "teenycuda_cli", *words],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=environment | {"TERM": "xterm"},
        check=True,
    )
    os.close(theirs)
    printed = os.read(ours, 65536).decode()
    os.close(ours)
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", printed).splitlines()]


def test_parameters_of_triton() -> None:
    """A parameter is one line: the kernel's name goes from the parameters' before anything is broken."""
    lines = on_terminal("inspect", str(ROOT / "samples" / "softmax.ptx"))
    rows = [line for line in lines if "_param_" in line or "…param_" in line]
    assert rows[5] == "  5      32     8  .u64 .ptr .global .align 1  …param_5  hidden: profile scratch"
    assert max(map(len, lines)) <= 80


def test_kernels_with_long_names(tmp_path: Path) -> None:
    """`load` puts names above their numbers where both do not fit a line."""
    pytest.importorskip("cuda.bindings.nvjitlink")
    name = "_Z" + "long" * 10
    path = tmp_path / "k.ptx"
    path.write_text(f".version 7.0\n.target sm_75\n.address_size 64\n.entry {name}() {{ ret; }}\n")
    lines = on_terminal("load", str(path), "--arch", "sm_90")
    assert lines[1] == "kernel"
    assert lines[2].split()[:2] == ["registers", "stack"]
    assert lines[3] == name
    assert len(lines[4].split()) >= len(lines[2].split())
    assert max(map(len, lines[1:])) <= 80


@pytest.mark.parametrize("shape", ["3x40", "40"])
def test_shown_values(shape: str) -> None:
    """`--show` takes fewer columns where eight do not fit."""
    lines = on_terminal(
        *("launch", str(ROOT / "samples" / "out_of_bounds.ptx"), "--device", "cpu", "--grid", "1"),
        *(
            "--block",
            "32",
            "--arg",
            f"x=ptr:{shape}xf32=rand:-0.0001:0",
            "--arg",
            "1",
            "--arg",
            "n=1",
            "--show",
            "x",
        ),
    )
    rows = lines[lines.index(f"x: {shape}xf32") + 1 :]
    assert 40 < max(map(len, rows)) <= 80
