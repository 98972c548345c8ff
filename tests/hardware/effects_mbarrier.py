"""Trials of mbarrier: the counts that arrivals find, the phase after each step, and who waits for it.

An object is nothing to be read: an H200 gives what was in its memory before,
or ones. Of the words that arrivals find, the low half is whatever was in the
register, another number in each run; the high half holds the phase, the
pending count and the upper bits of the transactions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware.inputs import Array
from tests.hardware.trials import Output, Trial, drawn

_SHARED = ".shared .align 16 .b8 NAMEs[4096]; .shared .align 8 .b64 NAMEb;"
_MEETS = 64
_PAIR = (2, 1, 1)
_MEET = "barrier.cluster.arrive; barrier.cluster.wait;"
_PHASE = "mbarrier.test_wait.parity.shared.b64 %p1, [NAMEb], 0; selp.b64 %d9, 1, 0, %p1;"
_UNTIL = "TRY: mbarrier.try_wait.parity.shared.b64 %p9, [NAMEb], {}; @!%p9 bra TRY;"


class Steps:
    """What one thread does to an object, step by step: results go to the first output, one word each.

    The object is at `place`, as the instruction that is tried takes it.
    """

    def __init__(self, space: str) -> None:
        """The object is reached by a generic address where no space is named."""
        self.lines = ["mov.u64 %d5, NAMEb;", "" if space else "cvta.shared.u64 %d5, %d5;"]
        self.place = "[%d5]"
        self.count = 0

    def do(self, *lines: str) -> None:
        """Instructions."""
        self.lines += lines

    def keep(self, register: str) -> None:
        """A register of 64 bits is a result."""
        self.lines.append(f"st.global.b64 [%b0+{8 * self.count}], {register};")
        self.count += 1

    def keep_holds(self, predicate: str) -> None:
        """A predicate is a result."""
        self.do(f"selp.b64 %d9, 1, 0, {predicate};")
        self.keep("%d9")

    def keep_state(self) -> None:
        """What an arrival has found, in %d7, is a result."""
        self.do("shr.u64 %d9, %d7, 32;")
        self.keep("%d9")

    def keep_phase(self) -> None:
        """Whether the first phase is over, or the third, is a result."""
        self.do("mbarrier.test_wait.parity.shared.b64 %p1, [NAMEb], 0;")
        self.keep_holds("%p1")

    def arrive(self) -> None:
        """One more arrival, and what it finds."""
        self.do("mbarrier.arrive.shared.b64 %d7, [NAMEb];")
        self.keep_state()

    def trial(self, text: str, form: Form) -> Trial:
        """All of it, done by a block of one thread."""
        outputs = (Output(8, self.count),)
        return Trial(text, form, "\n".join(self.lines), (), outputs, _SHARED, block=(1, 1, 1))


def _initial(count: int) -> str:
    return f"mbarrier.init.shared.b64 [NAMEb], {count};"


def init(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Objects for few and for as many arrivals as can be."""
    steps = Steps(bound["space"])
    for count in (1, 2, 3, 32, 77, 128, 0x1234, 0x80000, 0xFFFFE, 0xFFFFF):
        steps.do(f"mov.u32 %r1, {count};", f"{name} {steps.place}, %r1;")
        steps.arrive()
        steps.keep_phase()
        steps.do("mbarrier.inval.shared.b64 [NAMEb];")
    yield steps.trial(f"{name} [a], count", form)


