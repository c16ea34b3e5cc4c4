"""Stores that do not keep two writers apart: refused, or used with one writer and a warning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from npac.ledger.fold import fsck
from npac.ledger.objects.root import ObjectRoot
from npac.ledger.ports import LedgerError
from tests.ledger.objects.proxy import Proxy

MakeRoot = Callable[..., ObjectRoot]
ALWAYS = 1_000_000


@pytest.fixture(params=["ignores the condition", "does not know it", "knows no such header"])
def simple_store(request: pytest.FixtureRequest, proxy: Proxy) -> Proxy:
    """Have the store behave like one of before conditional writes."""
    if request.param == "ignores the condition":
        proxy.fail("PUT", "", condition=False, times=ALWAYS)
    else:
        status, code = (501, "NotImplemented") if "not know" in request.param else (400, "InvalidArgument")
        proxy.fail("PUT", "", status=status, code=code, times=ALWAYS, only_conditional=True)
    return proxy


def test_a_store_without_conditional_writes_is_refused(
    make_root: MakeRoot, simple_store: Proxy, bucket: Any
) -> None:
    root = make_root()
    with pytest.raises(LedgerError, match="does not do conditional writes") as caught:
        root.create("run-1")
    assert "--single-writer" in caught.value.remedy and root.place in str(caught.value)
    assert all(each.key.startswith("runs/.npac/") for each in bucket.objects.all())
    assert root.runs() == []


def test_it_is_used_with_one_writer_where_that_is_said(make_root: MakeRoot, simple_store: Proxy) -> None:
    root = make_root(single_writer=True)
    ledger = root.create("run-1")
    assert "never start a second one" in root.caution("run-1")
    fence = ledger.take({})
    ledger.append("a", {}, fence)
    ledger.answer(ledger.ask("cancel", {}), fence, {"accepted": True})
    ledger.release(fence)
    # Whoever goes on with it need not say it again, and is warned again.
    later = make_root()
    assert "never start a second one" in later.caution("run-1")
    again = later.open("run-1")
    second = again.take({})
    again.append("b", {}, second)
    assert [each.type for each in again.events()] == ["driver-started", "a", "driver-started", "b"]
    assert fsck(again) == []


@pytest.mark.parametrize(
    "fault", [{"status": 500}, {"status": 0, "stored": True}, {"status": 503, "stored": True}]
)
def test_a_write_by_the_one_writer_is_stored_once_whatever_the_answer(
    make_root: MakeRoot, proxy: Proxy, fault: dict[str, Any]
) -> None:
    proxy.fail("PUT", ".npac", condition=False, times=2)
    ledger = make_root(single_writer=True).create("run-1")
    fence = ledger.take({})
    proxy.fail("PUT", "log/000000000002", **fault)
    assert ledger.append("a", {}, fence).number == 2 and ledger.append("b", {}, fence).number == 3
    assert len(make_root().open("run-1").events()) == 3


def test_a_store_that_can_is_used_as_one_that_can(make_root: MakeRoot) -> None:
    root = make_root(single_writer=True)
    root.create("run-1")
    assert root.caution("run-1") == ""


def test_a_run_is_not_taken_where_its_store_has_lost_the_means(make_root: MakeRoot, proxy: Proxy) -> None:
    make_root().create("run-1")
    proxy.fail("PUT", "", condition=False, times=ALWAYS)
    ledger = make_root().open("run-1")
    with pytest.raises(LedgerError, match="does not do conditional writes"):
        ledger.take({})
    assert ledger.events() == []


@pytest.mark.parametrize("fault", [{"status": 500, "times": ALWAYS}, {"status": 403, "code": "AccessDenied"}])
def test_a_store_that_does_not_answer_is_not_said_to_be_without(
    make_root: MakeRoot, proxy: Proxy, fault: dict[str, Any]
) -> None:
    from npac.ledger.lease import Patience
    from npac.ledger.surroundings import Surroundings

    proxy.fail("PUT", ".npac", **fault)
    root = make_root(single_writer=True, surroundings=Surroundings(patience=Patience(settle=1.0)))
    with pytest.raises(LedgerError) as caught:
        root.create("run-1")
    assert "conditional writes (If" not in str(caught.value)
    proxy.faults.clear()
    assert root.create("run-1").events() == []


def test_the_store_is_asked_once(make_root: MakeRoot, proxy: Proxy) -> None:
    root = make_root()
    for run_id in ("a", "b"):
        root.create(run_id).take({})
    assert proxy.count("PUT", ".npac") == 2
