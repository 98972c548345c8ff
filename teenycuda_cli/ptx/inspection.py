"""What `inspect` tells about PTX text: its module, and each kernel with metadata, roles and shared memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from teenycuda_cli.ptx.declarations import parse_variables
from teenycuda_cli.ptx.metadata import Metadata, MetadataReader, Sidecar
from teenycuda_cli.ptx.parser import parse
from teenycuda_cli.ptx.signatures import Function, Module, Variable
from teenycuda_cli.ptx.source import Source
from teenycuda_cli.ptx.tokens import BLANK, WORD, Cursor
from teenycuda_cli.ptx.triton import RoleFinder

_NUMBERS = rf"(?:{BLANK}[0-9][0-9A-Za-z]*+){{3}}"
_LOC = (
    rf"\.loc{_NUMBERS}(?:{BLANK},{BLANK}function_name{BLANK}{WORD}(?:{BLANK}\+{BLANK}[0-9][0-9A-Za-z]*+)?+"
    rf"{BLANK},{BLANK}inlined_at{_NUMBERS})?+"
)
# Where a statement begins: behind `;`, a brace, a label, and the `.loc`s there, which nothing ends.
_BEGIN = rf"[;{{}}:]{BLANK}(?:{_LOC}{BLANK})*+"
_SHARED = r"\.shared(?![A-Za-z0-9_$:])"
_SHARED_APART = re.compile(r"\.shared(?<![A-Za-z0-9_$.]\.shared)(?![A-Za-z0-9_$:])")
_TO_SHARED_DECLARATION = re.compile(
    rf'(?:[^;{{}}:/"]++|{_BEGIN}(?!{_SHARED})|//[^\n]*+|/\*(?s:.*?)\*/|/|"[^"]*+")*+{_BEGIN}(?={_SHARED})'
)


class KernelFacts(NamedTuple):
    """A kernel's signature and what its launch needs; sizes in bytes.

    `static_shared` is what the kernel and the functions it mentions declare or
    use, `extern_shared` whether they use an array whose size the launch gives.
    """

    function: Function
    line: int | None
    metadata: Metadata
    roles: tuple[str, ...]
    static_shared: int | None
    extern_shared: bool | None


class PtxFacts(NamedTuple):
    """A PTX file: its module without bodies, its kernels, and what is odd about it."""

    source: Source
    module: Module
    kernels: tuple[KernelFacts, ...]
    warnings: tuple[str, ...]


def inspect_ptx(source: Source, sidecars: Sequence[Sidecar] = (), entry: str | None = None) -> PtxFacts:
    """Everything `inspect` tells, of all entries or of the one named; raises PtxSyntaxError."""
    module = parse(source, bodies=False)
    entries = module.entries
    shared = SharedMemory(source, module)
    reader = MetadataReader(module, sidecars)
    triton = RoleFinder(source, module)
    warnings = list(_module_warnings(source, module))
    kernels = []
    for function in entries:
        if entry is not None and function.name != entry:
            continue
        metadata = reader.read(function)
        warnings += metadata.warnings
        used = shared.used(function)
        kernels.append(
            KernelFacts(
                function=function,
                line=source.position(function.offset)[0],
                metadata=metadata,
                roles=triton.roles(function, metadata),
                static_shared=static_size(used),
                extern_shared=any(variable.linkage == "extern" for variable in used),
            )
        )
    if not entries:
        warnings.append("the file defines no kernel")
    return PtxFacts(source, module, tuple(kernels), tuple(warnings))


def _module_warnings(source: Source, module: Module) -> Iterator[str]:
    for fault in module.faults:
        line, column = source.position(fault.offset)
        hint = f" ({fault.hint})" if fault.hint else ""
        yield f"{line}:{column}: {fault.message}{hint}"
    if "debug" in module.target and module.sections:
        yield "`debug` in .target: the driver wants the debug sections whole (strip takes out both)"


def static_size(variables: Sequence[Variable]) -> int:
    """Bytes that variables of known size take, each at its alignment, in their order."""
    size = 0
    for variable in variables:
        if variable.linkage != "extern":
            size = -(-size // variable.align) * variable.align + (variable.size or 0)
    return size


class SharedMemory:
    """Which variables in shared memory a function uses, found without parsing bodies."""

    def __init__(self, source: Source, module: Module) -> None:
        """Look once at what can matter: shared variables of the module, functions that use any."""
        self.source = source
        self.module_variables = [v for v in module.variables if v.space == "shared"]
        self.names = [variable.name for variable in self.module_variables]
        self.callees: dict[str, tuple[Variable, ...]] = {}
        for function in module.functions:
            if not function.is_entry and function.body_span is not None:
                own = self._own(function)
                if own:
                    self.callees[function.name] = own

    def used(self, function: Function) -> tuple[Variable, ...]:
        """The shared variables of a function and of those that it mentions, each once."""
        found: dict[int, Variable] = {v.offset: v for v in self._own(function)}
        if self.callees and function.body_span is not None:
            for name in self._mentioned(function.body_span, self.callees):
                found.update((v.offset, v) for v in self.callees[name])
        return tuple(found.values())

    def _own(self, function: Function) -> tuple[Variable, ...]:
        if function.body_span is None:
            return ()
        mentioned = set(self._mentioned(function.body_span, self.names))
        own = [v for v in self.module_variables if v.name in mentioned]
        return (*own, *self._declared(function.body_span))

    def _mentioned(self, span: tuple[int, int], names: Iterable[str]) -> Iterator[str]:
        find = self.source.text.find
        for name in names:
            at = find(name, *span)
            while at >= 0:
                if self._stands_alone(at, len(name)):
                    yield name
                    break
                at = find(name, at + 1, span[1])

    def _stands_alone(self, at: int, length: int) -> bool:
        """Whether a text is a whole identifier."""
        text = self.source.text
        before, behind = text[at - 1], text[at + length]
        return not (before.isalnum() or before in "_$%" or behind.isalnum() or behind in "_$")

    def _declared(self, span: tuple[int, int]) -> Iterator[Variable]:
        """The `.shared` declarations of a body."""
        text = self.source.text
        if not _SHARED_APART.search(text, *span):
            return
        at, end = span
        while match := _TO_SHARED_DECLARATION.match(text, at, end):
            at = match.end()
            yield from parse_variables(Cursor(self.source, at), "none")
