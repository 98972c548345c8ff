"""`teenycuda inspect`, through the command line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from teenycuda_cli.cli import run
from tests.work import calls

TESTS = Path(__file__).parents[1]
CORPUS = TESTS / "corpus"
VECTOR_ADD = CORPUS / "triton" / "vector_add.sm90.ptx"
HEAD = ".version 8.7\n.target sm_90\n.address_size 64\n"

FILE_KEYS = {
    "path",
    "kind",
    "ptx_version",
    "target",
    "address_size",
    "debug",
    "kernels",
    "functions",
    "globals",
    "warnings",
}
KERNEL_KEYS = {
    "name", "linkage", "line", "params", "reqntid", "maxntid", "minnctapersm", "maxnreg", "cluster",
    "static_shared",
    "extern_shared", "threads_per_block", "metadata",
}  # fmt: skip
METADATA_KEYS = {
    "name", "num_warps", "num_ctas", "shared", "tmem_size", "global_scratch_size", "global_scratch_align",
    "profile_scratch_size", "profile_scratch_align",
}  # fmt: skip


def inspect(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """The document of an inspect, whose exit code must be its own."""
    code = run(["inspect", "--json", *words])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == code
    assert document["schema"] == "teenycuda.inspect/1"
    return document


def test_every_key_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """The document has every key of the contract, for PTX, a cubin and a fatbin alike."""
    words = [
        str(VECTOR_ADD),
        *(str(TESTS / "binary" / name) for name in ("add.sm90a.cubin", "add.zstd.fatbin")),
    ]
    document = inspect(capsys, *words)
    assert [file["kind"] for file in document["files"]] == ["ptx", "cubin", "fatbin"]
    for file in document["files"]:
        assert file.keys() >= FILE_KEYS
        assert file["kernels"]
        for kernel in file["kernels"]:
            assert kernel.keys() == KERNEL_KEYS
            assert kernel["metadata"].keys() == METADATA_KEYS
            for parameter in kernel["params"]:
                assert parameter.keys() == {
                    "index",
                    "name",
                    "type",
                    "size",
                    "align",
                    "offset",
                    "pointer",
                    "role",
                }


def test_triton_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a Triton kernel: target, debug information, parameters with roles, metadata with sources."""
    (file,) = inspect(capsys, str(VECTOR_ADD))["files"]
    assert (file["ptx_version"], file["target"], file["address_size"]) == ("8.7", ["sm_90a"], 64)
    assert file["debug"] == {
        "target": False,
        "sections": [".debug_abbrev", ".debug_info", ".debug_macinfo"],
        "files": 1,
        "locs": 15,
    }
    (kernel,) = file["kernels"]
    assert (kernel["name"], kernel["linkage"], kernel["line"]) == ("vector_add", "visible", 11)
    assert [p["role"] for p in kernel["params"]] == ["user"] * 4 + ["global_scratch", "profile_scratch"]
    assert [(p["type"], p["size"], p["offset"]) for p in kernel["params"]][2:5] == [
        ("u64", 8, 16),
        ("u32", 4, 24),
        ("u64", 8, 32),
    ]
    assert kernel["params"][0]["pointer"] == {"space": "global", "align": 1}
    assert (kernel["reqntid"], kernel["threads_per_block"]) == ([128], 128)
    assert kernel["metadata"]["num_warps"] == {"value": 4, "source": "meta"}
    assert file["warnings"] == []


