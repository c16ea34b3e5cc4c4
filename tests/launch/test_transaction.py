from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from npac.launch import transaction as tx
from npac.launch.ports import JobRow

GOAL = tx.Goal("npa-launch-1", "run-001-train-abc", unique_key=False)
UNIQUE = replace(GOAL, unique_key=True)
ROW = JobRow("7", GOAL.name, GOAL.launch_id, "RUNNING", 1.0)


def play(goal, *happenings, **known):
    """Feed a fresh launch and give its last state and effects."""
    state, effects = tx.begin(goal, 0.0, **known)
    for happening in happenings:
        state, effects = tx.step(state, happening)
    return state, effects


POSTED = (tx.Rows([], 0.0), tx.IntentDurable(0.0))
LOST = tx.PostFailed("maybe-sent", "connection reset", "", 0.0)
REFUSED = tx.PostFailed("never-sent", "connection refused", "", 0.0)


def test_the_order_is_look_record_post_look():
    state, effects = tx.begin(GOAL, 0.0)
    assert effects == (tx.ReadRows(),)
    state, effects = tx.step(state, tx.Rows([], 0.0))
    assert effects == (tx.RecordIntent(1),)
    state, effects = tx.step(state, tx.IntentDurable(0.0))
    assert effects == (tx.Post(1),)
    assert state.open, "between the POST and its answer nothing is known"
    state, effects = tx.step(state, tx.Accepted("r", "7", 0.0))
    assert effects == (tx.RecordResult(1, "accepted", "r", "7"), tx.ReadRows())
    state, effects = tx.step(state, tx.Rows([ROW], 0.0))
    assert effects == (tx.Finish("attached", row=ROW, adopted=False),)


