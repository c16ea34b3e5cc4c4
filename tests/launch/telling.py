"""A launch told as a story: what happens is fed to the transaction, which says what it does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from npac.launch import transaction as tx
from npac.launch.ports import ActiveRequest, JobRow, RequestResult

HERE, OTHER = "engine-1", "engine-2"
ASYNC = tx.Goal("npa-launch-1", "run-001-train-abc", unique_key=False, instance=HERE, requests=True)
CLAIMS = replace(ASYNC, claims=True)
ROW = JobRow("7", ASYNC.name, ASYNC.launch_id, "PENDING", 1.0)
LIFELESS = replace(ROW, lively=False)
REQUEST = ActiveRequest("r1", ASYNC.name, ASYNC.launch_id)


class Story:
    """One launch; ``effects`` are what it asks for now, ``said`` all that it ever asked for."""

    def __init__(self, goal: tx.Goal = ASYNC, **known: Any) -> None:
        self.now = 0.0
        self.state, self.effects = tx.begin(goal, 0.0, known=tx.Known(**known))
        self.said = list(self.effects)

    def hears(self, event: tx.Happening) -> Story:
        self.state, self.effects = tx.step(self.state, event)
        self.said += self.effects
        return self

    def sees(
        self,
        rows: Iterable[JobRow] = (),
        *requests: ActiveRequest,
        at: float | None = None,
        start: str = "s1",
        instance: str = HERE,
    ) -> Story:
        """A survey; a pause that was asked for is over."""
        self.now = self.now if at is None else at
        if isinstance(self.effects[-1], tx.WaitToLook | tx.WaitToRetry):
            self.hears(tx.Woke(self.now))
        assert self.effects[-1] == tx.ReadRows(), self.effects
        return self.hears(tx.Rows(list(rows), self.now, requests, instance, start))

    def posts(self) -> Story:
        """The engine has nothing of ours; the intent is recorded and the POST is called."""
        self.sees()
        assert isinstance(self.effects[-1], tx.RecordIntent)
        self.hears(tx.IntentDurable(self.now))
        assert isinstance(self.effects[-1], tx.Post)
        return self

    def loses_the_reply(self, at: float | None = None) -> Story:
        self.now = self.now if at is None else at
        return self.hears(tx.PostFailed("maybe-sent", "connection reset", "", self.now))

    def is_accepted(self, request: str = "r1", job: str = "") -> Story:
        return self.hears(tx.Accepted(request, job, self.now))

    def learns(self, state: str, job: str = "", message: str = "", request: str = "r1") -> Story:
        """What became of the request."""
        assert self.effects[-1] == tx.ReadRequest(request), self.effects
        return self.hears(tx.RequestSeen(request, RequestResult(state, job, message), self.now))

    @property
    def does(self) -> Any:
        return self.effects[-1]

    @property
    def end(self) -> tx.Finish:
        assert isinstance(self.effects[-1], tx.Finish), self.effects
        return self.effects[-1]

    @property
    def settled(self) -> list[tuple[int, str]]:
        return [(e.n, e.how) for e in self.said if isinstance(e, tx.RecordSettled)]

    @property
    def reaped(self) -> list[tuple[str, str]]:
        return [(e.row.id, e.why) for e in self.said if isinstance(e, tx.Reap)]
