"""Python source from a program: one function a basic block, made of calls on whole batches of lanes.

A function takes the lanes `S`, the mask `m` of those that are here (None: all)
and the mask `w` under which registers are written (None: no other lane lives),
and returns where lanes go: pairs of a block and a mask.

Registers that live within a block are local variables, their arrays come from
a pool by linear scan; the others are read from `S.R` at the top and written
back at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.emulator import compute, special
from teenycuda_cli.emulator.compute import Kept
from teenycuda_cli.emulator.flow import Loop, analyse, saved
from teenycuda_cli.emulator.ir import (
    BasicBlock,
    Constant,
    FloatConstant,
    Frame,
    FunctionBody,
    Group,
    KernelParameter,
    Not,
    Nowhere,
    Op,
    Register,
    Source,
    Special,
)
from teenycuda_cli.emulator.lower import Program
from teenycuda_cli.emulator.numerics.floating import canonical
from teenycuda_cli.emulator.values import wrap
from teenycuda_cli.errors import UnsupportedError

_FLOATS = {32: np.float32, 64: np.float64}
_BITS = {32: np.uint32, 64: np.uint64}


@dataclass(frozen=True, slots=True)
class Argument:
    """A source as generated code has it: an expression, and how its value is kept."""

    text: str
    kept: Kept
    register: Register | None = None
    constant: int | None = None  # an integer known now
    scalar: Any = None  # a float known now


class Emitter:
    """Writes the function of one block after the other."""

    def __init__(self, program: Program, loops: dict[int, Loop]) -> None:
        """Objects that the code uses are bound to names in `names`."""
        self.program = program
        self.loops = loops
        self.names: dict[str, Any] = {
            "both": compute.both,
            "negate": compute.negate,
            "pick": compute.pick,
            "special": special.read,
            "K_int32": np.dtype(np.int32),
            "K_int64": np.dtype(np.int64),
        }
        self.source: list[str] = []
        self.dtypes: list[Any] = []  # of the pool
        self.parameters: list[tuple[int, Any, Kept]] = []  # offset, dtype and register of each parameter read
        self.return_sites: list[int] = []
        self._last_read: dict[Register, int] = {}
        self._bound: dict[Any, str] = {}
        self._functions: dict[Any, str] = {}
        self.block: BasicBlock = program.blocks[0]
        self.lines: list[str] = []
        self.ending = ""
        self.op: Op | None = None
        self._pool: dict[Any, list[int]] = {}
        self._holder: list[tuple[Register, int]] = []
        self._last_use: dict[Register, int] = {}
        self._last_def: dict[Register, int] = {}
        self._index = 0
        self._temporaries = 0

    # ---------------------------------------------------------------- blocks

    def emit_block(self, block: BasicBlock) -> None:
        """Append the function of a block to `source`."""
        self.block = block
        self.lines = []
        self.ending = ""
        self._pool = {}
        for number, dtype in enumerate(self.dtypes):
            self._pool.setdefault(dtype, []).append(number)
        self._holder = []
        self._scan(block)
        opening = self._live_in(block)
        for self._index, op in enumerate(block.ops):
            self.op = op
            if op.operation.form.kind == "value":
                self._value(op)
            else:
                op.operation.form.build(self, op)
            self._release()
        self._write_back(block)
        if not self.ending:
            successor = block.successors[0] if block.successors else -1
            self.ending = f"(({successor}, m),)" if successor >= 0 else "()"
        self.source.append(f"def B{block.number}(S, m, w):")
        self.source += [f"  {line}" for line in (*opening, *self.lines)]
        self.source.append(f"  return {self.ending}")

    def _scan(self, block: BasicBlock) -> None:
        last_use: dict[Register, int] = {}
        last_def: dict[Register, int] = {}
        last_read: dict[Register, int] = {}
        for index, op in enumerate(block.ops):
            for register in op.reads:
                last_use[register] = index
                if op.predicate is None or register not in op.writes:
                    last_read[register] = index
            for register in op.writes:
                last_def[register] = index
                last_use.setdefault(register, index)
                last_use[register] = max(last_use[register], index)
        self._last_use, self._last_def, self._last_read = last_use, last_def, last_read

    def _live_in(self, block: BasicBlock) -> list[str]:
        lines = ["R = S.R"]
        seen: set[Register] = set()
        for op in block.ops:
            for register in op.reads:
                if register not in seen:
                    seen.add(register)
                    lines.append(f"v{register.number} = R[{register.home}]")
            seen.update(op.writes)
        return lines

    def _write_back(self, block: BasicBlock) -> None:
        written = [r for r in self._last_def if r.home >= 0 and r in block.live_out]
        if not written:
            return
        self.lines.append("if w is None:")
        self.lines += [f"  R[{r.home}] = {self._owned(r)}" for r in written]
        self.lines.append("else:")
        for register in written:
            dtype = self.bind(self.kept(register).dtype)
            self.lines.append(f"  S.merge({register.home}, v{register.number}, w, {dtype})")

    def _owned(self, register: Register) -> str:
        """The register's value; a copy where a predicate may have left an earlier one, which lies in the pool."""
        last = self.block.ops[self._last_def[register]]
        if last.predicate is not None and any(register in op.writes for op in self.block.ops if op is not last):
            return f"S.keep({register.home}, v{register.number})"
        return f"v{register.number}"

    # ----------------------------------------------------------- names, text

    def bind(self, thing: Any) -> str:
        """A name for an object in the generated code."""
        key: Any = thing if isinstance(thing, (np.dtype, type)) else id(thing)
        name = self._bound.get(key)
        if name is None:
            name = self._bound[key] = f"K{len(self._bound)}"
            self.names[name] = thing
        return name

    def line(self, text: str) -> None:
        """Append a line to the function."""
        self.lines.append(text)

    def temporary(self) -> str:
        """A variable name of its own."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def leave(self, ending: str) -> None:
        """How the function ends: an expression of (block, mask) pairs, worked out after registers are written."""
        self.ending = ending

    @property
    def next_block(self) -> int:
        """The block behind this one in the text."""
        return self.block.successors[0]

    # -------------------------------------------------------------- operands

    def kept(self, register: Register) -> Kept:
        """How a register keeps its values."""
        return Kept(register.tag, register.width, register.raw_nan)

    def argument(self, source: Source, type_name: str = "b64") -> Argument:  # noqa: PLR0911  (a case each)
        """A source operand that an instruction reads as a PTX type."""
        if isinstance(source, Register):
            return Argument(f"v{source.number}", self.kept(source), source)
        if isinstance(source, Not):
            return Argument(f"negate(v{source.register.number})", Kept("p", 1))
        if isinstance(source, Constant):
            if type_name == "pred":
                return Argument(str(bool(source.value)), Kept("p", 1))
            value = wrap(source.value, 64)
            return Argument(str(value), Kept("i", 64), constant=value)
        if isinstance(source, FloatConstant):
            return self._float(source, type_name)
        if isinstance(source, Special):
            width = special.special_width(source.name)
            return Argument(f"special(S, {source.name!r})", Kept("i", width))
        if isinstance(source, Frame):
            return self._frame(source.offset)
        if isinstance(source, KernelParameter):
            return Argument(f"(S.machine.parameter_address + {source.offset})", Kept("i", 64))
        raise UnsupportedError(
            f"the emulator does not take this operand ({type(source).__name__.lower()})",
            file=self.program.text.name,
            line=self._line(),
        )

    def _line(self) -> int:
        return self.program.text.position(self.op.instruction.offset)[0] if self.op else 1

    def _frame(self, offset: int) -> Argument:
        function = self.block.function
        if not function.recursive:
            value = function.frame_base + offset
            return Argument(str(value), Kept("i", 64), constant=value)
        pointer = self.program.stack_pointer
        assert pointer is not None
        shift = self.bind(compute.plus64)
        return Argument(f"{shift}(S, S.R[{pointer.home}], {offset - function.frame_size})", Kept("i", 64))

    def _float(self, source: FloatConstant, type_name: str) -> Argument:
        width = source.width
        number = _BITS[width](source.bits).view(_FLOATS[width])
        if type_name == "f32":
            if width == 64:
                number = np.float32(number)
            return Argument(self.bind_scalar(number), Kept("f4", 32), scalar=number)
        if type_name == "f64":
            if width == 32:
                number = np.float64(number)
            return Argument(self.bind_scalar(number), Kept("f8", 64), scalar=number)
        bits = wrap(source.bits, 64 if width == 64 else 32)
        return Argument(str(bits), Kept("i", 64), constant=bits)

    def bind_scalar(self, number: Any) -> str:
        """A name for a numpy scalar."""
        key = (number.dtype, number.tobytes())
        name = self._bound.get(key)
        if name is None:
            name = self._bound[key] = f"K{len(self._bound)}"
            self.names[name] = number
        return name

    def integer(self, source: Source, width: int) -> str:
        """A source as an exact or signed array integer of a width, as registers keep it."""
        argument = self.argument(source, f"b{width}")
        if argument.constant is not None:
            return str(wrap(argument.constant, width))
        kept = argument.kept
        if kept.tag == "i":
            return argument.text
        bits = np.dtype(f"i{width // 8}")
        return f"{self.function(_bits_of, bits, kept.raw_nan)}({argument.text})"

    def function(self, make: Any, *key: Any) -> str:
        """A name for what `make(*key)` gives, made once."""
        name = self._functions.get((make, key))
        if name is None:
            name = self._functions[make, key] = self.bind(make(*key))
        return name

    def mask(self, op: Op) -> str:
        """The lanes that carry an instruction out: `m`, or a variable that may be False for none."""
        if op.predicate is None:
            return "m"
        name = self.temporary()
        predicate = f"v{op.predicate.number}"
        self.line(f"{name} = both({f'negate({predicate})' if op.negated else predicate}, m, S)")
        return name

    # ---------------------------------------------------------- destinations

    def buffer(self, register: Register, dtype: Any) -> int:
        """A buffer number for a register's next array: of the pool, or ~home where it lives across blocks."""
        if register.home >= 0 and self._last_def.get(register) == self._index and register in self.block.live_out:
            return ~register.home
        free = self._pool.setdefault(dtype, [])
        if free:
            number = free.pop()
        else:
            number = len(self.dtypes)
            self.dtypes.append(dtype)
        self._hold(register, number)
        return number

    def _out(self, register: Register, dtype: Any) -> str:
        number = self.buffer(register, dtype)
        return f"S.P[{number}]" if number >= 0 else f"S.fresh({~number}, {self.bind(dtype)})"

    def lives_on(self, register: Register) -> bool:
        """Whether the value being written now is kept for other blocks."""
        return register.home >= 0 and register in self.block.live_out and self._last_def.get(register) == self._index

    def _release(self) -> None:
        """Give the buffers of registers that are used no more back to the pool."""
        last_use, index = self._last_use, self._index
        self._holder = [item for item in self._holder if last_use.get(item[0], -1) > index]
        held = {number for _, number in self._holder}
        self._pool = {}
        for number, dtype in enumerate(self.dtypes):
            if number not in held:
                self._pool.setdefault(dtype, []).append(number)

    def _hold(self, register: Register, number: int) -> None:
        """The register's value lies in a buffer now; where it may keep its old value, in that one too."""
        if self.op is None or self.op.predicate is None:
            self._holder = [item for item in self._holder if item[0] is not register]
        self._holder.append((register, number))

    def alias(self, destination: Register, source: Register) -> bool:
        """Let two local registers share an array; False where a copy is needed."""
        guarded = self.op is not None and self.op.predicate is not None
        if guarded or self.lives_on(destination) or self._last_def.get(source, -1) >= self._index:
            return False
        numbers = [number for register, number in self._holder if register is source]
        self._holder = [item for item in self._holder if item[0] is not destination]
        self._holder += [(destination, number) for number in numbers]
        return True

    def assign(self, op: Op, register: Register, text: str) -> None:
        """Write a register: where the instruction has a predicate, only for lanes that it holds for."""
        name = f"v{register.number}"
        if op.predicate is None:
            self.line(f"{name} = {text}")
            return
        predicate = f"v{op.predicate.number}"
        if op.negated:
            predicate = f"negate({predicate})"
        self.line(f"{name} = pick(S, {predicate}, {text}, {name}, {self.bind(self.kept(register).dtype)})")

    def only_read_before_writes(self, register: Register) -> bool:
        """Whether a value made now is only computed with, in this block, before memory may change."""
        if self.lives_on(register) or self._last_def.get(register) != self._index:
            return False
        last = self._last_use.get(register, -1)
        for index in range(self._index + 1, last + 1):
            op = self.block.ops[index]
            value = op.operation.form.kind == "value"
            if register in op.reads:
                if register in op.writes or op.instruction.opcode in {"mov", "selp", "cvt"}:
                    return False
                if not value and (op.instruction.opcode != "st" or isinstance(op.operands[1], Group)):
                    return False  # a store of one element copies what overlaps, one of several may not
            if not value and index < last and not getattr(op.operation.form.build, "keeps_memory", False):
                return False
        return True

    def is_used(self, source: Source) -> bool:
        """Whether a destination is read at all."""
        if not isinstance(source, Register):
            return False
        return source in self.block.live_out or self._last_read.get(source, -1) > self._index

    def forget(self, register: Register) -> None:
        """A destination that is written later, not by this block."""
        self._last_def.pop(register, None)

    def constant_reader(self, scalar: Any) -> compute.Reader:
        """A reader that gives a constant."""
        return _constant_reader(scalar)

    def saved(self, called: FunctionBody) -> list[Register]:
        """The registers that a call of this block saves, or that this landing restores."""
        block = self.block
        landing = block if block.ops[0].operation.form.opcode == "landing" else self.program.blocks[self.next_block]
        return saved(self.program, block.function, landing, called)

    def current(self, register: Register) -> str:
        """The expression of a live-across register's value now."""
        return f"v{register.number}" if register in self._last_def else f"R[{register.home}]"

    def return_site(self, block: int) -> int:
        """The number by which lanes remember to come back to a block."""
        self.return_sites.append(block)
        return len(self.return_sites) - 1

    def parameter(self, offset: int, dtype: Any, kept: Kept) -> str:
        """The expression of a place in the kernel's parameters, read as `dtype` for a register."""
        item = (offset, dtype, kept)
        if item not in self.parameters:
            self.parameters.append(item)
        return f"S.A[{self.parameters.index(item)}]"

    def store_results(
        self, op: Op, destinations: list[Source], call: str, mask: str, dtypes: list[Any]
    ) -> None:
        """Write what a call gives (a tuple for several) where the lanes of `mask` want it."""
        several = len(destinations) > 1
        names = [self.temporary() for _ in destinations]
        guarded = mask != "m"
        indent = ""
        if guarded:
            self.line(f"if {mask} is not False:")
            indent = "  "
        self.line(f"{indent}{', '.join(names)} = {call}" if several else f"{indent}{names[0]} = {call}")
        for destination, name, dtype in zip(destinations, names, dtypes, strict=True):
            if not isinstance(destination, Register):
                continue
            kept = self.kept(destination)
            text = name
            if kept.tag in {"f4", "f8"} and kept.dtype != dtype:
                text = f"{self.function(_floats_of, kept.dtype, kept.width)}(S, {name})"
            variable = f"v{destination.number}"
            if guarded:
                text = f"{text} if {mask} is m else pick(S, {mask}, {text}, {variable}, {self.bind(kept.dtype)})"
            self.line(f"{indent}{variable} = {text}")

    # ------------------------------------------------------------- value ops

    def _value(self, op: Op) -> None:
        operation = op.operation
        destinations = _elements(op.operands[0])
        sources = [element for operand in op.operands[1:] for element in _elements(operand)]
        arguments = [self.argument(s, t) for s, t in zip(sources, operation.sources, strict=True)]
        carry = None
        if operation.reads_carry or operation.writes_carry:
            carry = next(r for r in (*op.writes, *op.reads) if r.name == "%cc")
            if operation.reads_carry:
                arguments.append(Argument(f"v{carry.number}", Kept("p", 1), carry))
        if len(destinations) > 1 or operation.writes_carry:
            if operation.writes_carry:
                assert carry is not None
                destinations = [*destinations, carry]
            self._many(op, destinations, arguments)
            return
        register = destinations[0]
        if isinstance(register, Nowhere):
            return
        assert isinstance(register, Register)
        opcode = op.instruction.opcode
        if opcode == "mov" and len(sources) == 1:
            self._move(op, register, arguments[0])
        elif opcode == "selp":
            self._select(op, register, arguments)
        else:
            self._compute(op, register, arguments)

    def _readers(self, op: Op, arguments: list[Argument]) -> list[compute.Reader]:
        types = [*op.operation.sources, *(["pred"] if op.operation.reads_carry else [])]
        found = []
        for argument, type_name in zip(arguments, types, strict=True):
            known = argument.constant if argument.constant is not None else argument.scalar
            if known is not None:
                scalar = compute.constant(known, type_name)
                found.append(_constant_reader(scalar))
            else:
                found.append(compute.reader(argument.kept, type_name))
        return found

    def _many(self, op: Op, destinations: list[Any], arguments: list[Argument]) -> None:
        kept = [self.kept(d) if isinstance(d, Register) else None for d in destinations]
        key = (id(op.operation), tuple(kept), tuple((a.kept, a.constant, a.text if a.scalar is not None else 0) for a in arguments))
        name = self._functions.get(key)
        if name is None:
            run = compute.compute_many(
                op.operation, self._readers(op, arguments), kept, op.operation.writes_carry
            )
            name = self._functions[key] = self.bind(run)
        targets = [f"v{d.number}" if isinstance(d, Register) else "_" for d in destinations]
        call = f"{name}(S, 0, {', '.join(a.text for a in arguments)})"
        if op.predicate is None:
            self.line(f"{', '.join(targets)} = {call}")
            return
        names = [self.temporary() for _ in targets]
        self.line(f"{', '.join(names)} = {call}")
        for destination, temporary in zip(destinations, names, strict=True):
            if isinstance(destination, Register):
                self.assign(op, destination, temporary)

    def _move(self, op: Op, register: Register, argument: Argument) -> None:
        kept = self.kept(register)
        type_name = op.operation.destinations[0]
        if argument.constant is not None:
            if kept.tag == "i":
                self.assign(op, register, str(wrap(argument.constant, kept.width)))
            else:
                bits = np.dtype(f"i{kept.width // 8}").type(wrap(argument.constant, kept.width))
                self.assign(op, register, self.bind_scalar(bits.view(kept.dtype)))
            return
        if argument.scalar is not None:
            known = argument.scalar
            if kept.tag == "i":
                self.assign(op, register, str(wrap(int(known.view(f"i{known.itemsize}")), kept.width)))
            else:
                self.assign(op, register, argument.text)
            return
        text = argument.text
        if kept.tag != argument.kept.tag:
            if argument.kept.tag == "i":
                text = f"{self.function(_floats_of, kept.dtype, argument.kept.width)}(S, {text})"
            else:
                text = f"{self.function(_bits_of, np.dtype(f'i{kept.width // 8}'), argument.kept.raw_nan)}({text})"
        elif kept.tag == "i" and kept.width != argument.kept.width:
            read = self.function(compute.reader, argument.kept, type_name)
            write = self.function(compute.writer, kept, type_name, False)
            text = f"{write}({read}(S, {text}))"
        source = argument.register
        if source is not None and not self.alias(register, source):
            if self.lives_on(register):
                text = f"S.keep({register.home}, {text})"
            else:
                text = f"{self.bind(compute.duplicate)}({text})"
        self.assign(op, register, text)

    def _select(self, op: Op, register: Register, arguments: list[Argument]) -> None:
        kept = self.kept(register)
        texts = []
        for argument, type_name in zip(arguments[:2], op.operation.sources, strict=False):
            if kept.tag == "i":
                if argument.constant is not None:
                    texts.append(str(wrap(argument.constant, kept.width)))
                elif argument.kept.tag == "i":
                    texts.append(argument.text)
                else:
                    bits = np.dtype(f"i{kept.width // 8}")
                    texts.append(f"{self.function(_bits_of, bits, argument.kept.raw_nan)}({argument.text})")
            elif argument.kept.tag == kept.tag:
                texts.append(argument.text)
            elif argument.constant is not None:
                texts.append(self.bind_scalar(compute.constant(argument.constant, type_name)))
            else:
                texts.append(f"{self.function(_floats_of, kept.dtype, argument.kept.width)}(S, {argument.text})")
        number = self.buffer(register, kept.dtype)
        run = self.function(compute.selector, kept.dtype)
        call = f"{run}(S, {number}, {texts[0]}, {texts[1]}, {arguments[2].text})"
        self.assign(op, register, call)

    def _compute(self, op: Op, register: Register, arguments: list[Argument]) -> None:
        operation = op.operation
        kept = self.kept(register)
        if kept.tag in {"f4", "f8"} and self._plain(op, kept, arguments):
            self._inline(op, register, arguments)
            return
        number = self.buffer(register, kept.dtype)
        exact = tuple([argument.kept.tag == "i" for argument in arguments])
        key = (
            id(operation),
            kept,
            tuple([(a.kept, a.constant, a.text if a.scalar is not None else 0) for a in arguments]),
        )
        name = self._functions.get(key)
        if name is None:
            run = compute.compute(operation, self._readers(op, arguments), kept, exact)
            name = self._functions[key] = self.bind(run)
        call = f"{name}(S, {number}, {', '.join([a.text for a in arguments])})"
        if kept.tag == "f4" and op.instruction.opcode == "cvt" and self.lives_on(register):
            call = f"S.keep({register.home}, {call})" if operation.sources[0] == "f32" else call
        self.assign(op, register, call)

    def _plain(self, op: Op, kept: Kept, arguments: list[Argument]) -> bool:
        """Whether the arrays go in and come out as registers keep them."""
        operation = op.operation
        if operation.destinations[0] != compute.native(kept.tag):
            return False
        return all(
            compute.native(argument.kept.tag) == type_name
            for argument, type_name in zip(arguments, operation.sources, strict=True)
        ) and not operation.reads_carry

    def _inline(self, op: Op, register: Register, arguments: list[Argument]) -> None:
        evaluate = op.operation.ufunc or op.operation.evaluate
        out = self._out(register, self.kept(register).dtype)
        varying = [argument.text for argument in arguments if argument.scalar is None]
        texts = ", ".join([argument.text for argument in arguments])
        full = " or ".join([f"{text}.shape == N" for text in dict.fromkeys(varying)])
        call = f"{self.bind(evaluate)}({texts}, out={out} if {full} else None)" if full else f"{self.bind(evaluate)}({texts})"
        if full:
            call = call.replace("== N", "== S.shape")
        self.assign(op, register, call)


