"""``npac schema``."""

from __future__ import annotations

import click

from npac.api import schema


@click.command()
def command() -> None:
    """Print the JSON Schema of specs, for editors.

    Write it to a file, and name that file in the editor's settings or in a spec's first line:

    \b
        # yaml-language-server: $schema=npac.workflow.schema.json

    A schema sees the form of a spec; `npac check` sees the rest too.
    """
    click.echo(schema(), nl=False)
