"""Writing a build.

Everything is worked out first, then written in an order that never leaves a folder which claims to be
a whole build and is none: a note of the files to come, objects, views, and the manifest last.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from npac._version import __version__
from npac.backends.skypilot.documents import (
    LAUNCH_ID,
    LaunchValues,
    documents_to_json,
    link_documents,
    show_documents,
    unlinked,
)
from npac.backends.skypilot.emit import to_yaml
from npac.build.bodies import Bodies, Body, Maker
from npac.build.errors import BuildError, unreadable
from npac.build.graph import mermaid
from npac.build.manifest import (
    FILE,
    BatchEntry,
    Manifest,
    ObjectEntry,
    ViewEntry,
    manifest_bytes,
    manifest_from_bytes,
    pretty,
)
from npac.build.program_view import program_view
from npac.build.store import OBJECTS, TEMPORARY, ObjectStore, object_path, sync_folder, write_atomic
from npac.ir.canonical import canonical_bytes, program_parts
from npac.ir.linking import LinkRecord, link_program, record_bytes
from npac.ir.program import Program, Wave, label
from npac.ir.values import show
from npac.ir.verifier import verify
from npac.reading import MAX_MANIFEST_BYTES, read_regular

PENDING = ".npac-pending.json"
"""Stands in a folder while a build is being written: the files there that belong to npac."""
WAVES = "waves"
_OWN = re.compile(
    rf"program\.json|graph\.mmd|{WAVES}/[0-9]{{3,}}-[A-Za-z0-9._-]+\.sky\.yaml|"
    rf"{OBJECTS}/[0-9a-f]{{2}}/[0-9a-f]{{64}}"
)


@dataclass(slots=True)
class _Plan:
    """What a build will hold."""

    bodies: Bodies = field(default_factory=Bodies)
    objects: dict[str, tuple[str, Body]] = field(default_factory=dict)
    """Digest -> kind and bytes."""
    views: dict[str, Body] = field(default_factory=dict)
    entries: list[BatchEntry] = field(default_factory=list)

    def add(self, kind: str, make: Maker) -> str:
        body = self.bodies.add(make)
        self.objects.setdefault(body.digest, (kind, body))
        return body.digest

    def view(self, path: str, make: Maker) -> None:
        self.views[path] = self.bodies.add(make)

    def paths(self) -> set[str]:
        """Every file of the build but the manifest, seen from its folder."""
        return {*self.views, *map(object_path, self.objects)}


def write_build(
    directory: Path,
    program: Program,
    *,
    spec_bytes: bytes,
    catalog_digest: str | Sequence[str],
    overrides: Mapping[str, Any],
    options: Mapping[str, Any],
    link: LinkRecord | None = None,
    pins: Mapping[str, str] | None = None,
    accelerators: Mapping[str, str] | None = None,
) -> Manifest:
    """Write ``program`` and its documents to ``directory`` and give the manifest.

    ``overrides`` and ``options`` are plain JSON data.  With ``link``, the views of the waves hold the
    final documents of attempt 1.  ``pins`` and ``accelerators`` are link options that were given before
    a run id is known: they are kept in the manifest's options for the run, and the views show them.
    What an earlier build left in the folder is replaced; a file that
    npac did not write is neither changed nor removed.

    Raises :class:`BuildError` when the folder cannot be written or a foreign file is in the way,
    ``LinkError`` when the program cannot be linked, ``BackendError`` when it has no documents.
    """
    unsound = verify(program)
    if unsound:
        raise BuildError(
            f"The program of {program.workflow} is unsound: {'; '.join(unsound[:5])}.",
            "This is a fault of npac; please report it with the spec.",
        )
    plan = _Plan()
    program_digest = plan.add("program", partial(program_parts, program))
    spec_digest = plan.add("spec", lambda: (spec_bytes,))
    link_digest = ""
    if link is not None:
        link_program(program, link)
        link_data = record_bytes(link)
        link_digest = plan.add("link", lambda: (link_data,))
    early = {name: dict(given) for name, given in (("pins", pins), ("accelerators", accelerators)) if given}
    _plan_waves(plan, program, link, early)
    plan.view("program.json", partial(program_view, program))
    plan.view("graph.mmd", lambda: (mermaid(program).encode(),))
    catalogs = (catalog_digest,) if isinstance(catalog_digest, str) else tuple(catalog_digest)
    manifest = Manifest(
        compiler=__version__,
        workflow=program.workflow,
        spec=spec_digest,
        program=program_digest,
        catalogs=catalogs,
        waves=tuple(plan.entries),
        objects=tuple(
            ObjectEntry(digest, kind, body.size) for digest, (kind, body) in sorted(plan.objects.items())
        ),
        views=tuple(ViewEntry(path, body.digest, body.size) for path, body in sorted(plan.views.items())),
        overrides=overrides,
        options=options if link is not None else {**options, **early},
        link=link_digest,
    )
    _write(directory, plan, manifest)
    return manifest


def _plan_waves(
    plan: _Plan, program: Program, link: LinkRecord | None, early: Mapping[str, Mapping[str, str]]
) -> None:
    view_of: dict[str, str] = {}
    known: dict[tuple[str, tuple[int, ...]], str] = {}
    for wave in program.waves():
        for index, batch in enumerate(wave.batches):
            key = (wave.group, tuple(wave.members[member].step for member in batch))
            digest = known.get(key)
            if digest is None:
                digest = known[key] = plan.add("documents", partial(_documents, program, wave, index))
            path = _view_path(program, wave, index)
            if link is not None:
                plan.view(path, partial(_linked, program, wave, index, link))
            elif digest in view_of:
                path = view_of[digest]
            else:
                view_of[digest] = path
                plan.view(path, partial(_shown, program, wave, index, early))
            plan.entries.append(
                BatchEntry(
                    node=wave.id,
                    number=wave.number,
                    label=label(wave, program),
                    object=digest,
                    view=path,
                    batch=index + 1 if len(wave.batches) > 1 else 0,
                )
            )


def _documents(program: Program, wave: Wave, index: int) -> tuple[bytes]:
    return (canonical_bytes(documents_to_json(unlinked(program, wave, index))),)


def _linked(program: Program, wave: Wave, index: int, link: LinkRecord) -> tuple[bytes]:
    launch = LaunchValues(attempt=1, fence=1, launch_id=show(LAUNCH_ID), number=wave.number)
    return (to_yaml(link_documents(unlinked(program, wave, index), link, launch)).encode(),)


def _shown(program: Program, wave: Wave, index: int, early: Mapping[str, Mapping[str, str]]) -> tuple[bytes]:
    return (to_yaml(show_documents(unlinked(program, wave, index), **early)).encode(),)


def _view_path(program: Program, wave: Wave, index: int) -> str:
    batch = f"-b{index + 1}" if len(wave.batches) > 1 else ""
    return f"{WAVES}/{wave.number:03d}{batch}-{label(wave, program)}.sky.yaml"


def _write(directory: Path, plan: _Plan, manifest: Manifest) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if isinstance(error, FileExistsError | NotADirectoryError):
            raise BuildError(
                f"{_in_the_way(directory)}, so no build can be written to {directory}.",
                "Choose another folder with -o, or move that away.",
            ) from error
        raise BuildError(
            f"The folder {directory} could not be made: {error.strerror}.",
            "Choose another folder with -o, or mend its permissions.",
        ) from error
    previous = _previous(directory)
    owned = _owned(directory, previous)
    _refuse_foreign(directory, plan, owned)
    write_atomic(directory / PENDING, pretty(sorted(owned | plan.paths())))
    store = ObjectStore(directory)
    for _, body in plan.objects.values():
        store.put_body(body)
    for path, body in plan.views.items():
        write_atomic(directory / path, body.parts() if body.kept is None else body.kept)
    write_atomic(directory / FILE, manifest_bytes(manifest))
    _clean(directory, plan, owned)


def _in_the_way(directory: Path) -> str:
    """Say what stands where the folder, or one above it, should be."""
    for path in (directory, *directory.parents):
        if os.path.lexists(path):
            break
    kind = "a file" if path.is_file() else "a device, pipe or socket"
    if path.is_symlink():
        kind = f"a link to {kind}" if path.exists() else "a link that leads nowhere"
    return f"{path} is {kind}, not a folder"


def _previous(directory: Path) -> Manifest | None:
    path = directory / FILE
    try:
        return manifest_from_bytes(read_regular(path, MAX_MANIFEST_BYTES))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise BuildError(
            f"{path} is there and is no manifest that this npac can read ({error}).",
            "Choose another folder with -o, or move that file away.",
        ) from error
    except OSError as error:
        raise unreadable(path, error, "choose another folder with -o") from error


def _owned(directory: Path, previous: Manifest | None) -> set[str]:
    """The files that npac wrote here: those of the last build, and of one that was cut off."""
    owned: set[str] = set()
    if previous:
        owned.update(view.path for view in previous.views)
        owned.update(object_path(entry.digest) for entry in previous.objects)
    try:
        pending = json.loads(read_regular(directory / PENDING, MAX_MANIFEST_BYTES))
    except (OSError, ValueError):
        return owned
    names = pending if isinstance(pending, list) else []
    # The note is a plain file; only names of the shape that npac writes are taken from it.
    return owned | {name for name in names if isinstance(name, str) and _OWN.fullmatch(name)}


def _refuse_foreign(directory: Path, plan: _Plan, owned: set[str]) -> None:
    for name in (WAVES, "objects", OBJECTS):
        folder = directory / name
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise BuildError(
                f"{folder} is there and is not a plain folder.",
                "Move it away, or choose another folder with -o.",
            )
    for name, body in plan.views.items():
        path = directory / name
        if name in owned or not (path.exists() or path.is_symlink()):
            continue
        if path.is_file() and not path.is_symlink() and body.held_by(path):
            continue
        raise BuildError(
            f"{path} is there and npac did not write it.", "Move it away, or choose another folder with -o."
        )


def _clean(directory: Path, plan: _Plan, owned: set[str]) -> None:
    """Remove what an earlier build left: its files, and traces of one that was cut off."""
    try:
        for name in sorted(owned - plan.paths()):
            path = directory / name
            path.unlink(missing_ok=True)
            if name.startswith(OBJECTS) and path.parent.is_dir() and not any(path.parent.iterdir()):
                path.parent.rmdir()
        folders = [directory, directory / WAVES, *(directory / OBJECTS).iterdir()]
        for folder in folders:
            for path in folder.glob(f"{TEMPORARY}*"):
                path.unlink(missing_ok=True)
        # The note goes last: were it gone first, nobody would know any more whose files are left.
        for folder in (*folders, directory / OBJECTS):
            if folder.is_dir():
                sync_folder(folder)
        (directory / PENDING).unlink(missing_ok=True)
        sync_folder(directory)
    except OSError as error:
        raise BuildError(
            f"{directory} holds files of an earlier build that could not be removed: {error.strerror}.",
            "Mend its permissions and compile again.",
        ) from error
