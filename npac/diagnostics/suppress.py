"""Comments that silence findings: ``# npac: ignore[NPA302,NPA105] why``, ``# npac: ignore-file[NPA215] why``.

A comment at the end of a line acts on findings that begin on this line; one that has its line to
itself acts on the next line that is no comment.  A finding inside a text over several lines (a
block scalar) is also reached from the line where that text begins.  In the script of ``shell: |`` a
comment of the script acts in the same way on the script's own lines; in any other text ``#`` is
text.  ``ignore-file`` acts on the whole file.  A code may be given by its name.  Codes are required:
nothing silences everything.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from npac.diagnostics.diagnostic import Code, Diagnostic, Edit, Fix
from npac.text.source import SourceFile, Span

_WORD = re.compile(r"[ \t]*([A-Za-z][A-Za-z_-]*)")
_CODE = re.compile(r"NPA[0-9]{3}\Z")
_MOST_ASKED = 64
"""Codes that do not exist and for which the one that was meant is looked for."""
_LOOKED_BACK = 400
_PROPERTIES = re.compile(r"(?:[&!][^\s]*\s+)*")
_MENTION = re.compile(r"(?i)npac(?::|[ \t]*[:=]?[ \t]*ignore(?:[-_ ]?file)?[ \t]*\[)")
_ORDER = re.compile(r"(?i)npac[ \t]*[:=]?[ \t]*ignore(?:[-_ ]?file)?[ \t]*\[")
_SCRIPT = r"(?:^|[\s{,\"'-])shell[\"']?[ \t]*:[ \t]*\Z"
_SHAPE = "write `# npac: ignore[NPA302] why`, or `# npac: ignore-file[NPA302] why` for the whole file"


class Malformed(NamedTuple):
    """A comment that was meant to silence something but cannot be read."""

    span: Span
    message: str
    help: str


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment: the places of its codes, and the lines on which it acts (None: every line)."""

    comment: Span
    codes: tuple[Span, ...]
    lines: tuple[int, ...] | None
    reason: str
    in_script: bool = False
    """It is a part of a command, and removing it changes that command."""


