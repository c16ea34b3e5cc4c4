"""An API server with its queue and its jobs, and what can go wrong between it and a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from npac.launch.ports import (
    CANCELLED,
    FAILED,
    FAILED_CONTROLLER,
    PENDING,
    RUNNING,
    STARTING,
    SUCCEEDED,
    TERMINAL,
    ActiveRequest,
    JobRow,
    RequestResult,
    TaskRow,
)
from tests.simulator.kernel import Kernel
from tests.simulator.objects import Objects
from tests.simulator.registers import Registers
from tests.simulator.schedule import draw

LOST_CLAIM = 75
"""What the first act of a job exits with when another holds its register."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What kind of engine this is."""

    name: str
    unique: bool = False
    """One launch id never gives two jobs."""
    surveying: bool = False
    """Requests first, rows later; answers say which server gave them."""
    claims: bool = False
    """Jobs claim a register before they start user code."""
    asynchronous: bool = False
    """Rows appear some time after a launch was accepted."""


PROFILES = {
    each.name: each
    for each in (
        Profile("unique", unique=True),
        Profile("plain", asynchronous=True),
        Profile("survey", asynchronous=True, surveying=True),
        Profile("claims", asynchronous=True, surveying=True, claims=True),
    )
}


@dataclass(eq=False)
class Post:
    """One launch that a client has sent."""

    number: int
    launch_id: str
    name: str
    documents: list[dict[str, Any]]
    n: int
    """Which POST of its launch, as its documents say."""
    claim: str
    sent_at: float
    request_id: str = ""
    fate: str = "sent"
    """``sent`` (under way), ``lost``, ``rejected``, ``delivered`` or ``failed`` (taken, and no job made)."""
    active: bool = False
    failure: str = ""
    jobs: list[Job] = field(default_factory=list)
    coming: int = 0
    """Deliveries and rows that are still to come."""


@dataclass(eq=False)
class Job:
    """One row of the queue, and the process behind it."""

    id: str
    name: str
    launch_id: str
    submitted_at: float
    post: Post | None
    """None for a job of somebody else."""
    status: str = PENDING
    lively: bool = True
    tasks: list[tuple[str, str, int | None]] = field(default_factory=list)
    reason: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    user_code_at: float | None = None
    """When user code started; None when it did not."""
    lost_claim: bool = False
    phantom: bool = False
    hidden_until: float = 0.0
    """Until when the server's answers lack it."""
    former: list[str] = field(default_factory=list)
    """Ids that it had before."""

    @property
    def foreign(self) -> bool:
        """Say whether it is no job of the run."""
        return self.post is None

    @property
    def over(self) -> bool:
        """Say whether its state can no longer change."""
        return self.status in TERMINAL


