"""An intent that another driver has left open."""

from __future__ import annotations

from npac.launch import transaction as tx
from tests.launch.telling import ASYNC, CLAIMS, REQUEST, ROW, Story

OPEN = {"posts": 1, "open": True, "posted_in": "s1"}


def test_a_driver_that_may_be_alive_may_yet_send_its_post_so_nothing_is_decided_without_claims():
    story = Story(ASYNC, **OPEN, predecessor_dead=False).sees()
    assert story.end.outcome == "undecided"
    assert "not proven dead" in story.end.message
    assert story.settled == []


def test_what_it_has_sent_already_is_adopted():
    assert Story(ASYNC, **OPEN, predecessor_dead=False).sees([ROW]).end.row == ROW
    story = Story(ASYNC, **OPEN, predecessor_dead=False).sees((), REQUEST)
    assert story.effects == (tx.RecordResult(1, "accepted", "r1"), tx.WaitToLook(1))


def test_a_call_that_is_known_to_have_returned_is_not_sent_again_by_anybody():
    story = Story(ASYNC, **OPEN, answered=True, predecessor_dead=False).sees()
    assert story.does == tx.WaitToLook(1)
    assert story.sees(at=60.0).effects[0] == tx.RecordSettled(1, "absent")


def test_after_a_driver_that_is_dead_long_absence_decides():
    story = Story(ASYNC, **OPEN).sees(at=59.0)
    assert story.does == tx.WaitToLook(1)
    assert story.sees(at=60.0).effects[0] == tx.RecordSettled(1, "absent")
    assert Story(ASYNC, **OPEN).sees(at=60.0, start="s2").end.outcome == "undecided"


def test_with_claims_the_seal_makes_the_post_of_a_paused_driver_harmless():
    story = Story(CLAIMS, **OPEN, granted=True, predecessor_dead=False).sees()
    assert story.does == tx.Seal(1), "no time that passes says anything about it"
    story.hears(tx.Sealed(0.0))
    assert story.effects == (tx.RecordSettled(1, "sealed"), tx.ReadRows())
    assert story.sees().does == tx.RecordIntent(2, "s1", True)


def test_with_claims_and_a_dead_driver_the_seal_waits_for_the_quiet_time():
    story = Story(CLAIMS, **OPEN, granted=True).sees(at=59.0)
    assert story.does == tx.WaitToLook(1)
    assert story.sees(at=60.0, start="s2").does == tx.Seal(1), "a register knows nothing of restarts"


def test_a_post_that_took_no_grant_along_is_never_sealed():
    story = Story(CLAIMS, **OPEN, granted=False, predecessor_dead=False).sees()
    assert story.end.outcome == "undecided"


def test_a_post_with_a_grant_is_decided_as_one_without_when_the_register_is_out_of_reach_for_good():
    story = Story(ASYNC, **OPEN, granted=True).sees(at=60.0)
    assert story.settled == [(1, "absent")]


def test_a_row_of_a_post_that_an_earlier_driver_may_have_sealed_is_adopted_by_its_register():
    story = Story(CLAIMS, **OPEN, granted=True).sees([ROW])
    assert story.does == tx.ReadClaim(1)
    assert story.hears(tx.Unclaimed(0.0)).end.row == ROW
    story = Story(CLAIMS, **OPEN, granted=True).sees([ROW]).hears(tx.Claimed("7", "engine-1", 0.0))
    assert story.sees([ROW]).end.row == ROW
    story = Story(CLAIMS, **OPEN, granted=True).sees([ROW]).hears(tx.Sealed(0.0))
    assert story.settled == [(1, "sealed")]
    assert story.sees([ROW]).does == tx.Reap(ROW, "sealed")


def test_an_accepted_launch_is_asked_after_by_the_request_on_record():
    story = Story(ASYNC, posts=1, accepted=True, answered=True, request_id="r1", posted_in="s1")
    story.sees().learns("failed", message="quota").sees()
    assert (story.end.outcome, story.end.message) == ("rejected", "quota")
