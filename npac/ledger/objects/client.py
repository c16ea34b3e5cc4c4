"""Reading and writing the objects of ledgers: what an answer of the store proves, and what it does not.

Requests that may be repeated go through a client that repeats them.  A conditional write goes through
another one, which sends it once: a client that repeats it takes the refusal of its own second request
for the answer to the first.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from npac.ledger.ports import LedgerError, StoreError
from npac.ledger.stores.s3 import demand_boto3, faults, make_client, split
from npac.ledger.stores.s3_faults import code_of, failed, status_of

ATTEMPTS = 4
"""How often a request that may be repeated is sent before the store counts as not answering."""

READ_SECONDS = 10.0
"""How long one request may be without an answer.  A driver must find out in time that it is cut off."""

_RIGHTS = (
    "Check that these credentials may read, write and list the bucket below that prefix; without the "
    "right to list, a store answers 403 even for what is not there."
)
_NEVER_SENT = frozenset(("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError",
                         "ParamValidationError", "ProfileNotFound"))  # fmt: skip
_UNCERTAIN_CODES = frozenset(("RequestTimeout", "ConditionalRequestConflict", "OperationAborted"))
_UNCERTAIN_STATUSES = frozenset((408, 409, 425, 429))
_UNSUPPORTED = frozenset(("NotImplemented", "InvalidArgument"))


class InDoubt(LedgerError):
    """A write was sent, and it is not known whether it has been, or will be, stored."""


class Unconditional(LedgerError):
    """The store does not do conditional writes."""


class Listing(NamedTuple):
    """What is directly below a prefix: keys of objects, and names of folders without their slash."""

    keys: list[str]
    folders: list[str]


class Clients:
    """The two clients of the endpoint that the environment names, made at their first use.

    May be used by several threads.
    """

    def __init__(self, *, read_seconds: float = READ_SECONDS, attempts: int = ATTEMPTS) -> None:
        """``attempts`` is how often a request that may be repeated is sent at most."""
        self._lock = threading.Lock()
        self._attempts = attempts
        self._read_seconds = read_seconds
        self._repeating: Any = None
        self._once: Any = None

    @property
    def repeating(self) -> Any:
        """Give the client for requests that may be repeated."""
        with self._lock:
            if self._repeating is None:
                self._repeating = self._made(self._attempts)
            return self._repeating

    @property
    def once(self) -> Any:
        """Give the client that sends each request once."""
        with self._lock:
            if self._once is None:
                self._once = self._made(1)
            return self._once

    def _made(self, attempts: int) -> Any:
        try:
            demand_boto3()
            return make_client(attempts=attempts, read_seconds=self._read_seconds)
        except StoreError as error:
            raise LedgerError(str(error), remedy=error.remedy) from error


class Objects:
    """The objects below one prefix.  Keys are relative to it; all methods raise :class:`LedgerError`."""

    def __init__(self, url: str, clients: Clients) -> None:
        """``url`` is ``s3://bucket`` or ``s3://bucket/prefix``, without a slash at its end."""
        self.url = url
        self.bucket, prefix = split(url)
        self._prefix = f"{prefix}/" if prefix else ""
        self._clients = clients

    def below(self, name: str) -> Objects:
        """Give the objects below a folder of this prefix."""
        return Objects(f"{self.url}/{name}", self._clients)

    def uri(self, key: str) -> str:
        """Give the whole URI of an object, for people."""
        return f"{self.url}/{key}"

    def get(self, key: str) -> bytes | None:
        """Read an object; None when the store says that the bucket is there and the object is not."""
        for left in reversed(range(ATTEMPTS)):
            try:
                answer = self._clients.repeating.get_object(Bucket=self.bucket, Key=self._prefix + key)
            except faults() as error:
                if status_of(error) == 404 and code_of(error) == "NoSuchKey":
                    return None
                raise self._failed(error, f"read {self.uri(key)}") from error
            try:
                with closing(answer["Body"]) as body:
                    data: bytes = body.read()
                return data
            except faults() as error:
                # The client repeats requests that got no answer; a body that broke off it does not.
                if not left:
                    raise self._failed(error, f"read {self.uri(key)} to its end") from error
        raise AssertionError("the last attempt returns or raises")

    def put(self, key: str, body: bytes) -> None:
        """Write an object over what is there; repeated until it is certain that it was stored."""
        try:
            self._clients.repeating.put_object(**self._request(key, body))
        except faults() as error:
            raise self._failed(error, f"write {self.uri(key)}") from error

    def put_soon(self, key: str, body: bytes) -> None:
        """Send one request to write an object over what is there; raises as :meth:`put_new`."""
        self._put_once(key, body, {})

    def put_new(self, key: str, body: bytes) -> bool:
        """Send one request to write an object where none is; gives False when the store says that one is.

        Raises :class:`InDoubt` when the request may have been carried out or may yet be,
        :class:`Unconditional` when the store does not do that, and :class:`LedgerError` when it
        certainly was not carried out.
        """
        return self._put_once(key, body, {"IfNoneMatch": "*"})

    def _put_once(self, key: str, body: bytes, condition: dict[str, str]) -> bool:
        try:
            self._clients.once.put_object(**self._request(key, body), **condition)
        except faults() as error:
            status, code = status_of(error), code_of(error)
            if status == 412 and condition:
                return False
            told = self._failed(error, f"write {self.uri(key)}")
            if condition and (status in (405, 501) or (status == 400 and code in _UNSUPPORTED)):
                raise Unconditional(str(told), remedy=told.remedy) from error
            uncertain = status >= 500 or status in _UNCERTAIN_STATUSES or code in _UNCERTAIN_CODES
            if uncertain or (not status and type(error).__name__ not in _NEVER_SENT):
                raise InDoubt(str(told), remedy=told.remedy) from error
            raise told from error
        return True

    def list(self, prefix: str, *, delimiter: str = "") -> Listing:
        """List what is below a prefix, all pages of it, in the order of the keys' bytes.

        With a ``delimiter`` what lies in folders is given by their names alone.
        """
        found = Listing([], [])
        for page in self._pages(self._prefix + prefix, delimiter, prefix):
            found.keys.extend(item["Key"].removeprefix(self._prefix) for item in page.get("Contents", ()))
            found.folders.extend(
                item["Prefix"].removeprefix(self._prefix).rstrip("/")
                for item in page.get("CommonPrefixes", ())
            )
        return found

    def _pages(self, whole: str, delimiter: str, prefix: str) -> Iterator[dict[str, Any]]:
        doing = f"list {self.uri(prefix)}"
        options = {"Delimiter": delimiter} if delimiter else {}
        token = ""
        while True:
            more = {"ContinuationToken": token} if token else {}
            try:
                page = self._clients.repeating.list_objects_v2(
                    Bucket=self.bucket, Prefix=whole, **options, **more
                )
            except faults() as error:
                raise self._failed(error, doing) from error
            yield page
            if not page.get("IsTruncated"):
                return
            before, token = token, page.get("NextContinuationToken", "")
            if not token or token == before:
                raise LedgerError(
                    f"could not {doing}: the listing is cut off without saying how it goes on",
                    remedy="Check that the endpoint is a general-purpose S3 store, and try again.",
                )

    def _request(self, key: str, body: bytes) -> dict[str, Any]:
        # The store refuses bytes that were changed on their way.
        check = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        return {"Bucket": self.bucket, "Key": self._prefix + key, "Body": body, "ContentMD5": check}

    def _failed(self, error: Exception, doing: str) -> LedgerError:
        told = failed(error, doing, self.bucket)
        denied = status_of(error) == 403 and code_of(error) in ("", "AccessDenied", "Forbidden")
        return LedgerError(str(told), remedy=_RIGHTS if denied else told.remedy)
