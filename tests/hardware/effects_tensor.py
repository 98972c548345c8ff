"""Trials of tensor maps: their 128 bytes after each change, and copies of boxes by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from teenycuda_cli.emulator.numerics.types import dtype
from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware.effects_bulk import BEGIN, MEET, PAIR, WAIT, given, moved, tail
from tests.hardware.inputs import Array, Source, inputs
from tests.hardware.trials import Output, Trial, drawn

_SIZE = 128
_CHUNK = 16
"""Bytes: boxes begin at a multiple of them."""
_SHARED = (
    ".shared .align 1024 .b8 NAMEs[4096]; .shared .align 128 .b8 NAMEm[128]; .shared .align 8 .b64 NAMEb;"
)
_KINDS = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32", "f64", "bf16", "f32", "f32")
"""Element types by number; f32 is there plain, flushed, and as tf32 with both."""
_FLUSHED, _TF32, _TF32_FLUSHED = 8, 11, 12
_ADDED = (2, 3, 4, *range(6, len(_KINDS)))
_COMPARED = (2, 3, 4, 5, 6, 10)
_REDUCED: dict[str, Sequence[int]] = {
    "add": _ADDED,
    "min": _COMPARED,
    "max": _COMPARED,
    "inc": (2,),
    "dec": (2,),
    **dict.fromkeys(("and", "or", "xor"), (2, 4)),
}
"""Numbers of the element types that each operation takes."""

# ------------------------------------------------------------------- the maps

_ADDRESSES = (0x0000123456789AB0, 0x00007FFFFFFFFFF0, 0x10)
_STRIDES = (16, 0x120, 0x7654321000, 0xFFFFFFFFF0)
_NUMBERS: dict[str, Sequence[int]] = {
    "global_address": _ADDRESSES,
    "rank": range(5),
    "elemtype": range(13),
    "interleave_layout": range(3),
    "swizzle_mode": range(4),
    "fill_mode": range(2),
    "global_stride": _STRIDES,
    "global_dim": (1, 2, 1000, 0x89ABCDEF),
    "box_dim": (1, 2, 100, 256),
    "element_stride": (1, 2, 5, 8),
}
_AXES = {"global_stride": 4, "global_dim": 5, "box_dim": 5, "element_stride": 5}


def replace(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """A field after the other of a map of random bits, each time with all 128 bytes."""
    field, wide = bound["field"], name.endswith("b64")
    fixed = "value:b32=" in _types(form)
    lines, count = [], 0
    for axis in range(_AXES.get(field, 1)):
        for number in _NUMBERS[field]:
            value = str(number) if fixed else "%d1" if wide else "%r1"
            if not fixed:
                lines.append(f"mov.b{64 if wide else 32} {value}, {number:#x};")
            operands = ["[%d5]", *([str(axis)] if field in _AXES else []), value]
            lines.append(f"{name} {', '.join(operands)};")
            lines += [
                f"ld.{_kept(bound)}.b64 %d9, [%d6+{at}]; st.global.b64 [%b1+{count * _SIZE + at}], %d9;"
                for at in range(0, _SIZE, 8)
            ]
            count += 1
    if bound["space"] == "global":
        place = "mov.u64 %d6, %b2; mov.u64 %d5, %d6;"
    else:
        place = "mov.u64 %d6, NAMEm; mov.u64 %d5, %d6;"
        place += "" if bound["space"] else "cvta.shared.u64 %d5, %d5;"
    fill = [
        f"ld.global.b64 %d9, [%b0+{at}]; st.{_kept(bound)}.b64 [%d6+{at}], %d9;" for at in range(0, _SIZE, 8)
    ]
    body = "\n".join([place, *fill, *lines])
    outputs = (Output(8, count * _SIZE // 8), Output(8, _SIZE // 8))
    if bound["space"] != "global":
        outputs = outputs[:1]
    bits = drawn("map", _SIZE // 8, 8)
    yield Trial(f"{name} {tail(form)}", form, body, (bits,), outputs, _SHARED, block=(1, 1, 1))


def _types(form: Form) -> str:
    return " ".join(f"{name}:{kind}" for name, kind in form.types.items())


def _kept(bound: dict[str, str]) -> str:
    return "global" if bound["space"] == "global" else "shared"


def copy_map(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """128 bytes of shared memory go to global memory."""
    body = f"""
    mov.u64 %d6, NAMEm; {moved("%d6", "shared", "%b0", "global", "FILL", _SIZE)} bar.warp.sync -1;
    {name} [%b1], [%d6], {_SIZE};
    """
    bits = drawn("map", _SIZE // 4)
    yield Trial(
        f"{name} {tail(form)}", form, body, (bits,), (Output(4, _SIZE // 4),), _SHARED, block=(32, 1, 1)
    )


# ------------------------------------------------------------------ the boxes


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor and a box that is partly outside of it; axes from the outermost."""

    shape: tuple[int, ...]
    box: tuple[int, ...]
    place: tuple[int, ...]
    number: int  # of the element type
    swizzle: int = 0
    fill: int = 0

    @property
    def element(self) -> int:
        return int(dtype(_KINDS[self.number]).itemsize)

    @property
    def size(self) -> int:
        """Bytes of the box."""
        return int(np.prod(self.box)) * self.element

    @property
    def coordinates(self) -> str:
        """As instructions take them."""
        return "{" + ", ".join(str(at) for at in self.place[::-1]) + "}"

    def made(self) -> str:
        """Code of a warp that makes the map of the tensor at %d20 and puts it where %b1 points."""
        name = "tensormap.replace.tile"
        space = "shared::cta.b1024"
        rank = len(self.shape)
        fields = [f"{name}.global_address.{space}.b64 [NAMEm], %d20;"]
        fields.append(f"{name}.rank.{space}.b32 [NAMEm], {rank - 1};")
        fields.append(f"{name}.elemtype.{space}.b32 [NAMEm], {self.number};")
        for axis in range(rank):
            fields.append(f"{name}.box_dim.{space}.b32 [NAMEm], {axis}, {self.box[::-1][axis]};")
            fields.append(f"{name}.global_dim.{space}.b32 [NAMEm], {axis}, {self.shape[::-1][axis]};")
            fields.append(f"{name}.element_stride.{space}.b32 [NAMEm], {axis}, 1;")
        for axis in range(rank - 1):
            stride = int(np.prod(self.shape[rank - 1 - axis :])) * self.element
            fields.append(f"{name}.global_stride.{space}.b64 [NAMEm], {axis}, {stride};")
        fields.append(f"{name}.interleave_layout.{space}.b32 [NAMEm], 0;")
        fields.append(f"{name}.swizzle_mode.{space}.b32 [NAMEm], {self.swizzle};")
        fields.append(f"{name}.fill_mode.{space}.b32 [NAMEm], {self.fill};")
        lines = "\n".join(f"@%p1 {field}" for field in fields)
        release = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
        return f"""
        setp.eq.u32 %p1, %tx, 0; mov.u64 %d6, NAMEm; mad.wide.u32 %d7, %tx, 4, %d6; st.shared.b32 [%d7], 0;
        bar.warp.sync -1; {lines} bar.warp.sync -1; {release} [%b1], [%d6], {_SIZE};
        fence.proxy.tensormap::generic.acquire.gpu [%b1], {_SIZE};
        """


