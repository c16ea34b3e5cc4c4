"""What an S3 store that refuses, breaks off or lies is taken for: never for absence."""

from __future__ import annotations

import http.server
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from npac.ledger.ports import Observation, StoreChanged, StoreError
from npac.ledger.stores import store_for
from npac.ledger.stores.s3 import ATTEMPTS

pytest.importorskip("boto3", reason="boto3 is not installed")

STAMP = formatdate(1_700_000_000, usegmt=True)
GOOD = {"ETag": '"e"', "Last-Modified": STAMP}


@dataclass
class Reply:
    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    """What Content-Length says, where that is not the truth."""


@dataclass
class Endpoint:
    """A server that answers as it is told, and keeps what it was asked."""

    url: str = ""
    replies: dict[str, list[Reply]] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def answers(self, method: str, *replies: Reply) -> None:
        """Answer with ``replies`` one after the other, and with the last one from then on."""
        self.replies[method] = list(replies)


@pytest.fixture
def endpoint(aws: Callable[[str], None]) -> Iterator[Endpoint]:
    told = Endpoint()

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            told.asked.append((self.command, self.path, dict(self.headers)))
            left = told.replies[self.command]
            reply = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body) if reply.length is None else reply.length))
            self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)
            self.close_connection = True

        do_GET = do_HEAD = answer

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the test's output clean."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    aws(told.url)
    yield told
    server.shutdown()
    thread.join()
    server.server_close()


def fault(status: int, code: str) -> Reply:
    return Reply(status, f"<Error><Code>{code}</Code><Message>told</Message></Error>".encode())


def page(*keys: str, more: str = "", truncated: bool = False) -> Reply:
    contents = "".join(
        f"<Contents><Key>{key}</Key><Size>1</Size><ETag>e</ETag>"
        "<LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
        for key in keys
    )
    token = f"<NextContinuationToken>{more}</NextContinuationToken>" if more else ""
    cut = "true" if more or truncated else "false"
    return Reply(
        200,
        f"<ListBucketResult><IsTruncated>{cut}</IsTruncated>{contents}{token}</ListBucketResult>".encode(),
    )


ACTS: list[Callable[[str], object]] = [
    lambda uri: store_for(uri).observe(uri, "file"),
    lambda uri: store_for(uri).observe(uri, "directory"),
    lambda uri: store_for(uri).read(uri),
    lambda uri: list(store_for(uri).list(uri)),
]


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize(
    ("status", "code", "reason", "remedy"),
    [
        (403, "AccessDenied", "access was refused", "may read and list that bucket"),
        (401, "Unauthorized", "credentials were not accepted", "AWS_ACCESS_KEY_ID"),
        (400, "BadRequest", "answered with status 400", "AWS_ENDPOINT_URL"),
        (501, "NotImplemented", "failed with status 501", "Try again later"),
    ],
)
def test_a_refusal_is_an_error_with_reason_and_remedy(
    endpoint: Endpoint, act: Callable[[str], object], status: int, code: str, reason: str, remedy: str
) -> None:
    endpoint.answers("HEAD", Reply(status))
    endpoint.answers("GET", fault(status, code))
    with pytest.raises(StoreError, match=reason) as caught:
        act("s3://bucket-1/k")
    assert "s3://bucket-1/k" in str(caught.value) and remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("status", "code", "reason", "remedy"),
    [
        (400, "ExpiredToken", "credentials have expired", "AWS_ACCESS_KEY_ID"),
        (403, "InvalidToken", "credentials are not valid", "AWS_ACCESS_KEY_ID"),
        (403, "RequestTimeTooSkewed", "clock is not that of the store", "Set the clock"),
    ],
)
def test_a_refusal_with_a_code_is_said_by_the_code(
    endpoint: Endpoint, status: int, code: str, reason: str, remedy: str
) -> None:
    endpoint.answers("GET", fault(status, code))
    with pytest.raises(StoreError, match=reason) as caught:
        store_for("s3://bucket-1/k").read("s3://bucket-1/k")
    assert remedy in caught.value.remedy


def test_own_endpoints_are_asked_by_path(endpoint: Endpoint) -> None:
    endpoint.answers("HEAD", Reply(200, b"abc", GOOD))
    seen = store_for("s3://bucket-1/a/k").observe("s3://bucket-1/a/k", "file")
    assert seen is not None and seen.size == 3
    assert seen.identity["last_modified"] == "2023-11-14T22:13:20+00:00"
    assert endpoint.asked[0][:2] == ("HEAD", "/bucket-1/a/k")


