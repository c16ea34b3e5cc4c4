"""Making a build: everything is worked out first, and then put into its folder."""

from __future__ import annotations

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
from npac.build.bodies import Bodies, Body, Maker, Tell, silent
from npac.build.errors import BuildError
from npac.build.folder import GRAPH, PROGRAM, WAVES, place
from npac.build.graph import mermaid
from npac.build.manifest import BatchEntry, Manifest, ObjectEntry, ViewEntry
from npac.build.program_view import program_view
from npac.build.store import object_path
from npac.ir.canonical import canonical_bytes, program_parts
from npac.ir.linking import LinkRecord, link_program, record_bytes
from npac.ir.program import Program, Wave, label
from npac.ir.values import show
from npac.ir.verifier import verify


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

    def files(self) -> dict[str, Body]:
        """Every file of the build but the manifest by its path, seen from its folder."""
        return {object_path(digest): body for digest, (_, body) in self.objects.items()} | self.views


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
    tell: Tell = silent,
) -> Manifest:
    """Write ``program`` and its documents to ``directory`` and give the manifest.

    ``overrides`` and ``options`` are plain JSON data.  With ``link``, the views of the waves hold the
    final documents of attempt 1.  ``pins`` and ``accelerators`` are link options that were given before
    a run id is known: they are kept in the manifest's options for the run, and the views show them.
    What an earlier build left in the folder is replaced; a file that
    npac did not write is neither changed nor removed.  ``tell`` is told how far the work is.

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
    _plan_waves(plan, program, link, early, tell)
    plan.view(PROGRAM, partial(program_view, program))
    plan.view(GRAPH, lambda: (mermaid(program).encode(),))
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
    place(directory, plan.files(), manifest, tell)
    return manifest


def _plan_waves(
    plan: _Plan,
    program: Program,
    link: LinkRecord | None,
    early: Mapping[str, Mapping[str, str]],
    tell: Tell,
) -> None:
    view_of: dict[str, str] = {}
    known: dict[tuple[str, tuple[int, ...]], str] = {}
    waves = program.waves()
    for at, wave in enumerate(waves):
        tell("making documents", at, len(waves))
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
