"""From an expression's text to its syntax tree, and the messages about what is none."""

from __future__ import annotations

import ast
import warnings
from contextlib import suppress
from typing import NoReturn

import numpy as np

from teenycuda_cli.driver.arguments.element_types import element_type
from teenycuda_cli.driver.caret import caret
from teenycuda_cli.errors import UsageError
from teenycuda_cli.wording import counted

LONGEST = 4096  # characters
DEEPEST = 100  # levels of the tree
MOST_NODES = 2000

INSTEAD = {
    "Lambda": "a lambda",
    "ListComp": "a comprehension",
    "GeneratorExp": "a comprehension",
    "SetComp": "a comprehension",
    "DictComp": "a comprehension",
    "IfExp": "`a if c else b`",
    "BoolOp": "`and`/`or`",
    "NamedExpr": "an assignment",
    "JoinedStr": "an f-string",
    "Starred": "a star",
    "Await": "await",
    "Yield": "yield",
    "Dict": "a dictionary",
    "Set": "a set",
}
HINTS = {"IfExp": "use where(condition, a, b)", "BoolOp": "use & and |, with both sides in parentheses"}


def parse(text: str, where: str) -> ast.expr:
    """The tree of a text within its limits; raises UsageError."""
    if len(text) > LONGEST:
        raise UsageError(
            f"an expression of {counted(len(text), 'character')}; expected at most {LONGEST}",
            file=where,
            hint="compute the expected array with numpy, save it, and give it as @FILE.npy",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        column = min(error.offset or len(text) + 1, len(text) + 1)
        fail(text, column, 1, f"not an expression: {error.msg}", where=where)
    except (ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"not an expression: {error or 'nested too deep'}", file=where) from error
    if sum(1 for _ in ast.walk(body)) > MOST_NODES:
        raise UsageError(f"an expression of more than {MOST_NODES} parts", file=where)
    return body


def type_word(text: str) -> str | None:
    """The name of the type that numpy, or else the command line, knows by a text: `uint32` for `u4`."""
    name = text
    with suppress(TypeError, ValueError, OverflowError):
        name = np.dtype(text).name if text.isalnum() else text
    return name if element_type(name) else None


def fail(text: str, column: int, width: int, what: str, *, where: str, hint: str | None = None) -> NoReturn:
    """Raise UsageError with a caret under a place, counted from 1."""
    raise UsageError(what, file=where, column=column, hint=hint, context=caret(text, column, width))
