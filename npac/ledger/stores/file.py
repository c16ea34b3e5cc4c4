"""Artifacts on a file system that this process can reach.

What is looked at is what reading would give: links are followed, and an entry's identity says
that it was reached by one.  Only regular files are objects.  A link that leads nowhere, or back into
a directory it came from or one that holds the whole artifact, is no object, nor are sockets, pipes and
devices below a directory.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_to_bytes

from npac.ledger.ports import ObjectInfo, Observation, StoreChanged, StoreError
from npac.ledger.stores import links
from npac.ledger.stores.identity import directory, in_words

_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_RIGHTS = "Give your user access to it and to all folders above, then try again."


def path_of(uri: str) -> str:
    """Give the absolute path of a ``file://`` URI; raises :class:`StoreError` when it has none.

    A trailing slash is kept.
    """
    scheme, separator, rest = uri.partition("://")
    host, slash, tail = rest.partition("/")
    if scheme != "file" or not separator or not slash:
        raise StoreError(f"{uri!r} is not a file URI", remedy="Write file:///absolute/path.", permanent=True)
    if host not in ("", "localhost"):
        raise StoreError(
            f"{uri!r} names the host {host!r}, and only files of this machine can be read",
            remedy="Write file:///absolute/path, with three slashes.",
            permanent=True,
        )
    if _PERCENT.search(tail) or "?" in tail or "#" in tail:
        raise StoreError(
            f"{uri!r} holds a '%', '?' or '#' that stands for itself",
            remedy="Write %25, %3F or %23 for these characters.",
            permanent=True,
        )
    path = os.fsdecode(b"/" + unquote_to_bytes(tail))
    if "\0" in path or not path.strip("/"):
        raise StoreError(
            f"{uri!r} names no file or folder", remedy="Write file:///absolute/path.", permanent=True
        )
    return path


class FileStore:
    """The :class:`~npac.ledger.ports.Store` of ``file://`` URIs."""

    def observe(self, uri: str, kind: str) -> Observation | None:
        """Look at a ``"file"`` or ``"directory"``; None when nothing of that kind is there.

        A directory where a file was asked for is absence of the file, and the other way round,
        just as in an object store.  A directory without files is there, and empty.  Raises
        :class:`StoreError` when the path cannot be looked at or is neither.
        """
        path = path_of(uri)
        try:
            state = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _failed(error, "look at", uri) from error
        if kind == "directory":
            if not stat.S_ISDIR(state.st_mode):
                return None
            root = path.rstrip("/") + "/"
            return directory(uri, _walk(root, uri, len(os.fsencode(root))))
        if stat.S_ISDIR(state.st_mode):
            return None
        _demand_regular(state, uri)
        return Observation(uri, _identity(state, path), state.st_size, empty=state.st_size == 0)

    def make_room(self, uri: str) -> None:
        """Make the folder that holds the file or directory, and all above it that lack."""
        folder = os.path.dirname(path_of(uri).rstrip("/"))
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            remedy = _RIGHTS
            if isinstance(error, FileExistsError | NotADirectoryError):
                remedy = "A file stands where a folder must be; move it, or write elsewhere."
            raise StoreError(
                f"the folder {folder} for {uri} could not be made: {error.strerror or error}",
                remedy=remedy,
                permanent=True,
            ) from error

    def mark(self, uri: str) -> str:
        """Give the file system's stamp of this moment, where the artifact is to be; see :meth:`stale`.

        Empty where none can be had.
        """
        try:
            return links.mark(os.path.dirname(path_of(uri).rstrip("/")))
        except OSError:
            return ""

    def stale(self, uri: str, kind: str, mark: str) -> bool:
        """Say whether an artifact is but links to what has not changed since ``mark``."""
        try:
            return links.stale(path_of(uri), mark, whole=kind == "directory")
        except OSError as error:
            raise _failed(error, "look at", uri) from error

    def read(self, uri: str, expected: Observation | None = None, *, limit: int = 1 << 20) -> bytes:
        """Read a file of at most ``limit`` bytes; see :class:`~npac.ledger.ports.Store`.

        A file that changes while it is read is refused as changed, with or without ``expected``.
        """
        path = path_of(uri)
        try:
            # Opening a pipe would wait for its other end.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise _absent(uri, expected) from error
        except OSError as error:
            raise _failed(error, "read", uri) from error
        try:
            state = os.fstat(descriptor)
            if stat.S_ISDIR(state.st_mode):
                raise _absent(uri, expected)
            _demand_regular(state, uri)
            before = _identity(state, path)
            if expected is not None and before != expected.identity:
                raise _changed(uri, expected.identity, before)
            if state.st_size > limit:
                raise _too_big(uri, state.st_size, limit)
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(limit + 1)
            after = _identity(os.fstat(descriptor), path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _failed(error, "read", uri) from error
        finally:
            os.close(descriptor)
        if after != before or len(data) != state.st_size:
            raise _changed(uri, before, after)
        return data

    def list(self, uri: str) -> Iterator[ObjectInfo]:
        """Yield all files below a directory, in the order of their paths' bytes.

        A path without trailing slash that is a file gives that one.  Nothing there gives nothing.
        Keys are absolute paths; bytes that are no text are shown as ``\\xNN``.
        """
        path = path_of(uri)
        try:
            state = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise _failed(error, "list", uri) from error
        if stat.S_ISDIR(state.st_mode):
            yield from _walk(path.rstrip("/") + "/", uri, 0)
        elif stat.S_ISREG(state.st_mode):
            yield ObjectInfo(_key(os.fsencode(path)), _identity(state, path), state.st_size)


def _walk(root: str, uri: str, cut: int) -> Iterator[ObjectInfo]:
    """Yield the files below ``root``, the first ``cut`` bytes of their paths left out of the keys."""
    outside = links.folders_above(root)
    entries, place = _entries(os.fsencode(root), uri)
    open_folders = [(os.fsencode(root), iter(entries if place not in outside else []), place)]
    while open_folders:
        folder, left, _ = open_folders[-1]
        name, state = next(left, (b"", None))
        if state is None:
            open_folders.pop()
            continue
        path = folder + name
        if not name.endswith(b"/"):
            yield ObjectInfo(_key(path[cut:]), _identity(state, os.fsdecode(path)), state.st_size)
        elif (state.st_dev, state.st_ino) not in outside and all(
            (state.st_dev, state.st_ino) != above for _, _, above in open_folders
        ):
            entries, place = _entries(path, uri)
            open_folders.append((path, iter(entries), place))


def _entries(folder: bytes, uri: str) -> tuple[list[tuple[bytes, os.stat_result]], tuple[int, int]]:
    """Give the entries of one folder in order, folders with a slash, and the folder's own place."""
    found: list[tuple[bytes, os.stat_result]] = []
    try:
        own = os.stat(folder)
        for name in os.listdir(folder):
            try:
                state = os.stat(folder + name)
            except OSError as error:
                # Removed since, or a link that leads nowhere.
                if error.errno in (errno.ENOENT, errno.ELOOP):
                    continue
                raise
            if stat.S_ISDIR(state.st_mode):
                # With its slash a folder sorts where the paths below it do.
                found.append((name + b"/", state))
            elif stat.S_ISREG(state.st_mode):
                found.append((name, state))
    except FileNotFoundError:
        return [], (0, 0)
    except OSError as error:
        raise _failed(error, "list", uri) from error
    return sorted(found, key=lambda entry: entry[0]), (own.st_dev, own.st_ino)


def _identity(state: os.stat_result, path: str) -> dict[str, Any]:
    # Inode and time exceed the integers that JSON keeps exactly, so they are written as text.
    identity: dict[str, Any] = {
        "inode": str(state.st_ino),
        "mtime_ns": str(state.st_mtime_ns),
        "size": state.st_size,
    }
    with contextlib.suppress(OSError):
        identity["link"] = _key(os.fsencode(os.readlink(path)))
    return identity


def _key(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _demand_regular(state: os.stat_result, uri: str) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise StoreError(
            f"{uri} is a pipe, socket or device, not a file", remedy="Write the artifact as a regular file."
        )


def _failed(error: OSError, doing: str, uri: str) -> StoreError:
    remedy = _RIGHTS if isinstance(error, PermissionError) else "Check the path and the disk, then try again."
    return StoreError(f"could not {doing} {uri}: {error.strerror or error}", remedy=remedy)


def _absent(uri: str, expected: Observation | None) -> Exception:
    if expected is None:
        return FileNotFoundError(f"there is no file at {uri}")
    return StoreChanged(
        f"{uri} is missing; it was seen with {in_words(expected.identity)}",
        remedy="Put the very same file back, or run again what writes it.",
    )


def _changed(uri: str, before: Any, after: Any) -> StoreChanged:
    return StoreChanged(
        f"{uri} has changed: it was seen with {in_words(before)} and has now {in_words(after)}",
        remedy="Run again what writes it, and let nothing else write there.",
    )


def _too_big(uri: str, size: int, limit: int) -> StoreError:
    return StoreError(
        f"{uri} has {size} bytes, and at most {limit} are read",
        remedy="Check that the URI names the file that was meant.",
    )
