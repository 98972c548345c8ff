"""Rows of instructions that compute values: arithmetic, comparison, logic, moves, conversion, video."""

from __future__ import annotations

from tests.isa.grammar import row

INT = "b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64"
FLOAT = "f32 f64 f16 f16x2 bf16 bf16x2 f32x2 tf32"
ALL = f"pred {INT} {FLOAT} u16x2 s16x2 b128"
RND = "rn rz rm rp rna rs"
RNI = "rni rzi rmi rpi"
CMP = "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan"
SMALL = "e4m3x2 e5m2x2 e2m1x2 e2m3x2 e3m2x2 ue8m0x2"
THREE = "type, type, type"
FOUR = "type, type, type, type"

ARITHMETIC = (
    row("add sub", "{.rnd}{.ftz}{.sat}.type", THREE, rnd=RND, type=ALL),
    row("add sub", "{.rnd}{.sat}.f32.atype", "f32, atype, f32", rnd=RND, atype="f16 bf16"),
    row("add sub addc subc", "{.cc}{.sat}.type", THREE, type=ALL),
    row("mul", "{.rnd}{.half}{.ftz}{.sat}.type", THREE, rnd=RND, half="lo hi", type=ALL),
    row("mul", ".wide.type", "type+, type, type", type=ALL),
    row("mad", ".wide{.sat}{.cc}.type", "type+, type, type, type+", type=ALL),
    row("mad madc", "{.half}{.sat}{.cc}.type", FOUR, half="lo hi", type=ALL),
    row("madc", ".wide{.cc}.type", "type+, type, type, type+", type=ALL),
    row("mad fma", "{.rnd}{.ftz}{.sat}{.relu}{.oob}.type", FOUR, rnd=RND, oob="oob", type=FLOAT),
    row("fma", "{.rnd}{.sat}.f32.atype", "f32, atype, atype, f32", rnd=RND, atype="f16 bf16"),
    row("mul24", ".half{.sat}.type", THREE, half="lo hi wide", type=INT),
    row("mad24", ".half{.sat}.type", FOUR, half="lo hi wide", type=INT),
    row("sad", "{.sat}.type", FOUR, type=ALL),
    row("div", "{.kind}{.rnd}{.ftz}{.sat}.type", THREE, kind="approx full", rnd=RND, type=ALL),
    row("rem", "{.sat}.type", THREE, type=ALL),
    row("abs neg", "{.ftz}{.sat}.type", "type, type", type=ALL),
    row("min max", "{.ftz}{.nan}{.xorsign}{.abs}{.relu}.type", THREE, nan="NaN", type=ALL),
    row("min max", "{.ftz}{.nan}{.xorsign}{.abs}.type", FOUR, nan="NaN", type="f32 f64 f16 s32"),
    row("rcp sqrt rsqrt", "{.approx}{.rnd}{.ftz}{.sat}.type", "type, type", rnd=RND, type=FLOAT),
    row("sin cos lg2 ex2 tanh", "{.approx}{.rnd}{.ftz}{.sat}.type", "type, type", rnd="rn", type=FLOAT),
    row("copysign", "{.ftz}.type", THREE, type=FLOAT),
    row(
        "testp",
        ".property{.ftz}.type",
        "pred, type",
        type=FLOAT,
        property="finite infinite number notanumber normal subnormal",
    ),
    row("popc clz", ".type", "u32, type", "b64, type", type=INT),
    row("bfind", "{.shiftamt}.type", "u32, type", "b64, type", type=INT),
    row("brev cnot not", ".type", "type, type", type=ALL),
    row("fns", ".type", "type, type, type, type", type=INT),
    row("bfe", ".type", "type, type, u32, u32", type=INT),
    row("bfi", ".type", "type, type, type, u32, u32", type=INT),
    row("bmsk", "{.mode}.type", "type, type, type", mode="clamp wrap", type=INT),
    row("szext", "{.mode}.type", "type, type, u32", mode="clamp wrap", type=INT),
    row("dp4a", "{.sat}.atype{.btype}", "u32, u32, u32, u32", atype=INT, btype=INT),
    row("dp2a", "{.half}{.sat}.atype{.btype}", "u32, u32, u32, u32", half="lo hi", atype=INT, btype=INT),
)

LOGIC = (
    row("and or xor", ".type", THREE, type=ALL),
    row("shl", "{.mode}.type", "type, type, u32", mode="clamp wrap", type=ALL),
    row("shr", "{.mode}.type", "type, type, u32", mode="clamp wrap", type=ALL),
    row("shf", "{.side}{.mode}.type", "type, type, type, u32", side="l r", mode="clamp wrap", type=INT),
    row("lop3", ".type", "type, type, type, type, 0x3a", type=INT),
    row(
        "lop3",
        ".bool.type",
        "type|pred, type, type, type, 0x3a, pred",
        "type|pred, type, type, type, 0x3a, !pred",
        "$_|pred, type, type, type, 0x3a, pred",
        bool="or and xor",
        type="b32 u32 b64",
    ),
    row("prmt", ".type{.mode}", FOUR, mode="f4e b4e rc8 ecl ecr rc16", type=INT),
)

