"""What `inspect` shows to people: plain text in a pipe, tables and colour on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Literal

from teenycuda_cli.wording import counted, plural, visible

if TYPE_CHECKING:
    from teenycuda_cli.inspection import FileFacts
    from teenycuda_cli.ptx.inspection import KernelFacts
    from teenycuda_cli.ptx.metadata import Setting
    from teenycuda_cli.ptx.signatures import Parameter

KINDS = {"ptx": "PTX", "cubin": "cubin", "fatbin": "fatbin"}
ROLES = {"user": "", "global_scratch": "hidden: global scratch", "profile_scratch": "hidden: profile scratch"}
SOURCES = {"reqntid": ".reqntid", "sidecar": "JSON file", "legacy": "comment"}
_NAMES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Part:
    """A heading with facts (label, text) and a table (first row its head) under it."""

    title: str
    note: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    table: tuple[tuple[str, ...], ...] = ()

    @property
    def visible(self) -> Part:
        """The part as a terminal may have it: names and values in it are what a file says."""
        return Part(
            visible(self.title),
            visible(self.note),
            tuple((label, visible(text)) for label, text in self.facts),
            tuple(tuple(map(visible, row)) for row in self.table),
        )


def show(files: Sequence[FileFacts], *, terminal: bool) -> None:
    """Print what was found in files to standard output; those with an error are left out."""
    parts = [part.visible for file in files if file.error is None for part in file_parts(file)]
    if terminal:
        _show_rich(parts)
        return
    lines = [line for part in parts for line in _plain(part)]
    sys.stdout.write("\n".join(lines) + "\n" if lines else "")


def file_parts(file: FileFacts) -> Iterator[Part]:
    """A part for the file, and one for each kernel."""
    yield Part(file.path, _what(file), tuple(_file_facts(file)), _images(file))
    for kernel in file.kernels:
        linkage = "" if kernel.function.linkage == "none" else kernel.function.linkage
        where = "" if kernel.line is None else f"line {kernel.line}"
        note = ", ".join(filter(None, (linkage, where, "" if kernel.function.defined else "declared only")))
        yield Part(f"kernel {kernel.function.name}", note, tuple(_kernel_facts(kernel)), _parameters(kernel))


def _what(file: FileFacts) -> str:
    parts = [KINDS.get(file.kind or "", file.kind or "")]
    if file.ptx_version and file.kind == "ptx":
        parts[0] += f" {file.ptx_version}"
    if file.target:
        parts.append("for " + ", ".join(file.target))
    if file.address_size:
        parts.append(f"{file.address_size}-bit")
    return " ".join(parts[:2]) + "".join(f", {part}" for part in parts[2:])


def _file_facts(file: FileFacts) -> Iterator[tuple[str, str]]:
    debug = file.debug
    if debug and (debug.target or debug.sections or debug.files or debug.locs):
        counts = [
            f"{number} {name}"
            for name, number in ((".file", debug.files), (".loc", debug.locs))
            if number is not None
        ]
        yield "debug", ", ".join([*counts, *_shortened(debug.sections)])
    if file.functions:
        yield "functions", ", ".join(_shortened([function.name for function in file.functions]))
    if file.globals:
        sizes = ["open" if v.size is None else counted(v.size, "byte") for v in file.globals]
        names = [f"{v.name} (.{v.space}, {size})" for v, size in zip(file.globals, sizes, strict=True)]
        yield "variables", ", ".join(_shortened(names))
    for warning in file.warnings:
        yield "warning", warning


def _shortened(names: Sequence[str]) -> list[str]:
    if len(names) <= _NAMES_SHOWN:
        return list(names)
    return [*names[:_NAMES_SHOWN], f"… and {len(names) - _NAMES_SHOWN} more"]


def _images(file: FileFacts) -> tuple[tuple[str, ...], ...]:
    if file.images is None:
        return ()
    rows = [("image", "arch", "bytes", "unpacked", "packed by", "kernels")]
    for image in file.images:
        kernels = "not readable" if image.kernels is None else ", ".join(_shortened(image.kernels))
        rows.append(
            (
                image.kind,
                image.arch,
                str(image.size),
                str(image.unpacked_size),
                image.compression or "-",
                kernels,
            )
        )
    return tuple(rows)


def _kernel_facts(kernel: KernelFacts) -> Iterator[tuple[str, str]]:
    yield "block", _block(kernel)
    metadata = kernel.metadata
    shared = [] if kernel.static_shared is None else [f"{counted(kernel.static_shared, 'byte')} static"]
    if metadata.shared.source != "default":
        shared.append(f"{_sourced(metadata.shared)} dynamic")
    elif kernel.extern_shared:
        shared.append("dynamic: as much as --shared gives")
    yield "shared", ", ".join(shared)
    if metadata.tmem_size.value:
        yield "tensor memory", _sourced(metadata.tmem_size)
    scratch = [
        f"{name} {_sourced(size)} a block, aligned to {align.value}"
        for name, size, align in (
            ("global", metadata.global_scratch_size, metadata.global_scratch_align),
            ("profile", metadata.profile_scratch_size, metadata.profile_scratch_align),
        )
        if size.value
    ]
    if scratch:
        yield "scratch", ", ".join(scratch)
    cluster = _cluster(kernel)
    if cluster:
        yield "cluster", cluster
    limits = [
        f".{name} {value}"
        for name, value in (
            ("maxnreg", kernel.function.directives.maxnreg),
            ("minnctapersm", kernel.function.directives.minnctapersm),
        )
        if value is not None
    ]
    if limits:
        yield "limits", ", ".join(limits)


def _block(kernel: KernelFacts) -> str:
    directives, warps = kernel.function.directives, kernel.metadata.num_warps
    threads = kernel.metadata.threads_per_block
    if threads is None:
        if directives.maxntid:
            return f"at most {_extents(directives.maxntid, 'thread')} (.maxntid)"
        return "as --block says"
    if directives.reqntid:
        dims = f" {_times(directives.reqntid)}" if len(directives.reqntid) > 1 else ""
        text = f"{counted(threads, 'thread')} (.reqntid{dims})"
    else:
        text = counted(threads, "thread")
    return f"{text}, {_sourced(warps, 'warp')}"


def _cluster(kernel: KernelFacts) -> str:
    directives = kernel.function.directives
    parts = []
    if directives.reqnctapercluster:
        parts.append(f"{_extents(directives.reqnctapercluster, 'block')} (.reqnctapercluster)")
    if directives.maxclusterrank:
        parts.append(f"at most {counted(directives.maxclusterrank, 'block')} (.maxclusterrank)")
    if kernel.metadata.num_ctas.number > 1:
        parts.append(_sourced(kernel.metadata.num_ctas, "block"))
    return ", ".join(parts)


def _times(numbers: Sequence[int]) -> str:
    return "×".join(map(str, numbers))


def _extents(numbers: Sequence[int], one: str) -> str:
    return f"{_times(numbers)} {plural(prod(numbers), one)}"


def _sourced(setting: Setting, unit: str = "byte") -> str:
    return f"{counted(setting.number, unit)} ({SOURCES.get(setting.source, setting.source)})"


def _parameters(kernel: KernelFacts) -> tuple[tuple[str, ...], ...]:
    parameters = kernel.function.parameters
    if not parameters:
        return ()
    rows = [
        (str(p.index), str(p.offset), str(p.size), _declared(p), p.name, ROLES[role])
        for p, role in zip(parameters, kernel.roles, strict=True)
    ]
    return (("#", "offset", "size", "type", "name", ""), *rows)


def _declared(parameter: Parameter) -> str:
    """A parameter's type as its declaration has it."""
    if not parameter.type:
        return "?"
    if parameter.array:
        return f".align {parameter.align} .{parameter.type}[]"
    if parameter.pointer is None:
        return f".{parameter.type}"
    space = "" if parameter.pointer.space == "generic" else f" .{parameter.pointer.space}"
    return f".{parameter.type} .ptr{space} .align {parameter.pointer.align}"


