"""Artifacts on the file system."""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from pathlib import Path

import pytest

from npac.ledger.canonical import canonical_bytes
from npac.ledger.ports import Observation, StoreChanged, StoreError
from npac.ledger.stores import demand_usable, store_for
from npac.ledger.stores.file import FileStore, path_of

STORE = FileStore()


def uri(path: Path) -> str:
    return path.as_uri()


def observed(path: Path, kind: str = "file") -> Observation:
    seen = STORE.observe(uri(path), kind)
    assert seen is not None
    return seen


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("file:///a/b", "/a/b"),
        ("file://localhost/a/b/", "/a/b/"),
        ("file:///a%20b/%C3%A4%25", "/a b/\u00e4%"),
        ("file:///a/\u00e4 b", "/a/\u00e4 b"),
        ("file:///a/%FF", "/a/\udcff"),
    ],
)
def test_paths_of_file_uris(text: str, path: str) -> None:
    assert path_of(text) == path


@pytest.mark.parametrize(
    "text",
    [
        "file://",
        "file:///",
        "file://///",
        "file://host/a",
        "file:/a",
        "/a",
        "file:///a%2",
        "file:///a%zz",
        "file:///a?b",
        "file:///a#b",
        "file:///a%00b",
        "s3://a/b",
        "FILE:///a",
    ],
)
def test_other_uris_are_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(StoreError) as caught:
        STORE.observe(text, "file")
    assert caught.value.remedy


def test_stores_are_found_by_scheme() -> None:
    assert isinstance(store_for("file:///a"), FileStore)
    for other in ("gs://b/k", "/a", "", "file", "http://x/y"):
        with pytest.raises(StoreError, match="in no store that npac can read") as caught:
            store_for(other)
        assert "file:///" in caught.value.remedy


def test_a_file_is_bound_by_inode_time_and_size(tmp_path: Path) -> None:
    path = tmp_path / "a b"
    assert STORE.observe(uri(path), "file") is None
    path.write_bytes(b"one")
    seen = observed(path)
    state = path.stat()
    assert seen.identity == {"inode": str(state.st_ino), "mtime_ns": str(state.st_mtime_ns), "size": 3}
    assert (seen.size, seen.empty) == (3, False)
    assert observed(path) == seen
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert observed(path).identity != seen.identity
    canonical_bytes(seen.identity)


