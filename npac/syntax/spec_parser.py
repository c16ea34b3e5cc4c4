"""Reading a whole spec: text to syntax tree, with every fault of form found in one pass."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from npac.diagnostics.codes import finding
from npac.diagnostics.credentials import credentials
from npac.diagnostics.diagnostic import Diagnostic, Related
from npac.syntax.ast import ConfigEntry, Profile, Spec, State
from npac.syntax.language import API_VERSIONS, METADATA, SPEC
from npac.syntax.nearest import nearest
from npac.syntax.reader import Reader
from npac.syntax.state_parser import parse_state
from npac.text.source import MAX_ALIKE, SourceFile
from npac.text.yaml_nodes import Map, Node, Scalar, Seq, parse_yaml

_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u061c\u180e]")

_KUBERNETES = re.compile(r"(?:[a-z0-9.-]+/)?v[0-9]+(?:(?:alpha|beta)[0-9]+)?")

_LONGEST_PATH = 2048
"""Characters of the dotted path of a config mapping whose keys are still config keys of their own."""

SECRET_HELP = (
    "name an environment variable in the state's secrets: [NAME], read $NAME in its command, and run with "
    "--secret-env NAME: the value comes from the environment that npac is started in"
)


class Parsed(NamedTuple):
    """A spec (None when there is nothing to go on with) and what was found wrong in its form."""

    spec: Spec | None
    findings: list[Diagnostic]


def parse_spec(source: SourceFile) -> Parsed:
    """Read ``source`` into a syntax tree."""
    report: list[Diagnostic] = []
    node, problems = parse_yaml(source)
    readable = not problems
    bare: list[Diagnostic] = []
    if any(problem.kind == "complex-key" for problem in problems):
        from npac.syntax.unquoted import unquoted

        problems, bare = unquoted(node, problems)
        report += bare
    for problem in problems:
        related = (Related(*problem.related),) if problem.related else ()
        report.append(finding(problem.kind, problem.message, problem.span, problem.help, related=related))
    if not source.text.isascii():
        _invisible(source, report)
    report.extend(written_credentials(source))
    if node is None:
        if readable:
            message = "the file holds no YAML document"
            report.append(
                finding("not-a-spec", message, source.span(0, 0), f"begin with apiVersion: {API_VERSIONS[0]}")
            )
        return Parsed(None, report)
    reader = Reader(report)
    if not isinstance(node, Map):
        help_text = f"a spec is a mapping that begins with apiVersion: {API_VERSIONS[0]}"
        reader.add("not-a-spec", f"the document is a {node.kind}, not a mapping", node, help_text)
        return Parsed(None, report)
    foreign = _foreign(node)
    if foreign is not None:
        # one document of several may be what it is; that there are more says nothing new
        kept = [item for item in report if item.code.name != "several-documents"]
        return Parsed(None, [*kept, foreign])
    spec = _spec(reader, source, node)
    reader.close()
    if bare:
        # Where no text may stand at all, quoting the token does not help: what is asked for there does.
        better = {item.span for item in report if item.code.name in ("token-in-name", "wrong-type")}
        needless = {id(item) for item in bare if item.span in better}
        report[:] = [item for item in report if id(item) not in needless]
    return Parsed(spec, report)


def _foreign(top: Map) -> Diagnostic | None:
    """Say of a Kubernetes object what it is; None for what may be meant as a spec."""
    api, kind = (top.entries.get(key) for key in ("apiVersion", "kind"))
    if api is None or kind is None or "states" in top.entries:
        return None
    version, name = api[1], kind[1]
    if not isinstance(version, Scalar) or not isinstance(name, Scalar) or name.value == "Workflow":
        return None
    if version.value.startswith("npa.") or not _KUBERNETES.fullmatch(version.value):
        return None
    message = f"this is a Kubernetes {name.value:.80}, not an npac spec"
    help_text = f"name specs only (they begin with apiVersion: {API_VERSIONS[0]}), or check with --skip-other"
    return finding("not-a-spec", message, name.span, help_text)


def written_credentials(source: SourceFile) -> Iterator[Diagnostic]:
    """Report what has a credential's form anywhere in a text, comments and unreadable YAML included."""
    for item in credentials(source.text):
        span = source.span(item.start, item.end)
        yield finding(
            "secret-in-plain-text", f"this looks like {item.what}, in plain text", span, SECRET_HELP
        )