def test_the_endpoint_for_s3_alone_goes_first(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint.url)
    endpoint.answers("HEAD", Reply(200, b"abc", GOOD))
    assert store_for("s3://bucket-1/k").observe("s3://bucket-1/k", "file") is not None


def test_the_endpoint_of_a_profile_is_asked_by_path(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text(f"[profile mine]\nregion = us-east-1\nendpoint_url = {endpoint.url}\n")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "mine")
    endpoint.answers("HEAD", Reply(200, b"abc", GOOD))
    assert store_for("s3://bucket-1/k").observe("s3://bucket-1/k", "file") is not None
    assert endpoint.asked[0][1] == "/bucket-1/k"


def test_a_missing_profile_is_said(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(StoreError, match="profile does not exist") as caught:
        store_for("s3://bucket-1/k").observe("s3://bucket-1/k", "file")
    assert "AWS_PROFILE" in caught.value.remedy


def test_missing_credentials_are_said(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(StoreError, match="there are no AWS credentials") as caught:
        store_for("s3://bucket-1/k").observe("s3://bucket-1/k", "file")
    assert "AWS_ACCESS_KEY_ID" in caught.value.remedy and endpoint.asked == []


def test_half_a_pair_of_credentials_is_said(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(StoreError, match="credentials are incomplete"):
        store_for("s3://bucket-1/k").observe("s3://bucket-1/k", "file")


def test_an_endpoint_that_is_not_there_does_not_make_things_absent(aws: Callable[[str], None]) -> None:
    aws("http://127.0.0.1:9")
    with pytest.raises(StoreError, match="the store did not answer") as caught:
        store_for("s3://bucket-1/k").observe("s3://bucket-1/k", "file")
    assert "AWS_ENDPOINT_URL" in caught.value.remedy


def test_a_server_that_knows_nothing_does_not_make_things_absent(endpoint: Endpoint) -> None:
    endpoint.answers("HEAD", Reply(404))
    with pytest.raises(StoreError, match="no such bucket at this endpoint"):
        store_for("s3://bucket-1/k").observe("s3://bucket-1/k", "file")


def test_absence_needs_no_right_to_look_at_the_bucket(endpoint: Endpoint) -> None:
    endpoint.answers("HEAD", Reply(404), Reply(403))
    assert store_for("s3://bucket-1/k").observe("s3://bucket-1/k", "file") is None


def test_a_passing_failure_is_asked_again_a_bounded_number_of_times(endpoint: Endpoint) -> None:
    endpoint.answers("HEAD", Reply(503), Reply(200, b"abc", GOOD))
    assert store_for("s3://bucket-1/k").observe("s3://bucket-1/k", "file") is not None
    endpoint.asked.clear()
    endpoint.answers("HEAD", Reply(500))
    with pytest.raises(StoreError, match="failed with status 500"):
        store_for("s3://bucket-1/k").observe("s3://bucket-1/k", "file")
    assert len(endpoint.asked) == ATTEMPTS


def test_the_recorded_etag_is_sent_as_a_condition(endpoint: Endpoint) -> None:
    identity = {"etag": '"e"', "version": "", "last_modified": "2023-11-14T22:13:20+00:00", "size": 3}
    seen = Observation("s3://bucket-1/k", identity, 3, False)
    endpoint.answers("GET", Reply(200, b"abc", GOOD), fault(412, "PreconditionFailed"))
    store = store_for(seen.uri)
    assert store.read(seen.uri, seen) == b"abc"
    assert endpoint.asked[0][2]["If-Match"] == '"e"'
    with pytest.raises(StoreChanged):
        store.read(seen.uri, seen)


def test_a_store_that_ignores_the_condition_is_found_out(endpoint: Endpoint) -> None:
    identity = {"etag": '"old"', "version": "", "last_modified": "2023-11-14T22:13:20+00:00", "size": 3}
    endpoint.answers("GET", Reply(200, b"abc", GOOD))
    with pytest.raises(StoreChanged, match="old"):
        store_for("s3://bucket-1/k").read(
            "s3://bucket-1/k", Observation("s3://bucket-1/k", identity, 3, False)
        )


def test_a_body_that_breaks_off_is_read_again_and_never_taken_for_whole(endpoint: Endpoint) -> None:
    broken = Reply(200, b"ab", GOOD, length=3)
    endpoint.answers("GET", broken, Reply(200, b"abc", GOOD))
    assert store_for("s3://bucket-1/k").read("s3://bucket-1/k") == b"abc"
    endpoint.asked.clear()
    endpoint.answers("GET", broken)
    with pytest.raises(StoreError, match="could not read s3://bucket-1/k to its end"):
        store_for("s3://bucket-1/k").read("s3://bucket-1/k")
    assert len(endpoint.asked) == ATTEMPTS


def test_objects_without_identity_are_refused(endpoint: Endpoint) -> None:
    endpoint.answers("HEAD", Reply(200, b"abc", {"Last-Modified": STAMP}))
    with pytest.raises(StoreError, match="cannot be told apart"):
        store_for("s3://bucket-1/k").observe("s3://bucket-1/k", "file")


def test_a_listing_follows_its_pages(endpoint: Endpoint) -> None:
    endpoint.answers("GET", page("a", "b", more="t1"), page("c"))
    assert [info.key for info in store_for("s3://bucket-1/").list("s3://bucket-1/")] == ["a", "b", "c"]
    assert "continuation-token=t1" in endpoint.asked[1][1]


@pytest.mark.parametrize(
    "pages",
    [
        [page("a", truncated=True)],
        [page("a", more="t"), page("b", more="t"), page("c")],
        [page("b", "a")],
        [page("a", more="t"), page("a")],
        [page("a", more="t"), fault(403, "AccessDenied")],
    ],
    ids=["cut off", "same token", "out of order", "again", "refused in the middle"],
)
def test_a_listing_that_is_not_whole_is_an_error(endpoint: Endpoint, pages: list[Reply]) -> None:
    endpoint.answers("GET", *pages)
    with pytest.raises(StoreError, match="could not list s3://bucket-1/"):
        list(store_for("s3://bucket-1/").list("s3://bucket-1/"))
    endpoint.answers("GET", *pages)
    with pytest.raises(StoreError):
        store_for("s3://bucket-1").observe("s3://bucket-1", "directory")


def test_without_boto3_the_extra_is_named(python: Callable[..., subprocess.Popen[str]]) -> None:
    program = """
import sys
sys.modules["boto3"] = sys.modules["botocore"] = sys.modules["botocore.exceptions"] = None
from npac.ledger.ports import StoreError
from npac.ledger.stores import store_for
store = store_for("s3://bucket-1/k")
for act in (lambda u: store.observe(u, "file"), store.read, lambda u: list(store.list(u))):
    try:
        act("s3://bucket-1/k")
    except StoreError as error:
        print(error, "|", error.remedy)
"""
    out, err = python(program).communicate(timeout=60)
    assert err == ""
    assert len(out.splitlines()) == 3
    assert all("boto3, which is not installed" in x and "pip install boto3" in x for x in out.splitlines())


def test_nothing_heavy_is_imported_before_it_is_used(python: Callable[..., subprocess.Popen[str]]) -> None:
    program = """
import sys
import npac.ledger.root, npac.ledger.fold, npac.ledger.stores.s3, npac.ledger.stores.file
from npac.ledger.stores import store_for
store_for("file:///tmp/x").observe("file:///tmp/x", "file")
heavy = ("boto3", "botocore", "rfc8785", "pydantic", "jinja2", "networkx", "jsonschema", "rich")
print([name for name in heavy if name in sys.modules])
"""
    out, err = python(program).communicate(timeout=60)
    assert (out.strip(), err) == ("[]", "")


def test_an_impossible_bucket_name_is_a_permanent_fault_and_a_failing_store_is_not(
    endpoint: Endpoint,
) -> None:
    endpoint.answers("GET", fault(400, "InvalidBucketName"))
    with pytest.raises(StoreError, match="no bucket can have that name") as caught:
        list(store_for("s3://Bucket_1/k").list("s3://Bucket_1/k"))
    assert caught.value.permanent and len(endpoint.asked) == 1
    endpoint.answers("GET", fault(500, "InternalError"))
    with pytest.raises(StoreError) as caught:
        list(store_for("s3://bucket-1/k").list("s3://bucket-1/k"))
    assert not caught.value.permanent
