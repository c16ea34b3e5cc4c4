"""Find the names that a misspelt one may have meant."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable

_LONGEST = 128
_REMEMBERED = 1000
_DEAR = 2
"""What a letter counts for where edits are counted, against a name that is passed over."""
WORK = 300_000
"""Names passed over for one set of names: about an eighth of a second."""
_SEPARATORS = str.maketrans("", "", "_- ")


def distance(left: str, right: str, limit: int) -> int:
    """Count the edits between two words: letters added, dropped, replaced, or two neighbours swapped.

    Distances above ``limit`` are given as ``limit + 1``, at once where that can be seen.
    """
    over = limit + 1
    if left == right:
        return 0
    if abs(len(left) - len(right)) > limit:
        return over
    begin, left_end, right_end = 0, len(left), len(right)
    while begin < left_end and begin < right_end and left[begin] == right[begin]:
        begin += 1
    while left_end > begin and right_end > begin and left[left_end - 1] == right[right_end - 1]:
        left_end -= 1
        right_end -= 1
    left, right = left[begin:left_end], right[begin:right_end]
    # Every letter that only one of the words has costs an edit of its own.
    mine, theirs = set(left), set(right)
    if len(mine - theirs) > limit or len(theirs - mine) > limit:
        return over
    before: list[int] = []
    last = list(range(len(right) + 1))
    for row, char in enumerate(left, 1):
        # Cells more than `limit` off the diagonal cannot matter; they stay at `over`.
        low, high = max(1, row - limit), min(len(right), row + limit)
        line = [over] * (len(right) + 1)
        line[0] = row
        for column in range(low, high + 1):
            other = right[column - 1]
            cost = min(last[column] + 1, line[column - 1] + 1, last[column - 1] + (char != other))
            if row > 1 and column > 1 and char == right[column - 2] and left[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            line[column] = cost
        if min(line) > limit and min(last) > limit:
            return over
        before, last = last, line
    return min(last[-1], over)


def nearest(word: str, candidates: Iterable[str], limit: int = 3) -> list[str]:
    """Give up to ``limit`` candidates that ``word`` may have meant, the best first.

    Case and ``_ - `` separators weigh nothing.  The number of edits that is allowed grows with the
    length, and two or more need the same first letter, so that unlike words suggest nothing.  A
    dotted name is also found by its last parts (``transfer`` finds ``cosmos.transfer``), and a
    long one by its beginning.  Equally good candidates come in alphabetical order, whatever
    order they were given in.

    Whoever asks many times about the same candidates keeps a :class:`Names` instead.
    """
    return Names(candidates).nearest(word, limit)


_CROWD = 20_000
"""Among more names than this, none is looked for that is meant: nobody has written so many by hand."""


class Names:
    """Known names, for many questions what a misspelt one may have meant.

    ``work`` bounds the time that all questions together take, in letters compared: many findings about
    many names would else cost their product.  Beyond it only names are found that are the same but for
    case and separators.  Answers depend on the questions before, not on the time they took.
    """

    __slots__ = ("_answers", "_given", "_left", "_names", "_sizes")

    def __init__(self, names: Iterable[str], work: int = WORK) -> None:
        self._given = names
        self._names: dict[str, list[str]] | None = None  # most sets of names are never asked
        self._sizes: list[tuple[str, int, frozenset[str]]] | None = None
        self._left = work
        self._answers: dict[tuple[str, int], list[str]] = {}

    def nearest(self, word: str, limit: int = 3) -> list[str]:
        """Give what :func:`nearest` gives, while there is work left."""
        folded = _fold(word)
        if not folded or limit < 1:
            return []
        if self._names is None:
            self._names = {}
            for name in dict.fromkeys(self._given):
                self._names.setdefault(_fold(name), []).append(name)
        same = self._names.get(folded)
        if same is not None:
            return sorted(same)[:limit]
        if self._left <= 0:
            return []
        found = self._answers.get((word, limit))
        if found is None:
            found = self._search(self._names, word, folded, limit)
            if len(self._answers) < _REMEMBERED:
                self._answers[word, limit] = found
        return list(found)

    def _search(self, names: dict[str, list[str]], word: str, folded: str, limit: int) -> list[str]:
        if len(names) > _CROWD:
            return []
        if self._sizes is None:
            self._sizes = [(fold, len(fold), frozenset(fold)) for fold in names]
        self._left -= len(self._sizes) + len(word)
        size, letters, dotted = len(folded), frozenset(folded), "." in word
        found: list[tuple[int, str]] = []
        allowed = 9
        for other, length, theirs in self._sizes:
            shorter, longer = (size, length) if size < length else (length, size)
            bound = min(longer // 3, allowed, 3 if folded[0] == other[:1] else 1) if longer <= _LONGEST else 0
            rank = 10
            # every letter that only one of two words has costs an edit of its own
            if (
                longer - shorter <= bound
                and len(letters - theirs) <= bound >= len(theirs - letters)
                and bound
            ):
                self._left -= _DEAR * longer
                edits = distance(folded, other, bound)
                rank = edits if edits <= bound else 10
            if rank > 4 <= shorter and (other.startswith(folded) or folded.startswith(other)):
                rank = 4
            if rank > 1 and shorter >= 3 and (dotted or "." in other):
                ranked = [(1 if _is_tail(word, name) else rank, name) for name in names[other]]
            elif rank <= allowed:
                ranked = [(rank, name) for name in names[other]]
            else:
                continue
            for item in ranked:
                if item[0] <= allowed:
                    insort(found, item)
                    if len(found) > limit:
                        del found[limit:]
                    if len(found) == limit:
                        allowed = found[-1][0]
        return [candidate for rank, candidate in found if rank <= found[0][0] + (found[0][0] > 0)]


def _is_tail(word: str, candidate: str) -> bool:
    """Say whether one of two names is the other's last dotted parts."""
    short, long = (word, candidate) if len(word) < len(candidate) else (candidate, word)
    return long.endswith(short) and long[-len(short) - 1 : -len(short)] == "."


def is_slip(word: str, candidate: str) -> bool:
    """Say whether ``word`` is so near to ``candidate`` that nothing else can be meant by it."""
    left, right = _fold(word), _fold(candidate)
    return distance(left, right, 2) <= min(2, max(len(left), len(right)) // 3)


def _fold(word: str) -> str:
    return word.casefold().translate(_SEPARATORS)
