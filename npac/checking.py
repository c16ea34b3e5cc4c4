"""From a path to findings: reading, the passes, suppressions, and what the project selected."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from npac.catalog.model import Catalog
from npac.diagnostics.codes import BY_NAME, CODES, finding
from npac.diagnostics.collector import Collector, Policy, limited, ordered, shortened
from npac.diagnostics.credentials import redacted
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.diagnostics.hiding import Hider
from npac.errors import NpacError
from npac.pipeline import SECRETS, Settings, Unit, run_passes
from npac.reading import MAX_PROJECT_BYTES, MAX_SPEC_BYTES, read_regular, too_large
from npac.syntax.spec_parser import written_credentials
from npac.text.source import SourceFile, Span, decode
from npac.text.yaml_nodes import Map, Node, Scalar, Seq, parse_yaml

if TYPE_CHECKING:
    from npac.project import Project, ProjectProblem

_UNSILENCEABLE = ("NPA001", "NPA002", "NPA006", "NPA007", "NPA008")
_UNREAD = frozenset(
    ("NPA001", "NPA002", "NPA003", "NPA005", "NPA006", "NPA007", "NPA008", "NPA009", "NPA012")
)
"""Faults that keep what stands in a text, or some of it, from the rules that know a secret."""
_MOST_SOUGHT = 200
"""Values of secrets that are looked for in the whole text."""
_TELLING = 6
"""Characters of the shortest value that is: shorter ones are parts of ordinary words."""
_RAW_KEYS = frozenset(
    ("run", "setup", "resources", "num_nodes", "envs", "execution", "file_mounts", "workdir")
)
_SPEC_KEYS = frozenset(("apiVersion", "kind", "metadata", "states", "initial"))
_TO_NPAC = r"(?i)npac(?::|[ \t]*=?[ \t]*(?:ignore|noqa|disable))"
"""What is or may be meant as a comment that silences something."""

Place = tuple[str, str, int, int, str]
"""What tells one finding of a spec from another."""


class Silenced(NamedTuple):
    """An error that is not reported, or as less than an error.

    ``by`` is the code in the comment that says so; without it an option or the project's configuration does.
    """

    finding: Diagnostic
    by: Span | None = None


class Checked:
    """What checking one file gave.

    ``unit`` holds the spec, its flow and, when asked for, its program; it is None for a file that
    is raw SkyPilot YAML.  ``hidden`` are the places of secret values, which are never shown.
    ``silenced`` are errors that were found and are not among the findings, or as less than errors;
    nothing is compiled in spite of them.
    """

    __slots__ = ("data", "findings", "hidden", "raw", "silenced", "source", "unit")

    def __init__(
        self,
        source: SourceFile,
        data: bytes,
        findings: list[Diagnostic],
        unit: Unit | None = None,
        *,
        raw: bool = False,
        hidden: Sequence[Span] = (),
        silenced: Sequence[Silenced] = (),
    ) -> None:
        self.source = source
        self.data = data
        self.findings = findings
        self.unit = unit
        self.raw = raw
        self.hidden = list(hidden)
        self.silenced = list(silenced)

    @property
    def sound(self) -> bool:
        """Say whether nothing at error level was found."""
        return all(item.severity < Severity.ERROR for item in self.findings)


class ProjectError(NpacError):
    """The project's configuration is wrong; ``checked`` holds its findings, each with its place.

    Nothing is done with a configuration that was read in part: it might switch checks off.
    """

    def __init__(self, checked: Checked) -> None:
        first, *others = (_placed(item) for item in checked.findings)
        also = "".join(f"\n  {where}: {message}" for where, message in others)
        super().__init__(
            f"{first[1]}{also}",
            remedy=f"{checked.findings[0].help[:1].upper()}{checked.findings[0].help[1:]}.",
            where=first[0],
        )
        self.checked = checked


def _placed(item: Diagnostic) -> tuple[str, str]:
    line, column = item.span.source.position(item.span.start)
    return f"{item.span.source.path}:{line}:{column}", f"{item.message} ({item.code.id})"


def read_bytes(path: str) -> bytes:
    """Read a spec's bytes (``-`` is standard input).  Raises :class:`NpacError`.

    Files are regular ones of at most ``MAX_SPEC_BYTES``; standard input is read up to as much.
    """
    # what was given in a path's place may be anything, a credential too
    name = redacted(path) if path != "-" else "standard input"
    try:
        if path == "-":
            return _read_standard_input()
        return read_regular(path, MAX_SPEC_BYTES)
    except FileNotFoundError:
        raise NpacError(f"there is no file {name}", remedy="Check the path.") from None
    except IsADirectoryError:
        raise NpacError(
            f"{name} is a folder, not a spec",
            remedy="Name the files in it, or run `npac check` without arguments.",
        ) from None
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "Mend its permissions.")
        raise NpacError(f"{name} cannot be read: {error.strerror}", remedy=remedy) from error


def _read_standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed")
    data = sys.stdin.buffer.read(MAX_SPEC_BYTES + 1)
    if len(data) > MAX_SPEC_BYTES:
        raise too_large("-", MAX_SPEC_BYTES)
    return data


_REMEDIES = {
    errno.EFBIG: "No spec is that large; check what was named.",
    errno.EINVAL: "Name a regular file, or give the text on standard input (-) where a spec is read.",
    errno.ENOTDIR: "Check the path.",
    errno.ELOOP: "Check the path.",
    errno.ENAMETOOLONG: "Check the path.",
    errno.EBADF: "Leave it open, or name a file.",
}


def project_for(path: str) -> tuple[Project | None, list[Diagnostic]]:
    """Find the project's configuration for a spec, from the spec's own folder upwards; None without one.

    Raises :class:`ProjectError` for one with mistakes; the list is of what is less than a mistake.
    """
    folder = os.path.abspath(os.path.dirname(path) if path != "-" else "")
    if not _may_be_configured(folder):
        return None, []
    from npac.project import discover

    names = {name: code.id for name, code in BY_NAME.items()}
    project, problems = discover(folder, codes=CODES, names=names)
    demand_sound(problems)
    return project, []


def demand_sound(problems: Sequence[ProjectProblem]) -> None:
    """Raise :class:`ProjectError` when a project's configuration has mistakes."""
    if not problems:
        return
    path = str(problems[0].path)
    source = SourceFile(path, _text_of(path))
    starts, text = source.line_starts, source.text
    found = []
    for problem in problems:
        line = min(max(problem.line, 1), len(starts))
        at = min(starts[line - 1] + max(problem.column - 1, 0), len(text))
        found.append(finding("bad-project-config", problem.message, source.span(at, at), problem.help))
    hidden = [item.span for item in written_credentials(source)]
    raise ProjectError(Checked(source, b"", ordered(_masked(found, hidden)), hidden=hidden))


