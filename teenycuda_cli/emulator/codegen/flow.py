"""Control flow of a lowered program: successors, liveness, natural loops, and the order to run blocks in."""

from __future__ import annotations

from dataclasses import dataclass

from teenycuda_cli.emulator.ir import BasicBlock, Frame, FunctionBody, Label, Op, Place, Register
from teenycuda_cli.emulator.program import Program, callee

_BARRIERS = frozenset(("bar", "barrier", "mbarrier"))


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: its header, all its blocks, and what it means for scheduling."""

    header: int
    body: frozenset[int]
    blocks: frozenset[int]  # with those of the functions that it calls, where it compacts
    depth: int
    spins: bool  # may wait for what another lane does
    compacts: bool  # its few remaining lanes may run by themselves
    uses_frames: bool  # at fixed places of their own memory, which is slower for some lanes than for all


def targets(program: Program, op: Op) -> list[int]:
    """The blocks that a branch can go to."""
    names: list[str] = []
    for operand in op.operands:
        if isinstance(operand, Label):
            names += program.tables[operand.name] if operand.kind == "table" else [operand.name]
    return [program.labels[name] for name in names if name in program.labels]


def analyse(program: Program) -> dict[int, Loop]:
    """Fill in successors, liveness, homes and ranks of the blocks; returns the loops by header."""
    blocks = program.blocks
    for block in blocks:
        if block.ops and block.ops[-1].operation.form.opcode in {"bra", "brx", "dispatch"}:
            for target in targets(program, block.ops[-1]):
                if target not in block.successors:
                    block.successors.append(target)
    _liveness(program)
    _place_frames(program)
    loops: dict[int, Loop] = {}
    for function in program.functions.values():
        loops |= _loops(program, function.first)
    _rank(program, loops)
    return loops


STACK_BYTES = 1 << 14
"""Stack a thread for functions that call themselves and for `alloca`; CUDA gives 1024 by default."""


def saved(
    program: Program, caller: FunctionBody, landing: BasicBlock, called: FunctionBody
) -> list[Register]:
    """Registers that a call must save, since the callee may come to write them: the caller's live ones."""
    if caller.name not in called.reaches:
        return []
    shared = {program.stack_pointer, program.dynamic_pointer}
    return sorted(landing.live_in - shared, key=lambda register: register.number)


def _place_frames(program: Program) -> None:
    """A fixed place for the frame of each function; those that call themselves share a stack behind."""
    for block in program.blocks:
        if block.ops and block.ops[-1].operation.form.opcode == "call":
            called = program.functions.get(callee(block.ops[-1].instruction))
            if called is not None:
                landing = program.blocks[block.successors[0]]
                count = len(saved(program, block.function, landing, called))
                function = block.function
                function.spill_size = max(function.spill_size, 8 * count)
    offset = 0
    for function in program.functions.values():
        function.spill_offset = (function.frame_size + 7) // 8 * 8
        function.frame_size = (function.spill_offset + function.spill_size + 15) // 16 * 16
        if not function.recursive:
            function.frame_base = offset
            offset += function.frame_size
    program.stack_base = offset
    if program.stack_pointer is not None or program.dynamic_pointer is not None:
        offset += STACK_BYTES
    program.local_size = offset


# ---------------------------------------------------------------- liveness


def _masks(block: BasicBlock) -> tuple[int, int]:
    """Bit sets of the registers read before they are written, and of those written."""
    used = defined = 0
    for op in block.ops:
        for register in op.reads:
            bit = 1 << register.number
            if not defined & bit:
                used |= bit
        for register in op.writes:
            defined |= 1 << register.number
    return used, defined


def _liveness(program: Program) -> None:
    blocks = program.blocks
    returns = {}
    for function in program.functions.values():
        if function.return_to is not None:
            returns[function.name] = 1 << function.return_to.number
    used_defined = []
    for block in blocks:
        used, defined = _masks(block)
        # a function's lanes remember where they came from until they leave it
        used |= returns.get(block.function.name, 0)
        for pointer in (program.stack_pointer, program.dynamic_pointer):
            used |= 0 if pointer is None else 1 << pointer.number
        used_defined.append((used, defined))
    live_in = [0] * len(blocks)
    live_out = [0] * len(blocks)
    changed = True
    while changed:
        changed = False
        for number in range(len(blocks) - 1, -1, -1):
            out = 0
            for successor in blocks[number].successors:
                out |= live_in[successor]
            used, defined = used_defined[number]
            into = used | (out & ~defined)
            if into != live_in[number] or out != live_out[number]:
                live_in[number], live_out[number] = into, out
                changed = True
    across = 0
    for bits in (*live_in, *live_out):
        across |= bits
    sets = {bits: frozenset(_registers(program, bits)) for bits in {*live_in, *live_out}}
    for block, into, out in zip(blocks, live_in, live_out, strict=True):
        block.live_in, block.live_out = sets[into], sets[out]
    for home, register in enumerate(sorted(_registers(program, across), key=lambda r: r.number)):
        register.home = home


def _registers(program: Program, bits: int) -> set[Register]:
    found = set()
    while bits:
        low = bits & -bits
        found.add(program.registers[low.bit_length() - 1])
        bits ^= low
    return found


# ------------------------------------------------------------------- loops


