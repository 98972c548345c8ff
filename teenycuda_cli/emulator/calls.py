"""Calls while a program is lowered: which functions they reach, and what they become.

A call takes `.param` variables and gives them: registers and constants go
through hidden ones, by ordinary loads and stores. A call by address becomes a
jump to one call by name for each function that the address may mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from teenycuda_cli.emulator.ir import Frame, Register, Source
from teenycuda_cli.emulator.program import BUILT_IN, Call, call_of
from teenycuda_cli.emulator.scopes import Scopes
from teenycuda_cli.emulator.variables import CODE_BASE
from teenycuda_cli.ptx import syntax
from teenycuda_cli.ptx.syntax import (
    Arguments,
    Function,
    Initializer,
    Instruction,
    LabelTable,
    Module,
    Name,
    Operand,
    Prototype,
    Statement,
    Variable,
)

_FLOATS = frozenset(("f32", "f64"))


class Sink(Protocol):
    """What lowers the instructions that a call becomes."""

    def instruction(self, instruction: Instruction, scopes: Scopes) -> None:
        """Lower one instruction."""

    def label(self, name: str, scopes: Scopes) -> None:
        """A label here."""

    def dispatch(self, instruction: Instruction, labels: dict[int, str], scopes: Scopes) -> None:
        """A jump by address, to labels."""

    def operand(self, operand: Operand, scopes: Scopes) -> Source | None:
        """An operand with its names resolved, or None where it means nothing."""

    def lack(self, offset: int, name: str, reason: str) -> None:
        """Something that the emulator lacks."""


def flat(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, those of inner scopes too, however deep."""
    stack = [iter(statements)]
    while stack:
        statement = next(stack[-1], None)
        if statement is None:
            stack.pop()
        elif isinstance(statement, syntax.Block):
            stack.append(iter(statement.statements))
        else:
            yield statement


def names(operand: Operand) -> Iterator[str]:
    """All names in an operand."""
    if isinstance(operand, (syntax.Name, syntax.Indexed)):
        yield operand.base.text if isinstance(operand, syntax.Indexed) else operand.text
    elif isinstance(operand, syntax.Address):
        if operand.base is not None:
            yield operand.base.text
    elif isinstance(operand, syntax.Pair):
        yield from names(operand.first)
        yield from names(operand.second)
    elif isinstance(operand, (syntax.Vector, syntax.Arguments, syntax.Compound)):
        for element in operand.elements:
            yield from names(element)


def addressed(value: Initializer | None) -> Iterator[str]:
    """The names whose addresses an initialiser holds."""
    if isinstance(value, tuple):
        for item in value:
            yield from addressed(item)
    elif isinstance(value, syntax.SymbolAddress):
        yield value.name


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
                if isinstance(statement, Instruction) and statement.opcode == "call":
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


