"""Names by which a launch is known: the launch id and the job name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

NAME_LIMIT = 60
"""Longest job name, in characters."""

_LABEL_FLOOR = 12


def launch_id(run_uid: str, node: str, batch: int, attempt: int, members: Iterable[str]) -> str:
    """Give the id of one logical launch: ``npa-launch-`` and 32 hex digits.

    It is a function of the run's random uid, the node, the batch and attempt (both from 1) and
    the members that are posted, in any order.  Whoever knows these finds the launch again; nobody
    else comes upon it by chance.
    """
    parts = (run_uid, node, str(batch), str(attempt), *sorted(members))
    return "npa-launch-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _clean(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _cut(text: str, length: int) -> str:
    return text[: max(length, 0)].strip("-")


def job_name(
    run: str,
    number: int,
    label: str,
    launch: str,
    *,
    batch: int | None = None,
    attempt: int = 1,
) -> str:
    """Give ``<run>-<number>-<label>[-bK][-a<N>]-<10 hex of the launch id>``.

    Lower case letters, digits and single dashes, at most :data:`NAME_LIMIT` characters, beginning
    with a letter.  ``batch`` is None when the wave has one batch.  What follows the label is never
    cut: when the name is too long the label gives way first, then the run id.
    """
    tail = ""
    if batch is not None:
        tail += f"-b{batch}"
    if attempt > 1:
        tail += f"-a{attempt}"
    tail += "-" + launch.rsplit("-", 1)[-1][:10]
    place = f"{number:03d}"
    run, label = _run_part(run), _clean(label) or "wave"
    room = NAME_LIMIT - len(tail) - len(place) - 2
    label = _cut(label, max(room - len(run), _LABEL_FLOOR)) or "wave"
    run = _cut(run, room - len(label))
    return f"{run}-{place}-{label}{tail}"


def may_be_of_run(name: str, run: str) -> bool:
    """Say whether a run with this id could have made a job of this name.

    The beginning of a run id counts where the name is so long that the id may have been cut, so
    this may say yes once too often, never once too seldom.
    """
    whole = _run_part(run)
    # What was cut fills the name, but for a dash that the cut left at an end of each part.
    cut = len(name) >= NAME_LIMIT - 2
    if not re.search(r"-[0-9a-f]{10}$", name):
        return False
    for match in re.finditer(r"-\d{3,}-", name):
        head = name[: match.start()]
        if head == whole or (cut and whole.startswith(head)):
            return True
    return False


def _run_part(run: str) -> str:
    cleaned = _clean(run) or "run"
    return cleaned if cleaned[0].isalpha() else "r" + cleaned
