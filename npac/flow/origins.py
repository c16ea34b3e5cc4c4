"""Where a value that a token brings in was given: in the spec's config, in params, or by an override."""

from collections.abc import Mapping

from npac.diagnostics.diagnostic import Diagnostic, Related
from npac.flow.config import Config
from npac.syntax.ast import Count, Param
from npac.syntax.templates import Token, parse_template
from npac.text.yaml_nodes import Scalar

GIVEN = "its value is given here"
"""What is said of the place; findings that share one are about one value."""
_DEEPEST = 64
"""How far a value is followed from config key to config key."""


def given(config: Config, key: str, params: Mapping[str, Param] | None = None) -> tuple[Related, ...]:
    """Give the place of a config key's value, followed through keys that only name another one.

    Nothing for a tool's default and for what an alias brings in, which stand nowhere in the spec.
    """
    place: Scalar | None = None
    for _ in range(_DEEPEST):
        param = (params or {}).get(key)
        entry = config.entries.get(key)
        node = param.text.node if param is not None else entry.node if entry is not None else None
        if not isinstance(node, Scalar) or node.aliased:
            break
        place = node
        following = None
        if param is not None or (entry is not None and entry.origin != "var"):
            following = whole_key(node)
        if following is None:
            break
        key, params = following, None  # params see the base config, not each other
    return (Related(GIVEN, place.span),) if place is not None else ()


def count_origin(
    config: Config, count: Count, params: Mapping[str, Param] | None = None
) -> tuple[Related, ...]:
    """Give the place of a count's value, when it stands in config."""
    return given(config, count.key, params) if count.key is not None else ()


def whole_key(node: Scalar) -> str | None:
    """Give the config key that a text names when it is one token of ``config`` and nothing else."""
    parts = parse_template(node.value).parts if "{{" in node.value else ()
    if len(parts) != 1 or not isinstance(parts[0], Token):
        return None
    return parts[0].path if parts[0].scope == "config" and parts[0].transform is None else None


def with_origin(
    item: Diagnostic, node: Scalar, config: Config, params: Mapping[str, Param] | None = None
) -> Diagnostic:
    """Give a finding about a text with its value's place beside it, where one key brings in all of it."""
    key = whole_key(node)
    if key is None or item.span != node.span:
        return item
    return item._replace(related=(*item.related, *given(config, key, params)))
