"""Findings gathered in one pass, ordered, and judged by what the user selected."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from npac.diagnostics.diagnostic import Code, Diagnostic, Fix, Related, Severity
from npac.text.source import MAX_ALIKE, Span

_MORE = " more of this kind begin here, which are not listed"
_LONG = 200
"""Characters of a word that no message shows as a whole; of such a word it shows the two ends."""
_HEAD, _TAIL = 100, 20
_LONGEST = 4000
"""Characters of a message or a help."""

_NOTHING: Mapping[str, Severity] = MappingProxyType({})


def ordered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sort findings by path, then position, then code, then message."""
    return sorted(diagnostics, key=lambda found: (*found.sort_key(), found.message))


def counts(diagnostics: Iterable[Diagnostic]) -> dict[Severity, int]:
    """Count findings by severity, the worst first; every severity is present."""
    result = {Severity.ERROR: 0, Severity.WARNING: 0, Severity.NOTE: 0}
    for found in diagnostics:
        result[found.severity] += 1
    return result


def fails(diagnostics: Iterable[Diagnostic], *, strict: bool = False) -> bool:
    """Say whether the findings stop the work: an error does, and with ``strict`` a warning too."""
    limit = Severity.WARNING if strict else Severity.ERROR
    return any(found.severity >= limit for found in diagnostics)


def limited(
    diagnostics: Iterable[Diagnostic], *, most: int = MAX_ALIKE, but: Collection[str] = ()
) -> Iterator[Diagnostic]:
    """Give at most ``most`` findings of each code, and then one that counts those that were left out.

    All findings of the codes whose names are in ``but`` are given.  What already counts findings that
    were left out adds to the count.
    """
    alike: dict[tuple[Code, Severity], int] = {}
    beyond: dict[tuple[Code, Severity], tuple[int, Span]] = {}
    for found in diagnostics:
        kind = (found.code, found.severity)
        more = 1
        if found.message.endswith(_MORE):
            more = int(found.message.removesuffix(_MORE).replace(",", ""))
        else:
            count = alike[kind] = alike.get(kind, 0) + 1
            if count <= most or found.code.name in but:
                yield found
                continue
        before, span = beyond.get(kind, (0, found.span))
        beyond[kind] = before + more, span
    for (code, severity), (number, span) in beyond.items():
        message = f"{number:,}{_MORE}"
        yield Diagnostic(code, message, span, help="mend the others first", severity_override=severity)


def shortened(found: Diagnostic) -> Diagnostic:
    """Give a finding with very long names, keys and values in its words cut in their middle."""
    message, help_text = _shorter(found.message), _shorter(found.help)
    if message is not found.message or help_text is not found.help:
        found = found._replace(message=message, help=help_text)
    if any(len(other.message) > _LONG for other in found.related):
        found = found._replace(
            related=tuple(other._replace(message=_shorter(other.message)) for other in found.related)
        )
    if found.fix is not None and len(found.fix.message) > _LONG:
        found = found._replace(fix=found.fix._replace(message=_shorter(found.fix.message)))
    return found


def _shorter(text: str) -> str:
    if len(text) <= _LONG:
        return text
    import re

    text = re.sub(rf"\S{{{_LONG},}}", lambda word: f"{word[0][:_HEAD]}…{word[0][-_TAIL:]}", text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


class Collector:
    """Takes findings from every stage; one that was already given at the same place is dropped."""

    __slots__ = ("_items", "_seen")

    def __init__(self, diagnostics: Iterable[Diagnostic] = ()) -> None:
        self._items: list[Diagnostic] = []
        self._seen: set[tuple[str, str, int, int, str]] = set()
        self.extend(diagnostics)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, diagnostic: Diagnostic) -> None:
        """Take one finding."""
        span = diagnostic.span
        key = (diagnostic.code.id, span.source.path, span.start, span.end, diagnostic.message)
        if key not in self._seen:
            self._seen.add(key)
            self._items.append(diagnostic)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Take several findings."""
        for diagnostic in diagnostics:
            self.add(diagnostic)

    def report(
        self,
        code: Code,
        message: str,
        span: Span,
        *,
        related: tuple[Related, ...] = (),
        help: str = "",
        fix: Fix | None = None,
        severity: Severity | None = None,
    ) -> None:
        """Make a finding and take it."""
        self.add(Diagnostic(code, message, span, related, help, fix, severity))

    @property
    def has_errors(self) -> bool:
        """Say whether anything so far is an error."""
        return fails(self._items)

    def ordered(self) -> list[Diagnostic]:
        """Give what was taken, by path, position and code."""
        return ordered(self._items)


class Policy(NamedTuple):
    """Which findings are shown, and how severe they are.

    Entries of ``select`` and ``ignore`` and keys of ``severity`` are codes or beginnings of codes
    (``NPA302``, ``NPA3``).  Of those that fit a code the longest decides; at equal length
    ``ignore`` wins over ``select``.  An empty ``select`` selects everything.  Codes in ``always``
    are shown whatever is ignored, with at least their own severity: without them a spec that
    cannot be used would look fine.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = _NOTHING
    always: Collection[str] = ()

    def shows(self, code: str) -> bool:
        """Say whether findings with ``code`` are shown."""
        if code in self.always:
            return True
        selected = _longest(code, self.select) if self.select else 0
        return selected > _longest(code, self.ignore)

    def apply(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Drop what is not shown and set severities; the order stays."""
        kept = [found for found in diagnostics if self.shows(found.code.id)]
        return [self._judged(found) for found in kept] if self.severity else kept

    def _judged(self, found: Diagnostic) -> Diagnostic:
        code = found.code.id
        keys = [key for key in self.severity if code.startswith(key)]
        if not keys:
            return found
        level = self.severity[max(keys, key=len)]
        if code in self.always:
            level = max(level, found.severity)
        return found._replace(severity_override=level)


def _longest(code: str, beginnings: Iterable[str]) -> int:
    """Give the length of the longest of ``beginnings`` that fits ``code``, -1 when none does."""
    return max((len(text) for text in beginnings if code.startswith(text)), default=-1)
