"""What can go wrong with a build."""

from __future__ import annotations


class BuildError(Exception):
    """A build could not be written or read.  ``remedy`` is one sentence that says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()
