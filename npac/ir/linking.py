"""Linking: what becomes known only when a program is about to run.

A :class:`LinkRecord` holds every link-time value; it has canonical bytes and a digest of its own
and is stored before any effect.  :func:`link_program` fills the program's holes from it, and
:func:`recheck` repeats the checks that constrain text, now that the text is whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from npac.ir.errors import LinkError
from npac.ir.link_record import (
    ENDPOINT,
    IMAGE,
    SOURCE_URI,
    LinkRecord,
    is_immutable,
    late_values,
    pinned,
    record_bytes,
    record_digest,
    record_from_json,
    record_problems,
    record_to_json,
    remapped,
)
from npac.ir.program import Artifact, Baked, Gate, GroupOutputs, Node, Program, Step, Tree, Wave
from npac.ir.recheck import CONTAINER_LISTS, recheck
from npac.ir.values import RUN_ID, Apply, Concat, Hole, bind


def bind_tree(tree: Tree, late: Mapping[str, str]) -> Tree:
    """Fill the holes of ``tree`` that ``late`` has and keep the others; nothing is shared."""
    if isinstance(tree, dict):
        return {key: bind_tree(value, late) for key, value in tree.items()}
    if isinstance(tree, list):
        return [bind_tree(value, late) for value in tree]
    if isinstance(tree, str | Hole | Concat | Apply):
        return bind(tree, late)
    return tree


def link_program(program: Program, link: LinkRecord) -> Program:
    """Fill the holes of ``program`` and check what came of it.

    Images and accelerators stay as written: pins and remaps are applied where documents are made.
    Raises :class:`LinkError`, one line for each thing that is wrong.
    """
    problems = record_problems(link)
    if problems:
        raise LinkError("\n".join(problems))
    late = {RUN_ID.name: link.run_id}
    linked = replace(
        program,
        steps=tuple(_step(step, late) for step in program.steps),
        nodes=tuple(_node(node, late) for node in program.nodes),
    )
    problems = recheck(linked, link)
    if problems:
        raise LinkError("\n".join(problems))
    return linked


def _step(step: Step, late: Mapping[str, str]) -> Step:
    return replace(
        step,
        argv=tuple(bind(word, late) for word in step.argv),
        shell=bind(step.shell, late),
        profile={key: bind_tree(tree, late) for key, tree in step.profile.items()},
        inputs=_artifacts(step.inputs, late),
        outputs=_artifacts(step.outputs, late),
        env={name: bind(value, late) for name, value in step.env.items()},
        decision_uri=bind(step.decision_uri, late),
        baked=step.baked and Baked(bind(step.baked.source_sha, late), step.baked.import_module),
    )


def _node(node: Node, late: Mapping[str, str]) -> Node:
    checks = _groups(node.checks, late)
    if isinstance(node, Wave):
        return replace(
            node,
            triggers=tuple(replace(trigger, uri=bind(trigger.uri, late)) for trigger in node.triggers),
            outputs=_artifacts(node.outputs, late),
            opens=_groups(node.opens, late),
            checks=checks,
        )
    if isinstance(node, Gate):
        return replace(node, uri=bind(node.uri, late), checks=checks)
    return replace(node, checks=checks)


def _artifacts(artifacts: tuple[Artifact, ...], late: Mapping[str, str]) -> tuple[Artifact, ...]:
    return tuple(replace(artifact, uri=bind(artifact.uri, late)) for artifact in artifacts)


def _groups(groups: tuple[GroupOutputs, ...], late: Mapping[str, str]) -> tuple[GroupOutputs, ...]:
    return tuple(GroupOutputs(group.group, _artifacts(group.outputs, late)) for group in groups)


__all__ = [
    "CONTAINER_LISTS",
    "ENDPOINT",
    "IMAGE",
    "SOURCE_URI",
    "LinkRecord",
    "bind_tree",
    "is_immutable",
    "late_values",
    "link_program",
    "pinned",
    "recheck",
    "record_bytes",
    "record_digest",
    "record_from_json",
    "record_problems",
    "record_to_json",
    "remapped",
]
