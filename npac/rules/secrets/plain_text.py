"""Secrets are named, never written.  No message here shows a value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.flow import Flow
from npac.text.source import Span
from npac.text.yaml_nodes import Map, Node, Scalar, Seq

_FORMS = (
    ("an AWS access key", re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])")),
    ("a Hugging Face token", re.compile(r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{20,}")),
    ("an NVIDIA API key", re.compile(r"(?<![A-Za-z0-9])nvapi-[A-Za-z0-9_-]{20,}")),
    ("a GitHub token", re.compile(r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})")),
    ("a GitLab token", re.compile(r"(?<![A-Za-z0-9])glpat-[A-Za-z0-9_-]{20,}")),
    ("a Slack token", re.compile(r"(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("a Google API key", re.compile(r"(?<![A-Za-z0-9])AIza[0-9A-Za-z_-]{35}")),
    ("an API key", re.compile(r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,}")),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("a signed token", re.compile(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")),
    ("a bearer token", re.compile(r"[Bb]earer\s+(?!\{\{)[A-Za-z0-9._~+/-]{16,}=*")),
    ("a password in a URL", re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@{}$]+:(?!\{\{|\$)[^\s/@{}]+@")),
)
_NAMES = ("secret", "token", "password", "passwd", "api_key", "apikey", "access_key", "private_key", "secret_key")
_HARMLESS_ENDS = ("_env", "_name", "_file", "_uri", "_url", "_path")
_NUMBER = re.compile(r"[-+]?[0-9][0-9_.eE+-]*\Z")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_CLASSES = (re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]"), re.compile(r"[^A-Za-z0-9\s]"))
_HELP = "name the environment variable in secrets: [...] and give its value by --secret-env when the run is started"
_SECRET_FIELDS = ("imagePullSecrets", "secretKeyRef", "secretRef")


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report values that have a credential's form, and those whose key says that they are one."""
    reported: set[tuple[str, int]] = set()
    for scalar in _scalars(flow):
        for what, span in credential_spans(scalar):
            mark = (span.source.path, scalar.start)
            if mark not in reported:
                reported.add(mark)
                yield finding("secret-in-plain-text", f"this looks like {what}, in plain text", span, _HELP)
    references = _reference_keys(flow)
    for key, entry in flow.config.entries.items():
        if entry.origin == "tool" or not isinstance(entry.node, Scalar) or key in references:
            continue
        if (entry.node.source.path, entry.node.start) not in reported:
            yield from _by_name(key, entry.node)
    for state in flow.spec.states.values():
        for key, param in state.params.items():
            node = param.text.node
            if key not in references and (node.source.path, node.start) not in reported:
                yield from _by_name(key, node)


def credential_spans(scalar: Scalar) -> Iterator[tuple[str, Span]]:
    """Give what in a scalar has a credential's form, and where."""
    if len(scalar.value) < 12:
        return
    for what, form in _FORMS:
        for match in form.finditer(scalar.value):
            yield what, scalar.inner(match.start(), match.end())


def _scalars(flow: Flow) -> Iterator[Scalar]:
    stack: list[Node] = [flow.spec.top]
    stack.extend(entry.node for entry in flow.config.entries.values() if entry.origin not in ("spec", "tool"))
    seen: set[int] = set()
    while stack:
        top = stack.pop()
        if isinstance(top, Scalar):
            yield top
        elif isinstance(top, Seq):
            if id(top.items) not in seen:
                seen.add(id(top.items))
                stack.extend(reversed(top.items))
        elif isinstance(top, Map) and id(top.entries) not in seen:
            seen.add(id(top.entries))
            for key, value in reversed(top.entries.values()):
                stack.extend((value, key))


def _by_name(key: str, node: Scalar) -> Iterator[Diagnostic]:
    name = key.rpartition(".")[2].lower().replace("-", "_")
    if name.endswith(_HARMLESS_ENDS) or not any(name == word or name.endswith("_" + word) for word in _NAMES):
        return
    value = node.value
    if not value or node.is_null or "{{" in value or node.boolean is not None:
        return
    if _NUMBER.match(value) or _URI.match(value):
        return
    classes = sum(1 for form in _CLASSES if form.search(value))
    if len(value) >= 16 and classes >= 2:
        message = f"the key {key!r} says that this is a credential, and its value stands in plain text"
        yield finding("secret-in-plain-text", message, node.span, _HELP)
    elif len(value) < 16:
        message = f"the key {key!r} says that this is a credential, and a value stands in plain text"
        yield finding("maybe-secret", message, node.span, _HELP)


def _reference_keys(flow: Flow) -> set[str]:
    """Config keys whose values are names of pull secrets or secret references in pod configs."""
    from npac.syntax.templates import parse_template

    found: set[str] = set()
    for profile in flow.spec.profiles.values():
        stack: list[tuple[Node, bool]] = [(profile.node, False)]
        while stack:
            top, inside = stack.pop()
            if isinstance(top, Seq):
                stack.extend((item, inside) for item in top.items)
            elif isinstance(top, Map):
                stack.extend((value, inside or key in _SECRET_FIELDS) for key, (_, value) in top.entries.items())
            elif inside:
                found.update(token.path for token in parse_template(top.value).tokens if token.scope == "config")
    return found
