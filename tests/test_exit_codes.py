"""The contract of exit codes: what scripts rely on, with and without `--json`."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from teenycuda_cli.cli import run
from tests.gpus import gpu_count

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "corpus"
SPIN = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry spin() { again: bra again; }\n"
ADD = "launch samples/vector_add.ptx --device cpu --grid 1 --arg x=ptr:9xf32=ones --arg y=ptr:9xf32=ones "
SAXPY = "launch samples/saxpy.ptx --device cpu --grid 1 --block 32 --arg n=9 --arg a=2 "
ERROR_KEYS = ["kind", "message", "file", "line", "column", "hint", "context", "unsupported"]


@dataclass(frozen=True)
class Case:
    """A command line, how it must end, and what its message must say."""

    name: str
    command: str
    code: int
    kind: str = ""
    says: str = ""


CASES = (
    Case("inspect", "inspect samples/saxpy.ptx", 0),
    Case("strip", "strip samples/axpy.ptx -o out.ptx", 0),
    Case("load", "load samples/saxpy.ptx --arch sm_90", 0),
    Case("launch", ADD + "--arg out=ptr:9xf32 --arg n=9 --expect out=2", 0),
    Case("devices", "devices", 0),
    Case("mismatch", ADD + "--arg out=ptr:9xf32 --arg n=8 --expect out=x+y", 1),
    Case("unknown option", "inspect samples/saxpy.ptx --colour", 2, "usage", "--colour"),
    Case("unknown kernel", "inspect samples/saxpy.ptx --entry daxpy", 2, "usage", "daxpy"),
    Case("no arguments", "launch samples/vector_add.ptx", 2, "usage", "vector_add"),
    Case("too few arguments", ADD, 2, "usage", "vector_add_param_2"),
    Case("too many arguments", ADD + "--arg out=ptr:9xf32" + " --arg n=9" * 5, 2, "usage"),
    Case("an argument that does not fit", ADD + "--arg out=ptr:9xf32 --arg n=i64:5000000000", 2, "usage"),
    Case("a type that is none", ADD + "--arg out=ptr:9xf31 --arg n=9", 2, "usage", "f31"),
    Case(
        "no grid", SAXPY.replace("--grid 1", "") + "--arg x=ptr:9xf32 --arg y=ptr:9xf32", 2, "usage", "grid"
    ),
    Case("no block", SAXPY.replace("--block 32", "") + "--arg x=ptr:9xf32 --arg y=ptr:9xf32", 2, "usage"),
    Case(
        "a grid too large", ADD.replace("--grid 1", "--grid 1,70000") + "--arg ptr:9xf32 --arg 9", 2, "usage"
    ),
    Case("an expression too clever", ADD + "--arg out=ptr:9xf32 --arg n=9 --expect out=x.__class__", 2),
    Case("no file", "inspect nothing.ptx", 3, "file", "nothing.ptx"),
    Case("no PTX", "inspect samples/README.md", 3),
    Case("bad syntax", "inspect tests/corpus/grammar/18c_trailing_comma.ptx", 3, "syntax", ":5:"),
    Case("bad code", "load tests/corpus/grammar/13g_wgmma_plain90.ptx --arch sm_90", 3, "", ":7:"),
    Case("out of bounds", SAXPY + "--arg x=ptr:9xf32 --arg y=ptr:8xf32", 4, "launch", "y"),
    Case("null", SAXPY + "--arg x=ptr:9xf32 --arg y=ptr:null", 4, "launch"),
    Case(
        "unsupported",
        "launch tests/corpus/triton/matmul_f16.sm100.ptx --device cpu --grid 1",
        5,
        "unsupported",
    ),
    Case("timeout", "launch spin.ptx --device cpu --grid 1 --block 32 --timeout 0.3", 6, "timeout"),
)
MATMUL = (
    "--arg a=ptr:64x64xf16=ones --arg b=ptr:64x64xf16=ones --arg c=ptr:64x64xf16 --arg 64 --arg 64 --arg 64"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the samples and the corpus, in which commands run."""
    (tmp_path / "spin.ptx").write_text(SPIN)
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "corpus").symlink_to(CORPUS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _words(case: Case) -> list[str]:
    return (case.command + (f" {MATMUL}" if "matmul_f16" in case.command else "")).split()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_exit_code(case: Case, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command ends with its code, says why on standard error, and leaves its inputs as they were."""
    before = {path: path.read_bytes() for path in (folder / "samples").iterdir()}
    assert run(_words(case)) == case.code
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    assert case.says in printed.err
    if case.code > 1:
        assert printed.out == ""
        assert printed.err
    assert {path: path.read_bytes() for path in (folder / "samples").iterdir()} == before


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.usefixtures("folder")
def test_exit_code_in_json(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--json` there is exactly one document, which holds the same code, and the error's parts."""
    assert run([*_words(case), "--json"]) == case.code
    document = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == case.code
    assert document["schema"] == f"teenycuda.{case.command.split()[0]}/1"
    if case.kind:
        assert document["error"]["kind"] == case.kind
        assert list(document["error"]) == ERROR_KEYS


@pytest.mark.skipif(gpu_count() > 0, reason="there is a GPU")
def test_a_device_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """A GPU asked for by name where there is none ends with 77."""
    words = ADD.replace("--device cpu", "--device cuda:0") + "--arg out=ptr:9xf32 --arg n=9"
    words = words.replace("samples/", f"{ROOT}/samples/")
    assert run(words.split()) == 77
    assert capsys.readouterr().err.startswith("error: ")
