"""Plans as data: the steps and waves on one path, or the whole program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from npac.ir.program import Artifact, Gate, Node, Program, Tree, Wave, successors
from npac.ir.values import Value, bind, show


def _text(value: Value, late: Mapping[str, str]) -> str:
    return show(bind(value, late))


def tree_data(tree: Tree, late: Mapping[str, str]) -> Any:
    """Give profile data with its texts linked; a hole that ``late`` lacks is shown as ``<name>``."""
    if isinstance(tree, dict):
        return {key: tree_data(value, late) for key, value in tree.items()}
    if isinstance(tree, list):
        return [tree_data(value, late) for value in tree]
    if tree is None or isinstance(tree, (bool, int, float)):
        return tree
    return _text(tree, late)


def _artifact(item: Artifact, late: Mapping[str, str]) -> dict[str, str]:
    data = {"uri": _text(item.uri, late), "schema": item.schema}
    if item.declared_kind:
        data["kind"] = item.declared_kind
    return data


def plan_data(program: Program, path: Sequence[Node], late: Mapping[str, str]) -> dict[str, Any]:
    """Give ``steps`` and ``waves`` of a path."""
    steps: list[dict[str, Any]] = []
    waves: list[dict[str, Any]] = []
    for node in path:
        if not isinstance(node, Wave):
            continue
        for member in node.members:
            step = program.steps[member.step]
            steps.append(
                {
                    "state": step.state,
                    "iteration": member.iteration,
                    "loop_label": member.loop_label,
                    "group": node.group,
                    "argv": [_text(word, late) for word in step.argv],
                    "shell": _text(step.shell, late),
                    "tool_ref": step.tool_ref,
                    "resources": step.resources,
                    "resources_profile": tree_data(dict(step.profile), late),
                    "inputs": [_artifact(item, late) for item in step.inputs],
                    "outputs": [_artifact(item, late) for item in step.outputs],
                    "loops": dict(node.loops),
                    "node": node.id,
                }
            )
        waves.append(
            {
                "kind": node.kind,
                "group": node.group,
                "max_concurrency": node.max_concurrency,
                "batches": len(node.batches),
                "states": [[program.steps[item.step].state, item.iteration] for item in node.members],
            }
        )
    return {"steps": steps, "waves": waves}


def graph_data(program: Program, late: Mapping[str, str]) -> dict[str, Any]:
    """Give ``nodes`` and ``edges`` of the whole program."""
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, str]] = []
    for node in program.nodes:
        if isinstance(node, Wave):
            nodes.append(
                {
                    "id": node.id,
                    "kind": "wave",
                    "number": node.number,
                    "group": node.group,
                    "states": [program.steps[item.step].state for item in node.members],
                    "batches": len(node.batches),
                    "loops": dict(node.loops),
                }
            )
        elif isinstance(node, Gate):
            nodes.append(
                {
                    "id": node.id,
                    "kind": "gate",
                    "state": node.state,
                    "role": node.role,
                    "uri": _text(node.uri, late),
                    "writers": list(node.writers),
                    "loops": dict(node.loops),
                }
            )
        else:
            nodes.append({"id": node.id, "kind": "end"})
        labels = ("promote_checkpoint", "loop_back") if isinstance(node, Gate) else ("",)
        edges.extend(
            {"from": node.id, "to": follow, "decision": label}
            for label, follow in zip(labels, successors(node), strict=False)
        )
    return {"nodes": nodes, "edges": edges}
