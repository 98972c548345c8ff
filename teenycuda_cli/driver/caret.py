"""A caret under the place in an argument or expression that a message is about."""

from __future__ import annotations

WIDTH = 96


def caret(text: str, column: int, width: int = 1) -> tuple[str, str]:
    """Two lines for an error's context: the text, and a caret under `column` (from 1).

    Long text is cut to a window around the place; control characters show as
    `?`, so that the caret stays where it belongs.
    """
    shown = "".join(character if character.isprintable() else "?" for character in text)
    at = column - 1
    start = max(0, at - WIDTH * 2 // 3) if len(shown) > WIDTH else 0
    window = shown[start : start + WIDTH]
    prefix = "…" if start else ""
    suffix = "…" if start + WIDTH < len(shown) else ""
    length = max(1, min(width, len(window) - (at - start)))
    return f"  {prefix}{window}{suffix}", "  " + " " * (len(prefix) + at - start) + "^" + "~" * (length - 1)
