"""Reading what a text, a list of words or an artifact must be."""

from __future__ import annotations

import re
from collections.abc import Iterable

from npac.diagnostics.codes import finding
from npac.spectest.model import ArtifactExpected, ArtifactsExpected, Match, Number, Text, Words
from npac.syntax.nearest import nearest
from npac.syntax.reader import Reader
from npac.text.source import Span
from npac.text.yaml_nodes import Map, Node, Scalar, Seq

MATCH_KEYS = ("contains", "matches")
ARTIFACT_KEYS = ("uri", "schema", "kind")


def text(reader: Reader, node: Node, what: str) -> Text | None:
    """Read a scalar as its author wrote it; empty text is allowed, null is not."""
    scalar = reader.scalar(node, what)
    return Text(scalar.value, scalar.span) if scalar is not None else None


def texts(reader: Reader, node: Node, what: str) -> tuple[Text, ...]:
    """Read a list of texts; one text stands for a list of one."""
    if isinstance(node, Scalar):
        one = text(reader, node, what)
        return (one,) if one is not None else ()
    items = reader.sequence(node, what, "write a list of texts") or ()
    found = (text(reader, item, f"an entry of {what}") for item in items)
    return tuple(item for item in found if item is not None)


def number(reader: Reader, node: Node, what: str) -> Number | None:
    """Read a whole number, zero or more."""
    scalar = reader.scalar(node, what, "a whole number")
    if scalar is None:
        return None
    if not (scalar.value.isascii() and scalar.value.isdigit() and len(scalar.value) < 10):
        reader.add("bad-number", f"{what} must be a whole number, not {scalar.value!r:.60}", scalar)
        return None
    return Number(int(scalar.value), scalar.span)


def one_of(reader: Reader, node: Node, what: str, allowed: Iterable[str]) -> Text | None:
    """Read a text that is one of a closed set."""
    found = text(reader, node, what)
    names = tuple(allowed)
    if found is None or found.value in names:
        return found
    near = nearest(found.value, names)
    help_text = f"did you mean {near[0]}?" if near else f"write one of {', '.join(names)}"
    reader.add("unknown-value", f"{what} {found.value!r:.80} is not known", node, help_text)
    return None


def match(reader: Reader, node: Node, what: str) -> Match | None:
    """Read a text that must be there exactly, or ``{contains: …, matches: …}``."""
    if isinstance(node, Scalar):
        exact = text(reader, node, what)
        return Match(exact.span, exact.value) if exact is not None else None
    mapping = reader.mapping(node, what, "write a text, or {contains: TEXT} or {matches: REGEX}")
    if mapping is None:
        return None
    before = len(reader.report)
    entries = reader.known_keys(mapping, MATCH_KEYS, what)
    contains: tuple[Text, ...] = ()
    if "contains" in entries:
        contains = texts(reader, entries["contains"][1], f"contains of {what}")
    regexes = patterns(reader, entries["matches"][1], what) if "matches" in entries else ()
    if not contains and not regexes:
        says_nothing(reader, mapping, what, before)
        return None
    return Match(mapping.span, contains=contains, matches=regexes)


def words(reader: Reader, node: Node, what: str) -> Words | None:
    """Read a list of words that must be there exactly, or ``{contains: …, matches: …}``."""
    if isinstance(node, Seq):
        return Words(node.span, texts(reader, node, what))
    if not isinstance(node, Map):
        reader.wrong_type(node, what, "a list of words", "write [word, word], or {contains: [word]}")
        return None
    before = len(reader.report)
    entries = reader.known_keys(node, MATCH_KEYS, what)
    runs: list[tuple[Text, ...]] = []
    if "contains" in entries:
        value = entries["contains"][1]
        nested = isinstance(value, Seq) and any(isinstance(item, Seq) for item in value.items)
        for item in value.items if nested and isinstance(value, Seq) else [value]:
            run = texts(reader, item, f"contains of {what}")
            if run:
                runs.append(run)
    regexes = patterns(reader, entries["matches"][1], what) if "matches" in entries else ()
    if not runs and not regexes:
        says_nothing(reader, node, what, before)
        return None
    return Words(node.span, None, tuple(runs), regexes)


def artifacts(reader: Reader, node: Node, what: str) -> ArtifactsExpected | None:
    """Read a list of artifacts (all of them, in order), or ``{contains: […]}`` for some."""
    whole = isinstance(node, Seq)
    value = node
    if isinstance(node, Map):
        before = len(reader.report)
        entries = reader.known_keys(node, ("contains",), what)
        if "contains" not in entries:
            says_nothing(reader, node, what, before, "give contains")
            return None
        value = entries["contains"][1]
    items = value.items if isinstance(value, Seq) else [value]
    if isinstance(node, Scalar):
        reader.wrong_type(node, what, "a list", "write [URI, …] for all, or {contains: URI} for some")
        return None
    found = (_artifact(reader, item, f"an entry of {what}") for item in items)
    return ArtifactsExpected(node.span, tuple(item for item in found if item is not None), whole)


def _artifact(reader: Reader, node: Node, what: str) -> ArtifactExpected | None:
    if not isinstance(node, Map) or set(node.entries) & set(MATCH_KEYS):
        uri = match(reader, node, what)
        return ArtifactExpected(node.span, uri) if uri is not None else None
    entries = reader.known_keys(node, ARTIFACT_KEYS, what)
    if "uri" not in entries:
        reader.add("missing-key", f"{what} has no uri", node, "add uri: URI")
        return None
    uri = match(reader, entries["uri"][1], f"the uri of {what}")
    schema = match(reader, entries["schema"][1], f"the schema of {what}") if "schema" in entries else None
    kind = None
    if "kind" in entries:
        kind = one_of(reader, entries["kind"][1], f"the kind of {what}", ("file", "directory"))
    return ArtifactExpected(node.span, uri, schema, kind) if uri is not None else None


def patterns(reader: Reader, node: Node, what: str) -> tuple[tuple[re.Pattern[str], Span], ...]:
    """Read one regular expression, or a list of them."""
    found = []
    for item in texts(reader, node, f"matches of {what}"):
        try:
            found.append((re.compile(item.value, re.MULTILINE), item.span))
        except (re.error, OverflowError, RecursionError) as error:
            message = f"{item.value!r:.80} is no regular expression: {error}"
            help_text = "write one that Python's re module takes; quote it in single quotes"
            reader.report.append(finding("unknown-value", message, item.span, help_text))
    return tuple(found)


def says_nothing(
    reader: Reader, node: Node, what: str, before: int, help: str = "give contains or matches"
) -> None:
    """Report that there is nothing to compare with, unless a fault inside said why already."""
    if len(reader.report) == before:
        reader.add("missing-key", f"{what} says nothing to compare with", node, help)
