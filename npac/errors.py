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
        """Give place and message; the remedy stands beside them in ``remedy``."""
        text = super().__str__()
        return f"{self.where}: {text}" if self.where else text

    def in_one_line(self) -> str:
        """Give place, message and remedy as one line, for where there is room for no more."""
        text = str(self)
        return f"{text.rstrip('.')}. {self.remedy}" if self.remedy else text
