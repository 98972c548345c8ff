"""What of PTX the emulator leaves out, and why."""

from __future__ import annotations

_TEXTURES = "textures and surfaces are not emulated"
_BLACKWELL = "it is for sm_100 and newer, which the emulator does not stand for"

ABSENT: dict[str, str] = {
    "multimem": "it works on memory that several GPUs share (sm_90), and the emulator is one device",
    "tcgen05": _BLACKWELL,
    "clusterlaunchcontrol": _BLACKWELL,
    "tex": _TEXTURES,
    "tld4": _TEXTURES,
    "txq": _TEXTURES,
    "istypep": _TEXTURES,
    "suld": _TEXTURES,
    "sust": _TEXTURES,
    "sured": _TEXTURES,
    "suq": _TEXTURES,
}
"""By opcode, the reason; what is in the table is not looked up here."""
