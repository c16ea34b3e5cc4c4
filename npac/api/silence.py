"""Errors that were silenced, and that nothing is compiled in spite of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npac.checking import Checked, Silenced
from npac.diagnostics.collector import ordered
from npac.diagnostics.diagnostic import Diagnostic, Related

if TYPE_CHECKING:
    from npac.project import Project


def needed(checked: Checked, project: Project | None) -> Checked:
    """Give what was checked with every error that was silenced among its findings, and what silences it.

    ``project`` is the configuration as its file has it.
    """
    errors = [_restored(item, project, checked) for item in checked.silenced]
    places = {(item.code.id, item.span, item.message) for item in errors}
    lesser = [item for item in checked.findings if (item.code.id, item.span, item.message) not in places]
    return Checked(
        checked.source,
        checked.data,
        ordered([*lesser, *errors]),
        checked.unit,
        raw=checked.raw,
        hidden=checked.hidden,
    )


def _restored(item: Silenced, project: Project | None, checked: Checked) -> Diagnostic:
    found = item.finding
    related = found.related
    if item.by is not None:
        line = item.by.source.position(item.by.start)[0]
        how = f"silenced at line {line}"
        related = (*related, Related("silenced here", item.by))
    elif project is not None and project.path is not None and _is_by(project, found, checked.source.path):
        how = f"silenced by {project.path}"
    else:
        how = "silenced by an option"
    help_text = f"{found.help}\n" if found.help else ""
    return found._replace(related=related, help=f"{help_text}{how}, and nothing is compiled in spite of it")


def _is_by(project: Project, found: Diagnostic, path: str) -> bool:
    """Say whether a project's own file silences a finding, or makes less than an error of it."""
    from npac.diagnostics.collector import Policy

    policy = Policy(project.select, project.ignored_in(path))
    code = found.code.id
    return not policy.shows(code) or any(code.startswith(key) for key in project.severity)
