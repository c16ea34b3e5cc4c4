"""From SkyPilot documents to the plan of a local job, refusing what this engine cannot do.

A plan is plain JSON data: ``{"group": NAME or "", "tasks": [{"name", "nodes", "gpus", "envs",
"secrets", "setup", "run"}, …]}``.  Scripts are text or None.

Honoured are ``name``, ``num_nodes``, ``envs``, ``secrets``, ``setup`` and ``run``.  What says where a
task is placed and how much it gets (cloud, region, cpus, memory, disk, pod configuration, …) has no
meaning on one machine and is passed over.  What changes the task's contents is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from npac.launch.ports import EngineError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_LONGEST = 128 * 1024 - 1
"""Bytes that Linux takes in one ``NAME=value`` string."""
MAX_NODES = 32
"""Most nodes of one task: what specs may ask for, too."""
MAX_TASKS = 1000
MAX_PROCESSES = 4096
"""Most nodes of all tasks of one job."""
MAX_VARIABLES = 1 << 20
"""Most bytes of a task's variables together: half of what Linux gives a process by default."""
_CONTENTS = ("workdir", "file_mounts", "volumes", "volume_mounts", "managed_secrets", "service", "pool")
_REACH = {
    "managed_secrets": "name secrets under secrets and give them with --secret-env",
    "service": "start what is served in the run script",
}
"""What to do instead of a key, where that is not to reach files by their absolute paths."""


def _refuse(message: str, remedy: str) -> EngineError:
    return EngineError(message, phase="rejected", remedy=remedy)


def plan(
    documents: Sequence[Mapping[str, Any]],
    name: str,
    launch_id: str,
    secrets: Mapping[str, str],
    *,
    pretend: bool,
) -> dict[str, Any]:
    """Give the plan of one task document or of a JobGroup.

    ``secrets`` go to every task.  With ``pretend``, images and accelerators that tasks ask for are
    passed over.  Raises :class:`EngineError`, phase ``"rejected"``.
    """
    if not launch_id:
        raise _refuse("The launch has no launch id.", "Give every launch an id of its own.")
    if not documents:
        raise _refuse("There is no document to launch.", "Give a task, or a JobGroup with its tasks.")
    head, members = documents[0], documents
    group = ""
    if "execution" in head:
        if head["execution"] != "parallel":
            raise _refuse(
                f"The job's header asks for execution {head['execution']!r}; "
                "the local engine runs 'parallel' only.",
                "Launch the tasks of a pipeline one after the other.",
            )
        group = str(head.get("name") or name)
        members = documents[1:]
        if not members:
            raise _refuse("The JobGroup has no tasks.", "Add a task document after the header.")
    elif len(documents) > 1:
        raise _refuse(
            "There are several documents and the first is not the header of a JobGroup.",
            "Put a header with 'execution: parallel' first, or launch the tasks one after the other.",
        )
    if len(members) > MAX_TASKS:
        raise _refuse(
            f"The JobGroup has {len(members)} tasks; the local engine runs at most {MAX_TASKS} in one job.",
            "Split the group.",
        )
    tasks = [_task(document, name, launch_id, secrets, pretend) for document in members]
    seen: set[str] = set()
    for task in tasks:
        if task["name"] in seen:
            raise _refuse(
                f"Two tasks of the JobGroup are called {task['name']!r}.", "Give each task a name of its own."
            )
        seen.add(task["name"])
    processes = sum(task["nodes"] for task in tasks)
    if processes > MAX_PROCESSES:
        raise _refuse(
            f"The tasks of the JobGroup have {processes} nodes together; "
            f"the local engine runs at most {MAX_PROCESSES} in one job.",
            "Split the group, or give its tasks fewer nodes.",
        )
    return {"group": group, "tasks": tasks}


def _task(
    document: Mapping[str, Any], name: str, launch_id: str, secrets: Mapping[str, str], pretend: bool
) -> dict[str, Any]:
    label = str(document.get("name") or name)
    _refuse_contents(document, label)
    resources = document.get("resources") or {}
    if not isinstance(resources, Mapping):
        raise _refuse(
            f"The resources of task {label!r} are not a mapping.", "Write them as 'key: value' lines."
        )
    gpus = _gpus(resources, label)
    if not pretend:
        _refuse_hardware(resources, label)
    nodes = document.get("num_nodes", 1)
    if nodes is None:
        nodes = 1
    if isinstance(nodes, bool) or not isinstance(nodes, int) or not 1 <= nodes <= MAX_NODES:
        raise _refuse(
            f"Task {label!r} has num_nodes {_shown(nodes)}; a task takes 1 to {MAX_NODES} nodes.",
            f"Give a whole number from 1 to {MAX_NODES}.",
        )
    envs = {"NPA_WORKFLOW_ATTEMPT_ID": launch_id, **_variables(document.get("envs"), label, "envs")}
    own = document.get("secrets")
    if isinstance(own, Mapping):
        own = {key: value for key, value in own.items() if key not in secrets}
    hidden = {**_variables(own, label, "secrets"), **_variables(secrets, label, "secrets")}
    size = sum(
        len(key) + len(value.encode("utf-8", "surrogateescape")) + 2 for key, value in (envs | hidden).items()
    )
    if size > MAX_VARIABLES:
        raise _refuse(
            f"The variables of task {label!r} take {size} bytes; a task takes at most {MAX_VARIABLES}.",
            "Put large values into files and pass the files' paths.",
        )
    return {
        "name": label,
        "nodes": nodes,
        "gpus": gpus,
        "envs": envs,
        "secrets": hidden,
        "setup": _script(document, "setup", label),
        "run": _script(document, "run", label),
    }


