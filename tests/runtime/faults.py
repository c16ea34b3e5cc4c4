"""The embedded engine with faults that a real one has now and then, and a ledger that kills its driver."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from npac.engines.local.engine import LocalEngine
from npac.launch.ports import Capabilities, JobRow, LaunchRequest
from npac.ledger.ports import Event
from npac.ledger.sqlite import SqliteLedger


def _same(row: JobRow) -> JobRow:
    return row


class FaultyEngine:
    """Calls the engine below, then or before lets a fault happen.

    ``before`` and ``after`` are called with the method's name; what they raise comes instead of the
    answer.  ``see`` changes what is reported of a job.
    """

    def __init__(
        self,
        engine: LocalEngine,
        *,
        before: Callable[[str], None] = lambda method: None,
        after: Callable[[str], None] = lambda method: None,
        see: Callable[[JobRow], JobRow | None] = _same,
        unique: bool = True,
        instance: str = "",
    ) -> None:
        self.engine, self.before, self.after, self.see = engine, before, after, see
        self.unique, self.instance = unique, instance
        self.launches = 0

    def capabilities(self) -> Capabilities:
        real = self.engine.capabilities()
        return Capabilities(
            real.name, self.unique, real.images, real.accelerators, self.instance or real.instance
        )

    def launch(
        self,
        documents: Sequence[Mapping[str, Any]],
        name: str,
        launch_id: str,
        secrets: Mapping[str, str],
    ) -> LaunchRequest:
        self.launches += 1
        self.before("launch")
        request = self.engine.launch(documents, name, launch_id, secrets)
        self.after("launch")
        return request

    def jobs(self) -> Sequence[JobRow]:
        self.before("jobs")
        rows = [self.see(row) for row in self.engine.jobs()]
        return [row for row in rows if row is not None]

    def job(self, job_id: str) -> JobRow | None:
        self.before("job")
        row = self.engine.job(job_id)
        return None if row is None else self.see(row)

    def cancel(self, job_id: str) -> None:
        self.before("cancel")
        self.engine.cancel(job_id)

    def logs(self, job_id: str, *, task: str = "", follow: bool = False) -> Iterator[str]:
        return self.engine.logs(job_id, task=task, follow=follow)


class DeadlyLedger(SqliteLedger):
    """Kills its own process, as ``kill -9`` does, around the n-th event that this driver appends."""

    kill_at = 0
    kill_after = False
    _appended = 0

    def append(self, type: str, data: Mapping[str, Any], fence: int) -> Event:
        self._appended += 1
        mine = self._appended == self.kill_at
        if mine and not self.kill_after:
            os.kill(os.getpid(), signal.SIGKILL)
        event = super().append(type, data, fence)
        if mine:
            os.kill(os.getpid(), signal.SIGKILL)
        return event
