"""Standard streams that are closed, and text that their encoding lacks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parent.parent / "samples" / "vector_add.ptx"
COMMAND = [sys.executable, "-m", "teenycuda_cli"]


def _in_shell(script: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {script}', "sh", *COMMAND, *words], capture_output=True, check=False
    )


@pytest.mark.parametrize("words", [["inspect"], ["inspect", "--json"], ["strip"]])
def test_a_closed_output_is_told_as_a_full_disk_is(words: list[str]) -> None:
    """With standard output closed, results are an error with a message, not a traceback."""
    ended = _in_shell(">&-", *words, str(SAMPLE))
    assert ended.returncode == 3
    assert ended.stderr.startswith(b"error: cannot write the output")


def test_a_file_is_written_with_every_stream_closed(tmp_path: Path) -> None:
    """No stream's number is taken by the file, so that no message ends up in it."""
    out = tmp_path / "out.ptx"
    ended = _in_shell(">&- 2>&- <&-", "strip", str(SAMPLE), "-o", str(out))
    assert ended.returncode == 0
    assert out.read_bytes() == _in_shell("", "strip", str(SAMPLE)).stdout


@pytest.mark.parametrize(
    ("encoding", "word", "code"),
    [
        ("utf-8:strict", "inspect", 0),
        ("utf-8:strict", "launch", 2),
        ("ascii", "inspect", 0),
        ("latin-1", "launch", 2),
    ],
)
def test_a_file_name_that_is_no_text(tmp_path: Path, encoding: str, word: str, code: int) -> None:
    """Its bytes are shown as they are, in results and in messages, whatever the encoding."""
    name = os.fsencode(tmp_path) + b"/\xff\xfe.ptx"
    shutil.copy(SAMPLE, name)
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    ended = subprocess.run([*COMMAND, word, name], capture_output=True, check=False, env=environment)
    assert ended.returncode == code
    assert b"/\xff\xfe.ptx" in ended.stdout + ended.stderr


def test_metadata_with_half_a_character(tmp_path: Path) -> None:
    """A lone surrogate out of a JSON file is shown as an escape."""
    (tmp_path / "m.json").write_text('{"name": "\\ud800", "num_warps": 4}')
    words = ["inspect", str(SAMPLE), "--meta", str(tmp_path / "m.json")]
    ended = subprocess.run(
        [*COMMAND, *words], capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": "utf-8"}
    )
    assert ended.returncode == 0
    assert b"\\ud800" in ended.stdout


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1"])
def test_standard_output_by_its_path(tmp_path: Path, path: str) -> None:
    """It is written through a pipe, and behind what a file holds already where the shell appends."""
    whole = _in_shell("", "strip", str(SAMPLE)).stdout
    assert _in_shell("", "strip", str(SAMPLE), "-o", path).stdout == whole
    log = tmp_path / "log"
    log.write_bytes(b"before\n")
    _in_shell(f">>'{log}'", "strip", str(SAMPLE), "-o", path)
    assert log.read_bytes() == b"before\n" + whole


@pytest.mark.parametrize("words", [["inspect", ""], ["strip", str(SAMPLE), "-o", ""]])
def test_an_empty_name(words: list[str]) -> None:
    """An empty name is said to be that."""
    ended = subprocess.run([*COMMAND, *words], capture_output=True, check=False)
    assert ended.returncode == 3
    assert b"is empty" in ended.stderr


def test_json_has_the_lines_under_a_message() -> None:
    """What a terminal shows under the message is in the document's `context`."""
    words = ["inspect", str(SAMPLE), "--entry", "nope", "--json"]
    ended = subprocess.run([*COMMAND, *words], capture_output=True, check=False)
    assert json.loads(ended.stdout)["error"]["context"] == ["  vector_add"]


@pytest.mark.parametrize(
    "words",
    [
        ["strip", str(SAMPLE), "-o", "/dev/stdout"],
        ["load", str(SAMPLE), "--arch", "sm_90", "--cubin", "/dev/fd/1"],
        ["launch", str(SAMPLE), "--save", "x=/proc/self/fd/1"],
    ],
)
def test_standard_output_by_its_path_is_the_documents(words: list[str]) -> None:
    """With --json nothing else is written to standard output, whatever name it goes by."""
    launch = ["--device", "cpu", "--grid", "1", *(f"--arg={name}=ptr:9xf32" for name in "xyz"), "--arg=9"]
    ended = _in_shell("", *words, *(launch if words[0] == "launch" else ()), "--json")
    assert ended.returncode == 2
    assert json.loads(ended.stdout)["exit_code"] == 2