def _constant_reader(scalar: Any) -> compute.Reader:
    return lambda lanes, value: scalar


def _bits_of(dtype: Any, raw_nan: bool) -> Any:
    """A function from floats to their bits as signed integers, exact for a scalar."""

    def bits(value: Any) -> Any:
        if raw_nan:
            value = canonical(value)
        if type(value) is np.ndarray:
            return value.view(dtype)
        return int(value.view(dtype))

    return bits


def _floats_of(dtype: Any, width: int) -> Any:
    """A function (lanes, integers) → the floats of those bits."""

    def floats(lanes: Any, value: Any) -> Any:
        return lanes.integers(value, width).view(dtype)

    return floats


def _elements(source: Source) -> list[Source]:
    return list(source.elements) if isinstance(source, Group) else [source]


def generate(program: Program) -> tuple[Emitter, str]:
    """The emitter, with the objects that the source uses, and the source of all blocks."""
    loops = analyse(program)
    _tags(program)
    emitter = Emitter(program, loops)
    for block in program.blocks:
        emitter.emit_block(block)
    return emitter, "\n".join(emitter.source)


def _tags(program: Program) -> None:
    """How each register is kept: as floats where every instruction that writes it makes floats."""
    made: dict[Register, set[str]] = {}
    for block in program.blocks:
        for op in block.ops:
            operation = op.operation
            destinations = _elements(op.operands[0]) if operation.destinations and op.operands else []
            for index, register in enumerate(destinations):
                if isinstance(register, Register):
                    names = operation.destinations
                    made.setdefault(register, set()).add(names[min(index, len(names) - 1)])
            if operation.raw_nan:
                for register in op.writes:
                    register.raw_nan = True
    for register, types in made.items():
        if register.tag == "i" and types == {"f32"} and register.width == 32:
            register.tag = "f4"
        elif register.tag == "i" and types == {"f64"} and register.width == 64:
            register.tag = "f8"
    # moves hand raw NaNs on
    changed = True
    while changed:
        changed = False
        for block in program.blocks:
            for op in block.ops:
                if op.instruction.opcode in {"mov", "selp"} and len(op.writes) == 1:
                    register = op.writes[0]
                    if register.tag != "i" and not register.raw_nan and any(r.raw_nan for r in op.reads):
                        register.raw_nan = changed = True
