"""What is said where a GPU is not there, cannot be used, or fails: on a driver that does nothing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.cuda.conftest import Run
from tests.cuda.kernels import STORE

LAUNCH = ("--grid", "2", "--block", "32", "--arg", "p=ptr:4xi32=zeros")
GIVEN_BACK = {
    "cuMemAlloc_v2": "cuMemFree_v2",
    "cuModuleLoadDataEx": "cuModuleUnload",
    "cuEventCreate": "cuEventDestroy_v2",
    "cuStreamCreate": "cuStreamDestroy_v2",
    "cuDevicePrimaryCtxRetain": "cuDevicePrimaryCtxRelease_v2",
    "cuGraphInstantiateWithFlags": "cuGraphExecDestroy",
}


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A file with a kernel that stores 7; on the driver that does nothing it does nothing."""
    path = tmp_path / "store.ptx"
    path.write_text(STORE)
    return str(path)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"cuInit": 100}, "sees no GPU"),
        ({"COUNT": 0}, "sees no GPU"),
        ({"cuInit": 999}, "CUDA_ERROR_UNKNOWN: said the fake driver"),
        ({"cuInit": 34}, "stub"),
        ({"VERSION": 11040}, "supports CUDA 11.4, and 12.4 or newer is needed"),
        ({"cuDevicePrimaryCtxRetain": 46}, "exclusive use"),
    ],
)
def test_missing_gpu_is_one_line(run_faked: Run, store: str, answers: dict[str, int], words: str) -> None:
    """A GPU asked for by name that cannot be used ends the program with 77 and says why in one line."""
    result = run_faked("launch", store, *LAUNCH, "--device", "cuda", **answers)
    assert result.returncode == 77
    assert words in result.stderr.splitlines()[0]
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("launch", "{store}", "--grid", "2", "--arg", "p=ptr:4xi32"),
        ("launch", "{store}", "--block", "32", "--arg", "p=ptr:4xi32"),
        ("launch", "{store}", "--grid", "2", "--block", "32"),
        ("launch", "{store}", *LAUNCH, "--arg", "q=5"),
        ("launch", "{store}", *LAUNCH, "--expect", "q=5"),
        ("launch", "{store}", "--grid", "two"),
        ("launch", "{store}.missing", *LAUNCH),
        ("load", "{store}.missing"),
        ("load", "{store}", "--cubin", "{store}"),
    ],
    ids=" ".join,
)
def test_a_missing_gpu_comes_before_other_mistakes(
    run_faked: Run, store: str, words: tuple[str, ...]
) -> None:
    """A job that skips at 77 skips whatever else is wrong; with the GPU, the mistake is told."""
    command = [word.format(store=store) for word in words] + ["--device", "cuda"]
    assert run_faked(*command, cuInit=100).returncode == 77
    there = run_faked(*command)
    assert there.returncode in {2, 3}
    assert "GPU" not in there.stderr


def test_gpu_number_past_the_last(run_faked: Run, store: str) -> None:
    """The number of a GPU that is not there is answered with those that are."""
    result = run_faked("launch", store, *LAUNCH, "--device", "cuda:2", COUNT=2)
    assert result.returncode == 77
    assert "no GPU 2: the driver sees cuda:0 to cuda:1" in result.stderr


def test_unknown_device_name(run_faked: Run, store: str) -> None:
    """A device name that is none is bad usage."""
    result = run_faked("launch", store, *LAUNCH, "--device", "gpu")
    assert result.returncode == 2
    assert "auto, cuda, cuda:N" in result.stderr


def test_auto_falls_back(run_faked: Run, store: str) -> None:
    """Without a GPU, `auto` runs on the emulator and says so in one line on standard error."""
    result = run_faked("launch", store, *LAUNCH, "--json", "--expect", "p=7,0,0,0", cuInit=100)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["device"]["kind"] == "cpu"
    assert len([line for line in result.stderr.splitlines() if "embedded emulator" in line]) == 1


def test_devices_lists_the_emulator_alone(run_faked: Run) -> None:
    """Without a GPU, `devices` lists the emulator and says on standard error why there is no more."""
    result = run_faked("devices", "--json", cuInit=100)
    assert result.returncode == 0
    assert [device["id"] for device in json.loads(result.stdout)["devices"]] == [None]
    assert "sees no GPU" in result.stderr


