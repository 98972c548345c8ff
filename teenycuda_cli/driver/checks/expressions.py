"""The expressions of `--expect`: numpy over the arguments' values, integers exactly, all else in float64.

The text is parsed to a syntax tree and the tree is interpreted node by node:
arithmetic, comparison, indexing, a few attributes and the functions of
`expression_functions`. Nothing else exists (no attribute that starts with `_`,
no import, no file, no lambda, no comprehension), and text, depth, elements and
work are bounded, so an expression can neither reach out nor hang.
"""

from __future__ import annotations

import ast
import operator
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any, NoReturn

import numpy as np

from teenycuda_cli.driver.arguments.dtypes import Array
from teenycuda_cli.driver.arguments.element_types import ElementType, element_type
from teenycuda_cli.driver.checks.expression_bounds import Bounds, TooLarge
from teenycuda_cli.driver.checks.expression_functions import FUNCTIONS, METHODS, OUTLINED, negative
from teenycuda_cli.driver.checks.expression_integers import WEIGHT, exact
from teenycuda_cli.driver.checks.expression_syntax import DEEPEST, HINTS, INSTEAD, fail, parse, type_word
from teenycuda_cli.driver.checks.expression_values import (
    alike,
    arithmetic,
    as_array,
    as_bits,
    broadcast_size,
    index_size,
    is_mask,
    kept,
    plain_index,
)
from teenycuda_cli.driver.nearest import nearest
from teenycuda_cli.errors import TimeoutExpired

CONSTANTS = {"pi": np.pi, "e": np.e, "inf": np.inf, "nan": np.nan, "newaxis": None}
TYPE_WORDS = {"int": "i64", "float": "f64", "bool": "bool"}
NUMPY_NAMES = {"np", "numpy"}
ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "T": np.transpose,
    "shape": lambda array: tuple(int(extent) for extent in np.shape(array)),
    "size": lambda array: int(np.size(array)),
    "ndim": lambda array: int(np.ndim(array)),
    "real": np.real,
    "imag": np.imag,
}

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_BITWISE: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def evaluate(
    text: str,
    values: Mapping[str, Any],
    *,
    deadline: float | None = None,
    where: str = "--expect",
    bounds: Bounds | None = None,
) -> Any:
    """What an expression over named values gives: integers, float64, complex128 or bool, an array or one.

    Integers are an int, int64, or Python ints (dtype object) where they need
    more bits. `values` maps argument names to arrays of any number type, ints
    and floats; a value may be a function without parameters that has a
    `shape`, and is called when more than its shape is used. `bounds` is what
    it may use, by default what suits the largest array. Raises UsageError with
    a caret under what is wrong, TimeoutExpired after `deadline` (of
    `time.monotonic`).
    """
    text = text.strip()
    tree = parse(text, where)
    interpreter = _interpreter(text, values, deadline, where, bounds)
    with _quiet():
        result = interpreter.visit(tree)
    if isinstance(result, (tuple, list)):
        result = interpreter.guarded(tree, lambda: interpreter.kept(as_array(result)))
    if result is None or isinstance(result, (ElementType, slice)) or result is Ellipsis:
        fail(text, 1, len(text), "this gives no numbers", where=where)
    return result


def evaluate_part(
    text: str,
    array: Array,
    values: Mapping[str, Any],
    *,
    deadline: float | None = None,
    where: str = "--expect",
) -> Any:
    """Of `NAME[INDEX]`, what the index, an expression over the values, picks out of an array.

    Raises as `evaluate` does.
    """
    tree = parse(text, where)
    if not isinstance(tree, ast.Subscript) or not isinstance(tree.value, ast.Name):
        fail(text, 1, len(text), "expected a name and one index: y[2:998]", where=where)
    with _quiet():
        return _interpreter(text, values, deadline, where, None).pick(tree, array)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without a word of numpy's on overflows, empty means and their like."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _interpreter(
    text: str, values: Mapping[str, Any], deadline: float | None, where: str, bounds: Bounds | None
) -> _Interpreter:
    largest = max((prod(getattr(value, "shape", ())) for value in values.values()), default=0)
    return _Interpreter(text, values, bounds or Bounds.for_arguments(largest), deadline, where)


