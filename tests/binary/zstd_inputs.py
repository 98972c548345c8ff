"""The texts whose Zstandard frames lie in `zstd/`; run as a script, it makes them anew with `zstd`."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

FRAMES = Path(__file__).with_name("zstd")


def _random(choices: bytes, count: int) -> bytes:
    generator = random.Random(7)
    return bytes(generator.choice(choices) for _ in range(count))


INPUTS = {
    "empty": b"",
    "one": b"x",
    "run": b"a" * 200_000,
    "noise": random.Random(7).randbytes(700),
    "letters": _random(b"abcdefgh\0\0\0\0", 3_000),
    "two": _random(b"ab", 2_000),
    "steps": bytes(range(256)) * 40,
    "lines": b"".join(b"\tadd.s32 %%r%d, %%r%d, %d;\n" % (i, i // 3, i * i % 97) for i in range(900)),
}
LEVELS = (1, 19)


def main() -> None:
    """Compress every input at every level."""
    for name, text in INPUTS.items():
        for level in LEVELS:
            out = FRAMES / f"{name}.{level}.zst"
            out.write_bytes(
                subprocess.run(
                    ["zstd", "-qc", f"-{level}"], input=text, capture_output=True, check=True
                ).stdout
            )


if __name__ == "__main__":
    main()
