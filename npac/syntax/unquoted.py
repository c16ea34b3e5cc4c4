"""Tokens without quotes around them, which YAML reads as a mapping in a mapping.

``{{config.n}}`` that begins a value is a flow mapping whose key is a flow mapping.  No spec means that,
so it is reported as what it is meant to be, once, and read as if it were quoted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npac.diagnostics.codes import finding
from npac.diagnostics.collector import limited
from npac.diagnostics.diagnostic import Diagnostic, Edit, Fix
from npac.syntax.templates import parse_template
from npac.text.source import Span
from npac.text.yaml_nodes import Map, Node, Scalar, Seq, YamlProblem

_LONGEST = 1000
"""Characters of double braces that are taken for a token."""
_SHOWN = 80


def unquoted(
    node: Node | None, problems: Sequence[YamlProblem]
) -> tuple[list[YamlProblem], list[Diagnostic]]:
    """Read tokens without quotes in a tree as text, in place.

    Gives the problems that say nothing of them, and a finding for each.  Without a tree, which is so
    where text follows such a token, the findings are made from the problems.
    """
    keys = [each.span for each in problems if each.kind == "complex-key"]
    wholes = [whole for span in keys if (whole := _around(span)) is not None]
    inner = {(whole.start + 1, whole.end - 1) for whole in wholes}
    ends = {whole.end: whole for whole in wholes} if node is None else {}
    rest = []
    followed = set()
    for each in problems:
        span = each.span
        if each.kind == "complex-key" and (span.start, span.end) in inner:
            continue
        before = span.source.text[max(span.start - _SHOWN, 0) : span.start].rstrip(" \t")
        end = span.start - (min(span.start, _SHOWN) - len(before))
        if each.kind == "yaml-syntax" and end in ends:
            followed.add(end)  # what follows the token cannot follow a mapping
            continue
        rest.append(each)
    if node is None:
        return rest, [_found(whole, whole.end in followed) for whole in wholes]
    return rest, list(limited(_found(scalar.span, False) for scalar in _read_as_text(node)))


def _around(key: Span) -> Span | None:
    """Give the double braces around a mapping that stands as a key, where nothing else is in them."""
    text, start, end = key.source.text, key.start - 1, key.end + 1
    if start < 0 or end - start > _LONGEST or not text.startswith("{{", start):
        return None
    return Span(key.source, start, end) if text.startswith("}}", end - 2) else None


def _read_as_text(top: Node) -> Iterator[Scalar]:
    """Put text in the place of each token of a tree, and give it."""
    stack, seen = [top], set()
    while stack:
        node = stack.pop()
        if isinstance(node, Seq) and id(node.items) not in seen:
            seen.add(id(node.items))
            for at, item in enumerate(node.items):
                scalar = _as_text(item)
                if scalar is None:
                    stack.append(item)
                else:
                    node.items[at] = scalar
                    yield scalar
        elif isinstance(node, Map) and id(node.entries) not in seen:
            seen.add(id(node.entries))
            for name, (key, value) in node.entries.items():
                scalar = _as_text(value)
                if scalar is None:
                    stack.append(value)
                else:
                    node.entries[name] = (key, scalar)
                    yield scalar


def _as_text(node: Node) -> Scalar | None:
    if not isinstance(node, Map) or len(node.entries) != 1:
        return None
    name, (key, value) = next(iter(node.entries.items()))
    if not name.startswith("\0") or not isinstance(value, Scalar) or not value.is_null:
        return None
    whole = _around(key.span)
    if whole is None or (whole.start, whole.end) != (node.start, node.end):
        return None
    scalar = Scalar(node.source, node.start, node.end, whole.text, '"')
    scalar._offsets = node.start  # its characters are those of the file, though no quotes are around them
    return scalar


def _found(whole: Span, followed: bool) -> Diagnostic:
    text = whole.text
    template = parse_template(text)
    token = bool(template.tokens) and not template.problems and len(template.parts) == 1
    what = "a token" if token else "text with double braces"
    message = f"{what} must be quoted: YAML reads the braces as a mapping"
    if followed:
        return finding(
            "bad-token", message, whole, "put quotes around the whole value, this and what follows"
        )
    mark = '"' if '"' not in text and "\\" not in text else "'"
    if mark in text:
        return finding("bad-token", message, whole, "put quotes around it")
    written = f"{mark}{text}{mark}"
    shown = written if len(written) <= _SHOWN else "it in quotes"
    fix = Fix(f"write {shown}", (Edit(whole, written),)) if token else None
    return finding("bad-token", message, whole, f"write {shown}", fix=fix)
