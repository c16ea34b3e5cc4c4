"""An engine that takes a request first and makes a row later: how an uncertain POST is decided."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npac.launch import transaction as tx
from npac.launch.ports import ActiveRequest
from tests.launch.telling import ASYNC, OTHER, REQUEST, ROW, Story


def test_the_intent_names_the_start_of_the_server_that_was_looked_at():
    story = Story().sees(start="s9")
    assert story.does == tx.RecordIntent(1, "s9")
    assert story.hears(tx.IntentDurable(0.0)).state.posted_in == "s9"


def test_an_accepted_launch_is_waited_for_through_its_request():
    story = Story().posts().is_accepted()
    assert story.effects == (tx.RecordResult(1, "accepted", "r1", ""), tx.ReadRows())
    story.sees((), REQUEST, at=1.0)
    assert story.does == tx.WaitToLook(1)
    story.sees(at=2.0).learns("succeeded", "7")
    assert story.sees([ROW]).end == tx.Finish("attached", row=ROW, adopted=False)


def test_a_row_wins_over_everything_that_is_said_of_its_request():
    story = Story().posts().is_accepted().sees(at=1.0).learns("failed", message="no such cluster")
    assert story.sees([ROW]).end.row == ROW


def test_a_failed_precheck_ends_the_launch_with_the_reason_of_the_request():
    story = Story().posts().is_accepted().sees(at=1.0)
    story.learns("failed", message="cpus: 100000 cannot be had").sees()
    assert (story.end.outcome, story.end.message) == ("rejected", "cpus: 100000 cannot be had")


def test_a_failed_precheck_that_left_a_row_gives_the_row():
    failed = replace(ROW, status="FAILED_PRECHECKS", reason="no such zone")
    story = Story().posts().is_accepted().sees([failed], at=1.0)
    assert story.end == tx.Finish("attached", row=failed, adopted=False)


def test_a_request_that_is_still_active_after_the_deadline_is_left_to_a_later_driver():
    story = Story().posts().is_accepted().sees((), REQUEST, at=179.0)
    assert story.does == tx.WaitToLook(1)
    story.sees((), REQUEST, at=180.0)
    assert story.end.outcome == "undecided"
    assert "still works at request r1" in story.end.message


def test_an_engine_that_does_not_tell_of_the_request_is_asked_until_the_deadline():
    story = Story().posts().is_accepted().sees(at=100.0)
    assert story.hears(tx.RequestUnavailable("503", 100.0)).does == tx.WaitToLook(1)
    story.sees(at=180.0)
    assert story.hears(tx.RequestUnavailable("503", 180.0)).end.outcome == "undecided"


def test_a_request_that_a_restart_has_forgotten_proves_nothing_without_claims():
    story = Story().posts().is_accepted().sees(at=1.0, start="s2").learns("unknown").sees(start="s2")
    assert story.does == tx.WaitToLook(1)
    assert story.sees(at=179.0, start="s2").does == tx.WaitToLook(2)
    assert story.sees(at=180.0, start="s2").end.outcome == "undecided"
    assert story.settled == []


def test_a_lost_reply_and_our_row_is_adopted():
    story = Story().posts().loses_the_reply().sees([ROW], at=1.0)
    assert story.end == tx.Finish("attached", row=ROW, adopted=True)


def test_a_lost_reply_whose_request_is_active_is_accepted_after_all():
    story = Story().posts().loses_the_reply().sees((), REQUEST, at=1.0)
    assert story.effects == (tx.RecordResult(1, "accepted", "r1"), tx.WaitToLook(1))
    story.sees(at=70.0)
    assert story.does == tx.ReadRequest("r1"), "long absence is no evidence against what was accepted"


def test_a_lost_reply_that_nothing_comes_of_is_settled_after_the_quiet_time_and_posted_again():
    story = Story().posts().loses_the_reply(at=5.0).sees(at=64.0)
    assert story.does == tx.WaitToLook(1)
    story.sees(at=65.0)
    assert story.effects == (tx.RecordSettled(1, "absent"), tx.ReadRows())
    assert story.sees().does == tx.RecordIntent(2, "s1")


def test_the_times_count_from_the_return_of_the_call():
    story = Story().posts().loses_the_reply(at=500.0).sees(at=501.0)
    assert story.does == tx.WaitToLook(1), "a slow call has not used up the time to look"


def test_a_restart_of_the_server_takes_the_proof_out_of_absence():
    story = Story().posts().loses_the_reply().sees(at=61.0, start="s2")
    assert story.end.outcome == "undecided"
    assert "started anew" in story.end.message
    assert story.settled == []


def test_a_server_without_starts_that_can_be_told_apart_never_proves_absence():
    story = Story()
    story.sees(start="").hears(tx.IntentDurable(0.0)).loses_the_reply()
    assert story.sees(at=61.0, start="").end.outcome == "undecided"


def test_requests_that_the_engine_does_not_explain_stand_against_absence():
    riddle = ActiveRequest("r5", "", "")
    story = Story().posts().loses_the_reply().sees((), riddle, at=61.0)
    assert story.does == tx.WaitToLook(1)
    assert story.sees((), riddle, at=180.0).end.outcome == "undecided"
    story = Story().posts().loses_the_reply().sees((), riddle, at=61.0).sees(at=62.0)
    assert story.settled == [(1, "absent")]


def test_requests_for_other_launches_say_nothing():
    other = ActiveRequest("r5", "other", "npa-launch-2")
    story = Story().posts().loses_the_reply().sees((), other, at=61.0)
    assert story.settled == [(1, "absent")]


def test_another_engine_says_nothing_at_all():
    for story in (Story(), Story().posts().loses_the_reply(), Story().posts().is_accepted()):
        story.sees([], at=100.0, instance=OTHER)
        assert story.end.outcome == "moved"
        assert OTHER in story.end.message
    assert Story().sees([ROW], instance=OTHER).end.outcome == "moved", "its rows are not ours either"


def test_several_live_rows_without_claims_are_nobodys_to_choose():
    story = Story().posts().loses_the_reply().sees([ROW, replace(ROW, id="8")], at=1.0)
    assert story.end.outcome == "undecided"
    assert "7, 8" in story.end.message


def test_what_comes_of_a_post_that_was_held_to_be_absent_is_never_adopted_beside_another():
    story = Story().posts().loses_the_reply().sees(at=60.0).sees().hears(tx.IntentDurable(60.0))
    story.loses_the_reply().sees([replace(ROW, post=1)], at=61.0)
    assert story.end.outcome == "undecided"
    assert "not of POST 2" in story.end.message


def test_a_late_row_of_a_settled_post_is_adopted_while_no_other_is_out():
    late = replace(ROW, post=1)
    story = Story().posts().loses_the_reply().sees(at=60.0)
    assert story.sees([late], at=61.0).end.row == late


def test_a_request_of_a_settled_post_holds_the_next_one_back():
    story = Story(posts=1, loose=frozenset({1})).sees((), REQUEST)
    assert story.does == tx.WaitToLook(1)
    assert story.sees((), REQUEST, at=180.0).end.outcome == "undecided"


def test_an_engine_that_swallows_launches_is_not_fed_for_ever():
    story = Story()
    for _ in range(3):
        story.posts().loses_the_reply().sees(at=story.now + 60.0)
    assert story.settled == [(1, "absent"), (2, "absent"), (3, "absent")]
    assert story.end.outcome == "lost"
    assert "3 POSTs" in story.end.message


def test_a_launch_that_is_only_looked_for_is_given_up_once_it_is_settled():
    goal = replace(ASYNC, may_post=False)
    story = Story(goal, posts=1, open=True, answered=True, posted_in="s1").sees(at=60.0).sees()
    assert story.settled == [(1, "absent")]
    assert story.end.outcome == "absent"
    assert not any(isinstance(effect, tx.RecordIntent) for effect in story.said)


@pytest.mark.parametrize("gap", [2.0, 20.0, 170.0])
def test_a_post_that_never_left_is_tried_again_and_needs_no_settling(gap):
    story = Story().posts().hears(tx.PostFailed("never-sent", "refused", "", 0.0))
    assert story.effects == (tx.RecordResult(1, "never-sent", message="refused"), tx.WaitToRetry(1))
    assert story.sees(at=gap).does == tx.RecordIntent(2, "s1")
    assert story.settled == []