MOVE = (
    row("mov", ".type", "type, type", type=ALL),
    row("mov", ".type", "type, {type-, type-}", "{type-, type-}, type", type=ALL),
    row("mov", ".type", "{type-, $_}, type", "{$_, type-}, type", type="b16 b32 b64 b128"),
    row("mov", ".type", "type, {u8, u8, u8, u8}", "{u8, u8, u8, u8}, type", type="b32 u32 f32"),
    row(
        "mov",
        ".type",
        "type, {b16, b16, b16, b16}",
        "{b16, b16, b16, b16}, type",
        "{b16, $_, b16, $_}, type",
        type="b64 u64 f64 b128",
    ),
    row("mov", ".type", "type, {b32, b32, b32, b32}", "{b32, b32, b32, b32}, type", type="b128 b64"),
    row("mov", ".type", "type, {f32, f32}", "{f32, f32}, type", type="b64"),
    row("mov", ".type", "type, {f64, f64}", "{f64, f64}, type", type="b128"),
    row("mov", ".v2.type", "{type, type}, {type, type}", type="b16 b32 b64 f32"),
    row(
        "mov",
        ".type",
        "type, $global_array",
        "type, $shared_array+4",
        "type, $local_array",
        "type, $constant_array",
        "type, $parameter",
        "type, $called",
        "type, $LABEL",
        "type, 5",
        "type, $WARP_SZ",
        type="pred u16 u32 b32 s32 u64 b64 s64 f32 f64",
    ),
    row(
        "mov",
        ".type",
        "type, $%tid.x",
        "type, $%clock",
        "type, $%laneid",
        "type, $%clock64",
        "type, $%lanemask_eq",
        "type, $%smid",
        type="u16 u32 b32 s32 u64 b64 s64 f32",
    ),
    row("mov", ".type", "{type, type, type, type}, $%tid", type="u16 u32 b32"),
    row("selp", "{.ftz}.type", "type, type, type, pred", "type, type, type, !pred", type=ALL),
    row("slct", "{.ftz}.type.ctype", "type, type, type, ctype", type=ALL, ctype="s32 f32 u32 b32 f64 s64"),
)

COMPARE = (
    row(
        "set",
        ".cmp{.ftz}.dtype.stype",
        "dtype, stype, stype",
        cmp=CMP,
        dtype="u16 s16 b32 u32 s32 u64 f16 f16x2 bf16 bf16x2 f32 f64",
        stype="b8 u8 b16 u16 s16 b32 u32 s32 b64 u64 s64 f16 f16x2 bf16 bf16x2 f32 f64",
    ),
    row(
        "set",
        ".cmp.bool{.ftz}.dtype.stype",
        "dtype, stype, stype, pred",
        "dtype, stype, stype, !pred",
        cmp=CMP,
        bool="and or xor popc",
        dtype="u16 s16 u32 s32 u64 f16 f16x2 bf16 bf16x2 f32 f64",
        stype="b16 u16 s16 b32 u32 s32 b64 u64 s64 f16 f16x2 bf16 bf16x2 f32 f64",
    ),
    row(
        "setp",
        ".cmp{.ftz}.type",
        "pred, type, type",
        "pred|pred, type, type",
        "$_|pred, type, type",
        "pred|$_, type, type",
        cmp=CMP,
        type=ALL,
    ),
    row(
        "setp",
        ".cmp.bool{.ftz}.type",
        "pred, type, type, pred",
        "pred, type, type, !pred",
        "pred|pred, type, type, pred",
        "pred|pred, type, type, !pred",
        cmp=CMP,
        bool="and or xor popc",
        type=ALL,
    ),
)

_CVT_TYPES = f"{INT} f16 bf16 f32 f64 tf32 f16x2 bf16x2 {SMALL}"
CONVERT = (
    row(
        "cvt",
        "{.rnd}{.ftz}{.sat}.dtype.atype",
        "dtype, atype",
        rnd=f"{RND} {RNI}",
        dtype=_CVT_TYPES,
        atype=_CVT_TYPES,
    ),
    row(
        "cvt",
        "{.rnd}{.relu}{.satfinite}.dtype.atype",
        "dtype, atype",
        rnd=RND,
        dtype=_CVT_TYPES,
        atype=_CVT_TYPES,
    ),
    row(
        "cvt",
        "{.rnd}{.satfinite}{.relu}.scaled.dtype.atype",
        "dtype, atype",
        "dtype, atype, b16",
        rnd="rn rz",
        scaled="scaled::n2::ue8m0",
        dtype=f"{SMALL} bf16x2",
        atype=f"{SMALL} bf16x2 f32",
    ),
    row(
        "cvt",
        "{.rnd}{.relu}{.satfinite}{.ftz}{.sat}.dtype.atype",
        "dtype, atype, atype",
        rnd=RND,
        dtype=f"f16x2 bf16x2 f32x2 {SMALL}",
        atype="f32 f16 bf16 f64",
    ),
    row(
        "cvt",
        ".rs{.relu}{.satfinite}.dtype.f32",
        "dtype, f32, f32, b32",
        "dtype, {f32, f32, f32, f32}, b32",
        dtype="f16x2 bf16x2 e4m3x4 e5m2x4",
    ),
    row("cvt", "{.sat}.widen.atype", "b32, b32", widen="u16 s16 u32 s32 u64 s64", atype="u8.b0 s8.b1 u16.h0"),
    row(
        "cvt",
        ".pack{.sat}.dtype.atype{.ctype}",
        "b32, b32, b32",
        "b32, b32, b32, b32",
        dtype="u2 s2 u4 s4 u8 s8 u16 s16 u32",
        atype="s32 u32 s16",
        ctype="b32 b16",
    ),
)

