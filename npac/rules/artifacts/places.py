"""URIs at which npac itself will look: outputs, triggers and decisions have to be in reach of a store."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow
from npac.flow.symbolic import written
from npac.ir.values import Value
from npac.rules.decisions.sources import decision_place
from npac.text.source import Span

_SCHEMES = ("s3://", "file://")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_NAME_ONLY = ", and S3 allows no such name"
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
# at the end of a part a hole may bring the digits of a percent escape
_ESCAPED = re.compile(r"[?#]|%(?![0-9A-Fa-f]{2}|[0-9A-Fa-f]?\Z)")


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report URIs of outputs, triggers and decisions that no store can look at."""
    seen: set[Value] = set()
    for name, step in flow.steps.by_state.items():
        for output in step.outputs:
            seen.add(output.uri)
            whole = output.declared_kind == "directory" or _ends_in_slash(output.uri)
            yield from _place(output.uri, f"the output of {name!r}", output.decl.uri.node.span, whole)
        declared = flow.spec.states[name].trigger
        if step.trigger is not None and declared is not None and declared.uri is not None:
            yield from _place(step.trigger.uri, f"the trigger of {name!r}", declared.uri.node.span, True)
    for name, state in flow.spec.states.items():
        exits = flow.structure.exits.get(name)
        roles = ["transitions"] if exits is not None and exits.decides else []
        roles += ["until"] if state.loop is not None and state.loop.until is not None else []
        for role in roles:
            uri = decision_place(flow, name, role)
            if uri is None or uri in seen:
                continue
            seen.add(uri)
            yield from _place(uri, f"the decision of {name!r}", _said_at(flow, name), False)


def _said_at(flow: Flow, name: str) -> Span:
    """Give where a state's ``decision_uri`` is written: in its params, or in config."""
    state = flow.spec.states[name]
    param = state.params.get("decision_uri")
    if param is not None:
        return param.text.node.span
    entry = flow.config.entries.get("decision_uri")
    return entry.node.span if entry is not None else state.name.span


def _place(uri: Value, what: str, at: Span, whole: bool) -> Iterator[Diagnostic]:
    problem = _problem(uri, whole)
    if problem is not None:
        why, help_text = problem
        message = f"{what}, {written(uri)!r:.160}, {why}" if uri else f"{what} has an empty URI"
        # a store of one's own may have buckets that Amazon's would not
        severity = Severity.WARNING if why.endswith(_NAME_ONLY) else None
        yield finding("bad-uri", message, at, help_text, severity=severity)


def _problem(uri: Value, whole: bool) -> tuple[str, str] | None:
    """Say what is wrong with a URI and what to write; ``whole`` lets it name a bucket without a key.

    What a hole stands for is not known, and what follows one is not judged.
    """
    if uri == "":
        return "", "write s3://BUCKET/KEY or file:///PATH"
    parts = (uri,) if isinstance(uri, str) else getattr(uri, "parts", ())
    begin = parts[0] if parts else None
    if not isinstance(begin, str):
        return None
    if not begin.startswith(_SCHEMES):
        if "://" in begin:
            return "has a scheme that npac cannot look at", "use s3:// or file:///"
        return "is no whole URI, so npac cannot look at it", "write s3://BUCKET/KEY or file:///PATH"
    scheme, _, rest = begin.partition("://")
    host, slash, path = rest.partition("/")
    if not slash and len(parts) > 1:
        return None
    if scheme == "s3":
        return _bucket(host, path or len(parts) > 1, whole)
    return _file(host, slash, path, parts)


def _bucket(host: str, key: object, whole: bool) -> tuple[str, str] | None:
    if not host:
        return "names no bucket", "write s3://BUCKET/KEY; a bucket that config leaves empty needs a value"
    if not _BUCKET.fullmatch(host) or ".." in host or _ADDRESS.fullmatch(host):
        return (
            f"names the bucket {host!r:.80}{_NAME_ONLY}",
            "bucket names are 3 to 63 lowercase letters, digits, dots and hyphens, "
            "and begin and end with a letter or digit",
        )
    if not key and not whole:
        return "names a whole bucket and no object in it", "write s3://BUCKET/KEY"
    return None


def _file(host: str, slash: str, path: str, parts: tuple[Value, ...]) -> tuple[str, str] | None:
    if host not in ("", "localhost"):
        return f"names the host {host!r:.80}, not a folder", f"write three slashes: file:///{host:.80}/..."
    if not slash or (not path.strip("/") and len(parts) == 1):
        return "names no file or folder", "write file:///PATH"
    if any(isinstance(part, str) and _ESCAPED.search(part) for part in parts):
        return "holds a '%', '?' or '#' that stands for itself", "write %25, %3F or %23 for these characters"
    return None


def _ends_in_slash(uri: Value) -> bool:
    tail = uri if isinstance(uri, str) else getattr(uri, "parts", ("",))[-1]
    return isinstance(tail, str) and tail.endswith("/")
