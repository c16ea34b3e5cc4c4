"""Everything that a driver takes from outside, in one place."""

from __future__ import annotations

import random as random_module
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from npac.ir.program import Wave
from npac.launch.claims import Claims
from npac.launch.ports import Engine
from npac.ledger.ports import Store
from npac.ledger.process import ProcessIdentity, liveness, this_process
from npac.ledger.surroundings import boot_seconds
from npac.runtime.progress import Progress, Silent
from npac.runtime.signals import Interrupts, NoInterrupts


@dataclass(frozen=True, slots=True)
class LaunchValues:
    """The values of one launch that documents are filled with."""

    run_id: str
    number: int
    """The wave's number, which is the fence sequence of its tasks."""
    attempt: int
    launch_id: str
    name: str
    """The job's name."""
    post: int = 1
    """Which POST of this launch id the documents are for, from 1."""


class Render(Protocol):
    """Makes the documents of one launch.

    ``members`` are those of the wave that are posted.  One member gives a plain task; several give
    a group's header and one task for each, in the order of ``members``.
    """

    def __call__(
        self, wave: Wave, members: tuple[int, ...], values: LaunchValues
    ) -> Sequence[Mapping[str, Any]]:
        """Give linked documents.

        Raises ``ValueError`` (as link and back end errors are) when they cannot be made.
        """
        ...


def proven_dead(process: Mapping[str, Any]) -> bool:
    """Say whether the process of which a driver has left the identity is seen, from here, to be dead."""
    try:
        identity = ProcessIdentity.from_data(process)
    except ValueError:
        return False
    return liveness(identity, this_process()) == "dead"


@dataclass(frozen=True, slots=True)
class World:
    """The engine, the stores and the rest of the world as a driver sees it.

    ``secrets`` holds values; they are given to the engine and to nothing else.  ``clock`` gives
    seconds of a clock that never goes back.
    """

    engine: Engine
    store_for: Callable[[str], Store]
    render: Render
    secrets: Mapping[str, str] = field(default_factory=dict)
    progress: Progress = field(default_factory=Silent)
    interrupts: Interrupts = field(default_factory=NoInterrupts)
    clock: Callable[[], float] = boot_seconds
    random: Callable[[], float] = random_module.random
    claims: Claims | None = None
    """Registers by which one job of a POST starts user code; None where the store has none.

    Given only where the documents that ``render`` makes claim their POST before they do anything else: a
    sealed register stops no job that never looks at it.
    """
    proven_dead: Callable[[Mapping[str, Any]], bool] = proven_dead
    """Says of the identity of a driver's process whether it is proven dead; False where that is not known."""
