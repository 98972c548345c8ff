"""`launch` from the command line, on kernels written by hand."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from teenycuda_cli.cli import run
from tests.commands import launch_kernels as kernels

KERNELS = {
    name.lower(): getattr(kernels, name) for name in dir(kernels) if name.isupper() and name != "HEADER"
}
ONE_BLOCK = ("--grid", "1", "--block", "32")


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on standard output."""
        return json.loads(self.out)


Launch = Callable[..., Done]


def alone(arguments: list[str]) -> Done:
    """Run a command line in a process of its own."""
    command = [sys.executable, "-m", "teenycuda_cli", *arguments]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def launch(
    tmp_path: Path, device: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Launch:
    """Write a kernel to a file, and launch it with the options given, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def launch(name: str, *words: str, on: str | None = device) -> Done:
        path = tmp_path / f"{name}.ptx"
        if name in KERNELS:
            path.write_text(kernels.HEADER + KERNELS[name])
        arguments = ["launch", str(path), *(["--device", on] if on else []), *words]
        if on == "cuda":  # a fault on a GPU is for the whole process
            return alone(arguments)
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return launch


SCALE = (
    "--grid",
    "4",
    "--block",
    "64",
    "--arg",
    "x=ptr:200xf32=randn",
    "--arg",
    "y=ptr:200xf32",
    "--arg",
    "a=2.5",
)
SCALED = (*SCALE, "--arg", "n=200")


# -------------------------------------------------------- what is computed


def test_an_expectation_that_holds(launch: Launch) -> None:
    """A kernel that computes what was expected ends with 0, and says so."""
    done = launch("scale", *SCALED, "--expect", "y=a*x", "--expect", "x=x")
    assert done.code == 0, done.err
    assert "ok      y = a*x" in done.out
    assert "changed" in done.out


def test_an_expectation_that_fails(launch: Launch) -> None:
    """One that does not is exit 1, with counts, errors, places and the first few."""
    done = launch("scale", *SCALED, "--expect", "y=where(x>2,0,a*x)")
    assert done.code == 1
    assert "FAILED  y = where(x>2,0,a*x)" in done.out
    for words in ("of 200 elements differ", "largest absolute error", "largest ULP error", "got", "expected"):
        assert words in done.out


def test_what_was_left_unwritten_is_seen(launch: Launch) -> None:
    """Elements that no thread wrote are counted, in the table and in a failed expectation."""
    done = launch("scale", *SCALE, "--arg", "n=150", "--expect", "y=a*x")
    assert done.code == 1
    assert "50 untouched" in done.out
    assert "50 elements were never written" in done.out
    assert "50 of 200 elements differ" in done.out


@pytest.mark.parametrize(
    ("buffer", "expected", "code", "says"),
    [
        ("f32", "y=a*x-99*y", 2, "y holds poison before the launch"),
        ("i32", "y=y", 2, "y holds poison before the launch"),
        ("f32", "y=nan", 1, "200 elements were never written (still poison)"),
        ("i32", "y=0xcdcdcdcd-2**32", 1, "got untouched  expected -842150451"),
        ("i32", "y=-842150451", 1, "200 of 200 elements differ"),
        ("u8", "y=205", 0, "200 hold the poison value 0xcd"),
        ("u8", "y=204", 1, "200 elements hold the poison value 0xcd: written so, or never written"),
    ],
)
def test_a_kernel_that_writes_nothing_passes_no_check(
    launch: Launch, buffer: str, expected: str, code: int, says: str
) -> None:
    """No expectation holds of elements that were never written, nor is one made of poison."""
    words = (*ONE_BLOCK, "--arg", "x=ptr:200xf32=nan", "--arg", f"y=ptr:200x{buffer}")
    done = launch("scale", *words, "--arg", "a=2.5", "--arg", "n=0", "--expect", expected)
    assert done.code == code
    assert says in done.out + done.err


def test_integers_that_do_not_fit_the_buffer(launch: Launch) -> None:
    """An expected value outside the buffer's type is a mismatch, with the way to wrap it."""
    words = ("--grid", "1", "--block", "4", "--arg", "p=ptr:4xu32=7", "--arg", "0", "--arg", "7")
    done = launch("store", *words, "--expect", "p=p-8")
    assert done.code == 1
    wrapped = "4 expected values do not fit u32: where the kernel wraps, say so by .astype(uint32) or % 2**32"
    assert wrapped in done.out
    assert "got 7  expected -1" in done.out


def test_what_the_report_says_of_numbers(launch: Launch) -> None:
    """Integers are whole, an error of 0 is told where one is allowed, what was never written has no value."""
    words = (
        "--grid",
        "1",
        "--block",
        "2",
        "--arg",
        "p=ptr:3xu32=4000000001",
        "--arg",
        "0",
        "--arg",
        "4000000003",
    )
    done = launch("store", *words, "--expect", "p=[1,1,1]+4000000000", "--expect", "p=[3,3,1]+4000000000")
    assert "min 4000000001  max 4000000003  mean 4000000002.33" in done.out
    assert "FAILED  p = [1,1,1]+4000000000: 2 of 3 elements differ (must be equal)" in done.out
    assert "ok      p = [3,3,1]+4000000000  (3 elements, equal)" in done.out
    done = launch("scale", *SCALED, "--expect", "x=x")
    assert "ok      x = x  (200 elements, rtol 1e-05, atol 1e-05, largest error 0)" in done.out
    done = launch("scale", *SCALE, "--arg", "n=199", "--expect", "y=a*x")
    assert "[199]  got untouched  expected " in done.out


def test_a_part_of_a_buffer_is_checked_alone(launch: Launch) -> None:
    """NAME[INDEX] is about these elements; the report tells how many of how many, by the buffer's places."""
    words = (*SCALE, "--arg", "n=150", "--expect", "y[2:150]=a*x[2:150]")
    done = launch("scale", *words)
    assert done.code == 0, done.out
    assert "ok      y[2:150] = a*x[2:150]  (148 of 200 elements, rtol 1e-05" in done.out
    done = launch("scale", *words, "--expect", "y[140:]=a*x[140:]", "--json")
    assert done.code == 1
    good, bad = done.document["expect"]
    assert (good["name"], good["part"], good["count"]) == ("y", "[2:150]", 148)
    assert (bad["name"], bad["part"], bad["count"], bad["worst_index"]) == ("y", "[140:]", 60, [150])
    assert (
        "50 of 60 elements differ (rtol 1e-05, atol 1e-05; 60 of 200 elements checked)"
        in launch("scale", *SCALE, "--arg", "n=150", "--expect", "y[140:]=a*x[140:]").out
    )


def test_the_document(launch: Launch) -> None:
    """--json prints one document with every key of the contract."""
    done = launch("scale", *SCALE, "--arg", "n=150", "--expect", "x=x", "--expect", "y=a*x", "--json")
    document = done.document
    assert done.code == document["exit_code"] == 1
    assert list(document)[:17] == [
        "schema", "device", "kernel", "grid", "block", "cluster", "shared_bytes", "scratch", "args", "expect",
        "guards_ok", "findings", "printf", "printf_dropped", "saved", "timing", "bench",
    ]  # fmt: skip
    assert document["schema"] == "teenycuda.launch/1"
    assert set(document["device"]) == {"kind", "name", "arch"}
    assert (document["kernel"], document["grid"], document["block"]) == ("scale", [4, 1, 1], [64, 1, 1])
    assert document["scratch"] == {"global_bytes": 0, "profile_bytes": 0}
    x, y, a, n = document["args"]
    assert set(x) == {
        "name", "index", "kind", "type", "shape", "changed", "min", "max", "mean", "nan_count",
        "poison_count", "value",
    }  # fmt: skip
    assert (x["kind"], x["type"], x["shape"], x["changed"]) == ("buffer", "f32", [200], False)
    assert (y["changed"], y["nan_count"], y["poison_count"]) == (True, 50, 50)
    assert (a["kind"], a["type"], a["shape"], n["type"]) == ("scalar", "f32", None, "u32")
    good, bad = document["expect"]
    assert (x["value"], a["value"], n["value"]) == (None, 2.5, 150)
    assert set(good) == {
        "name", "ok", "count", "mismatches", "max_abs", "max_rel", "max_ulp", "worst_index", "nan_count",
        "poison_count", "part", "expression", "rtol", "atol", "ulp",
    }  # fmt: skip
    assert (bad["part"], bad["expression"]) == (None, "a*x")
    assert (bad["rtol"], bad["atol"], bad["ulp"]) == (1e-5, 1e-5, None)
    assert (bad["nan_count"], bad["poison_count"]) == (50, 50)
    assert (good["ok"], good["count"], good["mismatches"], good["max_abs"]) == (True, 200, 0, 0.0)
    assert (bad["ok"], bad["mismatches"], bad["worst_index"]) == (False, 50, [150])
    assert document["guards_ok"] is True
    assert document["printf"] == ""
    assert document["printf_dropped"] == (0 if document["device"]["kind"] == "cpu" else None)
    assert set(document["timing"]) == {"load_ms", "kernel_ms", "total_ms"}
    assert document["bench"] is None


def test_every_parameter_arrives_as_it_was_given(launch: Launch) -> None:
    """Each parameter has the bytes that a C caller would pass."""
    values = (
        "u8:200",
        "i16:-2",
        "i32:-3",
        "u64:0xfedcba9876543210",
        "f32:1.5",
        "f64:-0.1",
        "f16:2.5",
        "bytes:00112233445566778899aabb",
    )
    words = [word for value in values for word in ("--arg", value)]
    done = launch(
        "echo", "--grid", "1", "--block", "1", "--arg", "out=ptr:48xu8=zeros", *words, "--save", "out=o.bin"
    )
    assert done.code == 0, done.err
    expected = (
        struct.pack("<BxhiQf4xd", 200, -2, -3, 0xFEDCBA9876543210, 1.5, -0.1) + np.float16(2.5).tobytes()
    )
    expected += bytes(2) + bytes.fromhex("00112233445566778899aabb")
    assert Path("o.bin").read_bytes() == expected


def test_a_buffer_given_twice_is_one(launch: Launch) -> None:
    """ptr:NAME is the same memory, ptr:NAME+BYTES a part of it."""
    words = (
        "--grid",
        "1",
        "--block",
        "8",
        "--arg",
        "x=ptr:8xf32=arange",
        "--arg",
        "y=ptr:x",
        "--arg",
        "a=3",
        "--arg",
        "n=8",
    )
    assert launch("scale", *words, "--expect", "x=x*3", "--expect", "y=x*3").code == 0
    words = (
        "--grid",
        "1",
        "--block",
        "4",
        "--arg",
        "x=ptr:8xf32=arange",
        "--arg",
        "y=ptr:x+16",
        "--arg",
        "a=3",
        "--arg",
        "n=4",
    )
    assert launch("scale", *words, "--expect", "x=[0,1,2,3,0,3,6,9]", "--expect", "y=x[:4]*3").code == 0


def test_files_in_and_out(launch: Launch) -> None:
    """Buffers come from .npy and raw files, and go to .npy, .csv, .png and raw ones."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save("x.npy", x)
    x.tofile("x.raw")
    np.save("expected.npy", x * 2)
    for source in ("@x.npy", "3x4xf32@x.npy", "3x4xf32@x.raw"):
        done = launch(
            "scale", *ONE_BLOCK, "--arg", f"x=ptr:{source}", "--arg", "y=ptr:3x4xf32",
            "--arg", "a=2", "--arg", "n=12", "--expect", "y=@expected.npy",
            "--save", "y=y.npy", "--save", "y=y.csv", "--save", "y=y.raw", "--save", "y=y.png",
        )  # fmt: skip
        assert done.code == 0, done.out + done.err
        assert np.array_equal(np.load("y.npy"), x * 2)
        assert np.array_equal(np.loadtxt("y.csv", delimiter=","), x * 2)
        assert np.array_equal(np.fromfile("y.raw", np.float32), (x * 2).ravel())
        assert png_size(Path("y.png").read_bytes()) == (4, 3)


def test_the_report_tells_what_a_file_holds(launch: Launch) -> None:
    """Raw bytes are named as such, with their type; so are values that numpy's own types cannot hold."""
    words = (
        *ONE_BLOCK,
        "--arg",
        "x=ptr:4x2xf32=0.1",
        "--arg",
        "y=ptr:8xbf16=1",
        "--arg",
        "1",
    )
    words = (*words, "--arg", "0", "--save", "x=x.jpg", "--save", "y=y.npy", "--save", "x=x.csv")
    done = launch("scale", *words)
    assert "saved x to x.jpg (raw f32, 8 elements)" in done.out
    assert "saved y to y.npy (as float32: numpy has no bf16)" in done.out
    assert done.out.endswith("saved x to x.csv\n")
    assert Path("x.csv").read_text() == "0.1,0.1\n" * 4
    saved = launch("scale", *words, "--json").document["saved"]
    assert saved[0] == {"name": "x", "path": "x.jpg", "format": "raw", "type": "f32"}
    assert saved[1] == {"name": "y", "path": "y.npy", "format": "npy", "type": "f32"}


def png_size(data: bytes) -> tuple[int, int]:
    """Width and height of a PNG whose checksums and data are right."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, image, size, channels = 8, b"", (0, 0), 0
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        if kind == b"IHDR":
            size, channels = struct.unpack(">II", body[:8]), {0: 1, 2: 3}[body[9]]
        image += body if kind == b"IDAT" else b""
        at += 12 + length
    assert len(zlib.decompress(image)) == size[1] * (1 + size[0] * channels)
    return size[0], size[1]


def test_the_same_command_gives_the_same_bytes(launch: Launch) -> None:
    """Random fills depend on the seed and the argument's place alone."""
    saved = []
    for seed in ("0", "0", "1"):
        assert launch("scale", *SCALED, "--seed", seed, "--save", "y=y.raw").code == 0
        saved.append(Path("y.raw").read_bytes())
    assert saved[0] == saved[1] != saved[2]


def test_tolerances(launch: Launch) -> None:
    """--tol decides what is near enough, for all buffers or for one."""
    wrong = ("--expect", "y=a*x*1.001")
    assert launch("scale", *SCALED, *wrong).code == 1
    assert launch("scale", *SCALED, *wrong, "--tol", "rtol=0.01").code == 0
    assert launch("scale", *SCALED, *wrong, "--tol", "x:rtol=0.01").code == 1
    assert launch("scale", *SCALED, *wrong, "--tol", "y:ulp=20000").code == 0


def test_show_prints_values(launch: Launch) -> None:
    """--show prints a table, and of two dimensions a picture in characters."""
    words = (
        "--grid",
        "1",
        "--block",
        "64",
        "--arg",
        "x=ptr:8x8xf32=arange",
        "--arg",
        "y=ptr:8x8xf32",
        "--arg",
        "a=1",
        "--arg",
        "n=60",
    )
    done = launch("scale", *words, "--show", "x", "--show", "y")
    assert done.code == 0
    assert "x: 8x8xf32" in done.out
    assert "·" in done.out  # never written
    assert "@@@" in done.out
    assert "\x1b" not in done.out


def test_show_puts_values_into_the_document(launch: Launch) -> None:
    """With --json they are lists in the buffer's shape: null where nothing was written, text for inf, NaN."""
    words = (*ONE_BLOCK, "--arg", "x=ptr:2x2xf32=inf,-1,nan,9", "--arg", "y=ptr:2x2xf32")
    done = launch("scale", *words, "--arg", "a=0.5", "--arg", "n=3", "--show", "y", "--show", "x", "--json")
    assert done.document["shown"] == [
        {"name": "y", "type": "f32", "shape": [2, 2], "values": [["inf", -0.5], ["nan", None]]},
        {"name": "x", "type": "f32", "shape": [2, 2], "values": [["inf", -1.0], ["nan", 9.0]]},
    ]
    words = (
        *ONE_BLOCK,
        "--arg",
        "x=ptr:2xf32=1",
        "--arg",
        "y=ptr:1xc64=1-2j",
        "--arg",
        "1",
    )
    done = launch("scale", *words, "--arg", "0", "--show", "y", "--json")
    assert done.document["shown"][0]["values"] == [[1.0, -2.0]]
    assert launch("scale", *words, "--arg", "0", "--json").document["shown"] == []


# ------------------------------------------------------ Triton's contract


def test_hidden_parameters_and_scratch(launch: Launch) -> None:
    """Scratch is there for every block, zeroed, aligned, and never asked of the user."""
    done = launch(
        "hidden", "--grid", "5", "--arg", "out=ptr:5xu32", "--arg", "n=1", "--expect", "out=zeros", "--json"
    )
    assert done.code == 0, done.out
    assert done.document["scratch"] == {"global_bytes": 5 * 64, "profile_bytes": 0}
    assert done.document["block"] == [32, 1, 1]
    assert [argument["name"] for argument in done.document["args"]] == ["out", "n"]


def test_scratch_larger_than_any_memory(launch: Launch) -> None:
    """The product of blocks and bytes is not cut to 32 bits: too much is refused, not wrapped."""
    done = launch("hidden", "--grid", "2147483647,65535", "--arg", "out=ptr:5xu32", "--arg", "n=1")
    assert done.code == 4
    assert "scratch of 64 bytes for each of 140,735,340,806,145 blocks" in done.err


def test_arguments_that_do_not_add_up(launch: Launch) -> None:
    """Too few or too many arguments are refused with the parameters, the hidden ones marked."""
    for words in (("--arg", "ptr:5xu32"), ("--arg", "ptr:5xu32", *["--arg", "1"] * 6)):
        done = launch("hidden", "--grid", "5", *words)
        assert done.code == 2
        assert ".param .u64 .ptr .global .align 1 hidden_param_3" in done.err
        assert "filled in (global scratch)" in done.err


# -------------------------------------------------------- where to start


def test_without_arguments_the_signature_and_a_command_are_shown(launch: Launch) -> None:
    """The command line shown is one that runs."""
    done = launch("scale", on=None)
    assert done.code == 2
    assert ".param .f32 a" in done.err
    command = done.err.partition("start from: teenycuda ")[2].split()
    assert command[0] == "launch"
    assert run([*command, "--device", "cpu"]) == 0


def test_the_signature_in_json(launch: Launch) -> None:
    """With --json the command to start from is the hint."""
    done = launch("scale", "--json")
    assert done.code == 2
    assert done.document["error"]["kind"] == "usage"
    assert "--arg x=ptr:4096xf32=randn" in done.document["error"]["hint"]


def test_a_kernel_without_parameters_needs_no_arguments(launch: Launch) -> None:
    """Grid and block are enough for it."""
    assert launch("exact", "--grid", "2").code == 0
    done = launch("exact")
    assert done.code == 2
    assert "--grid is missing" in done.err


def test_a_dry_run_launches_nothing(launch: Launch) -> None:
    """It shows grid, buffers and the packed bytes; it needs no device and writes no file."""
    words = (*SCALED, "--save", "y=y.npy", "--dry-run")
    done = launch("scale", *words, on="cuda:7")
    assert done.code == 0, done.err
    assert "00 00 20 40" in done.out
    assert "address of x" in done.out
    assert not Path("y.npy").exists()
    document = launch("scale", *words, "--json", on="cuda:7").document
    assert document["dry_run"] is True
    assert [p["bytes"] for p in document["params"]] == [None, None, "00002040", "c8000000"]
    assert document["timing"] == {"load_ms": None, "kernel_ms": None, "total_ms": None}


# -------------------------------------------------------------- refusals

USAGE = [
    (("--grid", "0"), "x is 0"),
    (("--grid", "1,2,3,4"), "--grid 1,2,3,4: expected"),
    (("--grid", "4x4"), "write --grid 4,4"),
    (("--grid", "-1"), "--grid -1: expected"),
    (("--grid", "1,70000"), "y is 70000; "),
    (("--grid", "2147483648"), "x is 2147483648"),
    (("--block", "2048"), "x is 2048"),
    (("--block", "1,1,65"), "z is 65"),
    (("--block", "64,32"), "is 2048 threads"),
    (("--shared", "300000"), "shared memory of 300000 bytes"),
    (("--arg", "extra=1"), "takes 4 arguments; 5 are given"),
    (("--expect", "z=1"), "no buffer is called 'z'"),
    (("--expect", "y"), "expected NAME=WHAT"),
    (("--expect", "y=zz"), "no argument is called 'zz'"),
    (("--expect", "y=x.__class__"), "no attribute .__class__"),
    (("--expect", "y=x[:7]"), "values of shape 7 for the buffer's 200"),
    (("--expect", "y=1,2,3"), "3 values for 200 elements"),
    (("--tol", "foo"), "is no tolerance"),
    (("--tol", "z:rtol=1"), "no buffer is called 'z'"),
    (("--show", "a"), "no buffer is called 'a'"),
    (("--save", "y"), "expected NAME=PATH"),
    (("--save", "q=q.npy"), "no buffer is called 'q'"),
    (("--save", "y=y.png"), "no two-dimensional picture"),
    (("--save", "y=scale.ptx"), "would overwrite an input"),
    (("--save", "y=scale.json"), "would overwrite an input"),
    (("--save", "y=a.bin", "--save", "x=./a.bin"), "writes the same file"),
    (("--entry", "scole"), "did you mean scale?"),
    (("--device", "gpu"), "no device 'gpu'"),
    (("--timeout", "0"), "above 0"),
    (("--timeout", "nan"), "above 0"),
    (("--guard", "-1"), "--guard"),
    (("--seed", "x"), "--seed"),
    (("--bench-seconds", "0"), "above 0"),
]


@pytest.mark.parametrize(("words", "says"), USAGE, ids=[" ".join(words) for words, _ in USAGE])
def test_usage_errors(launch: Launch, words: tuple[str, ...], says: str) -> None:
    """A command line that does not fit ends with 2, says why, and changes no file."""
    launch("scale")
    Path("scale.json").write_text('{"num_warps": 2}')
    before = contents()
    done = launch("scale", *SCALED, *words)
    assert done.code == 2, done.out + done.err
    assert says in done.err
    assert "Traceback" not in done.err
    assert contents() == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "scale takes 4 arguments; none is given"),
        (("--arg", "1"), "scale takes 4 arguments; 1 is given"),
        (("--arg", "1", "--arg", "2"), "scale takes 4 arguments; 2 are given"),
    ],
)
def test_too_few_arguments(launch: Launch, words: tuple[str, ...], says: str) -> None:
    """The message counts what is wanted and what is given."""
    done = launch("scale", "--grid", "1", *words)
    assert done.code == 2
    assert f"{says}\n" in done.err


