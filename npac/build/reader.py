"""Reading a build back."""

from __future__ import annotations

import json
from pathlib import Path

from npac.build.errors import BuildError, unreadable
from npac.build.manifest import FILE, Manifest, manifest_from_bytes
from npac.build.store import ObjectStore
from npac.ir.codec import program_from_json
from npac.ir.linking import LinkRecord, record_from_json
from npac.ir.program import Program
from npac.ir.verifier import verify
from npac.reading import MAX_MANIFEST_BYTES, read_regular

_AGAIN = "Compile again."


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of the build in ``directory``.  Raises :class:`BuildError`."""
    path = directory / FILE
    try:
        return manifest_from_bytes(read_regular(path, MAX_MANIFEST_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        raise BuildError(
            f"{directory} is no build: it has no {FILE}.", "Name a folder that npac compile wrote."
        ) from None
    except ValueError as error:
        raise BuildError(f"{path} is no manifest that this npac can read ({error}).", _AGAIN) from error
    except OSError as error:
        raise unreadable(path, error, "compile again") from error


def read_build(directory: Path) -> tuple[Manifest, Program]:
    """Read the build in ``directory``: every object is hashed and the program is verified.

    The views are not looked at; :func:`npac.build.verify.verify_build` does that.
    Raises :class:`BuildError`.
    """
    manifest = read_manifest(directory)
    store = ObjectStore(directory)
    program_data = store.get(manifest.program)
    for digest in sorted(
        {
            manifest.spec,
            *(entry.digest for entry in manifest.objects),
            *(wave.object for wave in manifest.waves),
        }
    ):
        store.get(digest)
    try:
        program = program_from_json(json.loads(program_data))
    except (ValueError, RecursionError) as error:
        raise BuildError(f"The program of {directory} cannot be read: {error}.", _AGAIN) from error
    problems = verify(program)
    if problems:
        raise BuildError(f"The program of {directory} is unsound: {'; '.join(problems[:5])}.", _AGAIN)
    return manifest, program


def read_spec(directory: Path, manifest: Manifest) -> bytes:
    """Give the bytes of the spec that a build was made from, verified.  Raises :class:`BuildError`."""
    return ObjectStore(directory).get(manifest.spec)


def read_link(directory: Path, manifest: Manifest) -> LinkRecord | None:
    """Give the link record of a linked build, verified; None for an unlinked one.

    Raises :class:`BuildError`.
    """
    if not manifest.link:
        return None
    try:
        return record_from_json(json.loads(ObjectStore(directory).get(manifest.link)))
    except ValueError as error:
        raise BuildError(f"The link record of {directory} cannot be read: {error}.", _AGAIN) from error
