"""One text for what differs from round to round only in its numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PARTS = re.compile(r"[0-9]+|[^0-9]+")


def merged(texts: Sequence[str]) -> str | None:
    """Give one text for several that differ in whole numbers only, those as ``{1..3}`` or ``{1,4}``.

    None when they differ in more.  A number that is the same in all stays as it is.
    """
    distinct = list(dict.fromkeys(texts))
    if len(distinct) == 1:
        return distinct[0]
    rows = [_PARTS.findall(text) for text in distinct]
    if len({len(row) for row in rows}) != 1:
        return None
    columns: list[str] = []
    for column in zip(*rows, strict=True):
        values = list(dict.fromkeys(column))
        if len(values) == 1:
            columns.append(values[0])
        elif all(value.isdigit() for value in values):
            columns.append(numbers([int(value) for value in values]))
        else:
            return None
    return "".join(columns)


def numbers(values: Sequence[int]) -> str:
    """Give whole numbers in braces, as a range where none is left out, else the first and the last."""
    found = sorted(set(values))
    if len(found) == 1:
        return str(found[0])
    if found[-1] - found[0] + 1 == len(found):
        return f"{{{found[0]}..{found[-1]}}}"
    if len(found) <= 4:
        return f"{{{','.join(str(value) for value in found)}}}"
    return f"{{{found[0]},…,{found[-1]}}}"
