"""The tools of the catalog: listing them, and what each of them needs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from npac.api.checking import Options, PathLike, settings_for
from npac.catalog.model import Tool
from npac.errors import NpacError

_KEY = r"\{\{\s*config\.([A-Za-z0-9_.-]+)"


class ToolEntry(NamedTuple):
    """One tool of the catalog.

    ``config`` are the config keys that its command and its rules for nodes read, in that order, each
    with its default; None where a spec must give a value.
    """

    tool: Tool
    config: Mapping[str, str | None]

    @property
    def name(self) -> str:
        """The name that a spec's ``toolRef`` gives."""
        return self.tool.name

    @property
    def needed(self) -> list[str]:
        """The config keys without a default."""
        return [key for key, default in self.config.items() if default is None]

    def as_data(self) -> dict[str, Any]:
        """Give what a user of the tool has to know, as plain data for JSON."""
        return {
            "name": self.tool.name,
            "command": list(self.tool.argv),
            "image": self.tool.image,
            "config": dict(self.config),
            "secrets": list(self.tool.secrets),
            "env": dict(self.tool.env),
        }


def tools(
    pattern: str | None = None, *, catalogs: Sequence[PathLike] = (), folder: PathLike = os.curdir
) -> list[ToolEntry]:
    """Give tools of the catalog, by name: the one of this whole name, else all whose name holds ``pattern``.

    ``*`` and ``?`` stand for characters; without a pattern all tools are given.  Counted are the shipped
    catalog, those of the project that ``folder`` belongs to, and ``catalogs``.  Raises
    :class:`NpacError` when no name fits or a catalog cannot be read.
    """
    from fnmatch import fnmatchcase

    catalog = settings_for(os.path.join(folder, "-"), Options(catalogs=catalogs))[0].catalog
    whole = catalog.get(pattern) if pattern is not None else None
    if whole is not None:
        return [_entry(whole)]
    wanted = f"*{(pattern or '').lower()}*"
    found = [tool for name, tool in sorted(catalog.tools.items()) if fnmatchcase(name.lower(), wanted)]
    if not found:
        near = catalog.nearest(pattern or "")
        remedy = f"Did you mean {' or '.join(near)}?" if near else "`npac tools` lists all."
        raise NpacError(f"no tool's name is or holds {pattern!r:.80}", remedy=remedy)
    return [_entry(tool) for tool in found]


def _config_keys(tool: Tool) -> list[str]:
    """Give the config keys that a tool's command and its rules for nodes read, in that order."""
    keys = [key for word in tool.argv for key in re.findall(_KEY, word)]
    keys += [key for key in (tool.shard_activation, tool.shard_output, tool.variant_count) if key]
    return list(dict.fromkeys([*keys, *tool.config_defaults]))


def _entry(tool: Tool) -> ToolEntry:
    return ToolEntry(tool, {key: tool.config_defaults.get(key) for key in _config_keys(tool)})
