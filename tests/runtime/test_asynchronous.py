"""The driver on an engine that takes launches asynchronously, with registers of claims and without."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from npac.ir.linking import LinkRecord
from npac.launch.claims import Holder
from npac.launch.ports import CANCELLED, PENDING, JobRow, TaskRow
from npac.ledger.sqlite import SqliteLedger
from npac.ledger.surroundings import Surroundings, boot_seconds
from npac.runtime import api
from npac.runtime.api import RunOptions
from tests.runtime.asynchronous import FAILED, FORGOTTEN, LOST, LOST_REPLY, AsyncEngine, Registers
from tests.runtime.programs import Bench, Watcher, chain, step

QUICK = RunOptions(launch_quiet=0.4)


class Killed(BaseException):
    """The driver's process is gone."""


def train(bench: Bench, shell: str = ""):
    return chain(step("train", f"{bench.count('train')}; {shell}echo m > {bench.work}/m", [bench.uri("m")]))


def jumping():
    """Give a clock that can be put forward, and the function that does so."""
    ahead = 0.0

    def jump(seconds: float) -> None:
        nonlocal ahead
        ahead += seconds

    return (lambda: boot_seconds() + ahead), jump


def test_the_request_is_on_record_before_any_row_is_seen(bench):
    engine = AsyncEngine(bench.engine())
    assert bench.start(train(bench), QUICK, engine=engine).state == "succeeded"
    intent, result = bench.events("launch-intent")[0], bench.events("launch-result")[0]
    assert (intent["n"], intent["instance"], intent["incarnation"]) == (1, engine.instance, "start-1")
    assert (result["outcome"], result["request_id"], result["job_id"]) == ("accepted", "req-1", "")
    assert (len(engine.posts), bench.trace()) == (1, ["train"])


def test_a_lost_request_is_settled_and_posted_again(bench):
    engine = AsyncEngine(bench.engine(), [LOST])
    assert bench.start(train(bench), QUICK, engine=engine).state == "succeeded"
    assert [(e["n"], e["how"]) for e in bench.events("launch-settled")] == [(1, "absent")]
    assert [e["n"] for e in bench.events("launch-intent")] == [1, 2]
    assert bench.trace() == ["train"]


def test_a_lost_reply_is_settled_by_its_row(bench):
    engine = AsyncEngine(bench.engine(), [LOST_REPLY])
    assert bench.start(train(bench), QUICK, engine=engine).state == "succeeded"
    assert (len(engine.posts), bench.events("launch-settled")) == (1, [])
    assert bench.events("job-attached")[0]["adopted"] is True


def test_after_a_restart_of_the_server_doubt_stays_doubt_also_for_a_later_driver(bench):
    engine = AsyncEngine(bench.engine(), [LOST])
    engine.before_launch = lambda: setattr(engine, "incarnation", "start-2")
    result = bench.start(train(bench), QUICK, engine=engine)
    assert (result.state, bench.view().code) == ("blocked", "LAUNCH_UNDECIDED")
    assert bench.resume(QUICK, engine=engine).state == "blocked"
    assert (len(engine.posts), bench.trace()) == (1, [])
    engine.incarnation = "start-1"
    assert bench.resume(QUICK, engine=engine).state == "succeeded"


def test_why_tells_how_far_a_launch_has_come(bench):
    engine = AsyncEngine(bench.engine(), [LOST, LOST, LOST])
    result = bench.start(train(bench), QUICK, engine=engine)
    assert (result.state, bench.view().code) == ("blocked", "LAUNCH_LOST")
    told = api.why(bench.view())
    assert "Nothing was seen of POST 1, 2, 3, which is held to have made no job." in told
    assert told.endswith("then: npac resume run")
    assert bench.resume(QUICK, engine=engine).state == "succeeded"
    assert [e["n"] for e in bench.events("launch-intent")] == [1, 2, 3, 4]


def test_a_failed_precheck_fails_the_wave_with_its_reason(bench):
    engine = AsyncEngine(bench.engine(), [FAILED])
    result = bench.start(train(bench), RunOptions(retries=3), engine=engine)
    assert (result.state, bench.view().code) == ("failed", "LAUNCH_REJECTED")
    assert "cpus: 1000" in result.reason
    assert len(engine.posts) == 1


