"""Real ledgers in folders, real processes, and a real S3 endpoint on the loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from npac.ledger.root import LedgerRoot
from npac.ledger.sqlite import SqliteLedger

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def root(tmp_path: Path) -> LedgerRoot:
    return LedgerRoot(str(tmp_path / "root"))


@pytest.fixture
def ledger(root: LedgerRoot) -> Iterator[SqliteLedger]:
    made = root.create("run-1")
    yield made
    made.close()


@pytest.fixture
def python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a program in a process of its own; it is killed at the end of the test."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def page() -> int:
    """How many keys the server gives in one answer; a real one gives 1000."""
    return 100


@pytest.fixture(scope="session")
def moto_url(page: int) -> Iterator[str]:
    """Run an S3 server and give its URL."""
    pytest.importorskip("moto.server", reason="moto[server] is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        env={**os.environ, "MOTO_S3_DEFAULT_MAX_KEYS": str(page)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + 60
        while not _answers(url):
            assert server.poll() is None, "the S3 server ended before it answered"
            assert time.monotonic() < end, "the S3 server did not answer in a minute"
            time.sleep(0.05)
        yield url
    finally:
        server.kill()
        server.wait()


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=1).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Point all AWS settings at one endpoint, with keys that open nothing."""

    def point(endpoint: str) -> None:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    return point
