"""An API server of SkyPilot's shape on loopback that can misbehave; it counts what reaches it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

DAEMON = "skypilot-status-refresh-daemon"


@dataclass
class Request:
    """One request as it came in; ``body`` is None while it has not been read."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any = None


@dataclass
class Reply:
    """What is sent back: whole bytes if ``raw``, else a JSON answer.  None closes the connection."""

    status: int = 200
    data: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    text: str | None = None
    claim: int = 0
    """So many bytes more are announced than come."""


Behaviour = Callable[[Request], "Reply | bytes | None"]


class FakeApi:
    """Answers the few endpoints that the engine uses; any of them can be given another behaviour."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seen: list[Request] = []
        self.forget()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def forget(self) -> None:
        """Be as new."""
        self.seen.clear()
        self.created_at = 1000.5
        self.user: dict[str, str] | None = None
        self.rows: Any = []
        self.total: int | None = None
        self.requests: list[dict[str, Any]] = []
        self.results: dict[str, dict[str, Any]] = {}
        self.behaviours: dict[str, Behaviour] = {}
        self.unread: set[str] = set()
        """Paths of which the body is not read."""
        self.stop_after: dict[str, int] = {}
        """How many more answers of a path are given before nobody listens any more."""
        self._numbers = 0

    def close(self) -> None:
        self._shut()
        self._thread.join(5)

    def count(self, path: str, method: str = "POST") -> int:
        return sum(1 for each in self.seen if each.path == path and each.method == method)

    def last(self, path: str) -> Request:
        return [each for each in self.seen if each.path == path][-1]

    def _shut(self) -> None:
        # A thread that waits for a connection is woken by this and not by closing.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            line = stream.readline().decode().split()
            if len(line) < 3:
                return
            headers: dict[str, str] = {}
            while (text := stream.readline().strip()) != b"":
                name, _, value = text.decode().partition(":")
                headers[name.lower()] = value.strip()
            parts = urlsplit(line[1])
            request = Request(line[0], parts.path, parse_qs(parts.query), headers)
            with self._lock:
                self.seen.append(request)
            if parts.path not in self.unread:
                data = stream.read(int(headers.get("content-length", "0")))
                request.body = json.loads(data) if data else None
            reply = self.behaviours.get(parts.path, self._answer)(request)
            if reply is None:
                return
            connection.sendall(reply if isinstance(reply, bytes) else self._bytes(request, reply))
        left = self.stop_after.get(parts.path)
        if left is not None:
            self.stop_after[parts.path] = left - 1
            if left <= 1:
                self._shut()

    def _bytes(self, request: Request, reply: Reply) -> bytes:
        data = (json.dumps(reply.data) if reply.text is None else reply.text).encode()
        headers = {
            "Content-Type": "application/json" if reply.text is None else "text/html",
            "Content-Length": str(len(data) + reply.claim),
            "Connection": "close",
            # The client's own version: whichever SkyPilot asks, the server is of the same.
            "X-SkyPilot-API-Version": request.headers.get("x-skypilot-api-version", ""),
            "X-SkyPilot-Version": request.headers.get("x-skypilot-version", ""),
            **reply.headers,
        }
        head = f"HTTP/1.1 {reply.status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items())
        return head.encode() + b"\r\n" + data

    def accept(self, request: Request, result: Any = None) -> Reply:
        """Take a request that the server works on; its result is there at once."""
        with self._lock:
            self._numbers += 1
            request_id = f"0000-{self._numbers}"
        self.results[request_id] = {
            "status": "SUCCEEDED",
            "return_value": json.dumps(result),
            "error": "null",
        }
        return Reply(headers={"X-Skypilot-Request-ID": request_id})

    def fail(self, request: Request, kind: str, message: str) -> Reply:
        """Take a request that ends with an exception."""
        reply = self.accept(request)
        error = json.dumps({"object": "gASVAA==", "type": kind, "message": message})
        self.results[reply.headers["X-Skypilot-Request-ID"]] |= {"status": "FAILED", "error": error}
        return reply

    def _answer(self, request: Request) -> Reply:
        match request.path:
            case "/api/health":
                return Reply(
                    data={
                        "status": "healthy",
                        "api_version": request.headers.get("x-skypilot-api-version", ""),
                        "version": request.headers.get("x-skypilot-version", ""),
                        "commit": "c0ffee",
                        "user": self.user,
                    }
                )
            case "/api/status":
                return Reply(data=self._status(request))
            case "/validate":
                return Reply()
            case "/jobs/launch" | "/jobs/cancel":
                return self.accept(request)
            case "/jobs/queue/v2":
                wanted = request.body["job_ids"]
                rows = self.rows
                if wanted is not None:
                    rows = [row for row in rows if row["job_id"] in wanted]
                total = len(rows) if self.total is None else self.total
                return self.accept(request, {"jobs": rows, "total": total})
            case "/api/get":
                found = self.results.get(request.query["request_id"][0])
                if found is None:
                    return Reply(404, {"detail": "Request not found"})
                if found["error"] != "null":
                    return Reply(500, {"detail": found})
                return Reply(data=found)
            case "/jobs/logs":
                return Reply(
                    text="first line\nsecond \x1b[31mline\x1b[0m\n", headers={"X-Skypilot-Request-ID": "1"}
                )
        return Reply(404, {"detail": "Not Found"})

    def _status(self, request: Request) -> list[dict[str, Any]]:
        daemon = {"request_id": DAEMON, "name": "sky.status-refresh", "status": "RUNNING"}
        daemon |= {"user_id": "skypilot-system", "request_body": "{}"}
        known = [{**daemon, "created_at": self.created_at}, *self.requests]
        ids = request.query.get("request_ids")
        if ids is None:
            return [each for each in known if each["status"] in ("PENDING", "WAITING", "RUNNING")]
        return [each for each in known if any(each["request_id"].startswith(one) for one in ids)]