def test_shared_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Static shared memory is what a kernel declares or uses, also through a function; extern is apart."""
    path = tmp_path / "k.ptx"
    path.write_text(
        f"{HEAD}.shared .align 16 .b8 big[100];\n.extern .shared .b8 dyn[];\n.shared .b32 unused;\n"
        ".func helper() { .shared .b64 own; ret; }\n"
        ".entry a() { .reg .b32 r; .shared .b8 x[3]; // .shared .b8 no[999];\n mov.u32 r, big; ret; }\n"
        ".entry b() { .reg .b32 r; mov.u32 r, dyn; ld .shared .b32 r, [big_not]; ret; }\n"
        ".entry c() { call helper; ret; }\n"
    )
    (file,) = inspect(capsys, str(path))["files"]
    assert [(k["static_shared"], k["extern_shared"]) for k in file["kernels"]] == [
        (103, False),
        (0, True),
        (8, False),
    ]
    assert [(v["name"], v["space"], v["size"], v["line"]) for v in file["globals"]] == [
        ("big", "shared", 100, 4),
        ("dyn", "shared", None, 5),
        ("unused", "shared", 4, 6),
    ]
    assert [(f["name"], f["line"], f["defined"]) for f in file["functions"]] == [("helper", 7, True)]


@pytest.mark.parametrize(
    ("body", "size"),
    [
        (".loc 1 3 0\n.shared .b8 s[5];", 5),
        (".loc 1 3 0 // a; b\n// {\n.loc 1 4 0\n\n.shared .b8 s[5];", 5),
        (".loc 1 3 0, function_name L, inlined_at 1 9 5\n.shared .b8 s[5];", 5),
        (".loc 1 3 0 , function_name L + 16 ,\ninlined_at 1 9 5 .shared .b8 s[5];", 5),
        (".reg .b32 r; .shared .b8 s[5]; .shared .b8 t[6], u[7];", 18),
        ("L: .shared .b8 s[5];", 5),
        ("L:\n.loc 1 3 0\n.shared .b8 s[5];", 5),
        ("{ .shared .b8 s[5]; { .loc 1 3 0\n.shared .b8 t[6]; } .shared .b8 u[7]; } .shared .b8 v[8];", 26),
        ('.pragma "nounroll; .shared .b8 no[9]; {"; .shared .b8 s[5];', 5),
        ("/* { */ .shared /* ; */ .b8 s[5]; /* ; .shared .b8 no[9]; */ // ; .shared .b8 no[9];", 5),
        ('\n# 7 "k.cu"\n.loc 1 3 0\n# 8 "k.cu"\n.shared .b8 s[5];', 5),
        (".reg .b32 r; .loc 1 3 0\nld .shared .b32 r, [r]; mov.b32 r, 0 /.shared/1;", 0),
        ("L: .callprototype _ (.param .b64 .ptr .shared .align 4 p); .shared .b8 s[5];", 5),
    ],
)
def test_shared_memory_declared_in_a_body(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str, size: int
) -> None:
    """A declaration counts wherever a statement may begin, and nothing that only looks like one."""
    path = tmp_path / "k.ptx"
    path.write_text(f"{HEAD}.entry k()\n{{\n{body}\n ret; }}\n")
    (file,) = inspect(capsys, str(path))["files"]
    assert [kernel["static_shared"] for kernel in file["kernels"]] == [size]


def test_one_entry(capsys: pytest.CaptureFixture[str]) -> None:
    """`--entry` shows one kernel; one that is not there is a usage error with the names that are."""
    path = str(CORPUS / "nvcc" / "kernels.sm90.ptx")
    (file,) = inspect(capsys, path, "--entry", "saxpy")["files"]
    assert [kernel["name"] for kernel in file["kernels"]] == ["saxpy"]
    assert run(["inspect", path, "--entry", "nope"]) == 2
    assert "saxpy" in capsys.readouterr().err


def test_named_metadata(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--meta` reads the JSON file that the user names; one that is none is a file error."""
    meta = tmp_path / "meta.json"
    meta.write_text('{"num_warps": 8, "shared": 64}')
    path = str(CORPUS / "rust" / "axpy.ptx")
    (file,) = inspect(capsys, path, "--meta", str(meta))["files"]
    metadata = file["kernels"][0]["metadata"]
    assert metadata["num_warps"] == {"value": 8, "source": "sidecar"}
    assert metadata["tmem_size"] == {"value": 0, "source": "default"}
    meta.write_text("{")
    assert inspect(capsys, path, "--meta", str(meta))["error"]["kind"] == "file"


