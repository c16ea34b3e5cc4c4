"""Two drivers of one run in two real processes, which are stopped, woken and killed at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from npac.ledger.fold import fsck
from npac.ledger.ports import Event
from npac.ledger.roots import root_for
from tests.ledger.objects.proxy import proxied

Start = Callable[..., "subprocess.Popen[str]"]

ROUNDS = 60 if os.environ.get("NPAC_SOAK") else 6

DRIVER = """
import dataclasses, json, os, sys, time
from npac.ledger.lease import Patience
from npac.ledger.ports import LeaseHeld, LeaseLost, LedgerError
from npac.ledger.process import this_process
from npac.ledger.surroundings import Surroundings, boot_seconds

url, name, provable = sys.argv[1], sys.argv[2], sys.argv[3] == "provable"


def of_another_machine():
    return dataclasses.replace(this_process(), host=name, boot_id=name)


scale = float(sys.argv[4])
times = Patience(silence=scale, may_act=0.5 * scale, look_every=0.05, settle=0.4 * scale)
around = Surroundings(patience=times)
if not provable:
    around = dataclasses.replace(around, process=of_another_machine)
if url.startswith("s3://"):
    from npac.ledger.objects.root import ObjectRoot as Root
else:
    from npac.ledger.root import LedgerRoot as Root
ledger = Root(url, surroundings=around).open("run-1")


def say(**what):
    os.write(1, (json.dumps(what) + "\\n").encode())


say(ready=True)
sys.stdin.readline()
n = 0
while True:
    try:
        fence = ledger.take({"who": name})
        say(took=fence)
        while True:
            n += 1
            event = ledger.append("intent", {"who": name, "n": n}, fence)
            if not ledger.lease.may_act(boot_seconds()):
                continue
            say(did=event.number, fence=fence)
            time.sleep(0.02)
    except LeaseHeld:
        say(held=True)
        time.sleep(0.05)
    except LeaseLost:
        say(lost=fence)
    except LedgerError as error:
        say(error=str(error))
        time.sleep(0.05)
"""


@pytest.fixture(params=["file", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "file":
        yield str(tmp_path / "root")
        return
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")
    with proxied(request.getfixturevalue("moto_url")) as proxy:
        request.getfixturevalue("aws")(proxy.url)
        bucket = f"bucket-{uuid.uuid4().hex}"
        boto3.client("s3").create_bucket(Bucket=bucket)
        # Now and then a reply is lost, or a write fails, whoever's it is.
        for after in (True, False):
            proxy.fail("PUT", "log/", status=0, stored=after, every=7 if after else 11)
        yield f"s3://{bucket}/runs"


def told(process: subprocess.Popen[str]) -> list[dict[str, object]]:
    """Give all that a killed process has said; its last line may be half of one."""
    assert process.stdout is not None
    said = []
    for line in process.stdout.read().splitlines():
        if line.endswith("}"):
            said.append(json.loads(line))
    return said


def starts(events: Sequence[Event]) -> list[Event]:
    """Give the events by which drivers took the run."""
    return [event for event in events if event.type == "driver-started"]


def demand_one_at_a_time(events: list[Event], said: dict[str, list[dict[str, object]]]) -> None:
    """See that whatever a driver did stands in the log under its fence, and nothing after it was replaced."""
    fences = starts(events)
    assert [event.fence for event in fences] == list(range(1, len(fences) + 1))
    who = {event.fence: event.data["driver"]["who"] for event in fences}
    by_number = {event.number: event for event in events}
    done: set[object] = set()
    for name, lines in said.items():
        for line in lines:
            if "did" in line:
                event = by_number[int(str(line["did"]))]
                assert (event.type, event.data["who"], event.fence) == ("intent", name, line["fence"])
                assert who[event.fence] == name
                assert line["did"] not in done, "two drivers had the same right to act"
                done.add(line["did"])
    for event in events:
        if event.type == "intent":
            assert event.data["who"] == who[event.fence]


@pytest.mark.parametrize("how", ["provable", "of two machines"])
def test_of_two_drivers_one_works_and_the_other_stops(url: str, how: str, python: Start) -> None:
    root_for(url).create("run-1")
    moments = random.Random(f"{url[:4]}{how}")
    names = ("one", "two")
    drivers = {name: python(DRIVER, url, name, how, "1") for name in names}
    for driver in drivers.values():
        assert driver.stdout is not None and "ready" in driver.stdout.readline()
    for driver in drivers.values():
        assert driver.stdin is not None
        driver.stdin.write("go\n")
        driver.stdin.flush()
    reader = root_for(url).open("run-1")
    round, end = 0, time.monotonic() + (900 if os.environ.get("NPAC_SOAK") else 90)
    # A driver that is stopped while it writes to a folder keeps it locked, and is not replaced.
    while round < ROUNDS or len(starts(reader.events())) < 2:
        assert time.monotonic() < end, "no driver was ever replaced"
        # The one that works, or the other; for longer than a taker waits, or for less; at any moment.
        time.sleep(0.1 + moments.random() * 0.3)
        working, long = round % 3 != 2, round % 2 == 0
        holder = (reader.holder() or {"driver": {"who": "one"}})["driver"]["who"]
        name = next(each for each in names if (each == holder) is working)
        os.kill(drivers[name].pid, signal.SIGSTOP)
        time.sleep(1.5 + moments.random() if long else moments.random() * 0.9)
        os.kill(drivers[name].pid, signal.SIGCONT)
        round += 1
    first, second = (drivers[name] for name in moments.sample(names, 2))
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    # The one that is left gets on with the run, within what a taker waits.
    left = next(name for name in names if drivers[name] is second)
    before = len(reader.events())
    end = time.monotonic() + 30
    while not any(event.data.get("who") == left for event in reader.events(after=before)):
        assert time.monotonic() < end, "the driver that is left does not go on"
        time.sleep(0.1)
    os.kill(second.pid, signal.SIGKILL)
    second.wait()
    said = {name: told(driver) for name, driver in drivers.items()}
    ledger = root_for(url).open("run-1")
    assert fsck(ledger) == []
    events = list(ledger.events())
    demand_one_at_a_time(events, said)
    for name in names:
        assert any("did" in line for line in said[name]) or any("held" in line for line in said[name])
    replaced = [event.data["replaced"]["because"] for event in starts(events)[1:]]
    assert replaced
    if how != "provable":
        assert set(replaced) == {"silent"}


def test_of_drivers_that_start_at_once_one_works(url: str, python: Start) -> None:
    root_for(url).create("run-1")
    drivers = {name: python(DRIVER, url, name, "provable", "60") for name in ("a", "b", "c")}
    for driver in drivers.values():
        assert driver.stdout is not None and "ready" in driver.stdout.readline()
    for driver in drivers.values():
        assert driver.stdin is not None
        driver.stdin.write("go\n")
        driver.stdin.flush()
    said: dict[str, list[dict[str, object]]] = {name: [] for name in drivers}
    for name, driver in drivers.items():
        assert driver.stdout is not None
        while not any("took" in line or "held" in line for line in said[name]):
            said[name].append(json.loads(driver.stdout.readline()))
    for driver in drivers.values():
        driver.kill()
        driver.wait()
    for name, driver in drivers.items():
        said[name] += told(driver)
    demand_one_at_a_time(list(root_for(url).open("run-1").events()), said)
    assert sum(any("took" in line for line in lines) for lines in said.values()) == 1
    assert sum(any("held" in line for line in lines) for lines in said.values()) == 2
