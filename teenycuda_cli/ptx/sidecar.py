"""The JSON file with metadata: the one beside a PTX file, or the one that the user names."""

from __future__ import annotations

import os

from teenycuda_cli.errors import FileError
from teenycuda_cli.files import read_input
from teenycuda_cli.ptx.metadata import KEYS, LAUNCH_KEYS, Sidecar
from teenycuda_cli.wording import display_name

_LARGEST = 1 << 24  # no metadata is larger


def sidecar_path(path: str) -> str | None:
    """Where Triton leaves the metadata of `name.ptx`: `name.json`, if that is a file."""
    if path == "-":
        return None
    stem, extension = os.path.splitext(path)
    candidate = f"{stem}.json"
    if not extension or candidate == path or not os.path.isfile(candidate):
        return None
    return candidate


def find_sidecar(path: str) -> tuple[Sidecar | None, tuple[str, ...]]:
    """The metadata beside a file, and warnings; a JSON file about something else is passed over."""
    candidate = sidecar_path(path)
    if candidate is None or os.path.getsize(candidate) > _LARGEST:
        return None, ()
    try:
        values = _read_object(candidate)
    except FileError as error:
        return None, (f"{candidate} is ignored: {error.message}",)
    if not any(key in values for key in (*KEYS, *LAUNCH_KEYS) if key != "name"):
        return None, ()
    return Sidecar(candidate, values), ()


def read_sidecar(path: str) -> Sidecar:
    """The metadata in a file that the user names; raises FileError."""
    return Sidecar(display_name(path), _read_object(path), named=True)


def _read_object(path: str) -> dict[str, object]:
    import json  # noqa: PLC0415  (costs start-up time, and most files have no sidecar)

    data = read_input(path)
    try:
        values = json.loads(data)
    except json.JSONDecodeError as error:
        raise FileError(
            f"is no JSON: {error.msg}", file=path, line=error.lineno, column=error.colno
        ) from error
    except UnicodeDecodeError as error:
        raise FileError(f"is no JSON: byte {error.start} is no UTF-8", file=path) from error
    except RecursionError as error:
        raise FileError("is JSON nested too deeply for metadata", file=path) from error
    except ValueError as error:  # an integer of more digits than Python converts
        raise FileError("is JSON with a number too long for metadata", file=path) from error
    if not isinstance(values, dict):
        raise FileError("expected a JSON object with metadata", file=path, hint='such as {"num_warps": 4}')
    return values
