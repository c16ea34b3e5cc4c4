"""The one exception that the public API raises for what a user can mend."""

from __future__ import annotations


class NpacError(Exception):
    """Something outside a spec's text stands in the way: a file, a catalog, an option, a disk.

    ``remedy`` is one sentence that says what to do; ``where`` is the place, or empty.
    """

    def __init__(self, message: str, *, remedy: str = "", where: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy
        self.where = where

    def __str__(self) -> str:
        """Give place, message and remedy on one line."""
        text = super().__str__().rstrip(".")
        text = f"{self.where}: {text}" if self.where else text
        return f"{text}. {self.remedy}".rstrip() if self.remedy else text
