"""Programs as JSON, and back (``npac.ir/v1``).

Text is a JSON string and every template with a hole is an object, so text cannot forge a hole; a
user's mapping is wrapped as ``{"map": {…}}``, so a mapping cannot either.  Data inside a profile
keeps its type: a float that canonical JSON would print like an integer, and an integer that it
cannot hold, are wrapped too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from npac.ir.forms import (
    FLAG,
    NUMBER,
    SAFE_INTEGER,
    TEXT,
    VALUE,
    VALUE_SCHEMA,
    Form,
    FormError,
    choice,
    optional,
    ordered_table,
    pair,
    record,
    sequence,
    table,
)
from npac.ir.program import (
    SCHEMA,
    Artifact,
    Baked,
    End,
    Gate,
    GroupOutputs,
    Member,
    Node,
    Program,
    Step,
    ToolSetup,
    Tree,
    Trigger,
    Wave,
)
from npac.ir.values import Apply, Concat, Hole, from_json, to_json


def tree_to_json(tree: Tree) -> Any:
    """Encode data whose strings may be templates.  Raises ``TypeError`` for any other type."""
    if tree is None or isinstance(tree, bool | str):
        return tree
    if isinstance(tree, Hole | Concat | Apply):
        return to_json(tree)
    if isinstance(tree, int):
        return tree if -SAFE_INTEGER <= tree <= SAFE_INTEGER else {"int": str(tree)}
    if isinstance(tree, float):
        # 1.0 and 1 are one number to canonical JSON and two values to YAML.
        plain = math.isfinite(tree) and not tree.is_integer()
        return tree if plain else {"float": repr(tree)}
    if isinstance(tree, list):
        return [tree_to_json(item) for item in tree]
    if isinstance(tree, dict):
        for key in tree:
            if not isinstance(key, str):
                raise TypeError(f"a mapping's key must be text, not {key!r:.60}")
        return {"map": {key: tree_to_json(value) for key, value in tree.items()}}
    raise TypeError(f"{type(tree).__name__} cannot stand in a program: {tree!r:.60}")


def tree_from_json(data: Any, where: str = "") -> Tree:
    """Decode what :func:`tree_to_json` gives.  Raises :class:`FormError` for anything else."""
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if isinstance(data, list):
        return [tree_from_json(item, f"{where}/{at}") for at, item in enumerate(data)]
    if isinstance(data, dict) and len(data) == 1:
        ((kind, body),) = data.items()
        if kind == "map" and isinstance(body, dict):
            return {str(key): tree_from_json(value, f"{where}/{key}") for key, value in body.items()}
        try:
            if kind == "int" and isinstance(body, str):
                return int(body)
            if kind == "float" and isinstance(body, str):
                return float(body)
        except ValueError:
            raise FormError(where, f"{body!r:.60} is no number") from None
    try:
        return from_json(data)
    except ValueError as error:
        raise FormError(where, str(error)) from None


def _read_mapping(data: Any, where: str) -> Any:
    tree = tree_from_json(data, where)
    if not isinstance(tree, dict):
        raise FormError(where, f"must be a mapping, not {data!r:.60}")
    return tree


TREE_SCHEMA: Mapping[str, Any] = {
    "description": "Data whose strings may be templates; a mapping is wrapped as {map: {…}}.",
    "anyOf": [
        {"type": ["null", "boolean", "number"]},
        {"$ref": "#/$defs/value"},
        {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        {
            "type": "object",
            "properties": {"map": {"type": "object", "additionalProperties": {"$ref": "#/$defs/tree"}}},
            "required": ["map"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"int": {"type": "string"}, "float": {"type": "string"}},
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
        },
    ],
}

MAPPING = Form(tree_to_json, _read_mapping, {"$ref": "#/$defs/tree"})

ARTIFACT = record(
    Artifact,
    {
        "uri": VALUE,
        "schema": TEXT,
        "kind": choice("file", "directory"),
        "declared_kind": choice("", "file", "directory"),
    },
)
ARTIFACTS = sequence(ARTIFACT)
STEP = record(
    Step,
    {
        "state": TEXT,
        "argv": sequence(VALUE),
        "shell": VALUE,
        "tool_ref": TEXT,
        "resources": TEXT,
        "profile": MAPPING,
        "num_nodes": NUMBER,
        "image": TEXT,
        "inputs": ARTIFACTS,
        "outputs": ARTIFACTS,
        "secrets": sequence(TEXT),
        "env": table(VALUE),
        "writes_decision": FLAG,
        "decision_uri": VALUE,
        "setup": record(
            ToolSetup,
            {
                "interpreters": sequence(TEXT),
                "pip_extra": TEXT,
                "pip_requirements": sequence(pair(TEXT, TEXT)),
            },
        ),
        "baked": optional(record(Baked, {"source_sha": VALUE, "import_module": TEXT})),
        "source_overlay": FLAG,
        "raw": MAPPING,
    },
)
GROUP_OUTPUTS = sequence(record(GroupOutputs, {"group": TEXT, "outputs": ARTIFACTS}))
LOOPS = ordered_table(NUMBER)
NODES: Mapping[str, tuple[type[Node], Form]] = {
    "wave": (
        Wave,
        record(
            Wave,
            {
                "id": TEXT,
                "number": NUMBER,
                "members": sequence(
                    record(Member, {"step": NUMBER, "iteration": optional(NUMBER), "loop_label": TEXT})
                ),
                "batches": sequence(sequence(NUMBER)),
                "next": TEXT,
                "group": TEXT,
                "max_concurrency": NUMBER,
                "triggers": sequence(
                    record(
                        Trigger,
                        {
                            "state": TEXT,
                            "uri": VALUE,
                            "poll_seconds": NUMBER,
                            "max_polls": NUMBER,
                            "min_objects": NUMBER,
                        },
                    )
                ),
                "loops": LOOPS,
                "group_retry_all": FLAG,
                "outputs": ARTIFACTS,
                "opens": GROUP_OUTPUTS,
                "checks": GROUP_OUTPUTS,
            },
            tag={"node": "wave"},
        ),
    ),
    "gate": (
        Gate,
        record(
            Gate,
            {
                "id": TEXT,
                "state": TEXT,
                "role": choice("until", "transitions"),
                "uri": VALUE,
                "promote": TEXT,
                "loop_back": TEXT,
                "writers": sequence(TEXT),
                "leaves_on": choice("", "promote_checkpoint", "loop_back"),
                "loops": LOOPS,
                "checks": GROUP_OUTPUTS,
            },
            tag={"node": "gate"},
        ),
    ),
    "end": (End, record(End, {"id": TEXT, "checks": GROUP_OUTPUTS}, tag={"node": "end"})),
}
_BY_CLASS: dict[type[Node], Form] = dict(NODES.values())


def _write_node(node: Any) -> Any:
    return _BY_CLASS[type(node)].encode(node)


def _read_node(data: Any, where: str) -> Any:
    kind = data.get("node") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in NODES:
        raise FormError(where, f"must be a wave, a gate or an end, not {data!r:.60}")
    return NODES[kind][1].decode(data, where)


NODE = Form(_write_node, _read_node, {"anyOf": [form.schema for _, form in NODES.values()]})
PROGRAM = record(
    Program,
    {
        "workflow": TEXT,
        "entry": TEXT,
        "steps": sequence(STEP),
        "nodes": sequence(NODE),
        "api_version": TEXT,
        "execution_mode": TEXT,
        "default_assumption": TEXT,
    },
    tag={"schema": SCHEMA},
)


def program_to_json(program: Program) -> dict[str, Any]:
    """Give ``program`` as plain JSON data, without what is equal to its default."""
    data: dict[str, Any] = PROGRAM.encode(program)
    return data


def program_from_json(data: Any) -> Program:
    """Read a program back.

    Raises :class:`FormError` (a ``ValueError``) that names the place when ``data`` is not a program
    of this version.  The invariants between parts are the verifier's business.
    """
    program: Program = PROGRAM.decode(data, "")
    return program


def program_schema() -> dict[str, Any]:
    """Give the JSON Schema of a program, as it ships in ``schemas/npac.program.schema.json``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A compiled npac program",
        **PROGRAM.schema,
        "$defs": {"value": VALUE_SCHEMA, "tree": TREE_SCHEMA},
    }
