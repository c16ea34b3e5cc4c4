"""Fixes put into the text: by span, keeping every other byte."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from npac.diagnostics.collector import ordered
from npac.diagnostics.color import paint
from npac.diagnostics.diagnostic import Diagnostic, Edit
from npac.diagnostics.render.visible import visible
from npac.text.source import SourceFile

_BOM = b"\xef\xbb\xbf"
_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Fixed:
    """A source after fixes: its text, whose findings were mended, and whose fix had to wait.

    A fix waits when it overlaps one that was applied or touches another file; checking the new
    text again and fixing again settles it.
    """

    source: SourceFile
    applied: tuple[Diagnostic, ...]
    waiting: tuple[Diagnostic, ...]

    @property
    def data(self) -> bytes:
        """The bytes to write, with the byte order mark if there was one."""
        return encode(self.source)


def encode(source: SourceFile) -> bytes:
    """Give the bytes of a source.  For a text that was decoded without loss they are the file's own."""
    return (_BOM if source.bom else b"") + source.text.encode("utf-8")


def apply_edits(source: SourceFile, edits: Iterable[Edit]) -> str:
    """Give the text with ``edits`` applied.

    Line ends in inserted text become the file's own.  Raises ``ValueError`` when an edit belongs to
    another file, lies outside the text, or overlaps another one.
    """
    taken = _Taken()
    for edit in edits:
        if not _fits(source, edit):
            raise ValueError(f"an edit at {edit.span.start}-{edit.span.end} does not lie in {source.path}")
        if not taken.take((edit,)):
            raise ValueError(f"two edits of {source.path} overlap at {edit.span.start}-{edit.span.end}")
    return _splice(source, taken.edits)


def apply_fixes(source: SourceFile, diagnostics: Iterable[Diagnostic], *, unsafe: bool = False) -> Fixed:
    """Apply the fixes of ``diagnostics`` to ``source``; each wholly or not at all.

    Fixes are taken in the order of their findings' places; one that clashes with a taken one
    waits.  Fixes that are not safe are left out unless ``unsafe``.
    """
    taken = _Taken()
    applied: list[Diagnostic] = []
    waiting: list[Diagnostic] = []
    for found in ordered(diagnostics):
        fix = found.fix
        if fix is None or not fix.edits or not (fix.safe or unsafe):
            continue
        if not any(edit.span.source.path == source.path for edit in fix.edits):
            continue
        if all(_fits(source, edit) for edit in fix.edits) and taken.take(fix.edits):
            applied.append(found)
        else:
            waiting.append(found)
    text = _splice(source, taken.edits)
    return Fixed(SourceFile(source.path, text, bom=source.bom), tuple(applied), tuple(waiting))


def fix_all(
    source: SourceFile,
    check: Callable[[SourceFile], Sequence[Diagnostic]],
    *,
    unsafe: bool = False,
) -> tuple[Fixed, list[Diagnostic]]:
    """Check and fix until nothing changes, and give the result and the findings that are left.

    ``Fixed.applied`` holds all rounds' findings.  Two fixes that undo each other end after ten rounds.
    """
    applied: list[Diagnostic] = []
    found = list(check(source))
    waiting: tuple[Diagnostic, ...] = ()
    for _ in range(_ROUNDS):
        once = apply_fixes(source, found, unsafe=unsafe)
        waiting = once.waiting
        if once.source.text == source.text:
            break
        applied.extend(once.applied)
        source = once.source
        found = list(check(source))
    return Fixed(source, tuple(applied), waiting), found


def unified_diff(
    before: SourceFile,
    after: SourceFile,
    *,
    color: bool = False,
    terminal: bool = False,
    secrets: Iterable[str] = (),
) -> str:
    """Give the change as a unified diff; empty when there is none.

    The diff is exact, so that ``patch -p0`` takes it, unless ``terminal`` asks for control
    characters to be made visible, or ``secrets`` (texts that must not be shown) stand in it.
    """
    if before.text == after.text and before.bom == after.bom:
        return ""
    from difflib import unified_diff as lines_of

    hidden = [part for secret in secrets for part in secret.splitlines() if len(part.strip()) > 3]
    old, new = _lines(before), _lines(after)
    styles = {"-": "removed", "+": "added", "@": "hunk"}
    shown: list[str] = []
    for index, line in enumerate(lines_of(old, new, visible(before.path), visible(after.path))):
        body = line.removesuffix("\n")
        for secret in hidden:
            body = body.replace(secret, "[hidden]")
        if terminal:
            body = "".join(char if char == "\t" else visible(char) for char in body.removesuffix("\r"))
        style = "strong" if index < 2 else styles.get(line[0])  # the file's two names come first
        shown.append((paint(body, style, color) if style else body) + "\n")
        if not line.endswith("\n"):
            shown.append("\\ No newline at end of file\n")
    return "".join(shown)


class _Taken:
    """Edits that were accepted, kept apart by position so that a clash is found without a full search."""

    def __init__(self) -> None:
        self.edits: list[Edit] = []
        self._starts: list[tuple[int, int]] = []

    def take(self, edits: Sequence[Edit]) -> bool:
        """Accept ``edits`` together, or none of them; an edit that was accepted before may come again."""
        fresh: list[Edit] = []
        for edit in edits:
            if edit in fresh or self._has(edit):
                continue
            if self._clashes(edit) or any(_clash(edit, other) for other in fresh):
                return False
            fresh.append(edit)
        for edit in fresh:
            insort(self.edits, edit, key=_place)
            insort(self._starts, _place(edit))
        return True

    def _near(self, edit: Edit) -> list[Edit]:
        at = bisect_left(self._starts, _place(edit))
        return self.edits[max(at - 1, 0) : at + 2]

    def _has(self, edit: Edit) -> bool:
        return edit in self._near(edit)

    def _clashes(self, edit: Edit) -> bool:
        return any(_clash(edit, other) for other in self._near(edit))


def _place(edit: Edit) -> tuple[int, int]:
    return edit.span.start, edit.span.end


def _fits(source: SourceFile, edit: Edit) -> bool:
    span = edit.span
    return span.source.path == source.path and 0 <= span.start <= span.end <= len(source.text)


def _clash(one: Edit, other: Edit) -> bool:
    """Say whether the order of two edits would matter."""
    a, b = sorted((one.span, other.span), key=lambda span: (span.start, span.end))
    # An insertion at the point where a replacement begins could mean before it or instead of it.
    return b.start < a.end or a.start == b.start


def _splice(source: SourceFile, edits: Iterable[Edit]) -> str:
    text = source.text
    newline = _newline(text)
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=_place):
        parts.append(text[at : edit.span.start])
        inserted = edit.text.replace("\r\n", "\n")
        parts.append(inserted if newline == "\n" else inserted.replace("\n", newline))
        at = edit.span.end
    parts.append(text[at:])
    return "".join(parts)


def _newline(text: str) -> str:
    """Give the line end that the text uses first; LF when it has none."""
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _lines(source: SourceFile) -> list[str]:
    text = ("\ufeff" if source.bom else "") + source.text
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines
