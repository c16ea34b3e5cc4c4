"""Mending a checked file, or showing what that would change."""

from __future__ import annotations

import os
import sys

from npac.api import Checked, Mended, Options, mend
from npac.cli.streams import tell
from npac.diagnostics.color import wants_color
from npac.diagnostics.fixes import unified_diff
from npac.diagnostics.render import emit


def show_mended(
    checked: Checked,
    options: Options,
    *,
    write: bool,
    color: bool | None,
    piped: bool = False,
    unsafe: bool = False,
) -> tuple[Checked, bool]:
    """Apply the fixes of one file and give what is left; without ``write``, show the change only.

    What is given besides is whether there was a change.  Fixes are the safe ones, unless ``unsafe``.

    Of what was ``piped`` in, the mended text goes to standard output, whatever file it was said to be.
    Raises :class:`NpacError` when the file cannot be written; it is replaced whole or not at all.
    """
    mended = mend(checked, options, write=write and not piped, unsafe=unsafe)
    if not write:
        if mended.applied:
            _show(mended, color)
        return checked, bool(mended.applied)
    if piped:
        sys.stdout.buffer.write(mended.data)
    elif mended.applied:
        tell(f"{checked.source.path}: {len(mended.applied)} mended")
    return mended.after, bool(mended.applied)


def _show(mended: Mended, color: bool | None) -> None:
    change = unified_diff(
        mended.before.source,
        mended.source,
        color=wants_color(color, os.environ, sys.stdout),
        terminal=sys.stdout.isatty(),
        secrets=[span.text for span in mended.before.hidden],
    )
    emit(change, sys.stdout)
