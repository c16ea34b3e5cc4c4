"""``npac tools``."""

from __future__ import annotations

import os
import re
from typing import Any

import click

from npac.api import Options, settings_for
from npac.catalog.model import Catalog, Tool
from npac.errors import NpacError

_KEY = re.compile(r"\{\{\s*config\.([A-Za-z0-9_.-]+)")


@click.command()
@click.argument("pattern", required=False)
@click.option("--catalog", "catalogs", multiple=True, metavar="FILE", help="Add a tool catalog.")
@click.option("--format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(pattern: str | None, catalogs: tuple[str, ...], format: str) -> None:
    """List the catalog's tools, or show one.

    PATTERN is a tool's whole name, which shows its command and config keys, or a part of names (* and
    ? stand for characters), which lists those. The project's own catalogs count.
    """
    catalog = settings_for(os.path.join(os.curdir, "-"), Options(catalogs=catalogs))[0].catalog
    whole = catalog.get(pattern) if pattern is not None else None
    found = [whole] if whole is not None else _matching(catalog, pattern)
    if format == "json":
        import json

        click.echo(json.dumps([_data(tool) for tool in found], indent=2))
    elif whole is not None:
        click.echo("\n".join(_shown(whole)))
    else:
        click.echo("\n\n".join(_row(tool) for tool in found))


def _matching(catalog: Catalog, pattern: str | None) -> list[Tool]:
    """Give the tools whose name holds ``pattern``, by name.  Raises :class:`NpacError` for none."""
    from fnmatch import fnmatchcase

    wanted = f"*{(pattern or '').lower()}*"
    found = [tool for name, tool in sorted(catalog.tools.items()) if fnmatchcase(name.lower(), wanted)]
    if not found:
        near = catalog.nearest(pattern or "")
        remedy = f"Did you mean {' or '.join(near)}?" if near else "`npac tools` lists all."
        raise NpacError(f"no tool's name is or holds {pattern!r:.80}", remedy=remedy)
    return found


def config_keys(tool: Tool) -> list[str]:
    """Give the config keys that a tool's command and its rules for nodes read, in that order."""
    keys = [key for word in tool.argv for key in _KEY.findall(word)]
    keys += [key for key in (tool.shard_activation, tool.shard_output, tool.variant_count) if key]
    return list(dict.fromkeys([*keys, *tool.config_defaults]))


def _needed(tool: Tool) -> list[str]:
    return [key for key in config_keys(tool) if key not in tool.config_defaults]


def _row(tool: Tool) -> str:
    lines = [tool.name, f"  image    {tool.image or '-'}"]
    lines.append(f"  config   {', '.join(_needed(tool)) or '-'}")
    if tool.secrets:
        lines.append(f"  secrets  {', '.join(tool.secrets)}")
    return "\n".join(lines)


def _shown(tool: Tool) -> list[str]:
    lines = [tool.name, "", "command"]
    lines += [
        f"  {word!r}" if not word or word != word.strip() or "\n" in word else f"  {word}"
        for word in tool.argv
    ]
    keys = config_keys(tool)
    lines += ["", "config keys"] if keys else []
    width = max((len(key) for key in keys), default=0)
    for key in keys:
        given = f"default {tool.config_defaults[key]!r}" if key in tool.config_defaults else "needed"
        lines.append(f"  {key:<{width}}  {given}")
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


def _data(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "command": list(tool.argv),
        "image": tool.image,
        "config": {key: tool.config_defaults.get(key) for key in config_keys(tool)},
        "secrets": list(tool.secrets),
        "env": dict(tool.env),
    }