def _invisible(source: SourceFile, report: list[Diagnostic]) -> None:
    found = 0
    first: tuple[int, int] | None = None
    for match in _INVISIBLE.finditer(source.text):
        found += 1
        if found > MAX_ALIKE:
            first = first or match.span()
            continue
        code = f"U+{ord(match.group()):04X}"
        report.append(
            finding(
                "invisible-character",
                f"the invisible character {code} stands here; what is read is not what is seen",
                source.span(match.start(), match.end()),
                "remove it",
            )
        )
    if first is not None:
        message = f"{found - MAX_ALIKE:,} more of this kind begin here, which are not listed"
        report.append(finding("invisible-character", message, source.span(*first), "mend the others first"))


def _spec(reader: Reader, source: SourceFile, top: Map) -> Spec:
    entries = reader.known_keys(top, SPEC.names, "a spec", guess=True)
    api_version = _fixed(reader, top, entries.get("apiVersion"), "apiVersion", API_VERSIONS)
    _fixed(reader, top, entries.get("kind"), "kind", SPEC.keys["kind"].words)
    name, mode = _metadata(reader, top, entries.get("metadata"))
    config = _config(reader, _optional_map(reader, entries.get("config"), "config"))
    run = _run(reader, _optional_map(reader, entries.get("run"), "run"))
    profiles = _profiles(reader, _optional_map(reader, entries.get("resources"), "resources"))
    states = _states(reader, top, entries.get("states"))
    initial = None
    if "initial" in entries:
        initial = reader.plain_name(entries["initial"][1], "initial")
    elif states:
        initial = next(iter(states.values())).name
    return Spec(source, top, api_version, name, mode, config, run, profiles, initial, states)


def _start(top: Map) -> Scalar | Map:
    for key, _ in top.entries.values():
        return key
    return top


def _fixed(
    reader: Reader, top: Map, entry: tuple[Scalar, Node] | None, key: str, allowed: tuple[str, ...]
) -> str:
    if entry is None:
        reader.add("missing-key", f"the spec has no {key}", _start(top), f"add {key}: {allowed[0]}")
        return ""
    scalar = reader.scalar(entry[1], key)
    if scalar is None:
        return ""
    if scalar.value not in allowed:
        near = nearest(scalar.value, allowed)
        reader.add(
            "unknown-value",
            f"{key} {scalar.value!r:.80} is not known",
            scalar,
            f"write {(near or allowed)[0]}",
        )
        return ""
    return scalar.value


def _metadata(reader: Reader, top: Map, entry: tuple[Scalar, Node] | None) -> tuple[Scalar | None, str]:
    if entry is None:
        reader.add("missing-key", "the spec has no metadata", _start(top), "add metadata: {name: ...}")
        return None, ""
    mapping = reader.mapping(entry[1], "metadata", "write metadata: {name: ...}")
    if mapping is None:
        return None, ""
    entries = reader.known_keys(mapping, METADATA.names, "metadata", guess=True)
    name = None
    if "name" not in entries:
        reader.add("missing-key", "metadata has no name", entry[0], "add name: ...")
    else:
        name = reader.plain_name(entries["name"][1], "metadata.name")
        if name is not None and not reader.new_name(name, "metadata.name"):
            name = None
    for key in ("description", "namespace"):
        if key in entries and not (isinstance(entries[key][1], Scalar)):
            reader.wrong_type(entries[key][1], f"metadata.{key}", "text")
    if "labels" in entries:
        labels = reader.mapping(entries["labels"][1], "metadata.labels")
        for text, (_, value) in (labels.entries if labels else {}).items():
            if not isinstance(value, Scalar):
                reader.wrong_type(value, f"the label {text!r}", "text")
    mode = ""
    if "executionMode" in entries:
        scalar = reader.scalar(entries["executionMode"][1], "metadata.executionMode")
        if scalar is not None and scalar.value not in METADATA.keys["executionMode"].words:
            reader.add(
                "unknown-value", f"executionMode {scalar.value!r:.80} is not known", scalar, "write runtime"
            )
        elif scalar is not None:
            mode = scalar.value
    return name, mode


def _optional_map(reader: Reader, entry: tuple[Scalar, Node] | None, what: str) -> Map | None:
    if entry is None or (isinstance(entry[1], Scalar) and entry[1].is_null):
        return None
    return reader.mapping(entry[1], what)


