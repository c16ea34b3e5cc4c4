"""The JSON Schema (draft-07) of the language, for editors: made from :mod:`npac.syntax.language`.

A schema sees the shape of a spec and no more; ``npac check`` sees the rest.  What the schema refuses,
the check refuses too, except that the YAML 1.1 words for booleans (``yes``, ``on``) only get a note.

Beside the standard's own words it uses some that editors understand and validators pass over:
``errorMessage`` and ``patternErrorMessage`` say what is wrong in the language's terms,
``deprecationMessage`` marks old spellings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from npac.syntax.language import (
    ENV_PATTERN,
    KEY_PATTERN,
    LISTED_NAME,
    NAME_PATTERN,
    PARALLEL,
    PLAIN,
    SEQUENCE,
    SPEC,
    STATE,
    WORK,
    Key,
    Section,
)

Schema = dict[str, Any]

SCHEMA_ID = "urn:npac:schema:workflow:v0.0.1"
FILE_NAME = "npac.workflow.schema.json"

_TEXT = ["string", "number", "boolean"]
_STATE_RULES = [{"$ref": "#/definitions/spellings"}, {"$ref": "#/definitions/kindOfState"}]
_OWN: Schema = {"^x-": {"description": "The author's own; npac does not read it."}}
_KEY_REFERENCE = rf"config\.{KEY_PATTERN}|\{{\{{\s*config\.{KEY_PATTERN}\s*\}}\}}"
_TOKENS = "Tokens such as {{config.KEY}} are filled in."
_NO_TOKEN = r"^(?![\s\S]*\{\{)"
_NO_TOKEN_MESSAGE = "a token cannot stand in a name: write the name out"
_NAME_MESSAGE = "a name has letters, digits, '.', '_' and '-', begins with a letter or digit, at most 96"
_SWITCH = r"^\s*(1|[Tt][Rr][Uu][Ee]|[Yy][Ee][Ss]|[Oo][Nn]|0|[Ff][Aa][Ll][Ss][Ee]|[Nn][Oo]|[Oo][Ff][Ff]|)\s*$"


def workflow_schema() -> Schema:
    """Give the schema as JSON data, its keys in the order in which they are best read."""
    state = _section(STATE)
    spellings = state.pop("allOf")
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": SCHEMA_ID,
        **_section(SPEC),
        "defaultSnippets": [_skeleton()],
        "definitions": {
            "state": {**state, "allOf": _STATE_RULES},
            "listedState": _listed_state(),
            "spellings": {"description": "A key is given in one spelling.", "allOf": spellings},
            "kindOfState": _kind_of_state(),
        },
    }


def schema_text() -> str:
    """Give the schema as the text of its file."""
    return json.dumps(workflow_schema(), indent=2, ensure_ascii=False) + "\n"


def _skeleton() -> Schema:
    """Give what an editor offers in an empty file: the shortest whole spec, its blanks numbered."""
    return {
        "label": "workflow",
        "description": "A workflow of one state that runs a command.",
        "body": {
            "apiVersion": SPEC.keys["apiVersion"].words[0],
            "kind": SPEC.keys["kind"].words[0],
            "metadata": {"name": "${1:name}"},
            "states": {"${2:state}": {"run": {"argv": ["${3:echo}", "${4:hello}"]}, "terminal": True}},
        },
    }


def _section(section: Section) -> Schema:
    """Give a mapping with the keys of a section, and no others but the author's own."""
    properties: Schema = {}
    spellings = []
    for name, key in section.keys.items():
        properties[name] = _value(key)
        if key.old:
            properties[key.old] = {
                "title": f"Old spelling of {name}",
                "description": f"The old spelling of {name}. {key.about}",
                "deprecated": True,
                "deprecationMessage": f"write {name}",
                "doNotSuggest": True,
                **_form(key),
            }
            message = f"{name} is given in both spellings: keep {name} only"
            spellings.append({"if": {"required": [name]}, "then": _without([key.old], message)})
    schema: Schema = {
        "title": section.title,
        "description": section.about,
        "type": "object",
        "required": [name for name, key in section.keys.items() if key.required],
        "properties": properties,
        "patternProperties": _OWN,
        "additionalProperties": False,
        "allOf": spellings + _exclusive(section),
    }
    return {key: value for key, value in schema.items() if value != []}


def _exclusive(section: Section) -> list[Schema]:
    """Give the rule of a command: one of shell and argv."""
    if "argv" not in section.keys:
        return []
    both = "run has both shell and argv: keep one of the two"
    none = "run names no command: give it shell or argv"
    return [
        {
            "if": {"required": ["shell"]},
            "then": _without(["argv"], both),
            "else": {"required": ["argv"], "errorMessage": none},
        }
    ]


