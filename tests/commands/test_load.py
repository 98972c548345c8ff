"""`teenycuda load --arch`: what it prints, writes and returns, with no GPU."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from teenycuda_cli.binary import Cubin, read
from teenycuda_cli.cli import run
from tests.gpus import gpu_count

TESTS = Path(__file__).parent.parent
CORPUS = TESTS / "corpus"
GRAMMAR = CORPUS / "grammar"
VECTOR_ADD = str(CORPUS / "triton" / "vector_add.sm90.ptx")
KERNELS = str(CORPUS / "nvcc" / "kernels.sm90.ptx")
HEADER = ".version 8.4\n.target sm_90\n.address_size 64\n"

Load = Callable[..., tuple[int, str, str]]
LoadJson = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def load(capsys: pytest.CaptureFixture[str]) -> Load:
    """Run `load` with these words; exit code, standard output, standard error."""

    def call(*words: str | Path) -> tuple[int, str, str]:
        code = run(["load", *map(str, words)])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def load_json(load: Load) -> LoadJson:
    """Run `load --json`; exit code and document."""

    def call(*words: str | Path) -> tuple[int, dict[str, Any]]:
        code, out, _ = load(*words, "--json")
        document = json.loads(out)
        assert document["exit_code"] == code
        assert document["schema"] == "teenycuda.load/1"
        return code, document

    return call


@pytest.fixture
def ptx(tmp_path: Path) -> Callable[[str], Path]:
    """Write a module of this body, and give its path."""

    def write(body: str, header: str = HEADER) -> Path:
        path = tmp_path / "k.ptx"
        path.write_text(header + body)
        return path

    return write


# ------------------------------------------------------------------ what it tells


def test_the_table_names_what_each_entry_uses(load: Load) -> None:
    """In a pipe, one line an entry under one line of names, and nothing on standard error."""
    code, out, err = load(KERNELS, "--arch", "sm_90")
    assert (code, err) == (0, "")
    headline, names, *rows = out.splitlines()
    assert headline.startswith(f"{KERNELS}: assembled for sm_90 by nvJitLink ")
    assert names.split() == [
        "kernel",
        "registers",
        "stack",
        "spilled",
        "shared",
        "const",
        "threads",
        "occupancy",
    ]
    assert [row.split()[0] for row in rows] == re.findall(r"\.entry (\w+)", Path(KERNELS).read_text())
    transpose = next(row.split() for row in rows if row.startswith("transpose"))
    assert transpose[4] == str(32 * 33 * 4)


def test_the_document_has_all_keys(load_json: LoadJson) -> None:
    """The contract's keys are there, unknown values null."""
    code, document = load_json(VECTOR_ADD, "--arch", "sm_90a")
    assert code == 0
    assert (document["arch"], document["assembler"], document["ok"]) == ("sm_90a", "nvjitlink", True)
    assert (document["device"], document["cached"], document["error"]) == (None, False, None)
    assert document["jit_ms"] > 0
    assert "Used" in document["log"]["info"]
    assert (document["log"]["error"], document["log"]["truncated"]) == ("", False)
    (kernel,) = document["kernels"]
    assert kernel["name"] == "vector_add"
    assert kernel["registers"] > 0
    assert (kernel["max_threads"], kernel["ptx_version"], kernel["binary_version"]) == (128, 90, 90)
    assert [(each["offset"], each["size"]) for each in kernel["params"]][:4] == [
        (0, 8),
        (8, 8),
        (16, 8),
        (24, 4),
    ]
    for name in (
        "stack_bytes",
        "spill_store_bytes",
        "spill_load_bytes",
        "local_bytes",
        "shared_bytes",
        "const_bytes",
    ):
        assert kernel[name] == 0
    occupancy = kernel["occupancy"]
    assert occupancy["threads"] == 128
    assert occupancy["blocks_per_sm"] * 128 / 2048 * 100 == occupancy["percent"]


