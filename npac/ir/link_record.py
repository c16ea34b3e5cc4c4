"""The link-time values of a run, and what they mean for images and accelerators."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from npac.ir.canonical import canonical_bytes, digest_bytes
from npac.ir.forms import TEXT, record, table
from npac.ir.values import RUN_ID, Hole
from npac.ir.verifier import valid_name

SCHEMA = "npac.link/v1"
ENDPOINT = Hole("endpoint")
SOURCE_URI = Hole("source.uri")


_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
IMAGE = re.compile(
    rf"(?:(?P<registry>localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|\[[0-9A-Fa-f:]+\]|[A-Za-z0-9-]+(?=:[0-9]+/))"
    rf"(?::[0-9]{{1,5}})?/)?"
    rf"(?P<path>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
"""An OCI image reference; a digest is sha256 in lower case."""
ACCELERATOR = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?::(?P<count>[1-9][0-9]*))?")
_USERINFO = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*@")


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """The link-time values of one run.  Empty text means that there is none."""

    run_id: str
    run_uid: str = ""
    """128 random bits in hex, made once for a run; empty in a preview."""
    source_uri: str = ""
    source_fingerprint: str = ""
    endpoint_url: str = ""
    """The S3 endpoint that tasks use."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """Image as written -> reference with a digest."""
    accelerators: Mapping[str, str] = field(default_factory=dict)
    """``NAME`` or ``NAME:N`` as written -> ``NAME`` (the count stays) or ``NAME:N``."""
    context: str = ""
    """The Kubernetes context."""


_RECORD = record(
    LinkRecord,
    {
        "run_id": TEXT,
        "run_uid": TEXT,
        "source_uri": TEXT,
        "source_fingerprint": TEXT,
        "endpoint_url": TEXT,
        "pins": table(TEXT),
        "accelerators": table(TEXT),
        "context": TEXT,
    },
    tag={"schema": SCHEMA},
)


def record_to_json(link: LinkRecord) -> dict[str, Any]:
    """Give a link record as plain JSON data."""
    data: dict[str, Any] = _RECORD.encode(link)
    return data


def record_from_json(data: Any) -> LinkRecord:
    """Read a link record back.  Raises ``ValueError`` when ``data`` is none of this version."""
    link: LinkRecord = _RECORD.decode(data, "")
    return link


def record_bytes(link: LinkRecord) -> bytes:
    """Give the canonical bytes of a link record."""
    return canonical_bytes(record_to_json(link))


def record_digest(link: LinkRecord) -> str:
    """Give the identity of a link record: sha256 (hex) of its canonical bytes."""
    return digest_bytes(record_bytes(link))


def record_problems(link: LinkRecord) -> list[str]:
    """Give what is wrong with a link record by itself, a sentence each."""
    found = []
    if not valid_name(link.run_id):
        found.append(
            f"the run id {link.run_id!r} is not allowed: 1 to 96 of A-Z a-z 0-9 . _ -, "
            "the first a letter or a digit"
        )
    for written, pinned in link.pins.items():
        if not is_immutable(pinned):
            found.append(
                f"the pin of {written!r} is {pinned!r}; it must be REGISTRY/REPO@sha256:<64 hex digits>"
            )
    for written, target in link.accelerators.items():
        if ACCELERATOR.fullmatch(written) is None or ACCELERATOR.fullmatch(target) is None:
            found.append(f"the accelerator remap {written}={target} is not of the form FROM=TO or FROM=TO:N")
    for what, text in (("endpoint", link.endpoint_url), ("source URI", link.source_uri)):
        if _USERINFO.match(text):
            found.append(f"the {what} holds a user name or password; give credentials as secrets instead")
        if has_control(text):
            found.append(f"the {what} holds a control character")
    if link.endpoint_url and not link.endpoint_url.startswith(("http://", "https://")):
        found.append(f"the endpoint {link.endpoint_url!r} is no http:// or https:// URL")
    if link.source_uri and not link.source_uri.startswith("s3://"):
        found.append(f"the source URI {link.source_uri!r} is no s3:// URI")
    return found


def late_values(link: LinkRecord) -> dict[str, str]:
    """Give the holes that a link record fills, by name; values may be empty."""
    return {
        RUN_ID.name: link.run_id,
        ENDPOINT.name: link.endpoint_url,
        SOURCE_URI.name: link.source_uri,
    }


def is_immutable(image: str) -> bool:
    """Say whether ``image`` names its registry and its digest, and no tag."""
    match = IMAGE.fullmatch(image)
    return bool(match and match["registry"] and match["digest"] and not match["tag"])


def pinned(image: str, link: LinkRecord) -> str:
    """Give the reference that ``image`` is pinned to, or ``image`` itself."""
    return link.pins.get(image, image)


def remapped(accelerator: str, link: LinkRecord) -> str:
    """Give what ``accelerator`` (``NAME`` or ``NAME:N``) becomes.

    A remap of the whole text wins over one of the name; the count stays when the target has none.
    """
    name, _, count = accelerator.partition(":")
    target = link.accelerators.get(accelerator) or link.accelerators.get(name)
    if target is None:
        return accelerator
    return target if ":" in target or not count else f"{target}:{count}"


def has_control(text: str) -> bool:
    """Say whether ``text`` holds an ASCII control character."""
    return any(ord(char) < 0x20 or ord(char) == 0x7F for char in text)
