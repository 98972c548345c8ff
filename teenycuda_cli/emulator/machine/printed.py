"""What a kernel has printed: kept up to a limit, the newest before the oldest, as a GPU keeps it."""

from __future__ import annotations

from collections import Counter, deque

MOST_BYTES = 1 << 24
"""Of a launch's calls together, each with its text and `CALL_BYTES` more; a GPU's buffer has 1 MiB."""
CALL_BYTES = 64


class Printed:
    """The calls of printf of one launch."""

    def __init__(self) -> None:
        """None yet."""
        self.dropped = 0  # calls that are not kept
        self._calls: deque[tuple[int, int, bytes]] = deque()  # block, thread, text
        self._bytes = 0

    def add(self, block: int, thread: int, text: bytes) -> None:
        """Keep one more call, by its block's and its thread's linear ids; the oldest make room for it."""
        self._calls.append((block, thread, text))
        self._bytes += len(text) + CALL_BYTES
        while self._bytes > MOST_BYTES:
            self._bytes -= len(self._calls.popleft()[2]) + CALL_BYTES
            self.dropped += 1

    @property
    def text(self) -> str:
        """Block by block, and in each by turns, thread by thread; what is no UTF-8 is replaced."""
        turns: Counter[tuple[int, int]] = Counter()
        calls = []
        for block, thread, text in self._calls:
            calls.append((block, turns[block, thread], thread, text))
            turns[block, thread] += 1
        calls.sort(key=lambda call: call[:3])
        return b"".join([call[3] for call in calls]).decode(errors="replace")
