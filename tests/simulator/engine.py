"""The engine as a driver reaches it: calls that get lost, come late, or come from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from npac.launch.ports import (
    Capabilities,
    Engine,
    EngineError,
    JobRow,
    LaunchRequest,
    RequestResult,
    Survey,
)
from tests.simulator.judge import Judge
from tests.simulator.kernel import Actor, Kernel
from tests.simulator.schedule import Fault
from tests.simulator.server import Post, Server

T = TypeVar("T")

REPLY = 0.05

CLAIM_URL = "NPAC_CLAIM_URL"
POST_NUMBER = "NPA_LAUNCH_POST"


class SimEngine:
    """An engine without requests: a launch gives a job, sooner or later."""

    def __init__(self, kernel: Kernel, server: Server, actor: Actor, judge: Judge) -> None:
        self._kernel, self._server, self._actor, self._judge = kernel, server, actor, judge

    def capabilities(self) -> Capabilities:
        profile = self._server.profile
        return self._call(
            "capabilities",
            lambda faults: Capabilities("sim", profile.unique, True, True, self._server.instance),
        )

    def launch(
        self,
        documents: Sequence[Mapping[str, Any]],
        name: str,
        launch_id: str,
        secrets: Mapping[str, str],
    ) -> LaunchRequest:
        entered = self._kernel.now

        def effect(faults: Sequence[Fault]) -> LaunchRequest:
            claim = secrets.get(CLAIM_URL, "")
            earlier = sum(post.launch_id == launch_id for post in self._server.posts)
            n = int(claim.rsplit("/", 1)[1]) if claim else _post_number(documents, earlier + 1)
            self._judge.posting(self._actor, documents, name, launch_id, n, entered)
            post = self._server.post(documents, name, launch_id, n, claim)
            self._kernel.say(self._actor.name, f"sends POST {post.number} for {name} (n={n})")
            return self._sent(post, faults)

        return self._call("launch", effect)

    def _sent(self, post: Post, faults: Sequence[Fault]) -> LaunchRequest:
        kernel, server = self._kernel, self._server
        job = None
        fates = {fault.what: fault.amount for fault in faults}
        if "twin" in fates:
            server.add_foreign(post.name, "npa-launch-ffffffffffffffffffffffffffffffff")
            kernel.say("server", f"lists a job of somebody else under the same name, {post.name}")
        if "slow" in fates:
            kernel.sleep(self._actor, fates["slow"])
        if "never-sent" in fates:
            post.fate = "lost"
            raise EngineError("connection refused", phase="never-sent")
        if "rejected" in fates:
            post.fate = "rejected"
            raise EngineError("400: the task is not valid", phase="rejected")
        if "request-lost" in fates:
            post.fate = "lost"
            raise EngineError("connection reset", phase="maybe-sent")
        if "late" in fates:
            kernel.say("network", f"keeps POST {post.number} for {fates['late']:g} s")
            post.coming += 1
            kernel.at(fates["late"], lambda: self._arrive_late(post))
            raise EngineError("the server did not answer in time", phase="maybe-sent")
        if "prechecks" in fates:
            server.refuse_later(post, 4.0)
        else:
            alive = "phantom" if "phantom" in fates else "young" if "young" in fates else "alive"
            slow = fates.get("slow-row")
            job = server.deliver(post, row_after=0.0 if alive != "alive" else slow, alive=alive)
        if "twice" in fates:
            kernel.say("network", f"delivers POST {post.number} again in {fates['twice']:g} s")
            post.coming += 1
            kernel.at(fates["twice"], lambda: self._arrive_late(post, again=True))
        if "reply-lost" in fates:
            raise EngineError("503 after the request was taken", phase="maybe-sent")
        told = job.id if job is not None and server.profile.unique else ""
        return LaunchRequest(post.request_id or f"r{post.number}", told)

    def _arrive_late(self, post: Post, *, again: bool = False) -> None:
        post.coming -= 1
        if post.fate == "sent" or again:
            self._kernel.say("network", f"delivers POST {post.number}")
            self._server.deliver(post)

    def jobs(self) -> Sequence[JobRow]:
        return self._call("jobs", lambda faults: self._server.rows())

    def job(self, job_id: str) -> JobRow | None:
        def effect(faults: Sequence[Fault]) -> JobRow | None:
            server, kernel = self._server, self._kernel
            self._go_elsewhere(faults)
            if kernel.now < server.elsewhere_until:
                kernel.say("server", f"is not the one that it was, and has no job {job_id}")
                return None
            found = server.find(job_id)
            for fault in faults:
                if fault.what == "forget" and found is not None:
                    found.hidden_until = kernel.now + fault.amount
                    kernel.say("server", f"has no job {job_id} for {fault.amount:g} s")
            return server.row(found) if found is not None and server.shows(found) else None

        return self._call("job", effect, anywhere=True)

    def cancel(self, job_id: str) -> None:
        entered = self._kernel.now

        def effect(faults: Sequence[Fault]) -> None:
            self._judge.cancelling(self._actor, job_id, entered)
            self._kernel.say(self._actor.name, f"asks for the end of job {job_id}")
            found = self._server.find(job_id)
            if found is not None and not any(fault.what == "cancel-lost" for fault in faults):
                self._server.cancel(found)
            if any(fault.what in ("cancel-lost", "reply-lost") for fault in faults):
                raise EngineError("connection reset")

        self._call("cancel", effect)

    def _go_elsewhere(self, faults: Sequence[Fault]) -> None:
        for fault in faults:
            if fault.what == "elsewhere":
                self._server.elsewhere_until = self._kernel.now + fault.amount

    def logs(self, job_id: str, *, task: str = "", follow: bool = False) -> Iterator[str]:
        raise NotImplementedError("a driver reads no logs")

    def _call(self, verb: str, act: Callable[[Sequence[Fault]], T], *, anywhere: bool = False) -> T:
        def effect(faults: Sequence[Fault]) -> T:
            server, kernel = self._server, self._kernel
            for fault in faults:
                if fault.what == "engine-down":
                    server.down_until = kernel.now + fault.amount
                    kernel.say("server", f"is down for {fault.amount:g} s")
            if (
                any(fault.what in ("error", "malformed") for fault in faults)
                or kernel.now < server.down_until
            ):
                kernel.say("server", f"gives no good answer to {verb}")
                raise EngineError("502", phase="never-sent" if verb == "launch" else "maybe-sent")
            if kernel.now < server.elsewhere_until and not anywhere:
                raise EngineError("another server answers at this address", phase="never-sent")
            return act(faults)

        return self._kernel.call(self._actor, f"engine.{verb}", REPLY, effect)


class SurveyingSimEngine(SimEngine):
    """An engine with requests, whose answers say which server gave them."""

    def survey(self) -> Survey:
        def effect(faults: Sequence[Fault]) -> Survey:
            server, kernel = self._server, self._kernel
            self._go_elsewhere(faults)
            if kernel.now < server.elsewhere_until:
                kernel.say("server", "is not the one that it was, and has nothing")
                return Survey([], [], "instance-2", "boot-1")
            return Survey(server.rows(), server.requests(), server.instance, f"boot-{server.incarnation}")

        return self._call("survey", effect, anywhere=True)

    def request(self, request_id: str) -> RequestResult:
        return self._call("request", lambda faults: self._server.result(request_id))


def _post_number(documents: Sequence[Mapping[str, Any]], otherwise: int) -> int:
    for document in documents:
        number = document.get("envs", {}).get(POST_NUMBER)
        if number:
            return int(number)
    return otherwise


def engine_for(kernel: Kernel, server: Server, actor: Actor, judge: Judge) -> Engine:
    """Give the engine that a driver uses."""
    kind = SurveyingSimEngine if server.profile.surveying else SimEngine
    return kind(kernel, server, actor, judge)
