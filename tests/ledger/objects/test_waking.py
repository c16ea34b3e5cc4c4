"""Drivers that sleep and wake up in the very moment in which they are replaced."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from npac.ledger.lease import MAY_ACT, SILENCE, Patience
from npac.ledger.objects.root import ObjectRoot
from npac.ledger.ports import LeaseHeld, LeaseLost, LedgerError
from npac.ledger.process import ProcessIdentity, this_process
from npac.ledger.surroundings import Surroundings, utc_now
from tests.ledger.objects.proxy import Proxy

MakeRoot = Callable[..., ObjectRoot]


def elsewhere() -> ProcessIdentity:
    """Give a process of another machine, of which nothing can be proven here."""
    return dataclasses.replace(this_process(), host="elsewhere", boot_id="another-boot")


class World:
    """One clock for all, which passes only while a taker sleeps; ``between`` happens before it writes.

    A taker asks for the date once it has decided to take, and before it writes that it does.
    """

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept = 0.0
        self.between: Callable[[], object] | None = None

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.slept += seconds

    def date(self) -> str:
        act, self.between = self.between, None
        if act is not None:
            act()
        return utc_now()

    def here(self) -> Surroundings:
        seldom = Patience(look_every=10.0)
        return Surroundings(lambda: self.time, self.sleep, now=self.date, patience=seldom)

    def there(self) -> Surroundings:
        return Surroundings(lambda: self.time, self.sleep, process=elsewhere)


def test_a_heartbeat_in_that_moment_is_waited_out(make_root: MakeRoot) -> None:
    world = World()
    there = make_root(surroundings=world.there()).create("r")
    old = there.take({})
    here = make_root(surroundings=world.here()).open("r")
    world.between = lambda: there.heartbeat(old)
    new = here.take({})
    assert there.lease is not None and new == old + 1
    # The old driver held its heartbeat for good, and now it may act no more.
    assert world.slept >= SILENCE + MAY_ACT and not there.lease.may_act(world.time)
    assert here.lease is not None and here.lease.may_act(world.time)
    with pytest.raises(LeaseLost):
        there.heartbeat(old)


def test_an_event_in_that_moment_keeps_the_run(make_root: MakeRoot) -> None:
    world = World()
    there = make_root(surroundings=world.there()).create("r")
    old = there.take({})
    here = make_root(surroundings=world.here()).open("r")

    def wake() -> None:
        there.append("intent", {}, old)
        # And it goes on giving signs of life.
        world.between = None

    world.between = wake
    first = len(there.events())
    plain = world.sleep

    def sleep(seconds: float) -> None:
        plain(seconds)
        if len(there.events()) > first:
            there.heartbeat(old)

    here._around = dataclasses.replace(here._around, sleep=sleep)
    with pytest.raises(LeaseHeld, match="sign of life"):
        here.take({})
    assert [each.type for each in here.events()] == ["driver-started", "intent"]


def test_without_a_sign_of_life_nothing_more_is_waited_for(make_root: MakeRoot) -> None:
    world = World()
    there = make_root(surroundings=world.there()).create("r")
    there.take({})
    assert make_root(surroundings=world.here()).open("r").take({}) == 2
    assert SILENCE <= world.slept <= SILENCE + 10


def test_where_a_sign_of_life_cannot_be_looked_for_it_is_waited_out(
    make_root: MakeRoot, proxy: Proxy
) -> None:
    world = World()
    there = make_root(surroundings=world.there()).create("r")
    there.take({})
    here = make_root(surroundings=world.here()).open("r")
    world.between = lambda: proxy.fail("GET", "heartbeat/1", status=403, code="AccessDenied")
    assert here.take({}) == 2 and world.slept >= SILENCE + MAY_ACT


def test_a_holder_that_slept_while_it_wrote_knows_whether_it_still_has_the_run(make_root: MakeRoot) -> None:
    world = World()
    slow = dataclasses.replace(world.there(), now=world.date)
    there = make_root(surroundings=slow).create("r")
    fence = there.take({})

    def doze() -> None:
        world.time += MAY_ACT + 10

    world.between = doze
    event = there.append("intent", {}, fence)
    assert event.number == 2 and there.lease is not None
    assert there.lease.last_good == world.time, "it gave a sign of life, and saw that nobody took the run"

    def doze_and_lose() -> None:
        world.time += SILENCE + 30
        make_root(surroundings=world.here()).open("r").take({})

    world.between = doze_and_lose
    with pytest.raises(LeaseLost, match="driver 2 has taken the run"):
        there.append("intent", {}, fence)


def test_a_holder_that_slept_and_cannot_find_out_does_not_go_on(make_root: MakeRoot, proxy: Proxy) -> None:
    world = World()
    there = make_root(surroundings=dataclasses.replace(world.there(), now=world.date)).create("r")
    fence = there.take({})

    def doze() -> None:
        world.time += MAY_ACT + 10
        proxy.fail("PUT", "heartbeat/1", status=500)

    world.between = doze
    with pytest.raises(LedgerError) as caught:
        there.append("intent", {}, fence)
    assert not isinstance(caught.value, LeaseLost) and len(there.events()) == 2


def test_times_under_which_two_could_act_are_refused() -> None:
    for odd in ({"silence": 59.0}, {"may_act": 31.0}, {"settle": 31.0}, {"settle": 0.0}):
        with pytest.raises(ValueError, match="must stop acting"):
            Patience(**odd)
