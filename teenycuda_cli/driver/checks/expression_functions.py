"""The functions that an expression can call: a list of numpy's own, within bounds."""

from __future__ import annotations

from teenycuda_cli.driver.checks import expression_arrays, expression_elementwise
from teenycuda_cli.driver.checks.expression_elementwise import negative
from teenycuda_cli.driver.checks.expression_registry import FUNCTIONS

__all__ = ["FUNCTIONS", "METHODS", "OUTLINED", "expression_arrays", "expression_elementwise", "negative"]

_METHODS = """
    reshape astype sum max min mean std var prod any all argmax argmin cumsum cumprod dot transpose flatten
    ravel clip round sort argsort swapaxes squeeze copy conj repeat take trace ptp
"""
METHODS = tuple(_METHODS.split())
OUTLINED = {"zeros_like", "ones_like", "full_like"}  # of their first value the shape alone counts
