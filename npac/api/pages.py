"""What ships with npac to be read: the pages about codes, the schemas of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npac.errors import NpacError

if TYPE_CHECKING:
    from npac.diagnostics.diagnostic import Code

SCHEMAS = ("workflow", "catalog", "test", "program", "manifest")
"""Names of the JSON Schemas: of specs, catalogs, test files, and the files of a build."""


def explain(rule: str) -> str:
    """Give the page about a code, in Markdown: what it means, an example, and what to do instead.

    ``rule`` is a code or a code's name, in any case.  Raises :class:`NpacError` when there is none.
    """
    from npac.resources import ResourceError, rule_text

    try:
        return rule_text(code_of(rule))
    except ResourceError as error:
        raise NpacError(str(error)) from error


def codes() -> list[Code]:
    """Give every code that there is, in order: its id, name, severity and summary."""
    import npac.rules  # noqa: F401  # which declares those of the rules
    from npac.diagnostics.codes import CODES

    return [CODES[code] for code in sorted(CODES)]


def code_of(rule: str) -> str:
    """Give the code that ``rule`` means, a code or a name in any case.  Raises :class:`NpacError`."""
    import npac.rules  # noqa: F401  # which declares codes
    from npac.diagnostics.codes import BY_NAME, CODES

    asked = rule.strip()
    if asked.upper() in CODES:
        return asked.upper()
    named = BY_NAME.get(asked.lower())
    if named is not None:
        return named.id
    raise NpacError(f"there is no code {asked!r:.80}", remedy=_meant(asked))


def _meant(asked: str) -> str:
    """Say which codes a text that is none may have meant."""
    from npac.diagnostics.codes import BY_NAME, CODES
    from npac.syntax.nearest import nearest

    number = asked.upper().removeprefix("NPA")
    if len(number) == 3 and number.isascii() and number.isdigit():
        family = [code for code in CODES if code[3] == number[0]]
        near = [code for code in family if abs(int(code[3:]) - int(number)) <= 2]
        if near:
            return f"Did you mean {' or '.join(near)}?"
        if family:
            known = f"{family[0]} to {family[-1]}" if len(family) > 1 else family[0]
            return f"Codes that begin with {family[0][:4]}: {known}."
    near = nearest(asked.lower(), (*CODES, *BY_NAME))
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return "Codes stand in brackets in what `npac check` prints."


def schema(name: str = "workflow") -> str:
    """Give the text of a JSON Schema, one of :data:`SCHEMAS`.  Raises :class:`NpacError` for another name."""
    if name == "workflow":
        from npac.syntax.schema import schema_text as workflow_text

        return workflow_text()
    if name not in SCHEMAS:
        raise NpacError(f"there is no schema {name!r:.80}", remedy=f"Choose one of {', '.join(SCHEMAS)}.")
    from npac.resources import ResourceError, schema_text

    try:
        return schema_text(f"npac.{name}.schema.json")
    except ResourceError as error:
        raise NpacError(str(error)) from error
