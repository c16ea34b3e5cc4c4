"""Where jobs run: a table of engine names, each made only when it is asked for.

An engine is a package in this folder whose class implements :class:`npac.launch.ports.Engine` and
has a classmethod ``from_options(options)``.  A new engine is a new package and one line below.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from npac.launch.ports import Engine

_CLASSES = {
    "local": ("npac.engines.local.engine", "LocalEngine"),
    "skypilot": ("npac.engines.skypilot.engine", "SkyPilotEngine"),
}

names: tuple[str, ...] = tuple(_CLASSES)
"""The engines that :func:`create` knows."""


def create(name: str, options: Mapping[str, Any]) -> Engine:
    """Make the engine called ``name``.

    ``options`` are the engine's own (see its ``from_options``); an option that it does not know is
    refused.  Raises :class:`npac.launch.ports.EngineError`, phase ``"rejected"``, for a name or an
    option that is not known, and whatever the engine raises when it cannot be set up.
    """
    from importlib import import_module

    from npac.launch.ports import EngineError

    if name not in _CLASSES:
        raise EngineError(
            f"There is no engine called {name!r}.",
            phase="rejected",
            remedy=f"Use one of: {', '.join(names)}.",
        )
    module, attribute = _CLASSES[name]
    engine: Engine = getattr(import_module(module), attribute).from_options(options)
    return engine
