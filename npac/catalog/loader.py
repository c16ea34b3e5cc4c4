"""Load the catalog: what ships with npac, and what users add."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from npac.catalog.errors import CatalogError
from npac.catalog.model import Catalog, Eula, Tool
from npac.diagnostics.credentials import redacted
from npac.reading import MAX_SPEC_BYTES, read_regular

if TYPE_CHECKING:
    from pathlib import Path

    from npac.catalog.shape import CatalogFile

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
SHIPPED = os.path.join(DATA, "shipped.json")


def load_catalog(extra: Sequence[Path] = ()) -> Catalog:
    """Give the shipped catalog with the files ``extra`` laid over it.

    A tool, an image or licence terms of a name that stands already replace what stood; later files
    win.  Raises CatalogError, with the place and a remedy, for a file that cannot be used.
    """
    if not extra:
        return _shipped_catalog()
    content = Content.from_json(_shipped_json())
    for path in extra:
        content.lay_over(read_file(path))
    return content.catalog(content.digest())


def read_file(path: Path) -> CatalogFile:
    """Read one catalog file.  Raises CatalogError for a file that cannot be read or is no catalog."""
    # these bring in the YAML parser, which the shipped catalog does without
    from npac.catalog.shape import fail, read_catalog
    from npac.text.source import decode

    name = redacted(str(path))  # what was given in a path's place may be anything
    try:
        data = read_regular(path, MAX_SPEC_BYTES)
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = "Check the path given by --catalog or [tool.npac]; a catalog is a regular file."
        raise CatalogError(f"the catalog cannot be read: {reason}.", name, remedy=remedy) from error
    source, bad = decode(name, data)
    if bad is not None:
        fail(source.span(bad, bad), "these bytes are no UTF-8.", "Save the file as UTF-8.")
    return read_catalog(source)


class Content:
    """Entries as plain data while they are merged; ``tools`` maps a name to its file and its entry."""

    __slots__ = ("eulas", "images", "tools")

    def __init__(self) -> None:
        self.images: dict[str, str] = {}
        self.eulas: dict[str, dict[str, Any]] = {}
        self.tools: dict[str, tuple[str, dict[str, Any]]] = {}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Content:
        """Give the content of ``shipped.json``."""
        content = cls()
        content.images.update(data["images"])
        content.eulas.update(data["eulas"])
        for source, tools in data["tools"].items():
            for name, entry in tools.items():
                content.tools[name] = (source, entry)
        return content

    def lay_over(self, file: CatalogFile) -> None:
        """Add a file's entries, which replace those of the same names.

        Raises CatalogError for a tool whose image or licence terms neither the file nor what it is
        laid over defines.
        """
        from npac.catalog.shape import did_you_mean, fail

        self.images.update(file.images)
        self.eulas.update(file.eulas)
        for name, entry in file.tools.items():
            for key, kind, known in (("image", "images", self.images), ("eula", "eulas", self.eulas)):
                value = entry.get(key)
                if value is not None and value not in known:
                    remedy = f"{did_you_mean(value, known)} Else define it under `{kind}:`."
                    fail(
                        file.places[name, key],
                        f"tool `{name}` names the {key} `{value}`, which nothing defines.",
                        remedy,
                    )
            self.tools[name] = (file.path, entry)

    def canonical(self) -> bytes:
        """Give the content as canonical JSON, without file names."""
        tools = {name: entry for name, (_, entry) in self.tools.items()}
        data = {"eulas": self.eulas, "images": self.images, "tools": tools}
        return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    def digest(self) -> str:
        """Give ``sha256:`` and the hash of the canonical bytes."""
        from hashlib import sha256

        return f"sha256:{sha256(self.canonical()).hexdigest()}"

    def catalog(self, digest: str) -> Catalog:
        """Give the catalog that the content makes."""
        eulas = {
            name: Eula(
                name,
                entry["env"],
                frozenset(entry.get("repositories", ())),
                tuple(entry.get("pod_env_prefixes", ())),
            )
            for name, entry in self.eulas.items()
        }
        tools = {name: self._tool(name, source, entry) for name, (source, entry) in self.tools.items()}
        return Catalog(
            MappingProxyType(tools), MappingProxyType(self.images), digest, MappingProxyType(eulas)
        )

    def _tool(self, name: str, source: str, entry: Mapping[str, Any]) -> Tool:
        get = entry.get
        image_key = get("image", "")
        eula = get("eula", "")
        nodes = get("nodes", {})
        env = get("env", {})
        return Tool(
            name=name,
            argv=tuple(entry["command"]),
            image=self.images[image_key] if image_key else "",
            image_key=image_key,
            secrets=tuple(get("secrets", ())),
            env={**self.eulas[eula]["env"], **env} if eula else env,
            interpreters=tuple(get("interpreters", ())),
            pip_extra=get("pip_extra", ""),
            pip_requirements=tuple((item["probe"], item["install"]) for item in get("requires", ())),
            drop_when_empty=frozenset(get("omit_when_empty", ())),
            config_defaults=get("config_defaults", {}),
            contract=get("contract", ""),
            multi_node_mode=nodes.get("mode", ""),
            shard_activation=nodes.get("activation_key", ""),
            shard_output=nodes.get("output_key", ""),
            variant_count=nodes.get("variants_key", ""),
            eula=eula,
            source=source,
        )


@cache
def _shipped_catalog() -> Catalog:
    data = _shipped_json()
    return Content.from_json(data).catalog(data["digest"])


def _shipped_json() -> dict[str, Any]:
    try:
        with open(SHIPPED, encoding="utf-8") as file:
            data: dict[str, Any] = json.load(file)
    except (OSError, ValueError) as error:
        remedy = "Install npac again; in a checkout, run `make catalog`."
        raise CatalogError(
            f"the catalog that ships with npac cannot be read: {error}.", SHIPPED, remedy=remedy
        ) from error
    return data


def merge(files: Iterable[CatalogFile]) -> Content:
    """Merge files that belong to one catalog, in which a name may be defined only once.

    Raises CatalogError for a name that two of them define.
    """
    content = Content()
    for file in files:
        for kind, known, new in (
            ("image", content.images, file.images),
            ("licence terms", content.eulas, file.eulas),
            ("tool", content.tools, file.tools),
        ):
            twice = sorted(set(known) & set(new))
            if twice:
                raise CatalogError(f"the {kind} `{twice[0]}` is defined in another file already.", file.path)
        content.lay_over(file)
    return content
