"""Stretches of a text, asked by place without looking at all of them."""

from bisect import bisect_right
from collections.abc import Iterable


class Stretches:
    """Stretches (offsets from, up to), kept in order and apart: those that touch are one."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, stretches: Iterable[tuple[int, int]] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(stretches):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def meets(self, low: int, high: int) -> bool:
        """Say whether a character from ``low`` up to ``high`` stands in one of them."""
        place = bisect_right(self._ends, low)
        return place < len(self._ends) and self._starts[place] < high

    def end(self, at: int) -> int:
        """Give the end of the stretch in which the character at ``at`` stands; ``at`` itself when in none."""
        place = bisect_right(self._ends, at)
        return self._ends[place] if place < len(self._ends) and self._starts[place] <= at else at
