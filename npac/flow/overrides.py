"""Overrides of config values: ``--config FILE``, ``--set KEY=TEMPLATE`` and ``--var KEY=VALUE``."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related
from npac.syntax.ast import ConfigEntry
from npac.syntax.nearest import Names
from npac.syntax.reader import shown
from npac.syntax.spec_parser import config_entries, written_credentials
from npac.text.source import SourceFile
from npac.text.yaml_nodes import Map, Node, Scalar, parse_yaml

_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z"


class Overrides(NamedTuple):
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
) -> list[ConfigEntry]:
    """Replace entries of ``entries`` by what was given, reporting what does not fit.

    Gives all that was given, also what was refused.
    """
    given: list[ConfigEntry] = []
    names = Names(entries)
    for file in overrides.files:
        for key, entry in _file_entries(file, report).items():
            given.append(entry)
            if isinstance(entry.node, Map) and _stands_for_its_keys(entries.get(key), entry.node):
                continue
            _replace(entries, key, entry, overrides.allow_new, names, report)
    options: list[tuple[str, Sequence[tuple[str, str]]]] = [("set", overrides.sets), ("var", overrides.vars)]
    for origin, pairs in options:
        # one text for all, an option a line, so that a place in it says which option is meant
        source = SourceFile(f"--{origin}", "\n".join(f"{key}={value}" for key, value in pairs))
        report.extend(written_credentials(source))
        at = 0
        for key, value in pairs:
            middle = at + len(key)
            end = middle + 1 + len(value)
            key_node = Scalar(source, at, middle, key, "")
            given.append(ConfigEntry(key_node, Scalar(source, middle + 1, end, value, "!"), origin))
            if _is_text(key) and _is_text(value):
                _replace(entries, key, given[-1], overrides.allow_new, names, report)
            else:
                message = f"--{origin} {key!r:.80} holds bytes that are no UTF-8 text"
                report.append(finding("override-type", message, source.span(at, end), "write it as UTF-8"))
            at = end + 1
    return given


def _is_text(text: str) -> bool:
    """Say whether a text can be written as UTF-8; bytes of a command line that are none cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(node: Node) -> str:
    """Say what a node is, without any of its text: a file that is no overlay may hold anything."""
    return "text" if isinstance(node, Scalar) else shown(node)


def _stands_for_its_keys(old: ConfigEntry | None, new: Map) -> bool:
    """Say whether a mapping of an overlay is looked at key by key, and has keys to look at."""
    return isinstance(old.node, Map) if old is not None else bool(new.entries)


def _file_entries(file: SourceFile, report: list[Diagnostic]) -> dict[str, ConfigEntry]:
    report.extend(written_credentials(file))
    node, problems = parse_yaml(file)
    for problem in problems:
        related = (Related(*problem.related),) if problem.related else ()
        report.append(finding(problem.kind, problem.message, problem.span, problem.help, related=related))
    if node is None:
        return {}
    if not isinstance(node, Map):
        message = f"a config overlay is a mapping, and this is {_kind(node)}"
        report.append(finding("wrong-type", message, node.span, "write it as KEY: value lines"))
        return {}
    return config_entries(node, "file")


def _replace(
    entries: dict[str, ConfigEntry],
    key: str,
    entry: ConfigEntry,
    allow_new: bool,
    names: Names,
    report: list[Diagnostic],
) -> None:
    old = entries.get(key)
    if old is None:
        if allow_new:
            entries[key] = entry
            return
        near = names.nearest(key)
        help_text = f"did you mean {near[0]!r}? " if near else ""
        help_text += "config keys are declared by the spec or by its tools; --allow-new-vars lifts this"
        message = f"the spec has no config key {key!r:.80}"
        report.append(finding("unknown-override", message, entry.key.span, help_text))
        return
    if not isinstance(old.node, Scalar):
        message = f"the config key {key!r} holds {_kind(old.node)}, which cannot be replaced by text"
        related = (Related("declared here", old.key.span),)
        report.append(
            finding(
                "override-type",
                message,
                entry.key.span,
                "override one of the keys inside it",
                related=related,
            )
        )
        return
    if not isinstance(entry.node, Scalar):
        message = f"the config key {key!r} holds one value, and this is {_kind(entry.node)}"
        report.append(finding("override-type", message, entry.node.span, "give text, a number or a boolean"))
        return
    typed = _typed(old, entry, report)
    if typed is not None:
        entries[key] = ConfigEntry(entry.key, typed, entry.origin)


def _typed(old: ConfigEntry, entry: ConfigEntry, report: list[Diagnostic]) -> Scalar | None:
    """Give the new scalar the type that the old one has, where that type matters.

    None for one that does not fit, which is reported; the old value then stays, so that what reads it
    is not at fault too.
    """
    was, new = old.node, entry.node
    assert isinstance(was, Scalar) and isinstance(new, Scalar)
    if was.style != "" or ("{{" in new.value and entry.origin != "var"):
        return new
    wanted = ""
    typed = Scalar(new.source, new.start, new.end, new.value, "")
    typed.aliased = new.aliased
    if was.boolean is not None:
        fits, wanted = typed.boolean is not None, "true or false"
    elif re.match(_NUMBER, was.value):
        fits, wanted = bool(re.match(_NUMBER, new.value)), "a number"
    else:
        return new
    if not fits:
        message = f"the config key {entry.key.value!r} holds {wanted}, and {new.value!r:.80} is not"
        related = (Related("declared here", was.span),)
        report.append(finding("override-type", message, new.span, f"give {wanted}", related=related))
        return None
    return typed