ARGUMENTS = [
    ("x=ptr:200xf23", "unknown element type 'f23'"),
    ("x=i32:5", None),
    ("x=5", None),
    ("x=f32:5", "does not fit .param .u64 x"),
    ("x=f32:5", "hint: if it is a pointer, give a buffer: ptr:4096xf32; if a number, write u64:5"),
    ("x=f64:0.5", "hint: if it is a pointer, give a buffer: ptr:4096xf64\n"),
    ("x=ptr:1000000000000xf32", "do not fit this machine's memory"),
    ("x=ptr:999999999999999999x999999999999999999xf64", "do not fit this machine's memory"),
    ("x=ptr:200xi32=1.5", "not a whole number"),
    ("x=ptr:@missing.npy", "missing.npy"),
    ("x=ptr:8xf32@scale.ptx", "bytes, where 8xf32 has 32"),
]


@pytest.mark.parametrize(("text", "says"), ARGUMENTS, ids=[text for text, _ in ARGUMENTS])
def test_argument_errors(launch: Launch, text: str, says: str | None) -> None:
    """An argument that does not fit ends with 2 (3 for a file that is not there), before anything runs."""
    words = [text if word == "x=ptr:200xf32=randn" else word for word in SCALED]
    done = launch("scale", *words, "--dry-run")
    assert done.code == (0 if says is None else 3 if "missing" in text else 2), done.err
    assert says is None or says in done.err


