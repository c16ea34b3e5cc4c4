"""Secrets are named, never written.  No message here shows a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from npac.diagnostics.codes import finding
from npac.diagnostics.credentials import credentials, may_hold
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.flow import Flow
from npac.syntax.spec_parser import SECRET_HELP
from npac.syntax.templates import parse_template
from npac.text.source import SourceFile
from npac.text.stretches import Stretches
from npac.text.yaml_nodes import Map, Node, Scalar, Seq

_NAMES = (
    "secret", "token", "password", "passwd", "passphrase", "api_key", "apikey", "access_key", "secret_key",
    "private_key",
)  # fmt: skip
_HUMP = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
"""Where a word of a camelCase name begins."""
_NAME_ENDS = tuple(f"_{name}" for name in _NAMES)
_LAST = ("secret", "token", "password", "passwd", "passphrase", "key")
"""What the names end in, whatever stands between their words."""
_NUMBER = r"[-+]?[0-9][0-9_.eE+-]*\Z"
_URI = r"[A-Za-z][A-Za-z0-9+.-]*://"
_STAND_IN = (
    r"<[^<>]*>\Z|\[[^\[\]]*\]\Z"  # <your token here>, and what tokenizers call tokens: <pad>, [MASK]
    r"|\$[A-Za-z_][A-Za-z0-9_]*\Z|\$\{[A-Za-z_][A-Za-z0-9_]*\}\Z"
    r"|(?:env:)?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:TOKEN|KEY|SECRET|PASSWORD|PASSPHRASE)\Z"
    r"|(?:~|\.\.?|/(?:etc|home|mnt|opt|root|run|secrets|srv|tmp|usr|var|workspace))(?:/[A-Za-z0-9_.@-]+)+/?\Z"
    r"|(.)\1{2,}\Z"  # ********, xxx
)
"""What stands for a value, or says where it is: a placeholder, a variable's name, a file."""
_CLASSES = ("[a-z]", "[A-Z]", "[0-9]", r"[^A-Za-z0-9\s]")
_LONG = 16
_SECRET_FIELDS = ("imagePullSecrets", "secretKeyRef", "secretRef")


class _Value(NamedTuple):
    """A scalar and the key that it is the value of; ``path`` is the config key that it is (or empty)."""

    scalar: Scalar
    key: str
    path: str


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report values that have a credential's form, and those whose key says that they are one."""
    values = list(_values(flow))
    formed: set[tuple[str, int]] = set()
    texts: dict[SourceFile, Stretches] = {}
    for value in values:
        scalar = value.scalar
        known = texts.get(scalar.source)
        if known is None:
            known = Stretches((item.start, item.end) for item in credentials(scalar.source.text))
            texts[scalar.source] = known
        for item in credentials(scalar.value):
            formed.add((scalar.source.path, scalar.start))
            span = scalar.inner(item.start, item.end)
            # what stands in the text as it is was reported when the text was read
            if not known.meets(span.start, span.end):
                message = f"this looks like {item.what}, in plain text"
                yield finding("secret-in-plain-text", message, span, SECRET_HELP)
    references = _reference_keys(flow)
    for value in values:
        mark = (value.scalar.source.path, value.scalar.start)
        if mark not in formed and value.path not in references:
            yield from _by_name(value)


def _marked(source: SourceFile) -> bool:
    """Say whether a text may hold a credential at all.

    A backslash counts: an escape can spell a mark that the text does not show.
    """
    return "\\" in source.text or may_hold(source.text)


def _is_respelt(node: Scalar) -> bool:
    """Say whether a scalar's value is not what stands in the text: escaped, folded, or an alias."""
    if node.style == "|" and not node.aliased:
        return False
    return not node.source.text.startswith(node.value, node.start + (node.style in ("'", '"')))


@lru_cache(maxsize=1024)
def _telling(key: str) -> bool:
    """Say whether a key's name says that its value is a credential: by its last word, in any spelling."""
    name = key.rpartition(".")[2]
    if not name.lower().endswith(_LAST):
        return False
    name = re.sub(_HUMP, "_", name).lower().replace("-", "_")
    return name in _NAMES or name.endswith(_NAME_ENDS)


def _values(flow: Flow) -> Iterator[_Value]:
    """Give the scalars of the spec and of the overrides that have to be looked at, also of refused ones.

    These are the values of telling keys, and where some text has a mark the scalars whose value does
    not stand in the text as it is: what does was reported when the text was read.
    """
    config = flow.spec.top.get("config")
    sources = {given.node.source for given in flow.config.given} | {flow.spec.source}
    everything = any(_marked(source) for source in sources)
    stack: list[tuple[Node, str, str, bool]] = [(flow.spec.top, "", "", False)]
    stack.extend((given.node, given.key.value, given.key.value, False) for given in flow.config.given)
    seen: set[int] = set()
    while stack:
        top, name, path, inside = stack.pop()
        if isinstance(top, Scalar):
            yield _Value(top, name, path)
        elif isinstance(top, Seq):
            if id(top.items) not in seen:
                seen.add(id(top.items))
                stack.extend(
                    (item, "", "", inside)
                    for item in reversed(top.items)
                    if not isinstance(item, Scalar) or (everything and _is_respelt(item))
                )
        elif id(top.entries) not in seen:
            seen.add(id(top.entries))
            # config keys go by their dotted path, and params stand for config keys
            inner = inside or top is config or name == "params"
            named = top.get("name") if "value" in top.entries else None  # a variable of a pod
            for text, (key, value) in reversed(top.entries.items()):
                said = named.value if text == "value" and isinstance(named, Scalar) else text
                if not isinstance(value, Scalar) or _telling(said) or (everything and _is_respelt(value)):
                    full = f"{path}.{text}" if path else text
                    stack.append((value, said, full if inner else "", inner))
                if everything and _is_respelt(key):
                    stack.append((key, "", "", False))


def _by_name(value: _Value) -> Iterator[Diagnostic]:
    if not _telling(value.key):
        return
    node, text = value.scalar, value.scalar.value
    if not text or node.is_null or node.boolean is not None:
        return
    template = parse_template(text)
    if template.tokens or template.problems:
        return
    if re.match(_NUMBER, text) or re.match(_URI, text) or re.match(_STAND_IN, text):
        return
    said = f"the key {value.key!r:.80} says that this is a credential, and"
    if len(text) < _LONG:
        yield finding("maybe-secret", f"{said} a value stands in plain text", node.span, SECRET_HELP)
    elif sum(1 for form in _CLASSES if re.search(form, text)) >= 2:
        yield finding(
            "secret-in-plain-text", f"{said} its value stands in plain text", node.span, SECRET_HELP
        )


def _reference_keys(flow: Flow) -> set[str]:
    """Config keys whose values are names of pull secrets or secret references in pod configs."""
    found: set[str] = set()
    for profile in flow.spec.profiles.values():
        stack: list[tuple[Node, bool]] = [(profile.node, False)]
        while stack:
            top, inside = stack.pop()
            if isinstance(top, Seq):
                stack.extend((item, inside) for item in top.items)
            elif isinstance(top, Map):
                stack.extend(
                    (value, inside or key in _SECRET_FIELDS) for key, (_, value) in top.entries.items()
                )
            elif inside:
                found.update(
                    token.path for token in parse_template(top.value).tokens if token.scope == "config"
                )
    return found