def _plain(part: Part) -> Iterator[str]:
    yield f"{part.title}: {part.note}" if part.note else part.title
    width = max((len(label) for label, _ in part.facts), default=0)
    for label, text in part.facts:
        yield f"  {label:<{width}}  {text}"
    columns = [
        (">" if _is_number(index, part) else "<", max(map(len, column)))
        for index, column in enumerate(zip(*part.table, strict=True))
    ]
    for row in part.table:
        cells = [f"{cell:{side}{width}}" for cell, (side, width) in zip(row, columns, strict=True)]
        yield ("  " + "  ".join(cells)).rstrip()


def _narrowed(part: Part, width: int) -> Part:
    """The part, where it is too wide, with the kernel's name cut from the parameters' (`…param_0`)."""
    columns = zip(*part.table, strict=True)
    if sum(max(map(len, column)) + 2 for column in columns) - 2 <= width:
        return part
    prefix = part.title.removeprefix("kernel ") + "_"
    table = tuple(
        tuple(f"…{cell.removeprefix(prefix)}" if cell.startswith(prefix) else cell for cell in row)
        for row in part.table
    )
    return replace(part, table=table)


def _is_number(column: int, part: Part) -> bool:
    return all(row[column].isdigit() for row in part.table[1:])


def _show_rich(parts: Sequence[Part]) -> None:
    from rich.console import Console  # noqa: PLC0415  (for a terminal only)
    from rich.padding import Padding  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False, soft_wrap=False)
    for part in parts:
        kernel = part.title.startswith("kernel ")
        title = Text(part.title, style="bold cyan" if kernel else "bold")
        console.print(Text.assemble(title, "  ", (part.note, "dim")))
        if part.facts:
            facts = Table.grid(padding=(0, 2))
            for label, text in part.facts:
                warned = label == "warning"
                facts.add_row(Text(label, style="yellow" if warned else "dim"), Text(text))
            console.print(Padding(facts, (0, 0, 0, 2)))
        if part.table:
            rows = _narrowed(part, console.width - 2).table
            table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
            for index, head in enumerate(rows[0]):
                side: Literal["left", "right"] = "right" if _is_number(index, part) else "left"
                whole = head not in {"name", "kernels", ""}
                table.add_column(Text(head), justify=side, overflow="fold", no_wrap=whole)
            for row in rows[1:]:
                hidden = row[-1].startswith("hidden")
                table.add_row(*(Text(cell, style="dim" if hidden else "") for cell in row))
            console.print(Padding(table, (0, 0, 0, 2)))