def test_assembling_with_standard_input_closed() -> None:
    """Nothing that the assembler's process is given takes the number of standard input."""
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, "load", str(SAMPLE), "--arch", "sm_90"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    ("words", "code"), [(["strip", str(SAMPLE)], 0), (["inspect", "/nowhere"], 3), (["launc"], 2)]
)
def test_messages_that_cannot_be_written(words: list[str], code: int) -> None:
    """The exit code tells what happened also where nobody can be told in words."""
    assert _in_shell("2>/dev/full", *words).returncode == code


@pytest.fixture
def heeded() -> Iterator[None]:
    """Let Ctrl-C work in new processes, which a shell takes from what it starts in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize("option", [[], ["--json"]])
def test_an_interrupt(tmp_path: Path, option: list[str]) -> None:
    """Ctrl-C ends a command with a message, or with its document, and the code that shells give it."""
    fifo = tmp_path / "kernel.ptx"
    os.mkfifo(fifo)
    words = [*COMMAND, "inspect", str(fifo), *option]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process, fifo.open("wb"):  # it opens once the command reads
        process.send_signal(signal.SIGINT)
        told, said = process.communicate(timeout=60)
    assert process.returncode == 130
    if option:
        document = json.loads(told)
        assert (document["error"]["kind"], document["exit_code"]) == ("interrupted", 130)
    else:
        assert said == b"error: interrupted\n"


@pytest.mark.parametrize("words", [["inspect", "-", "-"], ["inspect", "-", "--meta", "-"]])
def test_standard_input_twice(words: list[str]) -> None:
    """What is read once is not taken for empty the second time."""
    ended = subprocess.run([*COMMAND, *words], input=SAMPLE.read_bytes(), capture_output=True, check=False)
    assert ended.returncode == 3
    assert b"was read already" in ended.stderr or b"is no JSON" in ended.stderr
    assert b"is empty" not in ended.stderr


VECTOR_ADD = f"launch {SAMPLE} --device cpu --grid 1 --arg x=ptr:9xf32 --arg y=ptr:9xf32 --arg out=ptr:9xf32"


@pytest.mark.parametrize(
    "line",
    [
        "inspect -",
        f"inspect {SAMPLE} --meta -",
        "strip - -o out.ptx",
        "load - --arch sm_90",
        "load - --device cpu",
        "launch - --device cpu --grid 1",
        f"{VECTOR_ADD} --arg 9 --meta -",
        f"{VECTOR_ADD.replace('9xf32 ', '@- ', 1)} --arg 9",
        f"{VECTOR_ADD.replace('9xf32 ', '9xf32@- ', 1)} --arg 9",
        f"{VECTOR_ADD} --arg 9 --expect out=@-",
    ],
)
def test_one_name_for_standard_input(line: str, tmp_path: Path) -> None:
    """Whatever is read from it and is wrong stands at `<stdin>`, in a message and in a document."""
    for json_option in ([], ["--json"]):
        ended = subprocess.run(
            [*COMMAND, *line.split(), *json_option],
            input=b"\x93NUMPY nothing",
            capture_output=True,
            check=False,
            cwd=tmp_path,
        )
        assert ended.returncode in {2, 3}
        if json_option:
            assert json.loads(ended.stdout)["error"]["file"] == "<stdin>"
        else:
            assert ended.stderr.startswith(b"<stdin>")


@pytest.mark.parametrize(
    ("words", "key"), [(["inspect"], "path"), (["strip"], "file"), (["load", "--arch", "sm_90"], "file")]
)
def test_the_same_name_in_results(words: list[str], key: str) -> None:
    """A document calls its input as an error does."""
    ended = subprocess.run(
        [*COMMAND, *words, "-", "--json"], input=SAMPLE.read_bytes(), capture_output=True, check=True
    )
    document = json.loads(ended.stdout)
    assert document.get("files", [document])[0][key] == "<stdin>"


@pytest.mark.usefixtures("heeded")
def test_an_interrupt_at_any_time() -> None:
    """From the first import of ours on, Ctrl-C leaves no traceback."""
    script = (
        "import os, signal, sys\n"
        "from teenycuda_cli import __main__\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'teenycuda_cli.cli': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.argv[1:] = ['devices']\n"
        "__main__.main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGINT
    assert ended.stderr == b""
