"""URIs that no run can be linked with, or whose path no file can have, whatever store they are in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.flow import Flow
from npac.flow.symbolic import written
from npac.ir.values import Value
from npac.rules.decisions.sources import decision_place
from npac.text.source import Span

_CONTROL = r"[\x00-\x1f\x7f]"
_MAX_KEY = 1024
"""Bytes of the longest key of an object in S3."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report the URIs of inputs, outputs, triggers and decisions."""
    seen: set[Value] = set()
    for what, uri, at, looked_at in _uris(flow):
        if uri in seen:
            continue
        seen.add(uri)
        problem = _problem(uri, looked_at)
        if problem is not None:
            why, help_text = problem
            yield finding("bad-uri", f"{what}, {written(uri)!r:.160}, {why}", at, help_text)


def _uris(flow: Flow) -> Iterator[tuple[str, Value, Span, bool]]:
    """Give every URI, and whether npac itself looks there; it leaves inputs to the tasks."""
    for name, step in flow.steps.by_state.items():
        for output in step.outputs:
            yield f"the output of {name!r}", output.uri, output.decl.uri.node.span, True
        declared = step.state.trigger
        if step.trigger is not None and declared is not None and declared.uri is not None:
            yield f"the trigger of {name!r}", step.trigger.uri, declared.uri.node.span, True
    for name, state in flow.spec.states.items():
        exits = flow.structure.exits.get(name)
        roles = ["transitions"] if exits is not None and exits.decides else []
        roles += ["until"] if state.loop is not None and state.loop.until is not None else []
        for uri in (decision_place(flow, name, role) for role in roles):
            if uri is not None:
                param = state.params.get("decision_uri")
                entry = flow.config.entries.get("decision_uri")
                at = param.text.node if param is not None else entry.node if entry is not None else state.name
                yield f"the decision of {name!r}", uri, at.span, True
    for name, step in flow.steps.by_state.items():
        for item in step.inputs:
            yield f"the input of {name!r}", item.uri, item.decl.uri.node.span, False


def _problem(uri: Value, looked_at: bool) -> tuple[str, str] | None:
    parts = (uri,) if isinstance(uri, str) else getattr(uri, "parts", ())
    texts = [part for part in parts if isinstance(part, str)]
    if any(re.search(_CONTROL, text) for text in texts):
        return "holds a control character", "take it out; blanks and the like are written %20 in file:// URIs"
    begin = parts[0] if parts and isinstance(parts[0], str) else ""
    scheme, _, rest = begin.partition("://")
    host, slash, path = rest.partition("/")
    if scheme == "s3":
        if not looked_at and not host and (slash or len(parts) == 1):
            return "names no bucket", "write s3://BUCKET/KEY; a bucket that config leaves empty needs a value"
        key = [path, *texts[1:]] if slash else texts[1:]
        if sum(len(text.encode("utf-8", "surrogatepass")) for text in key) > _MAX_KEY:
            return f"has a key of more than {_MAX_KEY} bytes, and S3 allows no longer one", "shorten it"
    elif scheme == "file" and looked_at and any("%" in text for text in texts):
        if any("%00" in text for text in texts):
            return "holds a NUL (%00), and no file's name can", "take it out"
        if len(parts) == 1 and path.strip("/") and not re.sub("%2[Ff]", "/", path).strip("/"):
            return "names no file or folder", "write file:///PATH"
    return None
