"""`--save`: what is written reads back, and what cannot be written is refused before the launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from teenycuda_cli.driver.arguments.dtypes import encode
from teenycuda_cli.driver.arguments.element_types import ELEMENT_TYPES
from teenycuda_cli.driver.png import colours, scaled
from teenycuda_cli.driver.saving import check_save, parse_save, write_save
from teenycuda_cli.errors import TeenycudaError, UsageError

NUMBERS = np.array([[0.5, -1.0, 3.25], [448.0, 0.0, 2.0]])


def saved(tmp_path: Path, name: str, kind: str, values: Any) -> Path:
    """Save values as a type; the file."""
    element = ELEMENT_TYPES[kind]
    save = parse_save(f"x={tmp_path / name}")
    stored = encode(element, np.asarray(values))
    check_save(save, element, stored.shape, frozenset())
    write_save(save, element, stored)
    return tmp_path / name


@pytest.mark.parametrize(
    "kind", ["f16", "bf16", "f32", "tf32", "f64", "e4m3", "e5m2", "i8", "u64", "bool", "c64"]
)
def test_npy_reads_back(tmp_path: Path, kind: str) -> None:
    """.npy has the values, in numpy's own type where it has one and in float32 where it has none."""
    element = ELEMENT_TYPES[kind]
    values = np.array([[0, 1, 2], [4, 8, 16]]) % (2 if kind == "bool" else 100)
    got = np.load(saved(tmp_path, "x.npy", kind, values))
    assert np.array_equal(got, values)
    assert got.dtype.itemsize == (4 if element.name in {"bf16", "e4m3", "e5m2"} else element.size)


def test_csv_floats_read_back_exactly(tmp_path: Path) -> None:
    """.csv has a row a line, with digits enough for every bit of a float32."""
    values = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    read = np.loadtxt(saved(tmp_path, "x.csv", "f32", values), delimiter=",", dtype=np.float32)
    assert np.array_equal(read, values)
    assert saved(tmp_path, "z.csv", "f32", [0.1, 1e30, 3, np.nan]).read_text() == "0.1\n1e+30\n3.0\nnan\n"
    assert saved(tmp_path, "h.csv", "f16", [[0.1, -np.inf]]).read_text() == "0.1,-inf\n"
    assert saved(tmp_path, "d.csv", "f64", [0.1, 1 / 3]).read_text() == "0.1\n0.3333333333333333\n"
    text = saved(tmp_path, "y.csv", "bool", [True, False]).read_text()
    assert text == "1\n0\n"


def test_other_names_get_raw_bytes(tmp_path: Path) -> None:
    """Any other ending has the elements as they lie in memory."""
    assert saved(tmp_path, "x.dat", "bf16", [1.0, -2.0]).read_bytes() == bytes.fromhex("803f00c0")


def test_a_palette_spreads_from_least_to_greatest() -> None:
    """The least value is darkest, the greatest brightest, NaN apart; infinities go to the ends."""
    levels = scaled(np.array([1.0, 2.0, 3.0, np.nan, np.inf, -np.inf]))
    assert levels[:3].tolist() == [0.0, 0.5, 1.0]
    assert np.isnan(levels[3])
    assert levels[4:].tolist() == [1.0, 0.0]
    brightness = colours(np.arange(100.0).reshape(10, 10)).astype(int).sum(axis=2).ravel()
    assert brightness[0] < brightness[50] < brightness[99]
    for odd in ([[np.nan, np.nan]], [[5.0, 5.0]], [[np.inf, -np.inf]], [[1e308, -1e308]], [[5e-324, 0.0]]):
        assert colours(np.array(odd)).shape == (1, 2, 3)


@pytest.mark.parametrize("text", ["x", "=a.npy", "x=", "x=-", "x=a\0b", "x=a.npz", "x=A.NPZ"])
def test_what_is_no_save(text: str) -> None:
    """NAME=PATH, and no standard output."""
    with pytest.raises(UsageError, match="--save"):
        parse_save(text)


@pytest.mark.parametrize(
    ("path", "kind", "shape"),
    [
        ("nowhere/x.npy", "f32", (4,)),
        (".", "f32", (4,)),
        ("x.png", "f32", (4,)),
        ("x.png", "f32", (2, 2, 2)),
        ("x.png", "c64", (2, 2)),
        ("x.PNG", "f32", (1, 20000)),
        ("input", "f32", (4,)),
        ("./link", "f32", (4,)),
    ],
)
def test_what_cannot_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, kind: str, shape: tuple[int, ...]
) -> None:
    """A missing folder, a picture of other than two dimensions, and an input are refused."""
    monkeypatch.chdir(tmp_path)
    Path("input").write_text("x")
    Path("link").symlink_to("input")
    with pytest.raises(TeenycudaError):
        check_save(parse_save(f"x={path}"), ELEMENT_TYPES[kind], shape, frozenset({"input"}))
    assert Path("input").read_text() == "x"