def _listed_state() -> Schema:
    """Give a state where ``states`` is a list: the keys of a state, and its name."""
    keys = [spelling for name, key in STATE.keys.items() for spelling in (name, key.old) if spelling]
    return {
        "title": "State with its name",
        "description": STATE.about,
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": _value(LISTED_NAME),
            **{key: {"$ref": f"#/definitions/state/properties/{key}"} for key in keys},
        },
        "patternProperties": _OWN,
        "additionalProperties": False,
        "allOf": _STATE_RULES,
    }


def _kind_of_state() -> Schema:
    """Give what the kinds of state take: a group, one that works, one that does neither."""
    ends = _given("terminal", {"const": True})
    exits: Schema = {
        "properties": {
            "next": {
                "enum": ["", None],
                "doNotSuggest": True,
                "errorMessage": "a terminal state has no next",
            },
            "transitions": {
                "type": "array",
                "maxItems": 0,
                "doNotSuggest": True,
                "errorMessage": "a terminal state has no transitions",
            },
        }
    }
    does_nothing = "a state does something: give it run, toolRef, sequence, parallel, transitions or next, "
    return {
        "description": "Which keys go with which kind of state.",
        "allOf": [
            {"if": ends, "then": exits},
            {
                "if": _any_of(["sequence"]),
                "then": _without(_strangers(SEQUENCE), "a sequence does not take this key"),
                "else": {
                    "if": _any_of(["parallel"]),
                    "then": _without(_strangers(PARALLEL), "a parallel group does not take this key"),
                    "else": {
                        "if": _any_of(_spellings(["run", "toolRef"])),
                        "then": {
                            "allOf": [
                                _without(_strangers(WORK), "only a parallel group takes this key"),
                                {
                                    "if": _any_of(_spellings(["toolRef"])),
                                    "then": _without(["run"], "a state has run or toolRef, not both"),
                                },
                            ]
                        },
                        "else": {
                            "allOf": [
                                _without(
                                    _strangers(PLAIN), "only a state with run or toolRef takes this key"
                                ),
                                {
                                    "if": _any_of(["next", "transitions"]),
                                    "else": {
                                        "if": ends,
                                        "else": {
                                            "required": ["run"],
                                            "errorMessage": f"{does_nothing}or make it terminal: true",
                                        },
                                    },
                                },
                            ]
                        },
                    },
                },
            },
        ],
    }


def _strangers(kind: str) -> list[str]:
    """Give the spellings of the keys that a state of this kind does not take."""
    taken = STATE.on(kind)
    return _spellings(name for name in STATE.names if name not in taken)


def _spellings(names: Iterable[str]) -> list[str]:
    return [spelling for name in names for spelling in (name, STATE.keys[name].old) if spelling]


def _any_of(names: list[str]) -> Schema:
    if len(names) == 1:
        return {"required": names}
    return {"anyOf": [{"required": [name]} for name in names]}


def _given(name: str, value: Schema) -> Schema:
    return {"required": [name], "properties": {name: value}}


def _without(names: Iterable[str], message: str) -> Schema:
    """Give a mapping that lacks all of ``names``; the message is shown at the key that is too much."""
    return {"properties": dict.fromkeys(names, False), "errorMessage": message}


def _value(key: Key) -> Schema:
    """Give what stands behind a key, with its description, default and examples."""
    schema: Schema = {"description": key.about}
    if key.form in ("text", "texts", "values", "quantity", "quantities"):
        schema["description"] = f"{key.about} {_TOKENS}"
    schema |= _form(key)
    if key.default is not None:
        schema["default"] = key.default
    if key.examples:
        schema["examples"] = list(key.examples)
    return schema


def _form(key: Key) -> Schema:
    return _FORMS[key.form](key)


def _matching(pattern: str, message: str, types: list[str] | str = _TEXT) -> Schema:
    return {"type": types, "pattern": pattern, "patternErrorMessage": message}


def _list(key: Key, items: Schema) -> Schema:
    return {"type": "array", "items": items, **({"minItems": key.fewest} if key.fewest else {})}


def _table(values: Schema, types: list[str] | str = "object") -> Schema:
    return {"type": types, "patternProperties": _OWN, "additionalProperties": values}


def _text(key: Key) -> Schema:
    if key.pattern:
        return {"type": _TEXT, "pattern": key.pattern, "patternErrorMessage": "this is empty"}
    return {"type": _TEXT}


