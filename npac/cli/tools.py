"""``npac tools``."""

from __future__ import annotations

import click

from npac.api import ToolEntry, tools


@click.command()
@click.argument("pattern", required=False)
@click.option("--catalog", "catalogs", multiple=True, metavar="FILE", help="Add a tool catalog.")
@click.option("--format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(pattern: str | None, catalogs: tuple[str, ...], format: str) -> None:
    """List the catalog's tools, or show one.

    PATTERN is a tool's whole name, which shows its command and config keys, or a part of names (* and
    ? stand for characters), which lists those. The project's own catalogs count.
    """
    found = tools(pattern, catalogs=catalogs)
    if format == "json":
        import json

        click.echo(json.dumps([entry.as_data() for entry in found], indent=2))
    elif [entry.name for entry in found] == [pattern]:
        click.echo("\n".join(_shown(found[0])))
    else:
        click.echo("\n\n".join(_row(entry) for entry in found))


def _row(entry: ToolEntry) -> str:
    tool = entry.tool
    lines = [tool.name, f"  image    {tool.image or '-'}"]
    lines.append(f"  config   {', '.join(entry.needed) or '-'}")
    if tool.secrets:
        lines.append(f"  secrets  {', '.join(tool.secrets)}")
    return "\n".join(lines)


def _shown(entry: ToolEntry) -> list[str]:
    tool = entry.tool
    lines = [tool.name, "", "command"]
    lines += [
        f"  {word!r}" if not word or word != word.strip() or "\n" in word else f"  {word}"
        for word in tool.argv
    ]
    lines += ["", "config keys"] if entry.config else []
    width = max((len(key) for key in entry.config), default=0)
    for key, default in entry.config.items():
        lines.append(f"  {key:<{width}}  {'needed' if default is None else f'default {default!r}'}")
    rows = [
        ("image", f"{tool.image} (tool://{tool.image_key})" if tool.image else ""),
        ("secrets", ", ".join(tool.secrets)),
        ("env", ", ".join(f"{key}={value}" for key, value in sorted(tool.env.items()))),
        ("flags left out when empty", ", ".join(sorted(tool.drop_when_empty))),
        ("nodes", tool.multi_node_mode),
        ("licence terms", tool.eula),
    ]
    lines += [""] + [f"{name}: {text}" for name, text in rows if text]
    return lines
