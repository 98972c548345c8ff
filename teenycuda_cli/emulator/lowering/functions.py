"""The functions of a module: where they are, and which of them a kernel may come to call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from teenycuda_cli.emulator.lowering.walk import addressed, flat, names
from teenycuda_cli.emulator.machine.variables import CODE_BASE
from teenycuda_cli.emulator.program import Call, call_of
from teenycuda_cli.ptx.syntax import (
    Function,
    Instruction,
    LabelTable,
    Module,
    Prototype,
    Statement,
    Variable,
)


class Functions:
    """The functions of a module: by name, by address, and those that a call may reach."""

    def __init__(self, module: Module) -> None:
        """Nothing is looked for until a call by address asks for it."""
        self.module = module
        self.code = {f.name: CODE_BASE + 16 * number for number, f in enumerate(module.functions)}
        self.defined = {f.name: f for f in module.functions if f.body is not None}
        aliases = {name: target for name, target in module.aliases if target in self.defined}
        self.code |= {name: self.code[target] for name, target in aliases.items()}
        self.defined |= {name: self.defined[target] for name, target in aliases.items()}
        self.declared = {f.name: f for f in module.functions}
        self._taken: tuple[Function, ...] | None = None

    def reach(self, entry: Function) -> list[Function]:
        """An entry with all the functions that it may come to call."""
        reached = [entry]
        known = {entry.name}
        for function in reached:
            for statement in flat(function.body or ()):
                if type(statement) is Instruction and statement.opcode == "call":
                    for called in self._called(call_of(statement), function):
                        if called.name not in known:
                            known.add(called.name)
                            reached.append(called)
        return reached

    def _called(self, call: Call, function: Function) -> Iterable[Function]:
        if call.prototype is None:
            found = self.defined.get(call.target)
            return () if found is None else (found,)
        return [
            called
            for statement in (*self._lists(call.prototype, function.body or ()),)
            for called in self.candidates(statement)
        ]

    def _lists(self, name: str, body: tuple[Statement, ...]) -> Iterator[Prototype | LabelTable | Variable]:
        for statement in (*flat(body), *self.module.variables):
            if isinstance(statement, (Prototype, LabelTable, Variable)) and statement.name == name:
                yield statement

    def candidates(self, named: Prototype | LabelTable | Variable) -> list[Function]:
        """The functions that a call by address may mean, by the last operand of the call."""
        if isinstance(named, Prototype):
            wanted = _sizes(named)
            return [f for f in self.taken if not f.is_entry and _sizes(f) == wanted]
        texts = named.targets if isinstance(named, LabelTable) else addressed(named.initializer)
        found = [self.defined[text] for text in texts if text in self.defined]
        return list({function.name: function for function in found}.values())

    @property
    def taken(self) -> tuple[Function, ...]:
        """The functions whose address is somewhere in the module: any kernel may come to have it."""
        if self._taken is None:
            found = {name for v in self.module.variables for name in addressed(v.initializer)}
            for function in self.module.functions:
                for statement in flat(function.body or ()):
                    if isinstance(statement, Instruction) and statement.opcode != "call":
                        found |= {
                            name for operand in statement.operands for name in names(operand)
                        } & self.defined.keys()
            unique = {self.defined[name].name: self.defined[name] for name in found if name in self.defined}
            self._taken = tuple(sorted(unique.values(), key=lambda f: self.code[f.name]))
        return self._taken

    def absent(self, name: str) -> str:
        """Why a function cannot be called."""
        if name.startswith(("cuda", "__cuda")):
            return "the device runtime (dynamic parallelism), which launches kernels from a kernel"
        if name.startswith("__nv_"):
            return "a function of libdevice, which is not in this file; link it in when compiling"
        if name in self.declared:
            return "the function is not defined in this file; link it first"
        return "the function is not defined in this file"


def _sizes(signature: Function | Prototype) -> tuple[tuple[int | None, ...], tuple[int | None, ...]]:
    return tuple([v.size for v in signature.returns]), tuple([v.size for v in signature.params])