def contents() -> dict[str, bytes]:
    """Every file of the folder."""
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "words", "says"),
    [
        ("exact", ("--grid", "1", "--block", "64"), "compiled for exactly 32,2 (.reqntid)"),
        ("bound", ("--grid", "1", "--block", "65"), "at most 64 (.maxntid)"),
        ("bound", ("--grid", "1"), "--block is missing"),
        ("dynamic", ("--grid", "1", "--block", "1", "--shared", "232448"), "232448 dynamic + 1024 static"),
    ],
)
def test_directives_bind(launch: Launch, name: str, words: tuple[str, ...], says: str) -> None:
    """What a directive or the shared memory does not allow is refused with both numbers."""
    done = launch(name, *words)
    assert done.code == 2
    assert says in done.err


def test_clusters_divide_the_grid(launch: Launch) -> None:
    """The grid is a multiple of the cluster in each axis; the axis that is not is named."""
    done = launch("exact", "--grid", "5", "--cluster", "2")
    assert done.code == 2
    assert "x is 5, no multiple of the cluster's 2" in done.err
    assert "x could be 6" in done.err
    assert "a cluster of 32 blocks" in launch("exact", "--grid", "32", "--cluster", "32").err


def test_dynamic_shared_memory_that_nothing_tells(launch: Launch) -> None:
    """A kernel that uses dynamic shared memory is launched with none only with a word about it."""
    done = launch("dynamic", "--grid", "1", "--block", "1")
    assert done.code == 0, done.err
    assert "nothing tells how much" in done.err
    assert launch("dynamic", "--grid", "1", "--block", "1", "--shared", "64").err == ""