def test_devices_lists_every_gpu(run_faked: Run) -> None:
    """`devices` tells the properties of each GPU, without making a context on any."""
    result = run_faked("devices", "--json", COUNT=2, cuDevicePrimaryCtxRetain=46)
    gpus = json.loads(result.stdout)["devices"][1:]
    assert [gpu["id"] for gpu in gpus] == [0, 1]
    assert gpus[0]["name"] == "Fake GPU"
    assert gpus[0]["max_grid_size"] == [2147483647, 65535, 65535]
    assert gpus[0]["shared_mem_per_block_optin"] == 232448
    assert gpus[0]["driver_version"] == "13.0"


def test_fault_names_call_error_kernel_and_shape(run_faked: Run, store: str) -> None:
    """A fault is told as the first call that failed, with the error, the kernel, grid, block and a way on."""
    result = run_faked("launch", store, *LAUNCH, "--device", "cuda", cuEventQuery=700)
    assert result.returncode == 4
    for words in ("cuEventQuery", "CUDA_ERROR_ILLEGAL_ADDRESS", "grid 2", "block 32", "kernel k"):
        assert words in result.stderr
    command = f"teenycuda launch {store} --grid 2 --block 32 --arg p=ptr:4xi32=zeros --device cpu"
    assert result.stderr.rstrip().endswith(command)
    assert "could not be given back" not in result.stderr


def test_timeout_ends_the_process(run_faked: Run, store: str) -> None:
    """A kernel that never ends ends the program with 6 when `--timeout` has passed."""
    result = run_faked("launch", store, *LAUNCH, "--device", "cuda", "--timeout", "2", cuEventQuery=600)
    assert result.returncode == 6
    assert "kernel k was still running" in result.stderr


@pytest.mark.parametrize(
    "call",
    [
        "cuStreamCreate",
        "cuMemAlloc_v2",
        "cuMemcpyHtoD_v2",
        "cuMemsetD8Async",
        "cuModuleLoadDataEx",
        "cuModuleGetFunction",
        "cuEventCreate",
        "cuEventRecord",
        "cuLaunchKernelEx",
        "cuMemcpyDtoH_v2",
        "cuStreamBeginCapture_v2",
        "cuGraphLaunch",
    ],
)
def test_everything_is_given_back(run_faked: Run, store: str, tmp_path: Path, call: str) -> None:
    """Wherever a launch fails, what was taken before is given back: memory, module, events, context."""
    log = tmp_path / "calls"
    graph = ["--graph"] if "Graph" in call or "Capture" in call else []
    answers = {call: 999, "LOG": str(log)}
    result = run_faked("launch", store, *LAUNCH, "--device", "cuda", *graph, **answers)
    assert result.returncode in {3, 4}, result.stderr
    assert "CUDA_ERROR_UNKNOWN" in result.stderr
    calls = Counter(log.read_text().split())
    for take, give in GIVEN_BACK.items():
        taken = calls[take] - (take == call)
        assert calls[give] == taken, f"{take}: {taken}, {give}: {calls[give]}"


def test_failed_unload_is_told(run_faked: Run, store: str) -> None:
    """A module that cannot be unloaded is a warning, not a failure."""
    result = run_faked("launch", store, *LAUNCH, "--device", "cuda", cuModuleUnload=999)
    assert result.returncode == 0, result.stderr
    assert "could not be given back" in result.stderr


