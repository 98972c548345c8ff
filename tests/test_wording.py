"""Counts in messages: one of a thing is no plural."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from teenycuda_cli.cli import run
from tests.commands.launch_kernels import HEADER, SCALE

SMALL = """
.shared .b8 little[1];
.global .b8 one;
.visible .entry k(.param .u64 p, .param .u8 n) .reqntid 1
{ .reg .b64 %d; .reg .b16 %h; ld.param.u64 %d, [p]; mov.u64 %d, little; ld.shared.u8 %h, [little]; ret; }
"""
NAMES = ".visible .entry a() .maxntid 1 .reqnctapercluster 1 .maxclusterrank 1 { ret; }\n"
NOT_ASCII = "// é"
ONE = (
    "launch scale.ptx --device cpu --grid 1 --block 1"
    " --arg x=ptr:1xf32=ones --arg y=ptr:1xf32 --arg 2.5 --arg 1"
)
PLURALS = "bytes|elements|kernels|blocks|threads|warps|values|arguments|ones|launches|sections|digits|are"

COMMANDS = {
    "inspect": "inspect small.ptx",
    "limits": "inspect names.ptx",
    "metadata": "inspect meta.ptx",
    "strip": "strip letter.ptx -o out.ptx",
    "zero": "load zero.ptx --arch sm_90",
    "signature": "launch small.ptx",
    "too many arguments": "launch names.ptx --arg 1",
    "expect": f"{ONE} --expect y=2.5",
    "mismatch": f"{ONE} --expect y=3",
    "untouched": f"{ONE.replace('--arg 1', '--arg 0')} --expect y=0",
    "dynamic": f"{ONE} --shared 1 --dry-run",
    "out of bounds": f"{ONE.replace('x=ptr:1xf32', 'x=ptr:1xu8')}",
    "bench": f"{ONE} --bench-seconds 0.01",
    "list": f"{ONE.replace('1xf32=ones', '1xf32=1,2')}",
    "byte": "launch small.ptx --device cpu --grid 1 --arg bytes:01 --arg 1",
    "digit": "launch small.ptx --device cpu --grid 1 --arg ptr:null --arg bytes:1",
    "pointer": "launch small.ptx --device cpu --grid 1 --arg ptr:1 --arg 1",
    "alias": f"{ONE.replace('1xf32=ones', '1xu8').replace('y=ptr:1xf32', 'y=ptr:x+1')}",
    "file": f"{ONE.replace('x=ptr:1xf32=ones', 'x=ptr:1xf32@letter')}",
    "function": f"{ONE} --expect y=exp(x,x)",
    "block": "launch small.ptx --device cpu --grid 1 --block 2 --arg ptr:null --arg 1",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_one_is_no_plural(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever a command counts, its word agrees with the number."""
    monkeypatch.chdir(tmp_path)
    Path("scale.ptx").write_text(HEADER + SCALE)
    Path("small.ptx").write_text(HEADER + SMALL)
    Path("names.ptx").write_text(HEADER.replace("80", "90") + NAMES)
    Path("meta.ptx").write_text(
        "// meta:num_warps=1\n// meta:shared=1\n// meta:num_ctas=1\n" + HEADER + SMALL
    )
    Path("letter.ptx").write_bytes((HEADER + NOT_ASCII).encode("latin-1") + SMALL.encode())
    Path("zero.ptx").write_text(HEADER + SMALL + "\0x")
    Path("letter").write_text("x")
    run(COMMANDS[name].split())
    told = "".join(capsys.readouterr())
    assert re.search(r"\b1 ", told), told
    assert not re.findall(rf"(?<![\d.,-])1 (?:\w+ )?(?:{PLURALS})\b", told), told


def test_the_numbers_agree_with_the_verbs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One element differs, two differ."""
    path = tmp_path / "scale.ptx"
    path.write_text(HEADER + SCALE)
    command = ["launch", str(path), "--device", "cpu", "--grid", "1", "--block", "2"]
    arguments = ["--arg", "x=ptr:2xf32=ones", "--arg", "y=ptr:2xf32", "--arg", "2.5", "--arg", "2"]
    for expected, words in (("2.5,1", "1 of 2 elements differs"), ("1,1", "2 of 2 elements differ ")):
        assert run([*command, *arguments, "--expect", f"y={expected}"]) == 1
        assert words in capsys.readouterr().out
    assert run([*command, *arguments[:-1], "1", "--expect", "y=2.5"]) == 1
    assert "1 element was never written" in capsys.readouterr().out
