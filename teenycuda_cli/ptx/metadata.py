"""What a kernel needs at its launch, as the file and its company tell it.

Each value comes with its source, in this order of trust: a JSON file that the
user named (`sidecar`), the file's own `// meta:key=value` block (`meta`), the
JSON file that Triton leaves beside its PTX (`sidecar`), older comments
(`legacy`), the entry's `.reqntid` (`reqntid`) and name (`entry`), `default`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from teenycuda_cli.ptx.literals import WARP_SIZE
from teenycuda_cli.ptx.meta_blocks import MetaBlock, meta_blocks
from teenycuda_cli.ptx.signatures import Function, Module
from teenycuda_cli.wording import counted

DEFAULT_NAME = "entry_point"
DEFAULTS: dict[str, int] = {
    "num_warps": 4,
    "num_ctas": 1,
    "shared": 0,
    "tmem_size": 0,
    "global_scratch_size": 0,
    "global_scratch_align": 1,
    "profile_scratch_size": 0,
    "profile_scratch_align": 1,
}
KEYS = ("name", *DEFAULTS)
LAUNCH_KEYS = ("cluster_dims", "launch_pdl", "launch_cooperative_grid")
"""What a sidecar alone tells."""
_AT_LEAST_ONE = ("num_warps", "num_ctas", "global_scratch_align", "profile_scratch_align")
_ALIGNMENTS = ("global_scratch_align", "profile_scratch_align")
_LARGEST = (1 << 63) - 1
_SHOWN = 60  # characters of a value in a warning
_LEGACY = {
    "TRITON_SHARED_MEM_BYTES": "shared",
    "TRITON_GLOBAL_SCRATCH_BYTES_PER_CTA": "global_scratch_size",
    "TRITON_GLOBAL_SCRATCH_ALIGN": "global_scratch_align",
}
_LEGACY_LINE = re.compile(r"(TRITON_[A-Z_]+):\s*(.*?)\s*\Z")


class Setting(NamedTuple):
    """A value and where it came from."""

    value: int | str
    source: str

    @property
    def number(self) -> int:
        """The value of a key that holds a number."""
        assert isinstance(self.value, int)
        return self.value


_DEFAULT_SETTINGS = {key: Setting(value, "default") for key, value in DEFAULTS.items()}


class Sidecar(NamedTuple):
    """A JSON file with metadata; `named` if the user gave it, else it was found beside the PTX."""

    path: str
    values: Mapping[str, object]
    named: bool = False


class Metadata(NamedTuple):
    """A kernel's metadata; sizes in bytes. `given` are the keys that the file or a sidecar states."""

    name: Setting
    num_warps: Setting
    num_ctas: Setting
    shared: Setting
    tmem_size: Setting
    global_scratch_size: Setting
    global_scratch_align: Setting
    profile_scratch_size: Setting
    profile_scratch_align: Setting
    threads_per_block: int | None  # None where nothing tells
    cluster_dims: tuple[int, ...] | None = None
    launch_pdl: bool = False
    launch_cooperative_grid: bool = False
    given: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()

    def setting(self, key: str) -> Setting:
        """The setting of one of `KEYS`."""
        setting: Setting = getattr(self, key)
        return setting


def read_metadata(module: Module, entry: Function | None, sidecars: Iterable[Sidecar] = ()) -> Metadata:
    """The metadata of an entry; of None (a file with no entry), the defaults and what the file says."""
    return MetadataReader(module, sidecars).read(entry)


def _metadata(settings: Mapping[str, Setting], threads_per_block: int | None) -> Metadata:
    def number(key: str) -> Setting:
        return settings.get(key) or _DEFAULT_SETTINGS[key]

    return Metadata(
        name=settings.get("name") or Setting(DEFAULT_NAME, "default"),
        num_warps=number("num_warps"),
        num_ctas=number("num_ctas"),
        shared=number("shared"),
        tmem_size=number("tmem_size"),
        global_scratch_size=number("global_scratch_size"),
        global_scratch_align=number("global_scratch_align"),
        profile_scratch_size=number("profile_scratch_size"),
        profile_scratch_align=number("profile_scratch_align"),
        threads_per_block=threads_per_block,
    )


class MetadataReader:
    """Reads the metadata of one entry after the other of a module."""

    def __init__(self, module: Module, sidecars: Iterable[Sidecar] = ()) -> None:
        """Look once at what concerns the whole file."""
        self.sidecars = tuple(sidecars)
        self.entries = [entry.name for entry in module.entries]
        self.names = frozenset(self.entries)
        self.blocks: dict[str | None, MetaBlock] = {}
        for index, block in enumerate(meta_blocks(module, KEYS)):
            name = block.values.get("name")
            if name is not None or index == 0:
                self.blocks.setdefault(name, block)
        self.strangers = [name for name in self.blocks if name is not None and name not in self.names]
        self.legacy = [match.groups() for _, text in module.comments if (match := _LEGACY_LINE.match(text))]

    def read(self, entry: Function | None) -> Metadata:
        """The metadata of an entry, or of a file with none."""
        return _Reading(self, entry).run()