def test_refused_ptx_is_placed_in_the_users_file(run_faked: Run, tmp_path: Path) -> None:
    """What the driver's assembler refuses at a launch is told with the line of the file before stripping."""
    path = tmp_path / "store.ptx"
    path.write_text(STORE.replace("st.global", '.file 1 "k.cu"\n.loc 1 2 3\nst.global', 1))
    line = next(number for number, text in enumerate(path.read_text().split("\n"), 1) if "st.global" in text)
    words = f"ptxas application ptx input, line {line - 2}; error   : Arguments mismatch for instruction 'st'"
    answers = {"cuModuleLoadDataEx": 218, "ERROR": words}
    result = run_faked("launch", str(path), *LAUNCH, "--device", "cuda", **answers)
    assert result.returncode == 3
    first, shown = result.stderr.splitlines()[:2]
    assert first == f"{path}:{line}:1: error: Arguments mismatch for instruction 'st'"
    assert shown == f" {line} | st.global.u32 [%d], %r;"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            STORE.replace("sm_80", "sm_100a"),
            "which runs on compute capability 10.0 alone",
        ),
        (STORE.replace("sm_80", "sm_90a"), "Arguments mismatch"),
        (STORE.replace("sm_80", "sm_100f").replace("8.0", "8.8"), "10.0 and later ones of 10.x alone"),
        (STORE.replace("sm_80", "sm_103").replace("8.0", "8.8"), "needs compute capability 10.3 or higher"),
        (STORE.replace("8.0", "9.1"), "CUDA 13.0 assembles PTX up to 9.0"),
    ],
)
def test_a_refusal_names_the_rule(run_faked: Run, tmp_path: Path, text: str, words: str) -> None:
    """PTX that the GPU, an sm_90, or its driver cannot take is refused by the rule that it breaks."""
    path = tmp_path / "store.ptx"
    path.write_text(text)
    error = "ptxas application ptx input, line 7; error   : Arguments mismatch for instruction 'st'"
    result = run_faked("load", str(path), "--device", "cuda", cuModuleLoadDataEx=218, ERROR=error)
    assert result.returncode == 3
    assert words in result.stderr.splitlines()[0]


@pytest.mark.parametrize(("length", "truncated"), [(70_000, False), (2_000_000, True)])
def test_long_log_is_whole_or_said_to_be_cut(
    run_faked: Run, store: str, length: int, truncated: bool
) -> None:
    """A log beyond the first buffer comes whole, and one beyond the largest says that it is cut."""
    result = run_faked("load", store, "--device", "cuda", "--json", LOG_BYTES=length)
    log = json.loads(result.stdout)["log"]
    assert log["truncated"] is truncated
    assert len(log["info"]) == min(length, 1024 * 1024 - 1)


@pytest.mark.parametrize(("options", "cache"), [((), "cache_off"), (("--cache",), "cache_on")])
def test_load_assembles_anew(
    run_faked: Run, store: str, tmp_path: Path, options: tuple[str, ...], cache: str
) -> None:
    """The driver's cache, which keeps no log, is off in a load unless `--cache` asks for it."""
    log = tmp_path / "calls"
    result = run_faked("load", store, "--device", "cuda", "--json", *options, LOG=str(log))
    assert json.loads(result.stdout)["assembler"] == "driver"
    assert cache in log.read_text().split()


def test_launch_uses_the_cache(run_faked: Run, store: str, tmp_path: Path) -> None:
    """A launch takes what the driver has assembled before."""
    log = tmp_path / "calls"
    run_faked("launch", store, *LAUNCH, "--device", "cuda", LOG=str(log))
    assert "cache_on" in log.read_text().split()


@pytest.mark.parametrize(("device", "name"), [("auto", "Fake GPU"), ("cuda:1", "Fake GPU"), ("cuda:2", None)])
def test_a_dry_run_tells_the_gpu(run_faked: Run, store: str, device: str, name: str | None) -> None:
    """The one that a launch would take, by its name, with no context made on it."""
    words = ("launch", store, *LAUNCH, "--device", device, "--dry-run")
    result = run_faked(*words, "--json", COUNT=2, cuDevicePrimaryCtxRetain=46)
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)["device"]
    assert (told["kind"], told["name"]) == ("cuda", name)
    assert f"would run on {name or 'cuda'}" in run_faked(*words, COUNT=2).stdout


def test_machine_code_without_a_gpu_is_refused_at_once(run_faked: Run) -> None:
    """Where `auto` comes to the emulator, before any argument is asked for; not where there is a GPU."""
    cubin = str(Path(__file__).parents[1] / "binary" / "add.sm90a.cubin")
    assert run_faked("launch", cubin, cuInit=100).returncode == 5
    assert run_faked("launch", cubin, "--dry-run", cuInit=100).returncode == 5
    assert run_faked("launch", cubin).returncode == 2