def test_a_file_that_is_replaced_with_the_same_bytes_is_another(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    seen = observed(path)
    (tmp_path / "b").write_bytes(b"one")
    os.replace(tmp_path / "b", path)
    os.utime(path, ns=(0, int(str(seen.identity["mtime_ns"]))))
    assert observed(path).identity != seen.identity


def test_an_empty_file_is_there_and_empty(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert observed(tmp_path / "a").empty


def test_a_directory_is_no_file_and_a_file_no_directory(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_bytes(b"x")
    assert STORE.observe(uri(tmp_path / "d"), "file") is None
    assert STORE.observe(uri(tmp_path / "d") + "/", "file") is None
    assert STORE.observe(uri(tmp_path / "d" / "f"), "directory") is None
    assert STORE.observe(uri(tmp_path / "d" / "f") + "/", "directory") is None
    assert STORE.observe(uri(tmp_path / "d" / "f" / "below"), "file") is None
    with pytest.raises(FileNotFoundError):
        STORE.read(uri(tmp_path / "d"))


def test_a_directory_is_count_and_digest_over_sorted_entries(tmp_path: Path) -> None:
    assert STORE.observe(uri(tmp_path / "d"), "directory") is None
    names = ["a/z", "a-b", "a/b/c", "b", "a.txt"]
    for number, name in enumerate(names):
        path = tmp_path / "d" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * number)
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(canonical_bytes([name, dict(observed(tmp_path / "d" / name).identity)]) + b"\n")
    for text in (uri(tmp_path / "d"), uri(tmp_path / "d") + "/"):
        seen = STORE.observe(text, "directory")
        assert seen == Observation(text, {"count": 5, "sha256": digest.hexdigest()}, 10, False)


def test_any_change_below_changes_a_directory(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "f").write_bytes(b"x")
    identities = [observed(tmp_path / "d", "directory").identity]
    (tmp_path / "d" / "e" / "f").rename(tmp_path / "d" / "e" / "g")
    identities.append(observed(tmp_path / "d", "directory").identity)
    (tmp_path / "d" / "e" / "g").write_bytes(b"xy")
    identities.append(observed(tmp_path / "d", "directory").identity)
    (tmp_path / "d" / "h").touch()
    identities.append(observed(tmp_path / "d", "directory").identity)
    assert len({str(identity) for identity in identities}) == 4


def test_a_directory_without_bytes_is_there_and_empty(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    assert observed(tmp_path / "d", "directory").identity["count"] == 0
    (tmp_path / "d" / "e" / "f").touch()
    seen = observed(tmp_path / "d", "directory")
    assert seen.empty and seen.identity["count"] == 1


def test_links_are_followed_and_told(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"data")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "gone").symlink_to("nothing")
    seen = observed(tmp_path / "link")
    assert seen.identity == {**observed(tmp_path / "real").identity, "link": "real"}
    assert STORE.read(uri(tmp_path / "link"), seen) == b"data"
    assert STORE.observe(uri(tmp_path / "gone"), "file") is None
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(StoreError, match="could not look at"):
        STORE.observe(uri(tmp_path / "round"), "file")


def test_links_in_a_directory_that_lead_back_or_nowhere_are_no_objects(tmp_path: Path) -> None:
    inner = tmp_path / "d" / "e"
    inner.mkdir(parents=True)
    (inner / "f").write_bytes(b"x")
    (inner / "up").symlink_to(tmp_path / "d")
    (inner / "self").symlink_to("self")
    (inner / "gone").symlink_to("nothing")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "g").write_bytes(b"y")
    (inner / "out").symlink_to(outside)
    assert [info.key for info in STORE.list(uri(tmp_path / "d"))] == [
        str(inner / "f"),
        str(inner / "out" / "g"),
    ]
    assert observed(tmp_path / "d", "directory").identity["count"] == 2


def test_sockets_and_pipes_are_no_artifacts(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for act in (lambda u: STORE.observe(u, "file"), STORE.read):
        with pytest.raises(StoreError, match="is a pipe, socket or device"):
            act(uri(tmp_path / "pipe"))
    (tmp_path / "f").write_bytes(b"x")
    assert [Path(info.key).name for info in STORE.list(uri(tmp_path))] == ["f"]


def test_reading_refuses_what_is_not_the_observed_file(tmp_path: Path) -> None:
    path = tmp_path / "decision.json"
    path.write_bytes(b"promote")
    seen = observed(path)
    assert STORE.read(uri(path)) == STORE.read(uri(path), seen) == b"promote"
    state = path.stat()
    path.write_bytes(b"go back")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1000))
    with pytest.raises(StoreChanged, match="has changed") as caught:
        STORE.read(uri(path), seen)
    nanoseconds = int(seen.identity["mtime_ns"])
    before, after = (f".{(nanoseconds + more) % 10**9:09d}Z" for more in (0, 1000))
    assert before in str(caught.value) and after in str(caught.value)
    assert "{" not in str(caught.value), "said in words"
    path.unlink()
    with pytest.raises(StoreChanged, match="is missing"):
        STORE.read(uri(path), seen)
    with pytest.raises(FileNotFoundError):
        STORE.read(uri(path))


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc")
def test_a_file_that_does_not_hold_what_it_said_is_not_taken_for_whole() -> None:
    with pytest.raises(StoreChanged):
        STORE.read("file:///proc/self/status")


def test_reading_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"x" * 100)
    assert len(STORE.read(uri(path), limit=100)) == 100
    with pytest.raises(StoreError, match="has 100 bytes, and at most 99 are read"):
        STORE.read(uri(path), limit=99)


