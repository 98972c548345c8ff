"""Reading a cubin: kernels, their parameters and what they need, from an ELF file."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from teenycuda_cli.binary import nvinfo
from teenycuda_cli.binary.elf import (
    STO_CUDA_ENTRY,
    STT_FUNC,
    TYPE_RELOCATABLE,
    Elf,
    Section,
    Symbol,
    read_elf,
)
from teenycuda_cli.binary.model import Cubin, Kernel, KernelParameter
from teenycuda_cli.binary.reader import Reader

RESERVED_SHARED = 1024  # at the start of each block's shared memory, from sm_90 on
_FIRST_RESERVING_SM = 90
_UNBOUNDED_STACK = 0xFFFFFFFF
_FIRST_ABI_WITH_SM_IN_SECOND_BYTE = 8
_ACCELERATORS_ABI_7 = 0x800
_LINKAGE = {0: "none", 1: "visible", 2: "weak"}
_TOOLKIT = re.compile(rb"release (\d+\.\d+)")
_COMMAND_ARCH = re.compile(rb"-arch[ =]+sm_(\d+)([af]?)")


@dataclass(slots=True)
class _Facts:
    """What the attributes say of one function, gathered from `.nv.info` and `.nv.info.<name>`."""

    registers: int | None = None
    frame: int = 0
    stack: int | None = None
    params: list[KernelParameter] = field(default_factory=list)
    reqntid: tuple[int, ...] | None = None
    maxntid: tuple[int, ...] | None = None
    cluster: tuple[int, ...] | None = None
    barriers: int | None = None


def read_cubin(data: bytes, name: str) -> Cubin:
    """What a cubin holds; FileError, with the offset, where it is damaged or no cubin at all."""
    reader = Reader(data, name, "cubin")
    elf = read_elf(reader)
    sections = {section.name: section for section in elf.sections}
    number, arch = _architecture(reader, elf, sections)
    facts = _facts(reader, elf, sections)
    functions = [each for each in elf.symbols if each.type == STT_FUNC and each.section and each.name]
    kernels = [each for each in functions if each.other & STO_CUDA_ENTRY]
    return Cubin(
        name=name,
        arch=arch,
        abi_version=elf.abi_version,
        toolkit=_toolkit(reader, sections),
        kernels=tuple(_kernel(elf, sections, each, facts, number, arch) for each in kernels),
        functions=tuple(each.name for each in functions if not each.other & STO_CUDA_ENTRY),
        debug_sections=tuple(each for each in sections if _is_debug(each)),
        relocatable=elf.type == TYPE_RELOCATABLE,
    )


def _architecture(reader: Reader, elf: Elf, sections: Mapping[str, Section]) -> tuple[int, str]:
    """The SM's number, and its name with the suffix as far as the file tells it."""
    if elf.abi_version < _FIRST_ABI_WITH_SM_IN_SECOND_BYTE:
        number = elf.flags & 0xFF
        return number, f"sm_{number}{'a' if elf.flags & _ACCELERATORS_ABI_7 else ''}"
    number = elf.flags >> 8 & 0xFF
    compat = sections.get(".nv.compat")
    accelerated = compat is not None and any(
        each.number == nvinfo.COMPAT_ACCELERATOR_TARGET and each.value == 1
        for each in nvinfo.attributes(reader, compat)
    )
    commanded = {
        suffix for sm, suffix in _COMMAND_ARCH.findall(_tool_note(reader, sections)) if int(sm) == number
    }
    suffix = "a" if accelerated else "f" if b"f" in commanded else ""
    return number, f"sm_{number}{suffix}"


def _tool_note(reader: Reader, sections: Mapping[str, Section]) -> bytes:
    note = sections.get(".note.nv.tkinfo")
    return reader.slice(note.offset, note.size, note.name) if note else b""


def _toolkit(reader: Reader, sections: Mapping[str, Section]) -> str | None:
    found = _TOOLKIT.search(_tool_note(reader, sections))
    return found[1].decode() if found else None


