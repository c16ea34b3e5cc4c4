"""Taking known secret values out of messages, wherever they stand and also where they were cut short."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable

from npac.diagnostics.credentials import HIDDEN, redacted

_LEAST = 4
"""Shorter values are not hidden: they are parts of ordinary words."""
_TELLING = 8
"""Characters of a secret's beginning that tell it from other text, where a message cut it short."""
_FEW = 256
"""Beginnings that are looked for all at once."""
_REMEMBERED = 4096
"""Texts whose clean form is kept: findings repeat their help, and often themselves."""


class Hider:
    """Secret values, found by their beginnings: what a text costs does not grow with their number."""

    __slots__ = ("_cleaned", "_groups", "_marks", "_pattern", "_sizes")

    def __init__(self, values: Iterable[str]) -> None:
        forms = {form for value in values if len(value) >= _LEAST for form in (value, repr(value)[1:-1])}
        self._groups: dict[str, list[str]] = {}
        for form in sorted(forms):
            self._groups.setdefault(form[:_TELLING], []).append(form)
        self._sizes = sorted({len(head) for head in self._groups}, reverse=True)
        self._marks = {head[:_LEAST] for head in self._groups}
        few = 0 < len(self._marks) <= _FEW
        self._pattern = re.compile("|".join(map(re.escape, sorted(self._marks)))) if few else None
        self._cleaned: dict[str, str] = {}

    def clean(self, text: str) -> str:
        """Give ``text`` with ``***`` for every value or its beginning, and what looks like a credential."""
        if not self._marks:
            return redacted(text)
        done = self._cleaned.get(text)
        if done is None:
            done = self._clean(redacted(text))
            if len(self._cleaned) < _REMEMBERED:
                self._cleaned[text] = done
        return done

    def _clean(self, text: str) -> str:
        parts: list[str] = []
        since, at = 0, self._next(text, 0)
        while at >= 0:
            found = self._shared(text, at)
            if found:
                parts += (text[since:at], HIDDEN)
                since = at + found
            at = self._next(text, at + max(found, 1))
        return "".join((*parts, text[since:])) if parts else text

    def _next(self, text: str, at: int) -> int:
        """Give the next place from ``at`` on where a value may begin; -1 for none."""
        if self._pattern is not None:
            match = self._pattern.search(text, at)
            return match.start() if match is not None else -1
        marks = self._marks
        return next(
            (place for place in range(at, len(text) - _LEAST + 1) if text[place : place + _LEAST] in marks),
            -1,
        )

    def holds(self, text: str) -> bool:
        """Say whether a whole value stands in ``text``."""
        for at in range(len(text) - _LEAST + 1 if self._marks else 0):
            if text[at : at + _LEAST] in self._marks:
                for size in self._sizes:
                    group = self._groups.get(text[at : at + size], ())
                    if any(text.startswith(value, at) for value in group):
                        return True
        return False

    def _shared(self, text: str, at: int) -> int:
        """Give how many characters from ``at`` on are a value or its telling beginning."""
        most = 0
        for size in self._sizes:
            group = self._groups.get(text[at : at + size])
            if group is None:
                continue
            # of values in order, one beside the place of a text has most in common with it
            rest = text[at:]
            place = bisect_left(group, rest)
            for value in group[max(place - 1, 0) : place + 1]:
                same = next((n for n, (a, b) in enumerate(zip(value, rest, strict=False)) if a != b), None)
                most = max(most, min(len(value), len(rest)) if same is None else same)
        return most
