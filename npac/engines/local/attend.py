"""Attending to a job that has its turn: start its tasks, wait for them, end them when asked.

Setup runs on all nodes of a task before run starts on any.  A node that fails ends the other nodes
of its task; a task that fails leaves the other tasks of its group to their own end.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections import deque

from npac.engines.local import processes, states
from npac.engines.local.environment import marker, process_environment, task_id
from npac.engines.local.log_files import trim
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
_LONGEST_PAUSE = 5.0
_SHOWN = 10


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

    ``wait(seconds)`` returns early when a process ended or the queue may have changed; ``attempt``
    tries a write and says whether it was made; ``asked_to_end`` says whether this supervisor itself
    must end, ``asked_to_cancel`` whether a cancel came past the queue.

    A write that cannot be made now (a full disk) waits, and those behind it, in order: a job is
    attended to meanwhile as ever.
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
        attempt: Callable[[Callable[[], None]], bool],
        asked_to_end: Callable[[], bool],
        asked_to_cancel: Callable[[], bool],
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
        self.attempt = attempt
        self.asked_to_end = asked_to_end
        self.asked_to_cancel = asked_to_cancel
        self.log_limit: int = payload["log_limit"]
        self.unwritten: deque[Callable[[], None]] = deque()
        self._write_at = 0.0
        self._pause = LOOK
        self._trim_at = 0.0
        self._quiet: bool | None = None
        self.tasks = [TaskRun(number, plan) for number, plan in enumerate(payload["tasks"])]

    def run(self) -> list[Outcome]:
        """Attend until every task has ended; gives their outcomes.

        They are on disk, unless this supervisor had to end before that could be done.
        """
        for task in self.tasks:
            self._begin(task, "setup" if task.plan["setup"] is not None else "run")
        while True:
            self._obey()
            self._quiet = None
            self._end_all_that_is_late()
            for task in self._unfinished():
                self._step(task)
            self._say_running()
            self._write()
            self._trim_logs()
            left = self._unfinished()
            if not left and (not self.unwritten or self.asked_to_end()):
                break
            self.wait(0.1 if any(task.verdict is not None for task in left) else LOOK)
        return [task.outcome for task in self.tasks if task.outcome is not None]

    def end_everything(self) -> None:
        """Kill all processes of this job at once."""
        mark = marker(self.instance, self.job)
        processes.kill_all(lambda: processes.find(mark, (), os.getpid()), _PATIENCE, self._reap)
        processes.kill_children(_PATIENCE, self._reap)

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
                # A start may be slow, and must end when it is told to.
                self.wait(0.0)
                self._obey()
                if task.verdict is not None or task.outcome is not None:
                    return
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
        self.folder.make_node(task.number, rank)
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
        fresh = [
            task
            for task in self.tasks
            if task.phase == "run" and not task.announced and (task.nodes or task.plan["run"] is None)
        ]
        if fresh:
            for task in fresh:
                task.announced = True
            self.unwritten.append(lambda: self.queue.set_running(self.job, [task.number for task in fresh]))

    def _write(self) -> None:
        """Make the writes that wait, as far as that goes now."""
        if time.monotonic() < self._write_at:
            return
        self._pause = LOOK if not self.unwritten else min(2 * self._pause, _LONGEST_PAUSE)
        while self.unwritten:
            if not self.attempt(self.unwritten[0]):
                self._write_at = time.monotonic() + self._pause
                return
            self.unwritten.popleft()

    def _trim_logs(self) -> None:
        now = time.monotonic()
        if now < self._trim_at:
            return
        self._trim_at = now + LOOK
        for task in self._unfinished():
            for node in task.nodes:
                trim(self.folder.log(task.number, node.rank), self.log_limit)

    def _reap(self) -> bool:
        """Take note of the processes that ended; gives False when there is no child left at all."""
        while True:
            try:
                pid, wait_status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            for task in self.tasks:
                for node in task.nodes:
                    if node.pid == pid and node.wait_status is None:
                        node.wait_status = wait_status

    def _step(self, task: TaskRun) -> None:
        if task.verdict is not None:
            late = time.monotonic() >= task.kill_at
            if late or (not task.running and (self._nothing_left() or not self._members(task))):
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

    def _nothing_left(self) -> bool:
        """Say whether no process of the whole job is left: one look for all tasks of a round."""
        if any(task.running for task in self.tasks):
            return False
        if self._quiet is None:
            self._quiet = not processes.find(marker(self.instance, self.job), (), os.getpid())
        return self._quiet

    def _end_all_that_is_late(self) -> None:
        """Kill the whole job in one go when the grace of all its tasks is over."""
        left = self._unfinished()
        now = time.monotonic()
        if len(left) > 1 and all(task.verdict is not None and now >= task.kill_at for task in left):
            self.end_everything()

    def _conclude(self, task: TaskRun, outcome: Outcome) -> None:
        """End what is left of a task and record its outcome, on disk first."""
        left: list[int] = []
        if not self._nothing_left():
            found = processes.kill_all(lambda: self._members(task), _PATIENCE, self._reap)
            left = [one.pid for one in found]
        if not left and self._unfinished() == [task]:
            left = processes.kill_children(_PATIENCE, self._reap)
        if left:
            pids = ", ".join(map(str, left[:_SHOWN])) + (" and others" if len(left) > _SHOWN else "")
            outcome.reason += f"{'; ' if outcome.reason else ''}these processes could not be ended: {pids}"
        for node in task.nodes:
            trim(self.folder.log(task.number, node.rank), self.log_limit)
        task.outcome = outcome
        self.unwritten.append(lambda: self.folder.write_outcome(task.number, outcome))
        if len(self.tasks) > 1:
            self.unwritten.append(lambda: self.queue.finish_task(self.job, task.number, outcome))
        self._write()

    def _cancelled(self) -> bool:
        if self.asked_to_cancel():
            return True
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
        ended = []
        for task in self._unfinished():
            whole = len(task.nodes) == task.plan["nodes"]
            over = whole and not task.running and task.phase == "run"
            if task.verdict is None and not over:
                task.verdict = Outcome(task.name, verdict[0], None, verdict[1])
                ended.append(task)
        if not ended:
            return
        # One look at the machine's processes, however many tasks there are.
        leaders = [(node.pid, node.start) for task in ended for node in task.running]
        alone = len(ended) == len(self._unfinished())
        marks = (
            [marker(self.instance, self.job)]
            if alone
            else [marker(self.instance, self.job, task.number) for task in ended]
        )
        for mark in marks:
            for member in processes.find(mark, leaders, os.getpid() if alone else None):
                processes.send(member, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        for task in ended:
            task.kill_at = deadline
