"""YAML as editors read it: version 1.2, where ``yes`` is text and ``010`` is ten, and keys are text."""

from __future__ import annotations

import re
from typing import Any

import yaml


class EditorLoader(yaml.SafeLoader):
    """PyYAML with the scalars of YAML 1.2's core schema, and nothing else of YAML 1.1."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        self.flatten_mapping(node)
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key is no text", key.start_mark)
        return {key.value: self.construct_object(value, deep=True) for key, value in node.value}


EditorLoader.yaml_implicit_resolvers = {}
_RESOLVERS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("merge", r"<<", "<"),
)
for _name, _pattern, _first in _RESOLVERS:
    EditorLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_name}",
        re.compile(rf"(?:{_pattern})\Z"),
        ["" if char == "\0" else char for char in _first],
    )
EditorLoader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))
EditorLoader.add_constructor("tag:yaml.org,2002:map", EditorLoader.construct_mapping)


def plain(text: str) -> Any:
    """Read one document; raises ``yaml.YAMLError`` for what is none."""
    return yaml.load(text, EditorLoader)