def test_several_kernels(launch: Launch, tmp_path: Path) -> None:
    """Of several kernels one is named; else all are listed."""
    (tmp_path / "both.ptx").write_text(kernels.HEADER + kernels.EXACT + kernels.BOUND)
    done = launch("both", "--grid", "1")
    assert done.code == 2
    assert "2 kernels are here" in done.err
    assert "exact" in done.err
    assert launch("both", "--grid", "1", "--entry", "exact").code == 0


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", 3),
        (b"\x00\x01\x02", 3),
        (b"hello", 3),
        (b".version 8.0\n.target sm_80\n", 2),
        (b"\x7fELFxxxx", 3),
    ],
)
def test_files_that_are_no_kernels(launch: Launch, tmp_path: Path, data: bytes, code: int) -> None:
    """What is no program, or holds no kernel, is told in one message."""
    (tmp_path / "odd.ptx").write_bytes(data)
    done = launch("odd", "--grid", "1")
    assert done.code == code
    assert "error:" in done.err


# ---------------------------------------------------------------- faults


def test_a_store_past_the_end(launch: Launch, device: str) -> None:
    """The emulator stops at the store (4); a GPU lets it pass, and the guard zone tells (1)."""
    done = launch("store", "--grid", "1", "--block", "8", "--arg", "p=ptr:8xu32", "--arg", "1", "--arg", "9")
    if device == "cpu":
        assert done.code == 4
        assert "'p'" in done.err or "`p`" in done.err or " p" in done.err
    else:
        assert done.code == 1
        assert "32" in done.out


