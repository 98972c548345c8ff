"""What the driver refused to load, explained by the rule broken, or in its words and with their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from teenycuda_cli.driver.assembly.assembler import Assembly
from teenycuda_cli.driver.assembly.diagnostics import Diagnostic, LineMap, diagnose
from teenycuda_cli.driver.cuda.library import version_text
from teenycuda_cli.driver.cuda.precheck import refuse
from teenycuda_cli.errors import AssembleError
from teenycuda_cli.ptx.source import Source

if TYPE_CHECKING:
    from teenycuda_cli.driver.cuda.device import CudaDevice
    from teenycuda_cli.driver.cuda.jit import JitError
    from teenycuda_cli.driver.image import Image

MESSAGES_SHOWN = 5
WORDS = {
    "CUDA_ERROR_INVALID_IMAGE": "the driver does not take this for PTX, a cubin or a fatbin",
    "CUDA_ERROR_INVALID_PTX": "the driver does not assemble this PTX",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "the driver is too old for this PTX",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "there is no machine code for this GPU in it, nor PTX to make some of",
    "CUDA_ERROR_JIT_COMPILER_NOT_FOUND": "the driver's assembler (libnvidia-ptxjitcompiler) is not installed",
}
"""What the driver's errors mean here, where its own explanation is bare."""


def refused(device: CudaDevice, image: Image, error: JitError) -> Assembly:
    """An assembly that is not ok; its failure is the rule broken, or what the driver's error means."""
    refusal = refuse(image, device.arch, device.version)
    words = None if error.log.error else f"{WORDS.get(error.name, error.explanation)} ({error.name})"
    return Assembly(
        ok=False,
        arch=device.arch,
        assembler="driver",
        version=version_text(device.version),
        cubin=None,
        error_log=error.log.error,
        info_log=error.log.info,
        truncated=error.log.truncated,
        ms=error.log.milliseconds,
        entries=(),
        failure=refusal.message if refusal else words,
        failure_hint=refusal.hint if refusal else None,
    )


def diagnosed(assembly: Assembly, image: Image, line_map: LineMap | None) -> tuple[Diagnostic, ...]:
    """What was said of an image, with lines of the user's file."""
    source = image.source if image.kind == "ptx" else Source(b"", image.name)
    return diagnose(assembly, source, line_map)


def refusal_error(
    device: CudaDevice, image: Image, error: JitError, line_map: LineMap | None
) -> AssembleError:
    """The error for a launch: the first message with its line and a caret, a few more behind it."""
    first, *more = diagnosed(refused(device, image, error), image, line_map)
    context: tuple[str, ...] = ()
    if first.line is not None:
        snippet = image.source.snippet(first.line, first.column or 1, first.length)
        context = snippet if first.column is not None else snippet[:1]
    context += tuple(_line(image, each) for each in more[:MESSAGES_SHOWN])
    if len(more) > MESSAGES_SHOWN:
        context += (f"… and {len(more) - MESSAGES_SHOWN} more: `teenycuda load` shows them",)
    return AssembleError(
        first.message, file=image.name, line=first.line, column=first.column, hint=first.hint, context=context
    )


def _line(image: Image, diagnostic: Diagnostic) -> str:
    places = [image.name, *(str(each) for each in (diagnostic.line, diagnostic.column) if each is not None)]
    return f"{':'.join(places)}: {diagnostic.severity}: {diagnostic.message}"