def test_each_post_is_rendered_with_its_number(bench):
    engine = AsyncEngine(bench.engine(), [LOST])
    seen = []
    program = train(bench)
    ledger = bench.ledgers().create("run")
    link = LinkRecord("run", run_uid="0" * 32)
    world = bench.world(program, link, engine=engine)

    def render(wave, members, values):
        seen.append(values.post)
        return world.render(wave, members, values)

    assert api.start_run(ledger, replace(world, render=render), program, link, QUICK).state == "succeeded"
    assert seen == [1, 2]


# --- another engine ---------------------------------------------------------------------------


def test_another_engine_that_answers_in_the_middle_blocks_and_is_never_absence(bench):
    engine = AsyncEngine(bench.engine(), [LOST])
    capabilities = engine.capabilities
    engine.before_launch = lambda: setattr(engine, "moved_to", "somewhere-else")
    result = bench.start(train(bench), QUICK, engine=engine)
    assert (result.state, bench.view().code) == ("blocked", "ENGINE_MOVED")
    assert "npac resume run --engine-moved" in result.remedy
    assert capabilities().instance == "somewhere-else"
    assert bench.resume(QUICK, engine=engine).state == "blocked"
    assert (len(engine.posts), bench.events("launch-settled")) == (1, [])


def test_what_was_in_flight_is_given_up_on_the_users_word_alone_and_only_once(bench):
    engine = AsyncEngine(bench.engine(), [LOST])
    engine.before_launch = lambda: setattr(engine, "moved_to", "somewhere-else")
    bench.start(train(bench), QUICK, engine=engine)
    engine.fates = [LOST]
    engine.before_launch = lambda: setattr(engine, "moved_to", "a-third-place")
    options = RunOptions(launch_quiet=0.4, engine_moved=True)
    assert bench.resume(options, engine=engine).state == "blocked"
    assert [a.budget for a in bench.view().waves["train"].attempts] == ["first", "infrastructure"]
    assert len({e["launch_id"] for e in bench.events("launch-intent")}) == 2
    assert bench.resume(engine=engine).state == "blocked", "the word does not hold for later drivers"
    assert len(engine.posts) == 2


def test_a_job_that_another_engine_does_not_have_is_not_gone(bench):
    engine = AsyncEngine(bench.engine())
    told: list[str] = []

    class Moving(Watcher):
        def job_changed(self, wave, launch):
            if launch.status == "RUNNING" and not told:
                engine.moved_to = "somewhere-else"

        def outage(self, message, seconds):
            told.append(message)
            engine.moved_to = ""

    program = train(bench, "sleep 0.5; ")
    assert bench.start(program, QUICK, engine=engine, progress=Moving()).state == "succeeded"
    assert "somewhere-else answers" in told[0]


# --- takeover ---------------------------------------------------------------------------------


class Paused(SqliteLedger):
    """Of a driver that stops between its intent and its POST, and never gives its lease back."""

    def release(self, fence: int) -> None:
        return None


def left_open(bench: Bench, engine: AsyncEngine, **more: Any) -> None:
    """Let a driver stop just before its POST."""

    def stop() -> None:
        raise Killed

    program = train(bench)
    bench.ledgers().create("run").close()
    link = LinkRecord("run", run_uid="0" * 32)
    engine.before_launch = stop
    with pytest.raises(Killed):
        api.start_run(
            Paused(bench.root / "ledger" / "run", "run"),
            bench.world(program, link, engine=engine, **more),
            program,
            link,
            QUICK,
        )
    engine.before_launch = lambda: None


def resume(bench: Bench, engine: AsyncEngine, **more: Any) -> api.RunResult:
    """Take the run a hundred seconds later."""
    later = Surroundings(clock=lambda: boot_seconds() + 100.0)
    ledger = SqliteLedger(bench.root / "ledger" / "run", "run", surroundings=later)
    stored = api.load(ledger)
    return api.resume_run(ledger, bench.world(stored.program, stored.link, engine=engine, **more), QUICK)


def test_the_intent_of_a_driver_that_may_wake_blocks_at_once_and_for_every_later_driver(bench):
    engine = AsyncEngine(bench.engine())
    left_open(bench, engine)
    began = time.monotonic()
    result = resume(bench, engine, proven_dead=lambda process: False)
    assert (result.state, bench.view().code) == ("blocked", "LAUNCH_UNDECIDED")
    assert time.monotonic() - began < QUICK.launch_quiet + 2
    assert bench.view().replaced == {1: "silent"}
    again = resume(bench, engine, proven_dead=lambda process: False)
    assert again.state == "blocked", "the driver before has given back its lease, the one of the intent not"
    assert engine.posts == []


