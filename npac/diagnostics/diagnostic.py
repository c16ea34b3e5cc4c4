"""One finding about a spec, with its places and its remedy."""

from enum import IntEnum
from typing import NamedTuple

from npac.text.source import Span


class Severity(IntEnum):
    """How bad a finding is: errors break or mislead a run, warnings are likely mistakes, notes are advice."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        """``"error"``, ``"warning"`` or ``"note"``."""
        return self.name.lower()


class Code(NamedTuple):
    """A kind of finding: its stable code, a name that reads well, its severity, its rule in the language."""

    id: str
    name: str
    severity: Severity
    summary: str


class Related(NamedTuple):
    """A second place that explains a finding ("first defined here")."""

    message: str
    span: Span


class Edit(NamedTuple):
    """Replace the text of ``span``."""

    span: Span
    text: str


class Fix(NamedTuple):
    """A change that mends a finding; ``safe`` when it cannot change what the spec means."""

    message: str
    edits: tuple[Edit, ...]
    safe: bool = True


class Diagnostic(NamedTuple):
    """One finding.  ``help`` says what to do about it."""

    code: Code
    message: str
    span: Span
    related: tuple[Related, ...] = ()
    help: str = ""
    fix: Fix | None = None
    severity_override: Severity | None = None

    @property
    def severity(self) -> Severity:
        """The severity of this finding: the code's own unless the rule raised it."""
        return self.severity_override if self.severity_override is not None else self.code.severity

    def sort_key(self) -> tuple[str, int, int, str]:
        """Order findings by path, then place, then code."""
        return (self.span.source.path, self.span.start, self.span.end, self.code.id)
