"""When a lease may be taken, and how long its holder may act."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from npac.ledger.lease import MAY_ACT, SILENCE, Lease, Sighting, await_lease, decide
from npac.ledger.ports import LeaseHeld
from npac.ledger.process import ProcessIdentity, liveness, this_process
from npac.ledger.root import LedgerRoot
from npac.ledger.surroundings import Surroundings
from tests.ledger.clock import Clock

SEEN = Sighting(3, 10, False, "unknown", 0.0, "process 7 on there")


@pytest.mark.parametrize(
    ("change", "watched", "verdict"),
    [
        ({"released": True, "liveness": "alive"}, 0.0, "released"),
        ({"liveness": "dead"}, 0.0, "dead"),
        ({"liveness": "dead", "counter": 11}, 0.0, "dead"),
        ({"liveness": "alive"}, 0.0, "held"),
        ({"liveness": "alive", "silent": 59.9}, 0.0, "held"),
        ({"liveness": "alive", "silent": 60.0}, 0.0, "silent"),
        ({"counter": 11}, 100.0, "held"),
        ({"fence": 4}, 100.0, "held"),
        ({}, 0.0, "wait"),
        ({}, 59.9, "wait"),
        ({}, 60.0, "silent"),
    ],
)
def test_decision(change: dict[str, object], watched: float, verdict: str) -> None:
    assert decide(SEEN, dataclasses.replace(SEEN, **change), watched) == verdict  # type: ignore[arg-type]


def test_a_holder_stops_acting_long_before_a_taker_acts() -> None:
    lease = Lease(1, last_good=100.0)
    assert lease.may_act(100.0 + MAY_ACT) and not lease.may_act(100.1 + MAY_ACT)
    lease.beaten(120.0)
    lease.beaten(110.0)
    assert lease.last_good == 120.0 and lease.may_act(149.0)
    assert MAY_ACT * 2 <= SILENCE


def test_waiting_ends_at_the_first_sign_of_life() -> None:
    clock = Clock()
    sightings = iter([SEEN] * 5 + [dataclasses.replace(SEEN, counter=11)])
    with pytest.raises(LeaseHeld, match="process 7 on there, which has just given a sign of life") as caught:
        await_lease(lambda: next(sightings), clock.now, clock.sleep)
    assert clock.slept < 10 and "end that process" in caught.value.remedy


def test_silence_is_measured_on_the_takers_clock() -> None:
    clock = Clock()
    assert await_lease(lambda: SEEN, clock.now, clock.sleep) == ("silent", SEEN)
    assert SILENCE <= clock.slept < SILENCE + 2


def test_a_run_that_nobody_drove_is_free() -> None:
    assert await_lease(lambda: None, Clock().now, Clock().sleep) == ("first", None)


def elsewhere() -> ProcessIdentity:
    """Give a process of another machine, of which nothing can be proven here."""
    return dataclasses.replace(this_process(), host="elsewhere", boot_id="another-boot")


def test_a_silent_driver_of_another_machine_is_replaced_after_a_minute(tmp_path: Path) -> None:
    clock = Clock()
    there = LedgerRoot(str(tmp_path), surroundings=Surroundings(process=elsewhere)).create("r")
    old = there.take({"who": "old"})
    here = LedgerRoot(str(tmp_path), surroundings=Surroundings(clock=clock.now, sleep=clock.sleep)).open("r")
    holder = here.holder()
    assert holder is not None and holder["liveness"] == "unknown" and holder["driver"] == {"who": "old"}
    new = here.take({"who": "new"})
    assert new == old + 1 and SILENCE <= clock.slept < SILENCE + 2
    assert here.events()[-1].data["replaced"] == {"fence": old, "because": "silent"}
    assert here.lease is not None and here.lease.fence == new and here.lease.may_act(clock.now())


@pytest.mark.parametrize("sign", ["heartbeat", "append", "release and take"])
def test_a_driver_of_another_machine_that_gives_a_sign_of_life_keeps_the_run(
    tmp_path: Path, sign: str
) -> None:
    clock = Clock()
    there = LedgerRoot(str(tmp_path), surroundings=Surroundings(process=elsewhere)).create("r")
    fence = there.take({})

    def act() -> None:
        if sign == "heartbeat":
            there.heartbeat(fence)
        elif sign == "append":
            there.append("tick", {}, fence)
        else:
            there.release(fence)
            there.take({})

    clock.at[45.0] = act
    here = LedgerRoot(str(tmp_path), surroundings=Surroundings(clock=clock.now, sleep=clock.sleep)).open("r")
    with pytest.raises(LeaseHeld, match="elsewhere"):
        here.take({})
    assert 45.0 <= clock.slept < 47.0


def test_a_driver_that_gives_the_run_back_while_it_is_watched_frees_it_at_once(tmp_path: Path) -> None:
    clock = Clock()
    there = LedgerRoot(str(tmp_path), surroundings=Surroundings(process=elsewhere)).create("r")
    fence = there.take({})
    clock.at[10.0] = lambda: there.release(fence)
    here = LedgerRoot(str(tmp_path), surroundings=Surroundings(clock=clock.now, sleep=clock.sleep)).open("r")
    assert here.take({}) == fence + 1
    assert clock.slept < 12.0


def test_a_driver_that_comes_between_looking_and_taking_is_not_overrun(tmp_path: Path) -> None:
    clock = Clock()
    there = LedgerRoot(str(tmp_path), surroundings=Surroundings(process=elsewhere)).create("r")
    there.release(there.take({}))
    calls = []

    def now() -> float:
        # Once when watching begins, once to decide, and once before the lease is written.
        calls.append(1)
        if len(calls) == 3:
            there.take({"who": "rival"})
        return clock.now()

    here = LedgerRoot(str(tmp_path), surroundings=Surroundings(clock=now, sleep=clock.sleep)).open("r")
    assert here.take({}) == 3 and clock.slept >= SILENCE
    assert here.events()[-1].data["replaced"] == {"fence": 2, "because": "silent"}


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="this system has no boot clock")
def test_time_is_that_of_the_boot_clock() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= Surroundings().clock() <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_a_living_driver_of_this_machine_that_hangs_is_replaced(tmp_path: Path) -> None:
    clock = Clock()
    around = Surroundings(clock=clock.now, sleep=clock.sleep)
    root = LedgerRoot(str(tmp_path), surroundings=around)
    hung = root.create("r")
    old = hung.take({})
    clock.time += SILENCE - 1
    with pytest.raises(LeaseHeld, match=f"process {os.getpid()} .* which is alive"):
        root.open("r").take({})
    clock.time += 1
    assert hung.lease is not None and not hung.lease.may_act(clock.now())
    assert root.open("r").take({}) == old + 1
    assert clock.slept == 0


def test_heartbeats_and_appends_renew_the_lease_from_when_they_were_sent(tmp_path: Path) -> None:
    clock = Clock()
    ledger = LedgerRoot(str(tmp_path), surroundings=Surroundings(clock=clock.now)).create("r")
    fence = ledger.take({})
    assert ledger.lease is not None
    for renew in (lambda: ledger.heartbeat(fence), lambda: ledger.append("tick", {}, fence)):
        clock.time += MAY_ACT + 1
        assert not ledger.lease.may_act(clock.now())
        renew()
        assert ledger.lease.last_good == clock.now() and ledger.lease.may_act(clock.now())


def test_this_process_is_alive_and_others_are_judged_by_more_than_their_id() -> None:
    here = this_process()
    assert liveness(here, here) == "alive"
    assert liveness(dataclasses.replace(here, start="1"), here) == "dead", "the id is used again"
    for unknown in (
        {"boot_id": "other"},
        {"boot_id": ""},
        {"pid_namespace": "pid:[1]"},
        {"time_namespace": "time:[1]"},
        {"start": ""},
        {"pid": 0},
        {"pid": -1},
    ):
        assert liveness(dataclasses.replace(here, **unknown), here) == "unknown"


def test_a_process_that_ended_is_dead_before_and_after_it_is_reaped() -> None:
    program = "from npac.ledger.process import this_process as t; import json; print(json.dumps(t().data()))"
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    identity = ProcessIdentity.from_data(json.loads(process.stdout.read()))
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert liveness(identity, this_process()) == "dead", "a zombie runs nothing"
    process.wait()
    assert liveness(identity, this_process()) == "dead"


@pytest.mark.parametrize("data", [{}, {"pid": "7"}, {"pid": 7, "host": 1}])
def test_what_is_no_identity_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="identity"):
        ProcessIdentity.from_data(data)