class _Reading:
    """One entry's metadata in the making."""

    def __init__(self, reader: MetadataReader, entry: Function | None) -> None:
        self.reader = reader
        self.entry = entry
        self.warnings: list[str] = []
        self.settings: dict[str, Setting] = {}
        self.extras: dict[str, object] = {}

    def run(self) -> Metadata:
        """Take each source in its turn; what is set stays."""
        for sidecar in self.reader.sidecars:
            if sidecar.named:
                self._take_sidecar(sidecar)
        self._take_block()
        for sidecar in self.reader.sidecars:
            if not sidecar.named:
                self._take_sidecar(sidecar)
        given = frozenset(self.settings)
        self._take_legacy()
        self._take_entry()
        metadata = _metadata(self.settings, self._threads())
        if not (given or self.extras or self.warnings):
            return metadata
        return metadata._replace(
            cluster_dims=self._cluster(),
            launch_pdl=self.extras.get("launch_pdl") is True,
            launch_cooperative_grid=self.extras.get("launch_cooperative_grid") is True,
            given=given,
            warnings=tuple(self.warnings),
        )

    def _take_sidecar(self, sidecar: Sidecar) -> None:
        name = sidecar.values.get("name")
        if isinstance(name, str) and not self._is_ours(name, f"{sidecar.path} is"):
            return
        for key in KEYS:
            if sidecar.values.get(key) is not None:
                self._set(key, sidecar.values[key], "sidecar", sidecar.path)
        for key in LAUNCH_KEYS:
            self.extras.setdefault(key, sidecar.values.get(key))

    def _take_block(self) -> None:
        """The block that names the entry; one without a name is the first entry's."""
        for block in self._own_blocks():
            self.warnings += block.remarks
            for key in KEYS:
                if key in block.values:
                    self._set(key, block.values[key], "meta", "`// meta:`")

    def _own_blocks(self) -> Iterator[MetaBlock]:
        found = self.reader.blocks
        if not found:
            return
        if self.entry is None:
            yield from found.values()
            return
        if self.entry.name in found:
            yield found[self.entry.name]
        for name in self.reader.strangers:
            if self._is_ours(name, "the `// meta:` block is"):
                yield found[name]
        if None in found and self.entry.name in self.reader.entries[:1]:
            yield found[None]

    def _is_ours(self, name: str, whose: str) -> bool:
        """Whether metadata with a name is this entry's; in a file of one entry it is, whatever its name."""
        if self.entry is None or name == self.entry.name:
            return True
        entries = self.reader.entries
        if name in self.reader.names:
            return False
        if len(entries) == 1:
            self.warnings.append(f"{whose} for `{name}`, while the file's only entry is `{self.entry.name}`")
            return True
        if self.entry.name == entries[0]:
            self.warnings.append(f"{whose} for `{name}`, which the file does not hold; ignored")
        return False

    def _set(self, key: str, value: object, source: str, where: str) -> None:
        if key in self.settings:
            return
        if key == "name":
            self.settings[key] = Setting(str(value), source)
            return
        number = _number(value, 1 if key in _AT_LEAST_ONE else 0)
        if number is None or (key in _ALIGNMENTS and number & (number - 1)):
            default = DEFAULTS[key]
            self.warnings.append(
                f"{where}: {key} is `{_written(value)}`, no number it can have; taking the default {default}"
            )
            return
        self.settings[key] = Setting(number, source)

    def _take_legacy(self) -> None:
        """The older comments count where a key still has its default."""
        for word, value in self.reader.legacy:
            key = _LEGACY.get(word)
            if key is None:
                continue
            current = self.settings.get(key)
            if current is not None and current.value != DEFAULTS[key]:
                continue
            number = _number(value, 0)
            if number is None:
                self.warnings.append(f"`{word}` is `{value}`, no number; taking the default {DEFAULTS[key]}")
                continue
            self.settings[key] = Setting(max(number, 1) if key in _AT_LEAST_ONE else number, "legacy")

    def _take_entry(self) -> None:
        if self.entry is None:
            return
        self.settings.setdefault("name", Setting(self.entry.name, "entry"))
        threads = exact_threads(self.entry)
        if threads is not None:
            warps = -(-threads // WARP_SIZE)
            given = self.settings.setdefault("num_warps", Setting(warps, "reqntid"))
            if given.value != warps:
                self.warnings.append(
                    f"num_warps is {given.value}, while .reqntid asks for {counted(threads, 'thread')};"
                    " .reqntid counts"
                )

    def _threads(self) -> int | None:
        """Threads a block: `.reqntid` exactly, else the warps that metadata states."""
        threads = exact_threads(self.entry) if self.entry else None
        warps = self.settings.get("num_warps")
        if threads is None and warps and warps.source in ("meta", "sidecar"):
            threads = warps.number * WARP_SIZE
        return threads

    def _cluster(self) -> tuple[int, ...] | None:
        value = self.extras.get("cluster_dims")
        if isinstance(value, list | tuple) and 1 <= len(value) <= 3 and all(_number(n, 1) for n in value):
            return tuple(int(n) for n in value)
        return None


def exact_threads(entry: Function) -> int | None:
    """The threads a block that `.reqntid` asks for: the product of its numbers."""
    if entry.directives.reqntid is None:
        return None
    threads = 1
    for number in entry.directives.reqntid:
        threads *= number
    return threads


def _written(value: object) -> str:
    """A value as JSON writes it, cut to a line's length."""
    words = {"True": "true", "False": "false", "nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    text = str(value)
    return words.get(text, text) if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _number(value: object, least: int) -> int | None:
    """A number of metadata: an int, or decimal digits; None for anything else and what is out of range."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if least <= value <= _LARGEST else None