class Unused(NamedTuple):
    """Codes of a comment that silenced nothing."""

    suppression: Suppression
    codes: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Suppressions:
    """All such comments of one source, in their order."""

    source: SourceFile
    items: tuple[Suppression, ...] = ()
    malformed: tuple[Malformed, ...] = ()
    scalar_spans: tuple[tuple[int, int], ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def split(self, diagnostics: Iterable[Diagnostic]) -> tuple[list[Diagnostic], list[Unused]]:
        """Give the findings that stay, in their order, and the codes that silenced nothing.

        The finding's primary span decides.  A comment for a line goes before one for the file.
        """
        used: set[int] = set()
        kept = []
        for found, by in self._matched(diagnostics):
            if by is None:
                kept.append(found)
            else:
                used.add(by.start)
        unused = []
        for item in self.items:
            if idle := tuple(code for code in item.codes if code.start not in used):
                unused.append(Unused(item, idle))
        return kept, unused

    def code(self, written: Span) -> str:
        """Give the code that a comment means, which may write its name."""
        return self.names.get(written.text, written.text)

    def silenced(self, diagnostics: Iterable[Diagnostic]) -> list[tuple[Diagnostic, Span]]:
        """Give the findings that do not stay, each with the code in a comment that silences it."""
        return [(found, by) for found, by in self._matched(diagnostics) if by is not None]

    def _matched(self, diagnostics: Iterable[Diagnostic]) -> Iterator[tuple[Diagnostic, Span | None]]:
        table: dict[tuple[int | None, str], Span] = {}
        for item in self.items:
            for code in item.codes:
                for line in (None,) if item.lines is None else item.lines:
                    table.setdefault((line, self.code(code)), code)
        for found in diagnostics:
            by = None
            if table and found.span.source.path == self.source.path:
                places = (*self._lines(found.span.start), None)
                by = next((by for line in places if (by := table.get((line, found.code.id)))), None)
            yield found, by

    def _lines(self, offset: int) -> tuple[int, ...]:
        line = self.source.position(offset)[0]
        at = bisect_right(self.scalar_spans, (offset, len(self.source.text) + 1)) - 1
        if at >= 0 and self.scalar_spans[at][0] <= offset < self.scalar_spans[at][1]:
            return line, self.source.position(self.scalar_spans[at][0])[0]
        return (line,)


def find_suppressions(
    source: SourceFile,
    scalar_spans: Iterable[tuple[int, int]],
    *,
    known: Collection[str] = (),
    fixed: Collection[str] = (),
    end: int | None = None,
    names: Mapping[str, str] = MappingProxyType({}),
) -> Suppressions:
    """Find the comments of ``source`` that silence findings.

    ``scalar_spans`` are the offsets (from, up to) of every scalar of the YAML, keys and values: a
    ``#`` inside one is text.  ``known`` are the codes that exist (empty: not checked), ``fixed``
    those that cannot be silenced.  ``end`` is where reading stops, for a file that is valid YAML
    only up to there.  ``names`` are the names of codes, which may stand for them.
    """
    text = source.text
    stop = len(text) if end is None else end
    mentions = list(_comments(text, stop))
    if not mentions:
        return Suppressions(source)
    spans = tuple(sorted(set(scalar_spans)))
    bounds = {mark: _bound(text, mark, spans) for mark, _ in mentions}
    mentions = [each for each in mentions if bounds[each[0]]]
    starts = sorted({mark for mark, _ in mentions})
    items: list[Suppression] = []
    malformed: list[Malformed] = []
    targets: dict[int, int] = {}
    asked: dict[str, str] = {}
    alone: dict[int, bool] = {}  # lines with comments, and whether they hold nothing else
    for start, word_at in mentions:
        index = bisect_right(starts, start) - 1
        line = source.position(start)[0]
        line_start = source.line_starts[line - 1]
        stop_at = source.line_end(line)
        if index + 1 < len(starts):
            stop_at = min(stop_at, starts[index + 1])
        result = _read(source, start, word_at, stop_at, _Known(known, fixed, names, asked))
        if isinstance(result, Malformed):
            malformed.append(result)
        elif result is not None:
            word, codes, reason = result
            lines: tuple[int, ...] | None = None
            if word == "ignore":
                if line not in alone:
                    alone[line] = text[line_start : start + 1].lstrip()[0] == "#"
                lines = (line, _target(source, line, targets)) if alone[line] else (line,)
                # what stands in a script says nothing of the lines after the script
                lines = tuple(each for each in lines if each == line or _starts(source, each) < bounds[start])
            comment = source.span(start, start + len(text[start:stop_at].rstrip()))
            in_script = bounds[start] <= len(text)
            items.append(Suppression(comment, codes, lines, reason, in_script))
    return Suppressions(source, tuple(items), tuple(malformed), spans, names)


class _Known(NamedTuple):
    """What can be silenced: codes, those that cannot, names for codes, and what was asked about before."""

    codes: Collection[str]
    fixed: Collection[str]
    names: Mapping[str, str]
    asked: dict[str, str]


def _starts(source: SourceFile, line: int) -> int:
    return source.line_starts[line - 1] if line <= len(source.line_starts) else len(source.text)


def suppress(
    diagnostics: Sequence[Diagnostic],
    found: Suppressions,
    *,
    unused: Code,
    malformed: Code,
    active: Callable[[str], bool] = lambda code: True,
) -> list[Diagnostic]:
    """Give the findings that are not silenced, and new ones about the comments themselves.

    ``unused`` and ``malformed`` are the codes of those.  A comment for a code that ``active``
    denies (its rule was switched off) is not called unused.  Comments may silence ``unused`` and
    ``malformed`` too.
    """
    about = [Diagnostic(malformed, bad.message, bad.span, help=bad.help) for bad in found.malformed]
    own = (unused.id, malformed.id)
    _, idle = found.split(diagnostics)
    for suppression, codes in idle:
        if silent := tuple(
            code for code in codes if active(found.code(code)) and found.code(code) not in own
        ):
            about.append(unused_finding(unused, Unused(suppression, silent)))
    kept, idle = found.split([*diagnostics, *about])
    for suppression, codes in idle:
        if silent := tuple(code for code in codes if active(found.code(code)) and found.code(code) in own):
            kept.append(unused_finding(unused, Unused(suppression, silent)))
    return kept


def unused_finding(code: Code, unused: Unused) -> Diagnostic:
    """Make the finding about a comment that silences nothing, with the fix that removes it."""
    names = ", ".join(span.text for span in unused.codes)
    comment = unused.suppression.comment
    source = comment.source
    where = "in this file" if unused.suppression.lines is None else "on this line"
    message = f"nothing {where} is silenced by {names}"
    if len(unused.codes) < len(unused.suppression.codes):
        span = source.span(unused.codes[0].start, unused.codes[-1].end)
        idle = {each.start for each in unused.codes}
        rest = [each.text for each in unused.suppression.codes if each.start not in idle]
        first, last = unused.suppression.codes[0], unused.suppression.codes[-1]
        edit = Edit(source.span(first.start, last.end), ",".join(rest))
        fix = Fix(f"remove {names}", (edit,))
    else:
        span = comment
        fix = Fix("remove the comment", (Edit(_removal(comment), ""),))
    if unused.suppression.in_script:
        fix = fix._replace(safe=False)
    return Diagnostic(code, message, span, help=f"remove {names} from the comment", fix=fix)


def _comments(text: str, stop: int) -> Iterator[tuple[int, int]]:
    """Give each ``#`` of what is or may be meant as such a comment, with where its ``npac`` stands."""
    last = -1
    for match in _MENTION.finditer(text, 0, stop):
        at = match.start()
        mark = at - 1
        while mark >= 0 and text[mark] in " \t":
            mark -= 1
        while mark > 0 and text[mark] == "#" == text[mark - 1]:
            mark -= 1
        if mark < 0 or text[mark] != "#":
            # behind other words it silences nothing; who quotes it speaks of it
            mark = text.rfind("#", _line_start(text, at), at)
            if mark < 0 or text[at - 1] in "`'\"" or not _ORDER.match(text, at, stop):
                continue
        if mark != last and (mark == 0 or text[mark - 1] in " \t\r\n"):
            last = mark
            yield mark, at


def _line_start(text: str, at: int) -> int:
    """Give where the line of ``at`` begins, or a place a few hundred characters before ``at``."""
    low = max(at - _LOOKED_BACK, 0)
    return max(text.rfind("\n", low, at) + 1, text.rfind("\r", low, at) + 1, low)


def _bound(text: str, at: int, spans: Sequence[tuple[int, int]]) -> int:
    """Give up to where a comment at ``at`` reaches: to the end, or that of its script; 0 for mere text."""
    index = bisect_right(spans, (at, len(text) + 1)) - 1
    if index < 0 or at >= spans[index][1]:
        return len(text) + 1
    start, end = spans[index]
    properties = _PROPERTIES.match(text, start)
    head = start if properties is None else properties.end()
    mark = text[head : head + 1]
    if mark not in ("|", ">"):
        return 0
    if text.find("\n", head, at) < 0 and text.find("\r", head, at) < 0:
        return len(text) + 1  # a block scalar's first line may end in a comment
    key = text[_line_start(text, start) : start]
    return end if mark == "|" and re.search(_SCRIPT, key) else 0


def _read(
    source: SourceFile, start: int, at: int, stop: int, known: _Known
) -> Malformed | tuple[str, tuple[Span, ...], str] | None:
    """Read one comment: what it says, or what is wrong with it, or None when it is only prose."""
    text = source.text
    whole = source.span(start, start + len(text[start:stop].rstrip()))
    if text[start:at].strip("# \t"):
        message = "this silences nothing: `npac:` stands behind other words of the comment"
        return Malformed(whole, message, "begin the comment with it, and write the reason behind the codes")
    if not text.startswith("npac:", at):
        if not _ORDER.match(text, at, stop):
            return None
        return Malformed(whole, "this silences nothing: it does not begin with `# npac:`", _SHAPE)
    match = _WORD.match(text, at + len("npac:"), stop)
    if match is None:
        return None
    word = match.group(1)
    bracket = match.end()
    while bracket < stop and text[bracket] in " \t":
        bracket += 1
    opened = text[bracket : min(bracket + 1, stop)] == "["
    if word not in ("ignore", "ignore-file"):
        if not opened and not word.lower().startswith(("ignore", "ingore", "noqa", "disable")):
            return None
        return Malformed(whole, f"`{word:.40}` is not what a comment to npac can say", _SHAPE)
    if not opened:
        return Malformed(whole, f"`{word}` names no code, and nothing silences everything", _SHAPE)
    closed = text.find("]", bracket, stop)
    if closed < 0:
        return Malformed(source.span(bracket, whole.end), "the list of codes is not closed by `]`", _SHAPE)
    codes: list[Span] = []
    here = bracket + 1
    for part in text[here:closed].split(","):
        left = here + len(part) - len(part.lstrip())
        code = source.span(left, left + len(part.strip()))
        here += len(part) + 1
        if problem := _code_problem(code, known):
            if not code.text:
                code = source.span(bracket, closed + 1)
            return Malformed(code, *problem)
        codes.append(code)
    return word, tuple(codes), text[closed + 1 : stop].strip(" \t-:—–")


def _code_problem(written: Span, known: _Known) -> tuple[str, str] | None:
    text = written.text
    if not text:
        return "a code is missing in the list", _SHAPE
    code = known.names.get(text, text)
    if not _CODE.match(code):
        better = text.upper()
        if _CODE.match(better):
            return f"`{text}` is no code", f"write `{better}`"
        near = _near(text, (*known.codes, *known.names), known.asked)
        hint = f"did you mean {near}?" if near else "a code is `NPA` and three digits, or its name"
        return f"`{text:.80}` is no code", hint
    if code in known.fixed:
        return f"{text} cannot be silenced: a spec with it cannot be compiled", "mend the finding itself"
    if known.codes and code not in known.codes:
        near = _near(text, known.codes, known.asked)
        return f"there is no code {text}", f"did you mean {near}?" if near else "look the code up"
    return None


def _near(text: str, names: Collection[str], asked: dict[str, str]) -> str:
    """Give the name that was meant, for a few texts; many that mean nothing would take long."""
    if text not in asked and len(asked) < _MOST_ASKED:
        from difflib import get_close_matches

        asked[text] = next(iter(get_close_matches(text, sorted(names), 1)), "") if len(text) <= 80 else ""
    return asked.get(text, "")


def _target(source: SourceFile, line: int, targets: dict[int, int]) -> int:
    """Give the first line after ``line`` that is no comment; ``targets`` remembers earlier answers."""
    passed = []
    at = line
    while at not in targets:
        passed.append(at)
        if not source.line(at + 1).lstrip().startswith("#"):
            targets[at] = at + 1
            break
        at += 1
    answer = targets[at]
    for number in passed:
        targets[number] = answer
    return answer


def _removal(comment: Span) -> Span:
    """Give what goes when the comment goes: the blanks before it, or its whole line."""
    source = comment.source
    text = source.text
    line = source.position(comment.start)[0]
    line_start = source.line_starts[line - 1]
    line_end = source.line_end(line)
    begin = comment.start
    while begin > line_start and text[begin - 1].isspace():
        begin -= 1
    if begin == line_start and (comment.end == line_end or text[comment.end : line_end].isspace()):
        following = source.line_starts[line] if line < len(source.line_starts) else len(text)
        return source.span(line_start, following)
    return source.span(begin, comment.end)
