"""Names in a function's body: registers, variables and labels, scope by scope."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain

from teenycuda_cli.emulator.ir import Constant, Frame, FunctionBody, Register, Source, Wide, width_of
from teenycuda_cli.ptx.syntax import (
    Instruction,
    Label,
    LabelTable,
    Loc,
    Prototype,
    Registers,
    Statement,
    Variable,
)


@dataclass(slots=True)
class Scope:
    """What one `{ }` declares."""

    registers: dict[str, Register] = field(default_factory=dict)
    families: dict[str, tuple[int, str]] = field(default_factory=dict)  # prefix → count, type
    vectors: dict[str, tuple[Register, ...]] = field(default_factory=dict)
    variables: dict[str, Source] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)  # name → name unique in the program
    wide: dict[str, Wide] = field(default_factory=dict)  # registers of 128 bits
    tables: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)  # name → the same, targets
    signatures: dict[str, Prototype | LabelTable] = field(default_factory=dict)  # of calls by address
    mark: str = ""  # what makes its labels unique


class Scopes:
    """The scopes open at a point of a function, innermost last."""

    def __init__(self, function: FunctionBody, registers: list[Register], shared: dict[int, int]) -> None:
        """`registers` is the program's list, which grows; `shared` has `.shared` offsets by place."""
        self.function = function
        self.all = registers
        self.shared = shared
        self.open: list[Scope] = [Scope()]
        self.entered = 0
        self.known: dict[str, Source] = {}  # what names mean here, of those looked up already

    def enter(self, statements: tuple[Statement, ...]) -> None:
        """Open a scope: its labels are known from the beginning."""
        self.entered += 1
        mark = f"{self.function.name}:{self.entered}:"
        scope = Scope(mark=mark)
        for statement in statements:
            if type(statement) is Instruction or type(statement) is Loc:
                continue
            if isinstance(statement, Label):
                scope.labels[statement.name] = mark + statement.name
            elif isinstance(statement, Prototype) or (
                isinstance(statement, LabelTable) and statement.kind == "calltargets"
            ):
                scope.signatures[statement.name] = statement
            elif isinstance(statement, LabelTable):
                scope.tables[statement.name] = mark + statement.name, statement.targets
        self.open.append(scope)
        self._forget(scope.labels, scope.tables)

    def leave(self) -> None:
        """Close the innermost scope."""
        scope = self.open.pop()
        self._forget(scope.registers, scope.vectors, scope.variables, scope.labels, scope.wide, scope.tables)

    def _forget(self, *names: Iterable[str]) -> None:
        """Look names up again, which mean something else from here on."""
        for name in chain.from_iterable(names):
            self.known.pop(name, None)

    def declare(self, statement: Registers | Variable) -> None:
        """A `.reg` statement or a variable of the innermost scope."""
        scope = self.open[-1]
        if isinstance(statement, Registers):
            self.known.clear()
            for item in statement.registers:
                if item.type == "b128":
                    numbers = [""] if item.count is None else map(str, range(item.count))
                    for number in numbers:
                        scope.wide[item.name + number] = self._wide(item.name + number)
                elif item.count is not None:
                    scope.families[item.name] = (item.count, item.type)
                elif item.vector > 1:
                    scope.vectors[item.name] = tuple(
                        [self.register(f"{item.name}.{part}", item.type) for part in "xyzw"[: item.vector]]
                    )
                else:
                    scope.registers[item.name] = self.register(item.name, item.type)
            return
        self._forget((statement.name,))
        if statement.space == "shared":
            if statement.offset in self.shared:
                scope.variables[statement.name] = Constant(self.shared[statement.offset], "shared")
        elif statement.space in {"local", "param"}:
            scope.variables[statement.name] = self.frame(statement)

    def mark(self, name: str) -> None:
        """A label of the innermost scope that the text does not have."""
        scope = self.open[-1]
        self._forget((name,))
        scope.labels[name] = scope.mark + name

    def hide(self, name: str, variable: Variable) -> None:
        """A variable of the innermost scope that the text does not have, like another one."""
        self._forget((name,))
        self.open[-1].variables[name] = self.frame(replace(variable, name=name, space="param"))

    def frame(self, variable: Variable) -> Frame:
        """Room for a variable in the function's frame."""
        function = self.function
        align = max(variable.align, 1)
        offset = (function.frame_size + align - 1) // align * align
        size = max(variable.size or 0, 1)
        function.frame_size = offset + size
        function.frame[f"{self.entered}:{variable.name}"] = (offset, variable)
        return Frame(offset, size)

    def register(self, name: str, type_name: str) -> Register:
        """A new register."""
        register = Register(len(self.all), name, type_name, width_of(type_name), _TAGS.get(type_name, "i"))
        self.all.append(register)
        return register

    def find_register(self, name: str) -> Register | None:
        """The register that a name means here."""
        for scope in reversed(self.open):
            found = scope.registers.get(name) or (self._of_family(name, scope) if scope.families else None)
            if found is not None:
                return found
        return None

    def _of_family(self, name: str, scope: Scope) -> Register | None:
        """A register of a `.reg %f<4>`: beside `%f1<2>`, any split of the digits may be the family."""
        cut = len(name.rstrip("0123456789"))
        while cut < len(name):
            family = scope.families.get(name[:cut])
            if family is not None and int(name[cut:]) < family[0]:
                found = scope.registers[name] = self.register(name, family[1])
                return found
            cut += 1
        return None

    def _wide(self, name: str) -> Wide:
        return Wide((self.register(f"{name}.low", "b64"), self.register(f"{name}.high", "b64")))

    def find_wide(self, name: str) -> Wide | None:
        """The register of 128 bits that a name means here."""
        return next((s.wide[name] for s in reversed(self.open) if name in s.wide), None)

    def find_vector(self, name: str) -> tuple[Register, ...] | None:
        """The elements of a vector register."""
        return next((s.vectors[name] for s in reversed(self.open) if name in s.vectors), None)

    def find_variable(self, name: str) -> Source | None:
        """The address of a variable of the function."""
        return next((s.variables[name] for s in reversed(self.open) if name in s.variables), None)

    def find_label(self, name: str) -> str | None:
        """The unique name of a label."""
        return next((s.labels[name] for s in reversed(self.open) if name in s.labels), None)

    def find_signature(self, name: str) -> Prototype | LabelTable | None:
        """The prototype or the list of targets of a call by address."""
        return next((s.signatures[name] for s in reversed(self.open) if name in s.signatures), None)

    def find_table(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """The unique name of a `.branchtargets` table, and those of its labels."""
        found = next((s.tables[name] for s in reversed(self.open) if name in s.tables), None)
        if found is None:
            return None
        return found[0], tuple([self.find_label(target) or target for target in found[1]])


_TAGS = {"pred": "p", "f32": "f4", "f64": "f8"}