def _refuse_contents(document: Mapping[str, Any], label: str) -> None:
    found = [key for key in _CONTENTS if document.get(key)]
    if not found:
        return
    listed = " and ".join(map(repr, found))
    instead = dict.fromkeys(_REACH.get(key, "reach files by their absolute paths") for key in found)
    if found == ["pool"]:
        instead = dict.fromkeys(["let the job run on this machine itself"])
    raise _refuse(
        f"Task {label!r} has {listed}, which the local engine does not do.",
        f"Take {listed} out of the task, and {', and '.join(instead)}.",
    )


def _refuse_hardware(resources: Mapping[str, Any], label: str) -> None:
    choices = [resources]
    for key in ("any_of", "ordered"):
        listed = resources.get(key)
        choices += (
            [choice for choice in listed if isinstance(choice, Mapping)] if isinstance(listed, list) else []
        )
    for choice in choices:
        for key, noun in (("image_id", "image"), ("accelerators", "accelerators")):
            if choice.get(key):
                raise _refuse(
                    f"Task {label!r} asks for the {noun} {choice[key]!r}; "
                    "the local engine runs plain processes.",
                    f"Take {key!r} out of the task, or set the local engine's option 'pretend' (--pretend) "
                    "to run it as a plain process.",
                )


def _gpus(resources: Mapping[str, Any], label: str) -> int:
    """Give the accelerators for each node that a task asks for: ``NAME``, ``NAME:N`` or ``{NAME: N}``."""
    wanted = resources.get("accelerators")
    if not wanted:
        return 0
    try:
        if isinstance(wanted, Mapping):
            return int(next(iter(wanted.values())) or 1)
        if isinstance(wanted, str):
            return int(wanted.partition(":")[2] or 1)
        return _gpus({"accelerators": wanted[0]}, label)
    except (TypeError, ValueError, KeyError, IndexError, StopIteration, OverflowError):
        raise _refuse(
            f"The accelerators of task {label!r} cannot be read: {_shown(wanted)}.",
            "Write NAME or NAME:COUNT.",
        ) from None


def _script(document: Mapping[str, Any], key: str, label: str) -> str | None:
    text = document.get(key)
    if text is None:
        return None
    if not isinstance(text, str) or "\0" in text or not _writable(text):
        raise _refuse(f"The {key} script of task {label!r} is not text.", "Write it as a block of shell.")
    return text


def _writable(text: str) -> bool:
    """Say whether a text has bytes: an unpaired surrogate that stands for no byte has none."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: object) -> str:
    """Show a value in a message, whatever its size."""
    if isinstance(value, int) and value.bit_length() > 4096:
        return f"of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _variables(given: object, label: str, what: str) -> dict[str, str]:
    """Check environment variables and give their values as text.  Messages never hold a value."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise _refuse(
            f"The {what} of task {label!r} are not a mapping.", "Write them as 'NAME: value' lines."
        )
    result = {}
    for name, value in given.items():
        where = f"The variable {name!r} in the {what} of task {label!r}"
        if not isinstance(name, str) or not _VARIABLE.match(name):
            raise _refuse(
                f"{where} has no valid name.", "Use letters, digits and underscores, no digit first."
            )
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise _refuse(f"{where} has a value that is not text or a number.", "Put the value in quotes.")
        if isinstance(value, int) and value.bit_length() > 4096:
            raise _refuse(f"{where} is a number {_shown(value)}.", "Put the value in quotes.")
        text = str(value)
        try:
            size = len(text.encode("utf-8", "surrogateescape")) + len(name) + 1
        except UnicodeEncodeError:
            size = -1
        if "\0" in text or size < 0:
            raise _refuse(
                f"{where} has a character that no environment can hold.", "Take that character out."
            )
        if size > _LONGEST:
            raise _refuse(
                f"{where} is longer than the {_LONGEST} bytes that a process can be given.",
                "Put the value into a file and pass the file's path.",
            )
        result[name] = text
    return result
