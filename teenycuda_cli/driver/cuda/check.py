"""The one door through which every driver call passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from teenycuda_cli.errors import LaunchError


class DriverError(LaunchError):
    """A driver call that failed: `call` is its name, `name` the error's, `explanation` the driver's words."""

    def __init__(self, call: str, name: str, explanation: str) -> None:
        """Put the three together: `cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory`."""
        super().__init__(f"{call}: {name}: {explanation}")
        self.call = call
        self.name = name
        self.explanation = explanation


def check(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of `cuda.bindings.driver`; returns its result, a tuple where there are several.

    Raises DriverError naming the call, the error and its explanation.
    """
    name = getattr(call, "__name__", str(call))
    try:
        status, *results = call(*arguments)
    except RuntimeError as missing:  # the bindings' word for a function that this driver does not have
        raise DriverError(name, "CUDA_ERROR_NOT_FOUND", str(missing)) from None
    if status:
        raise error_of(name, status)
    if len(results) <= 1:
        return results[0] if results else None
    return tuple(results)


def error_of(call: str, status: Any) -> DriverError:
    """The DriverError for a status of `cuda.bindings.driver` that is not success."""
    from cuda.bindings import driver  # noqa: PLC0415  (imported already by whoever made the call)

    def text(answer: tuple[Any, bytes | None]) -> str:
        return (answer[1] or b"no explanation").decode()

    return DriverError(call, status.name, text(driver.cuGetErrorString(status)))
