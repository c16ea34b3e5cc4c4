"""Secrets are named, never written.  No message here shows a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from npac.diagnostics.codes import finding
from npac.diagnostics.credentials import credentials, may_hold
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.flow import Flow
from npac.rules.secrets.telling import is_telling, may_give, may_name, may_tell, plainly, stands_in
from npac.syntax.spec_parser import SECRET_HELP
from npac.syntax.templates import parse_template
from npac.text.source import SourceFile, Span
from npac.text.stretches import Stretches
from npac.text.yaml_nodes import Map, Node, Scalar, Seq

if TYPE_CHECKING:
    from npac.rules.secrets.commands import Given

_SHORTEST = 8
"""Characters of the shortest text that gives a credential to a command: ``x -pabcd``."""
_SECRET_FIELDS = ("imagePullSecrets", "secretKeyRef", "secretRef")


class _Value(NamedTuple):
    """A scalar and the key that it is the value of; ``path`` is the config key that it is (or empty)."""

    scalar: Scalar
    key: str
    path: str


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report values that have a credential's form, and those whose key or option says that they are one."""
    text = flow.spec.source.text
    # Most specs show by a few plain searches that none of this is in them.
    some = bool(flow.config.given) or _marked(flow.spec.source) or may_tell(text)
    values = list(_values(flow)) if some else []
    formed: set[tuple[str, int]] = set()
    texts: dict[SourceFile, Stretches] = {}
    for value in values:
        scalar = value.scalar
        for item in credentials(scalar.value):
            formed.add((scalar.source.path, scalar.start))
            span = scalar.inner(item.start, item.end)
            # what stands in the text as it is was reported when the text was read
            if not _reported(texts, span):
                message = f"this looks like {item.what}, in plain text"
                yield finding("secret-in-plain-text", message, span, SECRET_HELP)
    references = _reference_keys(flow) if values else ()
    for value in values:
        mark = (value.scalar.source.path, value.scalar.start)
        if mark not in formed and value.path not in references:
            yield from _by_name(flow, value)
    yield from _given(flow, texts)


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
                whose = name if is_telling(name) else ""  # a list of passwords is so many passwords
                stack.extend(
                    (item, whose, path if whose else "", inside)
                    for item in reversed(top.items)
                    if whose or not isinstance(item, Scalar) or (everything and _is_respelt(item))
                )
        elif id(top.entries) not in seen:
            seen.add(id(top.entries))
            # config keys go by their dotted path, and params stand for config keys
            inner = inside or top is config or name == "params"
            named = top.get("name") if "value" in top.entries else None  # a variable of a pod
            for text, (key, value) in reversed(top.entries.items()):
                said = named.value if text == "value" and isinstance(named, Scalar) else text
                if text in ("value", "default") and is_telling(name):
                    said = name
                if not isinstance(value, Scalar) or is_telling(said) or (everything and _is_respelt(value)):
                    full = f"{path}.{text}" if path else text
                    stack.append((value, said, full if inner else "", inner))
                if everything and _is_respelt(key):
                    stack.append((key, "", "", False))


def _reported(known: dict[SourceFile, Stretches], span: Span) -> bool:
    """Say whether a credential was found by its form where a text was read, at this place."""
    found = known.get(span.source)
    if found is None:
        found = Stretches((item.start, item.end) for item in credentials(span.source.text))
        known[span.source] = found
    return found.meets(span.start, span.end)


def _by_name(flow: Flow, value: _Value) -> Iterator[Diagnostic]:
    if not is_telling(value.key):
        return
    node, text = value.scalar, value.scalar.value
    if not text or node.is_null or node.boolean is not None or stands_in(value.key, text):
        return
    found = plainly(f"the key {value.key!r:.80} says that this is a credential, and", text, node.span)
    if found is not None:
        flow.secrets.append(text)
        yield found


def _given(flow: Flow, known: dict[SourceFile, Stretches]) -> Iterator[Diagnostic]:
    """Report credentials that are given to commands, in any text or list of words of the spec."""
    sources = {given.node.source for given in flow.config.given} | {flow.spec.source}
    if not any(may_name(source.text) for source in sources):
        return
    stack: list[Node] = [flow.spec.top, *(given.node for given in flow.config.given)]
    seen: set[int] = set()
    while stack:
        top = stack.pop()
        if isinstance(top, Scalar):
            if len(top.value) >= _SHORTEST and not top.aliased and may_give(top.value):
                from npac.rules.secrets.commands import in_text

                yield from _plain(flow, ((top, given) for given in in_text(top.value)), known)
        elif isinstance(top, Seq):
            if id(top.items) not in seen:
                seen.add(id(top.items))
                words = [item for item in top.items if isinstance(item, Scalar)]
                stack.extend(item for item in reversed(top.items) if not isinstance(item, Scalar))
                if not may_give(" ".join([word.value for word in words])):
                    continue
                from npac.rules.secrets.commands import in_words

                found = in_words([word.value for word in words])
                yield from _plain(flow, ((words[at], given) for at, given in found), known)
        elif id(top.entries) not in seen:
            seen.add(id(top.entries))
            stack.extend(value for _, value in reversed(top.entries.values()))


def _plain(
    flow: Flow, found: Iterable[tuple[Scalar, Given]], known: dict[SourceFile, Stretches]
) -> Iterator[Diagnostic]:
    for scalar, given in found:
        if scalar.aliased or any(credentials(given.value)):
            continue  # it is reported where it stands, or by its form
        span = scalar.inner(given.start, given.end)
        item = plainly(given.said, given.value, span) if not _reported(known, span) else None
        if item is not None:
            flow.secrets.append(given.value)
            yield item


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
