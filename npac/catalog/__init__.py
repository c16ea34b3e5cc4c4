"""The tool catalog: what a ``toolRef`` stands for.

:func:`load_catalog` gives a :class:`Catalog`; the tools that ship with npac are the YAML files in
``data/``, and users lay their own files over them.
"""

from npac.catalog.errors import CatalogError
from npac.catalog.eula import pod_env_names, repository_name, terms_env
from npac.catalog.loader import load_catalog
from npac.catalog.model import Catalog, Eula, Tool

__all__ = [
    "Catalog",
    "CatalogError",
    "Eula",
    "Tool",
    "load_catalog",
    "pod_env_names",
    "repository_name",
    "terms_env",
]