@dataclass(slots=True)
class _Interpreter:
    """Walks a tree; knows where it is for messages, and what it may still spend."""

    text: str
    values: Mapping[str, Any]
    bounds: Bounds
    deadline: float | None
    where: str
    depth: int = 0
    used: dict[str, Any] = field(default_factory=dict)  # values as they are kept

    def visit(self, node: ast.expr) -> Any:
        """The value of a node."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise TimeoutExpired("--timeout passed while an expected value was computed")
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(node, "nested too deep")
        method: Callable[[Any], Any] | None = getattr(self, f"_visit_{type(node).__name__}", None)
        if method is None:
            kind = type(node).__name__
            self.fail(node, f"{INSTEAD.get(kind, kind)} is not part of expressions", hint=HINTS.get(kind))
        result = method(node)
        self.depth -= 1
        return self.guarded(node, lambda: self.kept(result))

    def kept(self, value: Any) -> Any:
        """A result in the form that the language keeps, counted."""
        value = kept(self.bounds, value)
        if isinstance(value, np.ndarray):
            self.bounds.spend(value.size * (WEIGHT if value.dtype.kind == "O" else 1))
        return value

    def guarded(self, node: ast.expr, compute: Callable[[], Any]) -> Any:
        """Run a computation of numpy's; what it refuses becomes a message about the node."""
        try:
            return compute()
        except TooLarge as error:
            self.fail(node, str(error), hint="compute it with numpy, save it, and give it as @FILE.npy")
        except (TypeError, ValueError, ArithmeticError, IndexError, MemoryError, RecursionError) as error:
            self.fail(node, str(error).split("\n", maxsplit=1)[0] or type(error).__name__)

    def fail(self, node: ast.expr, what: str, hint: str | None = None) -> NoReturn:
        """Raise UsageError about a node."""
        lines = self.text.split("\n")
        before = sum(len(line) + 1 for line in lines[: node.lineno - 1])
        start = len(lines[node.lineno - 1].encode()[: node.col_offset].decode(errors="replace"))
        width = len(ast.get_source_segment(self.text, node) or " ")
        fail(self.text, before + start + 1, max(1, width), what, where=self.where, hint=hint)

    def _visit_Constant(self, node: ast.Constant) -> Any:
        value = node.value
        if value is None or value is Ellipsis or isinstance(value, (bool, int, float, complex)):
            return value
        word = type_word(value) if isinstance(value, str) else None
        hint = f"write {word}, without quotes" if word else None
        return self.fail(node, "text is not part of expressions", hint=hint)

    def _visit_Name(self, node: ast.Name) -> Any:
        name = node.id
        if name in self.values:
            value = self.values[name]
            if name not in self.used:
                self.used[name] = self.guarded(
                    node, lambda: kept(self.bounds, value() if callable(value) else value)
                )
            return self.used[name]
        if name in CONSTANTS:
            return CONSTANTS[name]
        element = element_type(TYPE_WORDS.get(name, name))
        if element:
            return element
        if name in FUNCTIONS:
            self.fail(node, f"{name} is a function", hint=f"write {name}(…)")
        near = nearest(name, [*self.values, *CONSTANTS, *FUNCTIONS])
        known = ", ".join(self.values) or "none"
        hint = f"did you mean {near}?" if near else f"the arguments are: {known}"
        return self.fail(node, f"no argument is called {name!r}", hint=hint)

    def _visit_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.visit(element) for element in node.elts)

    def _visit_List(self, node: ast.List) -> Any:
        return [self.visit(element) for element in node.elts]

    def _visit_Slice(self, node: ast.Slice) -> Any:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self._whole(part) for part in parts))

    def _whole(self, node: ast.expr) -> Any:
        return self.guarded(node, lambda: operator.index(plain_index(self.visit(node))))

    def _visit_Subscript(self, node: ast.Subscript) -> Any:
        return self.pick(node, self.visit(node.value))

    def pick(self, node: ast.Subscript, value: Any) -> Any:
        """The elements of a value at the node's index."""
        index = self.visit(node.slice)
        if isinstance(value, (tuple, list)):
            return self.guarded(node, lambda: value[index])
        if not isinstance(value, np.ndarray):
            self.fail(node, "only arrays and shapes have elements")

        def picked() -> Any:
            plain = plain_index(index)
            self.bounds.allow(index_size(value.shape, plain))
            return value[plain]

        return self.guarded(node, picked)

    def _visit_Attribute(self, node: ast.Attribute) -> Any:
        name = node.attr
        if self._is_numpy(node.value):
            return self._visit_Name(ast.copy_location(ast.Name(name, ast.Load()), node))
        if name in METHODS:
            self.fail(node, f".{name} is a method", hint=f"write .{name}(…)")
        if name not in ATTRIBUTES:
            self._unknown_attribute(node)
        if name in {"shape", "size", "ndim"}:
            outline = self._outline(node.value)
            return self.guarded(node, lambda: ATTRIBUTES[name](outline))
        value = self.visit(node.value)
        return self.guarded(node, lambda: ATTRIBUTES[name](as_array(value)))

    def _outline(self, node: ast.expr) -> Any:
        """The value of a node of which the shape alone is used: an argument's contents are not read."""
        value = self.values.get(node.id) if isinstance(node, ast.Name) else None
        return np.broadcast_to(0.0, value.shape) if callable(value) else self.visit(node)

    def _unknown_attribute(self, node: ast.Attribute) -> NoReturn:
        names = [*ATTRIBUTES, *METHODS]
        near = nearest(node.attr, names)
        hint = f"did you mean .{near}?" if near else f"there are {', '.join('.' + name for name in names)}"
        self.fail(node, f"no attribute .{node.attr} here", hint=hint)

    def _is_numpy(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in NUMPY_NAMES and node.id not in self.values

    def _visit_Call(self, node: ast.Call) -> Any:
        positional: list[Any] = []
        target = node.func
        if isinstance(target, ast.Attribute) and not self._is_numpy(target.value):
            if target.attr not in METHODS:
                self._unknown_attribute(target)
            name = target.attr
            positional.append(self.visit(target.value))
        elif isinstance(target, (ast.Name, ast.Attribute)):
            name = target.id if isinstance(target, ast.Name) else target.attr
        else:
            self.fail(target, "this cannot be called")
        function = FUNCTIONS.get(name)
        if function is None:
            near = nearest(name, FUNCTIONS)
            hint = f"did you mean {near}?" if near else "the functions are " + " ".join(sorted(FUNCTIONS))
            self.fail(target, f"no function is called {name!r}", hint=hint)
        for argument in node.args:
            look = self._outline if name in OUTLINED and not positional else self.visit
            positional.append(look(argument))
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                self.fail(keyword.value, "** is not part of expressions")
            keywords[keyword.arg] = self.visit(keyword.value)
        return self.guarded(node, lambda: function(self.bounds, positional, keywords))

    def _visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            self.fail(node, "`not` is not part of expressions", hint="use ~")

        def compute() -> Any:
            if isinstance(node.op, ast.Invert):
                return ~as_bits(value) if is_mask(value) else arithmetic(self.bounds, operator.sub, -1, value)
            return negative(self.bounds, value) if isinstance(node.op, ast.USub) else as_array(value)

        return self.guarded(node, compute)

    def _visit_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.visit(node.left), self.visit(node.right)
        return self.guarded(node, lambda: self._binary(node.op, left, right))

    def _binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        if type(op) in _BITWISE:
            return self._bitwise(op, left, right)
        if isinstance(op, ast.MatMult):
            return FUNCTIONS["matmul"](self.bounds, [left, right], {})
        return arithmetic(self.bounds, _ARITHMETIC[type(op)], left, right)

    def _bitwise(self, op: ast.operator, left: Any, right: Any) -> Any:
        self.bounds.allow(broadcast_size(left, right))
        shifts = isinstance(op, (ast.LShift, ast.RShift))
        if is_mask(left) and is_mask(right) and not shifts:
            return _BITWISE[type(op)](as_bits(left), as_bits(right))
        a, b = as_bits(left, whole=True), as_bits(right, whole=True)
        if shifts and not np.all((np.asarray(b) >= 0) & (np.asarray(b) < 64)):
            raise ValueError("a shift by less than 0 or more than 63")
        return exact(self.bounds, _BITWISE[type(op)], a, b)

    def _visit_Compare(self, node: ast.Compare) -> Any:
        operands = [self.visit(operand) for operand in (node.left, *node.comparators)]

        def compute() -> Any:
            result: Any = True
            for op, left, right in zip(node.ops, operands, operands[1:], strict=False):
                if type(op) not in _COMPARISONS:
                    raise ValueError("only == != < <= > >= compare here")
                self.bounds.allow(broadcast_size(left, right))
                result = np.logical_and(result, _COMPARISONS[type(op)](*alike(left, right)))
            return result

        return self.guarded(node, compute)