def test_occupancy_counts_dynamic_shared_memory(load_json: LoadJson) -> None:
    """The metadata's dynamic shared memory bounds the blocks, as it does at a launch."""
    _, document = load_json(CORPUS / "triton" / "matmul_128.sm90.ptx", "--arch", "sm_90a")
    metadata = json.loads((CORPUS / "triton" / "matmul_128.sm90.json").read_text())
    (kernel,) = document["kernels"]
    assert kernel["occupancy"]["shared_bytes"] == metadata["shared"] > 49152
    assert kernel["occupancy"]["threads"] == 32 * metadata["num_warps"]
    assert kernel["occupancy"]["blocks_per_sm"] <= 233472 // metadata["shared"]


def test_occupancy_where_threads_are_unknown(load_json: LoadJson) -> None:
    """Where nothing tells the block's size, occupancy is that of the largest block the entry allows."""
    _, document = load_json(KERNELS, "--arch", "sm_90", "--entry", "saxpy")
    (kernel,) = document["kernels"]
    assert kernel["max_threads"] == 1024
    occupancy = kernel["occupancy"]
    assert (occupancy["threads"], occupancy["blocks_per_sm"], occupancy["percent"]) == (1024, 2, 100)


def test_one_entry(load: Load, load_json: LoadJson) -> None:
    """`--entry` shows one, and an entry that is not there ends with 2 and the list."""
    _, document = load_json(KERNELS, "--arch", "sm_90", "--entry", "transpose")
    assert [kernel["name"] for kernel in document["kernels"]] == ["transpose"]
    code, out, err = load(KERNELS, "--arch", "sm_90", "--entry", "transposed")
    assert (code, out) == (2, "")
    assert "transpose" in err
    assert "saxpy" in err


def test_spills_are_told(load_json: LoadJson, ptx: Callable[[str], Path]) -> None:
    """A kernel that needs more registers than it may have says how many bytes it stores and loads."""
    count = 96
    loads = "".join(f"ld.volatile.global.f32 %f{i}, [%d1+{4 * i}];\n" for i in range(count))
    stores = "".join(f"st.volatile.global.f32 [%d1+{4 * i}], %f{count - 1 - i};\n" for i in range(count))
    body = (
        f".visible .entry k(.param .u64 p)\n{{\n.reg .f32 %f<{count}>; .reg .b64 %d<2>;\n"
        f"ld.param.u64 %d1, [p];\n{loads}bar.sync 0;\n{stores}ret;\n}}\n"
    )
    _, free = load_json(ptx(body), "--arch", "sm_90")
    assert free["kernels"][0]["spill_store_bytes"] == 0
    _, bounded = load_json(ptx(body), "--arch", "sm_90", "--max-registers", "32")
    (kernel,) = bounded["kernels"]
    assert kernel["registers"] <= 32
    assert kernel["spill_store_bytes"] > 0
    assert kernel["spill_load_bytes"] > 0
    assert kernel["stack_bytes"] > 0


# ------------------------------------------------------------------ which architecture


def test_by_default_the_file_decides(load: Load) -> None:
    """Where there is no GPU, the file's own .target is assembled for, and one line says so."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-m", "teenycuda_cli", "load", VECTOR_ADD],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "assembled for sm_90a by nvJitLink" in done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert "the file's own target" in done.stderr


def test_targets_too_old_are_assembled_for_a_later_one(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """PTX for sm_52, which the assembler has given up, is assembled for one that runs it too."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    code, out, err = load(GRAMMAR / "14_target_sm52_on_75.ptx")
    assert code == 0
    assert "assembled for sm_" in out
    if "sm_75" in out:
        assert "no longer assembles for sm_52" in err


@pytest.mark.parametrize(
    ("word", "code"), [("sm_90", 0), ("90", 0), ("hopper", 2), ("sm_٩٠", 2), ("sm_70", 3), ("sm_80", 3)]
)
def test_architectures(word: str, code: int, load: Load) -> None:
    """What is no architecture ends with 2, one that cannot be assembled for with 3; both say why."""
    answer, out, err = load(KERNELS, "--arch", word)
    assert answer == code
    assert bool(out) == (code == 0)
    assert bool(err) == (code != 0)


