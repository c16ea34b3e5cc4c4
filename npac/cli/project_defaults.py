"""What a project's configuration says about runs."""

from __future__ import annotations

from npac.project import discover


def ledger_of() -> str | None:
    """Give the ledger root of the project in the working directory, or None."""
    project, _ = discover(".")
    return project.ledger
