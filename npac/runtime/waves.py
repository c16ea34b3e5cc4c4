"""One wave: its triggers, its attempts, its batches, and the proof of its outputs."""

from __future__ import annotations

from typing import Any

from npac.ir.program import Artifact, Program, Wave, label
from npac.launch import classify
from npac.launch.backoff import LAUNCH
from npac.launch.ports import SUCCEEDED as JOB_SUCCEEDED
from npac.launch.ports import TERMINAL, Capabilities, JobRow, TaskRow
from npac.runtime import events as ev
from npac.runtime import gpu_hours, jobs, outputs, triggers
from npac.runtime.leaving import Blocked, Cancelled, Failed
from npac.runtime.session import Session
from npac.runtime.view import FAILED, RUNNING, AttemptView, LaunchView, MemberResult, WaveView

FIRST = "first"
RETRIES = "retries"
INFRASTRUCTURE = "infrastructure"
REQUEST = "request"
LOST_OUTPUT = "lost-output"

NOT_FOUND = 127
"""What a shell exits with when there is no such command."""

OUTPUT_MISSING = "DECLARED_OUTPUT_MISSING"


class WaveRunner:
    """Runs waves of one program.

    ``lost`` names members of finished waves whose outputs are gone and that must run again.
    """

    def __init__(
        self,
        session: Session,
        program: Program,
        capabilities: Capabilities,
        *,
        lost: dict[str, tuple[int, ...]] | None = None,
    ) -> None:
        self._session = session
        self._program = program
        self._capabilities = capabilities
        self._lost = dict(lost or {})

    def finished(self, wave: Wave) -> bool:
        """Say whether nothing of a wave is left to do."""
        known = self._session.view.waves.get(wave.id)
        return known is not None and known.state not in (RUNNING, FAILED) and wave.id not in self._lost

    def run(self, wave: Wave) -> None:
        """Bring a wave to its success, or raise what ends the walk."""
        session = self._session
        if wave.id not in session.view.waves:
            if session.look_up():
                raise Cancelled(session.view.cancel or "cancelled", code="CANCELLED", node=wave.id)
            triggers.await_all(session, wave)
            self._start(wave, session.view.next_attempt(wave.id), tuple(range(len(wave.members))), FIRST)
        elif wave.id in self._lost:
            known = session.view.waves[wave.id]
            self._start(wave, known.last.number + 1, self._lost.pop(wave.id), LOST_OUTPUT)
        while True:
            known = session.view.waves[wave.id]
            if known.state == RUNNING:
                self._attempt(wave, known)
                session.world.progress.wave_ended(known)
            if known.state != FAILED:
                return
            self._again(wave, known)

    def _start(self, wave: Wave, attempt: int, members: tuple[int, ...], budget: str) -> None:
        session, program = self._session, self._program
        data: dict[str, Any] = {
            "node": wave.id,
            "number": wave.number,
            "label": label(wave, program),
            "kind": wave.kind,
            "loops": dict(wave.loops),
            "attempt": attempt,
            "members": list(members),
            "states": [_member_name(program, wave, m) for m in range(len(wave.members))],
            "budget": budget,
            "retry_all": wave.group_retry_all,
            "gpus": gpu_hours.asked(session, program, wave),
            "before": {},
            "opens": {},
            "marks": {},
        }
        outputs.make_room(session, [*outputs.of_wave(program, wave), *_opened(wave)])
        if budget == FIRST:
            data["marks"] = outputs.marks(session, [*outputs.of_wave(program, wave), *_opened(wave)])
            data["before"] = outputs.before(session, outputs.of_wave(program, wave))
            data["opens"] = {group.group: outputs.before(session, group.outputs) for group in wave.opens}
        session.append(ev.WAVE_STARTED, data)
        session.world.progress.wave_started(session.view.waves[wave.id])

    # --- one attempt ------------------------------------------------------------------------

    def _attempt(self, wave: Wave, known: WaveView) -> None:
        session, attempt = self._session, known.last
        bound = session.options.max_wait
        deadline = session.world.clock() + bound if bound else None
        for number, batch in enumerate(wave.batches, 1):
            members = tuple(m for m in batch if m in attempt.members)
            if not members:
                continue
            launch = attempt.launches.get(number)
            if launch is None or not launch.ended:
                if launch is None or not launch.in_flight:
                    gpu_hours.demand_left(session, wave.id)
                work = jobs.Batch(self._program, wave, number, members, deadline)
                try:
                    row = jobs.run(session, self._capabilities, work)
                except jobs.LaunchRejected as refused:
                    self._fail(
                        wave, attempt, classify.REJECTED, "LAUNCH_REJECTED", str(refused), refused.remedy
                    )
                    return
                except jobs.JobLost as lost:
                    self._fail(wave, attempt, classify.INFRASTRUCTURE, lost.code, str(lost), "")
                    return
                launch = attempt.launches[number]
                self._settle(wave, known, launch, row)
            if any(not result.ok for result in launch.results):
                self._fail_of_batch(wave, known, launch)
                return
        proof = outputs.prove(session, wave.outputs, known.before, known.marks, wave.group)
        if proof.missing:
            reason = f"group {wave.group} has ended without its outputs: {outputs.say_missing(proof.missing)}"
            self._fail(wave, attempt, classify.PAYLOAD, OUTPUT_MISSING, reason, "")
            return
        session.append(
            ev.WAVE_SUCCEEDED, {"node": wave.id, "attempt": attempt.number, "records": proof.records}
        )

    def _settle(self, wave: Wave, known: WaveView, launch: LaunchView, row: JobRow) -> None:
        """Put on record how each member of an ended job has ended."""
        results = []
        rows = _by_member(row, launch)
        for member in launch.members:
            task = rows[member]
            status = task.status if task is not None and task.status in TERMINAL else row.status
            exit_code = task.exit_code if task is not None else None
            kind, reason = classify.family(status), ""
            proof = outputs.Proof([], [])
            if status == JOB_SUCCEEDED:
                step = self._program.steps[wave.members[member].step]
                name = known.states[member]
                proof = outputs.prove(self._session, step.outputs, known.before, known.marks, name)
                if proof.missing:
                    kind = classify.PAYLOAD
                    reason = f"without its outputs: {outputs.say_missing(proof.missing)}"
            else:
                reason = row.reason[:2000]
            results.append(
                {
                    "member": member,
                    "ok": kind == classify.SUCCESS,
                    "family": kind,
                    "status": status,
                    "exit_code": exit_code,
                    "reason": reason,
                    "records": proof.records,
                    "missing": proof.missing,
                }
            )
        if launch.cancelling and row.status == JOB_SUCCEEDED:
            self._session.world.progress.note(f"{launch.name} had succeeded before it could be cancelled")
        self._session.append(
            ev.BATCH_ENDED,
            {
                "node": wave.id,
                "attempt": known.last.number,
                "batch": launch.batch,
                "launch_id": launch.launch_id,
                "status": row.status,
                "seconds": _seconds(row),
                "results": results,
            },
        )

    def _fail_of_batch(self, wave: Wave, known: WaveView, launch: LaunchView) -> None:
        bad = [result for result in launch.results if not result.ok]
        kind = classify.gravest(result.family for result in bad)
        job = launch.job.id if launch.job else launch.name
        if launch.cancelling == jobs.MAX_WAIT and kind != classify.PAYLOAD:
            reason = f"job {job} was not done in time and was cancelled"
            self._fail(wave, known.last, classify.CANCELLED, jobs.MAX_WAIT, reason, "")
            return
        if kind == classify.CANCELLED:
            reason = f"job {job} was cancelled"
            if not launch.cancelling:
                reason += " by someone else than this run"
            self._fail(wave, known.last, kind, "CANCELLED", reason, "")
            return
        worst = [result for result in bad if result.family == kind]
        code = OUTPUT_MISSING if all(result.missing for result in worst) else worst[0].status
        reason = _say_all(known, worst)
        skipped = sum(1 for number in range(launch.batch + 1, len(wave.batches) + 1))
        if skipped:
            later = "1 later batch was" if skipped == 1 else f"{skipped} later batches were"
            reason += f"; {later} not launched"
        self._fail(wave, known.last, kind, code, reason, "")

    def _fail(self, wave: Wave, attempt: AttemptView, kind: str, code: str, reason: str, remedy: str) -> None:
        self._session.append(
            ev.WAVE_FAILED,
            {
                "node": wave.id,
                "attempt": attempt.number,
                "family": kind,
                "code": code,
                "reason": reason,
                "remedy": remedy,
            },
        )

    # --- another attempt --------------------------------------------------------------------

    def _again(self, wave: Wave, known: WaveView) -> None:
        """Start another attempt at a failed wave if a budget pays for it; else end the walk."""
        session, last = self._session, known.last
        budget = affordable(known, session.options.retries, session.options.max_infrastructure_recoveries)
        if session.view.retry:
            budget = REQUEST
        elif session.look_up():
            raise Cancelled(session.view.cancel or "cancelled", code="CANCELLED", node=wave.id)
        if not budget:
            ending = Cancelled if last.code == "CANCELLED" else Failed
            raise ending(f"{known.label}: {last.reason}", code=last.code, node=wave.id, remedy=last.remedy)
        done = known.done()
        members = tuple(m for m in range(len(wave.members)) if m not in done)
        if wave.group_retry_all or not members:
            members = tuple(range(len(wave.members)))
        if budget == INFRASTRUCTURE:
            self._demand_untouched(wave, known, members)
            session.pause(LAUNCH.delay(known.used(INFRASTRUCTURE) + 1, session.world.random))
        session.world.progress.note(f"{known.label} is tried again ({budget}): {last.reason}")
        self._start(wave, last.number + 1, members, budget)

    def _demand_untouched(self, wave: Wave, known: WaveView, members: tuple[int, ...]) -> None:
        """Block unless the outputs of members that are to run again are as they were at first.

        After a fault of the machine nobody knows how far the user's code came; what it has already
        written must not be overwritten without someone's word.
        """
        artifacts = [a for m in members for a in self._program.steps[wave.members[m].step].outputs]
        session = self._session
        touched = [
            each.uri
            for each in outputs.declared(artifacts, session.view.run_id)
            if not outputs.same(known.before.get(each.key), outputs.observe(session, each))
        ]
        if touched:
            raise Blocked(
                f"{known.label} was lost to its machine ({known.last.reason}) after it had written "
                f"{', '.join(touched)}",
                code="OUTPUT_TOUCHED",
                node=wave.id,
                remedy=f"look at these outputs, then npac retry {session.view.run_id}",
            )