def test_once_that_driver_is_proven_dead_long_absence_decides(bench):
    engine = AsyncEngine(bench.engine())
    left_open(bench, engine)
    asked: list[Mapping[str, Any]] = []

    def dead(process: Mapping[str, Any]) -> bool:
        asked.append(process)
        return True

    assert resume(bench, engine, proven_dead=dead).state == "succeeded"
    assert asked[0]["pid"] > 0
    assert [(e["n"], e["how"]) for e in bench.events("launch-settled")] == [(1, "absent")]
    assert bench.trace() == ["train"]


def test_with_claims_the_intent_of_a_driver_that_may_wake_is_sealed(bench):
    engine, claims = AsyncEngine(bench.engine()), Registers()
    left_open(bench, engine, claims=claims)
    result = resume(bench, engine, claims=claims, proven_dead=lambda process: False)
    assert result.state == "succeeded"
    assert [(e["n"], e["how"]) for e in bench.events("launch-settled")] == [(1, "sealed")]


def test_an_intent_that_took_no_grant_along_is_not_sealed(bench):
    engine, claims = AsyncEngine(bench.engine()), Registers()
    left_open(bench, engine)
    result = resume(bench, engine, claims=claims, proven_dead=lambda process: False)
    assert result.state == "blocked"
    assert claims.held == {}


# --- held up ----------------------------------------------------------------------------------


def test_a_driver_that_was_held_up_after_its_intent_does_not_post_it(bench):
    engine = AsyncEngine(bench.engine())
    clock, jump = jumping()
    jumps = [40.0]

    class Slow(SqliteLedger):
        def append(self, type, data, fence):
            event = super().append(type, data, fence)
            if type == "launch-intent" and jumps:
                jump(jumps.pop())
            return event

    program = train(bench)
    bench.ledgers().create("run").close()
    link = LinkRecord("run", run_uid="0" * 32)
    ledger = Slow(bench.root / "ledger" / "run", "run")
    world = bench.world(program, link, engine=engine, clock=clock)
    assert api.start_run(ledger, world, program, link, QUICK).state == "succeeded"
    assert [r["outcome"] for r in bench.events("launch-result")] == ["never-sent", "accepted"]
    assert "held up" in bench.events("launch-result")[0]["message"]
    assert len(engine.posts) == 1


# --- claims -----------------------------------------------------------------------------------


def test_a_grant_goes_with_each_post_and_is_written_nowhere(bench):
    engine, claims = AsyncEngine(bench.engine(), [LOST]), Registers()
    assert bench.start(train(bench), QUICK, engine=engine, claims=claims).state == "succeeded"
    launch = bench.events("launch-intent")[0]["launch_id"]
    assert [post["NPAC_CLAIM_URL"] for post in engine.posts] == [
        f"memory://claims/{launch}/1",
        f"memory://claims/{launch}/2",
    ]
    assert [e["claim"] for e in bench.events("launch-intent")] == [True, True]
    assert claims.held == {(launch, 1): Holder(True)}
    for path in (bench.root / "ledger").rglob("*"):
        assert not path.is_file() or b"memory://" not in path.read_bytes()


def test_a_job_that_claimed_before_the_seal_is_adopted(bench, monkeypatch):
    engine, claims = AsyncEngine(bench.engine(), [LOST_REPLY]), Registers()
    hidden = True

    def dress(rows):
        return [] if hidden else rows

    def seal(launch_id, n):
        nonlocal hidden
        hidden = False
        (row,) = engine.engine.jobs()
        return claims.claim(launch_id, n, row.id, engine.instance)

    engine.dress = dress
    monkeypatch.setattr(claims, "seal", seal)
    assert bench.start(train(bench), QUICK, engine=engine, claims=claims).state == "succeeded"
    assert (len(engine.posts), bench.trace()) == (1, ["train"])


def test_of_two_jobs_the_holder_is_adopted_and_the_other_ended(bench):
    engine, claims = AsyncEngine(bench.engine()), Registers()

    def dress(rows):
        if not rows:
            return []
        job = rows[0]
        claims.claim(job.launch_id, 1, job.id, engine.instance)
        status = CANCELLED if "99" in engine.cancelled else PENDING
        return [replace(job, id="99", status=status, started_at=None), *rows]

    engine.dress = dress
    assert bench.start(train(bench), QUICK, engine=engine, claims=claims).state == "succeeded"
    assert [(e["job_id"], e["why"]) for e in bench.events("reap-intent")] == [("99", "claimed-out")]
    assert [(e["job_id"], e["status"]) for e in bench.events("reap-result")] == [("99", CANCELLED)]
    assert bench.trace() == ["train"]


