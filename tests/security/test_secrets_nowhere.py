"""A run with secrets succeeds, fails, is killed and goes on; no byte that npac wrote then holds one."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.runs_of import HEAD
from tests.security.planted import NAMED, TRACE, UNNAMED, Place, command_lines

SECRET = ("--secret-env", "NPAC_TEST_TOKEN")
FAST = ("--poll-seconds", "0.05")

CHECK = 'test -n "$NPAC_TEST_TOKEN" && test -z "$AWS_SECRET_ACCESS_KEY$NPAC_TEST_OTHER"'


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for run in ("ok", "bad", "killed"):
        if (place.state / "runs" / run).is_dir():
            place.npac("cancel", run)


def spec(place: Place, first: str, second: str) -> str:
    """Write a spec of two steps, the first of which is given its command as a block of shell."""
    steps = "".join(
        f"  {name}:\n    secrets: [NPAC_TEST_TOKEN]\n    run:\n      shell: |\n"
        + "".join(f"        {line}\n" for line in text.splitlines())
        + f"    {after}\n"
        for name, text, after in (("first", first, "next: second"), ("second", second, "terminal: true"))
    )
    return str(place.write("spec.yaml", f"{HEAD}states:\n{steps}"))


def wait(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, "waited for a minute in vain"
        time.sleep(0.02)


def look_at_everything(place: Place, run: str) -> None:
    """Let every command that shows a run show it."""
    for command in (
        ("status", run), ("status", run, "--json"), ("why", run), ("events", run), ("events", run, "--json"),
        ("logs", run), ("runs",), ("runs", "fsck", run),
    ):  # fmt: skip
        assert place.npac(*command) == 0, place.said[-1]


def jobs_of(place: Place) -> int:
    with sqlite3.connect(place.state / "engines" / "local" / "queue.sqlite") as sql:
        found = int(sql.execute("SELECT count(*) FROM job").fetchone()[0])
    sql.close()
    return found


def supervisors(place: Place) -> list[int]:
    with sqlite3.connect(place.state / "engines" / "local" / "queue.sqlite") as sql:
        found = [pid for (pid,) in sql.execute("SELECT pid FROM job WHERE ended_at IS NULL")]
    sql.close()
    return found


def test_a_run_that_succeeds(place: Place) -> None:
    path = spec(place, CHECK, f'{CHECK}; echo "${{#NPAC_TEST_TOKEN}} characters"')
    assert place.npac("run", path, "--run-id", "ok", *SECRET, *FAST) == 0, place.said
    look_at_everything(place, "ok")
    assert any(b" characters\n" in text for _, text in place.said), "the second step has had it"
    assert place.exposed() == []
    assert place.open_to_others() == []


def test_a_command_that_fails_with_a_secret_in_its_hands(place: Place) -> None:
    # The secret is an argument of what fails, stands in a command's own variables, and in no output.
    path = spec(place, 'sh -c "exit 9" -- "$NPAC_TEST_TOKEN"', "true")
    assert place.npac("run", path, "--run-id", "bad", *SECRET, *FAST) == 1
    look_at_everything(place, "bad")
    assert place.npac("retry", "bad", *FAST) == 1
    assert place.exposed() == []
    assert place.open_to_others() == []


def test_driver_and_supervisor_are_killed(place: Place) -> None:
    go = place.folder / "work" / "go"
    path = spec(place, f"{CHECK}; while [ ! -e {go} ]; do sleep 0.02; done", CHECK)
    driver = place.start(
        "run", path, "--run-id", "killed", *SECRET, *FAST, "--max-infrastructure-recoveries", "2"
    )
    queue = place.state / "engines" / "local" / "queue.sqlite"
    wait(lambda: queue.exists() and queue.stat().st_size > 0 and _running(queue))
    assert TRACE not in command_lines()
    for pid in supervisors(place):
        assert TRACE not in Path(f"/proc/{pid}/environ").read_bytes()
    os.kill(driver.pid, signal.SIGKILL)
    output, _ = driver.communicate()
    place.said.append((("run",), output))
    for pid in supervisors(place):
        os.kill(pid, signal.SIGKILL)
    assert place.exposed() == []
    go.touch()
    place.mine.add(go)
    assert place.npac("resume", "killed", *FAST) == 0, place.said[-1]
    look_at_everything(place, "killed")
    assert place.exposed() == []
    assert place.open_to_others() == []


def _running(queue: Path) -> bool:
    with sqlite3.connect(queue) as sql:
        try:
            found = sql.execute("SELECT count(*) FROM job WHERE status = 'RUNNING'").fetchone()[0]
        except sqlite3.OperationalError:  # the tables are not there yet
            found = 0
    sql.close()
    return bool(found)


def test_a_resume_without_the_secret_names_it_and_launches_nothing(place: Place) -> None:
    path = spec(place, "exit 1", "true")
    assert place.npac("run", path, "--run-id", "bad", *SECRET, *FAST) == 1
    del place.environment["NPAC_TEST_TOKEN"]
    jobs = jobs_of(place)
    assert place.npac("retry", "bad", *FAST) == 2
    assert b"NPAC_TEST_TOKEN" in place.said[-1][1] and b"--secret-env" in place.said[-1][1]
    assert jobs_of(place) == jobs == 1
    place.environment["NPAC_TEST_TOKEN"] = NAMED
    assert place.exposed() == []


def test_what_would_write_a_secret_down_is_refused_and_does_not_show_it(place: Place) -> None:
    config = "config: {key: unset}\n"
    plain = place.write(
        "plain.yaml",
        f"{HEAD}{config}states:\n  first: {{run: {{argv: [echo, '{{{{config.key}}}}']}}, terminal: true}}\n",
    )
    held = place.write(
        "held.yaml",
        f"{HEAD}states:\n  first:\n    run: {{shell: {json.dumps('echo ' + NAMED)}}}\n    terminal: true\n",
    )
    values = place.write("values.yaml", f"key: {json.dumps(NAMED)}\n")
    raw = place.write("raw.yaml", f"name: raw\nenvs: {{PLAIN: {json.dumps(NAMED)}}}\nrun: 'true'\n")
    secrets = place.write(
        "secrets.yaml", f"name: raw\nsecrets: {{TOKEN: {json.dumps(NAMED)}}}\nrun: 'true'\n"
    )
    attempts = [
        ("run", str(plain), "--secret-env", f"NPAC_TEST_TOKEN={NAMED}"),
        ("run", str(plain), "--secret-env", NAMED),
        ("run", str(plain), *SECRET, "--var", f"key={NAMED}"),
        ("run", str(plain), *SECRET, "--config", str(values)),
        ("run", str(plain), *SECRET, "--run-id", NAMED),
        ("run", str(held), *SECRET),
        ("run", str(raw), *SECRET),
        ("run", str(secrets), *SECRET),
        ("run", str(secrets)),
    ]
    for argv in attempts:
        assert place.npac(*argv) in (1, 2), place.said[-1]
    assert place.exposed() == []
    # Nothing was begun: there is no run.
    assert not (place.state / "runs").exists() or not os.listdir(place.state / "runs")


def test_what_the_shell_has_exported_reaches_no_task_by_itself(place: Place) -> None:
    path = spec(place, "env > seen; ! grep -q zq7-shell seen", "true")
    assert place.npac("run", path, "--run-id", "ok", *SECRET, *FAST) == 0, place.said
    assert not any(value.encode() in text for value in UNNAMED.values() for _, text in place.said)
