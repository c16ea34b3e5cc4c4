"""URIs at which npac itself will look: outputs, triggers and decisions have to be in reach of a store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related, Severity
from npac.flow.flow import Flow
from npac.flow.symbolic import written
from npac.ir.values import Value
from npac.rules.decisions.sources import decision_place
from npac.rules.tokens.resolved import is_resolved
from npac.syntax.ast import ConfigEntry, State, Text
from npac.syntax.templates import Template, parse_template
from npac.text.source import Span
from npac.text.yaml_nodes import Scalar

_SCHEMES = ("s3://", "file://")
_MOST = 8
"""Uses that are shown beside a config value."""
_DEEPEST = 64
"""How far a value is followed from config key to config key."""
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
# What a client sends at all: other stores than Amazon's, and old buckets, know more names than it makes now.
_ANY_STORES = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_STRANGE = re.compile(r"[^A-Za-z0-9._-]")
_BUCKET_HELP = (
    "bucket names are 3 to 63 lowercase letters, digits, dots and hyphens, "
    "and begin and end with a letter or digit"
)
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
# at the end of a part a hole may bring the digits of a percent escape
_ESCAPED = re.compile(r"[?#]|%(?![0-9A-Fa-f]{2}|[0-9A-Fa-f]?\Z)")


class _Place(NamedTuple):
    """A URI at which npac looks: whose it is, and the text that gives it."""

    what: str
    state: str
    uri: Value
    text: Text
    whole: bool


class _Problem(NamedTuple):
    """What is wrong with a URI, what to write, and the part of it that is at fault (None: all of it)."""

    why: str
    help: str
    part: str | None = None
    severity: Severity | None = None


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report URIs of outputs, triggers and decisions that no store can look at.

    What one config value brings into several of them is reported once, at that value.
    """
    found: dict[tuple[int, str], Diagnostic] = {}
    for place in _places(flow):
        problem = _problem(place.uri, place.whole)
        if problem is None:
            continue
        message = f"{place.what}, {written(place.uri)!r:.160}, {problem.why}"
        if not place.uri:
            message = f"{place.what} has an empty URI"
        at = _origin(flow, place, problem)
        span = at.span if problem.part is None else _part(at, problem.part)
        first = found.get((span.start, problem.why))
        if first is None:
            found[span.start, problem.why] = finding(
                "bad-uri", message, span, problem.help, severity=problem.severity
            )
        elif first.span != place.text.node.span and len(first.related) < _MOST:
            use = Related(f"{place.what} is there too", place.text.node.span)
            found[span.start, problem.why] = first._replace(related=(*first.related, use))
    yield from found.values()


def _places(flow: Flow) -> Iterator[_Place]:
    seen: set[Value] = set()
    for name, step in flow.steps.by_state.items():
        for output in step.outputs:
            seen.add(output.uri)
            whole = output.declared_kind == "directory" or _ends_in_slash(output.uri)
            if is_resolved(flow, name, output.decl.uri):
                yield _Place(f"the output of {name!r}", name, output.uri, output.decl.uri, whole)
        declared = flow.spec.states[name].trigger
        if step.trigger is None or declared is None or declared.uri is None:
            continue
        if is_resolved(flow, name, declared.uri):
            yield _Place(f"the trigger of {name!r}", name, step.trigger.uri, declared.uri, True)
    for name, state in flow.spec.states.items():
        exits = flow.structure.exits.get(name)
        roles = ["transitions"] if exits is not None and exits.decides else []
        roles += ["until"] if state.loop is not None and state.loop.until is not None else []
        for role in roles:
            uri = decision_place(flow, name, role)
            text = _said(flow, state) if uri is not None and uri not in seen else None
            if uri is not None and text is not None and is_resolved(flow, name, text):
                seen.add(uri)
                yield _Place(f"the decision of {name!r}", name, uri, text, False)


def _said(flow: Flow, state: State) -> Text | None:
    """Give the text of a state's ``decision_uri``: of its params, or of config."""
    param = state.params.get("decision_uri")
    entry = flow.config.entries.get("decision_uri")
    if param is not None:
        return param.text
    return _text_of(entry) if entry is not None else None


def _text_of(entry: ConfigEntry) -> Text | None:
    """Give the text of a config value; what ``--var`` gives is no template."""
    node = entry.node
    if not isinstance(node, Scalar):
        return None
    return Text(node, Template(node.value, (node.value,), (), ())) if entry.origin == "var" else _parsed(node)


