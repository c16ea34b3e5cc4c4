"""From the log of a run to what is known of it.

:func:`fold` is pure: the same events give the same view.  The driver goes on from a view, and
``status`` and ``why`` show one; none of them knows anything that is not in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from npac.launch.classify import SUCCESS
from npac.launch.state import ABSENT, SEALED
from npac.launch.supervision import JobRef
from npac.ledger.ports import Event, Observation
from npac.runtime import events as ev
from npac.runtime.fold_turns import active, open_groups, run_amended, run_rewound
from npac.runtime.view import (
    BLOCKED,
    FAILED,
    RUNNING,
    SUCCEEDED,
    WAITING,
    AttemptView,
    DecisionView,
    LaunchView,
    MemberResult,
    OutputRecord,
    RunView,
    TriggerView,
    WaveView,
)


def fold(events: Iterable[Event], get_blob: Callable[[str], bytes]) -> RunView:
    """Give the view of a run from all its events, in order.

    ``get_blob`` resolves data that was too long for the log.  Events of unknown types are passed
    over, so that an older reader can show a newer run.
    """
    view = RunView()
    for event in events:
        advance(view, event, get_blob)
    return view


def advance(view: RunView, event: Event, get_blob: Callable[[str], bytes]) -> None:
    """Take one more event into ``view``."""
    take = _HANDLERS.get(event.type)
    view.head = event.number
    view.updated = event.at
    if take is not None:
        data = ev.unpacked(event, get_blob)
        node = data.get("node")
        if isinstance(node, str) and node:
            view.node = node
        take(view, data, event)


Data = Mapping[str, Any]


def _driver_started(view: RunView, data: Data, event: Event) -> None:
    view.fences.append(event.fence)
    view.processes[event.fence] = dict(data.get("process") or {})
    replaced = data.get("replaced")
    if replaced:
        view.replaced[int(replaced["fence"])] = str(replaced["because"])


def _run_created(view: RunView, data: Data, event: Event) -> None:
    view.run_id = data["run_id"]
    view.run_uid = data["run_uid"]
    view.workflow = data["workflow"]
    view.target = str(data.get("target", ""))
    view.created = event.at
    view.blobs = {name.removesuffix("_blob"): digest for name, digest in data["blobs"].items()}
    view.outputs = data["outputs_blob"]
    view.options = dict(data["options"])
    view.engine = dict(data["engine"])
    view.secrets = tuple(data["secrets"])
    view.state = RUNNING


def _run_resumed(view: RunView, data: Data, event: Event) -> None:
    active(view)
    view.options = dict(data["options"])
    if data["retry"]:
        view.retry = True
        view.cancel = None


def _trigger_waiting(view: RunView, data: Data, event: Event) -> None:
    view.state = WAITING
    view.reason = f"{data['state']} awaits objects at {data['uri']}"
    view.triggers[data["node"], data["state"]] = TriggerView(data["node"], data["state"], data["uri"], False)


def _trigger_fired(view: RunView, data: Data, event: Event) -> None:
    active(view)
    view.triggers[data["node"], data["state"]] = TriggerView(
        data["node"], data["state"], data["uri"], True, data["objects"], data["seen_blob"]
    )
    view.firings[data["state"]] = data["seen_blob"]


def _wave_started(view: RunView, data: Data, event: Event) -> None:
    active(view)
    wave = view.waves.get(data["node"])
    if wave is None:
        wave = WaveView(
            node=data["node"],
            number=data["number"],
            label=data["label"],
            kind=data["kind"],
            loops=dict(data["loops"]),
            states=tuple(data["states"]),
            before=_observations(data["before"]),
            marks=dict(data.get("marks", {})),
            opens={group: _observations(seen) for group, seen in data["opens"].items()},
            retry_all=data.get("retry_all"),
        )
        view.waves[wave.node] = wave
        open_groups(view, wave)
    if data["budget"] in ("request", "first"):
        # A wave that failed comes before any that has not begun: the grant is used up by either.
        view.retry = False
    wave.attempts.append(
        AttemptView(
            number=data["attempt"],
            members=tuple(data["members"]),
            budget=data["budget"],
            started=event.at,
            gpus=tuple(data.get("gpus", ())),
        )
    )


def _observations(data: Mapping[str, Any]) -> dict[str, Observation | None]:
    return {uri: ev.observation_from_json(seen) for uri, seen in data.items()}


def _launch_intent(view: RunView, data: Data, event: Event) -> None:
    attempt = view.waves[data["node"]].last
    launch = attempt.launches.get(data["batch"])
    if launch is None:
        launch = LaunchView(
            launch_id=data["launch_id"],
            name=data["name"],
            batch=data["batch"],
            members=tuple(data["members"]),
            tasks=tuple(data["tasks"]),
            instance=data["instance"],
        )
        attempt.launches[data["batch"]] = launch
    launch.posts = data["n"]
    launch.fence = event.fence
    launch.instance = data["instance"]
    launch.incarnation = data.get("incarnation", "")
    launch.claim = data.get("claim", False)
    launch.doubt = launch.open
    launch.open = True
    launch.answered = launch.accepted = False
    launch.request_id = launch.job_id = ""


def _launch_result(view: RunView, data: Data, event: Event) -> None:
    launch = view.launch(data["launch_id"])
    if launch is not None and launch.posts == data["n"]:
        launch.accepted = data["outcome"] == "accepted"
        launch.doubt = launch.doubt and not launch.accepted
        launch.open = launch.doubt or data["outcome"] == "maybe-sent"
        launch.answered = True
        launch.request_id = data["request_id"]
        launch.job_id = data["job_id"]
        launch.reason = data["message"]


def _launch_settled(view: RunView, data: Data, event: Event) -> None:
    launch = view.launch(data["launch_id"])
    if launch is None:
        return
    if data["how"] == SEALED:
        launch.sealed.add(data["n"])
    elif data["how"] == ABSENT:
        launch.loose.add(data["n"])
    if launch.posts == data["n"]:
        launch.open = launch.doubt = launch.accepted = False
        launch.request_id = launch.job_id = ""


def _reap_intent(view: RunView, data: Data, event: Event) -> None:
    launch = view.launch(data["launch_id"])
    if launch is not None:
        launch.reaping[data["job_id"]] = data["why"]


def _reap_result(view: RunView, data: Data, event: Event) -> None:
    launch = view.launch(data["launch_id"])
    if launch is not None:
        launch.reaping.pop(data["job_id"], None)
        launch.reaped[data["job_id"]] = data["status"]


def _launch_absent(view: RunView, data: Data, event: Event) -> None:
    launch = view.launch(data["launch_id"])
    if launch is not None:
        launch.absent = True
        launch.open = launch.doubt = False


def _job_attached(view: RunView, data: Data, event: Event) -> None:
    launch = view.launch(data["launch_id"])
    if launch is not None:
        launch.job = JobRef.from_json(data["job"])
        launch.adopted = data["adopted"]
        launch.open = launch.doubt = False


def _job_status(view: RunView, data: Data, event: Event) -> None:
    launch = view.launch(data["launch_id"])
    if launch is not None:
        launch.status = data["status"]
        launch.task_status = [list(pair) for pair in data["tasks"]]
        launch.reason = data["reason"]


def _engine_lost(view: RunView, data: Data, event: Event) -> None:
    view.dark = data["message"]


def _engine_back(view: RunView, data: Data, event: Event) -> None:
    view.dark = ""


def _cancel_intent(view: RunView, data: Data, event: Event) -> None:
    launch = view.launch(data["launch_id"])
    if launch is not None:
        launch.cancelling = data["why"]


def _cancel_result(view: RunView, data: Data, event: Event) -> None:
    launch = view.launch(data["launch_id"])
    if launch is not None:
        launch.status = data["status"]


def _batch_ended(view: RunView, data: Data, event: Event) -> None:
    wave = view.waves[data["node"]]
    attempt = wave.last
    launch = attempt.launches[data["batch"]]
    launch.status = data["status"]
    launch.ended = True
    launch.seconds = data.get("seconds")
    for result in data["results"]:
        launch.results.append(
            MemberResult(
                member=result["member"],
                ok=result["ok"],
                family=result["family"],
                status=result["status"],
                exit_code=result["exit_code"],
                reason=result["reason"],
                missing=[dict(each) for each in result["missing"]],
            )
        )
        if result["ok"]:
            _keep(view, result["records"], wave.node, attempt.number, wave.states[result["member"]])


def _keep(view: RunView, records: Iterable[Data], node: str, attempt: int, state: str) -> None:
    for record in records:
        seen = ev.observation_from_json(record["observation"])
        assert seen is not None, "an output record always has an observation"
        kept = OutputRecord(record["uri"], record["kind"], seen, node, attempt, record.get("state", state))
        view.records[kept.uri] = kept
        view.history.setdefault(kept.uri, []).append(kept)


def _wave_succeeded(view: RunView, data: Data, event: Event) -> None:
    wave = view.waves[data["node"]]
    wave.last.state = SUCCEEDED
    wave.last.family = SUCCESS
    wave.last.ended = event.at
    _keep(view, data["records"], wave.node, wave.last.number, wave.label)


def _wave_failed(view: RunView, data: Data, event: Event) -> None:
    attempt = view.waves[data["node"]].last
    attempt.state = FAILED
    attempt.ended = event.at
    attempt.family = data["family"]
    attempt.code = data["code"]
    attempt.reason = data["reason"]
    attempt.remedy = data["remedy"]


def _group_checked(view: RunView, data: Data, event: Event) -> None:
    view.checked.add(data["node"])
    _keep(view, data["records"], data["node"], 1, "")


def _decided(view: RunView, data: Data, event: Event) -> None:
    active(view)
    view.decisions[data["node"]] = DecisionView(
        node=data["node"],
        state=data["state"],
        uri=data["uri"],
        decision=data["decision"],
        next=data["next"],
        given=event.type == ev.DECISION_GIVEN,
        reason=data.get("reason", ""),
        at=event.at,
    )


def _cancel_requested(view: RunView, data: Data, event: Event) -> None:
    view.cancel = data["reason"]


def _run_blocked(view: RunView, data: Data, event: Event) -> None:
    view.state = BLOCKED
    view.code = data["code"]
    view.reason = data["reason"]
    view.remedy = data["remedy"]
    view.evidence = dict(data["evidence"])


def _run_detached(view: RunView, data: Data, event: Event) -> None:
    view.detached = data["why"]


def _run_ended(view: RunView, data: Data, event: Event) -> None:
    view.state = data["state"]
    view.code = data["code"]
    view.reason = data["reason"]
    view.remedy = data["remedy"]
    view.detached = ""


_HANDLERS: dict[str, Callable[[RunView, Data, Event], None]] = {
    ev.DRIVER_STARTED: _driver_started,
    ev.RUN_CREATED: _run_created,
    ev.RUN_RESUMED: _run_resumed,
    ev.RUN_AMENDED: run_amended,
    ev.RUN_REWOUND: run_rewound,
    ev.TRIGGER_WAITING: _trigger_waiting,
    ev.TRIGGER_FIRED: _trigger_fired,
    ev.WAVE_STARTED: _wave_started,
    ev.LAUNCH_INTENT: _launch_intent,
    ev.LAUNCH_RESULT: _launch_result,
    ev.LAUNCH_SETTLED: _launch_settled,
    ev.REAP_INTENT: _reap_intent,
    ev.REAP_RESULT: _reap_result,
    ev.LAUNCH_ABSENT: _launch_absent,
    ev.JOB_ATTACHED: _job_attached,
    ev.JOB_STATUS: _job_status,
    ev.ENGINE_LOST: _engine_lost,
    ev.ENGINE_BACK: _engine_back,
    ev.CANCEL_INTENT: _cancel_intent,
    ev.CANCEL_RESULT: _cancel_result,
    ev.BATCH_ENDED: _batch_ended,
    ev.WAVE_SUCCEEDED: _wave_succeeded,
    ev.WAVE_FAILED: _wave_failed,
    ev.GROUP_CHECKED: _group_checked,
    ev.DECISION_READ: _decided,
    ev.DECISION_GIVEN: _decided,
    ev.CANCEL_REQUESTED: _cancel_requested,
    ev.RUN_BLOCKED: _run_blocked,
    ev.RUN_DETACHED: _run_detached,
    ev.RUN_ENDED: _run_ended,
}
