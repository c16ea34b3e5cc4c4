"""The effects of the transaction, executed: what is asked of engine, register and log, and when not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from npac.launch import transaction as tx
from npac.launch.claims import ClaimError, Holder
from npac.launch.interpreter import CLAIM_URL, Parcel, Surroundings, execute
from npac.launch.ports import (
    ActiveRequest,
    Capabilities,
    EngineError,
    JobRow,
    LaunchRequest,
    RequestResult,
    Survey,
)
from tests.launch.telling import ASYNC, CLAIMS, HERE, ROW


@dataclass
class Place:
    """An engine, registers and a log in one; ``trace`` has what was done, in order."""

    surveys: list[Survey | EngineError] = field(default_factory=list)
    """The last one stays."""
    results: list[RequestResult | EngineError] = field(default_factory=list)
    launches: list[LaunchRequest | EngineError] = field(default_factory=list)
    holders: list[Holder | ClaimError | None] = field(default_factory=list)
    grants: list[ClaimError] = field(default_factory=list)
    cancels: list[EngineError] = field(default_factory=list)
    acts: list[bool] = field(default_factory=list)
    clock: float = 0.0
    trace: list[str] = field(default_factory=list)
    secrets: list[Mapping[str, str]] = field(default_factory=list)
    stopped_at: int = 0
    asked: int = 0

    # an engine
    def capabilities(self) -> Capabilities:
        return Capabilities("place", False, False, False, HERE)

    def survey(self) -> Survey:
        seen = self.surveys.pop(0) if len(self.surveys) > 1 else self.surveys[0]
        if isinstance(seen, EngineError):
            raise seen
        return seen

    def request(self, request_id: str) -> RequestResult:
        self.trace.append(f"ask after {request_id}")
        result = self.results.pop(0) if self.results else RequestResult("active")
        if isinstance(result, EngineError):
            raise result
        return result

    def launch(
        self, documents: Sequence[Mapping[str, Any]], name: str, launch_id: str, secrets: Mapping[str, str]
    ) -> LaunchRequest:
        self.trace.append(f"POST {documents[0]['post']}")
        self.secrets.append(secrets)
        answer = self.launches.pop(0) if self.launches else LaunchRequest("r1")
        if isinstance(answer, EngineError):
            raise answer
        return answer

    def jobs(self) -> Sequence[JobRow]:
        raise AssertionError("an engine with surveys is asked for them")

    def job(self, job_id: str) -> JobRow | None:
        raise AssertionError("one job proves nothing about the others")

    def cancel(self, job_id: str) -> None:
        self.trace.append(f"cancel {job_id}")
        if self.cancels:
            raise self.cancels.pop(0)

    def logs(self, job_id: str, *, task: str = "", follow: bool = False) -> Iterator[str]:
        raise AssertionError("the transaction reads no log")

    # registers
    def grant(self, launch_id: str, n: int) -> str:
        if self.grants:
            raise self.grants.pop(0)
        return f"https://store/{launch_id}/{n}?signature"

    def seal(self, launch_id: str, n: int) -> Holder:
        self.trace.append(f"seal {n}")
        held = self.holders.pop(0) if self.holders else Holder(True)
        if isinstance(held, ClaimError):
            raise held
        assert held is not None
        return held

    def holder(self, launch_id: str, n: int) -> Holder | None:
        self.trace.append(f"read {n}")
        held = self.holders.pop(0)
        if isinstance(held, ClaimError):
            raise held
        return held

    # a log
    def intent(self, record: tx.RecordIntent) -> None:
        self.trace.append(f"intent {record.n} in {record.incarnation}")

    def result(self, record: tx.RecordResult) -> None:
        self.trace.append(f"result {record.n} {record.outcome} {record.request_id}".strip())

    def settled(self, record: tx.RecordSettled) -> None:
        self.trace.append(f"settled {record.n} {record.how}")

    def reap(self, effect: tx.Reap) -> None:
        self.trace.append(f"reap {effect.row.id} {effect.why}")

    def reaped(self, record: tx.RecordReaped) -> None:
        self.trace.append(f"reaped {record.job_id} {record.status}")

    # the rest
    def wait(self, seconds: float) -> None:
        self.clock += max(seconds, 1.0)

    def stop(self) -> str:
        self.asked += 1
        return "cancelled" if self.asked == self.stopped_at else ""

    def may_act(self) -> bool:
        return self.acts.pop(0) if self.acts else True


def run(place: Place, goal: tx.Goal = ASYNC, **known: Any) -> tx.Finish:
    world = Surroundings(
        engine=place,
        recorder=place,
        now=lambda: place.clock,
        wait=place.wait,
        random=lambda: 0.5,
        stop=place.stop,
        claims=place if goal.claims else None,
        may_act=place.may_act,
    )
    parcel = Parcel(lambda n: [{"name": "t", "post": n}], {"TOKEN": "x"})
    return execute(tx.begin(goal, 0.0, known=tx.Known(**known)), parcel, world)


def listing(*rows: JobRow, requests: Sequence[ActiveRequest] = (), start: str = "s1") -> Survey:
    return Survey(rows, requests, HERE, start)


EMPTY = listing()


def test_the_intent_is_written_before_the_post_and_the_request_before_anything_else():
    place = Place([EMPTY, listing(ROW)])
    assert run(place).outcome == "attached"
    assert place.trace == ["intent 1 in s1", "POST 1", "result 1 accepted r1"]
    assert place.secrets == [{"TOKEN": "x"}]


def test_the_request_is_asked_after_and_errors_are_no_answers():
    place = Place([EMPTY, EMPTY, EMPTY, EMPTY, listing(ROW)])
    place.results = [EngineError("503"), RequestResult("succeeded", "7")]
    assert run(place).outcome == "attached"
    assert place.trace[3:] == ["ask after r1", "ask after r1"]


def test_a_list_that_cannot_be_read_is_not_empty():
    place = Place([EMPTY, EngineError("503"), EngineError("503"), listing(ROW)])
    place.launches = [EngineError("reset")]
    assert run(place).outcome == "attached"
    assert place.trace == ["intent 1 in s1", "POST 1", "result 1 maybe-sent"]


def test_each_post_takes_its_own_grant_along():
    place = Place([EMPTY], launches=[EngineError("refused", phase="never-sent")], stopped_at=8)
    run(place, CLAIMS)
    assert [secrets[CLAIM_URL] for secrets in place.secrets] == [
        f"https://store/{CLAIMS.launch_id}/{n}?signature" for n in (1, 2)
    ]


def test_a_grant_that_cannot_be_made_stops_the_launch_before_its_intent():
    place = Place([EMPTY, EMPTY, listing(ROW)], grants=[ClaimError("no such bucket")])
    assert run(place, CLAIMS).outcome == "attached"
    assert place.trace == ["intent 1 in s1", "POST 1", "result 1 accepted r1"]
    assert place.clock > 0, "it was tried again after a pause"


def test_a_driver_that_was_held_up_does_not_post_and_says_so():
    place = Place([EMPTY, EMPTY, listing(ROW)], acts=[False, True])
    assert run(place).outcome == "attached"
    assert place.trace[:2] == ["intent 1 in s1", "result 1 never-sent"]
    assert "POST 1" not in place.trace
    assert "POST 2" in place.trace


def test_a_driver_that_was_held_up_seals_nothing():
    place = Place([EMPTY], acts=[False], stopped_at=5)
    known = {"posts": 1, "open": True, "granted": True, "predecessor_dead": False}
    assert run(place, CLAIMS, **known).outcome == "stopped"
    assert "seal 1" not in place.trace


def test_a_driver_that_was_held_up_ends_no_job():
    late = replace(ROW, post=1)
    place = Place([listing(late)], acts=[False, True], stopped_at=7)
    assert run(place, CLAIMS, posts=1, sealed=frozenset({1})).outcome == "stopped"
    assert place.trace == ["reap 7 sealed", "reap 7 sealed", "cancel 7"]


def test_the_wish_to_end_a_job_is_on_record_before_it_is_given_and_given_again_when_it_fails():
    late = replace(ROW, post=1)
    gone = listing(replace(late, status="CANCELLED"))
    mine = replace(ROW, id="8", post=2)
    place = Place([listing(late), listing(late), gone, gone, listing(mine)], cancels=[EngineError("503")])
    assert run(place, CLAIMS, posts=1, sealed=frozenset({1})).row == mine
    assert place.trace[:5] == ["reap 7 sealed", "cancel 7", "reap 7 sealed", "cancel 7", "reaped 7 CANCELLED"]


OPEN: dict[str, Any] = {"posts": 1, "open": True, "granted": True}


@pytest.mark.parametrize("held", [None, Holder(False, "7", HERE)])
def test_a_register_that_is_free_or_held_by_the_job_that_is_seen_gives_that_job(held):
    place = Place([listing(ROW)], holders=[held])
    assert run(place, CLAIMS, **OPEN).row == ROW
    assert place.trace == ["read 1"]


def test_a_register_that_does_not_answer_is_asked_again():
    place = Place([listing(ROW)], holders=[ClaimError("500"), None])
    assert run(place, CLAIMS, **OPEN).row == ROW
    assert place.trace == ["read 1", "read 1"]


def test_a_register_that_is_found_sealed_settles_its_post():
    gone, mine = replace(ROW, status="CANCELLED"), replace(ROW, id="8", post=2)
    place = Place([listing(ROW), listing(ROW), listing(gone), listing(gone), listing(gone, mine)])
    place.holders = [Holder(True)]
    assert run(place, CLAIMS, **OPEN).row == mine
    assert place.trace == [
        "read 1",
        "settled 1 sealed",
        "reap 7 sealed",
        "cancel 7",
        "reaped 7 CANCELLED",
        "intent 2 in s1",
        "POST 2",
        "result 2 accepted r1",
    ]


def test_a_claim_store_that_vanished_is_no_answer():
    place = Place([listing(ROW)])
    world = Surroundings(place, place, lambda: place.clock, place.wait, lambda: 0.5, place.stop)
    started = tx.begin(CLAIMS, 0.0, known=tx.Known(posts=1, open=True, granted=True))
    end = execute(started, Parcel(lambda n: [], {}), world)
    assert end.outcome == "undecided"
    assert "no store of claims" in end.message
