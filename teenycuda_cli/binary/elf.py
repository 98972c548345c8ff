"""The ELF64 container of a cubin: header, sections and symbols."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from teenycuda_cli.binary.reader import Reader
from teenycuda_cli.errors import FileError
from teenycuda_cli.wording import counted

MAGIC = b"\x7fELF"
MACHINE_CUDA = 190
SHT_SYMTAB = 2
SHT_NOBITS = 8
SHN_LORESERVE = 0xFF00
STT_FUNC = 2
STO_CUDA_ENTRY = 0x10
TYPE_RELOCATABLE = 1

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_CLASS_64 = 2
_LITTLE_ENDIAN = 1


class _Header(NamedTuple):
    """The fields of an ELF64 header, in their order."""

    ident: bytes
    type: int
    machine: int
    version: int
    entry: int
    program_offset: int
    section_offset: int
    flags: int
    header_size: int
    program_size: int
    program_count: int
    section_size: int
    section_count: int
    names_index: int


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its place in the file, and its header's fields that a cubin gives a meaning to."""

    name: str
    type: int
    offset: int
    size: int
    link: int
    info: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol; `section` is the index of the section that holds it, 0 for one that is not defined here."""

    name: str
    binding: int  # 0 local, 1 global, 2 weak
    type: int
    other: int
    section: int
    size: int


@dataclass(frozen=True, slots=True)
class Elf:
    """The parts of an ELF file that a cubin's meaning is in."""

    type: int
    abi_version: int
    flags: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]


def read_elf(reader: Reader) -> Elf:
    """Header, sections and symbols of a CUDA ELF; FileError for another machine's, or a damaged one."""
    header = _Header(*reader.numbers(_HEADER, 0, "the ELF header"))
    _check_machine(reader, header)
    sections = _sections(reader, header)
    symbols = next((_symbols(reader, sections, each) for each in sections if each.type == SHT_SYMTAB), ())
    return Elf(header.type, header.ident[8], header.flags, sections, symbols)


def _check_machine(reader: Reader, header: _Header) -> None:
    if header.ident[:4] != MAGIC:
        raise FileError("is no cubin: it does not begin with the ELF magic number", file=reader.name)
    if header.ident[4] != _CLASS_64 or header.ident[5] != _LITTLE_ENDIAN:
        raise FileError("is no cubin: not a 64-bit little-endian ELF file", file=reader.name)
    if header.machine != MACHINE_CUDA:
        raise FileError(
            f"is an ELF file for machine {header.machine}; a cubin has machine {MACHINE_CUDA} (CUDA)",
            file=reader.name,
            hint="take the cubins out of a host program with `cuobjdump --extract-elf all FILE`",
        )


def _sections(reader: Reader, header: _Header) -> tuple[Section, ...]:
    if header.section_count and header.section_size != _SECTION.size:
        reader.fail(
            58, f"a section header has {counted(header.section_size, 'byte')}; expected {_SECTION.size}"
        )
    raw = [
        reader.numbers(_SECTION, header.section_offset + index * _SECTION.size, f"section header {index}")
        for index in range(header.section_count)
    ]
    if not raw:
        return ()
    if header.names_index >= len(raw):
        reader.fail(62, f"the section names are in section {header.names_index}; there are {len(raw)}")
    names_start, names_size = raw[header.names_index][4:6]
    reader.check(names_start, names_size, "the section names")
    return tuple(
        _section(reader, index, fields, names_start, names_start + names_size)
        for index, fields in enumerate(raw)
    )


def _section(reader: Reader, index: int, fields: tuple[int, ...], start: int, end: int) -> Section:
    name_offset, kind, _flags, _address, offset, size, link, info, _align, _entry = fields
    name = reader.string(start + name_offset, end, f"the name of section {index}")
    if kind not in {0, SHT_NOBITS}:
        reader.check(offset, size, f"section {name or index}")
    return Section(name, kind, offset, size, link, info)


def _symbols(reader: Reader, sections: tuple[Section, ...], table: Section) -> tuple[Symbol, ...]:
    if table.link >= len(sections):
        reader.fail(
            table.offset, f"the symbols' names are in section {table.link}; there are {len(sections)}"
        )
    strings = sections[table.link]
    end = strings.offset + strings.size
    symbols = []
    for offset in range(table.offset, table.offset + table.size - _SYMBOL.size + 1, _SYMBOL.size):
        name, info, other, section, _value, size = reader.numbers(_SYMBOL, offset, "a symbol")
        text = reader.string(strings.offset + name, end, f"the name of the symbol at 0x{offset:x}")
        if SHN_LORESERVE > section >= len(sections):
            reader.fail(offset, f"symbol {text!r} is in section {section}; there are {len(sections)}")
        symbols.append(Symbol(text, info >> 4, info & 15, other, section, size))
    return tuple(symbols)
