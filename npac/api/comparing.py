"""Comparing programs by meaning, and a build that was kept with what its spec compiles to now."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from npac.api.checking import DEFAULTS, Options, PathLike
from npac.api.compiling import Compiled, build, compile_target, link_record
from npac.build.diff import Change, diff_aspects, diff_programs
from npac.build.diff_text import render as render_changes
from npac.errors import NpacError
from npac.reading import MAX_OBJECT_BYTES, read_regular

if TYPE_CHECKING:
    from npac.ir.linking import LinkRecord

_PINS, _ACCELERATORS = "images pinned", "accelerators replaced"
"""What a build keeps for its run besides the program, as a difference names it."""
_LONGEST = 80
"""Lines of text that are given for one build."""


class Difference(NamedTuple):
    """What runs differently: ``changes`` from the first program to the second, none for the same."""

    changes: tuple[Change, ...]
    same_text: bool = True
    """The two specs, or those that the builds were made from, are the same byte for byte."""

    def as_data(self) -> list[dict[str, Any]]:
        """Give the changes as plain data for JSON."""
        from dataclasses import asdict

        return [asdict(change) for change in self.changes]

    def as_text(self) -> str:
        """Give the changes as text for people, a block for each node or likes of it; empty for none."""
        return render_changes(self.changes)


def diff(a: PathLike, b: PathLike, options: Options = DEFAULTS) -> Difference:
    """Compare two specs, builds or raw SkyPilot YAML files by meaning.

    ``options`` are those of both compilations.  Of a build, the pins and accelerators that it keeps for
    its run count, too.  Raises like :func:`compile`.
    """
    from npac import running

    old, old_blobs, old_pins, old_accelerators = running.load_target(a, options, compile_target, whole=True)
    new, new_blobs, new_pins, new_accelerators = running.load_target(b, options, compile_target, whole=True)
    changes = diff_aspects(
        {_PINS: old_pins, _ACCELERATORS: old_accelerators},
        {_PINS: new_pins, _ACCELERATORS: new_accelerators},
    )
    changes += diff_programs(old, new)
    return Difference(tuple(changes), old_blobs["spec"] == new_blobs["spec"])


def check_drift(compiled: Compiled, folder: PathLike, *, run_id: str | None = None) -> str:
    """Say in what ``folder`` differs from the build of ``compiled``; empty text when in nothing.

    Told are the changes by meaning where the program is another one, and else the lines of the files.
    Nothing in ``folder`` is changed.  Raises :class:`NpacError` when the spec cannot be linked, the
    folder cannot be read, or it was linked for a run id that is not ``run_id``: then every document
    differs, and that says nothing of the spec.
    """
    place = Path(folder)
    _demand_same_run(place, compiled, run_id)
    with TemporaryDirectory(prefix="npac-") as scratch:
        build(compiled, scratch, run_id=run_id)
        now = _files(Path(scratch))
    kept = _files(place)
    if now == kept:
        return ""
    lines = list(_changes(compiled, place, run_id, kept, now))
    if len(lines) > _LONGEST:
        lines[_LONGEST:] = [f"… and {len(lines) - _LONGEST} lines more"]
    return "\n".join(lines)


def _demand_same_run(folder: Path, compiled: Compiled, run_id: str | None) -> None:
    """Refuse to compare documents that were linked for one run with those of another, or of none."""
    from npac.build.errors import BuildError
    from npac.build.reader import read_link, read_manifest

    try:
        link = read_link(folder, read_manifest(folder))
    except BuildError:
        return  # what is wrong with it is said where its files are compared
    spec = compiled.checked.source.path
    by_meaning = f"npac diff {shlex.quote(spec)} {shlex.quote(str(folder))} compares what they run"
    if link is None and run_id is not None:
        raise NpacError(
            f"{folder} is not linked, so it cannot hold the documents of run {run_id}",
            remedy=f"Leave --run-id out; {by_meaning}.",
        )
    if link is not None and link.run_id != run_id:
        compared = f"those of run {run_id}" if run_id is not None else "those of no run"
        raise NpacError(
            f"{folder} is linked: its documents are the final ones of run {link.run_id}, and were to be "
            f"compared with {compared}",
            remedy=f"Add {shlex.join(_link_words(link))}; {by_meaning}.",
        )


def _link_words(link: LinkRecord) -> list[str]:
    """Give the options of npac compile that link as ``link`` says."""
    words = ["--run-id", link.run_id]
    words += ["--endpoint", link.endpoint_url] if link.endpoint_url else []
    words += ["--source-uri", link.source_uri] if link.source_uri else []
    for option, table in (("--pin", link.pins), ("--accelerator", link.accelerators)):
        words += [word for written, taken in table.items() for word in (option, f"{written}={taken}")]
    return words


def _files(folder: Path) -> dict[str, bytes]:
    """Give the files below a folder; what is there and is no file cannot be compared."""
    found = {}
    for here, _, names in os.walk(folder):
        for name in names:
            path = Path(here, name)
            try:
                found[path.relative_to(folder).as_posix()] = read_regular(path, MAX_OBJECT_BYTES)
            except OSError as error:
                raise NpacError(
                    f"{path} cannot be read: {error.strerror}", remedy=f"Remove it from {folder}."
                ) from error
    return found


def _link_aspects(link: LinkRecord | None, early: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a build is linked with, or keeps for it; the run id is not looked at."""
    pins = {**early.get("pins", {}), **(link.pins if link is not None else {})}
    accelerators = {**early.get("accelerators", {}), **(link.accelerators if link is not None else {})}
    return {
        _PINS: pins,
        _ACCELERATORS: accelerators,
        "endpoint": link.endpoint_url if link is not None else "",
        "source": link.source_uri if link is not None else "",
    }


def _changes(
    compiled: Compiled, folder: Path, run_id: str | None, kept: dict[str, bytes], now: dict[str, bytes]
) -> Iterator[str]:
    from difflib import unified_diff

    from npac.build.errors import BuildError
    from npac.build.manifest import FILE
    from npac.build.reader import read_build, read_link, read_spec

    try:
        manifest, program = read_build(folder)
    except BuildError as error:
        yield str(error)
        return
    options = compiled.options
    link = link_record(options, run_id) if run_id is not None else None
    early = {"pins": options.pins or {}, "accelerators": options.accelerators or {}}
    changes = diff_aspects(
        _link_aspects(read_link(folder, manifest), manifest.options), _link_aspects(link, early)
    )
    changes += diff_programs(program, compiled.program)
    if changes:
        yield from render_changes(changes).splitlines()
        return
    yield "the program is the same; the files differ:"
    if read_spec(folder, manifest) != compiled.checked.data:
        yield "~ the text of the spec, in nothing that runs"
    names = [name for name in sorted(kept.keys() | now.keys()) if kept.get(name) != now.get(name)]
    # The manifest and the objects' names are digests of the rest: alone they say little.
    own = [name for name in names if not name.startswith("objects/")]
    for name in [name for name in own if name != FILE] or own or names:
        if name not in now:
            yield f"- {name}"
        elif name not in kept:
            yield f"+ {name}"
        else:
            before, after = (files[name].decode("utf-8", "replace").splitlines() for files in (kept, now))
            yield from unified_diff(before, after, f"{folder}/{name}", "compiled now", n=1, lineterm="")
