"""Finding the credentials that go on over any length, in one walk over the text.

As a pattern alone each would be looked for from every place where one might begin, up to the end of the
text: on a text made of beginnings that takes the square of its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_RUN = r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)+"
_HEAD = r"(?<![A-Za-z0-9])eyJ"
_LEAST_HEAD, _LEAST_TAIL = 11, 8
_BODY = r"[A-Za-z0-9+/=\s]*"


def signed_tokens(text: str) -> Iterator[tuple[int, int]]:
    """Give the offsets of signed tokens: two parts that begin with ``eyJ`` and one more, dots between."""
    if ".eyJ" not in text:
        return
    for run in re.finditer(_RUN, text):
        parts = run.group().split(".")
        starts = [run.start()]
        for part in parts:
            starts.append(starts[-1] + len(part) + 1)
        at = 0
        while at + 2 < len(parts):
            head, payload, tail = parts[at : at + 3]
            sound = payload.startswith("eyJ") and len(payload) >= _LEAST_HEAD and len(tail) >= _LEAST_TAIL
            found = re.search(_HEAD, head) if sound else None
            if found is not None and len(head) - found.start() >= _LEAST_HEAD:
                yield starts[at] + found.start(), starts[at + 2] + len(tail)
                at += 3
            else:
                at += 1


def private_keys(text: str, begin: str, end: str) -> Iterator[tuple[int, int]]:
    """Give the offsets of private keys from ``begin`` to ``end``, or what is left of one without an end."""
    first, last = re.compile(begin), re.compile(end)
    at = 0
    ends = True
    while (match := first.search(text, at)) is not None:
        close = last.search(text, match.end()) if ends else None
        if close is None:
            ends = False  # nor does a later one have an end
            close = re.compile(_BODY).match(text, match.end())
            assert close is not None
        yield match.start(), close.end()
        at = max(close.end(), match.end())