def _order(program: Program, first: int, depth: dict[int, int]) -> list[int]:
    """Reverse postorder from a block; what leaves a loop comes after all of the loop."""
    blocks = program.blocks
    done: list[int] = []
    seen = {first}

    def children(number: int) -> list[int]:
        found = blocks[number].successors
        return sorted(found, key=lambda s: (-depth.get(s, 0), s)) if len(found) > 1 else list(found)

    # the successor pushed last is visited first, and so comes last in the result
    stack = [(first, children(first))]
    while stack:
        number, rest = stack[-1]
        while rest and rest[-1] in seen:
            rest.pop()
        if rest:
            successor = rest.pop()
            seen.add(successor)
            stack.append((successor, children(successor)))
        else:
            done.append(number)
            stack.pop()
    return done[::-1]


def _dominators(program: Program, order: list[int]) -> dict[int, int]:
    position = {number: index for index, number in enumerate(order)}
    before: dict[int, list[int]] = {number: [] for number in order}
    for number in order:
        for successor in program.blocks[number].successors:
            before[successor].append(number)
    immediate = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for number in order[1:]:
            best: int | None = None
            for previous in before[number]:
                if previous not in immediate:
                    continue
                if best is None:
                    best = previous
                    continue
                other = previous
                while best != other:
                    while position[best] > position[other]:
                        best = immediate[best]
                    while position[other] > position[best]:
                        other = immediate[other]
            if best is not None and immediate.get(number) != best:
                immediate[number] = best
                changed = True
    return immediate


def _dominates(a: int, b: int, immediate: dict[int, int]) -> bool:
    while b != a:
        above = immediate[b]
        if above == b:
            return False
        b = above
    return True


def _loops(program: Program, first: int) -> dict[int, Loop]:
    order = _order(program, first, {})
    position = {number: index for index, number in enumerate(order)}
    back = [
        (number, successor)
        for number in order
        for successor in program.blocks[number].successors
        if position[successor] <= position[number]
    ]
    if not back:
        return {}
    immediate = _dominators(program, order)
    before: dict[int, list[int]] = {number: [] for number in order}
    for number in order:
        for successor in program.blocks[number].successors:
            before[successor].append(number)
    bodies: dict[int, set[int]] = {}
    for latch, header in back:
        if not _dominates(header, latch, immediate):
            continue
        body = bodies.setdefault(header, {header})
        stack = [latch]
        while stack:
            number = stack.pop()
            if number not in body:
                body.add(number)
                stack += before[number]
    loops = {}
    waiting = waiting_functions(program)
    for header, body in bodies.items():
        depth = sum(1 for other in bodies.values() if header in other)
        ops = [op for number in body for op in program.blocks[number].ops]
        spins = any(_waits(op) or not waiting.isdisjoint(_called(op, program)) for op in ops)
        called = {name for op in ops for name in _called(op, program)}
        blocks = body | {block.number for block in program.blocks if block.function.name in called}
        compacts = not spins and not any(_gathers(program.blocks[number]) for number in blocks)
        compacts = compacts and not any(program.functions[name].recursive for name in called)
        whole = frozenset(blocks if compacts else body)
        uses_frames = any(_uses_frame(op) for number in whole for op in program.blocks[number].ops)
        loops[header] = Loop(header, frozenset(body), whole, depth, spins, compacts, uses_frames)
    return loops


def _uses_frame(op: Op) -> bool:
    return any(isinstance(operand, Place) and isinstance(operand.base, Frame) for operand in op.operands)


def _gathers(block: BasicBlock) -> bool:
    """Whether a block holds an instruction that waits for other lanes."""
    return block.gathers or any(op.instruction.opcode in _BARRIERS for op in block.ops)


def waiting_functions(program: Program) -> set[str]:
    """The functions that hold an instruction that may see what another lane has just done."""
    return {block.function.name for block in program.blocks if any(_waits(op) for op in block.ops)}


def _called(op: Op, program: Program) -> set[str]:
    """All functions that an instruction may come to call."""
    name = callee(op.instruction) if op.instruction.opcode == "call" else None
    function = program.functions.get(name or "")
    return set() if function is None else {function.name} | function.reaches


def _waits(op: Op) -> bool:
    """Whether an instruction may see what another lane has just done."""
    instruction = op.instruction
    if instruction.opcode == "atom":
        return True
    return instruction.opcode in {"ld", "nanosleep"} and not {
        "volatile",
        "acquire",
        "relaxed",
        "mmio",
    }.isdisjoint((*instruction.modifiers, "acquire" if instruction.opcode == "nanosleep" else ""))


# ------------------------------------------------------------------- ranks


def _rank(program: Program, loops: dict[int, Loop]) -> None:
    """Number the blocks: callees behind their first call, a loop's header behind the rest of the loop.

    Lanes that come to a header again so wait for those still in the loop.
    """
    depth: dict[int, int] = {}
    for loop in loops.values():
        for number in loop.body:
            depth[number] = max(depth.get(number, 0), loop.depth)
    ranks: dict[int, int] = {}
    ranked: set[str] = set()

    def visit(name: str) -> None:
        ranked.add(name)
        for number in _order(program, program.functions[name].first, depth):
            ranks[number] = len(ranks)
            ops = program.blocks[number].ops
            if ops and ops[-1].operation.form.opcode == "call":
                called = callee(ops[-1].instruction)
                if called in program.functions and called not in ranked:
                    visit(called)

    visit(program.entry)
    for block in program.blocks:
        block.rank = ranks.get(block.number, len(program.blocks))
    for header, loop in loops.items():
        if header not in ranks:  # of a function that only unreachable code calls
            continue
        last = max(ranks[number] for number in loop.body if number in ranks)
        program.blocks[header].rank = last + 0.9 - 0.001 * min(loop.depth, 800)