def test_an_adopted_job_that_turns_out_to_be_the_loser_gives_way_to_the_holder(bench):
    engine, claims = AsyncEngine(bench.engine()), Registers()
    looks = 0

    def dress(rows):
        nonlocal looks
        if not rows:
            return []
        looks += 1
        job = rows[0]
        loser = replace(job, id="99", status=PENDING, started_at=None)
        if looks < 3:
            return [loser]
        claims.claim(job.launch_id, 1, job.id, engine.instance)
        out = tuple(TaskRow(task.name, "FAILED", 75) for task in job.tasks)
        return [replace(loser, status="FAILED", tasks=out), *rows]

    engine.dress = dress
    engine.requests = {}
    assert bench.start(train(bench), QUICK, engine=engine, claims=claims).state == "succeeded"
    assert [e["job"]["id"] for e in bench.events("job-attached")] == ["99", engine.engine.jobs()[0].id]
    assert bench.trace() == ["train"]


def test_a_job_that_found_its_register_sealed_is_a_fault_of_the_machine(bench):
    engine, claims = AsyncEngine(bench.engine()), Registers()

    def dress(rows):
        if len(engine.posts) == 1:
            for row in rows:
                claims.held[row.launch_id, 1] = Holder(True)
        return rows

    engine.dress = dress
    once = f"test -e {bench.work}/mark || {{ touch {bench.work}/mark; exit 75; }}; "
    result = bench.start(train(bench, once), QUICK, engine=engine, claims=claims)
    assert result.state == "succeeded"
    assert [a.budget for a in bench.view().waves["train"].attempts] == ["first", "infrastructure"]
    assert bench.view().waves["train"].attempts[0].code == "CLAIM_SEALED"


def test_a_job_that_ended_before_it_could_claim_is_sealed_so_that_no_twin_starts_later(bench):
    engine, claims = AsyncEngine(bench.engine()), Registers()
    engine.dress = lambda rows: [replace(row, status="FAILED_PRECHECKS", tasks=()) for row in rows]
    options = RunOptions(max_infrastructure_recoveries=0)
    result = bench.start(chain(step("train", "exit 1")), options, engine=engine, claims=claims)
    assert (result.state, bench.view().code) == ("failed", "FAILED_PRECHECKS")
    launch = bench.events("launch-intent")[0]["launch_id"]
    assert claims.held == {(launch, 1): Holder(True)}


def test_a_users_own_exit_code_asks_no_register(bench):
    engine, claims = AsyncEngine(bench.engine()), Registers()
    claims.dark = 10**6
    result = bench.start(train(bench, "exit 3; "), QUICK, engine=engine, claims=claims)
    assert (result.state, bench.view().code) == ("failed", "FAILED")


def test_a_cancelled_run_seals_what_is_in_doubt_and_ends(bench):
    engine, claims = AsyncEngine(bench.engine(), [LOST]), Registers()
    claims.dark = 10**6
    options = RunOptions(launch_quiet=0.0)
    ask = iter(range(3))

    def dress(rows):
        if next(ask, None) == 2:
            api.request_cancel(bench.ledgers().open("run"))
            claims.dark = 0
        return rows

    engine.dress = dress
    assert bench.start(train(bench), options, engine=engine, claims=claims).state == "cancelled"
    assert [(e["n"], e["how"]) for e in bench.events("launch-settled")] == [(1, "sealed")]
    assert len(bench.events("launch-absent")) == 1
    assert (len(engine.posts), bench.trace()) == (1, [])


# --- phantoms ---------------------------------------------------------------------------------


def test_a_phantom_is_ended_by_its_id_and_the_launch_posted_again(bench):
    engine = AsyncEngine(bench.engine(), [FORGOTTEN])
    program = train(bench)

    def dress(rows):
        if not engine.posts:
            return rows
        intent = bench.events("launch-intent")[0]
        status = CANCELLED if engine.cancelled else PENDING
        return [JobRow("99", intent["name"], intent["launch_id"], status, 1.0, lively=False), *rows]

    engine.dress = dress
    engine.before_launch = lambda: setattr(engine, "incarnation", "start-2")
    assert bench.start(program, QUICK, engine=engine).state == "succeeded"
    assert engine.cancelled == ["99"]
    assert [(e["job_id"], e["why"]) for e in bench.events("reap-intent")] == [("99", "phantom")]
    assert [(e["n"], e["how"]) for e in bench.events("launch-settled")] == [(1, "ended")]
    assert (len(engine.posts), bench.trace()) == (2, ["train"])