def _may_be_configured(folder: str) -> bool:
    """Say whether a configuration file stands in or above a folder; most checks need no more than this."""
    while True:
        if os.path.lexists(os.path.join(folder, "npac.toml")):
            return True
        if os.path.lexists(os.path.join(folder, "pyproject.toml")):
            return True
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above


def _text_of(path: str) -> str:
    """Give a configuration's text to show places in, empty where it cannot be read."""
    try:
        return decode(path, read_regular(path, MAX_PROJECT_BYTES))[0].text
    except OSError:
        return ""


def check_bytes(
    path: str, data: bytes, settings: Settings, *, project: Project | None = None, until: str = "check"
) -> Checked:
    """Run the passes up to ``until`` over one file's bytes and give what is to be reported."""
    source, bad = decode(path, data)
    if bad is not None:
        message = "the bytes here are no UTF-8 text"
        item = finding("unreadable-file", message, source.span(bad, bad + 1), "save the file as UTF-8")
        return _whole(source, data, [item], raw=False)
    raw = _raw_findings(source)
    if raw is not None:
        found, values = raw
        return _whole(source, data, found, raw=True, values=values)
    unit = run_passes(source, settings, until=until)
    hidden = [item.span for item in unit.findings if item.code.name in SECRETS]
    hidden += _unread_values(unit.findings)
    if unit.flow is not None and unit.flow.secrets:
        hidden += _written_again(source, unit.flow.secrets)
    found = findings = Collector(unit.findings).ordered()
    by: dict[Place, Span] = {}
    if "npac" in source.text.lower() and re.search(_TO_NPAC, source.text):
        findings, by = _suppressed(source, findings)
    if project is not None:
        findings = _policy(project, path).apply(findings)
    shown = Collector(_masked(list(limited(ordered(findings), but=SECRETS)), hidden)).ordered()
    silenced = () if findings is found else _silenced(found, findings, by, hidden)
    return Checked(source, data, list(map(shortened, shown)), unit, hidden=hidden, silenced=silenced)


