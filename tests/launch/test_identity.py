from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npac.launch.backoff import Backoff
from npac.launch.classify import CANCELLED, INFRASTRUCTURE, PAYLOAD, SUCCESS, family, gravest
from npac.launch.identity import NAME_LIMIT, job_name, launch_id, may_be_of_run
from npac.launch.ports import TERMINAL


def test_a_launch_id_is_the_hash_of_all_that_makes_the_launch():
    first = launch_id("uid", "loop[1]/train", 1, 1, ["0", "1"])
    # printf 'uid\0loop[1]/train\0001\0001\0000\0001' | sha256sum
    assert first == "npa-launch-d21def75c94299e07c46a59c4f3b77a4"
    assert launch_id("uid", "loop[1]/train", 1, 1, ["1", "0"]) == first
    others = {
        launch_id("uid2", "loop[1]/train", 1, 1, ["0", "1"]),
        launch_id("uid", "loop[2]/train", 1, 1, ["0", "1"]),
        launch_id("uid", "loop[1]/train", 2, 1, ["0", "1"]),
        launch_id("uid", "loop[1]/train", 1, 2, ["0", "1"]),
        launch_id("uid", "loop[1]/train", 1, 1, ["0"]),
    }
    assert len(others | {first}) == 6


def test_a_job_name_tells_run_wave_batch_and_attempt():
    launch = launch_id("uid", "train", 1, 1, ["0"])
    tail = launch.removeprefix("npa-launch-")[:10]
    assert job_name("My Run", 7, "Stage_07", launch) == f"my-run-007-stage-07-{tail}"
    assert job_name("r", 7, "s", launch, batch=2, attempt=3) == f"r-007-s-b2-a3-{tail}"
    assert job_name("7up", 1, "é", launch) == f"r7up-001-wave-{tail}"


@given(
    run=st.text(max_size=96),
    number=st.integers(1, 250_000),
    label=st.text(max_size=200),
    batch=st.none() | st.integers(1, 9999),
    attempt=st.integers(1, 999),
)
def test_the_end_of_a_name_is_never_cut(run, number, label, batch, attempt):
    launch = launch_id("u", "n", 1, 1, [])
    name = job_name(run, number, label, launch, batch=batch, attempt=attempt)
    assert len(name) <= NAME_LIMIT
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name)
    tail = f"-b{batch}" if batch is not None else ""
    tail += f"-a{attempt}" if attempt > 1 else ""
    assert name.endswith(tail + "-" + launch.removeprefix("npa-launch-")[:10])
    assert f"-{number:03d}-" in name
    assert may_be_of_run(name, run)


def test_a_job_of_another_run_is_told_apart():
    name = job_name("nightly", 3, "train", launch_id("u", "n", 1, 1, []))
    assert may_be_of_run(name, "nightly")
    assert not may_be_of_run(name, "night")
    assert not may_be_of_run(name, "nightly-2")
    assert not may_be_of_run(name, "nightly-and-a-longer-name")
    assert not may_be_of_run("nightly-003-train", "nightly")


def test_backoff_doubles_to_its_cap_and_jitters_by_a_fifth():
    backoff = Backoff()
    assert [backoff.delay(n, lambda: 0.5) for n in range(1, 7)] == [2, 4, 8, 16, 20, 20]
    assert backoff.delay(1, lambda: 0.0) == pytest.approx(1.6)
    assert backoff.delay(1, lambda: 0.999999) == pytest.approx(2.4, abs=1e-3)
    assert backoff.base(10_000) == 20


def test_every_end_of_a_job_has_a_family():
    assert {family(status) for status in TERMINAL} == {SUCCESS, PAYLOAD, INFRASTRUCTURE, CANCELLED}
    assert family("FAILED_CONTROLLER") == INFRASTRUCTURE
    assert gravest([CANCELLED, PAYLOAD, INFRASTRUCTURE]) == PAYLOAD
    assert gravest([CANCELLED, INFRASTRUCTURE]) == INFRASTRUCTURE
    with pytest.raises(ValueError, match="RUNNING"):
        family("RUNNING")
