"""Making the readable files of a build again from its objects."""

from __future__ import annotations

from pathlib import Path

from npac._version import __version__
from npac.build.errors import BuildError
from npac.build.manifest import Manifest
from npac.build.reader import read_build, read_link, read_spec
from npac.build.writer import write_build


def restore_views(directory: Path) -> Manifest:
    """Write the views of the build in ``directory`` anew; its manifest stays what it was.

    Raises :class:`BuildError` when an object is damaged (then there is nothing to make them from),
    or when another version of npac made the build, whose views this one would write differently.
    """
    manifest, program = read_build(directory)
    if manifest.compiler != __version__:
        raise BuildError(
            f"The build in {directory} was made by npac {manifest.compiler}, and this is {__version__}.",
            "Use that version, or compile again.",
        )
    options = dict(manifest.options)
    return write_build(
        directory,
        program,
        spec_bytes=read_spec(directory, manifest),
        catalog_digest=manifest.catalogs,
        overrides=manifest.overrides,
        options={key: value for key, value in options.items() if key not in ("pins", "accelerators")},
        link=read_link(directory, manifest),
        pins=options.get("pins"),
        accelerators=options.get("accelerators"),
    )
