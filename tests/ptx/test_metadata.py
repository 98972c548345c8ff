"""Metadata with its sources, and the roles of parameters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from teenycuda_cli.errors import FileError
from teenycuda_cli.ptx.metadata import Metadata, Sidecar, read_metadata
from teenycuda_cli.ptx.parser import parse
from teenycuda_cli.ptx.sidecar import find_sidecar, read_sidecar
from teenycuda_cli.ptx.source import Source
from teenycuda_cli.ptx.triton import parameter_roles

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
POINTERS = ", ".join(f".param .u64 .ptr .global .align 1 k_param_{index}" for index in range(4))


def metadata_of(text: str, entry: str = "k", *sidecars: Sidecar) -> Metadata:
    """The metadata of an entry of a text behind the usual head."""
    module = parse(Source((HEAD + text).encode(), "t.ptx"), bodies=False)
    return read_metadata(module, next(e for e in module.entries if e.name == entry), sidecars)


def settings(metadata: Metadata, *keys: str) -> list[tuple[int | str, str]]:
    """Values and sources of some keys."""
    return [tuple(metadata.setting(key)) for key in keys]  # type: ignore[misc]


def test_block() -> None:
    """The `// meta:` block gives every key that it has, the defaults the rest."""
    found = metadata_of(".entry k() {}\n// meta:name=k\n//meta: num_warps = 8 \r\n// meta:shared=1024\n")
    assert settings(found, "name", "num_warps", "shared", "num_ctas", "global_scratch_align") == [
        ("k", "meta"),
        (8, "meta"),
        (1024, "meta"),
        (1, "default"),
        (1, "default"),
    ]
    assert found.threads_per_block == 256


def test_fallbacks() -> None:
    """Without metadata the name is the entry's, the warps `.reqntid` rounded up, else 128 threads."""
    found = metadata_of(".entry k() .reqntid 33, 2 {}")
    assert settings(found, "name", "num_warps") == [("k", "entry"), (3, "reqntid")]
    assert found.threads_per_block == 66
    other = metadata_of(".entry k() .maxntid 64 {}")
    assert settings(other, "num_warps", "shared", "tmem_size", "profile_scratch_size") == [
        (4, "default"),
        (0, "default"),
        (0, "default"),
        (0, "default"),
    ]
    assert other.threads_per_block is None


def test_a_file_without_entry() -> None:
    """A file with no entry has the name `entry_point`."""
    module = parse(Source(HEAD.encode(), "t.ptx"))
    assert read_metadata(module, None).name == ("entry_point", "default")


def test_older_comments() -> None:
    """The older comments count where a key still has its default; an alignment is at least 1."""
    found = metadata_of(
        ".entry k() {}\n// TRITON_SHARED_MEM_BYTES: 4096\n// TRITON_GLOBAL_SCRATCH_BYTES_PER_CTA: 64\n"
        "// TRITON_GLOBAL_SCRATCH_ALIGN: 0\n// meta:name=k\n// meta:global_scratch_size=8\n// meta:shared=0\n"
    )
    assert settings(found, "shared", "global_scratch_size", "global_scratch_align") == [
        (4096, "legacy"),
        (8, "meta"),
        (1, "legacy"),
    ]


@pytest.mark.parametrize("bad", ["", "x", "-1", "1.5", "0x10", "99999999999999999999", "1 2", "٣"])
def test_bad_numbers(bad: str) -> None:
    """A bad number falls back to the default, with a warning that shows it."""
    module = parse(Source(f"{HEAD}.entry k() {{}}\n// meta:shared={bad}\n".encode(), "t.ptx"), bodies=False)
    found = read_metadata(module, module.entries[0])
    assert settings(found, "shared") == [(0, "default")]
    (warning,) = found.warnings
    assert "shared" in warning


def test_warps_of_zero() -> None:
    """A kernel has at least one warp."""
    found = metadata_of(".entry k() {}\n// meta:num_warps=0\n")
    assert settings(found, "num_warps") == [(4, "default")]
    assert found.warnings


def test_each_entry_has_its_block() -> None:
    """In a file of several entries a block belongs to the entry that it names."""
    text = (
        ".entry a() {}\n.entry b() {}\n.entry c() {}\n"
        "// meta:name=b\n// meta:num_warps=2\n// meta:name=a\n// meta:num_warps=1\n"
        "// meta:name=zzz\n// meta:num_warps=7\n"
    )
    assert settings(metadata_of(text, "a"), "num_warps") == [(1, "meta")]
    assert settings(metadata_of(text, "b"), "num_warps") == [(2, "meta")]
    assert settings(metadata_of(text, "c"), "num_warps") == [(4, "default")]
    assert any("zzz" in warning for warning in metadata_of(text, "a").warnings)


