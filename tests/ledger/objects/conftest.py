"""Ledgers in a real S3 server, behind a proxy that can break every request and answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from npac.ledger.objects.client import Clients
from npac.ledger.objects.ledger import ObjectLedger
from npac.ledger.objects.root import ObjectRoot
from tests.ledger.objects.proxy import Proxy, proxied

boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")

READ_SECONDS = 2.0


@pytest.fixture(scope="module")
def shared_proxy(moto_url: str) -> Iterator[Proxy]:
    with proxied(moto_url) as made:
        yield made


@pytest.fixture(scope="module")
def clients(shared_proxy: Proxy) -> Clients:
    """Give clients that are made once: that takes longer than most tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", shared_proxy.url)
        patch.setenv("AWS_REGION", "us-east-1")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "testing")
        made = Clients(read_seconds=READ_SECONDS, attempts=2)
        assert made.repeating is not made.once
        return made


@pytest.fixture(scope="module")
def direct(moto_url: str) -> Any:
    """Give all buckets, past the proxy."""
    return boto3.resource(
        "s3",
        endpoint_url=moto_url,
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    )


@pytest.fixture
def proxy(shared_proxy: Proxy) -> Iterator[Proxy]:
    yield shared_proxy
    shared_proxy.settle()
    shared_proxy.faults.clear()
    shared_proxy.seen.clear()
    shared_proxy.late.clear()


@pytest.fixture
def bucket(direct: Any) -> Any:
    made = direct.Bucket(f"bucket-{uuid.uuid4().hex}")
    made.create()
    return made


@pytest.fixture
def make_root(bucket: Any, clients: Clients, proxy: Proxy) -> Callable[..., ObjectRoot]:
    """Give what makes roots at one and the same place, each as another process would."""
    return lambda **given: ObjectRoot(f"s3://{bucket.name}/runs", clients=clients, **given)


@pytest.fixture
def s3_ledger(make_root: Callable[..., ObjectRoot]) -> ObjectLedger:
    return make_root().create("run-1")
