from __future__ import annotations

import json
from dataclasses import replace

from npac.launch.ports import EngineError, JobRow, TaskRow
from npac.launch.supervision import Dark, Ended, Foreign, Gone, JobRef, Moved, Same, Watch, look

ROW = JobRow("7", "run-001-train", "npa-launch-1", "RUNNING", 12.5, tasks=(TaskRow("train", "RUNNING"),))
REF = JobRef.of(ROW, "instance", "npa-launch-1")


def test_a_job_is_known_by_all_of_its_identity():
    assert REF.is_of(ROW)
    assert REF.is_of(replace(ROW, launch_id=""))
    for other in (
        replace(ROW, id="8"),
        replace(ROW, name="x"),
        replace(ROW, submitted_at=12.6),
        replace(ROW, launch_id="npa-launch-2"),
    ):
        assert not REF.is_of(other)
    assert JobRef.from_json(json.loads(json.dumps(REF.to_json()))) == REF


def test_only_transitions_are_told():
    watch, first = look(Watch(REF), ROW, 0.0)
    watch, second = look(watch, ROW, 1.0)
    watch, third = look(watch, replace(ROW, tasks=(TaskRow("train", "SUCCEEDED", 0),)), 2.0)
    watch, fourth = look(watch, replace(ROW, status="SUCCEEDED"), 3.0)
    assert [type(each) for each in (first, second, third, fourth)] == [Moved, Same, Moved, Ended]


def test_an_outage_is_timed_and_its_end_is_told():
    watch, first = look(Watch(REF), EngineError("503"), 10.0)
    watch, second = look(watch, EngineError("503"), 25.0)
    assert first == Dark("503", True, 0.0)
    assert second == Dark("503", False, 15.0)
    _, third = look(watch, ROW, 26.0)
    assert third == Moved(ROW, back=True)


def test_one_answer_without_the_job_is_not_enough():
    watch, verdict = look(Watch(REF), None, 0.0)
    assert isinstance(verdict, Same)
    watch, _ = look(watch, EngineError("503"), 1.0)
    for _ in range(2):
        watch, verdict = look(watch, None, 2.0)
        assert isinstance(verdict, Same), "answers in a row count, not answers in all"
    watch, verdict = look(watch, None, 3.0)
    assert isinstance(verdict, Gone)


def test_a_job_under_our_id_that_is_another_is_foreign():
    _, verdict = look(Watch(REF), replace(ROW, submitted_at=99.0), 0.0)
    assert isinstance(verdict, Foreign)
