"""Applying the fixes of a checked spec."""

from __future__ import annotations

from typing import NamedTuple

from npac.api.checking import DEFAULTS, Options, check
from npac.api.writing import write_file
from npac.checking import Checked
from npac.diagnostics.diagnostic import Diagnostic
from npac.diagnostics.fixes import encode, fix_all
from npac.text.source import SourceFile


class Mended(NamedTuple):
    """A spec after its fixes.

    ``before`` is as it was checked; ``after`` are the findings that are left.  ``source`` and ``data``
    are the mended text, ``applied`` the findings that were mended: where they are empty, the text is
    the old one.
    """

    before: Checked
    after: Checked
    source: SourceFile
    data: bytes
    applied: tuple[Diagnostic, ...] = ()


def mend(
    checked: Checked, options: Options = DEFAULTS, *, write: bool = False, unsafe: bool = False
) -> Mended:
    """Apply the safe fixes of one checked spec, and check it again; with ``unsafe`` the other fixes too.

    ``options`` are those of the check.  With ``write`` the file that the spec was read from is replaced,
    whole or not at all.  A text that could not be decoded without loss is left as it is.  Raises
    :class:`NpacError` when the file cannot be written.
    """
    if any(item.code.name == "unreadable-file" for item in checked.findings):
        return Mended(checked, checked, checked.source, checked.data)
    latest = checked

    def again(source: SourceFile) -> list[Diagnostic]:
        nonlocal latest
        latest = checked if source is checked.source else check(source.path, options, data=encode(source))
        return list(latest.findings)

    fixed, _ = fix_all(checked.source, again, unsafe=unsafe)
    if not fixed.applied:
        return Mended(checked, checked, checked.source, checked.data)
    if write:
        write_file(checked.source.path, fixed.data)
    return Mended(checked, latest, fixed.source, fixed.data, fixed.applied)
