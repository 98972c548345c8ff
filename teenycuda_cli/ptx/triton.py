"""Triton's hidden parameters: trailing pointers to scratch memory that no user passes.

Triton 3.3 and 3.4 append one (global scratch), 3.5 and later two (global and
profile scratch), also when the scratch is empty. They look like any pointer,
so a parameter is called hidden only on evidence:

- metadata that Triton wrote, with a `…_scratch_size` key for each of them; or
- text that only Triton writes (LLVM's parameter names, `.ptr .global .align 1`,
  and `.file` of a Python source) whose last pointers the body never reads; or
- the number of arguments that the user gave, where one or two such pointers
  are left over and either kind of evidence says Triton.
"""

from __future__ import annotations

from teenycuda_cli.ptx.metadata import Metadata
from teenycuda_cli.ptx.signatures import Function, Module, Parameter
from teenycuda_cli.ptx.source import Source

USER = "user"
GLOBAL_SCRATCH = "global_scratch"
PROFILE_SCRATCH = "profile_scratch"
HIDDEN = (GLOBAL_SCRATCH, PROFILE_SCRATCH)


def parameter_roles(
    source: Source,
    module: Module,
    entry: Function,
    metadata: Metadata,
    user_arguments: int | None = None,
) -> tuple[str, ...]:
    """The role of each parameter of an entry: `user`, `global_scratch` or `profile_scratch`.

    `user_arguments` is the number of arguments on the command line, where it is
    known; the caller must still check that it equals the number of user
    parameters.
    """
    return RoleFinder(source, module).roles(entry, metadata, user_arguments)


class RoleFinder:
    """Tells the roles of the parameters of one entry after the other."""

    def __init__(self, source: Source, module: Module) -> None:
        """Look once at what the whole file tells: whether a Python source stands behind it."""
        self.source = source
        self.has_files = bool(module.files)
        self.is_python = any(file.name.endswith(".py") for file in module.files)

    def roles(
        self, entry: Function, metadata: Metadata, user_arguments: int | None = None
    ) -> tuple[str, ...]:
        """The role of each parameter, as `parameter_roles` gives them."""
        count = len(entry.parameters)
        possible = _possible_hidden(entry)
        stated = _stated_hidden(metadata)
        if user_arguments is not None:
            hidden = self._left_over(entry, count - user_arguments, possible, stated)
        elif stated:
            hidden = min(stated, possible)
        else:
            hidden = self._unread(entry, possible)
        return (USER,) * (count - hidden) + HIDDEN[:hidden]

    def _left_over(self, entry: Function, left: int, possible: int, stated: int) -> int:
        """How many of the parameters that no argument is for are hidden."""
        if not 0 <= left <= len(HIDDEN):
            return min(stated, possible)
        is_triton = stated > 0 or (left > 0 and self._is_triton_text(entry, left))
        return left if left <= possible and is_triton else 0

    def _is_triton_text(self, entry: Function, hidden: int) -> bool:
        """Whether the last `hidden` parameters and the file are written the way Triton writes them."""
        first = len(entry.parameters) - hidden
        return (
            all(
                parameter.pointer is not None
                and _is_scratch_pointer(parameter)
                and parameter.name == f"{entry.name}_param_{first + index}"
                for index, parameter in enumerate(entry.parameters[first:])
            )
            and (entry.directives.reqntid is not None or entry.directives.maxntid is not None)
            and (self.is_python or not self.has_files)
        )

    def _unread(self, entry: Function, possible: int) -> int:
        """Without metadata: the last pointers, if the body never mentions them and a `.file` is Python's."""
        if not self.is_python or entry.body_span is None:
            return 0
        begin, end = entry.body_span
        for hidden in range(possible, 0, -1):
            names = [parameter.name for parameter in entry.parameters[-hidden:]]
            unread = all(self.source.text.find(name, begin, end) < 0 for name in names)
            if unread and self._is_triton_text(entry, hidden):
                return hidden
        return 0


def _stated_hidden(metadata: Metadata) -> int:
    """How many hidden parameters metadata tells of."""
    if "profile_scratch_size" in metadata.given:
        return 2
    if "global_scratch_size" in metadata.given or metadata.global_scratch_size.source == "legacy":
        return 1
    return 0


def _possible_hidden(entry: Function) -> int:
    """How many of the last parameters could be hidden, at most two."""
    count = 0
    for parameter in reversed(entry.parameters[-len(HIDDEN) :]):
        if not _is_scratch_pointer(parameter):
            break
        count += 1
    return count


def _is_scratch_pointer(parameter: Parameter) -> bool:
    """Whether a parameter is declared as Triton declares its scratch: `.u64`, in global memory if it says."""
    pointer = parameter.pointer
    return (
        parameter.type in ("u64", "b64")
        and not parameter.array
        and (pointer is None or (pointer.space == "global" and pointer.align == 1))
    )
