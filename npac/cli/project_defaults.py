"""What a project's configuration says about runs."""

from __future__ import annotations

from npac.api import project_ledger


def ledger_of() -> str | None:
    """Give the ledger root of the project in the working directory, or None.

    Raises :class:`npac.api.ProjectError` for a configuration with mistakes.
    """
    return project_ledger()
