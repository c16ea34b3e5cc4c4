"""Attending to a job that has its turn: start its tasks, wait for them, end them when asked.

Setup runs on all nodes of a task before run starts on any.  A node that fails ends the other nodes
of its task; a task that fails leaves the other tasks of its group to their own end.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import time

from npac.engines.local import processes, states
from npac.engines.local.environment import marker, process_environment, task_id
from npac.engines.local.spawn import spawn
from npac.engines.local.states import Outcome, describe_exit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from npac.engines.local.folder import JobFolder
    from npac.engines.local.queue import Queue

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""
LOOK = 1.0
"""Longest time, in seconds, between two looks at the queue while nothing happens."""
_PATIENCE = 10.0


class Node:
    """One process of a task, the leader of its own session."""

    def __init__(self, rank: int, pid: int, start: int) -> None:
        self.rank = rank
        self.pid = pid
        self.start = start
        self.wait_status: int | None = None


class TaskRun:
    """One task while it is attended to."""

    def __init__(self, number: int, plan: dict[str, Any]) -> None:
        self.number = number
        self.plan = plan
        self.name: str = plan["name"]
        self.phase = ""
        self.announced = False
        self.nodes: list[Node] = []
        self.verdict: Outcome | None = None
        """How the task will have ended once all its processes are gone."""
        self.kill_at = 0.0
        self.outcome: Outcome | None = None

    @property
    def running(self) -> list[Node]:
        """The nodes whose process has not ended."""
        return [node for node in self.nodes if node.wait_status is None]


class Attendance:
    """All tasks of one job, from the first process to the last outcome.

    ``wait(seconds)`` returns early when a process ended or the queue may have changed; ``persist``
    runs a write until it succeeds; ``asked_to_end`` says whether this supervisor itself must end.
    """

    def __init__(
        self,
        queue: Queue,
        folder: JobFolder,
        job: int,
        payload: dict[str, Any],
        instance: str,
        *,
        base: dict[str, str],
        umask: int,
        submitted_at: float,
        wait: Callable[[float], None],
        persist: Callable[[Callable[[], None]], None],
        asked_to_end: Callable[[], bool],
    ) -> None:
        self.queue = queue
        self.folder = folder
        self.job = job
        self.name: str = payload["name"]
        self.group: str = payload["group"]
        self.bash: str = payload["bash"]
        self.instance = instance
        self.base = base
        self.umask = umask
        self.submitted_at = submitted_at
        self.wait = wait
        self.persist = persist
        self.asked_to_end = asked_to_end
        self.tasks = [TaskRun(number, plan) for number, plan in enumerate(payload["tasks"])]

    def run(self) -> list[Outcome]:
        """Attend until every task has ended; gives their outcomes, which are on disk."""
        for task in self.tasks:
            self._begin(task, "setup" if task.plan["setup"] is not None else "run")
        self._say_running()
        while unfinished := self._unfinished():
            self._reap()
            for task in unfinished:
                self._step(task)
            self._say_running()
            left = self._unfinished()
            if left:
                self.wait(0.1 if any(task.verdict is not None for task in left) else LOOK)
                self._obey()
        return [task.outcome for task in self.tasks if task.outcome is not None]

    def end_everything(self) -> None:
        """Kill all processes of this job at once."""
        mark = marker(self.instance, self.job)
        processes.kill_all(lambda: processes.find(mark, (), os.getpid()), _PATIENCE, self._reap)

    def give_up(self, why: str) -> list[Outcome]:
        """Kill everything and give each task's outcome: its own, or FAILED_CONTROLLER with ``why``."""
        self.end_everything()
        return [
            task.outcome or Outcome(task.name, states.FAILED_CONTROLLER, None, why) for task in self.tasks
        ]

    def _unfinished(self) -> list[TaskRun]:
        return [task for task in self.tasks if task.outcome is None]

    def _begin(self, task: TaskRun, phase: str) -> None:
        task.phase = phase
        task.nodes = []
        if task.plan[phase] is None:
            return
        try:
            for rank in range(task.plan["nodes"]):
                self._start(task, rank)
        except OSError as error:
            why = f"a process could not be started for {phase}: {error.strerror or error}"
            self._end(task, Outcome(task.name, states.FAILED_CONTROLLER, None, why))

    def _start(self, task: TaskRun, rank: int) -> None:
        identity = task_id(
            self.name,
            task.name,
            self.job,
            task.number,
            group=bool(self.group),
            submitted_at=self.submitted_at,
        )
        environment = process_environment(
            self.base,
            task.plan,
            phase=task.phase,
            rank=rank,
            job=self.job,
            task_identity=identity,
            group=self.group,
            mark=marker(self.instance, self.job, task.number),
            state=self.folder.state(task.number, rank),
        )
        pid, start = spawn(
            self.bash,
            self.folder.script(task.number, task.phase),
            directory=self.folder.work(task.number, rank),
            environment=environment,
            log=self.folder.log(task.number, rank),
            umask=self.umask,
            record=lambda pid, start: self.folder.add_leader(task.number, rank, pid, start),
        )
        task.nodes.append(Node(rank, pid, start))

    def _say_running(self) -> None:
        fresh = [task for task in self.tasks if task.phase == "run" and not task.announced]
        if fresh:
            for task in fresh:
                task.announced = True
            self.persist(lambda: self.queue.set_running(self.job, [task.number for task in fresh]))

    def _reap(self) -> None:
        while True:
            try:
                pid, wait_status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for task in self.tasks:
                for node in task.nodes:
                    if node.pid == pid and node.wait_status is None:
                        node.wait_status = wait_status

    def _step(self, task: TaskRun) -> None:
        if task.verdict is not None:
            late = time.monotonic() >= task.kill_at
            if late or (not task.running and not self._members(task)):
                self._conclude(task, task.verdict)
            return
        for node in task.nodes:
            if node.wait_status:
                self._fail(task, node)
                return
        if task.running:
            return
        if task.phase == "setup":
            self._begin(task, "run")
            if task.nodes or task.verdict is not None:
                return
        self._conclude(task, Outcome(task.name, states.SUCCEEDED, 0))

    def _fail(self, task: TaskRun, node: Node) -> None:
        code, words = describe_exit(node.wait_status or 0)
        where = f" on rank {node.rank}" if task.plan["nodes"] > 1 else ""
        status = states.FAILED_SETUP if task.phase == "setup" else states.FAILED
        verdict = Outcome(task.name, status, code, f"{task.phase} {words}{where}")
        if task.running:
            self._end(task, verdict)
        else:
            self._conclude(task, verdict)

    def _end(self, task: TaskRun, verdict: Outcome) -> None:
        """Ask all processes of a task to end; they are killed after the grace."""
        task.verdict = verdict
        task.kill_at = time.monotonic() + GRACE
        for member in self._members(task):
            processes.send(member, signal.SIGTERM)

    def _members(self, task: TaskRun) -> list[processes.Stat]:
        leaders = [(node.pid, node.start) for node in task.running]
        # What lost its marker and its parents was inherited by this process; it belongs to the last task.
        alone = self._unfinished() == [task]
        mark = marker(self.instance, self.job, task.number)
        return processes.find(mark, leaders, os.getpid() if alone else None)

    def _conclude(self, task: TaskRun, outcome: Outcome) -> None:
        """End what is left of a task and record its outcome, on disk first."""
        left = processes.kill_all(lambda: self._members(task), _PATIENCE, self._reap)
        if left:
            pids = ", ".join(str(one.pid) for one in left)
            outcome.reason += f"{'; ' if outcome.reason else ''}these processes could not be ended: {pids}"
        self.persist(lambda: self.folder.write_outcome(task.number, outcome))
        task.outcome = outcome
        if len(self.tasks) > 1:
            self.persist(lambda: self.queue.finish_task(self.job, task.number, outcome))

    def _cancelled(self) -> bool:
        try:
            return self.queue.status(self.job) == states.CANCELLING
        except sqlite3.Error:
            return False  # No news; asked again at the next look.

    def _obey(self) -> None:
        """End the job when a cancel was asked for, or when this supervisor must end."""
        self._reap()
        if self.asked_to_end():
            verdict = states.FAILED_CONTROLLER, "the job's supervisor was asked to end"
        elif self._cancelled():
            verdict = states.CANCELLED, "cancelled while it ran"
        else:
            return
        for task in self._unfinished():
            over = bool(task.nodes) and not task.running and task.phase == "run"
            if task.verdict is None and not over:
                self._end(task, Outcome(task.name, verdict[0], None, verdict[1]))