def _place(item: Diagnostic) -> Place:
    return item.code.id, item.span.source.path, item.span.start, item.span.end, item.message


def _silenced(
    found: Sequence[Diagnostic], kept: Sequence[Diagnostic], by: Mapping[Place, Span], hidden: Sequence[Span]
) -> list[Silenced]:
    """Give the errors that are among the findings no more, or not as errors."""
    left = {_place(item) for item in kept if item.severity >= Severity.ERROR}
    gone = [item for item in found if item.severity >= Severity.ERROR and _place(item) not in left]
    few = list(limited(gone))
    masked = map(shortened, _masked(few, hidden))
    return [Silenced(item, by.get(_place(old))) for old, item in zip(few, masked, strict=True)]


def _whole(
    source: SourceFile, data: bytes, findings: list[Diagnostic], *, raw: bool, values: Sequence[Span] = ()
) -> Checked:
    """Give the findings about a text that is not read as a spec, and the credentials in it.

    ``values`` are places of secrets' values, which are hidden as credentials are.
    """
    written = list(written_credentials(source))
    hidden = [*(item.span for item in written), *values, *_unread_values(findings)]
    return Checked(source, data, ordered(_masked([*findings, *written], hidden)), raw=raw, hidden=hidden)


def _written_again(source: SourceFile, values: Sequence[str]) -> Iterator[Span]:
    """Give all places of secrets' values: one may stand behind an anchor, or in a comment, too."""
    for value in list(dict.fromkeys(values))[:_MOST_SOUGHT]:
        at = source.text.find(value) if len(value) >= _TELLING else -1
        while at >= 0:
            yield source.span(at, at + len(value))
            at = source.text.find(value, at + len(value))


def _unread_values(findings: Sequence[Diagnostic]) -> list[Span]:
    """Give the places of what secrets' keys name in texts which the rules saw nothing of, or not all."""
    sources = {id(item.span.source): item.span.source for item in findings if item.code.id in _UNREAD}
    if not sources:
        return []
    from npac.diagnostics.secret_places import named_values
    from npac.rules.secrets.telling import is_telling

    return [span for source in sources.values() for span in named_values(source, is_telling)]


def _policy(project: Project, path: str) -> Policy:
    severity = {code: Severity[word.upper()] for code, word in project.severity.items()}
    return Policy(project.select, project.ignored_in(path), severity, _UNSILENCEABLE)


def _masked(findings: Sequence[Diagnostic], hidden: Sequence[Span]) -> list[Diagnostic]:
    """Take secret values out of every message, whichever rule wrote it, also where it cut them short."""
    if hidden:
        from npac.diagnostics.secret_places import readings

        hider = Hider(form for span in hidden for form in readings(span.text))
    else:
        hider = Hider(())
    return [_cleaned(item, hider) for item in findings]


def _cleaned(item: Diagnostic, hider: Hider) -> Diagnostic:
    message, help_text = hider.clean(item.message), hider.clean(item.help)
    if message != item.message or help_text != item.help:
        item = item._replace(message=message, help=help_text)
    if any(hider.clean(other.message) != other.message for other in item.related):
        item = item._replace(
            related=tuple(other._replace(message=hider.clean(other.message)) for other in item.related)
        )
    if item.fix is not None and any(hider.holds(edit.text) for edit in item.fix.edits):
        item = item._replace(fix=None)
    return item


