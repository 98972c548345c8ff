"""The one door through which every driver call passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from teenycuda_cli.errors import LaunchError

FAULTS = frozenset(
    f"CUDA_ERROR_{name}"
    for name in (
        "ASSERT",
        "ECC_UNCORRECTABLE",
        "HARDWARE_STACK_ERROR",
        "ILLEGAL_ADDRESS",
        "ILLEGAL_INSTRUCTION",
        "INVALID_ADDRESS_SPACE",
        "INVALID_PC",
        "LAUNCH_FAILED",
        "LAUNCH_TIMEOUT",
        "MISALIGNED_ADDRESS",
        "TENSOR_MEMORY_LEAK",
    )
)
"""Errors of a kernel rather than of a call; after one, every call in the process repeats it."""


class DriverError(LaunchError):
    """A driver call that failed: `call` is its name, `name` the error's, `explanation` the driver's words."""

    def __init__(self, call: str, name: str, explanation: str) -> None:
        """Put the three together: `cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory`."""
        super().__init__(f"{call}: {name}: {explanation}")
        self.call = call
        self.name = name
        self.explanation = explanation

    @property
    def is_fault(self) -> bool:
        """Whether the kernel did it, and the context is lost."""
        return self.name in FAULTS


def check(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call a driver function; returns its result, a tuple where there are several, None where there is none.

    `call` is one of `cuda.bindings.driver` or, through `ctypes`, one of
    libcuda's own. Raises DriverError naming the call, the error and its
    explanation.
    """
    name = call.__name__
    try:
        answer = call(*arguments)
    except RuntimeError as missing:  # cuda-python's word for a function that this driver does not have
        raise DriverError(name, "CUDA_ERROR_NOT_SUPPORTED", str(missing)) from None
    status, *results = answer if isinstance(answer, tuple) else (answer,)
    if status:
        raise _error(name, int(status))
    if len(results) <= 1:
        return results[0] if results else None
    return tuple(results)


def _error(call: str, code: int) -> DriverError:
    from cuda.bindings import driver  # noqa: PLC0415  (who made the call has imported it)

    try:
        status = driver.CUresult(code)
    except ValueError:  # an error newer than cuda-python
        return DriverError(call, f"error {code}", "cuda-python does not know this error")
    text = driver.cuGetErrorString(status)[1]
    return DriverError(call, status.name, text.decode() if text else "no explanation")