CASES: dict[str, Any] = {
    "a row that is there already is adopted": (
        GOAL,
        [tx.Rows([ROW], 0.0)],
        (tx.Finish("attached", row=ROW, adopted=True),),
    ),
    "a row by name alone counts where the engine cannot tell the launch id": (
        GOAL,
        [tx.Rows([replace(ROW, launch_id="")], 0.0)],
        (tx.Finish("attached", row=replace(ROW, launch_id=""), adopted=True),),
    ),
    "a row of that name with another launch id is not ours": (
        GOAL,
        [tx.Rows([replace(ROW, launch_id="npa-launch-2")], 0.0)],
        (tx.RecordIntent(1),),
    ),
    "a lost reply and our row: adopted": (
        GOAL,
        [*POSTED, LOST, tx.Rows([ROW], 1.0)],
        (tx.Finish("attached", row=ROW, adopted=True),),
    ),
    "a lost reply and no row yet: look again, never post": (
        GOAL,
        [*POSTED, LOST, tx.Rows([], 1.0)],
        (tx.WaitToLook(1),),
    ),
    "a lost reply, no row, and a unique key: the same launch id again": (
        UNIQUE,
        [*POSTED, LOST, tx.Rows([], 1.0)],
        (tx.RecordIntent(2),),
    ),
    "nothing left this host: wait and try again": (
        GOAL,
        [*POSTED, REFUSED],
        (tx.RecordResult(1, "never-sent", message="connection refused"), tx.WaitToRetry(1)),
    ),
    "after that wait: look before the next intent": (
        GOAL,
        [*POSTED, REFUSED, tx.Woke(2.0)],
        (tx.ReadRows(),),
    ),
    "a failed row is given back too": (
        GOAL,
        [tx.Rows([replace(ROW, status="FAILED")], 0.0)],
        (tx.Finish("attached", row=replace(ROW, status="FAILED"), adopted=True),),
    ),
    "one live row beside a failed one": (
        GOAL,
        [tx.Rows([replace(ROW, id="6", status="FAILED"), ROW], 0.0)],
        (tx.Finish("attached", row=ROW, adopted=True),),
    ),
    "an unreadable list is looked at again": (
        GOAL,
        [tx.RowsUnavailable("503", 1.0)],
        (tx.WaitToLook(1),),
    ),
    "a launch that may not be made is proven absent when nothing was ever posted": (
        replace(GOAL, may_post=False),
        [tx.Rows([], 0.0)],
        (tx.Finish("absent", message="nothing was launched"),),
    ),
    "a wish to stop ends a wait": (
        GOAL,
        [*POSTED, LOST, tx.Rows([], 1.0), tx.StopAsked("cancelled")],
        (tx.Finish("stopped", message="cancelled"),),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    goal, happenings, expected = CASES[name]
    assert play(goal, *happenings)[1] == expected


def last(goal, *happenings, **known):
    effects = play(goal, *happenings, **known)[1]
    assert isinstance(effects[-1], tx.Finish)
    return effects[-1]


def test_a_refusal_ends_the_launch():
    end = last(GOAL, *POSTED, tx.PostFailed("rejected", "no such image", "name another", 1.0))
    assert (end.outcome, end.message, end.remedy) == ("rejected", "no such image", "name another")


def test_a_phase_that_nobody_knows_counts_as_maybe_sent():
    _, effects = play(GOAL, *POSTED, tx.PostFailed("strange", "?", "", 1.0))
    assert effects[0] == tx.RecordResult(1, "maybe-sent", message="?")


def test_doubt_ends_undecided_after_the_quiet_period():
    end = last(GOAL, *POSTED, LOST, tx.Rows([], 59.9), tx.Woke(60.0), tx.Rows([], 60.0))
    assert end.outcome == "undecided"
    assert "connection reset" in end.message


def test_an_open_intent_of_an_earlier_driver_is_never_posted_again_without_a_unique_key():
    _, effects = play(GOAL, tx.Rows([], 1.0), posts=1, open=True)
    assert effects == (tx.WaitToLook(1),)
    end = last(GOAL, tx.Rows([], 61.0), posts=1, open=True)
    assert end.outcome == "undecided"
    assert last(GOAL, tx.Rows([ROW], 1.0), posts=1, open=True).row == ROW


def test_an_accepted_launch_that_never_shows_is_undecided_with_a_unique_key_too():
    for goal in (GOAL, UNIQUE):
        accepted = (*POSTED, tx.Accepted("r", "7", 10.0))
        _, effects = play(goal, *accepted, tx.Rows([], 189.0))
        assert effects == (tx.WaitToLook(1),)
        assert last(goal, *accepted, tx.Rows([], 190.0)).outcome == "undecided"


def test_two_live_rows_of_one_launch_are_nobodys_to_choose():
    end = last(GOAL, tx.Rows([ROW, replace(ROW, id="8")], 0.0))
    assert end.outcome == "undecided"
    assert "7, 8" in end.message


def test_our_launch_id_under_another_name_stops_everything():
    end = last(GOAL, tx.Rows([replace(ROW, name="other")], 0.0))
    assert end.outcome == "undecided"


def test_a_job_other_than_the_accepted_one_is_not_adopted():
    end = last(GOAL, *POSTED, tx.Accepted("r", "8", 0.0), tx.Rows([ROW], 0.0))
    assert end.outcome == "undecided"


def test_an_engine_that_stays_out_of_reach_is_given_up_after_the_deadline():
    state, effects = play(GOAL, *POSTED, REFUSED)
    for turn in range(1, 10):
        now = 20.0 * turn
        for happening in (
            tx.Woke(now),
            tx.Rows([], now),
            tx.IntentDurable(now),
            tx.PostFailed("never-sent", "connection refused", "", now),
        ):
            state, effects = tx.step(state, happening)
        if isinstance(effects[-1], tx.Finish):
            break
    assert now == 180.0
    assert effects[-1].outcome == "unreachable"
    assert effects[0] == tx.RecordResult(10, "never-sent", message="connection refused")


def test_an_unreadable_list_is_not_absence():
    end = last(GOAL, tx.RowsUnavailable("503", 180.0))
    assert end.outcome == "undecided"
    assert "no POST is open" in end.message
    assert "a POST is open" in last(GOAL, tx.RowsUnavailable("503", 180.0), posts=1, open=True).message


def test_a_post_cannot_be_stopped_halfway():
    state, _ = play(GOAL, *POSTED)
    with pytest.raises(ValueError, match="halfway"):
        tx.step(state, tx.StopAsked("cancelled"))


def test_a_launch_looked_for_to_be_cancelled_is_absent_after_quiet_with_a_unique_key():
    goal = replace(UNIQUE, may_post=False, quiet=2.0)
    _, effects = play(goal, tx.Rows([], 1.0), posts=1, open=True)
    assert effects == (tx.WaitToLook(1),)
    assert last(goal, tx.Rows([], 2.0), posts=1, open=True).outcome == "absent"
    assert last(replace(goal, unique_key=False), tx.Rows([], 2.0), posts=1, open=True).outcome == "undecided"


def test_a_refusal_settles_only_the_post_that_it_answers():
    refused = tx.PostFailed("rejected", "no bash", "", 5.0)
    happenings = (tx.Rows([], 1.0), tx.IntentDurable(1.0), refused)
    _, effects = play(UNIQUE, *happenings, posts=1, open=True)
    assert effects == (tx.RecordResult(2, "rejected", message="no bash"), tx.ReadRows())
    assert last(UNIQUE, *happenings, tx.Rows([ROW], 6.0), posts=1, open=True).outcome == "attached"
    _, effects = play(UNIQUE, *happenings, tx.Rows([], 6.0), posts=1, open=True)
    assert effects == (tx.WaitToLook(1),)
    end = last(UNIQUE, *happenings, tx.Rows([], 65.0), posts=1, open=True)
    assert (end.outcome, end.message) == ("rejected", "no bash")
