"""Every file of the corpus through inspect, strip and load --arch, against what ptxas said of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from teenycuda_cli.cli import run

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(CORPUS.glob("*/*.ptx"))
VERDICTS = {
    name: (arch, verdict, reason)
    for name, arch, verdict, reason in re.findall(
        r"^(\S+) +\[(\w+)[^]]*\] (OK|REJECT) ?(.*)$", (CORPUS / "grammar" / "VERDICTS.txt").read_text(), re.M
    )
}

# What ptxas refuses, and a parser of module-level text must refuse too.
NO_PTX = {
    "06b_file_escaped_quote",
    "11b_prefix4",
    "12c_version_int",
    "17b_dotted_extern_shared",
    "17c_percent_inside",
    "18b_ptr_align_before_space",
    "18c_trailing_comma",
    "21b_param_bf16",
    "21c_param_u4",
    "21d_param_pred",
    "24d_reqntid_0",
    "25b_cluster_conflict",
    "33e_concat_modules",
}
# What ptxas refuses as it stands and takes once stripped: the fault is in debug information or stray bytes.
MENDED_BY_STRIP = {
    "01_dbg_dot_symbol",
    "02b_full_debug_O3",
    "03b_debug_flag_no_sections",
    "06c_file_in_body",
    "06d_empty_basename_crash",
    "07_label_diff_debug",
    "08_section_label_ptx60",
    "08b_section_neg_ptx60",
    "09_utf8_comment",
    "09b_latin1_string",
    "10_trailing_nul",
    "10b_mid_nul",
    "11_bom",
    "axpy.debug",
}


def _verdict(path: Path) -> str:
    return VERDICTS[path.stem][1] if path.stem in VERDICTS else "OK"


def _arch(path: Path) -> str:
    if path.stem in VERDICTS:
        return VERDICTS[path.stem][0]
    target = re.search(rb"^\.target (\w+)", path.read_bytes(), re.M)
    assert target
    return target[1].decode()


def _json(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = run([*words, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == code
    return code, document


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


readable = pytest.mark.parametrize("path", [path for path in FILES if path.stem not in NO_PTX], ids=_name)


def test_the_corpus_is_whole() -> None:
    """Each grammar file has its verdict, and the names that this file lists are there."""
    stems = {path.stem for path in FILES}
    assert {path.stem for path in FILES if path.parent.name == "grammar"} == VERDICTS.keys()
    assert stems >= NO_PTX | MENDED_BY_STRIP


@readable
def test_inspect_tells_what_it_is(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`inspect` reads whatever ptxas reads, and whatever fails for reasons other than its syntax."""
    code, document = _json(["inspect", str(path)], capsys)
    assert code == 0
    (file,) = document["files"]
    assert file["kind"] == "ptx"
    entries = set(
        re.findall(rb"^[ \t]*(?:\.\w+ )*\.entry\s+([\w$]+)", path.read_bytes().split(b"\0")[0], re.M)
    )
    assert {kernel["name"].encode() for kernel in file["kernels"]} == entries


@pytest.mark.parametrize("name", sorted(NO_PTX))
def test_inspect_refuses_what_is_no_ptx(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad syntax ends with 3 and the line that ptxas names."""
    code, document = _json(["inspect", str(CORPUS / "grammar" / f"{name}.ptx")], capsys)
    assert code == 3
    line = re.search(r"line (\d+);", VERDICTS[name][2])
    assert line
    assert document["error"]["line"] == int(line[1])
    assert document["error"]["message"]


@readable
def test_strip_keeps_the_code(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `strip` puts out has the same kernels and no debug information, and the same machine code."""
    before = path.read_bytes()
    _, whole = _json(["inspect", str(path)], capsys)
    out = tmp_path / "stripped.ptx"
    verify = ["--verify"] if _verdict(path) == "OK" and path.stem not in MENDED_BY_STRIP else []
    assert run(["strip", str(path), "-o", str(out), *verify]) == 0, capsys.readouterr().err
    capsys.readouterr()
    code, stripped = _json(["inspect", str(out)], capsys)
    assert code == 0
    debug = stripped["files"][0]["debug"]
    assert (debug["target"], debug["sections"], debug["files"], debug["locs"]) == (False, [], 0, 0)
    kernels = [
        [(kernel["name"], kernel["params"], kernel["reqntid"]) for kernel in document["files"][0]["kernels"]]
        for document in (whole, stripped)
    ]
    assert kernels[0] == kernels[1]
    assert path.read_bytes() == before


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_load_agrees_with_ptxas(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`load --arch` assembles what ptxas takes, as it stands or stripped, and refuses the rest with 3."""
    expected = 0 if path.stem in MENDED_BY_STRIP or _verdict(path) == "OK" else 3
    code, document = _json(["load", str(path), "--arch", _arch(path)], capsys)
    assert code == expected, document
    if expected == 0:
        assert document["ok"] is True
        assert all(kernel["registers"] for kernel in document["kernels"])
