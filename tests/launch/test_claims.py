"""Registers: one job of a POST starts user code, or none ever does."""

from __future__ import annotations

from dataclasses import replace

from npac.launch import transaction as tx
from tests.launch.telling import CLAIMS, HERE, LIFELESS, OTHER, REQUEST, ROW, Story

TWIN = replace(ROW, id="8")


def in_doubt() -> Story:
    return Story(CLAIMS).posts().loses_the_reply()


def test_each_post_takes_a_grant_along():
    assert Story(CLAIMS).sees().does == tx.RecordIntent(1, "s1", True)


def test_a_register_is_sealed_only_after_the_quiet_time():
    story = in_doubt().sees(at=59.0)
    assert story.does == tx.WaitToLook(1)
    assert story.sees(at=60.0).does == tx.Seal(1)


def test_a_sealed_post_is_followed_by_the_next_whatever_became_of_the_server():
    story = in_doubt().sees(at=60.0, start="s2").hears(tx.Sealed(60.0))
    assert story.effects == (tx.RecordSettled(1, "sealed"), tx.ReadRows())
    assert story.sees(start="s2").does == tx.RecordIntent(2, "s2", True)


def test_a_job_that_has_claimed_before_the_seal_is_adopted_when_it_is_listed():
    story = in_doubt().sees(at=60.0).hears(tx.Claimed("7", HERE, 60.0))
    story.sees()
    assert story.does == tx.WaitToLook(1)
    assert story.sees([ROW], at=70.0).end == tx.Finish("attached", row=ROW, adopted=True)


def test_a_claimer_that_is_never_listed_is_undecided_and_not_posted_again():
    story = in_doubt().sees(at=60.0).hears(tx.Claimed("7", HERE, 60.0)).sees(at=180.0)
    assert story.end.outcome == "undecided"
    assert "job 7 has claimed" in story.end.message


def test_a_claimer_on_another_engine_is_not_adopted_here():
    story = in_doubt().sees(at=60.0).hears(tx.Claimed("7", OTHER, 60.0))
    assert story.end.outcome == "moved"


def test_a_claimer_that_is_listed_as_another_job_is_not_adopted():
    story = in_doubt().sees(at=60.0).hears(tx.Claimed("7", HERE, 60.0)).sees([replace(ROW, name="other")])
    assert story.end.outcome == "undecided"
    stranger = replace(ROW, name="other", launch_id="npa-launch-2")
    story = in_doubt().sees(at=60.0).hears(tx.Claimed("7", HERE, 60.0)).sees([stranger])
    assert story.end.outcome == "undecided"


def test_a_register_that_does_not_answer_is_asked_again_until_the_deadline():
    story = in_doubt().sees(at=60.0).hears(tx.ClaimUnknown("500", 60.0))
    assert story.does == tx.WaitToLook(1)
    assert story.sees([ROW], at=61.0).end.row == ROW, "a row that shows meanwhile is adopted"
    story = in_doubt().sees(at=180.0).hears(tx.ClaimUnknown("500", 180.0, "ask the owner"))
    assert (story.end.outcome, story.end.remedy) == ("undecided", "ask the owner")
    assert story.settled == []


def test_an_accepted_launch_is_waited_for_to_the_deadline_before_its_register_is_sealed():
    story = Story(CLAIMS).posts().is_accepted().sees(at=100.0).learns("succeeded", "7").sees()
    assert story.does == tx.WaitToLook(1)
    assert story.sees(at=180.0).does == tx.Seal(1)


def test_an_accepted_launch_that_a_restart_has_forgotten_is_sealed_after_the_quiet_time():
    story = Story(CLAIMS).posts().is_accepted().sees(at=59.0, start="s2").learns("unknown")
    assert story.sees(start="s2").does == tx.WaitToLook(1)
    assert story.sees(at=60.0, start="s2").does == tx.Seal(1)


def test_a_request_that_is_worked_at_is_not_sealed():
    story = in_doubt().sees((), REQUEST, at=100.0)
    assert story.does == tx.WaitToLook(1)
    assert story.sees((), REQUEST, at=180.0).end.outcome == "undecided"


