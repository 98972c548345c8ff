"""The `// meta:key=value` comments of a file, as blocks."""

from __future__ import annotations

import re
from typing import NamedTuple

from teenycuda_cli.ptx.signatures import Module

_META = re.compile(r"meta:\s*(.*?)\s*\Z")
_SETTING = re.compile(r"([^=\s]+)\s*=\s*(.*)\Z")
_SHOWN = 60  # characters of a comment in a remark


class MetaBlock(NamedTuple):
    """Values as written; `remarks` tell what else stands there and counts for nothing."""

    values: dict[str, str]
    remarks: list[str]


def meta_blocks(module: Module, known: tuple[str, ...]) -> tuple[MetaBlock, ...]:
    """The `// meta:` blocks of a file; one begins anew at each `name`. `known` are the keys that count."""
    found: list[MetaBlock] = []
    for _, text in module.comments:
        comment = _META.match(text)
        if comment is None:
            continue
        setting = _SETTING.match(comment[1])
        key, value = setting.groups() if setting else ("", "")
        if not found or (key == "name" and "name" in found[-1].values):
            found.append(MetaBlock({}, []))
        values, remarks = found[-1]
        if setting is None:
            remarks.append(f"`// meta:{comment[1][:_SHOWN]}` is no key=value; ignored")
            continue
        first = values.setdefault(key, value)
        if first != value:
            both = f"`{first[:_SHOWN]}` and as `{value[:_SHOWN]}`"
            remarks.append(f"`// meta:{key[:_SHOWN]}` is given as {both}; the first counts")
        elif key not in known:
            remarks.append(f"`// meta:{key[:_SHOWN]}` is no key that is known; ignored")
    return tuple(found)