@pytest.mark.cuda
@pytest.mark.parametrize(
    ("shift", "says", "first"),
    [
        ("2", "at offset 32 (0 bytes past its end) with 0x44, 8 bytes in all", 32),
        ("-1", "at offset -1 (1 byte before its start) with 0x41, 4 bytes in all", -1),
    ],
)
def test_guard_zones_tell_offset_and_value(launch: Launch, shift: str, says: str, first: int) -> None:
    """A stray store that the device lets pass is told with its place and value; exit 1."""
    words = (
        "--grid",
        "1",
        "--block",
        "8",
        "--arg",
        "p=ptr:8xu32",
        "--arg",
        f"i32:{shift}",
        "--arg",
        "0x41424344",
    )
    done = launch("store", *words, on="cuda")
    assert done.code == 1
    assert says in done.out
    document = launch("store", *words, "--json", on="cuda").document
    assert document["guards_ok"] is False
    assert document["overwritten"][0]["offset"] == first
    assert launch("store", *words, "--guard", "0", on="cuda").code == 0


def test_a_trap_is_a_fault(launch: Launch) -> None:
    """trap ends with 4."""
    assert launch("trap", "--grid", "1", "--block", "1").code == 4


def test_a_kernel_that_never_ends(launch: Launch, device: str) -> None:
    """--timeout ends it with 6."""
    assert launch("spin", *ONE_BLOCK, "--timeout", "0.5").code == 6


