"""The JSON document of `inspect`, written piece by piece: a large file has thousands of kernels."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from teenycuda_cli.ptx.metadata import KEYS

if TYPE_CHECKING:
    from teenycuda_cli.inspection import FileFacts
    from teenycuda_cli.ptx.inspection import KernelFacts

SCHEMA = "teenycuda.inspect/1"
_INDENTED_KERNELS = 64  # of more, each stands on one line, which json writes much faster


def json_pieces(files: Sequence[FileFacts], exit_code: int) -> Iterator[str]:
    """The document, in pieces that together are one JSON text."""
    yield f'{{\n"schema": "{SCHEMA}",\n"files": ['
    for index, file in enumerate(files):
        yield ",\n" if index else "\n"
        yield from _file_pieces(file)
    error = next((file.error.document for file in files if file.error), None)
    yield f'\n],\n"error": {json.dumps(error)},\n"exit_code": {exit_code}\n}}\n'


def _file_pieces(file: FileFacts) -> Iterator[str]:
    indent = 1 if len(file.kernels) <= _INDENTED_KERNELS else None
    yield json.dumps(_head(file), indent=indent).rstrip("}\n") + ',\n "kernels": ['
    for index, kernel in enumerate(file.kernels):
        yield ",\n" if index else "\n"
        yield json.dumps(_kernel(kernel), indent=indent)
    yield "],\n" + json.dumps(_tail(file), indent=indent).lstrip("{\n")


def _head(file: FileFacts) -> dict[str, Any]:
    debug = file.debug
    return {
        "path": file.path,
        "kind": file.kind,
        "ptx_version": file.ptx_version,
        "target": None if file.target is None else list(file.target),
        "debug": debug
        and {
            "target": debug.target,
            "sections": list(debug.sections),
            "files": debug.files,
            "locs": debug.locs,
        },
        "address_size": file.address_size,
    }


def _tail(file: FileFacts) -> dict[str, Any]:
    images = file.images
    return {
        "functions": [
            {"name": f.name, "linkage": f.linkage, "line": f.line, "defined": f.defined}
            for f in file.functions
        ],
        "globals": [
            {"name": v.name, "space": v.space, "type": v.type, "size": v.size, "line": v.line}
            for v in file.globals
        ],
        "images": None
        if images is None
        else [
            {
                "kind": image.kind,
                "arch": image.arch,
                "compression": image.compression,
                "size": image.size,
                "unpacked_size": image.unpacked_size,
                "kernels": None if image.kernels is None else list(image.kernels),
            }
            for image in images
        ],
        "warnings": list(file.warnings),
        "error": file.error and file.error.document,
    }


def _kernel(kernel: KernelFacts) -> dict[str, Any]:
    function, metadata = kernel.function, kernel.metadata
    directives = function.directives
    return {
        "name": function.name,
        "linkage": function.linkage,
        "line": kernel.line,
        "params": [
            {
                "index": parameter.index,
                "name": parameter.name or None,
                "type": parameter.type or None,
                "size": parameter.size,
                "align": parameter.align or None,
                "offset": parameter.offset,
                "pointer": parameter.pointer
                and {"space": parameter.pointer.space, "align": parameter.pointer.align},
                "role": role,
            }
            for parameter, role in zip(function.parameters, kernel.roles, strict=True)
        ],
        "reqntid": directives.reqntid,
        "maxntid": directives.maxntid,
        "minnctapersm": directives.minnctapersm,
        "maxnreg": directives.maxnreg,
        "cluster": directives.reqnctapercluster,
        "static_shared": kernel.static_shared,
        "extern_shared": kernel.extern_shared,
        "threads_per_block": metadata.threads_per_block,
        "metadata": {
            key: {"value": setting.value, "source": setting.source}
            for key, setting in ((key, metadata.setting(key)) for key in KEYS)
        },
    }
