"""Assembling in a process of its own: results, refusals, and an assembler that crashes, hangs or raves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from teenycuda_cli.binary import Cubin, read
from teenycuda_cli.driver.assembly.architectures import normal_arch
from teenycuda_cli.driver.assembly.assembler import Assembly, assemble
from teenycuda_cli.driver.assembly.diagnostics import diagnose
from teenycuda_cli.errors import PtxSyntaxError, TimeoutExpired, UsageError
from teenycuda_cli.ptx.source import Source

CORPUS = Path(__file__).parent.parent / "corpus"
HEADER = ".version 8.4\n.target sm_90\n.address_size 64\n"
SPILLING = (CORPUS / "nvcc" / "kernels.sm90.ptx").read_bytes()


def _ptx(body: str, header: str = HEADER) -> bytes:
    return f"{header}{body}\n".encode()


def _assemble(body: str, arch: str = "sm_90") -> Assembly:
    return assemble(_ptx(body), arch=arch)


def test_machine_code_comes_out() -> None:
    """The cubin is for the architecture asked for, and each entry says what it uses."""
    assembly = assemble((CORPUS / "triton" / "vector_add.sm90.ptx").read_bytes(), arch="sm_90a")
    assert (assembly.ok, assembly.arch, assembly.assembler) == (True, "sm_90a", "nvjitlink")
    assert assembly.cubin is not None
    content = read(assembly.cubin, "out")
    assert isinstance(content, Cubin)
    assert content.arch == "sm_90a"
    (entry,) = assembly.entries
    assert (entry.name, entry.max_threads, entry.binary_version) == ("vector_add", 128, 90)
    assert entry.registers
    assert [(each.offset, each.size) for each in entry.params][:3] == [(0, 8), (8, 8), (16, 8)]
    assert (entry.spill_store_bytes, entry.spill_load_bytes, entry.shared_bytes) == (0, 0, 0)
    assert assembly.ms > 0


def test_every_entry_is_there() -> None:
    """A module of many entries gives each of them, with its own stack and shared memory."""
    entries = {each.name: each for each in assemble(SPILLING, arch="sm_90").entries}
    assert len(entries) == SPILLING.count(b".entry")
    assert entries["transpose"].shared_bytes == 32 * 33 * 4
    assert entries["print_it"].stack_bytes
    assert (entries["math"].local_bytes or 0) > (entries["math"].stack_bytes or 0)  # it calls a function
    assert not entries["saxpy"].stack_bytes


def test_few_registers_spill() -> None:
    """`max_registers` bounds the registers, and what then spills is counted."""
    free = {each.name: each for each in assemble(SPILLING, arch="sm_90").entries}
    bounded = {each.name: each for each in assemble(SPILLING, arch="sm_90", max_registers=24).entries}
    name = "_Z8matmul_tILi16EEvPKfS1_Pfi"
    assert (free[name].registers or 0) > 24 >= (bounded[name].registers or 0)
    assert free[name].spill_store_bytes == 0


def test_optimization_level_reaches_the_assembler() -> None:
    """Unoptimized code is other code."""
    fast, slow = (assemble(SPILLING, arch="sm_90", opt_level=level).cubin for level in (3, 0))
    assert fast
    assert slow
    assert fast != slow


@pytest.mark.parametrize("spelling", ["sm_90a", "90a", "sm90a", "compute_90a", "SM_90A"])
def test_spellings_of_an_architecture(spelling: str) -> None:
    """The usual spellings of an architecture mean the same."""
    assert normal_arch(spelling) == "sm_90a"


@pytest.mark.parametrize("word", ["", "sm_", "hopper", "sm_90b", "9", "-arch=sm_90", "sm_90 -g", "sm_9000"])
def test_what_is_no_architecture(word: str) -> None:
    """Any other word is refused before the assembler sees it."""
    with pytest.raises(UsageError):
        assemble(_ptx(".visible .entry k(){ ret; }"), arch=word)


@pytest.mark.parametrize("arch", ["sm_20", "sm_999"])
def test_architectures_that_the_assembler_lacks(arch: str) -> None:
    """An architecture too old or not known gives one line that names it."""
    assembly = _assemble(".visible .entry k(){ ret; }", arch)
    assert not assembly.ok
    assert assembly.failure is not None
    assert arch in assembly.failure


def test_trailing_nuls_do_no_harm() -> None:
    """Text is terminated by exactly one NUL, however many it came with."""
    text = _ptx(".visible .entry k(){ ret; }")
    cubins = [assemble(text + b"\0" * count, arch="sm_90").cubin for count in (0, 1, 7)]
    assert cubins[0]
    assert cubins[0] == cubins[1] == cubins[2]


def test_a_nul_inside_is_refused_with_its_place() -> None:
    """A NUL in the middle, where assemblers stop reading without a word, is an error with line and column."""
    with pytest.raises(PtxSyntaxError) as caught:
        assemble(_ptx(".visible .entry k(){ ret; }") + b"  \0.visible .entry l(){ ret; }", arch="sm_90")
    assert (caught.value.line, caught.value.column) == (5, 3)


@pytest.mark.parametrize("data", [b"", b"\n", b"hello", b".version", bytes(range(1, 256)), HEADER.encode()])
def test_no_ptx_at_all(data: bytes) -> None:
    """Whatever the bytes, the assembler's answer comes back and says something."""
    assembly = assemble(data, arch="sm_90")
    assert assembly.ok == (data == HEADER.encode())
    assert bool(diagnose(assembly, Source(data, "x"))) != assembly.ok


