"""The arguments of a command line against the parameters of a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from teenycuda_cli.driver.arguments.language import Address, Alias, Argument, Buffer, Bytes, Scalar
from teenycuda_cli.driver.arguments.packing import pack_bytes, pack_pointer, pack_scalar
from teenycuda_cli.driver.buffers import HostBuffer
from teenycuda_cli.driver.program import Kernel
from teenycuda_cli.errors import UsageError
from teenycuda_cli.ptx.signatures import Parameter
from teenycuda_cli.wording import counted, plural


@dataclass(frozen=True, slots=True)
class Binding:
    """What a parameter gets.

    `packed` are its bytes, or None where they are an address that only the
    device knows: of the buffer `buffer` plus `offset`, or of the scratch that
    `role` names.
    """

    parameter: Parameter
    role: str
    argument: Argument | None
    packed: bytes | None
    buffer: str | None = None
    offset: int = 0


def check_count(kernel: Kernel, arguments: Sequence[Argument], path: str, *, several: bool) -> None:
    """Refuse too few or too many arguments, with the signature and a command line to start from."""
    wanted = kernel.roles.count("user")
    if len(arguments) == wanted:
        return
    from teenycuda_cli.driver.arguments import signature  # noqa: PLC0415  (only where the arguments do not fit)

    texts = [argument.text for argument in arguments]
    hidden = len(kernel.roles) - wanted
    filled = f", and {counted(hidden, 'hidden one')} that teenycuda fills in" if hidden else ""
    takes = counted(wanted, "argument") if wanted else "no argument"
    given = f"{len(arguments) or 'none'} {plural(max(1, len(arguments)), 'is', 'are')} given"
    message = f"{kernel.name} takes {takes}{filled}; {given}"
    command = signature.starting_command(path, kernel, several=several)
    raise UsageError(message, context=signature.parameter_lines(kernel, texts), hint=f"start from: {command}")


def bind(
    kernel: Kernel, arguments: Sequence[Argument], buffers: Mapping[str, HostBuffer]
) -> tuple[Binding, ...]:
    """Pair each parameter with its argument and pack it; raises UsageError with the declaration not met."""
    remaining = list(arguments)
    bindings = []
    for parameter, role in zip(kernel.parameters, kernel.roles, strict=True):
        if role != "user":
            bindings.append(Binding(parameter, role, None, None))
        else:
            bindings.append(_bind(remaining.pop(0), parameter, buffers))
    return tuple(bindings)


def _bind(argument: Argument, parameter: Parameter, buffers: Mapping[str, HostBuffer]) -> Binding:
    match argument.value:
        case Scalar() as value:
            return Binding(parameter, "user", argument, pack_scalar(argument, parameter, value))
        case Bytes() as value:
            return Binding(parameter, "user", argument, pack_bytes(argument, parameter, value))
        case Address(address):
            return Binding(parameter, "user", argument, pack_pointer(argument, parameter, address))
        case Alias(name, offset):
            size = buffers[name].before.nbytes
            if offset >= size:
                raise UsageError(
                    f"argument {argument.name!r} ({argument.text}): {name!r} has {counted(size, 'byte')}"
                )
            pack_pointer(argument, parameter, 0)
            return Binding(parameter, "user", argument, None, name, offset)
        case Buffer():
            pack_pointer(argument, parameter, 0)
            return Binding(parameter, "user", argument, None, argument.name)
