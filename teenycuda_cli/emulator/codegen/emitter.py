"""Writing the Python source of a basic block: names, operands, destinations and their buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen import compute
from teenycuda_cli.emulator.codegen.arguments import MASK, Argument, are_values, constant_reader, floats_of
from teenycuda_cli.emulator.codegen.compute import Kept
from teenycuda_cli.emulator.codegen.flow import saved
from teenycuda_cli.emulator.codegen.pool import Pool
from teenycuda_cli.emulator.codegen.steps import Step
from teenycuda_cli.emulator.ir import (
    Constant,
    FloatConstant,
    Frame,
    FunctionBody,
    KernelParameter,
    Not,
    Op,
    Register,
    Source,
    Special,
)
from teenycuda_cli.emulator.machine import special
from teenycuda_cli.emulator.machine.values import wrap
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.errors import UnsupportedError

_FLOATS = {32: np.float32, 64: np.float64}
_BITS = {32: np.uint32, 64: np.uint64}


_WHOLE = Kept("i", 64)
_kept = cache(Kept)


@cache
def _constant(value: int) -> Argument:
    value = wrap(value, 64)
    return Argument(str(value), _WHOLE, constant=value)


class Emitter(Pool):
    """What instructions use to write their code; `BlockEmitter` puts it together."""

    def __init__(self, program: Program) -> None:
        """Objects that the code uses are bound to names in `names`."""
        super().__init__(program.blocks[0])
        self.program = program
        self.names: dict[str, Any] = {
            "both": compute.both,
            "chosen": compute.chosen,
            "inverse": compute.inverse,
            "negate": compute.negate,
            "pick": compute.pick,
            "special": special.read,
            "K_int64": np.dtype(np.int64),
        }
        self._kept: dict[Register, Kept] = {}
        self._registers: dict[Register, Argument] = {}
        for register in program.registers:
            self.know(register)
        self.parameters: list[tuple[int, Any, Kept]] = []  # offset, dtype and register of each parameter read
        self.specials: set[str] = set()  # special registers read
        self.return_sites: list[int] = []
        self.addresses_parameters = False  # parameters are read from memory too
        self.streams = True  # all blocks are exact or tiled
        self.accesses: dict[Op, tuple[str, str]] = {}  # loads and stores of the block: function, address
        self._bound: dict[Any, str] = {}
        self._functions: dict[Any, str] = {}
        self.lines: list[str] = []
        self.ending = ""
        self.following: Step | int | None = None  # the ending as data, if it can be that
        self._temporaries = 0

    def know(self, register: Register) -> None:
        """Take in a register, whose tag is chosen."""
        kept = self._kept[register] = _kept(register.tag, register.width, register.raw_nan)
        self._registers[register] = Argument(f"v{register.number}", kept, register)

    # ----------------------------------------------------------- names, text

    def bind(self, thing: Any) -> str:
        """A name for an object in the generated code."""
        name = self._bound.get(id(thing))
        if name is None:
            name = self._bound[id(thing)] = f"K{len(self._bound)}"
            self.names[name] = thing  # which keeps its id from being another's
        return name

    def line(self, text: str) -> None:
        """Append a line to the function."""
        self.lines.append(text)

    def line_for(self, mask: str, text: str) -> None:
        """A line that is passed over where a mask turns out to have no lanes."""
        self.line(text if mask == "m" else f"if {mask} is not False: {text}")

    def temporary(self) -> str:
        """A variable name of its own."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def leave(self, ending: str) -> None:
        """How the function ends: an expression of (block, mask) pairs, evaluated after the write-back."""
        self.ending = ending

    def leave_by(self, run: Callable[..., Any], *arguments: Argument) -> None:
        """The same with the pairs that `run(lanes, *arguments)` gives."""
        name = self.bind(run)
        self.following = Step(run, name, (), arguments) if are_values(arguments) else None
        self.ending = f"{name}(S, {', '.join([argument.text for argument in arguments])})"

    def go_to(self, block: int) -> None:
        """The same with all lanes going to one block, or nowhere (-1)."""
        self.following = block
        self.ending = f"(({block}, m),)" if block >= 0 else "()"

    @property
    def next_block(self) -> int:
        """The block behind this one in the text."""
        return self.block.successors[0]

    # -------------------------------------------------------------- operands

    def kept(self, register: Register) -> Kept:
        """How a register keeps its values."""
        return self._kept[register]

    def argument(self, source: Source, type_name: str = "b64") -> Argument:  # noqa: PLR0911  (a case each)
        """A source operand that an instruction reads as a PTX type."""
        if type(source) is Register:
            return self._registers[source]
        if isinstance(source, Not):
            return self.turned("inverse", self._registers[source.register], Kept("p", 1))
        if isinstance(source, Constant):
            if type_name == "pred":
                return Argument(str(bool(source.value)), Kept("p", 1))
            return _constant(source.value)
        if isinstance(source, FloatConstant):
            return self._float(source, type_name)
        if isinstance(source, Special):
            self.specials.add(source.name)
            width = special.special_width(source.name)
            kept = Kept("p", 1) if width == 1 else Kept("i", width)
            return Argument(f"special(S, {source.name!r}, {self._index})", kept)
        if isinstance(source, Frame):
            return self._frame(source.offset)
        if isinstance(source, KernelParameter):
            self.addresses_parameters = True
            return Argument(f"(S.batch.launch.parameter_address + {source.offset})", Kept("i", 64))
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
        bits: Any = _BITS[width](source.bits)
        number = bits.view(_FLOATS[width])
        if type_name == "f32":
            if width == 64:
                number = np.float32(number)
            return Argument(self.bind_scalar(number), Kept("f4", 32), scalar=number)
        if type_name == "f64":
            if width == 32:
                number = np.float64(number)
            return Argument(self.bind_scalar(number), Kept("f8", 64), scalar=number)
        value = wrap(source.bits, 64 if width == 64 else 32)
        return Argument(str(value), Kept("i", 64), constant=value)

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
        return self.integer_argument(source, width).text

    def integer_argument(self, source: Source, width: int) -> Argument:
        """The same as an argument."""
        argument = self.argument(source, f"b{width}")
        kept = argument.kept
        if argument.constant is not None:
            value = wrap(argument.constant, width)
            return Argument(str(value), Kept("i", width), constant=value)
        if kept.tag == "i":
            return argument
        bits = np.dtype(f"i{width // 8}")
        return self.turned(self.function(compute.bits, bits, kept.raw_nan), argument, Kept("i", width))

    def turned(self, run: str, argument: Argument, kept: Kept) -> Argument:
        """What the function `run` makes of an argument."""
        return Argument(f"{run}(S, {argument.text})", kept, made=(self.names[run], argument))

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

    def _out(self, register: Register, dtype: Any) -> str:
        number = self.buffer(register, dtype)
        return f"S.P[{number}]" if number >= 0 else f"S.fresh({~number}, {self.bind(dtype)})"

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

    def constant_reader(self, scalar: Any) -> compute.Reader:
        """A reader that gives a constant."""
        return constant_reader(scalar)

    def reader(self, argument: Argument, type_name: str) -> compute.Reader:
        """How an instruction reads an argument as a PTX type."""
        known = argument.constant if argument.constant is not None else argument.scalar
        if known is not None:
            return constant_reader(compute.constant(known, type_name))
        return compute.reader(argument.kept, type_name)

    def saved(self, called: FunctionBody) -> list[Register]:
        """The registers that a call of this block saves, or that this landing restores."""
        block = self.block
        landing = (
            block if block.ops[0].operation.form.opcode == "landing" else self.program.blocks[self.next_block]
        )
        return saved(self.program, block.function, landing, called)

    def current(self, register: Register) -> str:
        """The expression of a live-across register's value now."""
        return f"v{register.number}" if register in self._last_def else f"S.R[{register.home}]"

    def return_site(self, block: int) -> int:
        """The number by which lanes remember to come back to a block."""
        self.return_sites.append(block)
        return len(self.return_sites) - 1

    def parameter(self, offset: int, dtype: Any, kept: Kept) -> int:
        """The number of a place in the kernel's parameters, read as `dtype` for a register."""
        item = (offset, dtype, kept)
        if item not in self.parameters:
            self.parameters.append(item)
        return self.parameters.index(item)

    def step(self, op: Op, destinations: Sequence[Source], run: str, arguments: Sequence[Argument]) -> bool:
        """Let what calls `run` (or, without a name, copies) be data and no source; False where it cannot."""
        return False

    def move(self, op: Op, register: Register, argument: Argument) -> None:
        """Write a register's value into another register, or a constant."""
        raise NotImplementedError

    def read_parameter(self, op: Op, register: Register, offset: int, dtype: Any) -> None:
        """A place in the kernel's parameters into a register."""
        self.assign(op, register, f"S.A[{self.parameter(offset, dtype, self.kept(register))}]")

    def call(
        self,
        op: Op,
        destinations: list[Source],
        run: str,
        arguments: Sequence[Argument],
        dtypes: Sequence[Any] = (),
    ) -> None:
        """Write a call of `run(S, *arguments)`, of which one is `MASK` → values of `dtypes`."""
        mask = self.mask(op)
        texts = [mask if argument is MASK else argument.text for argument in arguments]
        call = f"{run}(S, {', '.join(texts)})"
        if destinations:
            self.store_results(op, destinations, call, mask, list(dtypes))
        else:
            self.line_for(mask, call)

    def store_results(
        self, op: Op, destinations: list[Source], call: str, mask: str, dtypes: list[Any]
    ) -> None:
        """Write what a call gives (a tuple for several) where the lanes of `mask` want it."""
        names: list[str] = []
        after: list[str] = []
        single = len(destinations) == 1
        for destination, dtype in zip(destinations, dtypes, strict=True):
            if not isinstance(destination, Register):
                names.append("_")
                continue
            kept = self.kept(destination)
            name = variable = f"v{destination.number}"
            reads_bits = kept.tag in {"f4", "f8"} and kept.dtype != dtype
            if not single and (mask != "m" or reads_bits):
                name = self.temporary()
            text = call if single else name
            if reads_bits:
                text = f"{self.function(floats_of, kept.dtype, kept.width)}(S, {text})"
            if mask != "m":
                text = f"chosen(S, {mask}, m, {text}, {variable}, {self.bind(kept.dtype)})"
            if single:
                call = text
            elif text != name:
                after.append(f"{variable} = {text}")
            names.append(name)
        self.line_for(mask, "; ".join([f"{', '.join(names)} = {call}", *after]))
