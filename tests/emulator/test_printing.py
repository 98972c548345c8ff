"""What a kernel prints: its text, and where it goes when the kernel does not come to its end."""

from __future__ import annotations

import re

import numpy as np
import pytest

from teenycuda_cli.driver.device import LaunchOutcome
from teenycuda_cli.emulator.machine.printed import CALL_BYTES, MOST_BYTES
from teenycuda_cli.errors import LaunchError, TimeoutExpired
from tests.emulator.harness import Session, entry
from tests.work import peak_bytes

LONGEST = (1 << 31) - 1


def printing(text: str, after: str = "", **options: int) -> Session:
    """A kernel of each thread's number, printed by the format `text`."""
    data = [*text.encode(), 0]
    body = f"""
    .local .align 8 .b8 packed[8];
    mov.u32 %r0, %tid.x; mov.u64 %d0, packed; st.local.u32 [%d0], %r0; cvta.local.u64 %d0, %d0;
    mov.u64 %d1, format; cvta.global.u64 %d1, %d1;
    mov.u32 %r5, 0;
    AGAIN:
    {{ .param .b64 a; .param .b64 b; .param .b32 r;
    st.param.b64 [a], %d1; st.param.b64 [b], %d0; call (r), vprintf, (a, b); }}
    {after}
    """
    before = (
        ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);\n"
        f".global .b8 format[{len(data)}] = {{{', '.join(map(str, data))}}};"
    )
    return Session(entry(body, params="", before=before), **options)


def test_text_is_utf8() -> None:
    """As a source has it; what is no UTF-8 is replaced."""
    assert printing("é €\n").launch(block=(1,)).printf == "é €\n"
    text = printing("<%c>").launch(block=(195,)).printf
    assert text.startswith("<\0><\x01>")
    assert text.endswith("<\N{REPLACEMENT CHARACTER}>")


@pytest.mark.parametrize("end", ["trap;", "st.global.u32 [0], %r0;"])
def test_what_was_printed_before_a_fault_is_told(end: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, in the order of an end that is well."""
    with pytest.raises(LaunchError):
        printing("from %d,", end).launch(block=(3,))
    assert capsys.readouterr() == ("", "from 0,from 1,from 2,\n")


def test_what_was_printed_before_the_timeout_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines of an endless loop; and all lanes of one call are not waited for."""
    with pytest.raises(TimeoutExpired):
        printing("%d\n", "bra AGAIN;").launch(block=(2,), timeout=0.05)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:4] == ["0", "1", "0", "1"]
    assert set(lines) == {"0", "1"}


def test_a_call_that_many_lanes_make_ends_at_the_timeout(capsys: pytest.CaptureFixture[str]) -> None:
    """Not when the last of them has printed."""
    lanes = 1 << 16
    with pytest.raises(TimeoutExpired):
        printing("%d\n").launch(grid=(lanes // 1024,), block=(1024,), timeout=0.05)
    assert len(capsys.readouterr().err.splitlines()) < lanes


@pytest.mark.parametrize("spec", [f"%{LONGEST + 1}d", f"%.{LONGEST + 1}f", f"%-{10**30}s"])
def test_a_width_that_no_int_holds(spec: str) -> None:
    """It is refused in words of its own."""
    message = re.escape(f"the kernel k printed with a width or precision above {LONGEST}")
    with pytest.raises(LaunchError, match=message):
        printing(spec).launch(block=(1,))


def test_the_newest_of_too_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed takes bounded memory; how many calls are missing is told."""
    monkeypatch.setattr("teenycuda_cli.emulator.machine.printed.MOST_BYTES", 10 * (CALL_BYTES + 3))
    session = printing("%d\n", "add.u32 %r5, %r5, 1; setp.lt.u32 %p5, %r5, 7; @%p5 bra AGAIN;")
    done = session.launch(block=(3,))
    assert (done.printf, done.printf_dropped) == ("0\n1\n2\n" * 3 + "2\n", 11)
    assert done.printf_notice == "printf: more than is kept; without the first 11 calls"


def test_an_endless_loop_of_printf_fills_no_memory(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the same after a hundred times what is kept."""
    monkeypatch.setattr("teenycuda_cli.emulator.machine.printed.MOST_BYTES", 1 << 16)
    session = printing("%1000d\n", "bra AGAIN;", watchdog=1 << 10)

    def endless() -> None:
        with pytest.raises(LaunchError, match="does not end"):
            session.launch(block=(32,))

    assert peak_bytes(endless) < 1 << 21
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 + (1 << 16) // (1001 + CALL_BYTES)
    told = re.fullmatch(r"printf: more than is kept; without the first (\d+) calls", lines[-1])
    assert told is not None
    assert int(told[1]) > 100 * len(lines)


@pytest.mark.parametrize(
    "spec", [f"%{LONGEST}d", f"%-{LONGEST}d|", f"%.{LONGEST}d", f"%{MOST_BYTES // 2}d" * 2]
)
def test_a_call_longer_than_what_is_kept(spec: str) -> None:
    """It is dropped as a whole, and takes no more memory than is kept."""
    outcomes: list[LaunchOutcome] = []
    assert peak_bytes(lambda: outcomes.append(printing(spec).launch(block=(1,)))) < 8 * MOST_BYTES
    assert (outcomes[0].printf, outcomes[0].printf_dropped) == ("", 1)


def test_an_assertion_is_utf8() -> None:
    """Its text as the source has it."""
    message = [*"é".encode(), 0]
    text = entry(
        """
        { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
        mov.u64 %d0, message; st.param.b64 [a], %d0; st.param.b64 [b], %d0;
        st.param.b32 [c], 12; st.param.b64 [d], %d0; st.param.b64 [e], 1;
        call __assertfail, (a, b, c, d, e); }
        """,
        before=".extern .func __assertfail"
        "(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);"
        f".global .b8 message[3] = {{{', '.join(map(str, message))}}};",
    )
    session = Session(text)
    with pytest.raises(LaunchError, match="failed an assertion: é"):
        session.launch(session.buffer("out", np.zeros(1, np.uint32)), block=(1,))
