"""Container image references: ``[REGISTRY/]REPOSITORY[:TAG][@DIGEST]`` and ``tool://KEY``.

The grammar is that of OCI references.  A first component counts as a registry when it is
``localhost``, a dotted host, a bracketed IPv6 address, or has a port; nothing is added to a
reference that names none.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from npac.syntax import grammars

MAX_NAME = 255
"""Longest registry and repository together, with their slashes."""

_LONGEST = 1024
_GRAMMAR = "images.lark"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_COMPONENT = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?:(localhost(?::[0-9]+)?|{_LABEL}(?:\.{_LABEL})+(?::[0-9]+)?|{_LABEL}:[0-9]+)/)?"
    rf"({_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}))?"
)
_TOOL = r"tool://([A-Za-z0-9][A-Za-z0-9._-]*)"
_HEX = {"sha256": 64, "sha384": 96, "sha512": 128}
_SHA256 = r"sha256:[0-9a-f]{64}"


class ImageRef(NamedTuple):
    """An OCI image reference.

    ``registry`` keeps its port and ``digest`` its algorithm; what the text does not give is None.
    """

    registry: str | None
    repository: str
    tag: str | None
    digest: str | None

    def __str__(self) -> str:
        """Give the reference as text again."""
        return (
            (f"{self.registry}/" if self.registry else "")
            + self.repository
            + (f":{self.tag}" if self.tag else "")
            + (f"@{self.digest}" if self.digest else "")
        )


class ToolImage(NamedTuple):
    """The image that the tool catalog holds under ``name``."""

    name: str


class ImageProblem(grammars.Problem):
    """A text that is no image reference, or not of the form that is asked for."""

    __slots__ = ()


@lru_cache(maxsize=512)
def parse_image(text: str) -> ImageRef | ToolImage | ImageProblem:
    """Read an image reference."""
    return scan_image(text) or read_image(text)


def is_registry_qualified(image: ImageRef | ToolImage) -> bool:
    """Say whether the reference names its registry."""
    return isinstance(image, ImageRef) and image.registry is not None


def is_digest_pinned(image: ImageRef | ToolImage) -> bool:
    """Say whether the reference holds a sha256 digest of 64 lowercase hex digits."""
    return (
        isinstance(image, ImageRef) and image.digest is not None and bool(re.fullmatch(_SHA256, image.digest))
    )


def is_immutable(image: ImageRef | ToolImage) -> bool:
    """Say whether the reference is ``REGISTRY/REPOSITORY@sha256:<64 hex>``, without a tag."""
    return (
        isinstance(image, ImageRef)
        and image.tag is None
        and is_registry_qualified(image)
        and is_digest_pinned(image)
    )


def immutable_problem(text: str) -> ImageProblem | None:
    """Say why ``text`` is not ``REGISTRY/REPOSITORY@sha256:<64 hex>``, or give None when it is."""
    image = parse_image(text)
    if isinstance(image, ImageProblem):
        return image
    wanted = "Write `REGISTRY/REPOSITORY@sha256:` and the 64 hex digits of the image's digest."
    if isinstance(image, ToolImage):
        message = "A `tool://` name may stand for another image tomorrow; an immutable reference is wanted."
        return ImageProblem("not-immutable", message, 0, len(text), wanted)
    if not is_registry_qualified(image):
        message = "The image does not name its registry."
        advice = wanted + " A registry is `localhost`, a dotted host, `[IPv6]` or `HOST:PORT`."
        return ImageProblem("no-registry", message, 0, len(text), advice)
    if image.digest is None:
        return ImageProblem("no-digest", "The image is not pinned by a digest.", 0, len(text), wanted)
    if not is_digest_pinned(image):
        message = "The digest is not sha256 with 64 lowercase hex digits."
        return ImageProblem("bad-digest", message, text.index("@") + 1, len(text), wanted)
    if image.tag is not None:
        at = text.index("@")
        plain = str(ImageRef(image.registry, image.repository, None, image.digest))
        message = "A tag stands before the digest; it would be ignored and may mislead."
        start = at - len(image.tag) - 1
        return ImageProblem("tag-and-digest", message, start, at, f"Write `{plain}`.", "")
    return None


def scan_image(text: str) -> ImageRef | ToolImage | None:
    """Read a reference without the grammar, or give None for what it leaves to the grammar."""
    if len(text) > _LONGEST or text[:7].lower() == "docker:":
        return None
    if tool := re.fullmatch(_TOOL, text):
        return ToolImage(tool[1])
    match = _REFERENCE.fullmatch(text)
    if match is None:
        return None
    image = ImageRef(*match.groups())
    return image if _limit_problem(text, image) is None else None


def read_image(text: str) -> ImageRef | ToolImage | ImageProblem:
    """Read a reference with the grammar."""
    if len(text) > _LONGEST:
        message = f"The image reference has {len(text)} characters; none has more than {_LONGEST}."
        return ImageProblem("too-long", message, 0, len(text), "Check what the text was put together from.")
    if problem := _prefix_problem(text):
        return problem
    tree = grammars.read(_GRAMMAR, "image", text)
    if isinstance(tree, grammars.Stop):
        return _explain(text, tree)
    found: dict[str, str] = {}
    for leaf in tree.scan_values(lambda value: isinstance(value, str)):
        found[leaf.type] = f"{found['COMPONENT']}/{leaf}" if leaf.type in found else str(leaf)
    if tree.data == "tool":
        return ToolImage(found["KEY"])
    image = ImageRef(found.get("REGISTRY"), found["COMPONENT"], found.get("TAG"), found.get("DIGEST"))
    return _limit_problem(text, image) or image


def _limit_problem(text: str, image: ImageRef) -> ImageProblem | None:
    """Check what a grammar cannot count: lengths, ports, addresses."""
    registry = image.registry or ""
    if len(registry) + len(image.repository) + bool(registry) > MAX_NAME:
        message = f"Registry and repository together have more than {MAX_NAME} characters."
        return ImageProblem("too-long", message, 0, len(text), "Shorten the repository's path.")
    host, _, port = registry.rpartition(":") if re.search(r":[0-9]+\Z", registry) else (registry, "", "")
    if registry.startswith("["):
        host, _, rest = registry.partition("]")
        port = rest[1:]
        if not _is_ipv6(host[1:]):
            message = "The registry's address in brackets is not an IPv6 address."
            return ImageProblem("bad-registry", message, 0, len(registry), "Write it as `[fd00::1]:5000`.")
    if port and not (len(port) <= 5 and 1 <= int(port) <= 65535):
        message = "The registry's port is not between 1 and 65535."
        at = len(registry) - len(port)
        return ImageProblem(
            "bad-registry", message, at, len(registry), "Write the port that the registry serves."
        )
    if image.digest is not None:
        algorithm, _, value = image.digest.partition(":")
        length = _HEX.get(algorithm.lower())
        if length is not None and (len(value) != length or image.digest != image.digest.lower()):
            message = f"A {algorithm.lower()} digest is written in lower case and has {length} hex digits."
            if len(value) != length:
                message += f" This one has {len(value)}."
            lower = image.digest.lower() if len(value) == length else None
            advice = "Write it in lower case." if lower else "Copy the whole digest from the registry."
            return ImageProblem("bad-digest", message, text.index("@") + 1, len(text), advice, lower)
    return None


def _is_ipv6(text: str) -> bool:
    from ipaddress import AddressValueError, IPv6Address

    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True


def _prefix_problem(text: str) -> ImageProblem | None:
    """Refuse the prefixes by which other programs say how to fetch an image."""
    match = re.match(
        r"(?i)(docker-archive|docker-daemon|docker|oci|containerd|https?|ssh|git)(://|:)(?=\S)", text
    )
    if match is None or (match[2] == ":" and match[1].lower() != "docker"):
        return None
    rest = text[match.end() :]
    good = scan_image(rest)
    prefix = match[1].lower() + match[2]
    advice = "Write the reference alone"
    advice += f": `{rest}`." if isinstance(good, ImageRef) else ", as `REGISTRY/REPOSITORY:TAG`."
    if prefix == "docker:":
        advice += " For the image that is called docker, write `docker.io/library/docker:TAG`."
    message = f"An image reference has no `{prefix}` before it."
    return ImageProblem("prefix", message, 0, match.end(), advice, "" if isinstance(good, ImageRef) else None)


def _explain(text: str, stop: grammars.Stop) -> ImageProblem:
    """Say why the grammar stopped."""
    end = len(text)
    if not text.strip():
        return ImageProblem(
            "empty", "The image reference is empty.", 0, end, "Write one, or leave the key out."
        )
    stripped = text.strip()
    if stripped != text:
        good = isinstance(scan_image(stripped), ImageRef | ToolImage)
        message = "Blanks stand before or after the image reference."
        return ImageProblem("blanks", message, 0, end, "Take them away.", stripped if good else None)
    if text.lower().startswith("tool:"):
        message = "`tool://` is followed by the key of an image in the tool catalog, and nothing else."
        return ImageProblem("bad-tool-image", message, 0, end, "Write it as `tool://KEY`.")
    if "{{" in text or "${" in text:
        message = "Braces are left in the image reference."
        return ImageProblem(
            "bad-image", message, 0, end, "Write the value, or a well formed `{{config.KEY}}`."
        )
    if text.startswith("["):
        message = "A registry in brackets is an IPv6 address, and a repository follows after `/`."
        return ImageProblem("bad-registry", message, 0, end, "Write it as `[fd00::1]:5000/REPOSITORY`.")
    at = text.find("@")
    if 0 <= at < stop.at:
        if re.match(r"[^:/]*/|[^:/]*\Z", text[at + 1 :]) and ":" not in text[at:]:
            message = "After `@` stands no digest; credentials and versions do not go into a reference."
        else:
            message = "After `@` stands no well formed digest."
        advice = "Write `@sha256:` and 64 lowercase hex digits."
        return ImageProblem("bad-digest", message, at + 1, end, advice)
    name = text[: at if at >= 0 else end]
    slash = name.rfind("/")
    colon = name.find(":", slash + 1)
    path = name[:colon] if colon > slash else name
    if stop.at < len(path) and path != path.lower():
        first, _, rest = path.partition("/")
        host = rest and ("." in first or ":" in first)
        lower = (f"{first}/{rest.lower()}" if host else path.lower()) + text[len(path) :]
        suggestion = lower if isinstance(scan_image(lower), ImageRef) else None
        message = "A repository's name is written in lower case."
        advice = f"Write `{suggestion}`." if suggestion else "Write it in lower case."
        return ImageProblem("capitals", message, 0, end, advice, suggestion)
    if colon > slash and stop.at > colon:
        message = (
            "A tag is at most 128 letters, digits, `_`, `.`, `-`, and begins with none of the last two; "
            f"here is {grammars.show_char(text, stop.at)} at character {stop.at + 1}."
        )
        return ImageProblem("bad-tag", message, colon + 1, end, "Write the tag that the registry lists.")
    message = (
        f"An image is `[REGISTRY/]REPOSITORY[:TAG][@DIGEST]`; here is {grammars.show_char(text, stop.at)}"
    )
    message += f" at character {stop.at + 1}." if stop.at < end else "."
    advice = "A repository is lower-case words with `.`, `_`, `-` between them, parted by `/`."
    return ImageProblem("bad-image", message, min(stop.at, end), end, advice)
