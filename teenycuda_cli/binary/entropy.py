"""The entropy codes of Zstandard (RFC 8878, section 4): FSE tables, Huffman tables, backward bit streams."""

from __future__ import annotations

from dataclasses import dataclass

_MAX_HUFFMAN_BITS = 11


class ZstdError(ValueError):
    """A Zstandard frame that is not well-formed, or does not have the size it should."""


class BackwardBits:
    """A bit stream that is read from its end; its last byte's highest 1 marks where it begins."""

    def __init__(self, data: bytes) -> None:
        """Begin below the mark."""
        if not data or not data[-1]:
            raise ZstdError("a bit stream without its end mark")
        self._data = data
        self.left = (len(data) - 1) * 8 + data[-1].bit_length() - 1

    def peek(self, count: int) -> int:
        """The next bits, 0 where the stream has ended."""
        low = self.left - count
        if low >= 0:
            chunk = self._data[low >> 3 : (self.left + 7) >> 3]
            return int.from_bytes(chunk, "little") >> (low & 7) & (1 << count) - 1
        known = max(self.left, 0)
        chunk = self._data[: (known + 7) >> 3]
        return (int.from_bytes(chunk, "little") & (1 << known) - 1) << (count - known)

    def read(self, count: int) -> int:
        """The next bits, and past them; `left` goes below 0 where the stream has ended."""
        value = self.peek(count)
        self.left -= count
        return value


@dataclass(frozen=True, slots=True)
class FseTable:
    """For each state: its symbol, how many bits the next state takes, and what they are added to."""

    accuracy: int
    states: tuple[tuple[int, int, int], ...]


def fse_table(counts: list[int], accuracy: int) -> FseTable:
    """The decoding table of a normalised distribution, in which −1 is "less than one"."""
    size = 1 << accuracy
    symbols = [0] * size
    high = size - 1
    for symbol, count in enumerate(counts):
        if count == -1:
            symbols[high] = symbol
            high -= 1
    at = 0
    for symbol, count in enumerate(counts):
        for _ in range(count):
            symbols[at] = symbol
            at = (at + (size >> 1) + (size >> 3) + 3) & (size - 1)
            while at > high:
                at = (at + (size >> 1) + (size >> 3) + 3) & (size - 1)
    following = [abs(count) for count in counts]
    states = []
    for symbol in symbols:
        number = following[symbol]
        following[symbol] += 1
        bits = accuracy - (number.bit_length() - 1)
        states.append((symbol, bits, (number << bits) - size))
    return FseTable(accuracy, tuple(states))


def read_fse_table(data: bytes, at: int, max_accuracy: int) -> tuple[FseTable, int]:
    """An FSE table description, and where it ends."""
    stream = int.from_bytes(data[at : at + 512], "little")
    accuracy = (stream & 15) + 5
    if accuracy > max_accuracy:
        raise ZstdError(f"an FSE table of accuracy {accuracy}; at most {max_accuracy}")
    position = 4
    remaining = 1 << accuracy
    counts: list[int] = []
    while remaining > 0:
        bits = (remaining + 1).bit_length()
        value = stream >> position & (1 << bits) - 1
        low = value & (1 << bits - 1) - 1
        threshold = (1 << bits) - 1 - (remaining + 1)
        if low < threshold:
            position += bits - 1
            value = low
        else:
            position += bits
            value -= threshold if value >= 1 << bits - 1 else 0
        counts.append(value - 1)
        remaining -= abs(value - 1)
        while value == 1:
            zeros = stream >> position & 3
            position += 2
            counts += [0] * zeros
            value = 1 if zeros == 3 else 0
        if len(counts) > 256 or at + (position + 7) // 8 > len(data):
            raise ZstdError("an FSE table that does not end")
    if remaining < 0:
        raise ZstdError("an FSE table whose counts do not add up")
    return fse_table(counts, accuracy), at + (position + 7) // 8


@dataclass(frozen=True, slots=True)
class HuffmanTable:
    """For each value of the next `bits` bits: the symbol, and how many of them it takes."""

    bits: int
    entries: tuple[tuple[int, int], ...]

    def decode(self, data: bytes, count: int) -> bytes:
        """`count` symbols of a stream."""
        stream = BackwardBits(data)
        out = bytearray()
        for _ in range(count):
            symbol, bits = self.entries[stream.peek(self.bits)]
            stream.left -= bits
            out.append(symbol)
        if stream.left != 0:
            raise ZstdError("a Huffman stream that does not end where it should")
        return bytes(out)


def read_huffman_table(data: bytes, at: int) -> tuple[HuffmanTable, int]:
    """A Huffman tree description, and where it ends."""
    header = data[at]
    if header < 128:
        end = at + 1 + header
        table, start = read_fse_table(data[:end], at + 1, 6)
        weights = _fse_weights(table, data[start:end])
    else:
        count = header - 127
        end = at + 1 + (count + 1) // 2
        nibbles = [half for byte in data[at + 1 : end] for half in (byte >> 4, byte & 15)]
        weights = nibbles[:count]
    return _huffman_table(weights), end


def _fse_weights(table: FseTable, data: bytes) -> list[int]:
    """Weights from two FSE states that take turns, until the stream has ended."""
    stream = BackwardBits(data)
    states = [stream.read(table.accuracy), stream.read(table.accuracy)]
    weights: list[int] = []
    turn = 0
    while len(weights) < 256:
        symbol, bits, base = table.states[states[turn]]
        weights.append(symbol)
        states[turn] = base + stream.read(bits)
        turn ^= 1
        if stream.left < 0:
            weights.append(table.states[states[turn]][0])
            break
    return weights


def _huffman_table(weights: list[int]) -> HuffmanTable:
    total = sum(1 << weight - 1 for weight in weights if weight)
    if not total or len(weights) > 255:
        raise ZstdError("a Huffman tree without symbols")
    bits = total.bit_length()
    rest = (1 << bits) - total
    if rest & rest - 1 or bits > _MAX_HUFFMAN_BITS:
        raise ZstdError("a Huffman tree whose weights do not add up")
    weights = [*weights, rest.bit_length()]
    entries = [
        (symbol, bits + 1 - wanted)
        for wanted in range(1, bits + 1)
        for symbol, weight in enumerate(weights)
        if weight == wanted
        for _ in range(1 << wanted - 1)
    ]
    return HuffmanTable(bits, tuple(entries))
