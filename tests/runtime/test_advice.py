"""The next step for every way in which a run may be left."""

from __future__ import annotations

import pytest

from npac.runtime.advice import has_ended, next_step
from npac.runtime.options import result_of
from npac.runtime.view import (
    BLOCKED,
    CANCELLED,
    FAILED,
    PLANNED,
    RUNNING,
    SUCCEEDED,
    WAITING,
    AttemptView,
    LaunchView,
    MemberResult,
    RunView,
    WaveView,
)

ANEW = (
    "if the spec, a --var or a code path has to change: npac resume r --amend SPEC; or, anew: npac run SPEC"
)


def left(state: str, code: str = "", remedy: str = "", **facts: object) -> RunView:
    """Give a view of run ``r`` as it was left."""
    view = RunView(run_id="r", run_uid="u", state=state, code=code, reason="it broke", remedy=remedy)
    for name, value in facts.items():
        setattr(view, name, value)
    return view


def failed(family: str, results: list[MemberResult], remedy: str = "", **facts: object) -> RunView:
    """Give a view of a run that failed at the wave ``w`` of two members."""
    launch = LaunchView("id", "name", 1, (0, 1), ("a", "b"), "here", ended=True, results=results)
    attempt = AttemptView(1, (0, 1), "first", "", state=FAILED, family=family, launches={1: launch})
    attempt.remedy, attempt.reason = remedy, "it broke"
    wave = WaveView("w", 1, "w", "parallel", {}, ("a", "b"), attempts=[attempt])
    view = left(FAILED, "FAILED", remedy, node="w", waves={"w": wave})
    for name, value in facts.items():
        setattr(view if hasattr(view, name) else wave, name, value)
    return view


def member(number: int, ok: bool, family: str = "payload", uri: str = "") -> MemberResult:
    missing = [{"uri": uri, "kind": "file", "why": "nothing is there"}] if uri else []
    return MemberResult(number, ok, "success" if ok else family, "FAILED", 3, "", missing)


@pytest.mark.parametrize(
    ("remedy", "code", "said"),
    [
        ("mend the engine and resume", "ENGINE_SILENT", "mend the engine, then: npac resume r"),
        ("look for the job, then resume", "LAUNCH_UNDECIDED", "look for the job, then: npac resume r"),
        ("Free some space.", "STORE_UNUSABLE", "Free some space. Then: npac resume r"),
        ("npac decide r gate promote_checkpoint --reason '…'", "DECISION_CHANGED", None),
        ("look at these outputs, then npac retry r", "OUTPUT_TOUCHED", None),
        ("put it back", "OUTPUT_LOST", "put it back, then: npac resume r; or begin anew: npac run SPEC"),
        ("", "JOB_GONE", "npac resume r"),
    ],
)  # fmt: skip
def test_a_blocked_run_always_gets_a_command(remedy: str, code: str, said: str | None) -> None:
    assert next_step(left(BLOCKED, code, remedy)) == (remedy if said is None else said)


@pytest.mark.parametrize("state", [RUNNING, WAITING])
def test_a_run_that_goes_on_needs_something_only_without_a_driver(state: str) -> None:
    view = left(state)
    for driver in ("none", "dead"):
        assert next_step(view, driver) == "npac resume r (or, to end its jobs: npac cancel r)"
    for driver in ("alive", "unknown"):
        assert next_step(view, driver) == ""


def test_a_run_that_never_began_is_given_again() -> None:
    assert "npac run SPEC --run-id r" in next_step(left(PLANNED))
    assert next_step(left(PLANNED), "alive") == ""


def test_ends() -> None:
    assert next_step(left(SUCCEEDED)) == ""
    assert next_step(left(CANCELLED)) == "npac retry r"
    assert result_of(left(CANCELLED)).remedy == "npac retry r"
    assert has_ended(left(FAILED), "cancel") == "run r has ended (failed): there is nothing to cancel"


def test_a_failure_names_what_to_mend_and_both_ways_on() -> None:
    mend = failed("payload", [member(0, True), member(1, False)], retry_all=False)
    assert next_step(mend) == f"mend what made b fail, then: npac retry r (runs only b again); {ANEW}"
    whole = failed("payload", [member(0, True), member(1, False)], retry_all=True)
    assert "(runs all 2 members again)" in next_step(whole)
    older = failed("payload", [member(0, True), member(1, False)])
    assert "again" not in next_step(older), "not on record, so not said"
    lacking = failed("payload", [member(0, True), member(1, False, uri="file:///x")])
    assert next_step(lacking).startswith("have b write file:///x, then: npac retry r")
    machine = failed("infrastructure", [member(0, False, "infrastructure"), member(1, True)])
    assert next_step(machine).startswith("npac retry r")
    refused = failed("rejected", [], "Name another image.")
    assert next_step(refused) == f"Name another image. Then: npac retry r; {ANEW}"
    earlier = failed("payload", [member(0, True), member(1, False)], "npac logs r b")
    assert "npac logs" not in next_step(earlier), "as older versions recorded it"


def test_a_failure_that_no_attempt_gets_over_needs_a_new_run() -> None:
    view = left(
        FAILED, "TRIGGER_TOO_MANY", "put the iteration in the trigger's URI", target="/my specs/a.yaml"
    )
    assert next_step(view) == "put the iteration in the trigger's URI, then: npac run '/my specs/a.yaml'"


def test_a_bound_that_was_met_is_raised_or_left_out() -> None:
    assert next_step(left(FAILED, "MAX_WAIT", options={"max_wait": 60.0})).startswith(
        "npac retry r --max-wait 120; or npac retry r ("
    )
    assert next_step(left(FAILED, "MAX_WAIT")).startswith("npac retry r (")
