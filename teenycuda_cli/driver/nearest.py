"""The name that a mistyped word was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The most similar of the names, or None where none is similar."""
    from difflib import get_close_matches  # noqa: PLC0415  (only a mistake needs it)

    return next(iter(get_close_matches(word, list(names), n=1)), None)
