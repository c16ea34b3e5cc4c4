"""One driver's hold on one run: the lease, the log, the view of it, and what people ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npac.ledger.lease import MAY_ACT
from npac.ledger.ports import LeaseLost, LedgerError, Request, RunLedger
from npac.runtime import events as ev
from npac.runtime import fold
from npac.runtime.leaving import Detached
from npac.runtime.options import RunOptions
from npac.runtime.signals import DETACH, INTERRUPT, answer
from npac.runtime.view import RunView
from npac.runtime.world import World

BEAT_EVERY = 10.0
"""Seconds between two heartbeats."""

CANCEL = "cancel"
RETRY = "retry"
DECIDE = "decide"


class Session:
    """Appends events, keeps the view up to date, and asks at every step whether to go on.

    All methods raise :class:`LedgerError` when the log cannot be written; the driver stops then.
    """

    def __init__(
        self, ledger: RunLedger, fence: int, view: RunView, world: World, options: RunOptions
    ) -> None:
        self.ledger = ledger
        self.fence = fence
        self.view = view
        self.world = world
        self.options = options
        self._beaten = world.clock()

    def append(self, type: str, data: Mapping[str, Any]) -> None:
        """Make one event durable and take it into the view."""
        sent = self.world.clock()
        event = self.ledger.append(type, ev.packed(data, self.ledger.put_blob), self.fence)
        self._beaten = sent
        fold.advance(self.view, event, self.ledger.get_blob)

    def beat(self) -> None:
        """Give a sign of life when one is due.

        Raises :class:`LeaseLost` when the last good one is so old that another driver may act.
        """
        now = self.world.clock()
        if now - self._beaten < BEAT_EVERY:
            return
        try:
            self.ledger.heartbeat(self.fence)
        except LeaseLost:
            raise
        except LedgerError:
            if now - self._beaten > MAY_ACT:
                raise
            return
        self._beaten = now

    def may_act(self) -> bool:
        """Say whether this driver has given a sign of life so lately that no other can have taken the run."""
        return self.world.clock() - self._beaten <= MAY_ACT

    def gone(self, fence: int) -> bool:
        """Say whether the driver of ``fence`` is proven to do nothing any more.

        One that was merely silent when the run was taken from it may be paused, and go on later.
        """
        if fence == self.fence:
            return True
        if self.view.replaced.get(fence) in ("released", "dead"):
            return True
        return self.world.proven_dead(self.view.processes.get(fence, {}))

    def look_up(self) -> bool:
        """Take in signals and requests; gives whether the run is to be cancelled.

        Called before each effect and at each poll.  Raises :class:`Detached` when the driver is to
        leave its jobs to a later one.
        """
        self.beat()
        self._signals()
        for request in self.ledger.requests():
            self._request(request)
        return self.view.cancel is not None

    def pause(self, seconds: float) -> None:
        """Wait, at most until a signal comes."""
        self.world.interrupts.wait(seconds)

    def answer(self, request: Request, accepted: bool, why: str) -> None:
        """Answer a request."""
        self.ledger.answer(request.id, self.fence, {"accepted": accepted, "why": why})

    def _signals(self) -> None:
        pending = self.world.interrupts.pending()
        if pending == INTERRUPT:
            choice = self.options.on_interrupt
            if choice == "ask":
                choice = answer(self.world.interrupts, self.world.progress.ask_interrupt)
                # A second signal while the question was open is an answer too.
                if self.world.interrupts.pending() == DETACH:
                    choice = "detach"
            self.world.interrupts.clear()
            if choice == "cancel" and self.view.cancel is None:
                self.append(ev.CANCEL_REQUESTED, {"request": "", "reason": "interrupted"})
            elif choice == "detach":
                raise Detached("interrupted", code="interrupted")
            elif choice == "continue":
                # Only now does another Ctrl-C ask again.
                self.world.progress.note("the run goes on")
        elif pending == DETACH:
            raise Detached("told to end by a signal", code="terminated")

    def _request(self, request: Request) -> None:
        if request.kind == CANCEL:
            if self.view.cancel is None:
                reason = str(request.data.get("reason") or "cancelled by request")
                self.append(ev.CANCEL_REQUESTED, {"request": request.id, "reason": reason})
            self.answer(request, True, "the run is being cancelled")
        elif request.kind == RETRY:
            self.answer(request, False, "the run is going on; there is no failed wave to try again")
        elif request.kind == DECIDE:
            self.answer(request, False, "no gate of this run is blocked; a decision is never given ahead")
        else:
            self.answer(request, False, f"this version knows no request of kind {request.kind!r}")
