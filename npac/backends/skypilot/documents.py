"""A wave's batch as SkyPilot documents.

:func:`unlinked` gives document trees: data whose strings may have holes, and *script requests* in
the place of scripts.  Equal iterations give equal trees, because a wave's number and its launch are
holes.  :func:`link_documents` fills a tree in three steps that never mix: values first, then
scripts (where quoting happens), and the YAML text is somebody else's (``emit``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from npac.backends.errors import BackendError
from npac.backends.skypilot import pods
from npac.backends.skypilot.names import member_name, task_name
from npac.backends.skypilot.resources import resources, sort_keys
from npac.ir.codec import tree_from_json, tree_to_json
from npac.ir.errors import LinkError
from npac.ir.forms import FormError
from npac.ir.linking import (
    CONTAINER_LISTS,
    ENDPOINT,
    SOURCE_URI,
    LinkRecord,
    late_values,
    pinned,
    remapped,
)
from npac.ir.program import Program, Step, Tree, Wave
from npac.ir.values import RUN_ID, Apply, Concat, Hole, Value, holes, link, show

SCHEMA = "npac.sky/v1"
SECRET_NAMES = "secret_names"
"""Entry of a document tree that names the task's secrets; it is never part of the YAML."""

WAVE_NUMBER = Hole("wave.number")
LAUNCH_ID = Hole("launch.id")
LAUNCH_ATTEMPT = Hole("launch.attempt")
OPTIONAL = (ENDPOINT, SOURCE_URI)
"""Late values that may be empty; an environment variable that waits for one then goes."""

DocumentTree: TypeAlias = "dict[str, Any]"
"""A document before linking: a :data:`Tree` that may hold :class:`ScriptRequest` at its top level."""


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """A script to be rendered from ``templates/<template>.sh.j2`` once its values are known."""

    template: str
    args: dict[str, Tree]


@dataclass(frozen=True, slots=True)
class LaunchValues:
    """What a document learns when it is launched."""

    attempt: int
    """Attempt of the wave, from 1."""
    fence: int
    """Fence of the driver that launches; it stands in the intent, not in the document."""
    launch_id: str
    number: int
    """The wave's number, from 1."""

    def late(self) -> dict[str, str]:
        """Give the holes that a launch fills, by name.  Raises :class:`LinkError` below 1."""
        if self.attempt < 1 or self.number < 1:
            raise LinkError(f"attempt {self.attempt} of wave {self.number}: both count from 1")
        return {
            WAVE_NUMBER.name: str(self.number),
            LAUNCH_ID.name: self.launch_id,
            LAUNCH_ATTEMPT.name: str(self.attempt),
        }


def unlinked(program: Program, wave: Wave, batch_index: int) -> list[DocumentTree]:
    """Give the document trees of one batch: a task, or a header and a task for each member.

    Raises :class:`BackendError` for what SkyPilot cannot express.
    """
    steps = [program.steps[wave.members[index].step] for index in wave.batches[batch_index]]
    if len(steps) == 1:
        return [_task(program, steps[0], task_name(steps[0].state))]
    tasks = [_task(program, step, member_name(step.state)) for step in steps]
    return [{"name": member_name(wave.group), "execution": "parallel"}, *tasks]


