"""Python source from a program: one function a basic block, made of calls on whole batches of lanes.

A function takes the lanes `S`, the mask `m` of those that are here (None: all)
and the mask `w` under which registers are written (None: no other lane lives),
and returns where lanes go: pairs of a block and a mask.

Registers that live within a block are local variables, their arrays come from
a pool by linear scan; the others are read from `S.R` at the top and written
back at the end. A block that is all steps and outside of short loops has no
source: it is a `StraightBlock`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from teenycuda_cli.emulator.codegen import compute
from teenycuda_cli.emulator.codegen.arguments import fixed
from teenycuda_cli.emulator.codegen.chains import join
from teenycuda_cli.emulator.codegen.flow import Loop, analyse
from teenycuda_cli.emulator.codegen.keeping import choose_tags
from teenycuda_cli.emulator.codegen.recording import HOT
from teenycuda_cli.emulator.codegen.steps import Step, StraightBlock
from teenycuda_cli.emulator.codegen.tiling import plan, write
from teenycuda_cli.emulator.codegen.valuecode import ValueEmitter
from teenycuda_cli.emulator.ir import BasicBlock, Register
from teenycuda_cli.emulator.program import Program


class BlockEmitter(ValueEmitter):
    """Writes the function of one block after the other."""

    def __init__(self, program: Program, loops: dict[int, Loop]) -> None:
        """`loops` are those of the program."""
        super().__init__(program)
        self.functions: list[Callable[..., Any]] = []  # of the blocks
        self._hot = frozenset(
            number
            for loop in loops.values()
            if sum(len(program.blocks[number].ops) for number in loop.blocks) <= HOT
            for number in loop.blocks
        )

    def emit_block(self, block: BasicBlock) -> None:
        """Append the function of a block."""
        self.lines = []
        self.ending, self.following = "", None
        self.steps = []
        self.is_hot = block.number in self._hot
        self.accesses = {}
        tiling = plan(block)
        self.streams = self.streams and tiling is not None
        if tiling is not None and tiling.tiled:
            block.ops = [*tiling.exact, *tiling.tiled, *tiling.ending]
        self.begin(block)
        for self._index, op in enumerate(block.ops):
            if tiling is not None and tiling.tiled and op is tiling.tiled[0]:
                self.flush()
                exact, self.lines = self.lines, []
            self.op = op
            if op.operation.form.kind == "value":
                self.value(op)
            else:
                op.operation.form.build(self, op)
            if self._index in self._expiring or self._unheld:
                self.release()
            if tiling is not None and tiling.tiled and op is tiling.tiled[-1]:
                self.flush()
                self.lines = [*exact, *write(self, tiling, self.accesses, self.lines)]
        if not self.ending:
            self.go_to(block.successors[0] if block.successors else -1)
        written = [r for r in self._last_def if r.home >= 0 and r in block.live_out]
        if self.following is not None and not self.is_hot and not self.lines:
            self.functions.append(self._straight(written))
            return
        self._write_back(written)
        lines = (*self._live_in(block), *self.lines, f"return {self.ending}")
        self.functions.append(WrittenBlock(lines, self.names, self.functions))

    def _live_in(self, block: BasicBlock) -> list[str]:
        read: list[Register] = []
        seen: set[Register] = set()
        for op in block.ops:
            for register in op.reads:
                if register not in seen:
                    seen.add(register)
                    read.append(register)
            seen.update(op.writes)
        if not read:
            return []
        if len(read) == 1:
            return [f"v{read[0].number} = S.R[{read[0].home}]"]
        take = self.bind(itemgetter(*[register.home for register in read]))
        return [f"{', '.join([f'v{register.number}' for register in read])} = {take}(S.R)"]

    def _straight(self, written: list[Register]) -> StraightBlock:
        """The block as data."""
        for register in written:
            if self._may_be_old(register):
                owned = (fixed(register.home), self._registers[register])
                self.steps.append(Step(compute.keep, "", (register,), owned))
        outputs = [(self._registers[register], self.kept(register).dtype) for register in written]
        assert self.following is not None
        return StraightBlock(self.steps, outputs, self.following)

    def _write_back(self, written: list[Register]) -> None:
        self.flush()
        if not written:
            return
        homes = self.bind(tuple([(register.home, self.kept(register).dtype) for register in written]))
        self.lines.append(f"S.put({homes}, ({''.join([f'{self._owned(r)}, ' for r in written])}), w)")

    def _owned(self, register: Register) -> str:
        """The register's value; a copy where that is needed."""
        name = f"v{register.number}"
        return f"S.keep({register.home}, {name})" if self._may_be_old(register) else name

    def _may_be_old(self, register: Register) -> bool:
        """Whether a predicate may have left it an earlier value of the block, in an array of the pool."""
        last = self.block.ops[self._last_def[register]]
        return last.predicate is not None and any(
            register in op.writes for op in self.block.ops if op is not last
        )


class WrittenBlock:
    """The function of a block as source, which takes its own place when it first runs."""

    def __init__(
        self, lines: Sequence[str], names: dict[str, Any], functions: list[Callable[..., Any]]
    ) -> None:
        """`names` are those that its lines use, `functions` is where it stands."""
        self.lines = lines
        self._names = names
        self._functions = functions

    def __call__(self, lanes: Any, mask: Any, writes: Any) -> Any:
        """Compile it, and run it."""
        source = "\n  ".join(("def block(S, m, w):", *self.lines))
        exec(compile(source, "<a block of a kernel>", "exec"), self._names)  # the generator's text alone
        run = self._names.pop("block")
        self._functions[self._functions.index(self)] = run
        return run(lanes, mask, writes)


def generate(program: Program) -> tuple[BlockEmitter, dict[int, Loop]]:
    """The emitter, with the functions of all blocks, and the loops."""
    loops = analyse(program)
    choose_tags(program)
    join(program)
    emitter = BlockEmitter(program, loops)
    for block in program.blocks:
        emitter.emit_block(block)
    return emitter, loops
