"""A plain interpreter of random kernels: each thread a coroutine, which waits where threads meet."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

Steps = Generator["Meeting", Any, str]
"""Yields where the thread waits, and returns how it went on: "", "break", "continue" or "exit"."""


@dataclass(frozen=True)
class Meeting:
    """Where a thread waits for others: all that give the same key; each is given what all brought.

    `waits` is False for a thread that only arrives.
    """

    key: tuple[Any, ...]
    count: int
    brought: Any = None
    waits: bool = True


@dataclass
class Thread:
    """A thread, its registers in this function, and the memory it sees (words of 32 bits by address)."""

    number: int
    """In its block."""
    block: int
    shared: dict[int, int]
    outer: dict[Any, int]
    """What all blocks see."""
    cluster: Sequence[dict[int, int]] = ()
    """The shared memory of the blocks of the cluster."""
    registers: dict[str, Any] = field(default_factory=dict)
    local: bytearray = field(default_factory=lambda: bytearray(64))


@dataclass(frozen=True)
class Do:
    """What a thread does alone."""

    act: Callable[[Thread], None]


@dataclass(frozen=True)
class Wait:
    """What a thread does with others, or several statements under some control."""

    steps: Callable[[Thread], Steps]


Node = Do | Wait


def run(nodes: Sequence[Node], thread: Thread) -> Steps:
    """One statement after the other, until one goes elsewhere."""
    for node in nodes:
        if type(node) is Do:
            node.act(thread)
        else:
            went: str = yield from node.steps(thread)  # type: ignore[union-attr]
            if went:
                return went
    return ""


def run_all(threads: Sequence[tuple[Thread, Sequence[Node]]]) -> None:
    """Run threads until all have ended; RuntimeError where they wait for ever."""
    ready: list[tuple[Steps, Any]] = [(run(nodes, thread), None) for thread, nodes in threads]
    waiting: dict[tuple[Any, ...], list[tuple[Steps | None, Any]]] = {}
    while ready:
        steps, given = ready.pop()
        try:
            meeting = steps.send(given)
        except StopIteration:
            continue
        here = waiting.setdefault(meeting.key, [])
        here.append((steps if meeting.waits else None, meeting.brought))
        if not meeting.waits:
            ready.append((steps, None))
        if len(here) == meeting.count:
            del waiting[meeting.key]
            all_brought = [brought for _, brought in here]
            ready += [(other, all_brought) for other, _ in here if other is not None]
    if waiting:
        raise RuntimeError(f"threads wait for ever: {list(waiting)}")