_SCALAR = ("", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1")
_SELECTED = [f"u32, u32{a}, u32{b}" for a in _SCALAR for b in _SCALAR]
_MERGED = [f"u32{d}, u32{a}, u32{b}, u32" for d in _SCALAR[1:] for a in _SCALAR[::3] for b in _SCALAR[::2]]
_FOURTH = [f"u32, u32{a}, u32{b}, u32" for a in _SCALAR for b in _SCALAR]
_MAD = [
    f"u32, {n}u32{a}, {o}u32{b}, {p}u32"
    for a in _SCALAR
    for b in _SCALAR
    for n, o, p in (("", "", ""), ("-", "", ""), ("", "-", ""), ("", "", "-"), ("-", "", "-"))
]
_HALVES = [
    f"u32{d}, u32{a}, u32{b}, u32"
    for d in ("", ".h0", ".h1", ".h10")
    for a in ("", ".h10", ".h32", ".h03", ".h11")
    for b in ("", ".h10", ".h32", ".h21")
]
_BYTES = [
    f"u32{d}, u32{a}, u32{b}, u32"
    for d in ("", ".b0", ".b3", ".b10", ".b20", ".b321", ".b3210")
    for a in ("", ".b3210", ".b7654", ".b0000")
    for b in ("", ".b7654", ".b5207")
]
_VIDEO = "u32 s32 b32"
_VIDEO_CMP = "eq ne lt le gt ge lo"
VIDEO = (
    row(
        "vadd vsub vabsdiff vmin vmax",
        ".dtype.atype.btype{.sat}",
        *_SELECTED,
        *_MERGED,
        dtype=_VIDEO,
        atype=_VIDEO,
        btype=_VIDEO,
    ),
    row(
        "vadd vsub vabsdiff vmin vmax",
        ".dtype.atype.btype{.sat}{.op}",
        *_FOURTH,
        dtype=_VIDEO,
        atype=_VIDEO,
        btype=_VIDEO,
        op="add min max",
    ),
    row(
        "vshl vshr",
        ".dtype.atype.btype{.sat}{.mode}",
        *_SELECTED,
        *_MERGED,
        dtype=_VIDEO,
        atype=_VIDEO,
        btype=_VIDEO,
        mode="clamp wrap",
    ),
    row(
        "vshl vshr",
        ".dtype.atype.btype{.sat}.mode{.op}",
        *_FOURTH,
        dtype=_VIDEO,
        atype=_VIDEO,
        btype="u32 s32",
        mode="clamp wrap",
        op="add min max",
    ),
    row(
        "vmad",
        ".dtype.atype.btype{.po}{.sat}{.scale}",
        *_MAD,
        dtype=_VIDEO,
        atype=_VIDEO,
        btype=_VIDEO,
        scale="shr7 shr15",
    ),
    row("vset", ".atype.btype.cmp", *_SELECTED, *_MERGED, atype=_VIDEO, btype=_VIDEO, cmp=_VIDEO_CMP),
    row(
        "vset",
        ".atype.btype.cmp{.op}",
        *_FOURTH,
        atype=_VIDEO,
        btype=_VIDEO,
        cmp=_VIDEO_CMP,
        op="add min max",
    ),
    row(
        "vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2",
        ".dtype.atype.btype{.sat}{.add}",
        "u32, u32, u32",
        *_HALVES,
        dtype=_VIDEO,
        atype=_VIDEO,
        btype=_VIDEO,
    ),
    row(
        "vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4",
        ".dtype.atype.btype{.sat}{.add}",
        "u32, u32, u32",
        *_BYTES,
        dtype=_VIDEO,
        atype=_VIDEO,
        btype=_VIDEO,
    ),
    row(
        "vset2",
        ".atype.btype.cmp{.add}",
        "u32, u32, u32",
        *_HALVES,
        atype=_VIDEO,
        btype=_VIDEO,
        cmp=_VIDEO_CMP,
    ),
    row(
        "vset4",
        ".atype.btype.cmp{.add}",
        "u32, u32, u32",
        *_BYTES,
        atype=_VIDEO,
        btype=_VIDEO,
        cmp=_VIDEO_CMP,
    ),
)
ROWS = (*ARITHMETIC, *LOGIC, *MOVE, *COMPARE, *CONVERT, *VIDEO)