def test_a_launch_that_was_refused_is_sealed_in_case_it_was_delivered_twice():
    story = Story(CLAIMS).posts().is_accepted().sees(at=1.0).learns("failed", message="no zone").sees()
    assert story.does == tx.Seal(1)
    story.hears(tx.Sealed(1.0))
    assert story.effects[0] == tx.RecordSettled(1, "sealed")
    assert (story.end.outcome, story.end.message) == ("rejected", "no zone")
    story = Story(CLAIMS).posts().is_accepted().sees(at=1.0).learns("failed", message="no zone").sees()
    assert story.hears(tx.Claimed("7", HERE, 1.0)).sees([ROW]).end.row == ROW


def test_of_two_rows_the_holder_is_adopted_once_the_other_is_ended():
    story = in_doubt().sees([ROW, TWIN], at=1.0)
    assert story.does == tx.ReadClaim(1)
    story.hears(tx.Claimed("8", HERE, 1.0)).sees([ROW, TWIN])
    assert story.does == tx.Reap(ROW, "claimed-out")
    story.hears(tx.ReapAsked("7", 1.0)).sees([ROW, TWIN], at=2.0)
    assert story.does == tx.WaitToLook(2)
    story.sees([replace(ROW, status="CANCELLED"), TWIN], at=3.0)
    assert story.effects == (tx.RecordReaped("7", "CANCELLED"), tx.ReadRows())
    assert story.sees([replace(ROW, status="CANCELLED"), TWIN]).end.row == TWIN


def test_a_loser_that_does_not_end_holds_nobody_up_for_ever():
    story = in_doubt().sees([ROW, TWIN], at=1.0).hears(tx.Claimed("8", HERE, 1.0)).sees([ROW, TWIN])
    story.hears(tx.ReapFailed("7", "503", 1.0)).sees([ROW, TWIN], at=2.0)
    assert story.does == tx.Reap(ROW, "claimed-out"), "it was not asked yet"
    story.hears(tx.ReapAsked("7", 2.0)).sees([ROW, TWIN], at=121.0).sees([ROW, TWIN])
    assert story.end.row == TWIN, "it starts no user code, whenever it may start"


def test_a_row_without_our_launch_id_is_never_ended():
    blind = replace(ROW, launch_id="")
    story = in_doubt().sees([blind, TWIN], at=1.0).hears(tx.Claimed("8", HERE, 1.0)).sees([blind, TWIN])
    assert story.end.row == TWIN
    assert story.reaped == []


def test_of_two_rows_that_nobody_has_claimed_none_is_chosen():
    story = in_doubt().sees([ROW, TWIN], at=1.0).hears(tx.Unclaimed(1.0))
    assert story.does == tx.WaitToLook(1)
    story.sees([ROW, TWIN], at=180.0).hears(tx.Unclaimed(180.0))
    assert story.end.outcome == "undecided"
    assert "7, 8" in story.end.message
    assert story.reaped == []


def test_jobs_of_a_sealed_post_are_ended_and_never_adopted():
    late = replace(ROW, post=1)
    story = in_doubt().sees(at=60.0).hears(tx.Sealed(60.0)).posts().is_accepted("r2").sees([late], at=61.0)
    assert story.does == tx.Reap(late, "sealed")
    story.hears(tx.ReapAsked("7", 61.0)).sees([replace(late, status="CANCELLED")], at=62.0)
    assert story.effects[0] == tx.RecordReaped("7", "CANCELLED")
    mine = replace(TWIN, post=2)
    assert story.sees([replace(late, status="CANCELLED"), mine]).end.row == mine


def test_a_job_that_names_no_post_is_of_the_sealed_one_while_no_other_is_out():
    story = in_doubt().sees(at=60.0).hears(tx.Sealed(60.0)).sees([ROW], at=61.0)
    assert story.does == tx.Reap(ROW, "sealed")