def config_entries(mapping: Map, origin: str) -> dict[str, ConfigEntry]:
    """Flatten a config mapping: a nested value has its dotted path, unless a flat key has that name."""
    found: dict[str, ConfigEntry] = {}
    nested: deque[tuple[str, Map]] = deque()
    for text, (key, value) in mapping.entries.items():
        if text.startswith("x-"):
            continue
        found[text] = ConfigEntry(key, value, origin)
        if isinstance(value, Map):
            nested.append((text, value))
    while nested:
        prefix, inner = nested.popleft()
        if len(prefix) > _LONGEST_PATH:
            continue  # no token names a key of such a length, and many of them would fill the memory
        for text, (key, value) in inner.entries.items():
            if text.startswith("x-"):
                continue
            path = f"{prefix}.{text}"
            found.setdefault(path, ConfigEntry(key, value, origin))
            if isinstance(value, Map):
                nested.append((path, value))
    return found


def _config(reader: Reader, mapping: Map | None) -> dict[str, ConfigEntry]:
    return config_entries(mapping, "spec") if mapping is not None else {}


def _run(reader: Reader, mapping: Map | None) -> dict[str, tuple[Scalar, Scalar]]:
    found: dict[str, tuple[Scalar, Scalar]] = {}
    for text, (key, value) in (mapping.entries if mapping is not None else {}).items():
        if text.startswith("x-"):
            continue
        if text in ("id", "prefix"):
            help_text = "the run id is given when the run is started; the prefix is config.prefix"
            reader.add("reserved-run-key", f"run.{text} cannot be given by a spec", key, help_text)
            continue
        scalar = reader.scalar(value, f"run.{text}")
        if scalar is None:
            continue
        if "{{" in scalar.value:
            reader.add(
                "token-not-allowed-here", f"run.{text} is plain text, without tokens", scalar, "use config"
            )
            continue
        found[text] = (key, scalar)
    return found


def _profiles(reader: Reader, mapping: Map | None) -> dict[str, Profile]:
    found: dict[str, Profile] = {}
    for text, (key, value) in (mapping.entries if mapping is not None else {}).items():
        if text.startswith("x-"):
            continue
        reader.new_name(key, "the profile")
        if isinstance(value, Scalar) and value.is_null:
            found[text] = Profile(key, Map(key.source, key.end))
            continue
        inner = reader.mapping(value, f"the profile {text!r}", "write it as key: value pairs")
        if inner is not None:
            found[text] = Profile(key, inner)
    return found


def _states(reader: Reader, top: Map, entry: tuple[Scalar, Node] | None) -> dict[str, State]:
    if entry is None:
        reader.add("no-states", "the spec has no states", _start(top), "add states: with at least one state")
        return {}
    key, node = entry
    found: dict[str, State] = {}
    if isinstance(node, Seq):
        pairs = _list_form(reader, node)
    elif isinstance(node, Map):
        pairs = [
            (name, value, False) for text, (name, value) in node.entries.items() if not text.startswith("x-")
        ]
    else:
        reader.wrong_type(node, "states", "a mapping of names to states")
        return {}
    for name, value, listed in pairs:
        reader.new_name(name, "the state")
        if name.value in found:
            reader.add(
                "duplicate-state",
                f"the state {name.value!r} is defined twice",
                name,
                "rename one of the two",
                related=(Related("first defined here", found[name.value].name.span),),
            )
            continue
        found[name.value] = parse_state(reader, name, value, list_form=listed)
    if not pairs and not (isinstance(node, Seq) and node.items):
        reader.add("no-states", "the spec has no states", key, "add at least one state")
    return found


def _list_form(reader: Reader, node: Seq) -> list[tuple[Scalar, Node, bool]]:
    pairs: list[tuple[Scalar, Node, bool]] = []
    for item in node.items:
        mapping = reader.mapping(item, "an entry of states", "write - {name: ..., run: ...}")
        if mapping is None:
            continue
        value = mapping.get("name")
        if value is None:
            reader.add("missing-key", "this state has no name", mapping, "add name: ...")
            continue
        name = reader.plain_name(value, "the state's name")
        if name is not None:
            pairs.append((name, mapping, True))
    return pairs
