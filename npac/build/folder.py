"""Putting a build into its folder, so that the folder never claims to be a whole build and is none.

First comes a note of the files to come, then the files, and when these are on the disk the manifest;
then what an earlier build left goes, and last the note.  A file that is right already stays as it is,
and a build that is there already is left alone.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from npac.build.bodies import Body, Tell
from npac.build.durable import TEMPORARY, Batch, cannot_write, sync_folder, sync_folders, write_atomic
from npac.build.errors import BuildError, unreadable
from npac.build.manifest import FILE, Manifest, manifest_bytes, manifest_from_bytes
from npac.build.pretty import pretty
from npac.build.store import OBJECTS, object_path
from npac.reading import MAX_MANIFEST_BYTES, read_regular

PENDING = ".npac-pending.json"
"""Stands in a folder while a build is being written: the files there that belong to npac."""
WAVES = "waves"
PROGRAM = "program.json"
GRAPH = "graph.mmd"
_OWN = re.compile(
    rf"{re.escape(PROGRAM)}|{re.escape(GRAPH)}|{WAVES}/[0-9]{{3,}}-[A-Za-z0-9._-]+\.sky\.yaml|"
    rf"{OBJECTS}/[0-9a-f]{{2}}/[0-9a-f]{{64}}"
)
_TOP = frozenset((FILE, PROGRAM, GRAPH, WAVES, OBJECTS.partition("/")[0]))
"""What stands at the top of a build."""
_NAMED = 3
"""Foreign files that are named, when there are more."""


def place(directory: Path, files: Mapping[str, Body], manifest: Manifest, tell: Tell) -> None:
    """Put a build into ``directory``: its files (by path, objects before views) and its manifest.

    Raises :class:`BuildError` when the folder cannot be written, a foreign file is in the way, or the
    folder belongs to something else.
    """
    _make(directory)
    data = manifest_bytes(manifest)
    begun = _begun(directory)
    last = _last(directory)
    if last is None and begun is None:
        _refuse_other_folder(directory)
    owned = set(begun or ())
    if last is not None:
        owned |= files.keys() if last == data else _files_of(directory, last)
    _demand_folders(directory)
    lacking = _lacking(directory, files, owned, begun is not None, tell)
    gone = owned - files.keys()
    if not lacking and not gone and begun is None and last == data:
        _remove_temporaries((directory,))
        return
    write_atomic(directory / PENDING, pretty(sorted(owned | files.keys())))
    root = os.fspath(directory)
    with Batch() as batch:
        for at, name in enumerate(lacking):
            tell("writing files", at, len(lacking))
            body = files[name]
            batch.write(f"{root}/{name}", body.parts() if body.kept is None else body.kept)
        batch.settle()
    if begun is not None or last != data:
        write_atomic(directory / FILE, data)
    _clean(directory, gone, begun is not None)


def _make(directory: Path) -> None:
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


def _in_the_way(directory: Path) -> str:
    """Say what stands where the folder, or one above it, should be."""
    for path in (directory, *directory.parents):
        if os.path.lexists(path):
            break
    kind = "a file" if path.is_file() else "a device, pipe or socket"
    if path.is_symlink():
        kind = f"a link to {kind}" if path.exists() else "a link that leads nowhere"
    return f"{path} is {kind}, not a folder"


def _begun(directory: Path) -> set[str] | None:
    """Give what the note of a build that was cut off says is npac's; None where there is no note."""
    try:
        names = json.loads(read_regular(directory / PENDING, MAX_MANIFEST_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        return set()
    # The note is a plain file; only names of the shape that npac writes are taken from it.
    listed = names if isinstance(names, list) else []
    return {name for name in listed if isinstance(name, str) and _OWN.fullmatch(name)}


def _last(directory: Path) -> bytes | None:
    """Give the manifest that is there."""
    path = directory / FILE
    try:
        return read_regular(path, MAX_MANIFEST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error, "choose another folder with -o") from error


def _files_of(directory: Path, data: bytes) -> set[str]:
    """Give the files of the build that a manifest describes."""
    try:
        last = manifest_from_bytes(data)
    except ValueError as error:
        raise BuildError(
            f"{directory / FILE} is there and is no manifest that this npac can read ({error}).",
            "Choose another folder with -o, or move that file away.",
        ) from error
    return {*(view.path for view in last.views), *(object_path(entry.digest) for entry in last.objects)}


def _refuse_other_folder(directory: Path) -> None:
    """Refuse a folder that holds other things and no build: it is a home, a checkout, or a slip."""
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        raise unreadable(directory, error, "choose another folder with -o") from error
    foreign = [name for name in names if not name.startswith(TEMPORARY) and name not in _TOP]
    if foreign:
        more = f" and {len(foreign) - _NAMED:,} more" if len(foreign) > _NAMED else ""
        raise BuildError(
            f"{directory} holds other things ({', '.join(foreign[:_NAMED])}{more}) and no build, "
            "so no build is written into it.",
            "Choose a new or an empty folder with -o.",
        )


def _demand_folders(directory: Path) -> None:
    for name in (WAVES, "objects", OBJECTS):
        folder = directory / name
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise BuildError(
                f"{folder} is there and is not a plain folder.",
                "Move it away, or choose another folder with -o.",
            )


def _lacking(
    directory: Path, files: Mapping[str, Body], owned: set[str], anew: bool, tell: Tell
) -> list[str]:
    """Give the files that must be written.  Raises :class:`BuildError` for a foreign one in the way.

    What was written by a build that was cut off may be right and not yet on the disk, so it counts as
    lacking (``anew``).
    """
    if not any((directory / name).exists() for name in _TOP):
        return list(files)
    root = os.fspath(directory)
    lacking = []
    for at, (name, body) in enumerate(files.items()):
        path = f"{root}/{name}"
        tell("comparing files", at, len(files))
        try:
            state = os.lstat(path)
            right = stat.S_ISREG(state.st_mode) and state.st_size == body.size and body.held_by(path)
        except FileNotFoundError:
            lacking.append(name)
            continue
        except OSError as error:
            raise cannot_write(path, error) from error
        if not right and name not in owned and not name.startswith(OBJECTS):
            raise BuildError(
                f"{path} is there and npac did not write it.",
                "Move it away, or choose another folder with -o.",
            )
        if anew or not right:
            lacking.append(name)
    return lacking


def _clean(directory: Path, gone: set[str], cut_off: bool) -> None:
    """Remove what an earlier build left: its files, and traces of one that was cut off."""
    root = os.fspath(directory)
    try:
        changed: dict[str, None] = {}
        shards: dict[str, None] = {}
        for name in sorted(gone):
            folder = os.path.dirname(f"{root}/{name}")
            if name.startswith(OBJECTS):
                shards[folder] = None
            with suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(f"{root}/{name}")
                changed[folder] = None
        below = [directory / WAVES, *(directory / OBJECTS).iterdir()] if cut_off else []
        changed |= dict.fromkeys(_remove_temporaries((directory, *below)))
        for folder in shards:
            with suppress(OSError):  # it is not empty, or not there
                os.rmdir(folder)
                changed.pop(folder, None)
                changed[f"{root}/{OBJECTS}"] = None
        # The note goes last: were it gone first, nobody would know any more whose files are left.
        sync_folders(tuple(changed))
        (directory / PENDING).unlink(missing_ok=True)
        sync_folder(directory)
    except OSError as error:
        raise BuildError(
            f"{directory} holds files of an earlier build that could not be removed: {error.strerror}.",
            "Mend its permissions and compile again.",
        ) from error


def _remove_temporaries(folders: Iterable[Path]) -> list[str]:
    """Remove files that never got their name, and give the folders in which there were any."""
    changed = []
    for folder in folders:
        found = list(folder.glob(f"{TEMPORARY}*"))
        for path in found:
            path.unlink(missing_ok=True)
        if found:
            changed.append(os.fspath(folder))
    return changed