def secret_names(trees: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Give the names of the secrets that any task of ``trees`` needs, sorted."""
    return tuple(sorted({name for tree in trees for name in tree.get(SECRET_NAMES, ())}))


def _task(program: Program, step: Step, name: str) -> DocumentTree:
    tree: DocumentTree = {"name": name}
    if step.raw:
        tree.update((key, sort_keys(value)) for key, value in step.raw.items() if key not in ("name", "envs"))
        envs = {**_environment(step.raw.get("envs")), **_identity(program, step)}
        tree["envs"] = {name: envs[name] for name in sorted(envs)}
    else:
        if step.num_nodes > 1:
            tree["num_nodes"] = step.num_nodes
        block = resources(step)
        if block:
            tree["resources"] = block
        envs = {**step.env, **_identity(program, step), **_linked(step)}
        tree["envs"] = {name: envs[name] for name in sorted(envs)}
        tree["setup"] = _setup(step)
        tree["run"] = ScriptRequest("run", {"argv": list(step.argv), "shell": step.shell})
        config = pods.config(step)
        if config:
            tree["config"] = config
    if step.secrets:
        tree[SECRET_NAMES] = list(step.secrets)
    return tree


def _environment(tree: Tree | None) -> dict[str, Value]:
    if not isinstance(tree, dict):
        return {}
    return {name: value for name, value in tree.items() if isinstance(value, str)}


def _identity(program: Program, step: Step) -> dict[str, Value]:
    """The variables by which a task knows, and an engine finds, what it is part of."""
    envs: dict[str, Value] = {
        "NPA_WORKFLOW_NAME": program.workflow,
        "NPA_WORKFLOW_RUN_ID": RUN_ID,
        "NPA_WORKFLOW_STATE": step.state,
        "NPA_WORKFLOW_ATTEMPT_ID": LAUNCH_ID,
        "NPA_WORKFLOW_FENCE_SEQUENCE": WAVE_NUMBER,
        "NPA_WORKFLOW_FENCE_ATTEMPT": LAUNCH_ATTEMPT,
    }
    if step.image:
        envs["NPA_TASK_IMAGE"] = step.image
    return envs


def _linked(step: Step) -> dict[str, Value]:
    envs: dict[str, Value] = {"AWS_ENDPOINT_URL": ENDPOINT}
    if step.baked:
        envs["NPA_SIM2REAL_SOURCE_SHA"] = step.baked.source_sha
    else:
        envs["NPA_SRC_S3_URI"] = SOURCE_URI
    return envs


def _setup(step: Step) -> ScriptRequest:
    if step.baked:
        return ScriptRequest("setup_baked", {"import_module": step.baked.import_module})
    requirements: list[Tree] = [
        {"probe": probe, "requirement": requirement} for probe, requirement in step.setup.pip_requirements
    ]
    return ScriptRequest(
        "setup",
        {
            "interpreters": list(step.setup.interpreters),
            "pip_extra": step.setup.pip_extra,
            "requirements": requirements,
            "overlay": step.source_overlay,
        },
    )


def link_documents(
    trees: Sequence[Mapping[str, Any]], record: LinkRecord, launch: LaunchValues
) -> list[dict[str, Any]]:
    """Give the final documents: plain data with rendered scripts, pins and remaps applied.

    ``secret_names`` is left out.  Raises :class:`LinkError` when a value is missing, a script waits
    for more than the run id, or a text breaks what SkyPilot asks of it.
    """
    return _link(trees, {**late_values(record), **launch.late()}, record)


def show_documents(
    trees: Sequence[Mapping[str, Any]],
    *,
    pins: Mapping[str, str] | None = None,
    accelerators: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Give the documents for people, with ``<name>`` where a value is still open.

    Image pins and accelerator remaps, where given, are shown as they will take effect.
    """
    late = _Shown()
    record = LinkRecord(run_id=late["run.id"], pins=pins or {}, accelerators=accelerators or {})
    return _link(trees, late, record)


class _Shown(dict[str, str]):
    """Stands for values that are still open; a transform of one is shown, not carried out."""

    shown = True

    def __missing__(self, name: str) -> str:
        return f"<{name}>"


def _link(
    trees: Sequence[Mapping[str, Any]], late: Mapping[str, str], record: LinkRecord
) -> list[dict[str, Any]]:
    documents = []
    for tree in trees:
        document: dict[str, Any] = {}
        for key, value in tree.items():
            if key == SECRET_NAMES:
                continue
            if isinstance(value, ScriptRequest):
                script = _script(value, late)
                if script:
                    document[key] = script
            elif key == "envs":
                document[key] = _link_environment(str(tree["name"]), value, late)
            else:
                document[key] = _fill(value, late)
        if record.pins or record.accelerators:
            _apply_record(document, record)
        documents.append(document)
    return documents


def _script(request: ScriptRequest, late: Mapping[str, str]) -> str:
    from npac.backends.skypilot.scripts import render, render_again

    # Source is the only reason for this setup, and there is none: nothing to set up.
    if (
        request.template == "setup"
        and not late[SOURCE_URI.name]
        and not any(request.args[key] for key in ("interpreters", "pip_extra", "requirements"))
    ):
        return ""
    values = {key: _fill(tree, _RunIdOnly(late)) for key, tree in request.args.items()}
    # a command is a task's own; what sets it up is the same for all tasks of a tool
    return (render if request.template == "run" else render_again)(request.template, values)


class _RunIdOnly(dict[str, str]):
    """Only the run id may enter the text of a script; other late values are environment variables."""

    def __init__(self, late: Mapping[str, str]) -> None:
        super().__init__({RUN_ID.name: late[RUN_ID.name]})
        self.shown = isinstance(late, _Shown)

    def __missing__(self, name: str) -> str:
        raise LinkError(f"a script may not hold <{name}>; it reaches a task as an environment variable")


def _link_environment(task: str, envs: Mapping[str, Value], late: Mapping[str, str]) -> dict[str, str]:
    linked = {}
    for name, value in envs.items():
        text = _text(value, late)
        if not text and value in OPTIONAL:
            continue
        if "\0" in text:
            raise LinkError(f"task {task}: the environment variable {name} holds a NUL character")
        linked[name] = text
    return linked


def _fill(tree: Tree, late: Mapping[str, str]) -> Any:
    if isinstance(tree, dict):
        return {key: _fill(value, late) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_fill(value, late) for value in tree]
    if isinstance(tree, Hole | Concat | Apply):
        return _text(tree, late)
    return tree


def _text(value: Value, late: Mapping[str, str]) -> str:
    return show(value) if isinstance(late, _Shown | _RunIdOnly) and late.shown else link(value, late)


def _apply_record(document: dict[str, Any], record: LinkRecord) -> None:
    """Apply pins and accelerator remaps to a document that was just made."""
    block = document.get("resources")
    if isinstance(block, dict):
        image = block.get("image_id")
        if isinstance(image, str):
            block["image_id"] = f"docker:{pinned(image.removeprefix('docker:'), record)}"
        accelerators = block.get("accelerators")
        if isinstance(accelerators, str):
            block["accelerators"] = remapped(accelerators, record)
        elif isinstance(accelerators, dict):
            block["accelerators"] = _remap_table(str(document.get("name")), accelerators, record)
    envs = document.get("envs", {})
    if "NPA_TASK_IMAGE" in envs:
        envs["NPA_TASK_IMAGE"] = pinned(envs["NPA_TASK_IMAGE"], record)
    for container in _containers(document):
        if isinstance(container.get("image"), str):
            container["image"] = pinned(container["image"], record)


def _remap_table(task: str, accelerators: Mapping[str, Any], record: LinkRecord) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, count in accelerators.items():
        new, _, new_count = remapped(f"{name}:{count}", record).partition(":")
        if new in result:
            raise LinkError(f"task {task}: two accelerators would both become {new}")
        result[new] = int(new_count) if re.fullmatch(r"[1-9][0-9]*", new_count) else count
    return result


def _containers(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    place: Any = document
    for key in ("config", "kubernetes", "pod_config", "spec"):
        place = place.get(key) if isinstance(place, dict) else None
    for kind in CONTAINER_LISTS:
        containers = place.get(kind) if isinstance(place, dict) else None
        for container in containers if isinstance(containers, list) else []:
            if isinstance(container, dict):
                yield container


def waits_for(trees: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Give the names of the late values that ``trees`` wait for, sorted."""
    found: set[str] = set()
    stack: list[Any] = list(trees)
    while stack:
        top = stack.pop()
        if isinstance(top, ScriptRequest):
            stack.append(top.args)
        elif isinstance(top, Mapping):
            stack.extend(top.values())
        elif isinstance(top, list):
            stack.extend(top)
        elif isinstance(top, Hole | Concat | Apply):
            found.update(holes(top))
    return tuple(sorted(found))


def documents_to_json(trees: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Give document trees as plain JSON data; a script request is ``{"script": …, "args": {…}}``."""
    return {
        "schema": SCHEMA,
        "documents": [{key: _encode(value) for key, value in tree.items()} for tree in trees],
    }


def _encode(value: Any) -> Any:
    if isinstance(value, ScriptRequest):
        args = {key: tree_to_json(tree) for key, tree in value.args.items()}
        return {"script": value.template, "args": args}
    return tree_to_json(value)


def documents_from_json(data: Any) -> list[DocumentTree]:
    """Read document trees back.  Raises ``ValueError`` for any other shape."""
    if (
        not isinstance(data, dict)
        or data.get("schema") != SCHEMA
        or not isinstance(data.get("documents"), list)
    ):
        raise FormError("", f"these are no documents of {SCHEMA}")
    trees = []
    for at, entries in enumerate(data["documents"]):
        if not isinstance(entries, dict):
            raise FormError(f"documents/{at}", "must be a mapping")
        trees.append({key: _decode(value, f"documents/{at}/{key}") for key, value in entries.items()})
    return trees


def _decode(value: Any, where: str) -> Any:
    if isinstance(value, dict) and set(value) == {"script", "args"} and isinstance(value["args"], dict):
        args = {key: tree_from_json(tree, f"{where}/{key}") for key, tree in value["args"].items()}
        return ScriptRequest(str(value["script"]), args)
    return tree_from_json(value, where)


__all__ = [
    "BackendError",
    "DocumentTree",
    "LaunchValues",
    "ScriptRequest",
    "documents_from_json",
    "documents_to_json",
    "link_documents",
    "secret_names",
    "show_documents",
    "unlinked",
    "waits_for",
]