def test_a_gpu_asked_for_by_name_must_be_there(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--device cuda:63` ends with 77, never with something else assembled."""
    code, out, _ = load(VECTOR_ADD, "--device", "cuda:63")
    assert (code, out) == (77, "")


@pytest.mark.parametrize(
    "words",
    [
        ["--arch", "sm_90", "--device", "cuda"],
        ["--device", "gpu"],
        ["--arch", "sm_90", "-O", "5"],
        ["--arch", "sm_90", "-O", "4"],
        ["--arch", "sm_90", "--max-registers", "0"],
        ["--arch", "sm_90", "--timeout", "0"],
        ["--arch", "sm_90", "--timeout", "nan"],
        ["--arch", "sm_90", "--cubin", "-", "--json"],
        ["--arch", "sm_90", "--cubin", VECTOR_ADD],
    ],
    ids=" ".join,
)
def test_bad_usage(words: list[str], load: Load) -> None:
    """Options that make no sense end with 2 and leave the file as it was."""
    before = Path(VECTOR_ADD).read_bytes()
    code, _, _ = load(VECTOR_ADD, *words)
    assert code == 2
    assert Path(VECTOR_ADD).read_bytes() == before


def test_the_emulator_takes_or_names_what_it_lacks(load: Load, load_json: LoadJson, tmp_path: Path) -> None:
    """`--device cpu` says that the emulator takes a file; it has no machine code to write."""
    code, document = load_json(VECTOR_ADD, "--device", "cpu")
    assert (code, document["ok"], document["assembler"]) == (0, True, None)
    assert [kernel["name"] for kernel in document["kernels"]] == ["vector_add"]
    assert load(VECTOR_ADD, "--device", "cpu", "--cubin", tmp_path / "k.cubin")[0] == 2
    code, _, err = load(TESTS / "binary" / "several.cubin", "--device", "cpu")
    assert code == 5
    assert "PTX" in err
    assert load(TESTS / "binary" / "add.plain.fatbin", "--device", "cpu")[0] == 0, "it holds PTX"
    assert os.listdir(tmp_path) == []


def test_the_cache_is_the_drivers(load: Load) -> None:
    """`--cache` with `--arch` works, and says that there is none."""
    code, _, err = load(VECTOR_ADD, "--arch", "sm_90a", "--cache")
    assert code == 0
    assert "--cache" in err


# ------------------------------------------------------------------ the machine code


@pytest.mark.skipif(gpu_count() > 0, reason="there is a GPU")
@pytest.mark.parametrize(
    ("file", "assembled"),
    [("binary/several.cubin", False), ("binary/add.plain.fatbin", False), ("binary/several.ptx", True)],
)
def test_without_a_gpu_it_says_what_is_done(load: Load, file: str, assembled: bool) -> None:
    """Only where something is assembled does the line on standard error say so."""
    code, _, err = load(TESTS / file)
    assert code == 0
    assert ("assembling" in err) is assembled
    assert ("machine code" in err) is not assembled


def test_options_of_the_assembler_mean_nothing_for_machine_code(load: Load) -> None:
    """Options that a cubin has no use for are named."""
    code, _, err = load(TESTS / "binary" / "several.cubin", "-O", "1", "--max-registers", "32")
    assert code == 0
    assert "-O, --max-registers: a cubin is machine code already" in err


def test_the_cubin_is_written(load: Load, load_json: LoadJson, tmp_path: Path) -> None:
    """`--cubin` writes what was assembled, which `load` then reads, with the same numbers."""
    out = tmp_path / "k.cubin"
    _, before = load_json(KERNELS, "--arch", "sm_90", "--cubin", out)
    content = read(out.read_bytes(), "k.cubin")
    assert isinstance(content, Cubin)
    assert content.arch == "sm_90"
    code, after = load_json(out, "--arch", "sm_90")
    assert (code, after["assembler"], after["kind"]) == (0, None, "cubin")
    there, here = (sorted(each["kernels"], key=lambda kernel: kernel["name"]) for each in (before, after))
    for name in ("name", "registers", "shared_bytes", "stack_bytes", "local_bytes", "params"):
        assert [kernel[name] for kernel in here] == [kernel[name] for kernel in there]
    assert os.listdir(tmp_path) == ["k.cubin"]


def test_a_cubin_on_standard_output(tmp_path: Path) -> None:
    """`--cubin -` puts the machine code, and nothing else, on standard output."""
    done = subprocess.run(
        [sys.executable, "-m", "teenycuda_cli", "load", VECTOR_ADD, "--arch", "sm_90a", "--cubin", "-"],
        capture_output=True,
        check=True,
    )
    content = read(done.stdout, "-")
    assert isinstance(content, Cubin)
    assert content.arch == "sm_90a"
    assert b"vector_add" in done.stderr


def test_nothing_is_written_when_it_fails(load: Load, tmp_path: Path) -> None:
    """A file that does not assemble leaves an older cubin as it was."""
    out = tmp_path / "k.cubin"
    out.write_bytes(b"older")
    assert load(KERNELS, "--arch", "sm_80", "--cubin", out)[0] == 3
    assert load(VECTOR_ADD, "--arch", "sm_90a", "--cubin", tmp_path / "missing" / "k.cubin")[0] == 3
    assert out.read_bytes() == b"older"
    assert os.listdir(tmp_path) == ["k.cubin"]


def test_line_information_is_kept_on_request(load: Load, tmp_path: Path) -> None:
    """The cubin has a line table with `--lineinfo`, and none without."""
    for words, wanted in (([], False), (["--lineinfo"], True)):
        out = tmp_path / "k.cubin"
        code, _, err = load(
            CORPUS / "nvcc" / "kernels.lineinfo.ptx", "--arch", "sm_90", "--cubin", out, *words
        )
        assert code == 0, err
        content = read(out.read_bytes(), "k.cubin")
        assert isinstance(content, Cubin)
        assert (".debug_line" in content.debug_sections) is wanted


def test_code_for_another_architecture_is_refused(load: Load) -> None:
    """A cubin that does not run on the architecture names both."""
    code, out, err = load(TESTS / "binary" / "add.sm90a.cubin", "--arch", "sm_80")
    assert (code, out) == (3, "")
    assert "sm_90a" in err
    assert "sm_80" in err


@pytest.mark.parametrize(
    ("arch", "what"),
    [
        ("sm_80", "machine code for sm_80"),
        ("sm_90a", "machine code for sm_90a"),
        ("sm_100", "assembled for sm_100"),
    ],
)
@pytest.mark.parametrize("name", ["add.plain.fatbin", "add.zstd.fatbin"])
def test_the_image_of_a_fatbin_that_a_gpu_would_take(name: str, arch: str, what: str, load: Load) -> None:
    """Machine code where there is some for the architecture, else the PTX, assembled."""
    code, out, err = load(TESTS / "binary" / name, "--arch", arch)
    assert code == 0
    assert what in out
    assert "add" in out
    assert "of the fatbin's images" in err


def test_a_fatbin_with_nothing_for_it(load: Load) -> None:
    """Where no image serves, the error lists what there is."""
    code, _, err = load(TESTS / "binary" / "add.plain.fatbin", "--arch", "sm_75")
    assert code == 3
    assert "cubin for sm_80, ptx for sm_90, cubin for sm_90a" in err


# ------------------------------------------------------------------ errors


def test_an_error_is_shown_as_compilers_show_it(load: Load, ptx: Callable[[str], Path]) -> None:
    """Place, message, the line and a caret under what is wrong."""
    path = ptx(".visible .entry k()\n{\n\t.reg .b32 %r1;\n\tmov.u32 %r1, %nothing;\n\tret;\n}\n")
    code, out, err = load(path, "--arch", "sm_90")
    assert (code, out) == (3, "")
    at = err.index(f"{path}:7:15: error: Unknown symbol '%nothing'")
    assert err[at:].splitlines()[1:3] == [" 7 | \tmov.u32 %r1, %nothing;", "   | \t             ^~~~~~~~"]


def test_lines_are_the_users_where_lines_were_stripped(load_json: LoadJson, tmp_path: Path) -> None:
    """An error behind debug information that was taken out has the line of the file as it is."""
    text = (CORPUS / "nvcc" / "kernels.debug.ptx").read_text()
    broken = text.replace("\tret;", "\tmov.u32 %none, 1;\n\tret;", 1)
    line = broken[: broken.index("%none")].count("\n") + 1
    assert ".loc" in broken[: broken.index("%none")]
    path = tmp_path / "broken.ptx"
    path.write_text(broken)
    code, document = load_json(path, "--arch", "sm_90")
    assert code == 3
    assert {each["line"] for each in document["diagnostics"]} == {line}
    found = next(each for each in document["diagnostics"] if "%none" in each["message"])
    assert found["text"] == "\tmov.u32 %none, 1;"
    assert found["column"] == 10
    assert document["error"]["line"] == line


def test_thousands_of_errors(load: Load, load_json: LoadJson) -> None:
    """People see the first ones and how many more there are; the document has all."""
    path = GRAMMAR / "28_many_errors.ptx"
    code, document = load_json(path, "--arch", "sm_90")
    assert code == 3
    assert len(document["diagnostics"]) == 6000
    assert document["diagnostics"][0]["line"] == 7
    code, _, err = load(path, "--arch", "sm_90")
    assert code == 3
    assert "5980 more" in err
    assert len(err.splitlines()) < 100


@pytest.mark.parametrize(
    ("name", "arch", "words"),
    [
        ("12_version_9_9", "sm_90", ["12_version_9_9.ptx:1:1", "Unsupported .version 9.9", "hint: "]),
        ("13_sm90a_on_90", "sm_90", [".ptx:2:1", "sm_90a", "hint: ", "--arch sm_90a"]),
        ("13d_sm100f_on_120", "sm_120", ["family"]),
        ("13f_sm90_on_80", "sm_80", [".ptx:2:1", "--arch sm_90 or later"]),
        ("13g_wgmma_plain90", "sm_90", [".ptx:7:1", "wgmma.fence needs .target sm_90a"]),
        ("23b_static_49153", "sm_90", ["49152"]),
        ("25c_cluster_sm80", "sm_80", [".ptx:5:21", ".target sm_90 or later"]),
        ("29_extern_unknown", "sm_90", [".ptx:5:15", "not_there is declared .extern"]),
    ],
)
def test_known_causes(name: str, arch: str, words: list[str], load: Load) -> None:
    """What users run into most has its place and what to do."""
    code, _, err = load(GRAMMAR / f"{name}.ptx", "--arch", arch)
    assert code == 3
    for word in words:
        assert word in err


VERDICTS = re.findall(
    r"^(\S+) +\[(\w+) ?-?(\w*)\] (OK|REJECT)", (GRAMMAR / "VERDICTS.txt").read_text(), re.MULTILINE
)
# What ptxas 13.0 refuses and the assembler takes here: a later one reads 09, text gets its one NUL behind
# it (10), and a crash of ptxas is none of nvJitLink's (06d).
TAKEN = {"06d_empty_basename_crash", "09_utf8_comment", "10_trailing_nul"}


@pytest.mark.parametrize(("name", "arch", "level", "verdict"), VERDICTS, ids=[each[0] for each in VERDICTS])
def test_unstripped_files_fare_as_with_ptxas(
    name: str, arch: str, level: str, verdict: str, load_json: LoadJson
) -> None:
    """With --no-strip the verdict on the file as it is comes through, with a message for each error."""
    words = ["-O", level.removeprefix("O")] if level else []
    code, document = load_json(GRAMMAR / f"{name}.ptx", "--arch", arch, "--no-strip", *words)
    if name not in TAKEN:
        assert code == (0 if verdict == "OK" else 3)
    assert (document["error"] is None) == (code == 0)
    if "ok" in document:
        assert document["ok"] == (code == 0)
        assert any(each["severity"] == "error" for each in document["diagnostics"]) == (code != 0)


def test_debug_information_as_it_is(load: Load) -> None:
    """With --no-strip the assembler sees debug information; what it has against it comes with a hint."""
    code, _, err = load(GRAMMAR / "03b_debug_flag_no_sections.ptx", "--arch", "sm_90", "--no-strip")
    assert code == 3
    assert "without --no-strip" in err
    assert load(GRAMMAR / "03b_debug_flag_no_sections.ptx", "--arch", "sm_90")[0] == 0


def test_text_behind_a_nul(load_json: LoadJson) -> None:
    """Text that no assembler sees gets a warning; unstripped it is an error; both with the place."""
    path = GRAMMAR / "10b_mid_nul.ptx"
    code, document = load_json(path, "--arch", "sm_90")
    assert code == 0
    (warning,) = document["diagnostics"]
    assert (warning["severity"], warning["line"], warning["column"]) == ("warning", 18, 1)
    code, document = load_json(path, "--arch", "sm_90", "--no-strip")
    assert code == 3
    assert (document["error"]["line"], document["error"]["column"]) == (18, 1)


def test_standard_input(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is standard input, and errors call it so."""

    class Stdin:
        buffer = io.BytesIO(f"{HEADER}.visible .entry k() {{ bar; }}".encode())

    monkeypatch.setattr(sys, "stdin", Stdin)
    code, _, err = load("-", "--arch", "sm_90")
    assert code == 3
    assert "<stdin>:4:" in err


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\0\0\0", "is empty"),
        (b"BC\xc0\xde....", "LLVM bitcode"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"\xff\xfe.\0v\0", "UTF-16"),
        (b"\x00\x01\x02\x03 binary", "neither PTX, cubin nor fatbin"),
        (b"\x7fELF" + b"\0" * 80, "is no cubin"),
        (b'extern "C" __global__ void k() {}', "nvcc -ptx"),
        (b'target triple = "nvptx64"', "llc"),
        (b"one line of prose", "PTX"),
        (b"\x50\xed\x55\xba\x01\x00", "damaged fatbin"),
    ],
)
@pytest.mark.parametrize("name", ["k.ptx", "k.cubin"])
def test_what_is_no_program(data: bytes, words: str, name: str, load: Load, tmp_path: Path) -> None:
    """Files are told by content, whatever their name, and what is none ends with 3."""
    path = tmp_path / name
    path.write_bytes(data)
    code, out, err = load(path, "--arch", "sm_90")
    assert (code, out) == (3, "")
    assert words in err
    assert path.read_bytes() == data


def test_a_timeout_ends_with_6(load_json: LoadJson) -> None:
    """`--timeout` gives up, with the document's error saying so."""
    code, document = load_json(KERNELS, "--arch", "sm_90", "--timeout", "0.001")
    assert code == 6
    assert document["error"]["kind"] == "timeout"


# ------------------------------------------------------------------ installations


@pytest.fixture(scope="session")
def without_wheel(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment that has everything installed here but nvidia-nvjitlink."""
    here = tmp_path_factory.mktemp("environment")
    venv.create(here, symlinks=True)
    packages = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    there = next(here.glob("lib/python*/site-packages"))
    for entry in packages.iterdir():
        if not entry.name.startswith("nvidia"):
            (there / entry.name).symlink_to(entry)
    python = str(here / "bin" / "python")
    probe = subprocess.run(
        [python, "-c", "from cuda.bindings import nvjitlink; nvjitlink.version()"],
        capture_output=True,
        check=False,
    )
    if probe.returncode == 0:
        pytest.skip("nvJitLink is installed outside of Python too")
    return python


def test_without_the_wheel_one_line_says_what_to_install(without_wheel: str) -> None:
    """An installation without nvJitLink ends with 3 and the command that installs it."""
    done = subprocess.run(
        [without_wheel, "-m", "teenycuda_cli", "load", VECTOR_ADD, "--arch", "sm_90a"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1
    assert "pip install 'nvidia-nvjitlink>=13' 'cuda-python>=13'" in done.stderr


def test_light_imports() -> None:
    """`load --arch --json` imports neither numpy nor rich nor CUDA into the program itself."""
    code = (
        "import sys; from teenycuda_cli.cli import run\n"
        f"assert run(['load', {VECTOR_ADD!r}, '--arch', 'sm_90a', '--json']) == 0\n"
        "print([name for name in ('numpy', 'rich', 'cuda') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
