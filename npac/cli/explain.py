"""``npac explain``."""

from __future__ import annotations

import click

from npac.api import codes, explain


@click.command()
@click.argument("rule", metavar="[CODE]", required=False)
@click.option(
    "--format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How the list of all codes is shown, or a page is given.",
)
def command(rule: str | None, format: str) -> None:
    """Print the page about a finding's CODE, given as NPA302 or by its name, as member-as-target.

    Without CODE all codes are listed.
    """
    known = codes()
    if rule is not None:
        page = explain(rule).rstrip("\n")
        asked = page.removeprefix("# ").partition(":")[0]
        known = [code for code in known if code.id == asked]
        if format == "text":
            click.echo(page)
            return
    if format == "json":
        import json

        rows = [
            {"code": code.id, "name": code.name, "severity": code.severity.word, "summary": code.summary}
            for code in known
        ]
        if rule is not None:
            click.echo(json.dumps({**rows[0], "page": page}, indent=2))
        else:
            click.echo(json.dumps(rows, indent=2))
        return
    width = max(len(code.name) for code in known)
    for code in known:
        click.echo(f"{code.id}  {code.severity.word:<7}  {code.name:<{width}}  {code.summary}")
