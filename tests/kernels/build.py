r"""Recompile the kernels of `tests/kernels/sources` into `tests/kernels/ptx`, no GPU needed.

    python tests/kernels/build.py [triton] [nvcc] [nvrtc] [numba] [rust]

What is committed was made by Triton 3.6.0, nvcc 13.0.88, nvidia-cuda-nvrtc 13.0.88, numba-cuda 0.30.4 with
numba 0.68.1 and nvidia-nvvm 13.0.88, and rustc 1.95.0 (the sources bring their own small `core`):

    pip install 'triton==3.6.0' 'numba-cuda==0.30.4' 'numba==0.68.1' 'nvidia-nvvm==13.0.*' \
        'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cccl==13.0.*'

Sources are named by relative paths, so that what asserts and panics say is the same wherever this runs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCES, PTX = HERE / "sources", HERE / "ptx"
METADATA = (
    *("name", "num_warps", "num_ctas", "shared", "tmem_size", "global_scratch_size", "global_scratch_align"),
    *("profile_scratch_size", "profile_scratch_align", "cluster_dims", "warp_size"),
)


def _module(path: Path) -> ModuleType:
    """Run a source whose functions remember it by its path relative to `sources`."""
    module = ModuleType(path.stem)
    module.__file__ = str(path.relative_to(SOURCES))
    exec(compile(path.read_text(), module.__file__, "exec"), module.__dict__)
    return module


def _triton() -> None:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    for path in sorted((SOURCES / "triton").glob("*.py")):
        for name, function, types, constants, archs, warps in _module(path).KERNELS:
            names = list(function.arg_names)
            signature = {key: text.partition("=")[0] for key, text in types.items()}
            aligned = [key for key, text in types.items() if text.startswith("*") or "=16" in text]
            values = {(names.index(key),): _constant(value) for key, value in constants.items()}
            source = ASTSource(
                fn=function,
                signature=signature | dict.fromkeys(constants, "constexpr"),
                constexprs=values,
                attrs={(names.index(key),): [["tt.divisibility", 16]] for key in aligned},
            )
            for arch in archs:
                # Lines are kept where an assertion tells of them.
                triton.knobs.compilation.disable_line_info = name != "asserts"
                options = {"num_warps": warps, "debug": name == "asserts"}
                compiled = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
                metadata = {key: getattr(compiled.metadata, key, None) for key in METADATA}
                _write("triton", f"{name}.sm{arch}.ptx", compiled.asm["ptx"])
                _write("triton", f"{name}.sm{arch}.json", json.dumps(metadata) + "\n")


def _constant(value: Any) -> Any:
    import triton.language as tl

    return getattr(tl, value) if isinstance(value, str) else value


def _nvcc() -> None:
    """A source says in its first lines what it is compiled with, and what else of it there is to be.

    // nvcc OPTIONS                 the file's own
    // nvcc ENDING: OPTIONS         one more file, `name.ENDING.ptx`
    // metadata JSON                what a launch needs to know beside the PTX
    """
    for path in sorted((SOURCES / "nvcc").glob("*.cu")):
        text = path.read_text()
        for ending, options in re.findall(r"^// nvcc (?:(\w+): )?(.*)$", text, re.MULTILINE):
            output = PTX / "nvcc" / f"{path.stem}{'.' if ending else ''}{ending}.ptx"
            output.parent.mkdir(parents=True, exist_ok=True)
            command = ["nvcc", "-std=c++17", "-ptx", *options.split(), f"nvcc/{path.name}", "-o", str(output)]
            subprocess.run(command, check=True, cwd=SOURCES)
            for metadata in re.findall(r"^// metadata (.*)$", text, re.MULTILINE):
                _write("nvcc", f"{output.stem}.json", metadata + "\n")


def _nvrtc() -> None:
    """A source names in its first lines the templates that are to be made: `// nvrtc name<int>`."""
    import nvidia.cu13
    from cuda.bindings import nvrtc

    includes = Path(next(iter(nvidia.cu13.__path__))) / "include"
    options = [b"--gpu-architecture=compute_80", b"-std=c++17", b"-default-device"]
    options += [f"-I{folder}".encode() for folder in (includes, includes / "cccl")]
    for path in sorted((SOURCES / "nvrtc").glob("*.cu")):
        name = f"nvrtc/{path.name}"
        text = path.read_bytes()
        error, program = nvrtc.nvrtcCreateProgram(text, name.encode(), 0, [], [])
        for expression in re.findall(rb"^// nvrtc (.*)$", text, re.MULTILINE):
            nvrtc.nvrtcAddNameExpression(program, expression)
        (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise SystemExit(f"{name}: {log.decode()}")
        _, size = nvrtc.nvrtcGetPTXSize(program)
        ptx = b" " * size
        nvrtc.nvrtcGetPTX(program, ptx)
        _write("nvrtc", f"{path.stem}.ptx", ptx.rstrip(b"\0").decode())


def _numba() -> None:
    from numba import cuda
    from numba.cuda import codegen, dispatcher

    # Functions that kernels call are compiled for the GPU at hand, of which there is none, and linked in the
    # order of a set, here always the same one.
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(8, 0))
    codegen.CUDACodeLibrary.__hash__ = lambda library: zlib.crc32(library.name.encode())
    for path in sorted((SOURCES / "numba").glob("*.py")):
        for function, signature in _module(path).KERNELS:
            ptx, _ = cuda.compile_ptx(function, signature, cc=(8, 0))
            _write("numba", f"{function.__name__}.ptx", ptx)


def _rust() -> None:
    for path in sorted((SOURCES / "rust").glob("*.rs")):
        if path.stem == "core":
            continue
        output = PTX / "rust" / f"{path.stem}.ptx"
        output.parent.mkdir(parents=True, exist_ok=True)
        options = "--target nvptx64-nvidia-cuda -O -C target-cpu=sm_80 --crate-type lib --emit asm"
        command = ["rustc", *options.split(), f"rust/{path.name}", "-o", str(output)]
        subprocess.run(command, check=True, cwd=SOURCES, env=os.environ | {"RUSTC_BOOTSTRAP": "1"})


def _write(compiler: str, name: str, text: str) -> None:
    path = PTX / compiler / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    print(path.relative_to(HERE))


BUILDERS: dict[str, Callable[[], None]] = {
    "triton": _triton,
    "nvcc": _nvcc,
    "nvrtc": _nvrtc,
    "numba": _numba,
    "rust": _rust,
}


def main(compilers: list[str]) -> None:
    """Run the builders asked for, all of them by default."""
    os.chdir(SOURCES)
    for compiler in compilers or BUILDERS:
        BUILDERS[compiler]()


if __name__ == "__main__":
    main(sys.argv[1:])
