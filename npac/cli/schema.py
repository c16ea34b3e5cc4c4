"""``npac schema``."""

from __future__ import annotations

import click

from npac.api import SCHEMAS, schema


@click.command(
    epilog=f"""NAME is one of {", ".join(SCHEMAS)}: the schema of specs, of catalogs of your own tools, of
    test files of specs, and of the program and the manifest of a build."""
)
@click.argument("name", default="workflow", metavar="[NAME]")
def command(name: str) -> None:
    """Print a JSON Schema, for editors: that of specs, or the one that NAME says.

    Write it to a file, and name that file in the editor's settings or in a spec's first line:

    \b
        # yaml-language-server: $schema=npac.workflow.schema.json

    A schema sees the form of a spec; `npac check` sees the rest too.
    """
    click.echo(schema(name), nl=False)