def test_a_job_of_the_sealed_post_that_has_ended_is_put_aside_before_the_next_post():
    over = replace(ROW, status="FAILED")
    story = in_doubt().sees(at=60.0).hears(tx.Sealed(60.0)).sees([over], at=61.0)
    assert story.effects == (tx.RecordReaped("7", "FAILED"), tx.ReadRows())
    assert story.sees([over]).does == tx.RecordIntent(2, "s1", True)
    story.hears(tx.IntentDurable(61.0)).loses_the_reply().sees([over], at=62.0)
    assert story.does == tx.WaitToLook(1), "it says nothing about the second POST"


def test_a_job_of_a_sealed_post_that_has_succeeded_stops_everything():
    story = in_doubt().sees(at=60.0).hears(tx.Sealed(60.0)).sees([replace(ROW, status="SUCCEEDED")])
    assert story.end.outcome == "undecided"


def test_while_a_second_post_is_out_the_register_tells_whose_a_nameless_row_is():
    story = in_doubt().sees(at=60.0).hears(tx.Sealed(60.0)).posts().loses_the_reply().sees([ROW], at=61.0)
    assert story.does == tx.ReadClaim(2)
    assert story.hears(tx.Unclaimed(61.0)).does == tx.WaitToLook(1), "it may be of the sealed POST"
    story.sees([ROW], at=62.0).hears(tx.Claimed("7", HERE, 62.0))
    assert story.sees([ROW]).end.row == ROW


def test_a_nameless_row_that_the_engine_named_when_it_accepted_needs_no_register():
    story = in_doubt().sees(at=60.0).hears(tx.Sealed(60.0)).posts().is_accepted("r2", "7").sees([ROW])
    assert story.end.row == ROW


def test_a_nameless_row_is_asked_after_by_the_request_that_should_have_made_it():
    story = in_doubt().sees(at=60.0).hears(tx.Sealed(60.0)).posts().is_accepted("r2").sees([ROW])
    assert story.learns("succeeded", "7", request="r2").sees([ROW]).end.row == ROW


def test_a_job_other_than_the_one_that_was_accepted_is_adopted_only_when_it_holds_the_register():
    story = Story(CLAIMS).posts().is_accepted("r1", "9").sees([ROW], at=1.0)
    assert story.does == tx.ReadClaim(1)
    assert story.hears(tx.Unclaimed(1.0)).does == tx.WaitToLook(1)
    story.sees([ROW], at=2.0).hears(tx.Claimed("7", HERE, 2.0))
    assert story.sees([ROW]).end.row == ROW


def test_a_request_of_a_sealed_post_does_not_hold_the_next_one_back():
    story = in_doubt().sees(at=60.0).hears(tx.Sealed(60.0)).sees((), REQUEST)
    assert story.does == tx.RecordIntent(2, "s1", True)
    story.hears(tx.IntentDurable(60.0)).loses_the_reply().sees((), REQUEST, at=61.0)
    assert not any(isinstance(e, tx.RecordResult) and e.request_id == "r1" for e in story.said)


def test_a_lifeless_job_is_sealed_first_and_then_ended():
    story = in_doubt().sees([LIFELESS], at=1.0)
    assert story.does == tx.WaitToLook(1)
    assert story.sees([LIFELESS], at=2.0).does == tx.Seal(1)
    story.hears(tx.Sealed(2.0)).sees([LIFELESS])
    assert story.does == tx.Reap(LIFELESS, "sealed")
    story = in_doubt().sees([LIFELESS], at=1.0).sees([LIFELESS], at=2.0).hears(tx.Claimed("7", HERE, 2.0))
    assert story.sees([ROW]).end.row == ROW, "it has come to life"


def test_a_store_of_claims_that_cannot_make_a_grant_holds_the_launch_back_and_then_ends_it():
    story = Story(CLAIMS).sees()
    story.hears(tx.ClaimUnknown("no such bucket", 0.0))
    assert story.does == tx.WaitToRetry(1)
    assert story.state.posts == 0, "there was no intent"
    story.sees(at=180.0).hears(tx.ClaimUnknown("no such bucket", 180.0))
    assert (story.end.outcome, story.state.posts) == ("unreachable", 0)