def _suppressed(source: SourceFile, findings: list[Diagnostic]) -> tuple[list[Diagnostic], dict[Place, Span]]:
    """Give what comments leave of the findings, with findings about them, and which comment hides what."""
    from npac.diagnostics.suppress import find_suppressions, suppress

    node, problems = parse_yaml(source)
    end = min((problem.span.start for problem in problems), default=None) if node is None else None
    spans = sorted({(scalar.start, scalar.end) for scalar in _scalars(node) if not scalar.aliased})
    names = {name: code.id for name, code in BY_NAME.items()}
    found = find_suppressions(source, spans, known=CODES, fixed=_UNSILENCEABLE, end=end, names=names)
    by = {_place(item): code for item, code in found.silenced(findings)}
    kept = suppress(
        findings, found, unused=BY_NAME["unused-suppression"], malformed=BY_NAME["malformed-suppression"]
    )
    if any(item.severity is Severity.ERROR for item in findings):
        # An error keeps rules from running, and their findings back: what silences those is not unused.
        kept = [item for item in kept if item.code is not BY_NAME["unused-suppression"]]
    return kept, by


def _scalars(node: Node | None) -> Iterator[Scalar]:
    stack = [node] if node is not None else []
    seen: set[int] = set()
    while stack:
        top = stack.pop()
        if isinstance(top, Scalar):
            yield top
        elif isinstance(top, Seq) and id(top.items) not in seen:
            seen.add(id(top.items))
            stack.extend(top.items)
        elif isinstance(top, Map) and id(top.entries) not in seen:
            seen.add(id(top.entries))
            for key, value in top.entries.values():
                stack.extend((key, value))


def looks_raw(source: SourceFile) -> bool:
    """Say whether a text looks like raw SkyPilot YAML: a quick look at its top-level keys."""
    head = source.text[:65536]
    keys = {line.partition(":")[0] for line in head.splitlines() if line[:1].isalpha() and ":" in line}
    return bool(keys & _RAW_KEYS) and not keys & _SPEC_KEYS


def _raw_findings(source: SourceFile) -> tuple[list[Diagnostic], list[Span]] | None:
    """Give the findings about raw SkyPilot YAML, and the places of secrets' values in it; None for others."""
    if not looks_raw(source):
        return None
    from npac.backends.skypilot.raw import program_from_yaml
    from npac.backends.skypilot.raw_faults import Positions, RawError

    try:
        program_from_yaml(source.text, raw_name(source.path))
    except RawError as error:
        begin = "this looks like SkyPilot YAML, and npac cannot run it: "
        # A place that is a line is that of a text which cannot be read as a whole.
        positions = Positions(source.text, read=not any(fault.place.line for fault in error.faults))
        found = [
            finding(
                "not-a-spec", f"{begin}{fault.problem}", source.span(*positions.span(fault.place)), fault.help
            )
            for fault in error.faults
        ]
        if error.more:
            said, place = f"{begin}{error.more} more problems follow", found[-1].span
            found.append(finding("not-a-spec", said, place, "mend those that are listed, and check again"))
        return found, [source.span(*span) for span in positions.hidden]
    return [], []


def raw_name(path: str) -> str:
    """Give a workflow name for a raw file: its stem, with what no name can hold replaced."""
    stem = os.path.basename(path).partition(".")[0]
    clean = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in stem)
    return clean.lstrip("._-")[:96] or "task"


def settings_catalog(catalogs: Sequence[str | os.PathLike[str]]) -> Catalog:
    """Load the shipped catalog and the given ones.  Raises :class:`NpacError`."""
    from npac.catalog import CatalogError, load_catalog

    if not catalogs:
        return load_catalog()
    from pathlib import Path

    try:
        return load_catalog([Path(path) for path in catalogs])
    except CatalogError as error:
        where = f"{error.path}:{error.line}:{error.column}" if error.line else str(error.path)
        raise NpacError(error.message, remedy=error.remedy, where=where) from error