def _of_rank(rank: int, number: int, low: int = -1) -> _Tensor:
    """One to five axes; `low` is where the box begins on one of them, which for a store is not negative."""
    wide = _CHUNK // int(dtype(_KINDS[number]).itemsize)
    shape = (2, 3, 3, 4, 3 * wide)[-rank:]
    return _Tensor(shape, (1, 2, 2, 2, 2 * wide)[-rank:], (1, low, 2, 3, 2 * wide)[-rank:], number)


def _filled(tensor: _Tensor, second: bool = False) -> Array:
    kind = _KINDS[tensor.number]
    count = int(np.prod(tensor.box if second else tensor.shape))
    columns = inputs((Source(kind), Source(kind)))
    return np.resize(columns[int(second)], count).view(f"u{dtype(kind).itemsize}")


_MAP = np.zeros(_SIZE // 4, np.uint32)


def boxes(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Boxes of a tensor into shared memory, and back."""
    yield from (store if ".bulk_group" in name else load)(form, name, bound, plain)


def load(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """A box of each rank; of two axes, boxes of each type of elements in each swizzle."""
    rank = int(bound["dim"][0])
    if ".multicast" in name:
        yield _multicast(form, name, _of_rank(rank, 6))
        return
    yield _loaded(form, name, _of_rank(rank, 6), "f16")
    if rank != 2 or not plain or ".tile" in name or ".hint" in form.syntax or bound["dst"] == "shared::cta":
        return
    for number, kind in enumerate(_KINDS):
        wide = _CHUNK // int(dtype(kind).itemsize)
        special = {_FLUSHED: " flushed", _TF32: " as tf32", _TF32_FLUSHED: " as tf32 flushed"}.get(number, "")
        for swizzle in range(4):
            place, fill = (14, -wide if swizzle else wide), int(kind[0] in "fb")
            tensor = _Tensor((20, 4 * wide), (8, wide << swizzle), place, number, swizzle, fill)
            yield _loaded(form, name, tensor, f"{kind}{special}, swizzle {swizzle}")


def _loaded(form: Form, name: str, tensor: _Tensor, what: str) -> Trial:
    go = given(name, "[NAMEs]", f"[%b1, {tensor.coordinates}]", "[NAMEb]")
    body = f"""
    mov.u64 %d20, %b0; {tensor.made()} {BEGIN}
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [NAMEb], {tensor.size}; {go} {WAIT}
    mov.u64 %d6, NAMEs; {moved("%b2", "global", "%d6", "shared", "EMPTY", tensor.size)}
    """
    outputs = (Output(4, tensor.size // 4),)
    text = f"{name} {tail(form)}; {what}"
    return Trial(text, form, body, (_filled(tensor), _MAP), outputs, _SHARED, block=(32, 1, 1))


def _multicast(form: Form, name: str, tensor: _Tensor) -> Trial:
    go = given(name, "[NAMEs]", f"[%b1, {tensor.coordinates}]", "[NAMEb]", "%h1")
    body = f"""
    mov.u32 %r2, %cluster_ctarank; mov.u64 %d20, %b0; mul.wide.u32 %d8, %r2, {_SIZE}; add.u64 %b1, %b1, %d8;
    {tensor.made()} {BEGIN} @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [NAMEb], {tensor.size}; {MEET}
    mov.u16 %h1, 3; setp.eq.u32 %p2, %r2, 1; and.pred %p1, %p1, %p2; {go} {WAIT}
    mul.wide.u32 %d8, %r2, {tensor.size}; add.u64 %b2, %b2, %d8;
    mov.u64 %d6, NAMEs; {moved("%b2", "global", "%d6", "shared", "EMPTY", tensor.size)} {MEET}
    """
    outputs = (Output(4, tensor.size // 2),)
    return Trial(
        f"{name} {tail(form)}; to two blocks",
        form,
        body,
        (_filled(tensor), np.zeros(_SIZE // 2, np.uint32)),
        outputs,
        _SHARED,
        grid=PAIR,
        block=(32, 1, 1),
        cluster=PAIR,
    )


def store(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """A box of each rank; of two axes, boxes of each type of elements that the operation takes."""
    rank = int(bound["dim"][0])
    yield _stored(form, name, _of_rank(rank, 2, low=1), "u32")
    if rank != 2 or not plain or ".tile" in name or ".hint" in form.syntax:
        return
    for number in _REDUCED.get(bound.get("op", ""), range(len(_KINDS))):
        kind = _KINDS[number]
        wide = _CHUNK // int(dtype(kind).itemsize)
        for swizzle in (0, 2):
            tensor = _Tensor((20, 8 * wide), (8, 4 * wide), (14, 5 * wide), number, swizzle)
            yield _stored(form, name, tensor, f"{kind} ({number}), swizzle {swizzle}")


def _stored(form: Form, name: str, tensor: _Tensor, what: str) -> Trial:
    go = given(name, f"[%b1, {tensor.coordinates}]", "[%d21]")
    total = int(np.prod(tensor.shape)) * tensor.element
    body = f"""
    mov.u64 %d20, %b3; {tensor.made()} mov.u64 %d21, NAMEs;
    {moved("%d21", "shared", "%b2", "global", "FILL", tensor.size)}
    {moved("%b3", "global", "%b0", "global", "BEFORE", total)}
    fence.proxy.async; bar.sync 0; {go} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    """
    data = (_filled(tensor), _MAP, _filled(tensor, second=True))
    outputs = (Output(tensor.element, total // tensor.element),)
    return Trial(f"{name} {tail(form)}; {what}", form, body, data, outputs, _SHARED, block=(32, 1, 1))


def prefetch(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """The tensor stays what it is."""
    tensor = _of_rank(int(bound["dim"][0]), 2)
    total = int(np.prod(tensor.shape)) * tensor.element
    body = f"""
    mov.u64 %d20, %b0; {tensor.made()} {given(name, f"[%b1, {tensor.coordinates}]")}
    {moved("%b2", "global", "%b0", "global", "COPY", total)}
    """
    outputs = (Output(4, total // 4),)
    yield Trial(
        f"{name} {tail(form)}", form, body, (_filled(tensor), _MAP), outputs, _SHARED, block=(32, 1, 1)
    )


RECIPES = {
    "tensormap.replace": replace,
    "tensormap.cp_fenceproxy": copy_map,
    "cp.async.bulk.tensor": boxes,
    "cp.async.bulk.prefetch.tensor": prefetch,
    "cp.reduce.async.bulk.tensor": store,
}