def test_a_fault_saves_nothing(launch: Launch, device: str) -> None:
    """Files that a failed launch would have written are left as they were."""
    Path("p.npy").write_bytes(b"old")
    words = ("--grid", "1", "--block", "8", "--arg", "p=ptr:8xu32", "--arg", "1000000000", "--arg", "9")
    assert launch("store", *words, "--save", "p=p.npy").code in {1, 4}
    if device == "cpu":
        assert Path("p.npy").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--arg", "x=ptr:@x64.npy", "--save", "x=x.npz"), 2, "hint: name it x.npy"),
        (("--arg", "x=ptr:4xf32@x64.npy"), 2, "give the type it has: 4xf64@x64.npy"),
        (("--arg", "x=ptr:5xf64@x64.npy"), 2, "hint: write 4xf64@x64.npy, or @x64.npy alone"),
        (("--arg", "x=ptr:4xf32@x.csv"), 3, "hint: .csv is written, not read: save it as .npy"),
        (("--arg", "x=ptr:@x.CSV"), 3, "hint: .csv is written, not read: save it as .npy"),
        (("--arg", "x=ptr:4xf32=1", "--expect", "x=@x.csv"), 3, "hint: .csv is written, not read"),
    ],
)
def test_files_of_another_kind(launch: Launch, words: tuple[str, ...], code: int, says: str) -> None:
    """A file of the wrong kind or type is refused, with the words to write."""
    np.save("x64.npy", np.ones(4))
    Path("x.csv").write_text("1\n1\n1\n1\n")
    Path("x.CSV").write_text("1\n1\n1\n1\n")
    done = launch(
        "scale", "--grid", "1", "--block", "1", *words, "--arg", "ptr:4xf32", "--arg", "1", "--arg", "0"
    )
    assert done.code == code
    assert says in done.err