def affordable(known: WaveView, retries: int, recoveries: int) -> str:
    """Say which budget pays for another attempt at a failed wave; empty when none does."""
    kind = known.last.family
    if kind == classify.PAYLOAD and known.used(RETRIES) < retries:
        return RETRIES
    if kind == classify.INFRASTRUCTURE and known.used(INFRASTRUCTURE) < recoveries:
        return INFRASTRUCTURE
    return ""


def _seconds(row: JobRow) -> float | None:
    """Give how long an ended job ran, by the engine's own times; None where it does not tell."""
    if row.ended_at is None:
        return None
    return max(row.ended_at - row.started_at, 0.0) if row.started_at is not None else 0.0


def _opened(wave: Wave) -> list[Artifact]:
    return [artifact for group in wave.opens for artifact in group.outputs]


def _member_name(program: Program, wave: Wave, member: int) -> str:
    each = wave.members[member]
    state = program.steps[each.step].state
    return state if each.iteration is None else f"{state}[{each.iteration}]"


def _by_member(row: JobRow, launch: LaunchView) -> dict[int, TaskRow | None]:
    """Match the engine's tasks with the members posted: by name where that is clear, else by place."""
    named = {task.name: task for task in row.tasks}
    clear = len(named) == len(row.tasks) and len(set(launch.tasks)) == len(launch.tasks)
    if clear and set(named) == set(launch.tasks):
        return {m: named[name] for m, name in zip(launch.members, launch.tasks, strict=True)}
    if len(row.tasks) == len(launch.members):
        return dict(zip(launch.members, row.tasks, strict=True))
    return dict.fromkeys(launch.members)


def _say_all(known: WaveView, bad: list[MemberResult]) -> str:
    """Tell how members ended, the first few of them; what an engine says of the whole job, once."""
    whole = {result.reason for result in bad if not result.missing}
    alone = len(known.states) == 1
    reason = "; ".join(_say(known, result, alone) for result in bad[:3])
    if len(bad) > 3:
        reason += f"; and {len(bad) - 3} more"
    if not alone and any(not result.exit_code and not result.missing for result in bad):
        reason += "".join(f": {text}" for text in sorted(whole) if text)
    return reason


def _say(known: WaveView, result: MemberResult, alone: bool) -> str:
    text = f"{known.states[result.member]} ended {result.status}"
    if result.exit_code:
        text += f" with exit code {result.exit_code}"
        if result.exit_code == NOT_FOUND:
            text += " (command not found)"
    if result.missing:
        return f"{text} {result.reason}"
    plain = f"exited with code {result.exit_code}"
    if not alone or not result.reason or result.reason.endswith(plain):
        return text
    return f"{text}: {result.reason}"
