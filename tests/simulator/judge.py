"""What must hold in every simulated run, judged by what is true in the world and not by the log alone.

The guarantees that are checked, and for which engine:

* ``unique``: a launch id never has two jobs (G2), whatever happens.
* ``plain`` and ``survey`` (G3): at most one job of a launch starts user code, as long as a POST that was
  sent shows within the quiet time or never, and no driver is stopped between its intent and its POST
  while another decides that intent.  A POST of such a driver is marked as outside of the assumptions.
* ``claims`` (G4): at most one job of a launch starts user code, whatever happens.

On every engine (G1): no POST without a durable intent of its own, and, but for ``unique``, no POST n+1
while POST n may still come to life.  On every ledger: no effect of a driver more than 30 s after its last
sign of life, and none once another driver has begun; an effect before which it was stopped after its last
look at the clock is excused, since nothing can prevent that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npac.ir.program import Gate, Wave
from npac.launch.claims import Holder
from npac.launch.ports import CANCELLED
from npac.ledger.events import verify_events
from npac.ledger.ports import Event, LedgerError
from npac.runtime import events as ev
from tests.simulator.kernel import Actor, Kernel
from tests.simulator.ledger import Log
from tests.simulator.objects import Objects, Version
from tests.simulator.programs import Play
from tests.simulator.registers import Registers

if TYPE_CHECKING:
    from tests.simulator.server import Job, Post, Server

# The contract's own numbers: a change of the constants in npac must not change what is checked.
SILENCE = 60.0
MAY_ACT = 30.0

ENDS = ("succeeded", "failed", "cancelled")


class Judge:
    """Watches everything that happens and says what must not have."""

    def __init__(self, kernel: Kernel, log: Log, objects: Objects, registers: Registers, play: Play) -> None:
        self._kernel, self._log, self._objects, self._registers = kernel, log, objects, registers
        self._play = play
        self._index = play.program.index()
        self.server: Server
        self.seen_late = False
        """A driver learns of another one only by reading, and not in the moment in which that one takes
        the run; so the other one has to wait before it begins."""
        self.outside: set[str] = set()
        """Launches that a driver posted which was stopped just before, while another went on."""

    def _violate(self, what: str) -> None:
        self._kernel.violate(what)

    # --- effects ----------------------------------------------------------------------------

    def posting(
        self,
        actor: Actor,
        documents: Sequence[Mapping[str, Any]],
        name: str,
        launch_id: str,
        n: int,
        entered: float,
    ) -> None:
        """See whether a POST may be sent."""
        intents = [e for e in self._log.of(ev.LAUNCH_INTENT) if e.data["launch_id"] == launch_id]
        sent = [post for post in self.server.posts if post.launch_id == launch_id]
        own = [event for event in intents if self._log.holds[event.fence].actor is actor]
        superseded = self._superseded(actor)
        if actor.excused and superseded:
            self.outside.add(launch_id)
            self._kernel.say(
                "judge", "that driver was stopped just before its POST: no promise without claims"
            )
        elif superseded:
            self._violate(f"{actor.name} posts although another driver has taken the run")
        self._in_time(actor, entered, "posts")
        if not own or len(intents) <= len(sent):
            self._violate(f"POST {len(sent) + 1} of {name} has no durable intent of its own")
        if actor.excused and superseded:
            return
        for post in sent:
            if not self.server.profile.unique and not self.settled(post):
                self._violate(f"POST n={n} of {name} is sent while POST n={post.n} may still come to life")
        if self._ended():
            self._violate(f"{name} is posted after the run has ended")
        asked = self._last(ev.CANCEL_REQUESTED)
        again = [event.number for event in self._log.of(ev.RUN_RESUMED) if event.data["retry"]]
        over = asked is None or max(again, default=0) > asked.number
        # An intent that was on record before the wish may be carried out.
        if asked and not over and own and own[-1].number > asked.number:
            self._violate(f"{name} is posted although the run is to be cancelled")
        tasks = documents if len(documents) == 1 else documents[1:]
        self._not_finished([task["sim"] for task in tasks], name)

    def _not_finished(self, tasks: Sequence[Mapping[str, Any]], name: str) -> None:
        node = tasks[0]["node"]
        for event in reversed(self._log.events):
            if event.type == ev.WAVE_SUCCEEDED and event.data["node"] == node:
                self._violate(f"{name} is posted although wave {node} is finished")
            if event.type == ev.WAVE_STARTED and event.data["node"] == node:
                break
        wave = self._index[node]
        assert isinstance(wave, Wave)
        if wave.group_retry_all:
            return
        done = {
            result["member"]
            for event in self._log.of(ev.BATCH_ENDED)
            if event.data["node"] == node
            for result in event.data["results"]
            if result["ok"]
        }
        again = done & {task["member"] for task in tasks}
        if again:
            self._violate(f"members {sorted(again)} of {node} are posted again although they are finished")

    def cancelling(self, actor: Actor, job_id: str, entered: float) -> None:
        """See whether a job may be cancelled."""
        self._in_time(actor, entered, "cancels")
        if self._superseded(actor) and not actor.excused:
            self._violate(f"{actor.name} cancels job {job_id} although another driver has taken the run")
        job = self.server.find(job_id)
        if not any(job_id in _mentions(event) for event in self._log.of(*_CANCEL_INTENTS)):
            self._violate(f"job {job_id} is cancelled without a durable intent")
        if job is None or actor.excused:
            return
        if job.foreign:
            self._violate(f"job {job_id}, which is somebody else's ({job.name}), is cancelled")
        asked = self._last(ev.CANCEL_REQUESTED) is not None
        if job.post is not None and job.post.active and not job.lively and not asked:
            self._violate(f"job {job_id} is ended as a phantom, and its request is at work yet")
        holds = job.user_code_at is not None and not job.over
        wanted = asked or self._play.options.max_wait > 0
        if holds and not wanted:
            self._violate(f"job {job_id} is cancelled while it runs user code, and nobody asked for that")

    def _in_time(self, actor: Actor, entered: float, verb: str) -> None:
        """See that a driver acts within its time after its last sign of life."""
        beaten = [hold.beaten for hold in self._log.holds.values() if hold.actor is actor]
        if not beaten or entered - beaten[-1] > MAY_ACT:
            age = f"{entered - beaten[-1]:.0f} s" if beaten else "no time"
            self._violate(f"{actor.name} {verb} {age} after its last sign of life, which is more than 30 s")

    def _superseded(self, actor: Actor) -> bool:
        if not self._log.fence or self._log.holds[self._log.fence].actor is actor:
            return False
        return not self.seen_late or self._log.events[-1].type != ev.DRIVER_STARTED

    def settled(self, post: Post) -> bool:
        """Say whether no user code of a POST will start any more that has not ended."""
        if post.fate in ("lost", "rejected", "failed"):
            return True
        held = self._holder(post)
        if held is not None and held.sealed:
            return True
        if held is not None:
            # No other job of this POST starts user code any more.
            holder = self._find(held.job_id)
            return holder is not None and holder.over
        # A row without a sign of life never starts anything.
        still = [job for job in post.jobs if not job.over and not job.phantom]
        return not still and not post.coming and post.fate == "delivered" and not post.active

    def _holder(self, post: Post) -> Holder | None:
        if not self.server.profile.claims:
            return None
        return self._registers.held.get(self._registers.key(post.launch_id, post.n))

    def _find(self, job_id: str) -> Job | None:
        """Find a job of the run by an id that it has or had."""
        return next((job for job in self.server.jobs if job_id in (job.id, *job.former) and job.post), None)

    # --- jobs -------------------------------------------------------------------------------

    def started(self, job: Job) -> None:
        """See whether user code may start in a job."""
        claims = self.server.profile.claims
        if job.launch_id in self.outside and not claims and not self.server.profile.unique:
            return
        others = [
            other.id
            for other in self.server.jobs
            if other.launch_id == job.launch_id and other.user_code_at is not None and other is not job
        ]
        if others:
            self._violate(f"user code of one launch starts in job {job.id} and in job {', '.join(others)}")
        assert job.post is not None
        if job.launch_id in self.outside and not claims:
            return
        if self._ended():
            self._violate(f"user code of job {job.id} starts after the run has ended")
        task = (job.post.documents if len(job.post.documents) == 1 else job.post.documents[1:])[0]["sim"]
        later = [
            event
            for event in self._log.of(ev.WAVE_STARTED)
            if event.data["node"] == task["node"] and event.data["attempt"] > task["attempt"]
        ]
        if later:
            self._violate(
                f"user code of job {job.id} (attempt {task['attempt']} of {task['node']}) starts after a "
                "later attempt was begun"
            )

    # --- the log ----------------------------------------------------------------------------

    def appended(self, actor: Actor, event: Event) -> None:
        """See whether an event may be on record."""
        check = getattr(self, "_on_" + event.type.replace("-", "_"), None)
        if check is not None:
            check(actor, event)

    def _on_driver_started(self, actor: Actor, event: Event) -> None:
        before = self._log.holds.get(event.fence - 1)
        if before is None or before.released or not before.actor.alive or self.seen_late:
            return
        age = self._kernel.now - before.beaten
        if age < SILENCE:
            self._violate(
                f"{actor.name} takes the run from {before.actor.name}, which lives and gave a sign of life "
                f"{age:.0f} s ago"
            )

    def _on_wave_started(self, actor: Actor, event: Event) -> None:
        node, attempt = event.data["node"], event.data["attempt"]
        before = [e for e in self._log.of(ev.WAVE_STARTED) if e.data["node"] == node and e is not event]
        if attempt != len(before) + 1:
            self._violate(f"attempt {attempt} of {node} follows {len(before)} attempts")
        if any(e.data["node"] == node for e in self._log.of(ev.WAVE_SUCCEEDED)):
            self._violate(f"wave {node} is begun again although it is finished")
        bounds = {
            "retries": self._play.options.retries,
            "infrastructure": self._play.options.max_infrastructure_recoveries,
        }
        for budget, bound in bounds.items():
            if sum(e.data["budget"] == budget for e in (*before, event)) > bound:
                self._violate(f"{node} uses more of its budget {budget} than {bound}")
        for launch_id in {e.data["launch_id"] for e in self._intents_of(node)}:
            self._nothing_lives(launch_id, f"attempt {attempt} of {node} begins")

    def _intents_of(self, node: str) -> list[Event]:
        return [event for event in self._log.of(ev.LAUNCH_INTENT) if event.data["node"] == node]

    def _nothing_lives(self, launch_id: str, when: str) -> None:
        """See that no user code of a launch runs or may still start."""
        if launch_id in self.outside:
            return
        for post in self.server.posts:
            if post.launch_id == launch_id and not self.settled(post):
                running = [job.id for job in post.jobs if not job.over]
                what = f"job {', '.join(running)} is alive" if running else "its POST may still come to life"
                self._violate(f"{when} while of {post.name} (n={post.n}) {what}")

    def _on_job_attached(self, actor: Actor, event: Event) -> None:
        told = event.data["job"]
        job = self._find(told["id"])
        if job is None or job.launch_id != event.data["launch_id"]:
            self._violate(f"job {told['id']} is taken for the job of {event.data['launch_id']}, and is not")
            return
        if job.phantom:
            self._violate(f"job {job.id}, which never had a sign of life, is adopted")

    def _on_launch_settled(self, actor: Actor, event: Event) -> None:
        launch_id, n, how = event.data["launch_id"], event.data["n"], event.data["how"]
        for post in self.server.posts:
            if (post.launch_id, post.n) != (launch_id, n):
                continue
            held = self._holder(post)
            if how == "sealed" and (held is None or not held.sealed):
                self._violate(f"POST n={n} is called sealed, and {held} holds its register")
            if how == "ended" and launch_id not in self.outside and not self.settled(post):
                self._violate(f"POST n={n} is called {how}, and may still come to life")
        if how == "absent" and launch_id not in self.outside:
            self._nothing_comes(actor, launch_id, n)

    def _nothing_comes(self, actor: Actor, launch_id: str, n: int) -> None:
        """See that nothing will come of POST ``n``, whether it was sent or may be sent yet."""
        sent = [post for post in self.server.posts if (post.launch_id, post.n) == (launch_id, n)]
        for post in sent:
            if not self.settled(post):
                self._violate(f"POST n={n} is called absent, and may still come to life")
        for intent in self._log.of(ev.LAUNCH_INTENT):
            hold = self._log.holds[intent.fence]
            writer = hold.actor
            same = (intent.data["launch_id"], intent.data["n"]) == (launch_id, n)
            # A driver that gives its lease back has done all that it will do.
            if same and not sent and writer is not actor and writer.alive and not hold.released:
                self._violate(f"POST n={n} is called absent, and {writer.name}, which lives, may yet send it")

    def _on_launch_absent(self, actor: Actor, event: Event) -> None:
        self._nothing_lives(event.data["launch_id"], "the launch is called absent")

    def _on_batch_ended(self, actor: Actor, event: Event) -> None:
        launch_id = event.data["launch_id"]
        attached = [e for e in self._log.of(ev.JOB_ATTACHED) if e.data["launch_id"] == launch_id]
        if not attached:
            self._violate(f"a batch of {event.data['node']} ends without a job")
            return
        told = attached[-1].data["job"]["id"]
        job = self._find(told)
        if job is None or not job.over or job.status != event.data["status"]:
            state = "unknown" if job is None else job.status
            self._violate(f"job {told} is on record as {event.data['status']}, and is {state}")
            return
        assert job.post is not None
        held = self._holder(job.post)
        if held is not None and not held.sealed and held.job_id not in (job.id, *job.former):
            self._violate(f"the batch ends with job {told}, and {held} holds the register of its POST")
        wave = self._index[event.data["node"]]
        assert isinstance(wave, Wave)
        for result in event.data["results"]:
            if result["ok"]:
                step = self._play.program.steps[wave.members[result["member"]].step]
                self._written([a.uri for a in step.outputs], result["records"], event.data["node"])

    def _written(self, declared: Sequence[Any], records: Sequence[Mapping[str, Any]], node: str) -> None:
        """See that each declared output is on record as a job of this wave has written it.

        The attempts at a wave share the first observation, so what an earlier attempt wrote counts.
        """
        own = {event.data["launch_id"] for event in self._intents_of(node)}
        found = {record["uri"]: record for record in records}
        for uri in declared:
            if uri not in found:
                self._violate(f"{node} is finished without a record of {uri}")
                continue
            identity = found[uri]["observation"]["identity"]
            if uri.endswith("/"):
                etags = {etag for _, etag in identity["entries"]}
                written = [
                    v for u in self._objects.history if u.startswith(uri) for v in self._objects.history[u]
                ]
                good = any(f"e{v.number}" in etags and v.writer in own for v in written)
            else:
                version = self._version(uri, identity["etag"])
                good = version is not None and version.writer in own and bool(version.data)
            if not good:
                self._violate(f"{node} is finished with {uri} ({identity}), which its job has not written")

    def _version(self, uri: str, etag: str) -> Version | None:
        return next((v for v in self._objects.history.get(uri, ()) if f"e{v.number}" == etag), None)

    def _on_wave_succeeded(self, actor: Actor, event: Event) -> None:
        node = event.data["node"]
        wave = self._index[node]
        assert isinstance(wave, Wave)
        done = {
            result["member"]
            for ended in self._log.of(ev.BATCH_ENDED)
            if ended.data["node"] == node
            for result in ended.data["results"]
            if result["ok"]
        }
        if done != set(range(len(wave.members))):
            self._violate(f"wave {node} succeeds with only members {sorted(done)} finished")

    def _on_decision_read(self, actor: Actor, event: Event) -> None:
        gate = self._index[event.data["node"]]
        assert isinstance(gate, Gate)
        before = [e for e in self._log.of(ev.DECISION_READ) if e.data["node"] == gate.id and e is not event]
        if before:
            self._violate(f"the decision of {gate.id} is read again")
        turn = gate.loops["loop"]
        writer = f"loop[{turn}]/judge"
        if event.data["decision"] != self._play.decisions.get(writer):
            self._violate(
                f"{gate.id} decides {event.data['decision']}, and {writer} has written "
                f"{self._play.decisions.get(writer)}"
            )
        finished = [e.data["node"] for e in self._log.of(ev.WAVE_SUCCEEDED)]
        if writer not in finished:
            self._violate(f"{gate.id} decides before {writer} has finished")

    def _on_trigger_fired(self, actor: Actor, event: Event) -> None:
        before = [e for e in self._log.of(ev.TRIGGER_FIRED) if e.data["node"] == event.data["node"]]
        if len(before) > 1:
            self._violate(f"the trigger of {event.data['node']} fires twice")
        there = len(self._objects.below(event.data["uri"], self._kernel.now))
        if there < 2:
            self._violate(f"the trigger fires with {there} objects instead of 2")

    def _on_run_blocked(self, actor: Actor, event: Event) -> None:
        if not (event.data["code"] and event.data["reason"] and event.data["remedy"]):
            self._violate(f"the run blocks without a reason or a remedy: {dict(event.data)}")

    def _on_run_ended(self, actor: Actor, event: Event) -> None:
        state = event.data["state"]
        for launch_id in {e.data["launch_id"] for e in self._log.of(ev.LAUNCH_INTENT)}:
            self._nothing_lives(launch_id, f"the run ends ({state})")
        if state == "succeeded":
            self._whole()
        elif not (event.data["reason"] and event.data["code"]):
            self._violate(f"the run ends {state} without a reason")

    def _whole(self) -> None:
        """See that every wave on the path taken has finished, with its outputs (seen when it did)."""
        finished = {event.data["node"] for event in self._log.of(ev.WAVE_SUCCEEDED)}
        decided = {
            event.data["node"]: event.data["next"]
            for event in self._log.of(ev.DECISION_READ, ev.DECISION_GIVEN)
        }
        at = self._play.program.entry
        while True:
            node = self._index[at]
            if isinstance(node, Wave):
                if node.id not in finished:
                    self._violate(f"the run succeeds without wave {node.id}")
                at = node.next
            elif isinstance(node, Gate):
                if node.id not in decided:
                    self._violate(f"the run succeeds without the decision of {node.id}")
                    return
                at = decided[node.id]
            else:
                return

    # --- at the end -------------------------------------------------------------------------

    def final(self) -> None:
        """See that the log is whole and that the run has come to rest in a named state."""
        log = self._log
        try:
            verify_events(log.events)
        except LedgerError as error:
            self._violate(f"the log is not whole: {error}")
        for job in self.server.jobs:
            if job.foreign and job.status == CANCELLED:
                self._violate(f"job {job.id}, which is somebody else's, was cancelled")
        if not log.of(ev.RUN_CREATED):
            return
        last = self._last(ev.RUN_ENDED, ev.RUN_BLOCKED, ev.RUN_RESUMED)
        if last is None or last.type == ev.RUN_RESUMED:
            self._violate("the run neither ends nor blocks")
        if self._ended():
            for launch_id in {e.data["launch_id"] for e in log.of(ev.LAUNCH_INTENT)}:
                self._nothing_lives(launch_id, "the run has ended")

    def _ended(self) -> bool:
        last = self._last(ev.RUN_ENDED, ev.RUN_RESUMED)
        return last is not None and last.type == ev.RUN_ENDED

    def _last(self, *types: str) -> Event | None:
        return next((event for event in reversed(self._log.events) if event.type in types), None)


_CANCEL_INTENTS = (ev.CANCEL_INTENT, ev.REAP_INTENT)


def _mentions(event: Event) -> str:
    return json.dumps(event.data.get("job_id", ""))
