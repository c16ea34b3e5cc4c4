"""Which faults can strike where, and schedules made of them: all of them up to a depth, or at random."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from tests.simulator.programs import PLAYS
from tests.simulator.schedule import Fault, Schedule
from tests.simulator.server import PROFILES
from tests.simulator.world import play

Kind = tuple[str, float]
"""What a fault does, and how long."""

ENGINES = (*PROFILES, "unique@s3", "claims@s3")
"""Engines, with the ledger in memory or the real one in a bucket."""

KILLS: tuple[Kind, ...] = (("kill-before", 0), ("kill-after", 0))
PAUSES: tuple[Kind, ...] = tuple(
    (what, seconds) for what in ("pause-before", "pause-after") for seconds in (45, 200, 7_200)
)
PEOPLE: tuple[Kind, ...] = (
    *(("join", 0), ("join", 1)),
    *(("cancel-run", 0), ("retry-run", 0)),
    *(("sigterm", 0), ("ctrl-c", 0)),
)

_LAUNCH: dict[str, tuple[Kind, ...]] = {
    # A POST that is under way is outside of an engine that runs on this very host.
    "unique": (("never-sent", 0), ("rejected", 0), ("request-lost", 0), ("reply-lost", 0), ("slow", 70)),
    # What was sent shows within the quiet time of 60 s, or never.
    "plain": (("late", 1), ("late", 20), ("late", 45), ("slow-row", 5), ("slow-row", 45)),
    # Here a launch shows as a request long before it has a row, so that may take as long as it likes.
    "survey": (("late", 20), ("late", 45), ("slow-row", 45), ("slow-row", 9_000)),
    "claims": (
        *(("late", seconds) for seconds in (1, 45, 100, 9_000)),
        *(("slow-row", seconds) for seconds in (45, 400, 9_000)),
        ("twice", 0.5),
        ("twice", 40),
        ("twice", 9_000),
    ),
}
_LAUNCH["plain"] += _LAUNCH["unique"]
_LAUNCH["survey"] += (*_LAUNCH["unique"], ("phantom", 0), ("young", 0), ("prechecks", 0))
_LAUNCH["claims"] += (*_LAUNCH["unique"], ("phantom", 0), ("young", 0), ("prechecks", 0))

_ENGINE: tuple[Kind, ...] = (
    ("error", 0),
    ("malformed", 0),
    *(("engine-down", s) for s in (10, 150, 950, 4_000)),
)
_SERVER: dict[str, tuple[Kind, ...]] = {
    "unique": (),
    "plain": (("restart-lossy", 0), ("renumber", 0)),
    "survey": (("restart-lossy", 0), ("restart", 0), ("renumber", 0)),
    "claims": (("restart-lossy", 0), ("restart", 0), ("renumber", 0)),
}


def kinds(point: str, engine: str) -> tuple[Kind, ...]:
    """Give all that can go wrong at one kind of call, within what its engine promises."""
    family, _, verb = point.partition(".")
    engine = engine.partition("@")[0]
    found: tuple[Kind, ...] = (*KILLS, *PAUSES)
    if point == "wait":
        return (*found, *PEOPLE, *_SERVER[engine])
    if family == "engine":
        found += (("twin", 0), *_LAUNCH[engine]) if verb == "launch" else ()
        found += (("cancel-lost", 0), ("reply-lost", 0)) if verb == "cancel" else _ENGINE
        if verb in ("survey", "job") and engine in ("survey", "claims"):
            found += tuple(("elsewhere", seconds) for seconds in (1, 100, 4_000))
        if verb in ("survey", "jobs", "job"):
            found += _SERVER[engine]
        if verb == "job" and engine != "unique":
            found += (("forget", 20), ("forget", 4_000))
    if family == "ledger":
        found += (("ledger-error", 0),)
        if verb.split()[0] in ("append", "heartbeat", "take", "answer", "release", "put_blob"):
            found += (("ledger-reply-lost", 0),)
        if verb == "requests":
            found += PEOPLE
    if family == "bucket":
        found += (("bucket-error", 0),)
        if verb.startswith(("put_new", "put_soon")):
            found += (("bucket-lost", 0), ("bucket-reply-lost", 0), ("bucket-412", 0))
            found += tuple(("bucket-late", seconds) for seconds in (1, 25, 100))
        if verb == "list requests":
            found += PEOPLE
    if family == "store":
        found += (("store-error", 0), ("store-down", 8), ("store-down", 400))
        if verb != "make_room":
            found += (("store-lag", 5),)
        if verb == "read":
            found += (("meddle", 0),)
    if family == "claims":
        found += (("claim-error", 0), ("claim-down", 30), ("claim-down", 1_000))
        found += (("claim-reply-lost", 0),) if verb == "seal" else ()
    return found


def launch_faults(engine: str) -> list[Fault]:
    """Give all that can happen to the first launch."""
    return [Fault("engine.launch", 1, what, amount) for what, amount in kinds("engine.launch", engine)]


def one_by_one(schedule: Schedule, *, most: int = 0) -> Iterator[Schedule]:
    """Give a schedule with each fault added at each point that it reaches after its own last fault.

    ``most`` bounds how many calls of one kind are taken as points; 0 means all of them.
    """
    points = play(schedule).points
    last = schedule.faults[-1] if schedule.faults else None
    start = points.index((last.point, last.nth)) + 1 if last and (last.point, last.nth) in points else 0
    taken: Counter[str] = Counter()
    for point, nth in points[start:]:
        taken[point] += 1
        if most and taken[point] > most:
            continue
        for what, amount in kinds(point, schedule.engine):
            yield Schedule(
                schedule.program,
                schedule.engine,
                schedule.seed,
                (*schedule.faults, Fault(point, nth, what, amount)),
            )


_WEIGHTS = {
    "bucket": 4.0,
    "engine": 3.0,
    "ledger.append": 3.0,
    "ledger": 1.5,
    "store": 1.5,
    "claims": 1.5,
    "wait": 1.5,
}
"""How often faults strike at calls of one family."""

_TELLING = {
    "engine.launch": 4.0,
    "engine.survey": 4.0,
    "engine.job": 9.0,
    "store.read": 4.0,
    "ledger.requests": 4.0,
    "ledger.append launch-intent": 4.0,
    "bucket.list requests": 4.0,
    "bucket.put_new log": 4.0,
    "bucket.put_soon heartbeat": 4.0,
}
"""Points at which there is most to find out."""


@cache
def _reached(program: str, engine: str) -> tuple[tuple[str, int], ...]:
    """Give how often a run without faults makes each kind of call, and some that only trouble leads to."""
    usual = Counter(point for point, _ in play(Schedule(program, engine, 0)).points)
    usual["engine.cancel"] = 1
    for extra in () if "@" in engine else ("append cancel-intent", "append launch-result", "look"):
        usual[f"ledger.{extra}"] = max(usual[f"ledger.{extra}"], 1)
    if engine.startswith("claims"):
        usual["claims.seal"] = usual["claims.holder"] = 2
    return tuple(sorted(usual.items()))


def at_random(seed: int, *, programs: Sequence[str] = tuple(PLAYS), engines: Sequence[str] = ()) -> Schedule:
    """Give one schedule that follows from its seed alone."""
    chance = random.Random(seed)
    program = chance.choice(programs)
    # A bucket takes many more calls for the same run than a ledger in memory.
    (engine,) = chance.choices(engines or ENGINES, None if engines else (3, 3, 4, 5, 1, 1))
    reached = _reached(program, engine)
    faults: list[Fault] = []
    if chance.random() < 0.5:
        faults += _launch_trouble(chance, engine, dict(reached)["engine.launch"])
    families: dict[str, list[tuple[str, int]]] = {}
    for point, usual in reached:
        families.setdefault(point.split()[0] if "append" in point else point.split(".")[0], []).append(
            (point, usual)
        )
    for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 5)) if faults else chance.choice((1, 1, 2, 2, 3, 4, 6))):
        within = families[chance.choices(list(families), [_WEIGHTS[family] for family in families])[0]]
        ((point, usual),) = chance.choices(within, [_TELLING.get(p, 1.0) for p, _ in within])
        what, amount = _kind(chance, point, engine)
        faults.append(Fault(point, chance.randint(1, usual + 1 + usual // 2), what, amount))
    return Schedule(program, engine, seed, tuple(sorted(set(faults))))


def _launch_trouble(chance: random.Random, engine: str, launches: int) -> list[Fault]:
    """Give what happens to one launch, and often that its driver does not learn of it."""
    nth = chance.randint(1, launches)
    requests = "bucket.list requests" if "@" in engine else "ledger.requests"
    engine = engine.partition("@")[0]
    server: tuple[Kind, ...] = (*_SERVER[engine], ("elsewhere", 100.0), ("elsewhere", 4_000.0))
    faults = []
    if engine in ("survey", "claims") and chance.random() < 0.15:
        # It takes the launch, and before anyone has seen so it is not the server any more that it was.
        what, amount = chance.choice(server)
        row = Fault("engine.launch", nth, "slow-row", chance.choice((45.0, 9_000.0)))
        lost = Fault("engine.launch", nth, chance.choice(("reply-lost", "kill-after")))
        return [row, lost, Fault("engine.survey", 2 * nth, what, amount)]
    what, amount = chance.choice(_LAUNCH[engine])
    faults.append(Fault("engine.launch", nth, what, amount))
    if chance.random() < 0.5:
        faults.append(Fault("engine.launch", nth, chance.choice(("reply-lost", "kill-after", "twin"))))
    if engine in ("survey", "claims") and chance.random() < 0.4:
        what, amount = chance.choice(server)
        faults.append(Fault("engine.survey", 2 * nth + chance.randint(-1, 4), what, amount))
    if chance.random() < 0.2:
        faults.append(Fault(requests, chance.randint(1, 40), "cancel-run"))
    return faults


def _kind(chance: random.Random, point: str, engine: str) -> Kind:
    """Give one thing that can go wrong at a point; what is peculiar to it is as likely as all the rest."""
    common = (*KILLS, *PAUSES)
    peculiar = [kind for kind in kinds(point, engine) if kind not in common]
    kind = chance.random()
    if peculiar and kind < 0.6:
        return chance.choice(peculiar)
    return chance.choice(KILLS if kind < 0.8 else PAUSES)