class Server:
    """The server, in truth: what exists, and what will happen."""

    def __init__(
        self,
        kernel: Kernel,
        profile: Profile,
        objects: Objects,
        registers: Registers,
        behaviour: Callable[[str, int, int], str],
    ) -> None:
        self.kernel, self.profile, self.objects, self.registers = kernel, profile, objects, registers
        self._behaviour = behaviour
        self.instance = "instance-1"
        self.incarnation = 1
        self.down_until = 0.0
        self.elsewhere_until = 0.0
        self.jobs: list[Job] = []
        self.posts: list[Post] = []
        self.known_requests: dict[str, Post] = {}
        self._ids = 0
        self.on_start: Callable[[Job], None] = lambda job: None
        self.add_foreign("nightly-001-train-00aa11bb22")

    # --- launches ---------------------------------------------------------------------------

    def post(
        self, documents: Sequence[Mapping[str, Any]], name: str, launch_id: str, n: int, claim: str
    ) -> Post:
        """Note that a client has sent a launch; nothing has come of it yet."""
        made = Post(
            len(self.posts) + 1, launch_id, name, [dict(d) for d in documents], n, claim, self.kernel.now
        )
        self.posts.append(made)
        return made

    def deliver(self, post: Post, *, row_after: float | None = None, alive: str = "alive") -> Job | None:
        """Take a launch; gives its job where the row is there at once.

        ``alive``: ``alive``, ``phantom`` (the row never comes to life) or ``young`` (it does, later).
        """
        kernel = self.kernel
        post.fate = "delivered"
        if self.profile.unique:
            known = next((job for job in self.jobs if job.launch_id == post.launch_id), None)
            if known is not None:
                kernel.say("server", f"has job {known.id} of {post.launch_id} already")
                return known
            return self._row(post, alive, 0.0)
        if not post.request_id:
            post.request_id = f"req-{self.incarnation}-{post.number}"
        self.known_requests[post.request_id] = post
        post.active = True
        delay = row_after if row_after is not None else self._draw(3.0, "row", post)
        if not self.profile.asynchronous:
            delay = 0.0
        kernel.say("server", f"takes POST {post.number} (n={post.n}) as {post.request_id}")
        post.coming += 1

        def row() -> None:
            post.coming -= 1
            if post.fate == "lost":
                return
            self._row(post, alive, 0.0)

        if delay <= 0:
            row()
        else:
            kernel.at(delay, row)
        return post.jobs[-1] if delay <= 0 and post.jobs else None

    def refuse_later(self, post: Post, after: float) -> None:
        """Take a launch whose prechecks fail after a while: no job comes of it."""
        post.fate, post.active = "delivered", True
        post.request_id = f"req-{self.incarnation}-{post.number}"
        self.known_requests[post.request_id] = post
        post.coming += 1

        def fail() -> None:
            post.coming -= 1
            post.active, post.fate, post.failure = False, "failed", "prechecks failed: no such image"
            self.kernel.say("server", f"{post.request_id} fails: {post.failure}")

        self.kernel.at(after, fail)

    def _row(self, post: Post, alive: str, age: float) -> Job:
        job = Job(self._next_id(), post.name, post.launch_id, self.kernel.now, post)
        job.tasks = [(str(d["name"]), PENDING, None) for d in _tasks(post.documents)]
        self.jobs.append(job)
        post.jobs.append(job)
        if alive == "alive":
            self.kernel.say("server", f"lists job {job.id} ({job.name}, n={post.n})")
            post.active = False
            self._start_later(job)
        else:
            job.lively, job.phantom = False, alive == "phantom"
            self.kernel.say("server", f"lists job {job.id} ({job.name}, n={post.n}) without a sign of life")

            def settle() -> None:
                post.active = False
                if alive == "phantom":
                    self.kernel.say("server", f"{post.request_id} has ended; job {job.id} stays as it is")
                elif not job.over:
                    job.lively = True
                    self._start_later(job)

            self.kernel.at(20.0, settle)
        return job

    def _start_later(self, job: Job) -> None:
        self.kernel.at(0.3 + self._draw(4.0, "start", job.post), lambda: self._begin(job))

    # --- jobs -------------------------------------------------------------------------------

    def _begin(self, job: Job) -> None:
        if job.over:
            return
        assert job.post is not None
        job.status, job.started_at = STARTING, self.kernel.now
        if self.profile.claims:
            if not job.post.claim:
                self.kernel.say(f"job {job.id}", "has no claim URL, and does not start user code")
                self._end(job, FAILED, "no claim URL")
                return
            if not self.registers.claim(job.post.claim, job.id, self.instance):
                job.lost_claim = True
                self.kernel.say(f"job {job.id}", f"does not hold its register: exits {LOST_CLAIM}")
                self._end(job, FAILED, f"exit code {LOST_CLAIM}", exit_code=LOST_CLAIM)
                return
        job.status, job.user_code_at = RUNNING, self.kernel.now
        job.tasks = [(name, RUNNING, None) for name, _, _ in job.tasks]
        self.kernel.say(f"job {job.id}", f"starts user code of {job.launch_id[-8:]} (n={job.post.n})")
        self.on_start(job)
        most = 120.0 if self._draw(1.0, "long", job.post) < 0.3 else 20.0
        sim = _tasks(job.post.documents)[0]["sim"]
        if self._behaviour(sim["node"], sim["member"], sim["attempt"]) == "long":
            most = 4_000.0
        self.kernel.at(1.0 + self._draw(most, "run", job.post), lambda: self._finish(job))

    def _finish(self, job: Job) -> None:
        if job.over:
            return
        assert job.post is not None
        ends: list[tuple[str, str, int | None]] = []
        infra = False
        for document in _tasks(job.post.documents):
            sim = document["sim"]
            how = self._behaviour(sim["node"], sim["member"], sim["attempt"])
            if how == "hang":
                return
            if how in ("ok", "long", "infra-after-writing"):
                for uri, data in sim["writes"]:
                    self.objects.write(uri, data, job.launch_id, f"job {job.id}")
            if how == "empty":
                for uri, _ in sim["writes"]:
                    self.objects.write(uri, b"", job.launch_id, f"job {job.id}")
            infra = infra or how.startswith("infra")
            status = FAILED if how == "fail" else FAILED_CONTROLLER if how.startswith("infra") else SUCCEEDED
            ends.append((str(document["name"]), status, 1 if status == FAILED else None))
        bad = any(status != SUCCEEDED for _, status, _ in ends)
        job.tasks = ends
        self._end(job, FAILED_CONTROLLER if infra else FAILED if bad else SUCCEEDED, "", keep=True)

    def _end(
        self, job: Job, status: str, reason: str, *, exit_code: int | None = None, keep: bool = False
    ) -> None:
        job.status, job.ended_at, job.reason = status, self.kernel.now, reason
        if not keep:
            job.tasks = [(name, status, exit_code) for name, _, _ in job.tasks]
        self.kernel.say(f"job {job.id}", f"ends {status} {reason}".rstrip())

    def cancel(self, job: Job) -> None:
        """Begin to end a job."""
        if job.over:
            return

        def gone() -> None:
            if not job.over:
                self._end(job, CANCELLED, "cancelled")

        self.kernel.at(self._draw(3.0, "cancel", job.post), gone)

    def find(self, job_id: str) -> Job | None:
        """Find a row by its present id."""
        return next((job for job in self.jobs if job.id == job_id), None)

    # --- what the server itself goes through -------------------------------------------------

    def add_foreign(self, name: str, launch_id: str = "npa-launch-of-somebody-else", id: str = "") -> Job:
        """List a live job of somebody else."""
        job = Job(id or self._next_id(), name, launch_id, self.kernel.now, None, status=RUNNING)
        job.tasks = [("task", RUNNING, None)]
        self.jobs.append(job)
        return job

    def restart(self, *, lose: bool) -> None:
        """Start anew: requests are forgotten; those without a row are ``lost``, or go on unseen."""
        self.incarnation += 1
        self.kernel.say("server", f"restarts{' and loses what had no row' if lose else ''}")
        for post in self.posts:
            if post.active:
                post.active = False
                if lose and not post.jobs:
                    post.fate = "lost"
        self.known_requests.clear()

    def renumber(self) -> None:
        """Start anew with other ids; the old ones go to jobs of somebody else."""
        self.restart(lose=False)
        for job in [job for job in self.jobs if not job.foreign]:
            old, job.id = job.id, self._next_id()
            job.former.append(old)
            stranger = self.add_foreign("nightly-002-eval-33cc44dd55", id=old)
            stranger.submitted_at = job.submitted_at
            self.kernel.at(200.0, partial(self._end, stranger, SUCCEEDED, ""))
            self.kernel.say("server", f"calls job {old} now {job.id}; {old} is somebody else's")

    # --- answers ----------------------------------------------------------------------------

    def rows(self) -> list[JobRow]:
        """Give the whole list."""
        return [self.row(job) for job in self.jobs if self.shows(job)]

    def shows(self, job: Job) -> bool:
        """Say whether the server's answers have a job at this moment."""
        return self.kernel.now >= job.hidden_until

    def row(self, job: Job) -> JobRow:
        """Give one row as a client sees it."""
        tasks = tuple(TaskRow(name, status, code) for name, status, code in job.tasks)
        return JobRow(
            job.id,
            job.name,
            job.launch_id,
            job.status,
            job.submitted_at,
            job.started_at,
            job.ended_at,
            job.reason,
            tasks,
            post=job.post.n if job.post is not None and self.profile.surveying else 0,
            lively=job.lively,
            request_id=job.post.request_id if job.post is not None else "",
        )

    def requests(self) -> list[ActiveRequest]:
        """Give the requests that are under way."""
        active = [post for post in self.known_requests.values() if post.active]
        return [ActiveRequest(post.request_id, post.name, post.launch_id) for post in active]

    def result(self, request_id: str) -> RequestResult:
        """Give what became of a request."""
        post = self.known_requests.get(request_id)
        if post is None:
            return RequestResult("unknown")
        if post.active:
            return RequestResult("active")
        if post.failure or (post.jobs and post.jobs[-1].phantom):
            return RequestResult("failed", message=post.failure or "the server went away in the middle")
        return RequestResult("succeeded", job_id=post.jobs[0].id if post.jobs else "")

    def _next_id(self) -> str:
        self._ids += 1
        return str(self._ids)

    def _draw(self, most: float, what: str, post: Post | None) -> float:
        number = post.number if post is not None else 0
        return most * draw(self.kernel.schedule.seed, what, number)


def _tasks(documents: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    return documents if len(documents) == 1 else documents[1:]
