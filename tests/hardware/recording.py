"""Outputs of the hardware in one compressed file, small enough for a repository.

Predicates, approximate results and what compresses well are kept whole. Of
the rest a sample of the lanes is kept, which shows what differs, and a hash of
every sixteenth of the lanes, which shows that something does.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.hardware.inputs import Array

FILE = Path(__file__).with_name("outputs.xz")
SAMPLE = 512
CHUNKS = 16
_HASH_BYTES = 4
_SMALL = 1100
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 64 << 20}]


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a result is not the hardware's: lanes that are known to differ, what the hardware gave there,
    and the number of sixteenths of all lanes in which any differ."""

    lanes: Array
    hardware: Array
    chunks: int

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return self.chunks > 0 or len(self.lanes) > 0


@dataclass(frozen=True, slots=True)
class Stored:
    """What is kept of one result: values of some lanes (of all, without `hashes`) and hashes of chunks."""

    lanes: Array
    values: Array
    hashes: bytes

    @property
    def whole(self) -> bool:
        """Whether every lane is kept."""
        return not self.hashes

    def difference(self, result: Array) -> Difference:
        """Where a result of all lanes differs from the recorded one."""
        other = result[self.lanes] != self.values
        chunks = 0
        if self.hashes:
            chunks = sum(a != b for a, b in zip(_hashes(result), _split(self.hashes), strict=True))
        return Difference(self.lanes[other], self.values[other], chunks)


def sampled(lanes: int) -> Array:
    """The lanes that are kept of so many."""
    stride = lanes // SAMPLE
    index = np.arange(SAMPLE)
    return index * stride + index * 37 % stride


def _split(hashes: bytes) -> list[bytes]:
    return [hashes[start : start + _HASH_BYTES] for start in range(0, len(hashes), _HASH_BYTES)]


def _hashes(result: Array) -> list[bytes]:
    parts = np.array_split(result, CHUNKS)
    return [hashlib.blake2b(part.tobytes(), digest_size=_HASH_BYTES).digest() for part in parts]


def _planes(values: Array) -> bytes:
    """The lowest bytes of all values, then the next ones; bits where all are 0 or 1."""
    if values.dtype.itemsize == 1 and values.max(initial=0) <= 1:
        return b"b" + np.packbits(values).tobytes()
    return b"p" + values.view(np.uint8).reshape(len(values), -1).T.tobytes()


def _values(data: bytes, size: int, count: int) -> Array:
    body = np.frombuffer(data, np.uint8, offset=1)
    if data[:1] == b"b":
        return np.unpackbits(body, count=count)
    return np.ascontiguousarray(body.reshape(size, count).T).view(f"<u{size}").reshape(count)


@dataclass(slots=True)
class Recording:
    """Results by case, and what they were recorded from and on."""

    device: str
    inputs: dict[str, str] = field(default_factory=dict)  # signature → digest
    failures: dict[str, str] = field(default_factory=dict)  # case → why the hardware has none
    _places: dict[str, list[list[int]]] = field(
        default_factory=dict
    )  # case → [blob, size, lanes, whole] a result
    _blobs: list[bytes] = field(default_factory=list)
    _known: dict[bytes, int] = field(default_factory=dict)

    def __contains__(self, text: str) -> bool:
        """Whether there are results for a case."""
        return text in self._places

    def drop(self, text: str) -> None:
        """Forget a case."""
        self._places.pop(text, None)
        self.failures.pop(text, None)

    def add(self, text: str, results: Sequence[Array], *, whole: bool) -> None:
        """Keep the results of a case; all of their lanes with `whole`."""
        self._places[text] = [self._add(result, whole) for result in results]

    def _add(self, result: Array, whole: bool) -> list[int]:
        data = _planes(result)
        whole = (
            whole
            or len(data) < _SMALL
            or len(result) < 2 * SAMPLE
            or len(lzma.compress(data, preset=0)) < _SMALL
        )
        if not whole:
            data = b"".join(_hashes(result)) + _planes(result[sampled(len(result))])
        return [self._keep(data), result.dtype.itemsize, len(result), int(whole)]

    def _keep(self, data: bytes) -> int:
        """The number of what is kept once."""
        blob = self._known.setdefault(data, len(self._blobs))
        if blob == len(self._blobs):
            self._blobs.append(data)
        return blob

    def results(self, text: str) -> list[Stored]:
        """What is kept of a case."""
        return [self._stored(*place) for place in self._places[text]]

    def _stored(self, blob: int, size: int, lanes: int, whole: int) -> Stored:
        data = self._blobs[blob]
        if whole:
            return Stored(np.arange(lanes), _values(data, size, lanes), b"")
        kept = CHUNKS * _HASH_BYTES
        return Stored(sampled(lanes), _values(data[kept:], size, SAMPLE), data[:kept])

    def write(self, path: Path) -> None:
        """Write the file."""
        head: dict[str, Any] = {
            "device": self.device,
            "inputs": self.inputs,
            "failures": self.failures,
            "cases": self._places,
            "blobs": [len(blob) for blob in self._blobs],
        }
        text = json.dumps(head, separators=(",", ":")).encode()
        data = len(text).to_bytes(8, "little") + text + b"".join(self._blobs)
        path.write_bytes(lzma.compress(data, format=lzma.FORMAT_XZ, filters=_FILTERS))


def read(path: Path = FILE) -> Recording:
    """The recording in a file."""
    data = lzma.decompress(path.read_bytes())
    length = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + length])
    recording = Recording(head["device"], head["inputs"], head["failures"], head["cases"])
    at = 8 + length
    for number, size in enumerate(head["blobs"]):
        recording._blobs.append(data[at : at + size])
        recording._known[recording._blobs[-1]] = number
        at += size
    return recording
