"""The one exception of the catalog."""

from __future__ import annotations


class CatalogError(Exception):
    """A catalog file cannot be used.

    ``line`` and ``column`` count from 1 and are 0 when the fault has no place in the text (a file
    that cannot be opened).  ``remedy`` is a sentence that says what to do.
    """

    def __init__(self, message: str, path: str, line: int = 0, column: int = 0, remedy: str = "") -> None:
        super().__init__(message, path, line, column, remedy)
        self.message = message
        self.path = path
        self.line = line
        self.column = column
        self.remedy = remedy

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        return f"{place}: {self.message}" + (f" {self.remedy}" if self.remedy else "")
