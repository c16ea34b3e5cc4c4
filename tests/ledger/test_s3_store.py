"""Artifacts in S3, at a real HTTP endpoint on the loopback."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from npac.ledger.canonical import canonical_bytes
from npac.ledger.ports import Store, StoreChanged, StoreError
from npac.ledger.stores import store_for
from npac.ledger.stores.s3 import S3Store, split

boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")


@pytest.fixture
def client(moto_url: str, aws: Callable[[str], None]) -> Any:
    aws(moto_url)
    return boto3.client("s3", endpoint_url=moto_url)


@pytest.fixture
def bucket(client: Any) -> str:
    name = f"bucket-{uuid.uuid4().hex}"
    client.create_bucket(Bucket=name)
    return name


@pytest.fixture
def store(bucket: str) -> Store:
    return store_for(f"s3://{bucket}/")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("s3://b-1/a/b", ("b-1", "a/b")),
        ("s3://b-1", ("b-1", "")),
        ("s3://b-1/a%20b//c/", ("b-1", "a%20b//c/")),
    ],
)
def test_bucket_and_key(text: str, parts: tuple[str, str]) -> None:
    assert split(text) == parts


@pytest.mark.parametrize("text", ["s3://", "s3:///k", "s3://b b/k", "file:///a", "b/k", "s3://../k"])
def test_other_uris_are_refused(text: str) -> None:
    with pytest.raises(StoreError, match="does not name a bucket"):
        split(text)


def test_one_store_serves_one_state_of_the_environment(
    store: Store, bucket: str, aws: Callable[[str], None]
) -> None:
    assert store_for(f"s3://{bucket}/x") is store
    aws("http://127.0.0.1:9")
    assert store_for(f"s3://{bucket}/x") is not store


def test_an_object_is_bound_by_etag_version_time_and_size(store: Store, client: Any, bucket: str) -> None:
    uri = f"s3://{bucket}/a b/\u00e4.json"
    assert store.observe(uri, "file") is None
    client.put_object(Bucket=bucket, Key="a b/\u00e4.json", Body=b"one")
    seen = store.observe(uri, "file")
    assert seen is not None and (seen.size, seen.empty, seen.uri) == (3, False, uri)
    assert set(seen.identity) == {"etag", "version", "last_modified", "size"}
    assert seen.identity["etag"] == f'"{hashlib.md5(b"one").hexdigest()}"'
    assert store.observe(uri, "file") == seen
    canonical_bytes(seen.identity)
    client.put_object(Bucket=bucket, Key="a b/\u00e4.json", Body=b"two")
    other = store.observe(uri, "file")
    assert other is not None and other.identity != seen.identity


def test_versions_tell_equal_bytes_apart(store: Store, client: Any, bucket: str) -> None:
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    uri = f"s3://{bucket}/k"
    client.put_object(Bucket=bucket, Key="k", Body=b"same")
    first = store.observe(uri, "file")
    client.put_object(Bucket=bucket, Key="k", Body=b"same")
    second = store.observe(uri, "file")
    assert first is not None and second is not None
    assert first.identity["etag"] == second.identity["etag"] and first.identity != second.identity
    with pytest.raises(StoreChanged):
        store.read(uri, first)
    assert store.read(uri, second) == b"same"


def test_an_empty_object_is_there_and_empty(store: Store, client: Any, bucket: str) -> None:
    client.put_object(Bucket=bucket, Key="k", Body=b"")
    seen = store.observe(f"s3://{bucket}/k", "file")
    assert seen is not None and seen.empty


def test_a_prefix_is_no_object_and_an_object_no_directory(store: Store, client: Any, bucket: str) -> None:
    client.put_object(Bucket=bucket, Key="d/f", Body=b"x")
    assert store.observe(f"s3://{bucket}/d", "file") is None
    assert store.observe(f"s3://{bucket}/d/", "file") is None
    assert store.observe(f"s3://{bucket}/d/f", "directory") is None
    with pytest.raises(StoreError, match="a whole bucket"):
        store.observe(f"s3://{bucket}/", "file")


def test_a_directory_is_what_is_below_its_slash(store: Store, client: Any, bucket: str) -> None:
    assert store.observe(f"s3://{bucket}/d", "directory") is None
    for key in ("d-other", "dx/y", "d"):
        client.put_object(Bucket=bucket, Key=key, Body=b"beside")
    assert store.observe(f"s3://{bucket}/d", "directory") is None
    client.put_object(Bucket=bucket, Key="d/", Body=b"")
    marker = store.observe(f"s3://{bucket}/d", "directory")
    assert marker is not None and marker.empty and marker.identity["count"] == 1
    client.put_object(Bucket=bucket, Key="d/e/f", Body=b"xyz")
    seen = store.observe(f"s3://{bucket}/d", "directory")
    slash = store.observe(f"s3://{bucket}/d/", "directory")
    assert seen is not None and slash is not None and slash.identity == seen.identity
    assert not seen.empty and seen.size == 3 and seen.identity["count"] == 2
    digest = hashlib.sha256()
    for info in store.list(f"s3://{bucket}/d/"):
        digest.update(canonical_bytes([info.key.removeprefix("d/"), info.identity]) + b"\n")
    assert seen.identity["sha256"] == digest.hexdigest()
    client.put_object(Bucket=bucket, Key="d/e/f", Body=b"abc")
    after = store.observe(f"s3://{bucket}/d", "directory")
    assert after is not None and after.identity != seen.identity


def test_more_than_a_page_is_listed_whole_and_in_order(
    store: Store, client: Any, bucket: str, page: int
) -> None:
    count = 2 * page + 5
    names = [f"many/{n}-\u00e4 +" for n in range(count)]
    for name in names:
        client.put_object(Bucket=bucket, Key=name, Body=b"x")
    client.put_object(Bucket=bucket, Key="manx", Body=b"x")
    assert len(client.list_objects_v2(Bucket=bucket)["Contents"]) == page
    keys = [info.key for info in store.list(f"s3://{bucket}/many/")]
    assert keys == sorted(names, key=str.encode)
    seen = store.observe(f"s3://{bucket}/many", "directory")
    assert seen is not None and seen.identity["count"] == count and seen.size == count
    client.delete_object(Bucket=bucket, Key=keys[-1])
    after = store.observe(f"s3://{bucket}/many", "directory")
    assert after is not None and after.identity["count"] == count - 1


def test_a_listing_takes_the_key_as_a_prefix(store: Store, client: Any, bucket: str) -> None:
    for key in ("ep", "ep/1", "ep-2", "e"):
        client.put_object(Bucket=bucket, Key=key, Body=b"xy")
    assert [info.key for info in store.list(f"s3://{bucket}/ep")] == ["ep", "ep-2", "ep/1"]
    assert [info.size for info in store.list(f"s3://{bucket}")] == [2, 2, 2, 2]
    assert list(store.list(f"s3://{bucket}/zzz")) == []


def test_reading_with_an_observation_asks_the_store_to_compare(
    store: Store, client: Any, bucket: str
) -> None:
    uri = f"s3://{bucket}/decision.json"
    with pytest.raises(FileNotFoundError):
        store.read(uri)
    client.put_object(Bucket=bucket, Key="decision.json", Body=b"promote")
    seen = store.observe(uri, "file")
    assert store.read(uri) == store.read(uri, seen) == b"promote"
    client.put_object(Bucket=bucket, Key="decision.json", Body=b"go back")
    with pytest.raises(StoreChanged, match="has changed"):
        store.read(uri, seen)
    client.delete_object(Bucket=bucket, Key="decision.json")
    with pytest.raises(StoreChanged, match="is missing"):
        store.read(uri, seen)


def test_reading_is_bounded(store: Store, client: Any, bucket: str) -> None:
    client.put_object(Bucket=bucket, Key="big", Body=b"x" * 100)
    assert len(store.read(f"s3://{bucket}/big", limit=100)) == 100
    with pytest.raises(StoreError, match="has 100 bytes, and at most 99 are read"):
        store.read(f"s3://{bucket}/big", limit=99)


def test_a_missing_bucket_is_an_error_and_not_absence(store: Store, bucket: str) -> None:
    uri = f"s3://{bucket}-other/k"
    for act in (
        lambda: store.observe(uri, "file"),
        lambda: store.observe(uri, "directory"),
        lambda: store.read(uri),
        lambda: list(store.list(uri)),
    ):
        with pytest.raises(StoreError, match="there is no such bucket") as caught:
            act()
        assert "Create the bucket" in caught.value.remedy


def test_a_client_may_be_given(client: Any, bucket: str) -> None:
    client.put_object(Bucket=bucket, Key="k", Body=b"x")
    assert S3Store(client).read(f"s3://{bucket}/k") == b"x"
