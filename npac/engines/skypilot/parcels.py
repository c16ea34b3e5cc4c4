"""What is handed to SkyPilot: documents that carry their launch id and depend on nothing around them."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

from npac.engines.skypilot.bridge import LAUNCH_ID, LAUNCH_POST
from npac.launch.ports import EngineError

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HEADER = frozenset({"name", "execution", "primary_tasks", "termination_delay", "inter_connection"})


def parcel(
    documents: Sequence[Mapping[str, Any]], launch_id: str, secrets: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Give documents for SkyPilot, the launch id among the variables of every task.

    Raises :class:`EngineError`, phase ``"rejected"``, for documents with the launch id of something
    else, with a variable that is also a secret, or with a path that is relative to some folder: which one
    would depend on where npac was called.
    """
    made = [copy.deepcopy(dict(each)) for each in documents]
    tasks = made[1:] if len(made) > 1 and set(made[0]) <= _HEADER else made
    if not tasks:
        raise _refused("there is no task to launch")
    for task in tasks:
        label = str(task.get("name") or "the task")
        envs = task.get("envs")
        if envs is None:
            envs = task["envs"] = {}
        if not isinstance(envs, dict):
            raise _refused(f"the envs of {label} are no mapping")
        if str(envs.setdefault(LAUNCH_ID, launch_id)) != launch_id:
            raise _refused(f"{LAUNCH_ID} of {label} is not that of its launch")
        twice = sorted(set(envs) & set(secrets))
        if twice:
            raise _refused(f"{twice[0]} of {label} is a secret, and also stands in its envs")
        for place, path in _paths(task):
            if not path.startswith(("/", "~")) and not _URL.match(path):
                raise _refused(f"{place} of {label} is the relative path {path}")
    return made


def command(documents: Sequence[Mapping[str, Any]], launch_id: str) -> str:
    """Give what SkyPilot is to show as the command that a launch comes from (see ``bridge.COMMAND``)."""
    posts = {str((each.get("envs") or {}).get(LAUNCH_POST, "")) for each in documents} - {""}
    post = posts.pop() if len(posts) == 1 else ""
    return f"npac launch {launch_id} post {post if post.isascii() and post.isdigit() else 0}"


def _paths(task: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Give what a task takes from this host's files, and where it says so."""
    found = []
    if isinstance(task.get("workdir"), str):
        found.append(("workdir", task["workdir"]))
    mounts = task.get("file_mounts")
    for target, source in mounts.items() if isinstance(mounts, dict) else ():
        source = source.get("source") if isinstance(source, dict) else source
        for each in source if isinstance(source, list) else [source]:
            if isinstance(each, str):
                found.append((f"file_mounts {target}", each))
    return found


def _refused(what: str) -> EngineError:
    return EngineError(
        f"Not launched: {what}.", phase="rejected", remedy="Correct the documents and launch again."
    )
