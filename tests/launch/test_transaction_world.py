"""The transaction against a world that loses replies, delays rows, refuses, and kills drivers."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from npac.launch import transaction as tx
from npac.launch.interpreter import Parcel, Surroundings, execute
from npac.launch.ports import Capabilities, EngineError, JobRow, LaunchRequest

NAME, LAUNCH = "run-001-train-abc", "npa-launch-1"


class Killed(BaseException):
    """The driver's process is gone."""


@dataclass
class FakeEngine:
    """One that does to each POST what the plot says; rows show after their delay."""

    unique: bool
    plot: list[tuple[str, float]]
    clock: float = 0.0
    jobs_made: list[tuple[JobRow, float]] = field(default_factory=list)
    posts: int = 0
    unreadable: int = 0

    def capabilities(self) -> Capabilities:
        return Capabilities("fake", self.unique, False, False, "i")

    def launch(self, documents, name, launch_id, secrets) -> LaunchRequest:
        self.posts += 1
        fate, delay = self.plot.pop(0) if self.plot else ("ok", 0.0)
        if fate == "never-sent":
            raise EngineError("refused", phase="never-sent")
        if fate == "rejected":
            raise EngineError("bad request", phase="rejected")
        if fate == "killed-before":
            raise Killed
        if fate != "lost-request" and not (self.unique and self.jobs_made):
            row = JobRow(str(len(self.jobs_made) + 1), name, launch_id, "RUNNING", self.clock)
            self.jobs_made.append((row, self.clock + delay))
        if fate in ("lost-request", "lost-reply"):
            raise EngineError("reset", phase="maybe-sent")
        if fate == "killed-after":
            raise Killed
        return LaunchRequest("r", self.jobs_made[0][0].id)

    def jobs(self):
        if self.unreadable:
            self.unreadable -= 1
            raise EngineError("503")
        return [row for row, seen in self.jobs_made if seen <= self.clock]

    def job(self, job_id):
        raise AssertionError("the transaction looks at the whole list only")

    def cancel(self, job_id) -> None:
        raise AssertionError("the transaction cancels nothing")

    def logs(self, job_id, *, task="", follow=False):
        raise AssertionError("the transaction reads no log")


@dataclass
class Log:
    """What is durable; writing may be where the driver dies."""

    die_at: set[int]
    intents: int = 0
    open: bool = False
    accepted: bool = False
    job_id: str = ""
    writes: int = 0
    outcomes: list[str] = field(default_factory=list)

    def _write(self) -> None:
        self.writes += 1
        if self.writes in self.die_at:
            raise Killed

    def intent(self, record: tx.RecordIntent) -> None:
        n = record.n
        assert n == self.intents + 1, "intents are counted without gaps"
        assert not self.open or self.may_repeat, "intent n+1 only after n is decided"
        self._write()
        self.doubt = self.open
        self.intents, self.open, self.accepted = n, True, False

    def result(self, record: tx.RecordResult) -> None:
        self._write()
        assert record.n == self.intents
        self.outcomes.append(record.outcome)
        self.accepted = record.outcome == "accepted"
        self.doubt = self.doubt and not self.accepted
        self.open = self.doubt or record.outcome == "maybe-sent"
        self.job_id = record.job_id

    may_repeat: bool = False
    doubt: bool = False

    def settled(self, record: tx.RecordSettled) -> None:
        raise AssertionError("an engine that shows no requests proves no absence")

    def reap(self, effect: tx.Reap) -> None:
        raise AssertionError("nothing of this engine is lifeless")

    def reaped(self, record: tx.RecordReaped) -> None:
        raise AssertionError("nothing was to end")


FATES = st.sampled_from(
    ["ok", "never-sent", "rejected", "lost-reply", "lost-request", "killed-before", "killed-after"]
)
DELAYS = st.sampled_from([0.0, 1.0, 30.0, 59.0])


def drivers(engine: FakeEngine, log: Log, stop_at: int) -> tx.Finish | None:
    """Let drivers follow each other until one of them comes to an end."""
    waits = 0

    def wait(seconds: float) -> None:
        nonlocal waits
        waits += 1
        engine.clock += max(seconds, 0.05)

    asked = 0

    def stop() -> str:
        nonlocal asked
        asked += 1
        return "cancelled" if asked == stop_at else ""

    for _ in range(12):
        goal = tx.Goal(LAUNCH, NAME, unique_key=engine.unique)
        started = tx.begin(
            goal,
            engine.clock,
            posts=log.intents,
            open=log.open,
            accepted=log.accepted,
            job_hint=log.job_id if log.accepted else "",
        )
        surroundings = Surroundings(engine, log, lambda: engine.clock, wait, lambda: 0.5, stop)
        try:
            return execute(started, Parcel(lambda n: [{"name": "t"}], {}), surroundings)
        except Killed:
            engine.clock += 1.0
    return None


@settings(max_examples=600, deadline=None)
@given(
    unique=st.booleans(),
    plot=st.lists(st.tuples(FATES, DELAYS), max_size=6),
    die_at=st.sets(st.integers(1, 10), max_size=4),
    unreadable=st.integers(0, 5),
    stop_at=st.integers(0, 20),
)
def test_at_most_one_job_and_no_post_on_doubt(unique, plot, die_at, unreadable, stop_at):
    engine = FakeEngine(unique, list(plot), unreadable=unreadable)
    log = Log(die_at, may_repeat=unique)
    end = drivers(engine, log, stop_at)

    assert engine.posts <= log.intents, "no POST without a durable intent, and one for each"
    assert len(engine.jobs_made) <= 1, "one logical launch is one job"
    if end is None:
        return
    if end.outcome == "attached":
        assert end.row == engine.jobs_made[0][0]
    if end.outcome in ("rejected", "unreachable"):
        assert not engine.jobs_made, "what is said to be absent is absent"
    if not unique:
        # A reply that was lost, by the network or with the driver, allows no further POST.
        decided = all(outcome in ("never-sent",) for outcome in log.outcomes[:-1])
        assert decided, "only a POST that never left is followed by another"


@settings(max_examples=200, deadline=None)
@given(
    unique=st.booleans(),
    delay=DELAYS,
    fates=st.lists(st.sampled_from(["never-sent", "killed-before"]), max_size=3),
    last=st.sampled_from(["ok", "lost-reply", "killed-after"]),
)
def test_a_job_that_was_made_is_found(unique, delay, fates, last):
    if not unique:
        fates = [fate for fate in fates if fate == "never-sent"]
    engine = FakeEngine(unique, [*((fate, 0.0) for fate in fates), (last, delay)])
    end = drivers(engine, Log(set(), may_repeat=unique), 0)
    assert end is not None
    assert end.outcome == "attached"
    assert [row for row, _ in engine.jobs_made] == [end.row]
