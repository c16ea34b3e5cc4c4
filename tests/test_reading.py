"""Only regular files are read, up to a bound, and nothing is waited for."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from npac.reading import demand_regular, holds, read_head, read_regular


@contextmanager
def odd(folder: Path) -> Iterator[dict[str, Path]]:
    """Give files of every kind that is not regular."""
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    os.symlink("/dev/zero", folder / "endless")
    with socket.socket(socket.AF_UNIX) as end:
        here = os.getcwd()
        os.chdir(folder)  # a socket's path may not be long
        end.bind("socket")
        os.chdir(here)
        yield {name: folder / name for name in ("pipe", "folder", "endless", "socket")}


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"x" * 200_000)
    assert read_regular(file, 200_000) == b"x" * 200_000
    assert read_head(file, 10) == b"x" * 10
    assert read_head(file, 1 << 20) == b"x" * 200_000
    file.write_bytes(b"")
    assert read_regular(file, 0) == b""


def test_what_is_no_regular_file_is_said_and_never_waited_for(tmp_path: Path) -> None:
    said = {}
    with odd(tmp_path) as paths:
        for name, path in paths.items():
            for read in (lambda p: read_regular(p, 10), lambda p: read_head(p, 10), demand_regular):
                with pytest.raises(OSError) as caught:
                    read(path)
                said[name] = caught.value.strerror
            with pytest.raises(OSError):
                holds(path, b"x")
    assert said == {
        "pipe": "it is a pipe, and no regular file",
        "folder": "it is a folder",
        "endless": "it is a device, and no regular file",
        "socket": "it is a socket, and no regular file",
    }


def test_no_more_is_read_than_the_bound(tmp_path: Path) -> None:
    file = tmp_path / "huge"
    with file.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(OSError, match="larger than 1 MiB") as caught:
        read_regular(file, 1 << 20)
    assert caught.value.errno == errno.EFBIG
    assert holds(file, b"\0" * 100) is False
    assert read_head(file, 3) == b"\0\0\0"


def test_a_file_that_says_no_size_is_read_to_its_end_or_the_bound() -> None:
    data = read_regular("/proc/self/status", 1 << 20)
    assert b"VmRSS" in data
    with pytest.raises(OSError) as caught:
        read_regular("/proc/self/status", 20)
    assert caught.value.errno == errno.EFBIG


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_a_name_that_no_file_can_have_is_an_os_error(name: str) -> None:
    with pytest.raises(OSError, match="no file's name can hold"):
        read_regular(name, 10)


def test_holds_compares_all(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"abc")
    assert [holds(file, data) for data in (b"abc", b"ab", b"abcd", b"")] == [True, False, False, False]