def _facts(reader: Reader, elf: Elf, sections: Mapping[str, Section]) -> dict[str, _Facts]:
    facts: dict[str, _Facts] = {}
    common = sections.get(".nv.info")
    for attribute in nvinfo.attributes(reader, common) if common else ():
        if attribute.number not in {nvinfo.REGCOUNT, nvinfo.FRAME_SIZE, nvinfo.MIN_STACK_SIZE}:
            continue
        index, value = nvinfo.words(reader, attribute, 2)
        if index >= len(elf.symbols):
            reader.fail(
                attribute.offset, f"attribute of symbol {index}; there are {len(elf.symbols)} symbols"
            )
        _note_common(facts.setdefault(elf.symbols[index].name, _Facts()), attribute.number, value)
    for section in elf.sections:
        if section.type == nvinfo.SECTION_TYPE and section.name.startswith(".nv.info."):
            function = facts.setdefault(section.name.removeprefix(".nv.info."), _Facts())
            for attribute in nvinfo.attributes(reader, section):
                _note_own(reader, function, attribute)
    return facts


def _note_common(facts: _Facts, number: int, value: int) -> None:
    if number == nvinfo.REGCOUNT:
        facts.registers = value
    elif number == nvinfo.FRAME_SIZE:
        facts.frame = value
    else:
        facts.stack = None if value == _UNBOUNDED_STACK else value


def _note_own(reader: Reader, facts: _Facts, attribute: nvinfo.Attribute) -> None:
    match attribute.number:
        case nvinfo.KPARAM_INFO:
            _, place, packed = nvinfo.words(reader, attribute, 3)
            facts.params.append(KernelParameter(place & 0xFFFF, place >> 16, packed >> 18))
        case nvinfo.KPARAM_INFO_V2:
            _, place, size = nvinfo.words(reader, attribute, 3)
            facts.params.append(KernelParameter(place & 0xFFFF, place >> 16, size))
        case nvinfo.REQNTID:
            facts.reqntid = nvinfo.words(reader, attribute, 3)
        case nvinfo.MAX_THREADS:
            facts.maxntid = nvinfo.words(reader, attribute, 3)
        case nvinfo.CTA_PER_CLUSTER:
            facts.cluster = nvinfo.words(reader, attribute, 3)
        case nvinfo.NUM_BARRIERS:
            facts.barriers = attribute.value


def _kernel(
    elf: Elf,
    sections: Mapping[str, Section],
    symbol: Symbol,
    all_facts: Mapping[str, _Facts],
    number: int,
    arch: str,
) -> Kernel:
    facts = all_facts.get(symbol.name, _Facts())
    shared = sections.get(f".nv.shared.{symbol.name}")
    constants = sections.get(f".nv.constant0.{symbol.name}")
    user_constants = sections.get(".nv.constant3")
    threads = facts.reqntid or facts.maxntid
    text = elf.sections[symbol.section] if symbol.section < len(elf.sections) else None
    registers = facts.registers
    if registers is None and text is not None:
        registers = text.info >> 24 or None  # where older assemblers say it
    return Kernel(
        name=symbol.name,
        linkage=_LINKAGE.get(symbol.binding, "none"),
        params=tuple(sorted(facts.params, key=lambda each: each.index)),
        registers=registers,
        static_shared=_static_shared(shared, number, elf.type) if shared else 0,
        frame=facts.frame,
        local=facts.stack,
        const=user_constants.size if user_constants else 0,
        const_bank0=constants.size if constants else 0,
        max_threads=math.prod(threads) if threads else None,
        reqntid=_triple(facts.reqntid),
        maxntid=_triple(facts.maxntid),
        cluster=_triple(facts.cluster),
        barriers=_barriers(facts, elf),
        arch=arch,
    )


def _barriers(facts: _Facts, elf: Elf) -> int | None:
    """How many barriers a kernel uses; older files do not say it by an attribute."""
    if facts.barriers is None and elf.abi_version >= _FIRST_ABI_WITH_SM_IN_SECOND_BYTE:
        return 0
    return facts.barriers


def _is_debug(section: str) -> bool:
    """Whether a section is there for debuggers; `.debug_frame` is always there."""
    return section.startswith((".debug_", ".nv_debug_")) and section != ".debug_frame"


def _static_shared(section: Section, number: int, elf_type: int) -> int:
    reserves = number >= _FIRST_RESERVING_SM and elf_type != TYPE_RELOCATABLE
    return max(section.size - RESERVED_SHARED, 0) if reserves else section.size


def _triple(numbers: tuple[int, ...] | None) -> tuple[int, int, int] | None:
    return (numbers[0], numbers[1], numbers[2]) if numbers else None
