"""The manifest of a build: what it was made from, and every file that belongs to it.

The types of the fields say how a manifest must be in JSON: :mod:`npac.build.manifest_reading` lets pydantic
hold what is read against them, so they stand here as they are and not as text.  Writing needs no pydantic,
so that compiling does not import it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, ClassVar, TypeAlias

from npac.build.pretty import pretty

SCHEMA = "npac.manifest/v1"
FILE = "manifest.json"


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a text must match as a whole, and the sentence for one that does not."""

    pattern: str
    sentence: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Give pydantic's validator of such a text."""
        from pydantic_core import core_schema

        return core_schema.str_schema(pattern=self.pattern, strict=True)


_HEX = "[0-9a-f]{64}"
_PART = r"(\.*[^./\\\x00][^/\\\x00]*|\.{3,})"
"""One part of a path: neither empty nor of one or two dots."""
HEX_DIGITS = Pattern(f"^{_HEX}$", "must be 64 hex digits")
HEX_OR_NOTHING = Pattern(f"^({_HEX})?$", "must be 64 hex digits")
KIND = Pattern("^(documents|link|program|spec)$", "must be documents, link, program or spec")
PLAIN_PATH = Pattern(f"^{_PART}(/{_PART})*$", "must be a plain path inside the build")

Digest: TypeAlias = Annotated[str, HEX_DIGITS]
"""A sha256."""
OptionalDigest: TypeAlias = Annotated[str, HEX_OR_NOTHING]
PlainPath: TypeAlias = Annotated[str, PLAIN_PATH]
"""A path below the build's folder, its parts joined by ``/``."""
STRICT: Mapping[str, Any] = {"strict": True, "extra": "forbid"}


@dataclass(frozen=True, slots=True)
class BatchEntry:
    """One batch of one wave: the unit of launch."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    node: str
    number: int
    label: str
    object: Digest
    """Digest of its documents, before linking; equal iterations share one."""
    view: PlainPath
    """The readable file of these documents, seen from the build's folder."""
    batch: int = 0
    """Number of the batch, from 1, where the wave has several; else 0."""


@dataclass(frozen=True, slots=True)
class ObjectEntry:
    """One object of the store; ``size`` in bytes."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    digest: Digest
    kind: Annotated[str, KIND]
    size: int


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """One readable file; it can be made again from the objects."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    path: PlainPath
    digest: Digest
    size: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that determines a build, and all that is in it.  Digests are sha256, 64 hex digits."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

    compiler: str
    """Version of npac."""
    workflow: str
    spec: Digest
    program: Digest
    catalogs: tuple[Digest, ...]
    waves: tuple[BatchEntry, ...]
    objects: tuple[ObjectEntry, ...]
    views: tuple[ViewEntry, ...]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Compile options that change the output."""
    link: OptionalDigest = ""
    """Digest of the link record of a linked build; empty for an unlinked one."""


def manifest_bytes(manifest: Manifest) -> bytes:
    """Give the bytes of ``manifest.json``: sorted keys, indented by two, one line feed at the end."""
    return pretty({"schema": SCHEMA, **_data(manifest)})


def _data(value: Any) -> Any:
    """Give a part of a manifest as plain data, without what is equal to its default."""
    if isinstance(value, str | int):
        return value
    if isinstance(value, tuple):
        return [_data(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    own = ((name, default, getattr(value, name)) for name, default in _DEFAULTS[type(value)])
    return {name: _data(entry) for name, default, entry in own if entry != default}


_DEFAULTS: Mapping[type, Sequence[tuple[str, Any]]] = {
    record: [
        (each.name, each.default if each.default_factory is MISSING else each.default_factory())
        for each in fields(record)
    ]
    for record in (Manifest, BatchEntry, ObjectEntry, ViewEntry)
}
"""The fields of each record, with their defaults."""


def manifest_from_bytes(data: bytes) -> Manifest:
    """Read ``manifest.json``.  Raises ``ValueError`` when it is none of this version."""
    from npac.build.manifest_reading import read

    return read(data)
