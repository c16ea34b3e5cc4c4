"""The page of state machines, made by asking the machines: each cell is what the code answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

from npac.launch import transaction as tx
from npac.launch.ports import ActiveRequest, JobRow, RequestResult
from npac.launch.supervision import JobRef, Watch, look
from npac.ledger.lease import PATIENCE, Sighting, decide
from npac.runtime import gates, jobs, needs, triggers
from npac.runtime.view import AttemptView, LaunchView, WaveView
from npac.runtime.waves import affordable

HERE, START = "engine-1", "start-1"
GOAL = tx.Goal("npa-launch-1", "run-001-train-abc", unique_key=False, instance=HERE, requests=True)
JOB = JobRow("7", GOAL.name, GOAL.launch_id, "RUNNING", 1.0)
REQUEST = ActiveRequest("r1", GOAL.name, GOAL.launch_id)

INTRO = """\
# State machines

<!-- Written by `make golden` from the code; tests/docs/machines.py holds what is asked. -->

What a driver does next is decided by pure functions: from a state and what has just happened to the next
state and what is to be done. Nothing in them reads a clock, an engine, a store or a ledger. The tables below
are their answers to representative questions. Times are seconds since the uncertainty began: the quiet time
is {quiet:g} s, the deadline {deadline:g} s.
"""


def page() -> str:
    """Give the whole page."""
    parts = [
        INTRO.format(quiet=GOAL.quiet, deadline=GOAL.deadline),
        _launching(),
        _lease(),
        _watching(),
        _resuming(),
        _gates(),
        _triggers(),
    ]
    return "\n".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(cells) + " |" for cells in rows]
    return "\n".join(lines) + "\n"


# --- the launch transaction -------------------------------------------------------------------


def _survey(*rows: JobRow, at: float, requests: Sequence[ActiveRequest] = (), start: str = START) -> tx.Rows:
    return tx.Rows(rows, at, requests, HERE, start)


LIFELESS = replace(JOB, status="PENDING", lively=False)
LOOKS: list[tuple[str, tx.Happening]] = [
    ("nothing of ours is listed, after 1 s", _survey(at=1.0)),
    ("nothing of ours is listed, after 60 s", _survey(at=60.0)),
    ("the same, and the server was started anew", _survey(at=60.0, start="start-2")),
    ("nothing of ours is listed, after 180 s", _survey(at=180.0)),
    ("a request of ours is active", _survey(at=1.0, requests=[REQUEST])),
    ("one job of ours lives", _survey(JOB, at=1.0)),
    ("a job of ours has failed", _survey(replace(JOB, status="FAILED"), at=1.0)),
    ("two jobs of ours live", _survey(JOB, replace(JOB, id="8"), at=1.0)),
    ("a job of ours shows no sign of life", _survey(LIFELESS, at=1.0)),
    ("our launch id under another name", _survey(replace(JOB, name="other"), at=1.0)),
    ("another engine instance answers", tx.Rows([], 1.0, (), "engine-2", START)),
    ("the list cannot be read, for 1 s", tx.RowsUnavailable("503", 1.0)),
    ("the list cannot be read, for 180 s", tx.RowsUnavailable("503", 180.0)),
]
ANSWERS: list[tuple[str, tx.Happening]] = [
    ("the intent is durable", tx.IntentDurable(0.0)),
    ("the POST is accepted", tx.Accepted("r1", "", 0.0)),
    ("the POST is refused", tx.PostFailed("rejected", "no", "", 0.0)),
    ("the POST never left", tx.PostFailed("never-sent", "refused", "", 0.0)),
    ("the reply is lost", tx.PostFailed("maybe-sent", "reset", "", 0.0)),
    ("the request is active, after 1 s", tx.RequestSeen("r1", RequestResult("active"), 1.0)),
    ("the request is active, after 180 s", tx.RequestSeen("r1", RequestResult("active"), 180.0)),
    ("the request has made a job", tx.RequestSeen("r1", RequestResult("succeeded", "7"), 1.0)),
    ("nobody tells of the request, after 180 s", tx.RequestUnavailable("503", 180.0)),
    ("the register is sealed", tx.Sealed(60.0)),
    ("job 7 holds the register", tx.Claimed("7", HERE, 60.0)),
    ("nobody holds the register", tx.Unclaimed(60.0)),
    ("the register does not answer, after 60 s", tx.ClaimUnknown("500", 60.0)),
    ("the register does not answer, after 180 s", tx.ClaimUnknown("500", 180.0)),
    ("the engine took the wish to end job 7", tx.ReapAsked("7", 3.0)),
    ("the wait is over", tx.Woke(1.0)),
]


def _after(goal: tx.Goal, *happenings: tx.Happening, known: tx.Known | None = None) -> tx.Launch:
    state, _ = tx.begin(goal, 0.0, known=known)
    for happening in happenings:
        state, _ = tx.step(state, happening)
    return state


def _situations() -> Iterable[tuple[str, tx.Launch]]:
    claims = replace(GOAL, claims=True)
    posted = (_survey(at=0.0), tx.IntentDurable(0.0))
    lost = (*posted, tx.PostFailed("maybe-sent", "reset", "", 0.0))
    open_one = tx.Known(1, open=True, posted_in=START, predecessor_dead=False)
    accepted = (*posted, tx.Accepted("r1", "", 0.0))
    yield "Nothing was posted yet", _after(GOAL)
    yield "An intent is being recorded", _after(GOAL, _survey(at=0.0))
    yield "A POST is being sent", _after(GOAL, *posted)
    yield "The POST was accepted", _after(GOAL, *accepted)
    gone = tx.RequestSeen("r1", RequestResult("unknown"), 1.0)
    yield "It was accepted, and nobody knows the request any more", _after(GOAL, *accepted, gone)
    failed = tx.RequestSeen("r1", RequestResult("failed", message="no zone"), 1.0)
    yield "It was accepted, and the request has failed", _after(GOAL, *accepted, failed)
    yield "The reply was lost, and there are no claims", _after(GOAL, *lost)
    yield "The reply was lost, and the POST took a grant along", _after(claims, *lost)
    yield "A driver that may be alive has left an intent, without claims", _after(GOAL, known=open_one)
    granted = replace(open_one, granted=True)
    yield "A driver that may be alive has left an intent, with a grant", _after(claims, known=granted)
    sealed = (*lost, _survey(at=60.0), tx.Sealed(60.0))
    yield "The POST was sealed, and no other is out", _after(claims, *sealed)
    unique = replace(GOAL, unique_key=True, requests=False)
    yield "The reply was lost, and the engine has a unique launch key", _after(unique, *lost)
    phantom = (*lost, _survey(LIFELESS, at=1.0), tx.Woke(2.0), _survey(LIFELESS, at=2.0))
    yield "A phantom, job 7, is being ended", _after(GOAL, *phantom)


def _launching() -> str:
    parts = [
        "## Launching a batch\n",
        "`npac.launch.transaction.step`. What is out of place in a state is left out; so is what is the\n"
        "same in all: when the driver is to leave, the launch ends `stopped`, but for a POST that is\n"
        "being sent, which nothing stops halfway.\n",
    ]
    for title, state in _situations():
        rows = []
        for label, event in (*LOOKS, *ANSWERS):
            asked = isinstance(event, tx.RequestSeen | tx.RequestUnavailable)
            if asked and not state.request_id:
                continue
            try:
                after, effects = tx.step(state, event)
            except ValueError:
                continue
            rows.append((label, "; ".join(map(_said, effects)), after.phase))
        parts += [f"### {title}\n", _table(("when", "then", "phase"), rows)]
    return "\n".join(parts)


def _said(effect: tx.Effect) -> str:
    if isinstance(effect, tx.Finish):
        return f"**end: {effect.outcome}**"
    if isinstance(effect, tx.RecordIntent):
        return f"record intent {effect.n}" + (" (with a grant)" if effect.claim else "")
    if isinstance(effect, tx.Post):
        return f"send POST {effect.n}"
    if isinstance(effect, tx.RecordResult):
        return f"record: POST {effect.n} {effect.outcome}"
    if isinstance(effect, tx.RecordSettled):
        return f"record: POST {effect.n} settled, {effect.how}"
    if isinstance(effect, tx.RecordReaped):
        return f"record: job {effect.job_id} has ended"
    if isinstance(effect, tx.Reap):
        return f"end job {effect.row.id} ({effect.why})"
    if isinstance(effect, tx.Seal):
        return f"seal POST {effect.n}"
    if isinstance(effect, tx.ReadClaim):
        return f"read the register of POST {effect.n}"
    words = {
        tx.ReadRows: "look",
        tx.ReadRequest: "ask after the request",
        tx.WaitToLook: "wait to look again",
        tx.WaitToRetry: "wait to try again",
    }
    return words[type(effect)]


# --- the lease --------------------------------------------------------------------------------


def _lease() -> str:
    rows = []
    for released, liveness, moved, long in product(
        (True, False), ("alive", "dead", "unknown"), (True, False), (True, False)
    ):
        first = Sighting(1, 1, False, liveness, 0.0, "driver")  # type: ignore[arg-type]
        latest = replace(first, released=released, counter=2 if moved else 1)
        watched = PATIENCE.silence if long else PATIENCE.silence - 1
        answer = decide(first, latest, watched)
        rows.append(
            (
                "given back" if released else "held",
                liveness,
                "a sign of life was seen" if moved else "nothing has moved",
                f"{watched:g} s",
                f"`{answer}`",
            )
        )
    return (
        "## Taking a run\n\n"
        "`npac.ledger.lease.decide`: `released`, `dead` and `silent` let the taker act, `held` sends it\n"
        "away, `wait` lets it look on. A driver that was merely silent is not proven dead: what it left\n"
        "open is decided as in the tables above.\n\n"
        + _table(("the lease", "its driver", "meanwhile", "watched for", "answer"), rows)
    )


# --- a job ------------------------------------------------------------------------------------


def _watching() -> str:
    watch = Watch(JobRef(HERE, JOB.id, JOB.name, JOB.submitted_at, JOB.launch_id), last=("RUNNING", ()))
    dark, _ = look(watch, OSError("503"), 5.0)
    gone, _ = look(watch, None, 5.0)
    gone, _ = look(gone, None, 5.0)
    answers: list[tuple[str, JobRow | None | Exception]] = [
        ("the job as it was", JOB),
        ("the job in another state", replace(JOB, status="RECOVERING")),
        ("the job, ended", replace(JOB, status="SUCCEEDED")),
        ("the id with another name", replace(JOB, name="other")),
        ("the id with another time of submission", replace(JOB, submitted_at=2.0)),
        ("the id with another launch id", replace(JOB, launch_id="npa-launch-2")),
        ("a good answer without the job", None),
        ("no answer", OSError("503")),
    ]
    rows = []
    for label, answer in answers:
        verdicts = [look(each, answer, 9.0)[1] for each in (watch, gone, dark)]
        rows.append((label, *(f"`{type(verdict).__name__}`" for verdict in verdicts)))
    return (
        "## Watching a job\n\n"
        "`npac.launch.supervision.look`. No verdict ends a job; `Gone` and `Foreign` leave the run blocked.\n"
        "\n" + _table(("what comes", "seen before", "missing twice before", "silent before"), rows)
    )


# --- resume -----------------------------------------------------------------------------------


def _resuming() -> str:
    def launch(**known: object) -> LaunchView:
        view = LaunchView("npa-launch-1", "name", 1, (0,), ("t",), HERE, posts=1)
        for name, value in known.items():
            setattr(view, name, value)
        return view

    ref = JobRef(HERE, JOB.id, JOB.name, JOB.submitted_at, JOB.launch_id)
    launches: list[tuple[str, LaunchView | None]] = [
        ("no intent", None),
        ("an intent without a result", launch(open=True)),
        ("a lost reply", launch(open=True, answered=True)),
        ("accepted, not seen", launch(accepted=True, answered=True)),
        ("never sent, refused, or settled", launch(answered=True)),
        ("a job", launch(job=ref)),
    ]
    taken = [
        (
            label,
            jobs.taken_up(view, HERE, engine_moved=False),
            jobs.taken_up(view, "engine-2", engine_moved=False),
            jobs.taken_up(view, "engine-2", engine_moved=True),
        )
        for label, view in launches
    ]
    fates = []
    for needed, there, last, gate in product((True, False), repeat=4):
        if not needed and (there or last or gate):
            continue
        told = (needed, there, last, gate)
        answer = needs.fate(needed=needed, there=there, last=last, read_by_gate=gate)
        fates.append((*("yes" if each else "no" for each in told), answer))
    budgets = []
    for family in ("payload", "infrastructure", "cancelled", "rejected"):
        wave = WaveView("n", 1, "n", "serial", {}, ("n",))
        wave.attempts.append(AttemptView(1, (0,), "first", "", state="failed", family=family))
        spent = replace_attempts(wave, "retries", "infrastructure")
        budgets.append(
            (
                family,
                affordable(wave, 0, 0) or "–",
                affordable(wave, 1, 1) or "–",
                affordable(spent, 1, 1) or "–",
            )
        )
    return (
        "## Going on with a run\n\n"
        "`npac.runtime.jobs.taken_up`: where a driver takes up a batch that has not ended.\n\n"
        + _table(("on record", "the same engine", "another engine", "another, with `--engine-moved`"), taken)
        + "\n`npac.runtime.needs.fate`: what becomes of an output on record.\n\n"
        + _table(("still needed", "there", "of the last wave", "the next gate reads it", "then"), fates)
        + "\n`npac.runtime.waves.affordable`: which budget pays for another attempt at a failed wave.\n\n"
        + _table(("what failed", "no budgets", "one of each", "one of each, both used"), budgets)
    )


def replace_attempts(wave: WaveView, *budgets: str) -> WaveView:
    """Give the wave after further attempts that were paid from these budgets and failed alike."""
    spent = WaveView("n", 1, "n", "serial", {}, ("n",))
    last = wave.last
    spent.attempts += [
        AttemptView(at, (0,), budget, "", state="failed", family=last.family)
        for at, budget in enumerate(("first", *budgets), 1)
    ]
    return spent


# --- gates and triggers -----------------------------------------------------------------------


def _gates() -> str:
    found: list[tuple[str, bool, bytes | None]] = [
        ("no finished wave has written the artifact", False, None),
        ("the object on record is gone, or another one", True, None),
        ('`{"decision": "promote"}`', True, b'{"decision": "promote"}'),
        (
            '`{"last_decision": "loop_back_to_inner_loop"}`',
            True,
            b'{"last_decision": "loop_back_to_inner_loop"}',
        ),
        ('`{"decision": null, "action": "promote"}`', True, b'{"decision": null, "action": "promote"}'),
        ('`{"decision": "maybe"}`', True, b'{"decision": "maybe"}'),
        ("`{}`", True, b"{}"),
        ("no bytes", True, b""),
        ("no JSON", True, b"promote"),
    ]
    rows = []
    for label, recorded, read in found:
        verdict = gates.verdict(recorded=recorded, read=read)
        blocks = verdict.code in (gates.NOT_WRITTEN, gates.CHANGED)
        state = "the run goes on" if verdict.decision else "blocked" if blocks else "failed"
        rows.append((label, f"`{verdict.decision or verdict.code}`", state))
    return (
        "## Gates\n\n"
        "`npac.runtime.gates.verdict`. A decision that is on record is never read again.\n\n"
        + _table(("what a gate finds", "verdict", "and then"), rows)
    )


def _triggers() -> str:
    watch = triggers.Watch(needed=2, most_polls=3, patience=900.0)
    last = replace(watch, polls=2)
    silent = replace(watch, silent_since=0.0)
    events: list[tuple[str, triggers.Looked | triggers.Unlisted]] = [
        ("1 new object", triggers.Looked(1, 10.0)),
        ("2 new objects", triggers.Looked(2, 10.0)),
        ("the store does not answer", triggers.Unlisted(False, 10.0)),
        ("the store does not answer, 901 s later", triggers.Unlisted(False, 901.0)),
        ("the place can never be listed", triggers.Unlisted(True, 10.0)),
    ]
    rows = [
        (label, *(f"`{triggers.step(each, event)[1]}`" for each in (watch, last, silent)))
        for label, event in events
    ]
    return (
        "## Triggers\n\n"
        "`npac.runtime.triggers.step`, for a trigger that needs 2 objects within 3 polls. A look that the\n"
        "store does not answer is no poll.\n\n"
        + _table(("what comes", "first poll", "last poll", "silent since 0 s"), rows)
    )