def test_triton_without_its_block(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON file that Triton leaves beside a PTX file serves where the text has no metadata."""
    text = VECTOR_ADD.read_text().replace("// meta:", "// nothing:")
    (tmp_path / "k.ptx").write_text(text)
    (tmp_path / "k.json").write_text(VECTOR_ADD.with_suffix(".json").read_text())
    (file,) = inspect(capsys, str(tmp_path / "k.ptx"))["files"]
    assert {s["source"] for s in file["kernels"][0]["metadata"].values()} == {"sidecar"}


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(VECTOR_ADD.read_bytes())))
    (file,) = inspect(capsys, "-")["files"]
    assert file["kernels"][0]["name"] == "vector_add"


def test_a_bad_file_among_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With one bad file among several the others are shown, and the end is 3, with what was wrong."""
    bad = tmp_path / "bad.ptx"
    bad.write_text(HEAD + ".global .u32 a%b;\n")
    document = inspect(capsys, str(VECTOR_ADD), str(bad), str(tmp_path / "none.ptx"))
    assert document["exit_code"] == 3
    first, second, third = document["files"]
    assert (first["error"], first["kernels"][0]["name"]) == (None, "vector_add")
    assert (second["error"]["kind"], second["error"]["line"], second["error"]["column"]) == ("syntax", 4, 15)
    assert (third["error"]["kind"], third["kernels"]) == ("file", [])
    assert run(["inspect", str(VECTOR_ADD), str(bad)]) == 3
    shown = capsys.readouterr()
    assert "vector_add" in shown.out
    assert f"{bad}:4:15: error: " in shown.err


def test_many_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of hundreds of kernels gives one document too."""
    path = tmp_path / "many.ptx"
    path.write_text(HEAD + "".join(f".entry k{index}(.param .u32 n) {{ ret; }}\n" for index in range(300)))
    (file,) = inspect(capsys, str(path))["files"]
    assert [kernel["line"] for kernel in file["kernels"]] == list(range(4, 304))


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        (lambda text: "\ufeff" + text, "byte-order mark"),
        (lambda text: text + "// déjà\n", "ASCII"),
        (lambda text: text + "\0", "NUL"),
        (lambda text: text.replace("8.7", "7.0"), "does not know"),
        (lambda text: text.replace("sm_90", "sm_90, debug"), "debug"),
    ],
)
def test_what_only_the_driver_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Any, warning: str
) -> None:
    """What the driver would refuse, but can be read, is a warning that says where and what to do."""
    path = tmp_path / "k.ptx"
    path.write_bytes(change(HEAD + ".entry k() { ret; }\n").encode())
    (file,) = inspect(capsys, str(path))["files"]
    assert any(warning in text for text in file["warnings"])
    assert file["kernels"][0]["name"] == "k"


def test_text_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """For people: file, kernel, layout and hidden parameters, in plain text where there is no terminal."""
    assert run(["inspect", str(VECTOR_ADD)]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    for words in ("PTX 8.7 for sm_90a, 64-bit", "kernel vector_add", "128 threads", "hidden: global scratch"):
        assert words in shown


def test_start_up_is_light() -> None:
    """Neither numpy, CUDA nor rich is imported for `inspect --json`, for plain text, or for `strip`."""
    program = (
        "import sys; from teenycuda_cli.cli import run; run(sys.argv[1:]);"
        "heavy = {'numpy', 'cuda', 'rich'} & {name.split('.')[0] for name in sys.modules};"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    for words in (["inspect", "--json"], ["inspect"], ["strip"]):
        result = subprocess.run(
            [sys.executable, "-c", program, *words, str(VECTOR_ADD)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr


def test_thousands_of_parameters_are_no_burden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table takes work in proportion to its rows, not to their square."""
    path = tmp_path / "k.ptx"
    names = ", ".join(f".param .u64 p{index}" for index in range(5000))
    path.write_text(f"{HEAD}.entry k({names}) {{ ret; }}\n")
    assert calls(lambda: run(["inspect", str(path)])) < 300 * 5000
    assert capsys.readouterr().out.count("\n") > 5000
