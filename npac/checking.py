"""From a path to findings: reading, the passes, suppressions, and what the project selected."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from npac.catalog.model import Catalog
from npac.diagnostics.codes import BY_NAME, CODES, finding
from npac.diagnostics.collector import Collector, Policy, ordered
from npac.diagnostics.credentials import HIDDEN, redacted
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.errors import NpacError
from npac.pipeline import Settings, Unit, run_passes
from npac.syntax.spec_parser import written_credentials
from npac.text.source import SourceFile, Span, decode
from npac.text.yaml_nodes import Map, Node, Scalar, Seq, parse_yaml

if TYPE_CHECKING:
    from npac.project import Project

MAX_BYTES = 64 << 20
_UNSILENCEABLE = ("NPA001", "NPA002", "NPA006", "NPA007", "NPA008")
_RAW_KEYS = frozenset(
    ("run", "setup", "resources", "num_nodes", "envs", "execution", "file_mounts", "workdir")
)
_SPEC_KEYS = frozenset(("apiVersion", "kind", "metadata", "states", "initial"))
_TELLING = 8
"""Characters of a secret's beginning that tell it from other text, where a message cut it short."""
_SECRETS = frozenset(("secret-in-plain-text", "maybe-secret"))


class Checked:
    """What checking one file gave.

    ``unit`` holds the spec, its flow and, when asked for, its program; it is None for a file that
    is raw SkyPilot YAML.  ``hidden`` are the places of secret values, which are never shown.
    """

    __slots__ = ("data", "findings", "hidden", "raw", "source", "unit")

    def __init__(
        self,
        source: SourceFile,
        data: bytes,
        findings: list[Diagnostic],
        unit: Unit | None = None,
        *,
        raw: bool = False,
        hidden: Sequence[Span] = (),
    ) -> None:
        self.source = source
        self.data = data
        self.findings = findings
        self.unit = unit
        self.raw = raw
        self.hidden = list(hidden)

    @property
    def sound(self) -> bool:
        """Say whether nothing at error level was found."""
        return all(item.severity < Severity.ERROR for item in self.findings)


def read_bytes(path: str) -> bytes:
    """Read a spec's bytes (``-`` is standard input).  Raises :class:`NpacError`."""
    try:
        if path == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with open(path, "rb") as stream:
            if os.fstat(stream.fileno()).st_size > MAX_BYTES:
                raise _too_large(path)
            data = stream.read()
    except FileNotFoundError:
        raise NpacError(f"there is no file {path}", remedy="Check the path.") from None
    except IsADirectoryError:
        raise NpacError(
            f"{path} is a folder, not a spec",
            remedy="Name the files in it, or run `npac check` without arguments.",
        ) from None
    except OSError as error:
        raise NpacError(f"{path} cannot be read: {error.strerror}", remedy="Mend its permissions.") from error
    if len(data) > MAX_BYTES:
        raise _too_large(path)
    return data


def _too_large(path: str) -> NpacError:
    return NpacError(f"{path} is larger than {MAX_BYTES >> 20} MiB", remedy="No spec is that large.")


def project_for(path: str) -> tuple[Project | None, list[Diagnostic]]:
    """Find the project's configuration for a spec, from the spec's own folder upwards; None without one."""
    folder = os.path.abspath(os.path.dirname(path) if path != "-" else "")
    if not _may_be_configured(folder):
        return None, []
    from npac.project import discover

    project, problems = discover(folder, codes=CODES)
    found = []
    for problem in problems:
        text = _text_of(str(problem.path))
        source = SourceFile(str(problem.path), text)
        starts = source.line_starts
        line = min(max(problem.line, 1), len(starts))
        at = min(starts[line - 1] + max(problem.column - 1, 0), len(text))
        found.append(finding("bad-project-config", problem.message, source.span(at, at), problem.help))
    return project, found


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
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
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
        return _whole(source, data, raw, raw=True)
    unit = run_passes(source, settings, until=until)
    hidden = [item.span for item in unit.findings if item.code.name in _SECRETS]
    findings = Collector(unit.findings).ordered()
    if "npac:" in source.text:
        findings = _suppressed(source, findings)
    if project is not None:
        findings = _policy(project).apply(findings)
    return Checked(source, data, Collector(_masked(findings, hidden)).ordered(), unit, hidden=hidden)


def _whole(source: SourceFile, data: bytes, findings: list[Diagnostic], *, raw: bool) -> Checked:
    """Give the findings about a text that is not read as a spec, and the credentials in it."""
    written = list(written_credentials(source))
    hidden = [item.span for item in written]
    return Checked(source, data, ordered(_masked([*findings, *written], hidden)), raw=raw, hidden=hidden)


def _policy(project: Project) -> Policy:
    severity = {code: Severity[word.upper()] for code, word in project.severity.items()}
    return Policy(project.select, project.ignore, severity, _UNSILENCEABLE)


def _shared(one: str, other: str) -> int:
    """Count the characters with which both texts begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _masked(findings: Sequence[Diagnostic], hidden: Sequence[Span]) -> list[Diagnostic]:
    """Take secret values out of every message, whichever rule wrote it, also where it cut them short."""
    values = {span.text.strip("'\"") for span in hidden}
    values = {form for value in values if len(value) >= 4 for form in (value, repr(value)[1:-1])}

    def clean(text: str) -> str:
        text = redacted(text)
        for value in values:
            text = text.replace(value, HIDDEN)
            at = text.find(value[:_TELLING]) if len(value) > _TELLING else -1
            while at >= 0:
                text = text[:at] + HIDDEN + text[at + _shared(value, text[at:]) :]
                at = text.find(value[:_TELLING], at)
        return text

    return [
        item._replace(
            message=clean(item.message),
            related=tuple(other._replace(message=clean(other.message)) for other in item.related),
            help=clean(item.help),
            fix=None
            if item.fix and any(value in edit.text for edit in item.fix.edits for value in values)
            else item.fix,
        )
        for item in findings
    ]


def _suppressed(source: SourceFile, findings: list[Diagnostic]) -> list[Diagnostic]:
    from npac.diagnostics.suppress import find_suppressions, suppress

    node, problems = parse_yaml(source)
    end = min((problem.span.start for problem in problems), default=None) if node is None else None
    spans = sorted({(scalar.start, scalar.end) for scalar in _scalars(node) if not scalar.aliased})
    found = find_suppressions(source, spans, known=CODES, fixed=_UNSILENCEABLE, end=end)
    return suppress(
        findings, found, unused=BY_NAME["unused-suppression"], malformed=BY_NAME["malformed-suppression"]
    )


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


def _raw_findings(source: SourceFile) -> list[Diagnostic] | None:
    if not looks_raw(source):
        return None
    from npac.backends.skypilot.raw import RawError, program_from_yaml

    try:
        program_from_yaml(source.text, raw_name(source.path))
    except RawError as error:
        message = f"this looks like SkyPilot YAML, and npac cannot run it: {error}"
        return [finding("not-a-spec", message, source.span(0, min(1, len(source.text))), "mend the file")]
    return []


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
