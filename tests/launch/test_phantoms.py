"""Rows without any sign of life: young ones, and those that nothing will ever bring to life."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from npac.launch import transaction as tx
from npac.launch.ports import ActiveRequest
from tests.launch.telling import ASYNC, LIFELESS, REQUEST, ROW, Story

GONE = replace(LIFELESS, status="CANCELLED")


def in_doubt() -> Story:
    return Story().posts().loses_the_reply()


def test_a_young_row_with_a_live_request_is_waited_for_and_adopted_when_it_lives():
    story = in_doubt().sees([LIFELESS], REQUEST, at=1.0)
    assert story.does == tx.WaitToLook(1)
    story.sees([LIFELESS], REQUEST, at=100.0)
    assert story.does == tx.WaitToLook(2)
    assert story.sees([ROW], at=101.0).end.row == ROW
    assert story.reaped == []


def test_a_row_that_stays_young_until_the_deadline_is_left_alone():
    story = in_doubt().sees([LIFELESS], REQUEST, at=180.0)
    assert story.end.outcome == "undecided"
    assert story.reaped == []


def test_a_row_whose_request_went_with_a_restart_is_ended_and_the_launch_posted_again():
    story = Story().posts().is_accepted().sees([LIFELESS], at=5.0, start="s2").learns("unknown")
    story.sees([LIFELESS], at=6.0, start="s2")
    assert story.does == tx.Reap(LIFELESS, "phantom")
    story.hears(tx.ReapAsked("7", 6.0)).sees([LIFELESS], at=7.0, start="s2").sees([GONE], at=8.0, start="s2")
    assert story.effects == (
        tx.RecordReaped("7", "CANCELLED"),
        tx.RecordSettled(1, "ended"),
        tx.ReadRows(),
    )
    assert story.sees([GONE], start="s2").does == tx.RecordIntent(2, "s2"), "one POST makes one job"


def test_one_look_makes_no_phantom():
    story = in_doubt().sees([LIFELESS], at=1.0)
    assert story.does == tx.WaitToLook(1), "the request may have ended between the two lists"
    assert story.sees([ROW], at=2.0).end.row == ROW


def test_a_request_that_ended_well_may_be_ahead_of_its_row():
    story = Story().posts().is_accepted().sees([LIFELESS], at=1.0).learns("succeeded", "7")
    story.sees([LIFELESS], at=2.0).sees([LIFELESS], at=60.0)
    assert story.does == tx.WaitToLook(2)
    assert story.sees([LIFELESS], at=61.0).does == tx.Reap(LIFELESS, "phantom")


def test_the_request_that_a_row_names_is_the_one_that_is_asked_after():
    named = replace(LIFELESS, request_id="r7")
    other = ActiveRequest("r8", ASYNC.name, ASYNC.launch_id)
    story = in_doubt().sees([named], other, at=1.0)
    assert story.does == tx.ReadRequest("r7"), "another live request does not keep it young"
    story.learns("unknown", request="r7").sees([named], at=2.0)
    assert story.does == tx.Reap(named, "phantom")


def test_a_request_that_failed_and_left_a_lifeless_row_was_no_refusal_of_the_documents():
    story = Story().posts().is_accepted().sees([LIFELESS], at=1.0).learns("failed", message="worker died")
    story.sees([LIFELESS], at=2.0).hears(tx.ReapAsked("7", 2.0)).sees([GONE], at=3.0)
    assert story.settled == [(1, "ended")]
    assert story.sees([GONE]).does == tx.RecordIntent(2, "s1")
    assert story.state.trouble == "worker died"


def test_a_phantom_that_vanishes_has_ended_only_after_several_good_answers():
    story = in_doubt().sees([LIFELESS], at=1.0).sees([LIFELESS], at=2.0).hears(tx.ReapAsked("7", 2.0))
    story.sees(at=3.0).sees(at=4.0)
    assert isinstance(story.does, tx.WaitToLook)
    assert story.sees(at=5.0).effects[0] == tx.RecordReaped("7", "absent")


def test_an_unreadable_list_does_not_count_as_one_that_lacks_it():
    story = in_doubt().sees([LIFELESS], at=1.0).sees([LIFELESS], at=2.0).hears(tx.ReapAsked("7", 2.0))
    for at in (3.0, 4.0, 5.0):
        story.hears(tx.Woke(at)).hears(tx.RowsUnavailable("503", at))
    assert isinstance(story.does, tx.WaitToLook)
    assert not any(isinstance(effect, tx.RecordReaped) for effect in story.said)


def test_a_phantom_that_came_to_life_before_it_could_be_ended_counts():
    begun = replace(ROW, status="CANCELLED", started_at=3.0)
    story = in_doubt().sees([LIFELESS], at=1.0).sees([LIFELESS], at=2.0).hears(tx.ReapAsked("7", 2.0))
    assert story.sees([begun], at=3.0).end == tx.Finish("attached", row=begun, adopted=True)


def test_a_phantom_that_does_not_end_is_asked_again_and_then_left_undecided():
    story = in_doubt().sees([LIFELESS], at=1.0).sees([LIFELESS], at=2.0).hears(tx.ReapAsked("7", 2.0))
    for turn in range(8):
        story.sees([LIFELESS], at=3.0 + turn)
    assert story.does == tx.Reap(LIFELESS, "phantom")
    story.hears(tx.ReapAsked("7", 11.0)).sees([LIFELESS], at=122.0)
    assert story.end.outcome == "undecided"
    assert "job 7" in story.end.message
    assert story.settled == []


def test_a_phantom_is_not_ended_where_the_engine_cannot_tell_whose_it_is():
    blind = replace(LIFELESS, launch_id="")
    story = in_doubt().sees([blind], at=1.0).sees([blind], at=2.0)
    assert story.end.outcome == "undecided"
    assert story.reaped == []


def test_a_phantom_beside_a_live_job_is_ended_and_the_live_one_adopted():
    live = replace(ROW, id="8")
    story = in_doubt().sees([LIFELESS, live], at=1.0).sees([LIFELESS, live], at=2.0)
    assert story.does == tx.Reap(LIFELESS, "phantom")
    story.hears(tx.ReapAsked("7", 2.0)).sees([GONE, live], at=3.0)
    assert story.effects == (tx.RecordReaped("7", "CANCELLED"), tx.ReadRows())
    assert story.sees([GONE, live]).end.row == live
    assert story.settled == []


def test_a_job_that_now_has_the_phantoms_id_is_left_alone():
    other = replace(ROW, name="other", launch_id="npa-launch-2")
    story = in_doubt().sees([LIFELESS], at=1.0).sees([LIFELESS], at=2.0).hears(tx.ReapAsked("7", 2.0))
    story.sees([other], at=3.0)
    assert story.end.outcome == "undecided"
    assert "left alone" in story.end.message


def test_what_an_earlier_driver_began_to_end_is_seen_to_its_end():
    known: dict[str, Any] = {
        "posts": 1,
        "open": True,
        "answered": True,
        "posted_in": "s1",
        "begun": {"7": "phantom"},
    }
    story = Story(**known).sees([LIFELESS])
    assert story.does == tx.Reap(LIFELESS, "phantom"), "whether it was asked is not known"
    story = Story(**known).sees([GONE])
    assert story.effects[0] == tx.RecordReaped("7", "CANCELLED"), "it is not adopted as a cancelled job"
    assert story.settled == [(1, "ended")]


def test_a_phantom_of_a_post_that_is_not_the_last_settles_nothing():
    old = replace(LIFELESS, post=0)
    story = Story(posts=2, open=True, answered=True, posted_in="s1", loose=frozenset({1}))
    story.sees([old], at=1.0).sees([old], at=2.0).hears(tx.ReapAsked("7", 2.0)).sees([GONE])
    assert story.effects == (tx.RecordReaped("7", "CANCELLED"), tx.ReadRows())


def test_a_row_that_the_log_knows_nothing_of_is_given_back_as_it_is():
    assert Story().sees([LIFELESS]).end.row == LIFELESS
