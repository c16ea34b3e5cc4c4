"""Circles in what leads from name to name, found without the host's stack."""

from collections.abc import Callable, Iterable


def circles(starts: Iterable[str], follow: Callable[[str], list[str]]) -> list[tuple[str, ...]]:
    """Give circles that share no name, each as the names along it and the first of them again.

    ``follow`` gives the names that one name leads to.  Looking begins at ``starts``, in their order.  No
    two circles that are given have a name in common, so each is a mistake of its own; where there is any
    circle, at least one is given.
    """
    found: list[tuple[str, ...]] = []
    done: set[str] = set()
    path: list[str] = []
    place: dict[str, int] = {}
    taken: list[int] = []  # by place in the path: the last place up to it that is in a circle already

    def enter(name: str) -> None:
        taken.append(taken[-1] if taken else -1)
        place[name] = len(path)
        path.append(name)
        waiting.append(follow(name)[::-1])

    waiting: list[list[str]] = []
    for start in starts:
        if start in done:
            continue
        enter(start)
        while path:
            if not waiting[-1]:
                waiting.pop()
                taken.pop()
                name = path.pop()
                del place[name]
                done.add(name)
                continue
            name = waiting[-1].pop()
            if name in done:
                continue
            begin = place.get(name)
            if begin is None:
                enter(name)
            elif begin > taken[-1]:
                found.append((*path[begin:], name))
                taken[begin:] = range(begin, len(path))
    return found
