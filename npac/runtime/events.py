"""The events of a run's log: their types and what each one holds.

Only transitions are recorded, never polls.  What is about to be done is recorded before it is done
(``…-intent``), so an intent without its result is an uncertain effect and never "nothing
happened".  All data is JSON.  ``node`` is always the id of a node of the program, ``attempt`` and
``batch`` count from 1, ``members`` are indexes into the wave's members.

``driver-started``
    Appended by the ledger when a driver takes the run: ``driver`` (what it says of itself), ``process``
    (its identity) and ``replaced``: null, or the ``fence`` of the driver before and ``because``
    (``released``, ``dead`` or ``silent``, which proves nothing).
``run-created``
    ``schema``, ``run_id``, ``run_uid`` (32 hex digits), ``workflow``, ``blobs`` (``program_blob``,
    ``link_blob`` and what else the caller stored, such as ``spec_blob``; the digest of each, which for
    the first two is the identity of the program and the link record), ``outputs_blob``
    (``{"outputs": [[uri, kind], …]}``, all that the program may write), ``engine`` (``name``,
    ``instance``), ``secrets`` (names), ``options``, ``target`` (the path of what is run; empty where that
    is not known).
``run-resumed``
    ``engine``, ``options``, ``retry`` (a person asked for one more attempt): a later driver goes on.
``run-amended``
    The rest of the run follows another program: ``before`` and ``after`` (digests of the programs),
    ``blobs``, ``outputs_blob``, ``secrets`` and ``target`` as in ``run-created`` (the link record stays),
    ``changes`` (the differences by meaning; where there are very many the first of them, and
    ``changes_blob`` with all), ``text`` (the same for people), ``set_aside`` (waves that had begun and are
    changed), ``untriggered`` (``[[node, state], …]``, triggers that are changed), ``unchecked`` (nodes
    before which groups are checked anew), ``edges`` (``{gate: node that follows now}``), ``retry`` (one more
    attempt at a wave that failed comes with it) and ``reason``.
``run-rewound``
    ``node``, ``set_aside`` (this wave and all nodes that followed it) and ``unchecked``: they run again, and
    what is on record of them before this event no longer counts; ``reason``.
``trigger-waiting`` / ``trigger-fired``
    ``node``, ``state``, ``uri``; when fired also ``objects`` (how many), ``polls``, ``sample`` (first
    keys) and ``seen_blob`` (fingerprints of all objects of this firing).
``wave-started``
    One per attempt, before anything of it is launched: ``node``, ``number``, ``label``, ``kind``,
    ``loops``, ``attempt``, ``members`` (those that this attempt posts), ``states`` (a name for each
    member of the wave), ``budget`` (``first``, ``retries``, ``infrastructure``, ``request`` or
    ``lost-output``), ``retry_all`` (another attempt runs all members, also those that have succeeded),
    ``gpus`` (how many each member asks for on all its nodes; empty where none asks for any) and, in
    the first attempt, ``before``: the observation (or null) of each declared
    output, ``{uri: …}``; ``opens``: ``{group: {uri: …}}`` for sequences that begin here; and ``marks``:
    the mark of that moment that the store of each gives, ``{uri: …}``.
``launch-intent``
    ``node``, ``attempt``, ``batch``, ``members``, ``launch_id``, ``name``, ``n`` (which POST of this
    launch id), ``instance`` (of the engine), ``incarnation`` (of its server, empty where the engine has
    none), ``claim`` (a grant goes with the POST, and its register decides), ``tasks`` (names of the
    documents' tasks, in the order of ``members``), ``secrets`` (names).
``launch-result``
    ``launch_id``, ``n``, ``outcome`` (``accepted``, ``never-sent``, ``rejected``, ``maybe-sent``),
    ``request_id``, ``job_id``, ``message``.
``launch-settled``
    ``launch_id``, ``n``, ``how``: no job counts that may come of this POST.  ``sealed`` in its register,
    ``absent`` (nothing was seen of it for long enough), or ``ended`` (its job was reaped).
``reap-intent`` / ``reap-result``
    ``launch_id``, ``job_id``, ``why`` (``phantom``, ``sealed``, ``claimed-out``); then ``status``, the
    verified end of a job that was not adopted.
``launch-absent``
    ``launch_id``: the launch is proven never to have made a job, and is given up.
``job-attached``
    ``node``, ``attempt``, ``batch``, ``launch_id``, ``job`` (id, name, launch id, instance and submission
    time), ``adopted``, ``n`` (the last POST).  A second one follows when another job of the launch is
    found to hold its register.
``job-status``
    ``launch_id``, ``status``, ``tasks`` (``[[name, status], …]``), ``reason``.
``engine-lost`` / ``engine-back``
    ``node``, ``message``: the status source went away, or came back.
``cancel-intent`` / ``cancel-result``
    ``launch_id``, ``job_id``, ``why``; then ``status``, the verified end of the job.
``batch-ended``
    ``node``, ``attempt``, ``batch``, ``launch_id``, ``status``, ``seconds`` (how long the job ran by the
    engine's times, null where it gives none), ``results``: for each member ``member``,
    ``ok``, ``family``, ``status``, ``exit_code``, ``reason``, ``records`` (``[{uri, kind, observation}]``,
    the output records) and ``missing`` (``[{uri, why}]``).
``wave-succeeded``
    ``node``, ``attempt``, ``records`` of the group's own outputs.
``wave-failed``
    ``node``, ``attempt``, ``family``, ``code``, ``reason``, ``remedy``.
``group-checked``
    ``node`` (before which the check was made), ``groups``, ``records``.
``decision-read`` / ``decision-given``
    ``node``, ``state``, ``uri``, ``decision``, ``next``; when read also ``observation``, and
    ``bytes_blob``, what was read; when given by a person ``reason`` and ``by``.
``cancel-requested``
    ``request``, ``reason``.
``run-blocked``
    ``node``, ``code``, ``reason``, ``remedy``, ``evidence``: the run can go on when the evidence is there.
``run-detached``
    ``why``: the driver left on purpose; jobs go on.
``run-ended``
    ``state`` (``succeeded``, ``failed``, ``cancelled``), ``node``, ``code``, ``reason``, ``remedy``.

A key that ends in ``_blob`` has the digest of a blob as its value.  An event whose data is longer than
:data:`INLINE_LIMIT` bytes is ``{"data_blob": digest}``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from npac.ledger.outside import writable
from npac.ledger.ports import Event, LedgerCorrupt, Observation

SCHEMA = "npac.run/v1"

DRIVER_STARTED = "driver-started"
RUN_CREATED = "run-created"
RUN_RESUMED = "run-resumed"
RUN_AMENDED = "run-amended"
RUN_REWOUND = "run-rewound"
TRIGGER_WAITING = "trigger-waiting"
TRIGGER_FIRED = "trigger-fired"
WAVE_STARTED = "wave-started"
LAUNCH_INTENT = "launch-intent"
LAUNCH_RESULT = "launch-result"
LAUNCH_SETTLED = "launch-settled"
LAUNCH_ABSENT = "launch-absent"
REAP_INTENT = "reap-intent"
REAP_RESULT = "reap-result"
JOB_ATTACHED = "job-attached"
JOB_STATUS = "job-status"
ENGINE_LOST = "engine-lost"
ENGINE_BACK = "engine-back"
CANCEL_INTENT = "cancel-intent"
CANCEL_RESULT = "cancel-result"
BATCH_ENDED = "batch-ended"
WAVE_SUCCEEDED = "wave-succeeded"
WAVE_FAILED = "wave-failed"
GROUP_CHECKED = "group-checked"
DECISION_READ = "decision-read"
DECISION_GIVEN = "decision-given"
CANCEL_REQUESTED = "cancel-requested"
RUN_BLOCKED = "run-blocked"
RUN_DETACHED = "run-detached"
RUN_ENDED = "run-ended"

INLINE_LIMIT = 32 * 1024
"""Longest data of an event that stands in the log itself, in bytes of JSON."""


def encode(data: Mapping[str, Any]) -> bytes:
    """Give data as compact JSON bytes with sorted keys; what JSON cannot hold is shown as text."""
    return json.dumps(writable(data), ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def packed(data: Mapping[str, Any], put_blob: Callable[[bytes], str]) -> Mapping[str, Any]:
    """Give ``data``, or a reference to a blob that holds it when it is too long for the log."""
    # Most events are a few short fields; only those with lists can come near the limit.
    if not any(isinstance(value, (list, dict)) for value in data.values()):
        return data
    text = encode(data)
    return data if len(text) <= INLINE_LIMIT else {"data_blob": put_blob(text)}


TOLD_LIMIT = 12 * 1024
"""Longest list of differences, in bytes of JSON, that stands in an event as a whole."""
TOLD_LINES = 40


def told(changes: Sequence[Mapping[str, Any]], text: str, put_blob: Callable[[bytes], str]) -> dict[str, Any]:
    """Give differences between programs as data of an event, the whole of very many in a blob."""
    lines = text.splitlines()
    if len(lines) > TOLD_LINES:
        lines[TOLD_LINES:] = [f"… and {len(lines) - TOLD_LINES} lines more"]
    shown = [dict(change) for change in changes]
    data: dict[str, Any] = {"changes": shown, "text": "\n".join(lines)[:TOLD_LIMIT]}
    whole = encode({"changes": shown})
    if len(whole) > TOLD_LIMIT:
        data["changes_blob"] = put_blob(whole)
        # The log keeps its entries short, so that it can be read from its first event on.
        while len(encode({"changes": shown})) > TOLD_LIMIT:
            del shown[len(shown) // 2 :]
    return data


def unpacked(event: Event, get_blob: Callable[[str], bytes]) -> Mapping[str, Any]:
    """Give the data of an event, from its blob when it was spilled.

    Raises :class:`npac.ledger.ports.LedgerError` when the blob cannot be read.
    """
    digest = event.data.get("data_blob")
    if digest is None:
        return event.data
    data = json.loads(get_blob(str(digest)))
    if not isinstance(data, dict):
        raise LedgerCorrupt(f"event {event.number} ({event.type}) refers to a blob that is no JSON object")
    return data


def observation_to_json(seen: Observation | None) -> dict[str, Any] | None:
    """Give an observation as JSON; None (proven absent) stays None."""
    if seen is None:
        return None
    return {"uri": seen.uri, "identity": dict(seen.identity), "size": seen.size, "empty": seen.empty}


def observation_from_json(data: Mapping[str, Any] | None) -> Observation | None:
    """Read an observation back."""
    if data is None:
        return None
    return Observation(
        uri=str(data["uri"]), identity=data["identity"], size=int(data["size"]), empty=bool(data["empty"])
    )
