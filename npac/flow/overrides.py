"""Overrides of config values: ``--config FILE``, ``--set KEY=TEMPLATE`` and ``--var KEY=VALUE``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related
from npac.syntax.ast import ConfigEntry
from npac.syntax.nearest import nearest
from npac.syntax.spec_parser import config_entries
from npac.text.source import SourceFile
from npac.text.yaml_nodes import Map, Scalar, parse_yaml

_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_BOOLEAN = frozenset(("true", "false"))


@dataclass(frozen=True, slots=True)
class Overrides:
    """What was given on the command line, in the order in which it applies."""

    files: tuple[SourceFile, ...] = ()
    sets: tuple[tuple[str, str], ...] = ()
    vars: tuple[tuple[str, str], ...] = ()
    allow_new: bool = False

    def as_data(self) -> dict[str, object]:
        """Give the overrides as JSON data, without any path."""
        return {
            "config": [file.text for file in self.files],
            "set": [list(pair) for pair in self.sets],
            "var": [list(pair) for pair in self.vars],
        }


def split_pair(text: str) -> tuple[str, str] | None:
    """Split ``KEY=VALUE`` at the first ``=``; None when there is no key or no ``=``."""
    key, found, value = text.partition("=")
    return (key, value) if found and key else None


def apply_overrides(
    entries: dict[str, ConfigEntry], overrides: Overrides, report: list[Diagnostic]
) -> None:
    """Replace entries of ``entries`` by what was given, reporting what does not fit."""
    for file in overrides.files:
        for key, entry in _file_entries(file, report).items():
            if isinstance(entry.node, Map):
                continue
            _replace(entries, key, entry, overrides.allow_new, report)
    given: list[tuple[str, Sequence[tuple[str, str]]]] = [("set", overrides.sets), ("var", overrides.vars)]
    for origin, pairs in given:
        for key, value in pairs:
            source = SourceFile(f"--{origin}", f"{key}={value}")
            key_node = Scalar(source, 0, len(key), key, "")
            node = Scalar(source, len(key) + 1, len(key) + 1 + len(value), value, "!")
            _replace(entries, key, ConfigEntry(key_node, node, origin), overrides.allow_new, report)


def _file_entries(file: SourceFile, report: list[Diagnostic]) -> dict[str, ConfigEntry]:
    node, problems = parse_yaml(file)
    for problem in problems:
        related = (Related(*problem.related),) if problem.related else ()
        report.append(finding(problem.kind, problem.message, problem.span, problem.help, related=related))
    if node is None:
        return {}
    if not isinstance(node, Map):
        message = f"a config overlay is a mapping, and this is a {node.kind}"
        report.append(finding("wrong-type", message, node.span, "write it as KEY: value lines"))
        return {}
    return config_entries(node, "file")


def _replace(
    entries: dict[str, ConfigEntry], key: str, entry: ConfigEntry, allow_new: bool, report: list[Diagnostic]
) -> None:
    old = entries.get(key)
    if old is None:
        if allow_new:
            entries[key] = entry
            return
        near = nearest(key, entries)
        help_text = f"did you mean {near[0]!r}? " if near else ""
        help_text += "config keys are declared by the spec or by its tools; --allow-new-vars lifts this"
        message = f"the spec has no config key {key!r:.80}"
        report.append(finding("unknown-override", message, entry.key.span, help_text))
        return
    if not isinstance(old.node, Scalar):
        message = f"the config key {key!r} holds a {old.node.kind}, which cannot be replaced by text"
        related = (Related("declared here", old.key.span),)
        report.append(
            finding("override-type", message, entry.key.span, "override one of the keys inside it", related=related)
        )
        return
    if not isinstance(entry.node, Scalar):
        message = f"the config key {key!r} holds text, and this is a {entry.node.kind}"
        report.append(finding("override-type", message, entry.node.span, "give text, a number or a boolean"))
        return
    entries[key] = ConfigEntry(entry.key, _typed(old, entry, report), entry.origin)


def _typed(old: ConfigEntry, entry: ConfigEntry, report: list[Diagnostic]) -> Scalar:
    """Give the new scalar the type that the old one has, where that type matters."""
    was, new = old.node, entry.node
    assert isinstance(was, Scalar) and isinstance(new, Scalar)
    if was.style != "" or "{{" in new.value and entry.origin != "var":
        return new
    wanted = ""
    if was.boolean is not None:
        fits, wanted = new.value.lower() in _BOOLEAN, "true or false"
    elif _NUMBER.match(was.value):
        fits, wanted = bool(_NUMBER.match(new.value)), "a number"
    else:
        return new
    if not fits:
        message = f"the config key {entry.key.value!r} holds {wanted}, and {new.value!r:.80} is not"
        related = (Related("declared here", was.span),)
        report.append(finding("override-type", message, new.span, f"give {wanted}", related=related))
    typed = Scalar(new.source, new.start, new.end, new.value, "")
    typed.aliased = new.aliased
    return typed
