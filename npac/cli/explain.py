"""``npac explain``."""

from __future__ import annotations

import click

from npac.errors import NpacError


@click.command()
@click.argument("rule", metavar="CODE")
def command(rule: str) -> None:
    """Print the page about a finding's CODE, given as NPA302 or by its name, as member-as-target."""
    from npac.resources import ResourceError, rule_text

    try:
        text = rule_text(code_of(rule))
    except ResourceError as error:
        raise NpacError(str(error)) from error
    click.echo(text.rstrip("\n"))


def code_of(rule: str) -> str:
    """Give the code that ``rule`` means, a code or a name in any case.  Raises :class:`NpacError`."""
    from npac.diagnostics.codes import BY_NAME, CODES
    from npac.syntax.nearest import nearest

    asked = rule.strip()
    if asked.upper() in CODES:
        return asked.upper()
    named = BY_NAME.get(asked.lower())
    if named is not None:
        return named.id
    number = asked.upper().removeprefix("NPA")
    if len(number) == 3 and number.isascii() and number.isdigit():
        family = [code for code in CODES if code[3] == number[0]]
        near = [code for code in family if abs(int(code[3:]) - int(number)) <= 2]
        if near:
            raise NpacError(f"there is no code {asked!r:.80}", remedy=f"Did you mean {' or '.join(near)}?")
        if family:
            known = f"{family[0]} to {family[-1]}" if len(family) > 1 else family[0]
            raise NpacError(
                f"there is no code {asked!r:.80}", remedy=f"Codes that begin with {family[0][:4]}: {known}."
            )
    near = nearest(asked.lower(), (*CODES, *BY_NAME))
    remedy = (
        f"Did you mean {' or '.join(near)}?"
        if near
        else "Codes stand in brackets in what `npac check` prints."
    )
    raise NpacError(f"there is no code {asked!r:.80}", remedy=remedy)
