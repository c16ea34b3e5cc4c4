"""The embedded engine behind a server that takes requests first, and registers in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from npac.engines.local.engine import LocalEngine
from npac.launch.claims import ClaimError, Holder
from npac.launch.ports import (
    ActiveRequest,
    Capabilities,
    EngineError,
    JobRow,
    LaunchRequest,
    RequestResult,
    Survey,
)

LOST, LOST_REPLY, FAILED, FORGOTTEN = "lost", "lost-reply", "failed", "forgotten"


class AsyncEngine:
    """Takes launches as requests; ``fates`` says what becomes of each POST, in order.

    ``lost`` and ``lost-reply`` give no answer, and only the second makes a job.  ``failed`` is accepted
    and made no job of; ``forgotten`` too, and nobody knows the request any more.  ``dress`` changes what
    is listed.
    """

    def __init__(self, engine: LocalEngine, fates: Sequence[str] = ()) -> None:
        self.engine, self.fates = engine, list(fates)
        self.posts: list[Mapping[str, str]] = []
        """The secrets of each POST."""
        self.documents: list[Sequence[Mapping[str, Any]]] = []
        self.incarnation, self.moved_to = "start-1", ""
        self.requests: dict[str, RequestResult] = {}
        self.before_launch: Callable[[], None] = lambda: None
        self.dress: Callable[[list[JobRow]], list[JobRow]] = lambda rows: rows
        self.cancelled: list[str] = []

    def capabilities(self) -> Capabilities:
        return replace(self.engine.capabilities(), unique_launch_key=False, instance=self.instance)

    @property
    def instance(self) -> str:
        return self.moved_to or self.engine.capabilities().instance

    def launch(
        self, documents: Sequence[Mapping[str, Any]], name: str, launch_id: str, secrets: Mapping[str, str]
    ) -> LaunchRequest:
        self.before_launch()
        self.posts.append(dict(secrets))
        self.documents.append(documents)
        fate = self.fates.pop(0) if self.fates else ""
        if fate == LOST:
            raise EngineError("connection reset")
        request = f"req-{len(self.posts)}"
        if fate == FAILED:
            self.requests[request] = RequestResult("failed", message="cpus: 1000 cannot be had")
            return LaunchRequest(request)
        if fate == FORGOTTEN:
            return LaunchRequest(request)
        job = self.engine.launch(documents, name, launch_id, secrets).job_id
        self.requests[request] = RequestResult("succeeded", job)
        if fate == LOST_REPLY:
            raise EngineError("connection reset")
        return LaunchRequest(request)

    def survey(self) -> Survey:
        rows = [] if self.moved_to else self.dress(list(self.engine.jobs()))
        active: list[ActiveRequest] = []
        return Survey(rows, active, self.instance, self.incarnation)

    def request(self, request_id: str) -> RequestResult:
        return self.requests.get(request_id, RequestResult("unknown"))

    def jobs(self) -> Sequence[JobRow]:
        return self.engine.jobs()

    def job(self, job_id: str) -> JobRow | None:
        if self.moved_to:
            return None
        return next((row for row in self.survey().rows if row.id == job_id), None)

    def cancel(self, job_id: str) -> None:
        self.cancelled.append(job_id)
        if self.engine.job(job_id) is not None:
            self.engine.cancel(job_id)

    def logs(self, job_id: str, *, task: str = "", follow: bool = False) -> Iterator[str]:
        return self.engine.logs(job_id, task=task, follow=follow)


class Registers:
    """Registers of claims; ``dark`` lets that many questions go unanswered."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, int], Holder] = {}
        self.dark = 0

    def grant(self, launch_id: str, n: int) -> str:
        return f"memory://claims/{launch_id}/{n}"

    def claim(self, launch_id: str, n: int, job_id: str, instance: str) -> Holder:
        return self.held.setdefault((launch_id, n), Holder(False, job_id, instance))

    def seal(self, launch_id: str, n: int) -> Holder:
        self._answer()
        return self.held.setdefault((launch_id, n), Holder(True))

    def holder(self, launch_id: str, n: int) -> Holder | None:
        self._answer()
        return self.held.get((launch_id, n))

    def _answer(self) -> None:
        if self.dark:
            self.dark -= 1
            raise ClaimError("500 from the store")
