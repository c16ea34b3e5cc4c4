"""Where values of secrets may stand in a text that could not be read, and what they read as."""

import re
from collections.abc import Callable, Iterator

from npac.text.source import SourceFile, Span

_KEY = (
    r"""(?P<quote>["']?)(?<![A-Za-z0-9_.-])(?P<key>[A-Za-z_][A-Za-z0-9_.-]*)(?P=quote)"""
    r"""[ \t]*:(?=\s|\Z)[ \t]*"""
)
_HARMLESS = r"""["']?\{\{|["']?\$|\*[A-Za-z0-9]|(?:true|false|null|~)[ \t]*(?:#|\Z)|#|\Z"""
"""What is certainly no value: a token, a variable, an alias, a word of YAML, nothing."""
_BLOCK = r"[|>][-+0-9]*[ \t]*(?:#|\Z)"
_LINE = re.compile(r"[^\r\n]*")


def named_values(source: SourceFile, telling: Callable[[str], bool]) -> Iterator[Span]:
    """Give the places of all that stands behind keys whose names ``telling`` takes for those of secrets.

    It goes by lines and knows no YAML, so that it also works where YAML cannot be read: from the colon
    to the end of the line, and all lines below that stand further in.
    """
    text, done = source.text, 0
    for match in re.compile(_KEY).finditer(text):
        if match.start() < done or not telling(match["key"]):
            continue
        start = match.end()
        stop = _LINE.match(text, start).end()  # type: ignore[union-attr]  # matches anything
        inner = _end_of_deeper(text, match.start(), stop)
        first = text[start:stop]
        if re.match(_BLOCK, first) or re.match(_HARMLESS, first):
            # what follows further in is the value, or the members of one
            start = stop
        if text[start:inner].strip():
            done = inner
            yield source.span(start, inner)


def _end_of_deeper(text: str, key: int, stop: int) -> int:
    """Give the end of the lines below ``stop`` that stand further in than the line of ``key``."""
    line = max(text.rfind("\n", 0, key), text.rfind("\r", 0, key)) + 1
    depth = key - line
    at = stop
    while at < len(text):
        begin = at + (2 if text.startswith("\r\n", at) else 1)
        end = _LINE.match(text, begin).end()  # type: ignore[union-attr]
        row = text[begin:end]
        indent = len(row) - len(row.lstrip(" \t"))
        if row.strip() and indent <= depth:
            break
        if row.strip():
            stop = end
        at = max(end, begin)
        if begin >= len(text):
            break
    return stop


def readings(text: str) -> Iterator[str]:
    """Give the forms in which the written form of a scalar can come up again: its value, and its lines."""
    plain = text.strip().strip("'\"")
    yield plain
    if "\n" not in text and "\r" not in text and "\\" not in text and "''" not in text:
        return
    for line in plain.splitlines():
        yield line.strip().rstrip("\\")
    import yaml

    try:
        value = yaml.load(text, Loader=yaml.CBaseLoader)  # builds text and nothing else
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            yield top.strip()
            yield from (line.strip() for line in top.splitlines())
        elif isinstance(top, list):
            stack.extend(top)
        elif isinstance(top, dict):
            stack.extend(top.values())
