"""Findings for people: the source lines, marks under the characters, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npac.diagnostics.collector import counts
from npac.diagnostics.color import paint
from npac.diagnostics.diagnostic import Diagnostic
from npac.diagnostics.render.excerpt import Label, Row, excerpt
from npac.diagnostics.render.options import MANY, Options, rule_command
from npac.diagnostics.render.visible import visible
from npac.text.source import SourceFile
from npac.text.stretches import Stretches

_NONE = Stretches()
_OVERRIDES = frozenset(("--var", "--set"))
"""What stands for a file where an option is at fault."""


def render(diagnostics: Sequence[Diagnostic], options: Options) -> str:
    """Give each finding with its lines, an empty line after each, and the summary.

    Beyond the first thousand, which nobody reads to their end, a finding is one line.
    """
    masks = _masks(options)
    parts = [_finding(found, options, masks) + "\n" for found in diagnostics[:MANY]]
    if len(diagnostics) > MANY:
        parts.append(_short(diagnostics[MANY:], options))
    if options.quiet:
        return "\n".join(parts)
    parts.append(summary(diagnostics, options))
    return "\n".join(parts) + "\n"


def summary(diagnostics: Sequence[Diagnostic], options: Options) -> str:
    """Give one line: ``3 errors, 1 warning in 2 files``, or that all specs that were checked are fine.

    It is never said that all is fine where an error was silenced, or where something is not shown.
    """
    aside = []
    if options.silenced:
        keep = "keeps" if options.silenced == 1 else "keep"
        told = f"{_several(options.silenced, 'error')} silenced"
        aside.append(f"{told}, which {keep} the spec from compiling")
    if options.lesser:
        aside.append(f"{_several(options.lesser, 'lesser finding')} not shown")
    if diagnostics:
        paths = {found.span.source.path for found in diagnostics}
        files = paths - _OVERRIDES
        where = [_several(len(files), "file")] if files else []
        where += ["the options"] if paths & _OVERRIDES else []
        kinds = [_several(number, kind.word) for kind, number in counts(diagnostics).items() if number]
        told = f"{', '.join(kinds)} in {' and '.join(where)}"
        return "; ".join((told, *aside))
    if aside:
        return "; ".join(("nothing to show" if options.lesser else "nothing else was found", *aside))
    checked, raw = options.checked, options.raw
    if checked is None:
        return "nothing was found"
    if checked == 0:
        return "no spec was checked"
    if not raw:
        return "the spec is fine" if checked == 1 else f"all {checked} specs are fine"
    if raw == checked:
        each = "" if raw == 1 else "each "
        return f"raw SkyPilot YAML; {each}read as one chain of tasks"
    fine = checked - raw
    specs = "the spec is fine" if fine == 1 else f"all {fine} specs are fine"
    return f"{specs}; {_several(raw, 'file')} of raw SkyPilot YAML, read as a chain of tasks"


def _several(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _short(diagnostics: Sequence[Diagnostic], options: Options) -> str:
    from npac.diagnostics.render import concise

    number = paint(f"{len(diagnostics):,} more, one on each line:", "strong", options.color)
    return f"{number}\n{concise.render(diagnostics, options)}"


def _masks(options: Options) -> dict[str, Stretches]:
    """Give what is hidden of each file, by its path."""
    hidden: dict[str, list[tuple[int, int]]] = {}
    for at in options.hidden:
        hidden.setdefault(at.source.path, []).append((at.start, at.end))
    return {path: Stretches(places) for path, places in hidden.items()}


def _finding(found: Diagnostic, options: Options, masks: Mapping[str, Stretches]) -> str:
    blocks = _blocks(found, options, masks)
    numbers = [row.number for _, rows in blocks for row in rows if row.number is not None]
    edge = len(str(max(numbers, default=1)))
    word, on = found.severity.word, options.color
    title = paint(f"{word}[{found.code.id}]", word, on)
    lines = [f"{title} {paint(f'{found.code.name}: {visible(found.message)}', 'strong', on)}"]
    bar = paint(" " * edge + " |", "gutter", on)
    for index, (place, rows) in enumerate(blocks):
        arrow = "-->" if index == 0 else ":::"
        lines.append(f"{paint(' ' * edge + arrow, 'gutter', on)} {place}")
        if rows:
            lines.append(bar)
            lines.extend(_row(row, edge, word, on) for row in rows)
            lines.append(bar)
    for name, text in _remarks(found):
        first, *rest = text.split("\n")
        equals = paint(" " * edge + " =", "gutter", on)
        lines.append(f"{equals} {paint(name + ':', 'help', on)} {visible(first)}")
        lines.extend(" " * (edge + len(name) + 5) + visible(line) for line in rest)
    return "\n".join(line.rstrip() for line in lines)


def _remarks(found: Diagnostic) -> list[tuple[str, str]]:
    remarks = [("help", found.help)] if found.help else []
    if found.fix is not None:
        remarks.append(("fix" if found.fix.safe else "unsafe fix", found.fix.message))
    return [*remarks, ("more", rule_command(found.code.id))]


def _blocks(
    found: Diagnostic, options: Options, masks: Mapping[str, Stretches]
) -> list[tuple[str, list[Row]]]:
    """Give a place and its rows for each file that the finding touches, its own file first."""
    span = found.span
    grouped: dict[str, tuple[SourceFile, list[Label]]] = {
        span.source.path: (span.source, [Label(span.start, span.end, "", True)])
    }
    for related in found.related:
        other = related.span
        _, labels = grouped.setdefault(other.source.path, (other.source, []))
        labels.append(Label(other.start, other.end, related.message, False))
    blocks = []
    for path, (source, labels) in grouped.items():
        line, column = source.position(min(labels[0].start, len(source.text)))
        hidden = masks.get(path, _NONE)
        rows = excerpt(source, labels, width=options.width, hidden=hidden) if source.text else []
        blocks.append((f"{visible(path)}:{line}:{column}", rows))
    return blocks


def _row(row: Row, edge: int, word: str, on: bool) -> str:
    if row.kind == "gap":
        return paint(row.text, "gutter", on)
    number = "" if row.number is None else str(row.number)
    gutter = paint(f"{number:>{edge}} |", "gutter", on)
    styles = {"primary": word, "secondary": "secondary"}
    return f"{gutter} {paint(row.text, styles[row.kind], on) if row.kind in styles else row.text}"
