"""The lease, the heartbeat and the requests, seen from one driver."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npac.ir.linking import LinkRecord
from npac.ledger.ports import LeaseLost, LedgerError
from npac.ledger.sqlite import SqliteLedger
from npac.runtime import api
from npac.runtime.options import RunOptions
from npac.runtime.session import Session
from npac.runtime.view import RunView
from tests.runtime.programs import Bench, chain, renderer, step


class Telling(SqliteLedger):
    """Counts heartbeats and fails as it is told."""

    beats = 0
    deaf = False
    lost_after = 10**9
    _appended = 0

    def heartbeat(self, fence: int) -> None:
        self.beats += 1
        if self.deaf:
            raise LedgerError("the disk does not answer")
        super().heartbeat(fence)

    def append(self, type, data, fence):
        self._appended += 1
        if self._appended > self.lost_after:
            raise LeaseLost("driver 2 has taken the run", remedy="stop")
        return super().append(type, data, fence)


def telling(bench: Bench) -> Telling:
    bench.ledgers().create("run").close()
    return Telling(bench.ledgers().path / "run", "run")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_heartbeat_is_sent_when_one_is_due(bench):
    ledger, clock = telling(bench), Clock()
    program = chain(step("x", "true"))
    world = replace(bench.world(program, LinkRecord("run")), clock=clock)
    session = Session(ledger, ledger.take({}), RunView(), world, RunOptions())
    session.look_up()
    assert ledger.beats == 0
    clock.now += 10
    session.look_up()
    session.look_up()
    assert ledger.beats == 1
    clock.now += 5
    session.append("run-detached", {"why": "an event is a sign of life too"})
    clock.now += 6
    session.look_up()
    assert ledger.beats == 1


def test_a_driver_that_cannot_give_a_sign_of_life_stops_acting(bench):
    ledger, clock = telling(bench), Clock()
    world = replace(bench.world(chain(step("x", "true")), LinkRecord("run")), clock=clock)
    session = Session(ledger, ledger.take({}), RunView(), world, RunOptions())
    ledger.deaf = True
    clock.now += 29
    assert session.look_up() is False
    clock.now += 2
    with pytest.raises(LedgerError, match="does not answer"):
        session.look_up()


@pytest.mark.parametrize("at", range(1, 9))
def test_a_driver_that_lost_its_lease_does_nothing_more(bench, at):
    ledger = telling(bench)
    ledger.lost_after = at
    program, link = (
        chain(step("x", bench.count("x")), step("y", bench.count("y"))),
        LinkRecord("run", run_uid="1"),
    )
    result = api.start_run(ledger, bench.world(program, link), program, link)
    assert (result.state, result.exit_code) == ("blocked", 3)
    assert "another driver has taken the run" in result.reason
    assert len(ledger.events()) == 1 + at
    assert "y" not in bench.trace()


def test_requests_that_make_no_sense_are_answered_so(bench):
    ledger = telling(bench)
    program = chain(step("x", "true"))
    world = bench.world(program, LinkRecord("run"))
    session = Session(ledger, ledger.take({}), RunView(), world, RunOptions())
    retry, strange = api.request_retry(ledger), ledger.ask("dance", {})
    assert session.look_up() is False
    for request in (retry, strange):
        answer = ledger.result(request)
        assert answer is not None
        assert answer["accepted"] is False
    cancel = api.request_cancel(ledger, "enough")
    assert session.look_up() is True
    assert ledger.result(cancel) == {"accepted": True, "why": "the run is being cancelled"}
    assert session.view.cancel == "enough"


def test_options_that_mean_nothing_are_refused():
    for wrong in (
        {"on_interrupt": "explode"},
        {"on_timeout": "ask"},
        {"retries": -1},
        {"max_wait": -0.1},
        {"poll_seconds": 0},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            RunOptions(**wrong)


def test_the_options_of_the_last_driver_are_kept(bench):
    program, link = chain(step("x", f"{bench.count('x')}; exit 1")), LinkRecord("run", run_uid="1")
    ledger = bench.ledgers().create("run")
    world = api.World(bench.engine(), bench.world(program, link).store_for, renderer(program, link))
    assert api.start_run(ledger, world, program, link, RunOptions(retries=1)).state == "failed"
    assert bench.trace() == ["x", "x"]
    assert api.resume_run(ledger, world).state == "failed"
    assert bench.trace() == ["x", "x"]


def test_a_link_record_of_another_run_is_a_mistake(bench):
    program, link = chain(step("x", "true")), LinkRecord("other", run_uid="1")
    with pytest.raises(ValueError, match="run's id"):
        api.start_run(bench.ledgers().create("run"), bench.world(program, link), program, link)
