"""Artifacts in S3 or in a store that speaks its protocol.

Settings are those of every AWS tool: ``AWS_ENDPOINT_URL_S3``, ``AWS_ENDPOINT_URL``, credentials,
region and profile from the environment or ``~/.aws``.  A URI is ``s3://bucket/key``; the key is
taken as it stands, without decoding.
"""

from __future__ import annotations

import importlib.util
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from npac.ledger.ports import ObjectInfo, Observation, StoreError
from npac.ledger.stores.identity import directory
from npac.ledger.stores.s3_faults import changed, failed, status_of

CONNECT_SECONDS = 5
READ_SECONDS = 30
ATTEMPTS = 4
"""How often one request is sent before the store counts as not answering."""

CONNECTIONS = 32
"""How many connections are kept for threads that ask at one time."""

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")


def split(uri: str) -> tuple[str, str]:
    """Give bucket and key of an ``s3://`` URI (the key may be empty); raises :class:`StoreError`."""
    scheme, separator, rest = uri.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme != "s3" or not separator or not _BUCKET.fullmatch(bucket):
        raise StoreError(f"{uri!r} does not name a bucket", remedy="Write s3://bucket/key.", permanent=True)
    return bucket, key


class S3Store:
    """The :class:`~npac.ledger.ports.Store` of ``s3://`` URIs.

    ``client`` is a boto3 S3 client; by default one is made from the environment at first use.
    May be used by several threads.
    """

    def __init__(self, client: Any = None) -> None:
        self._made = client
        self._lock = threading.Lock()
        self._known_buckets: set[str] = set()

    def observe(self, uri: str, kind: str) -> Observation | None:
        """Look at a ``"file"`` (one object) or ``"directory"`` (all objects below the URI and a slash).

        None when the store answers that there is no such object, or none below.  An object whose
        key is only the directory's own name and a slash counts as an entry with an empty name.
        Raises :class:`StoreError` for every other answer, and when the bucket does not exist.
        """
        bucket, key = split(uri)
        if kind == "directory":
            prefix = key if not key or key.endswith("/") else key + "/"
            entries = (
                ObjectInfo(found.key[len(prefix) :], found.identity, found.size)
                for found in self._listed(bucket, prefix, uri)
            )
            seen = directory(uri, entries)
            return seen if seen.identity["count"] else None
        _demand_key(key, uri)
        try:
            head = self._client().head_object(Bucket=bucket, Key=key)
        except faults() as error:
            if status_of(error) == 404:
                self._demand_bucket(bucket, uri)
                return None
            raise failed(error, f"look at {uri}", bucket) from error
        identity = _identity(head)
        return Observation(uri, identity, identity["size"], empty=identity["size"] == 0)

    def mark(self, uri: str) -> str:
        """Give nothing: an object is no link."""
        return ""

    def stale(self, uri: str, kind: str, mark: str) -> bool:
        """Say no: an object is no link."""
        return False

    def make_room(self, uri: str) -> None:
        """Do nothing: keys need no folders.  Raises :class:`StoreError` for a URI that names no bucket."""
        split(uri)

    def read(self, uri: str, expected: Observation | None = None, *, limit: int = 1 << 20) -> bytes:
        """Read an object of at most ``limit`` bytes; see :class:`~npac.ledger.ports.Store`.

        With ``expected`` the store itself is asked to compare the etag, and the whole identity
        is compared again here.
        """
        bucket, key = split(uri)
        _demand_key(key, uri)
        for left in reversed(range(ATTEMPTS)):
            answer = self._get(bucket, key, uri, expected)
            try:
                return _body(answer, uri, expected, limit)
            except faults() as error:
                # The client repeats requests that got no answer; a body that broke off it does not.
                if not left:
                    raise failed(error, f"read {uri} to its end", bucket) from error
        raise AssertionError("the last attempt returns or raises")

    def _get(self, bucket: str, key: str, uri: str, expected: Observation | None) -> Mapping[str, Any]:
        condition = {"IfMatch": expected.identity["etag"]} if expected is not None else {}
        try:
            answer: Mapping[str, Any] = self._client().get_object(Bucket=bucket, Key=key, **condition)
        except faults() as error:
            status = status_of(error)
            if status == 404:
                self._demand_bucket(bucket, uri)
                if expected is None:
                    raise FileNotFoundError(f"there is no object at {uri}") from error
                raise changed(uri, expected.identity, None) from error
            if status == 412 and expected is not None:
                raise changed(uri, expected.identity, {"etag": "another"}) from error
            raise failed(error, f"read {uri}", bucket) from error
        return answer

    def list(self, uri: str) -> Iterator[ObjectInfo]:
        """Yield every object whose key begins with the URI's key, in the order of the keys' bytes.

        Keys are whole keys of the bucket.  Raises :class:`StoreError` when the listing breaks off.
        """
        bucket, key = split(uri)
        return self._listed(bucket, key, uri)

    def _listed(self, bucket: str, prefix: str, uri: str) -> Iterator[ObjectInfo]:
        page: dict[str, str] = {}
        last = b""
        while True:
            try:
                answer = self._client().list_objects_v2(Bucket=bucket, Prefix=prefix, **page)
            except faults() as error:
                raise failed(error, f"list {uri}", bucket) from error
            for item in answer.get("Contents", ()):
                key = item["Key"].encode("utf-8", "surrogatepass")
                if key <= last or not item["Key"].startswith(prefix):
                    raise _bad_listing(uri, f"the key {item['Key']!r} is out of order")
                last = key
                found = _identity(item)
                del found["version"]
                yield ObjectInfo(item["Key"], found, found["size"])
            if not answer.get("IsTruncated"):
                return
            token = answer.get("NextContinuationToken")
            if not token or token == page.get("ContinuationToken"):
                raise _bad_listing(uri, "the listing is cut off without saying how it goes on")
            page = {"ContinuationToken": token}

    def _demand_bucket(self, bucket: str, uri: str) -> None:
        """Refuse to call an object absent because its whole bucket, or the endpoint, is not there."""
        if bucket in self._known_buckets:
            return
        try:
            self._client().head_bucket(Bucket=bucket)
        except faults() as error:
            # Whoever may not look at the bucket still got a good answer about the object.
            if status_of(error) == 403:
                return
            raise failed(error, f"look at {uri}", bucket) from error
        self._known_buckets.add(bucket)

    def _client(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made = make_client()
            return self._made


def demand_boto3() -> None:
    """Refuse with :class:`StoreError` where the package that speaks to S3 is not installed."""
    if importlib.util.find_spec("boto3") is None or importlib.util.find_spec("botocore") is None:
        raise _no_boto3()


def _no_boto3() -> StoreError:
    return StoreError("s3:// needs boto3, which is not installed", remedy="pip install boto3", permanent=True)


def make_client(*, attempts: int = ATTEMPTS, read_seconds: float = READ_SECONDS) -> Any:
    """Make a boto3 S3 client from the environment.

    ``attempts`` is how often one request is sent at most; with 1 the client never repeats any.
    Raises :class:`StoreError`.
    """
    try:
        import boto3  # type: ignore[import-untyped, unused-ignore]
        from botocore.config import Config  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise _no_boto3() from error
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read_seconds,
        max_pool_connections=CONNECTIONS,
        retries={"mode": "standard", "total_max_attempts": attempts},
        # Stores other than AWS's need not know the newer checksums.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    try:
        session = boto3.session.Session()
        client = session.client("s3", config=config)
        host = urlsplit(client.meta.endpoint_url).hostname or ""
        if not host.endswith((".amazonaws.com", ".amazonaws.com.cn")):
            # A store of one's own rarely has a DNS name for every bucket.
            path_style = config.merge(Config(s3={"addressing_style": "path"}))
            client = session.client("s3", config=path_style)
    except Exception as error:
        raise failed(error, "set up the S3 client", "") from error
    return client


def faults() -> tuple[type[Exception], ...]:
    """Give the exceptions by which boto3 says that a request did not work."""
    try:
        from botocore.exceptions import (  # type: ignore[import-untyped, unused-ignore]
            BotoCoreError,
            ClientError,
        )
    except ImportError:
        # Without it no request was ever made; what is under way is the refusal that says so.
        return (OSError,)
    return (ClientError, BotoCoreError, OSError)


def _body(answer: Mapping[str, Any], uri: str, expected: Observation | None, limit: int) -> bytes:
    identity = _identity(answer)
    with closing(answer["Body"]) as body:
        if expected is not None and identity != expected.identity:
            raise changed(uri, expected.identity, identity)
        if identity["size"] > limit:
            raise StoreError(
                f"{uri} has {identity['size']} bytes, and at most {limit} are read",
                remedy="Check that the URI names the object that was meant.",
            )
        data: bytes = body.read()
    return data


def _identity(item: Mapping[str, Any]) -> dict[str, Any]:
    modified = item.get("LastModified")
    size = item.get("ContentLength", item.get("Size"))
    if not isinstance(modified, datetime) or not isinstance(size, int) or not item.get("ETag"):
        raise StoreError(
            "the S3 endpoint gives objects without etag, time or size, so they cannot be told apart",
            remedy="Check that the endpoint URL is that of an S3 store.",
        )
    return {
        "etag": item["ETag"],
        "version": item.get("VersionId") or "",
        "last_modified": modified.astimezone(UTC).isoformat(),
        "size": size,
    }


def _demand_key(key: str, uri: str) -> None:
    if not key:
        raise StoreError(
            f"{uri!r} names a whole bucket, not an object", remedy="Write s3://bucket/key.", permanent=True
        )


def _bad_listing(uri: str, why: str) -> StoreError:
    return StoreError(
        f"could not list {uri}: {why}",
        remedy="Check that the endpoint is a general-purpose S3 store, and try again.",
    )