def test_a_listing_is_in_the_order_of_whole_keys(tmp_path: Path) -> None:
    names = ["a/z", "a-b", "a", "aa", "a b", "\u00e4/x", "z/y/x", "z-", "z0"]
    made = [name for name in names if name != "a"]
    for name in made:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    keys = [info.key for info in STORE.list(uri(tmp_path))]
    assert keys == sorted((str(tmp_path / name) for name in made), key=os.fsencode)


def test_a_listing_of_one_file_and_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f"
    assert list(STORE.list(uri(path))) == []
    path.write_bytes(b"abc")
    (info,) = STORE.list(uri(path))
    assert (info.key, info.size, info.identity) == (str(path), 3, observed(path).identity)
    assert list(STORE.list(uri(path) + "/")) == []


def test_names_that_are_no_text_are_listed_and_kept_apart(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    for name in (b"\xff", b"\xfe"):
        Path(os.fsdecode(folder + b"/" + name)).write_bytes(b"x")
    assert [info.key for info in STORE.list(uri(tmp_path))] == [f"{tmp_path}/\\xfe", f"{tmp_path}/\\xff"]
    assert observed(tmp_path, "directory").identity["count"] == 2
    assert STORE.read(f"{uri(tmp_path)}/%FF") == b"x"


def test_a_very_deep_tree_is_walked(tmp_path: Path) -> None:
    depth = sys.getrecursionlimit() + 200
    folder = str(tmp_path)
    try:
        for _ in range(depth):
            folder += "/d"
            os.mkdir(folder)
        Path(folder + "/f").write_bytes(b"x")
        assert [info.key for info in STORE.list(uri(tmp_path))] == [folder + "/f"]
    finally:
        # Python's own removal of trees, which clears up after tests, does not reach this deep.
        (Path(folder) / "f").unlink(missing_ok=True)
        while folder != str(tmp_path):
            os.rmdir(folder)
            folder = os.path.dirname(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_what_may_not_be_read_is_an_error_and_not_absence(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "f").write_bytes(b"x")
    os.seteuid(65534)
    try:
        for act in (
            lambda: STORE.observe(uri(folder / "f"), "file"),
            lambda: STORE.observe(uri(folder), "directory"),
            lambda: STORE.read(uri(folder / "f")),
            lambda: list(STORE.list(uri(folder))),
        ):
            with pytest.raises(StoreError, match="Permission denied") as caught:
                act()
            assert "access" in caught.value.remedy
    finally:
        os.seteuid(0)


def test_a_socket_in_a_directory_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        assert observed(tmp_path, "directory").identity["count"] == 0


def test_folders_for_artifacts_are_made_and_what_cannot_be_is_said(tmp_path: Path) -> None:
    STORE.make_room(uri(tmp_path / "a" / "b" / "models") + "/")
    assert (tmp_path / "a" / "b").is_dir() and not (tmp_path / "a" / "b" / "models").exists()
    STORE.make_room(uri(tmp_path / "a" / "b" / "file"))
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="could not be made") as caught:
        STORE.make_room(uri(tmp_path / "file" / "x" / "y"))
    assert caught.value.permanent and "A file stands where" in caught.value.remedy


@pytest.mark.parametrize(
    "bad", ["file://host/a", "file:///a%zz", "file:///", "gs://b/k", "no uri", "s3://-/k"]
)
def test_a_uri_that_can_never_be_looked_at_is_a_permanent_fault(bad: str) -> None:
    with pytest.raises(StoreError) as caught:
        demand_usable(bad)
    assert caught.value.permanent and caught.value.remedy


@pytest.mark.parametrize("good", ["file:///a/b", "file://localhost/a", "s3://bucket-1/k"])
def test_a_uri_that_may_be_looked_at_is_let_through(good: str) -> None:
    demand_usable(good)  # raises StoreError for any other
    assert store_for(good) is not None