def invalidate(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """The memory of an object that is none any more holds a number, then another object."""
    steps = Steps(bound["space"])
    steps.do(_initial(3), f"{name} {steps.place};", "st.shared.b64 [NAMEb], 0x123456789;")
    steps.do("ld.volatile.shared.b64 %d9, [NAMEb];")
    steps.keep("%d9")
    steps.do(_initial(5))
    steps.arrive()
    yield steps.trial(f"{name} [a]", form)


def arrive(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Several phases of arrivals, of several counts and of one."""
    if form.types["d"] == "nothing":
        yield from _arrive_remotely(form, name)
        return
    if ".expect_tx" in name:
        yield _expecting_arrivals(form, name, bound["space"])
        return
    if ".noComplete" in name:
        yield _incomplete_arrivals(form, name, bound["space"])
        return
    yield from _arrivals(form, name, bound["space"])
    if not bound["sem"]:
        yield _contended(form, name, bound["space"])
    if bound["how"] == "arrive_drop" and plain:
        yield _all_drop(form, name, bound["space"])


def _arrivals(form: Form, name: str, space: str) -> Iterator[Trial]:
    drops = "arrive_drop" in name
    counts = {"": (1,) * 9, ", count": (2, 3, 1, 4, 5, 2, 3, 5)}
    if drops:
        counts = {"": (1,), ", count": (2, 1)}
    for operands, given in counts.items():
        steps = Steps(space)
        steps.do(_initial(5))
        for count in given:
            steps.do(f"mov.u32 %r1, {count};", f"{name} %d7, {steps.place}{', %r1' if operands else ''};")
            steps.keep_state()
            steps.keep_phase()
        for _ in range(9 if drops else 0):
            steps.arrive()
            steps.keep_phase()
        steps.do(_initial(2), f"{name} _, {steps.place}{', 1' if operands else ''};")
        steps.keep_phase()
        steps.arrive()
        yield steps.trial(f"{name} d, [a]{operands}", form)


def _all_drop(form: Form, name: str, space: str) -> Trial:
    steps = Steps(space)
    steps.do(_initial(2))
    for _ in range(2):
        steps.do(f"{name} %d7, {steps.place};")
        steps.keep_state()
        steps.keep_phase()
    return steps.trial(f"{name} d, [a]; until none is expected", form)


def _incomplete_arrivals(form: Form, name: str, space: str) -> Trial:
    steps = Steps(space)
    steps.do(_initial(7))
    for count in (2, 3, 1):
        steps.do(f"mov.u32 %r1, {count};", f"{name} %d7, {steps.place}, %r1;")
        steps.keep_state()
        steps.keep_phase()
    steps.arrive()
    steps.keep_phase()
    return steps.trial(f"{name} d, [a], count", form)


def _expecting_arrivals(form: Form, name: str, space: str) -> Trial:
    """The phase goes on until all transactions are complete."""
    steps = Steps(space)
    steps.do(_initial(3))
    for count in (100, 0, 0x1001C):
        steps.do(f"mov.u32 %r1, {count};", f"{name} %d7, {steps.place}, %r1;")
        steps.keep_state()
        steps.keep_phase()
    for count in (100, 0x10000, 0x1C):
        steps.keep_phase()
        steps.do(f"mbarrier.complete_tx.relaxed.cta.shared.b64 [NAMEb], {count};")
    steps.keep_phase()
    return steps.trial(f"{name} d, [a], count", form)


def transactions(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Expected and complete, each before the other."""
    steps = Steps(bound["space"])
    others = {"expect_tx": "complete_tx", "complete_tx": "expect_tx"}
    other = f"mbarrier.{others[bound['what']]}.relaxed.cta.shared.b64 [NAMEb]"
    steps.do(_initial(9))
    for count in (16, 0x1000, 1, 0xF0000):
        steps.do(f"mov.u32 %r1, {count};", f"{name} {steps.place}, %r1;")
        steps.arrive()
    for count in (0x1000, 0xF0000, 1):
        steps.do(f"{other}, {count};")
        steps.arrive()
    for _ in range(2):
        steps.arrive()
        steps.keep_phase()
    steps.do(f"{other}, 16;")
    steps.keep_phase()
    steps.arrive()
    yield steps.trial(f"{name} [a], count", form)


def _contended(form: Form, name: str, space: str) -> Trial:
    """Two warps arrive at once; all threads of each find the same."""
    body = f"""
    setp.eq.u32 %p1, %tx, 0; @%p1 {_initial(_MEETS)}
    mov.u64 %d5, NAMEb; {"" if space else "cvta.shared.u64 %d5, %d5;"} bar.sync 0;
    {name} %d7, [%d5];
    shr.u64 %d7, %d7, 32; mad.wide.u32 %d1, %tx, 8, %b0; st.global.b64 [%d1], %d7;
    bar.sync 0; mbarrier.test_wait.parity.shared.b64 %p2, [NAMEb], 0; selp.b64 %d9, 1, 0, %p2;
    mad.wide.u32 %d1, %tx, 8, %b1; st.global.b64 [%d1], %d9;
    """

    def settle(results: Sequence[Array]) -> Sequence[Array]:
        return [np.sort(results[0]), results[1]]

    outputs = (Output(8, _MEETS),) * 2
    text = f"{name} d, [a]; contended"
    return Trial(text, form, body, (), outputs, _SHARED, block=(_MEETS, 1, 1), settle=settle)


def _arrive_remotely(form: Form, name: str) -> Iterator[Trial]:
    """Each block of a cluster arrives at the other's object."""
    expects = ".expect_tx" in name
    drops = "arrive_drop" in name
    for operands in (", count",) if expects else ("", ", count"):
        given = ("", "mov.u32 %r5, 2;")[bool(operands)]
        complete = "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r3], 2;" if expects else ""
        count = 1 if expects or not operands else 2
        left = 3 - count
        body = f"""
        {_initial(3)} fence.mbarrier_init.release.cluster; {_MEET}
        mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1; mov.u32 %r3, NAMEb;
        mapa.shared::cluster.u32 %r3, %r3, %r2; {given}
        {name} _, [%r3]{", %r5" if operands else ""}; {_MEET}
        mul.wide.u32 %d1, %r1, 32; add.u64 %b0, %b0, %d1;
        {_PHASE} st.global.b64 [%b0], %d9;
        mbarrier.arrive.shared.b64 %d7, [NAMEb], {left}; shr.u64 %d7, %d7, 32; st.global.b64 [%b0+8], %d7;
        {_PHASE} st.global.b64 [%b0+16], %d9; {_MEET}
        {complete} {_MEET} {_UNTIL.format(0)}
        mbarrier.arrive.shared.b64 %d7, [NAMEb], {left if drops else 1};
        shr.u64 %d7, %d7, 32; st.global.b64 [%b0+24], %d7; {_MEET}
        """
        text = f"{name} _, [a]{operands}; at another block's"
        outputs = (Output(8, 8),)
        yield Trial(text, form, body, (), outputs, _SHARED, grid=_PAIR, block=(1, 1, 1), cluster=_PAIR)


def pending_count(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """In the words that arrivals found."""
    steps = Steps("shared")
    for count in (7, 0xFFFFF):
        steps.do(_initial(count))
        for _ in range(8):
            steps.do("mbarrier.arrive.shared.b64 %d7, [NAMEb];", f"{name} %r1, %d7;", "cvt.u64.u32 %d9, %r1;")
            steps.keep("%d9")
    yield steps.trial(f"{name} d, a", form)


def wait(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Before and after the end of a phase, and until it is there."""
    hints = ("", ", hint") if "{, hint}" in form.syntax else ("",)
    operand = "parity" if ".parity" in name else "state"
    for hint in hints:
        hinted = ", 1000" if hint else ""
        steps = Steps(bound["space"])
        steps.do(_initial(2))
        for count in (2, 1, 1, 2):
            steps.do(f"mbarrier.arrive.shared.b64 %d7, [NAMEb], {count};")
            for parity in (0, 1) if operand == "parity" else (None,):
                state = "%d7" if parity is None else str(parity)
                steps.do(f"{name} %p1, {steps.place}, {state}{hinted};")
                steps.keep_holds("%p1")
        yield steps.trial(f"{name} p, [a], {operand}{hint}", form)
        if bound["sem"] != "relaxed":
            yield _met(form, name, operand, bound["space"], hinted)


def _met(form: Form, name: str, operand: str, space: str, hinted: str) -> Trial:
    """Two warps wait for one another, and read what the other one wrote; several phases."""
    state = "%r5" if operand == "parity" else "%d7"
    rounds = 5
    body = f"""
    setp.eq.u32 %p1, %tx, 0; @%p1 {_initial(_MEETS)}
    mov.u64 %d5, NAMEb; {"" if space else "cvta.shared.u64 %d5, %d5;"} bar.sync 0;
    mov.u32 %r1, 0; mov.u32 %r6, NAMEs; mov.u32 %r8, 0;
    ROUND: and.b32 %r5, %r1, 1;
    mad.lo.u32 %r2, %r1, {_MEETS}, %tx; mad.lo.u32 %r3, %r2, 4, %r6; mad.lo.u32 %r4, %r2, 7, 100;
    st.shared.u32 [%r3], %r4; mbarrier.arrive.shared.b64 %d7, [NAMEb];
    AGAIN: {name} %p2, [%d5], {state}{hinted}; @!%p2 bra AGAIN;
    xor.b32 %r3, %r2, 63; mad.lo.u32 %r3, %r3, 4, %r6; ld.shared.u32 %r4, [%r3]; mad.lo.u32 %r8, %r8, 31, %r4;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, {rounds}; @%p3 bra ROUND;
    mad.wide.u32 %d1, %tx, 4, %b0; st.global.u32 [%d1], %r8;
    """
    text = f"{name} p, [a], {operand}{', hint' if hinted else ''}; until it is over"
    return Trial(text, form, body, (), (Output(4, _MEETS),), _SHARED, block=(_MEETS, 1, 1))


def copies_arrive(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """An object for a warp's copies, which other lanes read when it is over."""
    counted = ".noinc" in name
    body = f"""
    setp.eq.u32 %p1, %tx, 0; @%p1 {_initial(32 if counted else 1)}
    mov.u64 %d5, NAMEb; {"" if bound["space"] else "cvta.shared.u64 %d5, %d5;"} bar.sync 0;
    mov.u64 %d6, NAMEs; mad.wide.u32 %d7, %tx, 16, %d6; mad.wide.u32 %d1, %tx, 16, %b0;
    cp.async.ca.shared.global [%d7], [%d1], 16; {name} [%d5]; bar.sync 0;
    {"" if counted else "@%p1 mbarrier.arrive.shared.b64 _, [NAMEb];"} {_UNTIL.format(0)}
    xor.b32 %r1, %tx, 31; mad.wide.u32 %d7, %r1, 16, %d6; mad.wide.u32 %d1, %tx, 16, %b1;
    ld.shared.v4.b32 {{%r2, %r3, %r4, %r5}}, [%d7]; st.global.v4.b32 [%d1], {{%r2, %r3, %r4, %r5}};
    """
    outputs = (Output(4, 128),)
    yield Trial(f"{name} [a]", form, body, (drawn("copies", 128),), outputs, _SHARED, block=(32, 1, 1))


RECIPES = {
    "mbarrier.init": init,
    "mbarrier.inval": invalidate,
    "mbarrier.arrive": arrive,
    "mbarrier.arrive_drop": arrive,
    "mbarrier.expect_tx": transactions,
    "mbarrier.complete_tx": transactions,
    "mbarrier.pending_count": pending_count,
    "mbarrier.test_wait": wait,
    "mbarrier.try_wait": wait,
    "cp.async.mbarrier.arrive": copies_arrive,
}
