"""PTX text into a Module."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from teenycuda_cli.ptx.declarations import (
    LINKAGES,
    VARIABLE_SPACES,
    Declared,
    attributes,
    parse_parameters,
    parse_variables,
    plain_integer,
)
from teenycuda_cli.ptx.directives import parse_directives, parse_strings
from teenycuda_cli.ptx.layout import element_size, launch_layout
from teenycuda_cli.ptx.redefinition import Header, disagreement
from teenycuda_cli.ptx.scanning import count_locs, metadata_comments
from teenycuda_cli.ptx.signatures import Directives, Fault, FileEntry, Function, Module, Section, Variable
from teenycuda_cli.ptx.source import Source
from teenycuda_cli.ptx.targets import FIRST_WITH_CLUSTERS, architecture_number, introduced
from teenycuda_cli.ptx.tokens import Cursor, closing_brace

if TYPE_CHECKING:
    from teenycuda_cli.ptx.body import BodyParser
    from teenycuda_cli.ptx.statements import Statement

NO_DIRECTIVES = Directives()
_BOM = b"\xef\xbb\xbf"
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_VERSION = re.compile(r"([0-9]+)\.([0-9]+)\Z")


def parse(source: Source, *, bodies: bool | Collection[str] = True, tolerant: bool | None = None) -> Module:
    """The module in a source.

    `bodies`: whether to parse the functions' bodies, or the names of those
    whose bodies are wanted; other bodies, and with them sections, are only
    looked through for their end. Raises PtxSyntaxError, which `tolerant` keeps
    to what cannot be read: a byte-order mark, bytes above ASCII in comments,
    text behind a NUL, a version too old for its target and the like are then
    noted in the module's `faults`. A parse of everything is strict unless told
    otherwise, any other tolerant.
    """
    return _ModuleParser(source, bodies, bodies is not True if tolerant is None else tolerant).run()


def parse_bodies(source: Source, module: Module) -> Module:
    """The same module with all bodies, for one that was parsed without."""
    from teenycuda_cli.ptx.body import BodyParser  # noqa: PLC0415  (takes its time to import)

    parser = BodyParser(source, {v.name: element_size(v) for v in module.variables if v.shape})
    functions = list(module.functions)
    for number, function in enumerate(functions):
        if function.body_span is not None and function.body is None:
            body, _ = parser.parse(function.body_span[0], function.returns + function.params)
            functions[number] = replace(function, body=body)
    return replace(module, functions=tuple(functions))


class _ModuleParser:
    """The state of one module's parse."""

    def __init__(self, source: Source, bodies: bool | Collection[str], tolerant: bool) -> None:
        self.tolerant = tolerant
        self.faults: list[Fault] = []
        self.source = source
        if not (source.data.isascii() and b"\0" not in source.data):
            self._check_characters()
        self.bodies = bodies
        self.cursor = Cursor(self.source)
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}
        self.files: list[FileEntry] = []
        self.file_indices: set[int] = set()
        self.sections: list[Section] = []
        self.aliases: list[tuple[str, str]] = []
        self.pragmas: list[str] = []
        self.loc_count = 0
        self.spans: list[tuple[int, int]] = []  # of bodies and sections
        self.elements: dict[str, int] = {}
        self.known_parameters: dict[str, Declared] = {}
        self.version = (0, 0)
        self.has_clusters = True

    @cached_property
    def body_parser(self) -> BodyParser:
        """What reads bodies; headers do without it."""
        from teenycuda_cli.ptx.body import BodyParser  # noqa: PLC0415  (takes its time to import)

        return BodyParser(self.source, self.elements)

    def run(self) -> Module:
        """Read the header, then one module-level statement after the other."""
        cursor = self.cursor
        version_text = self._version()
        target = self._target()
        address_size = self._address_size()
        while cursor.kind != "end":
            self._statement()
        if "debug" in target and not self.sections:
            self._fault(
                0, ".target says `debug`, but there is no debug information", "`teenycuda strip` mends it"
            )
        return Module(
            version=self.version,
            version_text=version_text,
            target=target,
            address_size=address_size,
            functions=tuple(self.functions.values()),
            variables=tuple(self.variables.values()),
            files=tuple(self.files),
            sections=tuple(self.sections),
            aliases=tuple(self.aliases),
            pragmas=tuple(self.pragmas),
            loc_count=self.loc_count,
            comments=metadata_comments(self.source.text, self.spans),
            faults=tuple(self.faults),
        )

    def _fault(self, offset: int, message: str, hint: str | None = None, length: int = 1) -> None:
        """Raise, or note what a tolerant parse can live with."""
        if not self.tolerant:
            raise self.source.error(offset, message, hint=hint, length=length)
        self.faults.append(Fault(offset, message, hint))

    def _check_characters(self) -> None:
        """Find what ptxas refuses byte by byte; offsets stay as they are in what is read on."""
        data, name = self.source.data, self.source.name
        if data.startswith(_BOM):
            self._fault(0, "the file begins with a byte-order mark", "`teenycuda strip` drops it")
            data = b"   " + data[len(_BOM) :]
        nul = data.find(b"\0")
        if nul >= 0:
            hint = "the driver stops reading there; `teenycuda strip` cuts the file"
            self._fault(nul, "there is a NUL byte in the text", hint)
            data = data[:nul]
        self.source = Source(data, name)
        high = _NOT_ASCII.search(data)
        if high:
            self._fault(
                high.start(),
                f"byte 0x{high[0][0]:02x} is no ASCII; drivers before CUDA 13.1 refuse it even in comments",
                "`teenycuda strip` replaces it in comments",
            )

    # ------------------------------------------------------------ the header

    def _version(self) -> str:
        cursor = self.cursor
        if cursor.value != ".version":
            hint = "a PTX file begins with .version, .target and .address_size"
            raise cursor.unexpected("`.version`", hint=hint)
        after = cursor.end
        cursor.advance()
        match = _VERSION.match(cursor.value) if cursor.kind == "float" else None
        if match is None or len(cursor.value) > 9:
            raise cursor.unexpected("a version such as 8.7")
        if cursor.text[after : cursor.at].strip(" \t"):
            raise cursor.error(f"{match[0]} must stand on the line of .version, with blanks between alone")
        cursor.advance()
        self.version = (int(match[1]), int(match[2]))
        return match[0]

    def _target(self) -> tuple[str, ...]:
        """`.target sm_90, debug`, which may come again."""
        cursor = self.cursor
        target: list[str] = []
        cursor.expect(".target")
        while True:
            at = cursor.at
            target.append(cursor.name("a target such as sm_90"))
            if architecture_number(target[0]) is None:
                raise cursor.error(f"expected a target such as sm_90 first, got `{target[0]}`", at=at)
            self._check_target(target[-1], at)
            if not (cursor.accept(",") or cursor.accept(".target")):
                break
        self.has_clusters = any((architecture_number(t) or 0) >= FIRST_WITH_CLUSTERS for t in target)
        return tuple(target)

    def _check_target(self, target: str, at: int) -> None:
        first = introduced(target)
        if first and self.version < first:
            self._fault(
                at,
                f"PTX {self.version[0]}.{self.version[1]} does not know .target {target}",
                f"it needs .version {first[0]}.{first[1]} or later",
                len(target),
            )

    def _address_size(self) -> int:
        cursor = self.cursor
        if not cursor.accept(".address_size"):
            return 64 if self.version >= (2, 3) else 32
        at = cursor.at
        size = plain_integer(cursor, "32 or 64")
        if size not in (32, 64):
            raise cursor.error(f"expected 32 or 64, got {size}", at=at)
        return size

    # ------------------------------------------------------------ statements

    def _statement(self) -> None:
        cursor = self.cursor
        value = cursor.value
        if cursor.kind == "op" and value == "@":
            self._dwarf_line()
            return
        if cursor.kind == "word" and self.sections:
            self._stray_label()
            return
        if cursor.kind != "dot":
            hint = "a `;` alone is no statement" if value == ";" else None
            raise cursor.unexpected("a directive, a variable or a function", hint=hint)
        if value == ".file":
            self._file()
        elif value == ".section":
            self._section()
        elif value == ".loc":
            self._loc()
        elif value == ".alias":
            self._alias()
        elif value == ".pragma":
            cursor.advance()
            self.pragmas += parse_strings(cursor)
            cursor.expect(";")
        elif value == ".version":
            raise cursor.error("a second module begins here", hint="a file holds one module; split it")
        else:
            self._definition()

    def _stray_label(self) -> None:
        """A label behind a section, which rustc writes and ptxas refuses."""
        cursor = self.cursor
        name, at = cursor.value, cursor.at
        following = Cursor(self.source, cursor.end)
        if not (following.kind == "op" and following.value == ":"):
            raise cursor.unexpected("a directive, a variable or a function")
        hint = "rustc leaves such labels; `teenycuda strip` drops them"
        self._fault(at, f"the label `{name}` stands outside of a function", hint, len(name))
        cursor.jump(following.end)

    def _definition(self) -> None:
        """A variable or a function, with the linkage and attributes in front of it."""
        cursor = self.cursor
        linkage, managed = "none", False
        if cursor.value in LINKAGES:
            linkage = LINKAGES[cursor.value]
            cursor.advance()
        if cursor.value == ".attribute":
            managed = "managed" in attributes(cursor)
        if cursor.value in (".entry", ".func") and linkage != "common":
            self._function(linkage)
        elif cursor.value in (".param", ".local"):
            raise cursor.error(f"`{cursor.value}` variables belong into a function")
        elif cursor.value in VARIABLE_SPACES:
            for variable in parse_variables(cursor, linkage, managed):
                self._define_variable(variable)
        else:
            raise cursor.unexpected("a directive, a variable or a function")

    def _define_variable(self, variable: Variable) -> None:
        """Note a variable; an `.extern` one may be there beside its definition."""
        name = variable.name
        earlier = self.variables.get(name)
        if name in self.functions or (earlier and "extern" not in (earlier.linkage, variable.linkage)):
            raise self.source.error(variable.offset, f"`{name}` is defined already", length=len(name))
        if earlier:
            both = (earlier, variable)
            if any(v.linkage == "none" for v in both) or earlier.space != variable.space:
                raise self.source.error(
                    variable.offset,
                    f"`{name}` is .extern and defined here for this file alone, or in another space",
                    hint="define it .visible, in the space of its declaration",
                    length=len(name),
                )
            if variable.linkage == "extern":
                return
        self.variables[name] = variable
        if variable.shape:
            self.elements[name] = element_size(variable)

    def _function(self, linkage: str) -> None:
        cursor = self.cursor
        offset = cursor.at
        is_entry = cursor.value == ".entry"
        cursor.advance()
        if cursor.value == ".attribute":
            attributes(cursor)
        returns: tuple[Variable, ...] = ()
        if cursor.value == "(" and not is_entry:
            returns = parse_parameters(cursor)
        name_at = cursor.at
        name = cursor.name("a kernel's name" if is_entry else "a function's name")
        params: tuple[Variable, ...] = ()
        if cursor.value == "(":
            known = self.known_parameters if is_entry else None
            params = parse_parameters(cursor, of_entry=is_entry, known=known)
        directives = parse_directives(cursor, of_entry=is_entry) if cursor.kind == "dot" else NO_DIRECTIVES
        if not self.has_clusters:
            self._check_clusters(directives, name, name_at)
        header = Header(name, name_at, is_entry, linkage, params, returns, directives)
        defined = cursor.kind == "op" and cursor.value == "{"
        linkage = self._check_redefinition(header, defined)
        span, body = self._body(header) if defined else self._no_body(header)
        self.functions[name] = Function(
            name,
            is_entry,
            linkage,
            params,
            returns,
            directives,
            offset,
            defined,
            span,
            body,
            launch_layout(params) if is_entry else (),
        )

    def _check_clusters(self, directives: Directives, name: str, at: int) -> None:
        if directives.reqnctapercluster or directives.explicitcluster or directives.maxclusterrank:
            self._fault(
                at, f"`{name}` asks for clusters, which need .target sm_90 or higher", None, len(name)
            )

    def _no_body(self, header: Header) -> tuple[None, None]:
        """The `;` of a declaration."""
        cursor = self.cursor
        if cursor.value != ";" or (header.is_entry and header.directives is not NO_DIRECTIVES):
            raise cursor.unexpected("`{`" if header.is_entry else "`{` or `;`")
        cursor.advance()
        return None, None

    def _body(self, header: Header) -> tuple[tuple[int, int], tuple[Statement, ...] | None]:
        """The place of a body's braces, and its statements if they are wanted."""
        begin = self.cursor.at
        statements = None
        if self.bodies is True or (self.bodies and header.name in self.bodies):
            statements, end = self.body_parser.parse(begin, header.returns + header.params)
        else:
            end = closing_brace(self.source, begin) + 1
        self.spans.append((begin, end))
        self.loc_count += count_locs(self.source.text, begin, end)
        self.cursor.jump(end)
        return (begin, end - 1), statements

    def _check_redefinition(self, header: Header, defined: bool) -> str:
        """The linkage, which a declaration may have told; raises where the two do not agree."""
        name = header.name
        earlier = self.functions.get(name)
        if name in self.variables:
            problem: str | None = f"`{name}` is defined already"
        else:
            problem = disagreement(header, defined, earlier)
        if problem:
            raise self.source.error(header.name_at, problem, length=len(name))
        return earlier.linkage if earlier else header.linkage

    # ------------------------------------------------------------ debug information and the rest

    def _file(self) -> None:
        cursor = self.cursor
        at = cursor.at
        cursor.advance()
        index = plain_integer(cursor, "a file number")
        if index in self.file_indices:
            raise cursor.error(f"there is a file {index} already", at=at)
        self.file_indices.add(index)
        name = cursor.take("string", "a file name in quotes")[1:-1]
        for what in ("a timestamp", "a size"):
            if cursor.kind == "op" and cursor.accept(","):
                plain_integer(cursor, what)
        self.files.append(FileEntry(index, name, at))

    def _loc(self) -> None:
        raise self.cursor.unexpected("a directive, a variable or a function", hint=".loc stands in a body")

    def _section(self) -> None:
        cursor = self.cursor
        at = cursor.at
        cursor.advance()
        name = cursor.take("dot", "a section's name such as .debug_info")
        if cursor.value != "{":
            raise cursor.unexpected("`{`")
        end = closing_brace(self.source, cursor.at) + 1
        if self.bodies is True:
            from teenycuda_cli.ptx.sections import check_section  # noqa: PLC0415  (not for headers)

            check_section(cursor, end - 1, self.version)
        cursor.jump(end)
        self.spans.append((at, end))
        self.sections.append(Section(name, at, end))

    def _dwarf_line(self) -> None:
        """`@@DWARF …`: debug data of PTX before 2.0, one line each."""
        cursor = self.cursor
        at = cursor.at
        if not cursor.text.startswith("@@DWARF", at):
            raise cursor.unexpected("a directive, a variable or a function")
        end = cursor.text.find("\n", at)
        end = end if end >= 0 else len(cursor.text)
        self.sections.append(Section("@@DWARF", at, end))
        cursor.jump(end)

    def _alias(self) -> None:
        cursor = self.cursor
        cursor.advance()
        at = cursor.at
        names = [cursor.name("a function")]
        cursor.expect(",")
        names.append(cursor.name("a function"))
        cursor.expect(";")
        for name in names:
            function = self.functions.get(name)
            if function is None:
                self._fault(at, f"there is no function `{name}` to alias")
            elif function.is_entry:
                self._fault(at, f"`{name}` is an entry, which can have no alias")
        self.aliases.append((names[0], names[1]))