def test_the_only_entry_has_the_block_whatever_its_name() -> None:
    """In a file of one entry the block is its own; another name is worth a warning."""
    found = metadata_of(".entry k() {}\n// meta:name=other\n// meta:num_warps=2\n")
    assert settings(found, "num_warps", "name") == [(2, "meta"), ("other", "meta")]
    assert any("other" in warning for warning in found.warnings)


def test_comments_only() -> None:
    """What looks like metadata inside a string or a block comment is none."""
    found = metadata_of(
        '.file 1 "\n// meta:num_warps=2\n"\n/*\n// meta:num_warps=3\n*/\n'
        ".entry k() { // meta:shared=16\n ret; }\n"
    )
    assert settings(found, "num_warps", "shared") == [(4, "default"), (16, "meta")]


def test_reqntid_counts() -> None:
    """Where metadata and `.reqntid` differ, `.reqntid` gives the threads, with a warning."""
    found = metadata_of(".entry k() .reqntid 256 {}\n// meta:num_warps=4\n")
    assert found.threads_per_block == 256
    assert any(".reqntid" in warning for warning in found.warnings)


def test_sidecars() -> None:
    """A file that the user names goes before the block, one found beside the PTX behind it."""
    values = {"name": "k", "num_warps": 2, "shared": 7, "cluster_dims": [2, 1, 1], "launch_pdl": True}
    text = ".entry k() {}\n// meta:num_warps=8\n"
    found = metadata_of(text, "k", Sidecar("k.json", values))
    assert settings(found, "num_warps", "shared") == [(8, "meta"), (7, "sidecar")]
    assert (found.cluster_dims, found.launch_pdl, found.launch_cooperative_grid) == ((2, 1, 1), True, False)
    named = metadata_of(text, "k", Sidecar("k.json", values, named=True))
    assert settings(named, "num_warps") == [(2, "sidecar")]


@pytest.mark.parametrize("value", ["8", 8.0, True, -1, [8], {"a": 1}])
def test_sidecars_hold_numbers(value: object) -> None:
    """A value that is no number gives the default and a warning; a string of digits counts."""
    found = metadata_of(".entry k() {}", "k", Sidecar("k.json", {"num_warps": value}))
    expected = (8, "sidecar") if value == "8" else (4, "default")
    assert settings(found, "num_warps") == [expected]
    assert bool(found.warnings) == (value != "8")


def test_finding_a_sidecar(tmp_path: Path) -> None:
    """`name.json` beside `name.ptx` is found, one about something else or broken is passed over."""
    path = tmp_path / "k.ptx"
    assert find_sidecar(str(path)) == (None, ())
    beside = tmp_path / "k.json"
    beside.write_text(json.dumps({"num_warps": 2}))
    sidecar, warnings = find_sidecar(str(path))
    assert sidecar is not None
    assert (sidecar.values, warnings) == ({"num_warps": 2}, ())
    beside.write_text('{"name": "package", "version": 1}')
    assert find_sidecar(str(path)) == (None, ())
    for broken in ("{", "[1]", "\xff", "[" * 100_000):
        beside.write_bytes(broken.encode("latin-1"))
        sidecar, warnings = find_sidecar(str(path))
        assert sidecar is None
        assert len(warnings) == 1
        with pytest.raises(FileError):
            read_sidecar(str(beside))
    assert find_sidecar("-") == (None, ())
    beside.write_text('{"launch_cooperative_grid": true}')
    sidecar, _ = find_sidecar(str(path))
    assert sidecar is not None
    assert metadata_of(".entry k() {}", "k", sidecar).launch_cooperative_grid


def roles(text: str, entry: str = "k", arguments: int | None = None) -> str:
    """The roles of an entry's parameters by their first letters."""
    source = Source((HEAD + text).encode(), "t.ptx")
    module = parse(source, bodies=False)
    function = next(e for e in module.entries if e.name == entry)
    found = parameter_roles(source, module, function, read_metadata(module, function), arguments)
    return "".join(role[0] for role in found)


def test_roles_by_metadata() -> None:
    """Metadata tells of the hidden parameters: one scratch key, one; both, two; none, none."""
    entry = f".entry k({POINTERS}) .reqntid 128 {{}}\n// meta:name=k\n"
    both = "// meta:global_scratch_size=0\n// meta:profile_scratch_size=0\n"
    assert roles(entry + both) == "uugp"
    assert roles(entry + "// meta:global_scratch_size=0\n") == "uuug"
    assert roles(entry) == "uuuu"


