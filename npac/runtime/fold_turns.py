"""What an amendment and a rerun do to the view of a run; a part of :mod:`npac.runtime.fold`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from npac.ledger.ports import Event
from npac.runtime.view import RUNNING, AmendmentView, RewindView, RunView, WaveView

Data = Mapping[str, Any]


def active(view: RunView) -> None:
    """Let a run go on: nothing holds it up any more, as far as is known."""
    view.state = RUNNING
    view.code = view.reason = view.remedy = view.detached = ""
    view.evidence = {}


def run_amended(view: RunView, data: Data, event: Event) -> None:
    """Take in that the rest of a run follows another program."""
    active(view)
    view.cancel = None
    view.retry = view.retry or data["retry"]
    # The link record is what stays; all else that was stored belongs to the program before.
    stored = {name.removesuffix("_blob"): digest for name, digest in data["blobs"].items()}
    view.blobs = {"link": view.blobs["link"], **stored}
    view.outputs = data["outputs_blob"]
    view.secrets = tuple(data["secrets"])
    view.target = data["target"]
    for node, following in data["edges"].items():
        view.decisions[node].next = following
    for node, state in data["untriggered"]:
        view.triggers.pop((node, state), None)
    view.firings = {each.state: each.seen for each in view.triggers.values() if each.fired}
    set_aside(view, data["set_aside"], data["unchecked"])
    view.amendments.append(
        AmendmentView(
            event=event.number,
            at=event.at,
            before=data["before"],
            after=data["after"],
            target=data["target"],
            set_aside=tuple(data["set_aside"]),
            changes=[dict(change) for change in data["changes"]],
            text=data["text"],
        )
    )


def run_rewound(view: RunView, data: Data, event: Event) -> None:
    """Take in that a wave runs again and all that followed it."""
    active(view)
    view.cancel = None
    view.retry = False
    set_aside(view, data["set_aside"], data["unchecked"])
    view.rewinds.append(RewindView(event.number, event.at, data["node"], tuple(data["set_aside"])))


def set_aside(view: RunView, nodes: Iterable[str], unchecked: Iterable[str]) -> None:
    """Let nothing count any more of what is on record of some nodes, as if none had begun."""
    gone = {*nodes, *unchecked}
    for node in nodes:
        view.decisions.pop(node, None)
        wave = view.waves.pop(node, None)
        if wave is not None:
            view.earlier.setdefault(node, []).append(wave)
    view.checked.difference_update(gone)
    for uri, records in list(view.history.items()):
        left = [record for record in records if record.node not in gone]
        if left:
            view.history[uri], view.records[uri] = left, left[-1]
        else:
            del view.history[uri], view.records[uri]
    view.opened, view.opened_marks = {}, {}
    for wave in view.waves.values():
        open_groups(view, wave)


def open_groups(view: RunView, wave: WaveView) -> None:
    """Take in how the outputs of groups were that begin with a wave."""
    for group, seen in wave.opens.items():
        view.opened[group] = seen
        view.opened_marks[group] = wave.marks
