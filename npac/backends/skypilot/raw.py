"""Raw SkyPilot YAML as a program of one wave chain.

A file that was written for SkyPilot goes through the same launch layer as a compiled spec: each task
of a pipeline is a serial wave, a job group is one parallel wave.  The task stays as its author wrote
it; only the variables that identify a launch are added.  Secrets are named here and given at launch,
as everywhere.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import yaml

from npac.ir.program import End, Member, Program, Step, Tree, Wave
from npac.ir.verifier import ENVIRONMENT_NAME, valid_name

API_VERSION = "skypilot"
"""What stands as ``api_version`` of a program that was made from raw SkyPilot YAML."""
MAX_BYTES = 8 << 20
MAX_DEPTH = 64
_HEADER_KEYS = frozenset({"name", "execution"})
_TASK_MARKS = frozenset(
    {"run", "setup", "resources", "num_nodes", "envs", "workdir", "file_mounts", "secrets"}
)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class RawError(ValueError):
    """A file that is no SkyPilot YAML npac can run; the message says where and what to do."""


def is_raw(document: Any) -> bool:
    """Say whether the first document of a file looks like SkyPilot YAML and not like a spec."""
    if not isinstance(document, dict) or "apiVersion" in document or "states" in document:
        return False
    return bool(_TASK_MARKS & set(document)) or "execution" in document


def program_from_yaml(text: str, name: str) -> Program:
    """Read SkyPilot YAML; ``name`` (a valid name) is the workflow's when the file has no header.

    Raises :class:`RawError`.
    """
    documents = _load(text)
    header: dict[str, Any] = {}
    if len(documents) > 1 and set(documents[0]) <= _HEADER_KEYS:
        header, *documents = documents
    execution = header.get("execution", "serial")
    if execution not in ("serial", "parallel"):
        raise RawError(f"execution: {execution!r} does not exist; write serial or parallel")
    workflow = _name(header.get("name", documents[0].get("name", name)), "the first document")
    steps = tuple(_step(document, at) for at, document in enumerate(documents, start=1))
    if execution == "parallel" and len(steps) > 1:
        names = [step.state for step in steps]
        for state in names:
            if names.count(state) > 1:
                raise RawError(f"two tasks of the job group are called {state!r}; give each its own name")
        everyone = tuple(range(len(steps)))
        members = tuple(Member(index) for index in everyone)
        wave = Wave(workflow, 1, members, (everyone,), "end", group=workflow, max_concurrency=len(steps))
        return Program(workflow, workflow, steps, (_not_end(wave), End("end")), API_VERSION)
    ids = _ids(steps)
    waves = tuple(
        Wave(ids[at], at + 1, (Member(at),), ((0,),), ids[at + 1] if at + 1 < len(ids) else "end")
        for at in range(len(steps))
    )
    return Program(workflow, ids[0], steps, (*waves, End("end")), API_VERSION)


def _not_end(wave: Wave) -> Wave:
    if wave.id == "end":
        raise RawError("the job group is called 'end', which npac uses itself; rename it")
    return wave


def _load(text: str) -> list[dict[str, Any]]:
    if len(text) > MAX_BYTES:
        raise RawError(f"the file is larger than {MAX_BYTES >> 20} MiB, which no SkyPilot YAML is")
    try:
        _bound(text)
        loaded = [document for document in yaml.load_all(text, Loader=_Loader) if document is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise RawError(f"line {mark.line + 1 if mark else 1}: this is no YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, RawError):
            raise
        raise RawError(f"this is no YAML that npac can read: {error}") from error
    if not loaded:
        raise RawError("the file is empty")
    for at, document in enumerate(loaded, start=1):
        if not isinstance(document, dict):
            raise RawError(f"document {at} is {type(document).__name__}; a SkyPilot task is a mapping")
    return loaded


def _bound(text: str) -> None:
    """Refuse aliases, which are cheap to read and dear to write out, and nesting without end."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise RawError(f"line {line}: an alias (*{event.anchor}) is not accepted; write its text out")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise RawError(f"line {line}: nested deeper than {MAX_DEPTH} levels")


def _step(document: dict[str, Any], at: int) -> Step:
    where = f"document {at}"
    state = _name(document.get("name", f"task-{at}"), where)
    task: dict[str, Tree] = {}
    for key, value in document.items():
        if not isinstance(key, str):
            raise RawError(f"{where} has a key that is not text: {key!r}")
        if key not in ("name", "secrets", "envs"):
            task[key] = _tree(value, f"{where}: {key}")
    if not isinstance(document.get("run", ""), str):
        raise RawError(f"{where}: run must be text")
    envs = dict(_environment(document.get("envs"), where))
    if envs:
        task["envs"] = envs
    if not task:
        raise RawError(f"{where} has nothing to run")
    nodes = document.get("num_nodes", 1)
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
        raise RawError(f"{where}: num_nodes is {nodes!r}, not a positive number")
    return Step(
        state=state,
        num_nodes=nodes,
        image=_image(document.get("resources")),
        secrets=_secrets(document.get("secrets"), where),
        raw=task,
    )


def _environment(envs: Any, where: str) -> Iterator[tuple[str, Tree]]:
    if envs is None:
        return
    if not isinstance(envs, dict):
        raise RawError(f"{where}: envs must be a mapping")
    for name, value in envs.items():
        if not isinstance(name, str) or ENVIRONMENT_NAME.fullmatch(name) is None:
            raise RawError(f"{where}: {name!r} is not the name of an environment variable")
        if value is None:
            raise RawError(f"{where}: {name} has no value; give it one, or name it under secrets")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise RawError(f"{where}: the value of {name} must be text; quote it")
        yield name, str(value)


def _secrets(secrets: Any, where: str) -> tuple[str, ...]:
    if secrets is None:
        return ()
    if not isinstance(secrets, dict):
        raise RawError(f"{where}: secrets must be a mapping")
    for name, value in secrets.items():
        if not isinstance(name, str) or ENVIRONMENT_NAME.fullmatch(name) is None:
            raise RawError(f"{where}: {name!r} is not the name of an environment variable")
        if value not in (None, ""):
            raise RawError(
                f"{where}: the secret {name} has a value; leave it empty and use --secret-env {name}"
            )
    return tuple(sorted(secrets))


def _image(resources: Any) -> str:
    image = resources.get("image_id") if isinstance(resources, dict) else None
    return image.removeprefix("docker:") if isinstance(image, str) and image.startswith("docker:") else ""


def _tree(value: Any, where: str) -> Tree:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_tree(item, where) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise RawError(f"{where} has a key that is not text: {key!r}; quote it")
        return {key: _tree(item, where) for key, item in value.items()}
    if isinstance(value, datetime.date):
        raise RawError(f"{where} holds a date ({value}); quote it")
    raise RawError(f"{where} holds {type(value).__name__}, which no SkyPilot task has")


def _name(value: Any, where: str) -> str:
    if not isinstance(value, str) or not valid_name(value):
        raise RawError(
            f"{where}: the name {value!r} is not allowed; use letters, digits, '.', '_' and '-', "
            "at most 96, the first a letter or a digit"
        )
    return value


def _ids(steps: tuple[Step, ...]) -> list[str]:
    """Give each task its node id: its name, with a count where a pipeline repeats one."""
    ids: list[str] = []
    taken = {"end"} | {step.state for step in steps}
    seen: set[str] = set()
    for step in steps:
        node, count = step.state, 2
        if node in seen or node == "end":
            while f"{step.state}-{count}" in taken:
                count += 1
            node = f"{step.state}-{count}"
        seen.add(step.state)
        taken.add(node)
        ids.append(node)
    return ids
