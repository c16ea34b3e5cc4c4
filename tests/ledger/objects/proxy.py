"""An HTTP proxy before an S3 server that breaks what passes through it, as it is told.

A server that checks a condition and stores afterwards, in threads, is not atomic; so writes pass one at a
time, which makes the conditional ones linearizable, as those of a real store are.
"""

from __future__ import annotations

import http.client
import http.server
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

_HOP = frozenset(
    ("connection", "keep-alive", "transfer-encoding", "content-length", "expect", "date", "server")
)


@dataclass
class Fault:
    """What is to happen to the next ``times`` requests of ``method`` whose path matches ``path``.

    ``status``: the answer that the client gets (0: none, the connection is reset).  ``stored``: the
    request is passed on all the same.  ``later``: seconds after the client was answered at which it is
    passed on.  ``delay``: seconds before anything is done.  ``cut``: of the real answer only so many
    bytes are sent.  ``code``: the error code in the answer.  ``condition``: False takes away the
    condition of a write, as a store does that does not know it.  ``only_conditional``: only writes
    with a condition match.  ``every``: where it is more than 1, only each so-manieth request that
    matches fails, and ``times`` does not count.
    """

    method: str
    path: str
    status: int | None = None
    stored: bool = False
    later: float = 0.0
    delay: float = 0.0
    cut: int | None = None
    code: str = "InternalError"
    condition: bool = True
    only_conditional: bool = False
    every: int = 1
    times: int = 1
    matched: int = 0


@dataclass
class Proxy:
    """The proxy as the tests see it."""

    url: str = ""
    faults: list[Fault] = field(default_factory=list)
    seen: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of each request, in the order in which they came."""
    late: list[threading.Thread] = field(default_factory=list)

    def fail(self, method: str, path: str, **what: Any) -> Fault:
        """Have the next requests fail; gives the fault, whose ``times`` counts down."""
        fault = Fault(method, path, **what)
        self.faults.append(fault)
        return fault

    def settle(self) -> None:
        """Wait until what was held back has been passed on."""
        for thread in self.late:
            thread.join()

    def count(self, method: str, path: str) -> int:
        """Say how many requests of a kind there were."""
        return sum(one == method and re.search(path, other) is not None for one, other in self.seen)


@contextmanager
def proxied(upstream: str) -> Iterator[Proxy]:
    """Run a proxy before the server at ``upstream`` in threads of this process."""
    told = Proxy()
    lock, writing = threading.Lock(), threading.Lock()
    host = urlsplit(upstream).netloc

    def chosen(method: str, path: str, conditional: bool) -> Fault | None:
        with lock:
            told.seen.append((method, path))
            for fault in told.faults:
                if fault.only_conditional and not conditional:
                    continue
                if fault.times and fault.method == method and re.search(fault.path, path):
                    fault.matched += 1
                    if fault.matched % fault.every:
                        continue
                    fault.times -= fault.every == 1
                    return fault
        return None

    def forward(
        method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(host, timeout=30)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
            return answer.status, answer.getheaders(), data
        finally:
            connection.close()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = chosen(self.command, self.path, "If-None-Match" in self.headers)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in _HOP}
            if fault is not None and not fault.condition:
                headers = {k: v for k, v in headers.items() if k.lower() != "if-none-match"}
            if fault is not None and fault.delay:
                time.sleep(fault.delay)
            if fault is not None and fault.status is not None:
                if fault.stored:
                    self.passed_on(headers, body)
                if fault.later:
                    self.passed_on_later(headers, body, fault.later)
                if fault.status == 0:
                    self.reset()
                else:
                    text = f"<Error><Code>{fault.code}</Code><Message>told</Message></Error>"
                    self.reply(fault.status, [("Content-Type", "application/xml")], text.encode())
                return
            status, answered, data = self.passed_on(headers, body)
            self.reply(status, answered, data, fault.cut if fault is not None else None)

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = handle_any

        def passed_on(self, headers: dict[str, str], body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            if self.command == "GET":
                return forward(self.command, self.path, headers, body)
            with writing:
                return forward(self.command, self.path, headers, body)

        def passed_on_later(self, headers: dict[str, str], body: bytes, seconds: float) -> None:
            method, path = self.command, self.path

            def late() -> None:
                time.sleep(seconds)
                with writing:
                    forward(method, path, headers, body)

            thread = threading.Thread(target=late)
            thread.start()
            told.late.append(thread)

        def reset(self) -> None:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True

        def reply(
            self, status: int, headers: list[tuple[str, str]], data: bytes, cut: int | None = None
        ) -> None:
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in _HOP:
                    self.send_header(name, value)
            length = dict(headers).get("Content-Length", "0") if self.command == "HEAD" else str(len(data))
            self.send_header("Content-Length", length)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data if cut is None else data[:cut])
            if cut is not None:
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the test's output clean."""

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that went away, or was cut off, is what this is about."""

    server = Server(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield told
    finally:
        told.settle()
        server.shutdown()
        thread.join()
        server.server_close()
