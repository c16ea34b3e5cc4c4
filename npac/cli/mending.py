"""Applying fixes to a checked file, or showing what they would change."""

from __future__ import annotations

import os
import sys
import tempfile

from npac.api import Checked, NpacError, Options, check
from npac.diagnostics.color import wants_color
from npac.diagnostics.fixes import encode, fix_all, unified_diff
from npac.diagnostics.render import emit
from npac.text.source import SourceFile


def mend(checked: Checked, options: Options, *, write: bool, color: bool | None) -> Checked:
    """Apply the safe fixes of one file and give what is left; without ``write``, show the change only.

    A file that could not be decoded without loss is left as it is.  Raises :class:`NpacError` when
    the file cannot be written; it is replaced whole or not at all.
    """
    if any(item.code.name == "unreadable-file" for item in checked.findings):
        return checked
    latest = checked

    def again(source: SourceFile) -> list[object]:
        nonlocal latest
        latest = checked if source is checked.source else check(source.path, options, data=encode(source))
        return list(latest.findings)

    fixed, _ = fix_all(checked.source, again)  # type: ignore[arg-type]  # findings, as the checker gives them
    if not fixed.applied:
        if write and _is_stream(checked):
            sys.stdout.buffer.write(checked.data)
        return checked
    if not write:
        secrets = [span.text for span in checked.hidden]
        terminal = sys.stdout.isatty()
        emit(
            unified_diff(
                checked.source,
                fixed.source,
                color=wants_color(color, os.environ, sys.stdout),
                terminal=terminal,
                secrets=secrets,
            ),
            sys.stdout,
        )
        return checked
    if _is_stream(checked):
        sys.stdout.buffer.write(fixed.data)
        return latest
    _replace(checked.source.path, fixed.data)
    print(f"{checked.source.path}: {len(fixed.applied)} mended", file=sys.stderr)
    return latest


def _is_stream(checked: Checked) -> bool:
    """Say whether the text came from standard input, whose mended text goes to standard output."""
    return checked.source.path == "-" or not os.path.exists(checked.source.path)


def _replace(path: str, data: bytes) -> None:
    """Write a file whole or not at all, keeping its permissions; a link's target is what is replaced."""
    target = os.path.realpath(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".npac-")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, os.stat(target).st_mode & 0o7777)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise NpacError(
            f"{path} cannot be written: {error.strerror}", remedy="Mend its permissions."
        ) from error
