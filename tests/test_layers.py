"""Imports point down: the layers that CONTRIBUTING.md draws are those of the code."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "teenycuda_cli"
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / PACKAGE).rglob("*.py")
}
LAYERS = {
    PACKAGE: (("cli",), ("commands",), ("report", "driver", "emulator", "binary"), ("ptx",)),
    f"{PACKAGE}.emulator": (
        ("device",),
        ("scheduling", "lowering"),
        ("opcodes",),
        ("codegen",),
        ("machine",),
        ("program", "ir"),
        ("opcodes.table", "opcodes.forms", "opcodes.patterns", "opcodes.absent"),
        ("numerics",),
    ),
}
"""By package, from the top down; those of one layer may import one another."""
ALONE = {
    "cuda": ("driver.cuda", "driver.assembly.assembler_child"),
    "rich": ("report",),
    "click": ("cli", "usage_hints", "commands", "report.messages"),
}
"""What is imported only there."""


def _imports(path: Path, *, running: bool) -> Iterator[str]:
    """The modules that a module imports: when it is imported, or at any time (types aside)."""
    tree = ast.parse(path.read_text())
    skipped: set[int] = set()
    for node in ast.walk(tree):
        typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        late = running and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if typing or late:
            skipped.update(id(inner) for inner in ast.walk(node))
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in MODULES else node.module


def _within(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


def _layer(name: str, package: str) -> int | None:
    """The number of the layer that a module is in: that of the longest name that it is within."""
    found = [
        (len(part), number)
        for number, layer in enumerate(LAYERS[package])
        for part in layer
        if _within(name, f"{package}.{part}")
    ]
    return max(found)[1] if found else None


@pytest.mark.parametrize("package", LAYERS)
def test_imports_point_down(package: str) -> None:
    """No module imports one of a layer above its own, not even late."""
    upward = []
    for name, path in MODULES.items():
        layer = _layer(name, package)
        for imported in _imports(path, running=False):
            above = _layer(imported, package)
            if layer is not None and above is not None and above < layer:
                upward.append(f"{name} imports {imported}")
    assert upward == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Modules can be put in an order in which each imports only earlier ones."""
    waiting = {
        name: {i for i in _imports(path, running=True) if i in MODULES} for name, path in MODULES.items()
    }
    while ready := {name for name, imported in waiting.items() if not imported & waiting.keys()}:
        waiting = {name: imported for name, imported in waiting.items() if name not in ready}
    assert waiting == {}


@pytest.mark.parametrize("library", ALONE)
def test_each_library_has_its_place(library: str) -> None:
    """What a command does not need is not imported: one package knows of each library."""
    users = [
        name.removeprefix(f"{PACKAGE}.")
        for name, path in MODULES.items()
        if any(_within(imported, library) for imported in _imports(path, running=False))
    ]
    assert users
    assert [user for user in users if not any(_within(user, place) for place in ALONE[library])] == []


def test_reading_ptx_takes_no_arrays() -> None:
    """`inspect` and `strip` start fast, as their package imports nothing but the standard library."""
    outside = {
        imported.split(".")[0]
        for name, path in MODULES.items()
        if _within(name, f"{PACKAGE}.ptx")
        for imported in _imports(path, running=False)
    }
    assert outside - sys.stdlib_module_names <= {PACKAGE}