def test_a_directory_that_is_not_there(launch: Launch) -> None:
    """--save into nowhere is refused before the launch."""
    done = launch("scale", *SCALED, "--save", "y=nowhere/y.npy")
    assert done.code == 3
    assert "no such directory" in done.err


def test_errors_in_json(launch: Launch) -> None:
    """--json prints one document also for an error, with its place."""
    done = launch("scale", *SCALED, "--expect", "y=a*q", "--json")
    assert done.code == 2
    assert done.document["exit_code"] == 2
    assert done.document["error"]["column"] == 3
    contract = {"kind", "message", "file", "line", "column", "hint"}
    assert set(done.document["error"]) == contract | {"context", "unsupported"}


# ------------------------------------------------------------- the process


def command(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the program itself."""
    words = (sys.executable, "-m", "teenycuda_cli", *words)
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def test_standard_input(tmp_path: Path) -> None:
    """- is standard input."""
    done = command(
        "launch", "-", "--device", "cpu", *SCALED, "--expect", "y=a*x", input=kernels.HEADER + kernels.SCALE
    )
    assert done.returncode == 0, done.stderr


def test_auto_falls_back_to_the_emulator(tmp_path: Path) -> None:
    """Without a GPU, auto runs on the emulator and says so in one line on standard error."""
    (tmp_path / "k.ptx").write_text(kernels.HEADER + kernels.EXACT)
    done = command("launch", str(tmp_path / "k.ptx"), "--grid", "1", "--json")
    assert done.returncode == 0, done.stderr
    if json.loads(done.stdout)["device"]["kind"] == "cpu":
        assert len(done.stderr.splitlines()) == 1
        assert "emulator" in done.stderr


def test_a_launch_imports_no_more_than_it_needs(tmp_path: Path) -> None:
    """On the emulator neither cuda-python nor rich is imported."""
    (tmp_path / "k.ptx").write_text(kernels.HEADER + kernels.SCALE)
    code = (
        "import sys; from teenycuda_cli.cli import run; "
        "code = run(sys.argv[1:]); "
        "print([m for m in ('cuda', 'rich') if m in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    words = [
        "launch",
        str(tmp_path / "k.ptx"),
        "--device",
        "cpu",
        *SCALED,
        "--expect",
        "y=a*x",
        "--show",
        "y",
    ]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "[]"


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_colour_only_on_a_terminal(tmp_path: Path) -> None:
    """On a terminal words are coloured, with NO_COLOR they are not."""
    (tmp_path / "k.ptx").write_text(kernels.HEADER + kernels.EXACT)
    outputs = []
    for extra in ({}, {"NO_COLOR": "1"}):
        ours, theirs = os.openpty()
        environment = (
            {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"} | extra
        )
        words = [
            sys.executable,
            "-m",
            "teenycuda_cli",
            "launch",
            str(tmp_path / "k.ptx"),
            "--device",
            "cpu",
            "--grid",
            "1",
        ]
        subprocess.run(words, stdout=theirs, stderr=theirs, env=environment, check=True)
        os.close(theirs)
        outputs.append(os.read(ours, 65536))
        os.close(ours)
    assert b"\x1b[" in outputs[0]
    assert b"\x1b[" not in outputs[1]


def test_machine_code(tmp_path: Path) -> None:
    """A cubin tells its parameters' sizes, not their types; the emulator cannot run it."""
    pytest.importorskip("cuda.bindings.nvjitlink")
    (tmp_path / "k.ptx").write_text(kernels.HEADER + kernels.SCALE)
    cubin = str(tmp_path / "k.cubin")
    if command("load", str(tmp_path / "k.ptx"), "--arch", "sm_90", "--cubin", cubin).returncode:
        pytest.skip("nvJitLink is not installed")
    words = (
        "launch",
        cubin,
        "--device",
        "cpu",
        *ONE_BLOCK,
        "--arg",
        "ptr:32xf32",
        "--arg",
        "ptr:32xf32",
    )
    on_gpu = [word.replace("cpu", "cuda:9") for word in words]
    bare = command(*on_gpu, "--arg", "2.5", "--arg", "32", "--dry-run")
    assert bare.returncode == 2
    assert "parameter 2 (4 bytes at offset 16)" in bare.stderr
    typed = ("--arg", "f32:2.5", "--arg", "i32:32")
    dry = json.loads(command(*on_gpu, *typed, "--dry-run", "--json").stdout)
    assert [p["bytes"] for p in dry["params"]] == [None, None, "00002040", "20000000"]
    for given in (words[:4], words, (*words, *typed), (*words, *typed, "--dry-run")):
        refused = command(*given)
        assert refused.returncode == 5, refused.stderr
        assert "this cubin holds machine code alone" in refused.stderr


# ---------------------------------------------------------- what is waited for


@pytest.mark.parametrize(
    "words",
    [
        ["launch", "-", "--device", "cpu"],
        ["launch", "fifo", "--device", "cpu"],
        ["launch", "scale.ptx", "--device", "cpu", *SCALED, "--meta", "fifo"],
        ["launch", "scale.ptx", "--device", "cpu", *SCALED, "--expect", "y=@fifo"],
        ["launch", "scale.ptx", "--device", "cpu", *(w.replace("=randn", "@fifo") for w in SCALED)],
        [
            "launch",
            "scale.ptx",
            "--device",
            "cpu",
            *(w.replace("=randn", "@fifo") for w in SCALED),
            "--dry-run",
        ],
        ["load", "-", "--arch", "sm_90"],
        ["load", "fifo", "--device", "cpu"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_the_timeout_is_watched_while_a_launch_is_prepared(
    words: list[str], json_option: list[str], tmp_path: Path
) -> None:
    """Whatever takes longer before the kernel runs: here, files and buffers that never come."""
    (tmp_path / "scale.ptx").write_text(kernels.HEADER + kernels.SCALE)
    os.mkfifo(tmp_path / "fifo")
    program = [sys.executable, "-m", "teenycuda_cli", *words, "--timeout", "1", *json_option]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, env=environment
    ) as running:
        assert running.stdout is not None
        out = running.stdout.read()
        assert running.wait(60) == 6
    if json_option:
        assert json.loads(out)["error"]["kind"] == "timeout"


def test_a_dry_run_tells_the_device_that_a_launch_would_take(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name; of a GPU asked for by name that is not there, no more than that."""
    monkeypatch.setattr("teenycuda_cli.driver.cuda.library.LIBRARY", "libnothing.so")
    words = (*SCALED, "--dry-run")
    taken = {"kind": "cpu", "name": "embedded emulator", "arch": "sm_90"}
    for device in ("auto", "cpu"):
        done = launch("scale", *words, on=device)
        assert "would run on embedded emulator (sm_90)" in done.out
        assert ("no NVIDIA driver" in done.err) == (device == "auto")
        assert launch("scale", *words, "--json", on=device).document["device"] == taken
    done = launch("scale", *words, "--json", on="cuda")
    assert done.document["device"] == {"kind": "cuda", "name": None, "arch": None}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--tol", "1e-3"], ["--tol 1e-3 has no effect: there is no --expect"]),
        (
            ["--tol", "x:1", "--tol", "y:1", "--expect", "y=a*x"],
            ["--tol x:1 has no effect: no --expect is about x"],
        ),
        (
            ["--tol", "1e-3", "--tol", "1", "--expect", "y=a*x"],
            ["--tol 1e-3 has no effect: another --tol counts"],
        ),
        (
            ["--tol", "rtol=1", "--tol", "y:1e-3", "--expect", "y=a*x"],
            ["--tol rtol=1 has no effect: another --tol"],
        ),
        (["--tol", "rtol=1", "--tol", "y:1e-3", "--expect", "y=a*x", "--expect", "x=x"], []),
        (["--tol", "rtol=1", "--tol", "y:atol=1", "--expect", "y=a*x"], []),
    ],
)
def test_a_tolerance_that_holds_for_nothing_is_named(
    launch: Launch, words: list[str], told: list[str]
) -> None:
    """It is no mistake that ends the launch, and not passed over in silence."""
    for option in ([], ["--json"], ["--dry-run"]):
        done = launch("scale", *SCALED, *words, *option, on="cpu")
        assert done.code == 0
        lines = done.err.splitlines()
        assert len(lines) == len(told)
        assert all(line.startswith(begun) for line, begun in zip(lines, told, strict=True))