def _parsed(node: Scalar) -> Text:
    return Text(node, parse_template(node.value))


def _origin(flow: Flow, place: _Place, problem: _Problem) -> Scalar:
    """Give the scalar that brings the wrong beginning of a URI: the URI, or a config value named in it."""
    text, params = place.text, flow.spec.states[place.state].params
    for _ in range(_DEEPEST):
        token = next(iter(text.template.tokens), None)
        begin = text.node.value[: token.start] if token is not None else text.node.value
        if token is None or token.scope != "config" or begin not in ("", "s3://", "file://"):
            break
        value = flow.config.values.get(token.path)
        if begin and (problem.part is None or not isinstance(value, str) or problem.part not in value):
            break
        param = params.get(token.path)
        entry = flow.config.entries.get(token.path)
        following = param.text if param is not None else _text_of(entry) if entry is not None else None
        if following is None or following.node.aliased:
            break
        text, params = following, {}
    return text.node


def _part(at: Scalar, part: str) -> Span:
    """Give where a part of a URI stands, if it is written out there."""
    place = 0 if at.value == part else at.value.find(f"://{part}") + len("://")
    after = at.value[place + len(part) : place + len(part) + 1]
    written_out = part and (at.value == part or place >= len("://")) and after in ("", "/", "{")
    return at.inner(place, place + len(part)) if written_out else at.span


def _problem(uri: Value, whole: bool) -> _Problem | None:
    """Say what is wrong with a URI and what to write; ``whole`` lets it name a bucket without a key.

    What a hole stands for is not known, and what follows one is not judged.
    """
    if uri == "":
        return _Problem("", "write s3://BUCKET/KEY or file:///PATH")
    parts = (uri,) if isinstance(uri, str) else getattr(uri, "parts", ())
    begin = parts[0] if parts else None
    if not isinstance(begin, str):
        return None
    if not begin.startswith(_SCHEMES):
        if "://" in begin:
            return _Problem("has a scheme that npac cannot look at", "use s3:// or file:///")
        return _Problem("is no whole URI, so npac cannot look at it", "write s3://BUCKET/KEY or file:///PATH")
    scheme, _, rest = begin.partition("://")
    host, slash, path = rest.partition("/")
    if not slash and len(parts) > 1:
        return _no_bucket(host) if scheme == "s3" and _STRANGE.search(host) else None
    if scheme == "s3":
        return _bucket(host, path or len(parts) > 1, whole)
    return _file(host, slash, path, parts)


def _bucket(host: str, key: object, whole: bool) -> _Problem | None:
    if not host:
        why = "names no bucket"
        return _Problem(why, "write s3://BUCKET/KEY; a bucket that config leaves empty needs a value")
    if not _ANY_STORES.fullmatch(host) or _ADDRESS.fullmatch(host):
        return _no_bucket(host)
    if not _BUCKET.fullmatch(host) or ".." in host:
        # a store of one's own, and a bucket that is older than the rule, may have such a name
        why = f"names the bucket {host!r:.80}, and S3 makes no bucket of such a name"
        return _Problem(why, _BUCKET_HELP, host, Severity.WARNING)
    if not key and not whole:
        return _Problem("names a whole bucket and no object in it", "write s3://BUCKET/KEY")
    return None


def _no_bucket(host: str) -> _Problem:
    return _Problem(f"names the bucket {host!r:.80}, and no store takes such a name", _BUCKET_HELP, host)


def _file(host: str, slash: str, path: str, parts: tuple[Value, ...]) -> _Problem | None:
    if host not in ("", "localhost"):
        help_text = f"write three slashes: file:///{host:.80}/..."
        return _Problem(f"names the host {host!r:.80}, not a folder", help_text)
    if not slash or (not path.strip("/") and len(parts) == 1):
        return _Problem("names no file or folder", "write file:///PATH")
    if any(isinstance(part, str) and _ESCAPED.search(part) for part in parts):
        why = "holds a '%', '?' or '#' that stands for itself"
        return _Problem(why, "write %25, %3F or %23 for these characters")
    return None


def _ends_in_slash(uri: Value) -> bool:
    tail = uri if isinstance(uri, str) else getattr(uri, "parts", ("",))[-1]
    return isinstance(tail, str) and tail.endswith("/")