# ------------------------------------------------------------ an assembler that misbehaves


def _stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Put another `cuda.bindings.nvjitlink` before the installed one, for child processes."""
    package = tmp_path / "cuda" / "bindings"
    package.mkdir(parents=True)
    (tmp_path / "cuda" / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "nvjitlink.py").write_text("import os, signal, sys, time\n" + code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def _failing(words: str) -> str:
    return (
        "class nvJitLinkError(Exception): pass\n"
        "def version(): return (13, 0)\n"
        f"def create(count, options):\n    {words}\n"
    )


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGBUS"])
def test_a_crash_is_survived_and_told(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An assembler that dies by a signal gives an assembly that is not ok, by which, and no core file."""
    _stand_in(tmp_path, monkeypatch, _failing(f"os.kill(os.getpid(), signal.{name})"))
    monkeypatch.chdir(tmp_path)
    before = set(os.listdir())
    assembly = _assemble(".visible .entry k(){ ret; }")
    assert not assembly.ok
    assert assembly.failure is not None
    assert name in assembly.failure
    (diagnostic,) = diagnose(assembly, Source(b"", "x"))
    assert diagnostic.severity == "error"
    assert set(os.listdir()) == before


def test_a_quiet_exit_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An assembler that ends without an answer is an error too, with its status and its last words."""
    _stand_in(tmp_path, monkeypatch, _failing("os.write(2, b'out of luck'); os._exit(42)"))
    assembly = _assemble(".visible .entry k(){ ret; }")
    assert assembly.failure is not None
    assert "status 42" in assembly.failure
    assert "out of luck" in assembly.error_log


def test_a_hang_ends_at_the_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`timeout` ends an assembler that hangs, and leaves no process behind."""
    pid = tmp_path / "pid"
    _stand_in(
        tmp_path,
        monkeypatch,
        _failing(
            f"open({str(pid)!r}, 'w').write(str(os.getpid())); any(map(time.sleep, iter(lambda: 1, 0)))"
        ),
    )
    with pytest.raises(TimeoutExpired, match=r"longer than 2 s"):
        assemble(_ptx(".visible .entry k(){ ret; }"), arch="sm_90", timeout=2)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_the_assembler_ends_with_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the program is killed while it assembles, the assembler does not live on."""
    pid = tmp_path / "pid"
    _stand_in(
        tmp_path, monkeypatch, _failing(f"open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    )
    module = "teenycuda_cli.driver.assembly.assembler"
    code = f"from {module} import assemble; assemble(b'.version 8.0', arch='sm_90')"
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        _wait_until(lambda: pid.exists() and pid.read_text() != "")
        parent.kill()
    _wait_until(lambda: not _runs(int(pid.read_text())))


def _runs(pid: int) -> bool:
    """Whether a process is there and is no zombie that nobody collects."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_the_library_prints_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Megabytes on the child's standard output and error neither block it nor reach ours."""
    noise = "[os.write(fd, b'rubbish\\n' * 8192) for fd in (1, 2) for _ in range(64)]"
    _stand_in(tmp_path, monkeypatch, _failing(f"{noise}; raise nvJitLinkError('ERROR_INTERNAL (6)')"))
    assembly = assemble(_ptx(".visible .entry k(){ ret; }"), arch="sm_90", timeout=60)
    assert assembly.failure == "nvJitLink 13.0 fails: ERROR_INTERNAL (6)"
    assert capfd.readouterr() == ("", "")


def test_the_working_directory_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that lie where the user works are not imported in place of the real ones."""
    (tmp_path / "cuda").mkdir()
    (tmp_path / "cuda" / "__init__.py").write_text("raise SystemExit(9)")
    (tmp_path / "struct.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    assert _assemble(".visible .entry k(){ ret; }").ok


def test_a_timeout_beyond_all_time() -> None:
    """A timeout longer than the system can wait for is as good as none."""
    assert assemble(_ptx(".visible .entry k(){ ret; }"), arch="sm_90", timeout=1e300).cubin
