"""What the rest of the compiler knows of a catalog: tools, images, licence terms."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Tool(NamedTuple):
    """One entry of the catalog.

    ``argv`` is a template: each word may hold ``{{config.KEY}}`` and other tokens.  ``image`` is the
    reference behind ``image_key``; both are empty for a tool without an image of its own.  ``env``
    holds the entry's own variables and those that accept its licence terms.  ``interpreters`` are
    absolute paths, tried in order.  ``pip_requirements`` are pairs: a probe (a command's name, or
    ``python:`` and a module to import) and what to install when the probe fails.  ``pip_extra`` names
    an extra of the submitted source.  The flags in ``drop_when_empty`` vanish with their value when
    the value resolves to nothing.  ``multi_node_mode`` is ``"sharded"`` or empty; the three ``shard``
    fields are config keys or empty.  ``source`` is the catalog file that the entry comes from.
    """

    name: str
    argv: tuple[str, ...]
    image: str = ""
    image_key: str = ""
    secrets: tuple[str, ...] = ()
    env: Mapping[str, str] = _NOTHING
    interpreters: tuple[str, ...] = ()
    pip_extra: str = ""
    pip_requirements: tuple[tuple[str, str], ...] = ()
    drop_when_empty: frozenset[str] = frozenset()
    config_defaults: Mapping[str, str] = _NOTHING
    contract: str = ""
    multi_node_mode: str = ""
    shard_activation: str = ""
    shard_output: str = ""
    variant_count: str = ""
    eula: str = ""
    source: str = ""


class Eula(NamedTuple):
    """Licence terms that software asks to be accepted by environment.

    Beside the tools that name them, the terms hold for an image whose repository ends in one of
    ``repositories`` and for a pod that is given a variable with one of ``pod_env_prefixes``.
    """

    name: str
    env: dict[str, str]
    repositories: frozenset[str] = frozenset()
    pod_env_prefixes: tuple[str, ...] = ()


class Catalog(NamedTuple):
    """The tools, images (key to reference) and licence terms that a spec may rely on.

    ``digest`` is ``sha256:`` and 64 hex digits over the merged content: two catalogs that say the
    same have the same digest, whatever their files are called and in whatever order they say it.
    """

    tools: Mapping[str, Tool]
    images: Mapping[str, str]
    digest: str
    eulas: Mapping[str, Eula] = MappingProxyType({})

    def get(self, name: str) -> Tool | None:
        """Give the tool called ``name``, or None."""
        return self.tools.get(name)

    def nearest(self, name: str, n: int = 3) -> list[str]:
        """Give up to ``n`` tool names that resemble ``name``, the closest first."""
        return nearest(name, self.tools, n)

    def images_nearest(self, key: str, n: int = 3) -> list[str]:
        """Give up to ``n`` image keys that resemble ``key``, the closest first."""
        return nearest(key, self.images, n)


def nearest(word: str, known: Iterable[str], n: int = 3) -> list[str]:
    """Give up to ``n`` of the ``known`` words that resemble ``word``, the closest first."""
    # difflib costs more to import than a catalog costs to load, and only a mistake needs it
    from difflib import get_close_matches

    return get_close_matches(word, sorted(known), n)