def test_roles_by_the_number_of_arguments() -> None:
    """The arguments given settle it: all of them, and nothing is hidden."""
    entry = f".entry k({POINTERS}) .reqntid 128 {{}}\n// meta:name=k\n"
    both = "// meta:global_scratch_size=0\n// meta:profile_scratch_size=0\n"
    assert roles(entry + both, arguments=2) == "uugp"
    assert roles(entry + both, arguments=3) == "uuug"
    assert roles(entry + both, arguments=4) == "uuuu"
    assert roles(entry + both, arguments=1) == "uugp"
    assert roles(entry, arguments=2) == "uugp"


def test_pointers_of_others_are_never_hidden() -> None:
    """Without evidence of Triton a user's pointers stay the user's, whatever is given."""
    nvcc = ".entry k(.param .u64 k_param_0, .param .u64 k_param_1) {}"
    assert roles(nvcc) == "uu"
    assert roles(nvcc, arguments=1) == "uu"
    named = (
        ".entry k(.param .u64 .ptr .global .align 1 x, .param .u64 .ptr .global .align 1 y) .reqntid 32 {}"
    )
    assert roles(named, arguments=0) == "uu"
    rust = '.file 1 "a.rs"\n' + f".entry k({POINTERS}) {{}}"
    assert roles(rust, arguments=2) == "uuuu"


def test_only_pointers_are_hidden() -> None:
    """What is no 64-bit pointer is not taken for scratch, even if metadata says that there is some."""
    meta = "// meta:global_scratch_size=8\n// meta:profile_scratch_size=0\n"
    assert roles(f".entry k(.param .u64 a, .param .u32 n) {{}}\n{meta}") == "uu"
    assert roles(f".entry k(.param .u32 n, .param .u64 a) {{}}\n{meta}") == "ug"


def test_unread_pointers_of_python() -> None:
    """Without metadata, last pointers that a kernel written in Python never reads are hidden."""
    body = "{ .reg .b64 %r<3>; ld.param.b64 %r1, [k_param_0]; ld.param.b64 %r2, [k_param_1]; ret; }"
    entry = f".entry k({POINTERS}) .reqntid 128 {body}\n"
    assert roles(entry + '.file 1 "/src/k.py"\n') == "uugp"
    assert roles(entry + '.file 1 "/src/k.cu"\n') == "uuuu"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"shared": ' + b"9" * 10000 + b"}", "number too long"),
        (b"[" * 100000, "nested too deeply"),
        (b'{"name": "\xff"}', "no UTF-8"),
    ],
)
def test_a_hostile_sidecar_is_an_error_with_its_reason(tmp_path: Path, text: bytes, says: str) -> None:
    """Whatever a JSON file holds, what is wrong with it is said."""
    (tmp_path / "m.json").write_bytes(text)
    with pytest.raises(FileError, match=says):
        read_sidecar(str(tmp_path / "m.json"))


def test_values_are_shown_as_the_file_writes_them() -> None:
    """A warning shows JSON's spelling, and an alignment must be a power of two."""
    source = Source(b".version 8.0\n.target sm_90\n.entry k() { ret; }\n", "k.ptx")
    module = parse(source)
    values = {"num_warps": True, "shared": float("inf"), "global_scratch_align": 3}
    warnings = read_metadata(module, module.entries[0], [Sidecar("m.json", values, named=True)]).warnings
    assert [warning.split("`")[1] for warning in warnings] == ["true", "Infinity", "3"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("num_warp=8", "`// meta:num_warp` is no key that is known"),
        ("num_warps 8", "`// meta:num_warps 8` is no key=value"),
        ("shared=2", "`// meta:shared` is given as `1` and as `2`; the first counts"),
    ],
)
def test_comments_that_count_for_nothing_are_told(line: str, words: str) -> None:
    """A `// meta:` line that is misspelt, no setting or contradicts another has a warning of its kernel."""
    block = f"// meta:name=k\n// meta:shared=1\n// meta:{line}\n// meta:name=other\n"
    text = f".entry first() {{}}\n.entry k() {{}}\n.entry other() {{}}\n{block}"
    found = metadata_of(text)
    assert [warning for warning in found.warnings if words in warning]
    assert found.shared.value == 1
    assert metadata_of(text, "other").warnings == ()