class CallLowering:
    """Turns each call into what the program has: parameters in frames, and functions by name."""

    def __init__(self, functions: Functions, sink: Sink) -> None:
        """`sink` lowers what comes out."""
        self.functions = functions
        self.sink = sink
        self._count = 0

    def lower(self, instruction: Instruction, scopes: Scopes) -> None:
        """A call, with or without a predicate."""
        if instruction.predicate is None:
            self._call(instruction, scopes)
            return
        self._count += 1
        behind = f"behind {self._count}"
        scopes.mark(behind)
        self.sink.instruction(_branch(instruction, behind, opposite=True), scopes)
        self._call(instruction, scopes)
        self.sink.label(behind, scopes)

    def _call(self, instruction: Instruction, scopes: Scopes) -> None:
        call = call_of(instruction)
        functions = self.functions
        if call.prototype is not None or scopes.find_register(call.target) is not None:
            self._by_address(instruction, call, scopes)
            return
        defined = functions.defined.get(call.target)
        signature = defined or functions.declared.get(call.target)
        if signature is None or (defined is None and call.target not in BUILT_IN) or signature.is_entry:
            reason = functions.absent(call.target)
            self.sink.lack(instruction.offset, f"call {call.target}", reason)
            return
        name = signature.name if defined else call.target
        self._with_parameters(instruction, call, (name,), signature, scopes)

    def _by_address(self, instruction: Instruction, call: Call, scopes: Scopes) -> None:
        functions = self.functions
        named = scopes.find_signature(call.prototype or "") or next(
            (v for v in functions.module.variables if v.name == call.prototype), None
        )
        if named is None:
            reason = "a call by address names a .callprototype, a .calltargets list or a table of functions"
            self.sink.lack(instruction.offset, f"call {call.target}", reason)
            return
        candidates = functions.candidates(named)
        signature = named if isinstance(named, Prototype) else candidates[0] if candidates else None
        if signature is None:
            reason = f"none of the functions in {call.prototype} is defined in this file; link it first"
            self.sink.lack(instruction.offset, f"call {call.target}", reason)
            return
        called = tuple(function.name for function in candidates)
        self._with_parameters(instruction, call, called, signature, scopes)

    def _with_parameters(
        self,
        instruction: Instruction,
        call: Call,
        called: tuple[str, ...],
        signature: Function | Prototype,
        scopes: Scopes,
    ) -> None:
        """Arguments into `.param` variables, the call, and results out of them."""
        fits = len(call.arguments) == len(signature.params) and len(call.returns) in (
            len(signature.returns),
            0 if called and called[0] in BUILT_IN else len(signature.returns),
        )
        if not fits:
            self._misfit(instruction, call)
            return
        after: list[Instruction] = []
        arguments = [
            self._passed(actual, formal, instruction, scopes, None)
            for actual, formal in zip(call.arguments, signature.params, strict=True)
        ]
        returns = [
            self._passed(actual, formal, instruction, scopes, after)
            for actual, formal in zip(call.returns, signature.returns, strict=False)
        ]
        if any(operand is None for operand in (*arguments, *returns)):
            self._misfit(instruction, call)
            return
        passed = Arguments(tuple([a for a in arguments if a is not None]))
        given = Arguments(tuple([r for r in returns if r is not None]))

        def by_name(name: str) -> Instruction:
            operands: tuple[Operand, ...] = (given, Name(name), passed)
            return Instruction("call", instruction.modifiers, operands, instruction.offset, instruction.end)

        if call.target == (called[0] if called else "") or call.prototype is None:
            self.sink.instruction(by_name(called[0]), scopes)
        else:
            self._choose(instruction, [by_name(name) for name in called], called, scopes)
        for load in after:
            self.sink.instruction(load, scopes)

    def _choose(
        self, instruction: Instruction, calls: list[Instruction], called: tuple[str, ...], scopes: Scopes
    ) -> None:
        """A jump by address to one of some calls, which all go on behind the last of them."""
        self._count += 1
        end = f"end {self._count}"
        labels = [f"call {self._count} {number}" for number in range(len(calls))]
        for label in (end, *labels):
            scopes.mark(label)
        code = self.functions.code
        self.sink.dispatch(
            instruction, {code[name]: label for name, label in zip(called, labels, strict=True)}, scopes
        )
        for call, label in zip(calls, labels, strict=True):
            self.sink.label(label, scopes)
            self.sink.instruction(call, scopes)
            if call is not calls[-1]:
                self.sink.instruction(_branch(call, end), scopes)
        self.sink.label(end, scopes)

    def _misfit(self, instruction: Instruction, call: Call) -> None:
        reason = "its arguments are not those that the function takes"
        self.sink.lack(instruction.offset, f"call {call.target}", reason)

    def _passed(
        self,
        actual: Operand,
        formal: Variable,
        instruction: Instruction,
        scopes: Scopes,
        results: list[Instruction] | None,
    ) -> Operand | None:
        """The `.param` variable for an argument, or for a result; None where that cannot be one."""
        is_sink = isinstance(actual, syntax.Sink)
        source = None if is_sink else self.sink.operand(actual, scopes)
        if isinstance(source, Frame):
            return actual if source.size >= (formal.size or 0) else None
        if not is_sink and (formal.shape or (isinstance(source, Register) and source.width != _bits(formal))):
            return None
        self._count += 1
        hidden = f"{formal.name} of {self._count}"
        scopes.hide(hidden, formal)
        place = syntax.Address(Name(hidden), 0)
        if results is None:
            operands: tuple[Operand, ...] = (place, actual)
            store = Instruction("st", modifiers(formal), operands, instruction.offset, instruction.end)
            self.sink.instruction(store, scopes)
        elif not is_sink:
            load = Instruction("ld", modifiers(formal), (actual, place), instruction.offset, instruction.end)
            results.append(load)
        return Name(hidden)


def modifiers(variable: Variable) -> tuple[str, ...]:
    """Those of a load or store of a parameter."""
    kind = variable.type if variable.type in _FLOATS else f"b{_bits(variable)}"
    return ("param", f"v{variable.vector}", kind) if variable.vector > 1 else ("param", kind)


def _bits(variable: Variable) -> int:
    return 8 * (variable.size or 0) // variable.vector


def _branch(instruction: Instruction, label: str, *, opposite: bool = False) -> Instruction:
    """A jump to a label, at the place of a call; where its predicate does not hold."""
    predicate = instruction.predicate if opposite else None
    negated = opposite and not instruction.negated
    return Instruction("bra", (), (Name(label),), instruction.offset, instruction.end, predicate, negated)
