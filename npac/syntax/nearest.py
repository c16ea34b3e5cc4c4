"""Find the names that a misspelt one may have meant."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable

_LONGEST = 128
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
    """
    folded = _fold(word)
    if not folded or limit < 1:
        return []
    found: list[tuple[int, str]] = []
    for candidate in dict.fromkeys(candidates):
        allowed = found[-1][0] if len(found) >= limit else 9
        rank = _rank(word, folded, candidate, allowed)
        if rank <= allowed:
            insort(found, (rank, candidate))
            del found[limit:]
    return [candidate for rank, candidate in found if rank <= found[0][0] + (found[0][0] > 0)]


def _fold(word: str) -> str:
    return word.casefold().translate(_SEPARATORS)


def _rank(word: str, folded: str, candidate: str, allowed: int) -> int:
    """Say how far ``candidate`` is: 0 the same but for case and separators, 10 too far."""
    other = _fold(candidate)
    if other == folded:
        return 0
    shorter = min(len(folded), len(other))
    if shorter >= 3 and (candidate.endswith("." + word) or word.endswith("." + candidate)):
        return 1
    longer = max(len(folded), len(other))
    bound = min(3, longer // 3, allowed) if longer <= _LONGEST else -1
    if longer - shorter <= bound:
        edits = distance(folded, other, bound)
        if edits <= bound and (edits < 2 or folded[0] == other[0]):
            return edits
    if shorter >= 4 and (other.startswith(folded) or folded.startswith(other)):
        return 4
    return 10
