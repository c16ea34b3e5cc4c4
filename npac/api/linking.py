"""Reading what users write as link options: pins of images, remaps of accelerators."""

from __future__ import annotations

from collections.abc import Iterable

from npac.errors import NpacError
from npac.ir.link_record import ACCELERATOR, is_immutable


def parse_pins(texts: Iterable[str]) -> dict[str, str]:
    """Read texts ``IMAGE=REFERENCE@sha256:DIGEST`` as :class:`Options` takes them as ``pins``.

    A bare ``sha256:DIGEST`` pins the image itself.  Raises :class:`NpacError` for what names no image by
    its digest, and for two texts that contradict each other.
    """
    return _table([_pin(text) for text in texts], "--pin")


def parse_accelerators(texts: Iterable[str]) -> dict[str, str]:
    """Read texts ``FROM=TO`` or ``FROM=TO:N`` as :class:`Options` takes them as ``accelerators``.

    Raises :class:`NpacError` for what names no two accelerators, and for two texts that contradict each
    other.
    """
    return _table([_accelerator(text) for text in texts], "--accelerator")


def _accelerator(text: str) -> tuple[str, str]:
    form = "--accelerator FROM=TO or FROM=TO:N, as --accelerator A100=H100:1"
    written, target = _whole(text, "--accelerator", form)
    if ACCELERATOR.fullmatch(written) is None or ACCELERATOR.fullmatch(target) is None:
        raise NpacError(f"--accelerator {text!r:.200} names no two accelerators", remedy=f"Write {form}.")
    return written, target


def _pin(text: str) -> tuple[str, str]:
    form = "--pin IMAGE=REGISTRY/REPO@sha256:DIGEST, with IMAGE as the spec or the catalog writes it"
    image, digest = _whole(text, "--pin", form)
    if digest.startswith("sha256:"):  # a bare digest pins the image itself
        folder, slash, name = image.partition("@")[0].rpartition("/")
        digest = f"{folder}{slash}{name.partition(':')[0]}@{digest}"
    if not is_immutable(digest):
        raise NpacError(
            f"--pin {text!r:.300}: {digest!r:.200} does not name a registry, a repository and a digest",
            remedy=f"Write {form}.",
        )
    return image, digest


def _table(pairs: list[tuple[str, str]], option: str) -> dict[str, str]:
    """Make a table of pairs of which none contradicts another.  Raises :class:`NpacError`."""
    found: dict[str, str] = {}
    for left, right in pairs:
        if found.setdefault(left, right) != right:
            raise NpacError(
                f"{option} is given twice for {left!r:.200}, for two things", remedy="Leave one of them out."
            )
    return found


def _whole(text: str, option: str, form: str) -> tuple[str, str]:
    """Split a pair of which neither part may be empty.  Raises :class:`NpacError`."""
    left, equals, right = text.partition("=")
    if not left or not equals or not right:
        raise NpacError(f"{option} {text!r:.200} is no pair", remedy=f"Write {form}.")
    return left, right
