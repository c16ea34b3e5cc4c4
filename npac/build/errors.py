"""What can go wrong with a build."""

from __future__ import annotations

import errno
from pathlib import Path


class BuildError(Exception):
    """A build could not be written or read.  ``remedy`` is one sentence that says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


def unreadable(path: Path, error: OSError, otherwise: str) -> BuildError:
    """Give the error for a file that could not be read; ``otherwise`` is what else can be done."""
    if error.errno in (errno.EINVAL, errno.EISDIR, errno.EFBIG):
        remedy = f"Remove it, and {otherwise}."
    else:
        remedy = f"Mend its permissions, or {otherwise}."
    return BuildError(f"{path} could not be read: {error.strerror}.", remedy)