def _ref(key: Key) -> Schema:
    return _matching(f"^{NAME_PATTERN}$", _NAME_MESSAGE)


def _refs(key: Key) -> Schema:
    schema = _list(key, _ref(key))
    return {**schema, "uniqueItems": True} if key.fewest else schema


def _exit(key: Key) -> Schema:
    return _matching(f"^({NAME_PATTERN})?$", _NAME_MESSAGE, [*_TEXT, "null"])


def _label(key: Key) -> Schema:
    return _matching(_NO_TOKEN, _NO_TOKEN_MESSAGE)


def _count(key: Key) -> Schema:
    bounds: Schema = {"minimum": key.least}
    if key.most is not None:
        bounds["maximum"] = key.most
    message = "write a whole number, or one {{config.KEY}}"
    return {**_matching(rf"^\s*([0-9]+|{_KEY_REFERENCE})\s*$", message, ["integer", "string"]), **bounds}


def _quantity(key: Key) -> Schema:
    if key.pattern:
        message = f"write it as in {' or '.join(map(str, key.examples))}"
        return {**_matching(rf"^({key.pattern})$|\{{\{{", message), "exclusiveMinimum": 0}
    message = "no shell reads this: put the value into config and write {{config.KEY}}"
    return _matching(r"^(?![\s\S]*\$\{[A-Za-z_])", message)


def _quantities(key: Key) -> Schema:
    count = _count(Key("count", "", least=1))
    count["description"] = "How many of it a node has."
    alone = _quantity(key)
    return {
        **alone,
        "type": [*_TEXT, "object"],
        "propertyNames": {"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$"},
        "additionalProperties": count,
    }


def _named(key: Key) -> Schema:
    assert key.inner is not None
    one = _section(key.inner)
    one["type"] = ["object", "null"]
    return {**_table(one, ["object", "null"]), "propertyNames": {"pattern": f"^{NAME_PATTERN}$"}}


def _listed(key: Key) -> Schema:
    table = _table({"$ref": "#/definitions/state"}, ["object", "array"])
    return {
        **table,
        "propertyNames": {"pattern": f"^{NAME_PATTERN}$"},
        "minProperties": key.fewest,
        "items": {"$ref": "#/definitions/listedState"},
        "minItems": key.fewest,
    }


def _inner(key: Key) -> Schema:
    """Give the mapping of a key whose own description goes before its section's."""
    assert key.inner is not None
    return {name: value for name, value in _section(key.inner).items() if name != "description"}


def _sections(key: Key) -> Schema:
    assert key.inner is not None
    return _list(key, _section(key.inner))


def _settings(key: Key) -> Schema:
    assert key.inner is not None
    properties = {name: _value(inner) for name, inner in key.inner.keys.items()}
    return {"type": ["object", "null"], "properties": properties, "patternProperties": _OWN}


_FORMS: dict[str, Callable[[Key], Schema]] = {
    "plain": lambda key: {"type": [*_TEXT, "null"]},
    "labels": lambda key: _table({"type": [*_TEXT, "null"]}),
    "literals": lambda key: {
        **_table(_matching(_NO_TOKEN, "this is plain text, without tokens"), ["object", "null"]),
        "properties": {"id": False, "prefix": False},
    },
    "text": _text,
    "texts": lambda key: _list(key, {"type": _TEXT}),
    "values": lambda key: _table({"type": _TEXT}),
    "label": _label,
    "word": lambda key: {"enum": list(key.words)},
    "name": _ref,
    "ref": _ref,
    "refs": _refs,
    "exit": _exit,
    "env": lambda key: _list(
        key, _matching(f"^{ENV_PATTERN}$", "name the environment variable, as in HF_TOKEN")
    ),
    "keys": lambda key: _list(key, {"type": _TEXT}),
    "condition": lambda key: _matching(f"^({_KEY_REFERENCE})$", "write config.KEY", "string"),
    "count": _count,
    "flag": lambda key: {"type": "boolean"},
    "switch": lambda key: _matching(_SWITCH, "this is on (true) or off (false)"),
    "quantity": _quantity,
    "quantities": _quantities,
    "seconds": lambda key: {
        **_matching(r"^[0-9]{1,9}$|\{\{", "write a number of seconds", ["integer", "string"]),
        "minimum": 0,
    },
    "section": _inner,
    "sections": _sections,
    "named": _named,
    "listed": _listed,
    "settings": _settings,
    "data": lambda key: {"type": "object"},
    "toggle": lambda key: {"type": ["boolean", "object"]},
}
