"""Rows of copies in bulk and of tensors, of maps of tensors, and of stores that an mbarrier counts."""

from __future__ import annotations

from tests.isa.grammar import row

_TYPES = "u8 s16 b16 u32 s32 b32 u64 s64 b64 f16 bf16 f16x2 f32 f64 b128"
_OPERATIONS = "add min max inc dec and or xor cas exch"
_TX = "mbarrier::complete_tx::bytes"
_HINT = "L2::cache_hint"
_MULTICAST = "multicast::cluster"
_PLACES = "global shared::cta shared::cluster"
_MODES = "tile im2col im2col_no_offs tile::gather4"
_COORDINATES = ("", "b32", "b32, b32", "b32, b32, b32", "b32, b32, b32, b32", "b32, b32, b32, b32, b32")

COPIES = (
    row("cp", ".async.bulk{.read}.wait_group{.read}", "0", "b32"),
    row("cp", ".async.bulk.commit_group"),
    row("cp", ".async.bulk.prefetch.L2.global{.hint}", "[b64], b32", "[b64], 64, b64", hint=_HINT),
    row(
        "cp",
        f".async.bulk.to.from.{_TX}{{.multicast}}{{.hint}}",
        "[b32], [b64], b32, [b32]",
        "[b64], [b32], 64, [b64]",
        "[b32], [b64], b32, [b32], b16",
        "[b32], [b64], b32, [b32], b64",
        "[b32], [b64], b32, [b32], b16, b64",
        to=_PLACES,
        **{"from": _PLACES},
        multicast=_MULTICAST,
        hint=_HINT,
    ),
    row(
        "cp",
        ".async.bulk.to.from.bulk_group{.hint}",
        "[b64], [b32], b32",
        "[b64], [b32], b32, b64",
        "[$global_array], [$shared_array+4], 16",
        to=_PLACES,
        **{"from": _PLACES},
        hint=_HINT,
    ),
    row(
        "cp",
        ".reduce.async.bulk.global.shared::cta.bulk_group{.hint}.op{.noftz}.type",
        "[b64], [b32], b32",
        "[b64], [b32], b32, b64",
        op=_OPERATIONS,
        hint=_HINT,
        type=_TYPES,
    ),
    row(
        "cp",
        f".reduce.async.bulk.to.shared::cta.{_TX}.op{{.noftz}}.type",
        "[b32], [b32], b32, [b32]",
        to="shared::cluster shared::cta",
        op=_OPERATIONS,
        type=_TYPES,
    ),
)
TENSORS = tuple(
    each
    for rank in range(1, 6)
    for each in (
        row(
            "cp",
            f".async.bulk.tensor.{rank}d.to.global{{.mode}}.{_TX}{{.multicast}}{{.hint}}",
            f"[b32], [b64, {{{_COORDINATES[rank]}}}], [b32]",
            f"[b32], [b64, {{{_COORDINATES[rank]}}}], [b32], b16",
            f"[b32], [b64, {{{_COORDINATES[rank]}}}], [b32], b64",
            f"[b32], [b64, {{{_COORDINATES[rank]}}}], [b32], b16, b64",
            f"[b32], [b64, {{{_COORDINATES[6 - rank]}}}], [b32]",
            "[b32], [b64, b32], [b32]",
            to="shared::cluster shared::cta",
            mode=_MODES,
            multicast=_MULTICAST,
            hint=_HINT,
        ),
        row(
            "cp",
            f".async.bulk.tensor.{rank}d.global.from{{.mode}}.bulk_group{{.hint}}",
            f"[b64, {{{_COORDINATES[rank]}}}], [b32]",
            f"[b64, {{{_COORDINATES[rank]}}}], [b64], b64",
            **{"from": "shared::cta shared::cluster"},
            mode=_MODES,
            hint=_HINT,
        ),
        row(
            "cp",
            f".reduce.async.bulk.tensor.{rank}d.global.shared::cta.op{{.mode}}.bulk_group{{.hint}}",
            f"[b64, {{{_COORDINATES[rank]}}}], [b32]",
            f"[b64, {{{_COORDINATES[rank]}}}], [b64], b64",
            op=_OPERATIONS,
            mode=_MODES,
            hint=_HINT,
        ),
        row(
            "cp",
            f".async.bulk.prefetch.tensor.{rank}d.L2.global{{.mode}}{{.hint}}",
            f"[b64, {{{_COORDINATES[rank]}}}]",
            f"[b64, {{{_COORDINATES[rank]}}}], b64",
            mode=_MODES,
            hint=_HINT,
        ),
    )
)
_SPACE = "global shared::cta shared shared::cluster"
MAPS = (
    row(
        "tensormap",
        ".replace.tile.field{.space}.b1024.type",
        "[b64], type",
        "[b64], 1",
        "[b64], 3",
        "[b64], 13",
        "[b32], 0",
        field="global_address rank elemtype interleave_layout swizzle_mode fill_mode",
        space=_SPACE,
        type="b32 b64",
    ),
    row(
        "tensormap",
        ".replace.tile.field{.space}.b1024.type",
        "[b64], 0, type",
        "[b64], 3, 1",
        "[b64], 4, type",
        "[b64], 5, type",
        "[b64], b32, type",
        field="global_dim box_dim element_stride global_stride",
        space=_SPACE,
        type="b32 b64",
    ),
    row(
        "tensormap",
        ".cp_fenceproxy.to.from.tensormap::generic.sem.scope.sync.aligned",
        "[b64], [b64], 128",
        "[b64], [b32], 64",
        to="global shared::cta",
        **{"from": "global shared::cta"},
        sem="release acquire",
        scope="cta cluster gpu sys",
    ),
)
COUNTED = (
    row(
        "st",
        f".async{{.weak}}{{.to}}.{_TX}{{.after}}.type",
        "[b64], type, [b64]",
        "[b32], type, [b32]",
        to="shared::cluster shared::cta",
        after="shared::cluster",
        type=_TYPES,
    ),
    row(
        "st",
        f".async{{.to}}.{_TX}.v2.type",
        "[b64], {type, type}, [b64]",
        to="shared::cluster shared::cta",
        type=_TYPES,
    ),
    row(
        "st",
        f".async{{.to}}.{_TX}.v4.type",
        "[b64], {type, type, type, type}, [b64]",
        to="shared::cluster shared::cta",
        type=_TYPES,
    ),
    row(
        "red",
        f".async.sem.scope{{.to}}.{_TX}.op.type",
        "[b64], type, [b64]",
        sem="relaxed release",
        scope="cluster gpu",
        to="shared::cluster shared::cta",
        op=_OPERATIONS,
        type=_TYPES,
    ),
)
ROWS = (*COPIES, *TENSORS, *MAPS, *COUNTED)
