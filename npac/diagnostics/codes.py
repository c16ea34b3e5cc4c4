"""The table of codes: kinds of findings, in families by hundreds.

Here are those that are found while a text is read, resolved or compiled; a rule declares its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from npac.diagnostics.credentials import redacted
from npac.diagnostics.diagnostic import Code, Diagnostic, Fix, Related, Severity
from npac.text.source import Span

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

_TABLE = (
    # 0: files and YAML
    ("NPA001", "unreadable-file", _E, "the file cannot be read as UTF-8 text"),
    ("NPA002", "yaml-syntax", _E, "the text is no YAML"),
    ("NPA003", "duplicate-key", _E, "a key stands twice in one mapping"),
    ("NPA004", "several-documents", _E, "a spec is one YAML document"),
    ("NPA005", "unsafe-tag", _E, "a tag asks for an object to be built"),
    ("NPA006", "alias-expansion", _E, "aliases stand for more data than is sane"),
    ("NPA007", "nesting-too-deep", _E, "data is nested too deeply"),
    ("NPA008", "not-a-spec", _E, "the document is no workflow spec"),
    ("NPA009", "complex-key", _E, "a key is not plain text"),
    ("NPA010", "invisible-character", _W, "a bidirectional or zero-width character hides in the text"),
    ("NPA011", "retyped-scalar", _N, "other YAML readers would change this text"),
    ("NPA012", "bad-merge-key", _E, "a merge key takes mappings only"),
    # 1: shape
    ("NPA101", "unknown-key", _E, "a key is not part of the language"),
    ("NPA102", "wrong-type", _E, "a value has the wrong type"),
    ("NPA103", "missing-key", _E, "a required key is missing"),
    ("NPA104", "unknown-value", _E, "a value is not one of those allowed"),
    ("NPA105", "bad-name", _E, "a name cannot be used as one"),
    ("NPA106", "old-spelling", _W, "a snake_case spelling of a key"),
    ("NPA107", "both-spellings", _E, "one key is given in both spellings"),
    ("NPA108", "duplicate-state", _E, "a state is defined twice"),
    ("NPA109", "no-states", _E, "a spec without states"),
    ("NPA110", "token-in-name", _E, "a name holds a token"),
    ("NPA111", "bad-number", _E, "a number is missing, malformed or out of range"),
    # 2: tokens and config
    ("NPA201", "unknown-scope", _E, "a token's scope does not exist"),
    ("NPA202", "bad-token", _E, "a token is malformed"),
    ("NPA203", "unknown-transform", _E, "a token's transform does not exist"),
    ("NPA204", "unknown-config-key", _E, "a config key does not exist"),
    ("NPA205", "unknown-run-key", _E, "a run key does not exist"),
    ("NPA206", "value-not-text", _E, "a token names a null, a list or a mapping"),
    ("NPA207", "config-cycle", _E, "config values refer to each other in a circle"),
    ("NPA208", "unknown-state-value", _E, "a state token names nothing"),
    ("NPA210", "unknown-loop", _E, "a loop token names no loop"),
    ("NPA213", "reserved-run-key", _E, "run.id and run.prefix cannot be given"),
    ("NPA214", "value-too-long", _E, "a resolved value is too long"),
    ("NPA217", "unknown-override", _E, "an override names no config key"),
    ("NPA218", "override-type", _E, "an override does not fit the value that it replaces"),
    ("NPA219", "late-structure", _E, "the program's structure depends on the run id"),
    ("NPA220", "tool-defaults-differ", _E, "two tools give one key different defaults"),
    ("NPA222", "token-not-allowed-here", _E, "this scope cannot be read here"),
    ("NPA223", "program-too-large", _E, "the program's text is too large"),
    ("NPA225", "foreign-token", _N, "a token of another tool is left as text"),
    # 3: control flow
    ("NPA303", "two-commands", _E, "a state has more than one kind of work"),
    ("NPA304", "no-work", _E, "a state does nothing"),
    ("NPA306", "empty-group", _E, "a group without members"),
    ("NPA320", "unknown-predicate", _E, "a decision that does not exist"),
    ("NPA330", "too-many-nodes", _E, "the program has too many nodes"),
    # 4: decisions
    # 5: resources and images
    ("NPA504", "shell-variable", _E, "a shell variable in a declarative field"),
    ("NPA507", "bad-image", _E, "an image reference is malformed"),
    ("NPA508", "unknown-tool-image", _W, "tool:// names no image of the catalog"),
    ("NPA510", "operator-input-empty", _N, "a value must be given before this can be compiled"),
    # 6: secrets
    ("NPA601", "secret-in-plain-text", _E, "a credential stands in the spec"),
    ("NPA602", "maybe-secret", _W, "a key's name suggests a credential"),
    # 7: artifacts
    ("NPA706", "bad-uri", _E, "an artifact's URI cannot be used"),
    # 8: catalog
    # 9: the tool itself
    ("NPA901", "unused-suppression", _W, "a suppression hides nothing"),
    ("NPA902", "malformed-suppression", _W, "a suppression cannot be read"),
    ("NPA903", "bad-project-config", _E, "the project's configuration cannot be used"),
)

CODES: dict[str, Code] = {code: Code(code, name, severity, text) for code, name, severity, text in _TABLE}
BY_NAME: dict[str, Code] = {code.name: code for code in CODES.values()}


def declare(rows: Iterable[tuple[str, str, Severity, str]]) -> None:
    """Add codes: each with its name, its severity and a summary.  Raises ``ValueError`` for one twice."""
    for code, name, severity, text in rows:
        if code in CODES or name in BY_NAME:
            raise ValueError(f"{code} or the name {name} is declared twice")
        CODES[code] = BY_NAME[name] = Code(code, name, severity, text)
    for table in (CODES, BY_NAME):
        given = sorted(table.items(), key=lambda item: item[1].id)
        table.clear()
        table.update(given)


def finding(
    name: str,
    message: str,
    span: Span,
    help: str = "",
    *,
    related: tuple[Related, ...] = (),
    fix: Fix | None = None,
    severity: Severity | None = None,
) -> Diagnostic:
    """Make a diagnostic by the name of its code; what looks like a credential is taken out of its words."""
    return Diagnostic(BY_NAME[name], redacted(message), span, related, redacted(help), fix, severity)
