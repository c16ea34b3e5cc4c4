"""What is injected into one simulated run, as plain data that can be written down and read back.

A schedule names a program, an engine, a seed, and faults.  A fault strikes at one point: the n-th
call of one kind that any driver of the run makes.  All else follows from these, so one line of text
is enough to see the same story again.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing that goes wrong: ``what`` happens at the ``nth`` call of kind ``point``.

    ``amount`` is seconds where the fault has a length.
    """

    point: str
    nth: int
    what: str
    amount: float = 0.0

    def __str__(self) -> str:
        tail = f" {self.amount:g}" if self.amount else ""
        return f"{self.point}#{self.nth} {self.what}{tail}"

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Read a fault back from its text."""
        point, _, rest = text.strip().rpartition("#")
        nth, what, *amount = rest.split()
        return cls(point, int(nth), what, float(amount[0]) if amount else 0.0)


@dataclass(frozen=True, slots=True)
class Schedule:
    """One run and all that happens to it."""

    program: str
    engine: str
    seed: int
    faults: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        head = f"{self.program}/{self.engine}/{self.seed}"
        return f"{head}: {'; '.join(map(str, self.faults))}" if self.faults else head

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a schedule back from its text.  Raises ``ValueError`` for text that is none."""
        head, _, tail = text.partition(":")
        program, engine, seed = head.strip().split("/")
        faults = tuple(Fault.parse(each) for each in tail.split(";") if each.strip())
        return cls(program, engine, int(seed), faults)


def draw(seed: int, *what: object) -> float:
    """Give a number in [0, 1) that depends on nothing but the arguments.

    Numbers that are drawn for one thing stay the same when something else is left out of a schedule,
    so that a schedule that shrinks goes on telling its story.
    """
    return zlib.crc32(repr((seed, what)).encode()) / 2**32
