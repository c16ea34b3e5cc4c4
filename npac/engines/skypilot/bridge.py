"""The part of the engine that runs inside SkyPilot: a process that answers lines of JSON.

Run by the interpreter of the SkyPilot that the user names, as ``python -I bridge.py PARENT``, so it
imports nothing of npac and works with Python 3.9.  ``PARENT`` is the id of the process that it serves.

It says who it is first: ``{"protocol": 2, "skypilot": "0.14.1", ...}``.  Then each line on standard
input is a call, ``{"id": 1, "op": "survey", "args": {}}``, and is answered in turn by
``{"id": 1, "ok": {...}}`` or ``{"id": 1, "error": {"phase", "message", "remedy"}}``.  Before that,
a launch says ``{"id": 1, "event": "sending"}`` when the first byte of it is about to leave, and logs
come as ``{"id": 1, "chunk": "text"}``.  When standard input ends, so does the bridge, whatever it does.

Every call is one HTTP request, or a few, each sent once: nothing here is tried again, follows a
redirect or starts a server.  SkyPilot's client library builds the bodies; it sends nothing itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import queue
import re
import signal
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

PROTOCOL = 2
LAUNCH_ID = "NPA_WORKFLOW_ATTEMPT_ID"
LAUNCH_POST = "NPA_LAUNCH_POST"
COMMAND = r"npac launch (\S+) post (\d{1,9})"
"""What a launch gives as the command that it comes from.  A row has this before it has any YAML."""
DAEMON = "skypilot-status-refresh-daemon"
"""A request that the server makes for itself when it makes its table of requests."""
LAUNCH_NAME = "sky.jobs.launch"
ACTIVE = ("PENDING", "WAITING", "RUNNING")
ROW_FIELDS = (
    "job_id",
    "task_id",
    "job_name",
    "task_name",
    "status",
    "schedule_state",
    "submitted_at",
    "start_at",
    "end_at",
    "last_recovered_at",
    "controller_pid",
    "failure_reason",
    "details",
    "user_hash",
    "execution",
)
"""What of a row is passed on; the rest, the task's YAML above all, stays here."""

_CONNECT = 5.0
_SHORT = 20.0
_LONG = 120.0
_POSTED = 60.0


class Trouble(Exception):
    """A call that is answered by an error; ``phase`` and ``remedy`` are those of the engine's errors."""

    def __init__(self, message: str, phase: str = "maybe-sent", remedy: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.phase = phase
        self.remedy = remedy
        self.kind = kind
        """The name of the exception that the server reports."""


class Captured(BaseException):
    """Carries a body that the client library was about to send.  No ``except Exception`` may stop it."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body = body


# --- reading what a server gives ---------------------------------------------------------------


def marks(text: Any) -> tuple[str, int, list[str]]:
    """Give the launch id, the number of the POST and the tasks' own names that stand in a job's YAML.

    An empty id and 0 where the YAML lacks them, cannot be read, or its tasks do not agree.
    """
    if not isinstance(text, str) or LAUNCH_ID not in text:
        return "", 0, []
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        documents = list(yaml.load_all(text, Loader=loader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return "", 0, []
    # Some versions wrap the documents in one list.
    flat = [each for one in documents for each in (one if isinstance(one, list) else [one])]
    tasks = [each for each in flat if isinstance(each, dict) and isinstance(each.get("envs"), dict)]
    envs = [each["envs"] for each in tasks]
    ids = {str(each.get(LAUNCH_ID, "")) for each in envs}
    posts = {str(each.get(LAUNCH_POST, "")) for each in envs}
    if len(ids) != 1:
        return "", 0, []
    post = posts.pop() if len(posts) == 1 else ""
    number = int(post) if post.isascii() and post.isdigit() and len(post) < 10 else 0
    return ids.pop(), number, [str(each.get("name") or "") for each in tasks]


def reduced_row(row: Any) -> dict[str, Any]:
    """Give what is passed on of one row of the queue, or raise :class:`Trouble` for what is no row."""
    if not isinstance(row, dict) or type(row.get("job_id")) is not int:
        raise Trouble("the server's list of jobs holds something that is no job")
    if not isinstance(row.get("status"), str):
        raise Trouble(f"the server's list of jobs gives job {row['job_id']} no status")
    launch_id, post, names = marks(row.get("user_yaml"))
    command = re.fullmatch(COMMAND, str(row.get("entrypoint"))) if not row.get("user_yaml") else None
    if command:
        launch_id, post = command[1], int(command[2])
    at = row.get("task_id")
    # SkyPilot gives the only task of a job the job's name.
    own = names[at] if type(at) is int and 0 <= at < len(names) else ""
    kept = {name: row.get(name) for name in ROW_FIELDS}
    return {**kept, "launch_id": launch_id, "post": post, "own_name": own}


def rows_of(value: Any, user: str) -> list[dict[str, Any]]:
    """Give the user's rows of a queue's answer; raises :class:`Trouble` for less than a whole list."""
    total: Any = None
    rows = value
    if isinstance(value, dict):
        rows, total = value.get("jobs"), value.get("total")
    if not isinstance(rows, list):
        raise Trouble("the server's list of jobs is no list")
    reduced = [reduced_row(row) for row in rows]
    if total is not None:
        if type(total) is not int:
            raise Trouble("the server's list of jobs does not tell its length")
        if len(reduced) < total:
            raise Trouble(f"the server gave a part of its list of jobs: {len(reduced)} rows of {total}")
    # Rows of nobody are listed to everybody.
    return [row for row in reduced if row["user_hash"] == user]


def requests_of(value: Any, user: str) -> list[dict[str, Any]]:
    """Give the user's launches among the server's active requests."""
    if not isinstance(value, list):
        raise Trouble("the server's list of requests is no list")
    found = []
    for each in value:
        if not isinstance(each, dict) or not isinstance(each.get("request_id"), str):
            raise Trouble("the server's list of requests holds something that is no request")
        if each.get("name") != LAUNCH_NAME or each.get("user_id") != user:
            continue
        if each.get("status") not in ACTIVE:
            continue
        body = read_json(each.get("request_body"))
        body = body if isinstance(body, dict) else {}
        launch_id, post, _ = marks(body.get("task"))
        name = body.get("name")
        found.append(
            {
                "id": each["request_id"],
                "name": name if isinstance(name, str) else "",
                "launch_id": launch_id,
                "post": post,
            }
        )
    return found


def read_json(text: Any) -> Any:
    """Give what a text of JSON holds; None for anything else."""
    try:
        return json.loads(text) if isinstance(text, (str, bytes)) else None
    except (ValueError, RecursionError):
        return None


def complaint(data: Any) -> str:
    """Say why a server refused, from its answer, without what was sent.

    Empty where the answer is not of the form in which SkyPilot refuses.
    """
    if not isinstance(data, dict):
        return ""
    detail = data.get("detail", data.get("message") if data.get("error") else None)
    if isinstance(detail, str):
        return detail
    if isinstance(detail, list):  # what FastAPI says of a body: each entry holds the body, too
        parts = []
        for each in detail:
            if not isinstance(each, dict) or not isinstance(each.get("msg"), str):
                return ""
            place = each.get("loc")
            parts.append(f"{'.'.join(map(str, place)) if isinstance(place, list) else '?'}: {each['msg']}")
        return "; ".join(parts)
    if isinstance(detail, dict):  # an exception of the server's
        return str(detail.get("message") or detail.get("type") or "")
    return ""


def hidden(text: str, secrets: Iterable[str]) -> str:
    """Give a text without the values of secrets."""
    for value in sorted(secrets, key=len, reverse=True):
        if value:
            text = text.replace(value, "***")
    return text


# --- the server ----------------------------------------------------------------------------------


class Watch:
    """Tells when the first byte of a request leaves this host.

    Everything that ``http.client`` sends to a server goes through one method, after the connection
    (and TLS) is there.  What fails before that was never sent.
    """

    def __init__(self) -> None:
        self.told: Any = None
        self.sent = False
        connection = importlib.import_module("http.client").HTTPConnection
        send = connection.send
        watch = self

        def watched(self: Any, data: Any) -> Any:
            if self.sock is None and self.auto_open:
                self.connect()
            watch.mark()
            return send(self, data)

        connection.send = watched

    def mark(self) -> None:
        """Tell that a byte is about to leave."""
        if self.told is not None and not self.sent:
            self.told()
        self.sent = True

    @contextlib.contextmanager
    def over(self, told: Any) -> Iterator[None]:
        """Watch over one request."""
        self.told, self.sent = told, False
        try:
            yield
        finally:
            self.told = None


class Server:
    """The API server that this SkyPilot is configured for."""

    def __init__(self) -> None:
        self.common: Any = importlib.import_module("sky.server.common")
        self.payloads: Any = importlib.import_module("sky.server.requests.payloads")
        self.rest: Any = importlib.import_module("sky.server.rest")
        self.versions: Any = importlib.import_module("sky.server.versions")
        self._http: Any = importlib.import_module("requests")
        self.url: str = self.common.get_server_url()
        parts = urllib.parse.urlsplit(self.url)
        self.local: bool = self.common.is_api_server_local()
        self._loopback = parts.hostname in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "::")
        self.watch = Watch()

    def shown(self) -> str:
        """Give the URL without user, password and query."""
        parts = urllib.parse.urlsplit(self.url)
        return urllib.parse.urlunsplit(
            (parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", "")
        )

    def call(
        self, method: str, path: str, *, wait: float = _SHORT, stream: bool = False, **given: Any
    ) -> Any:
        """Send one request, once, and give the response, whatever its status."""
        session = self._http.Session()
        # Nobody reaches this very host through a proxy.
        session.trust_env = not self._loopback
        headers = dict(self.rest._session.headers)
        headers.update(
            importlib.import_module("sky.client.service_account_auth").get_service_account_headers()
        )
        if not headers.get("Authorization"):
            given["cookies"] = self.common.get_api_cookie_jar()
        return session.request(
            method,
            self.url + path,
            headers=headers,
            timeout=(_CONNECT, wait),
            allow_redirects=False,
            stream=stream,
            **given,
        )

    def ask(self, method: str, path: str, *, wait: float = _SHORT, **given: Any) -> Any:
        """Send one request that changes nothing of ours, and give a good answer's JSON and headers."""
        try:
            response = self.call(method, path, wait=wait, **given)
            data = read_json(response.content)
        except Exception as error:
            raise Trouble(
                f"the API server {self.shown()} did not answer: {words(error)}",
                remedy="See that the server runs and can be reached from here.",
            ) from None
        if response.status_code != 200:
            said = complaint(data)
            raise Trouble(
                f"the API server {self.shown()} answered {path} with {response.status_code}"
                + (f": {said}" if said else ""),
                remedy="Log in to the server anew: sky api login." if response.status_code == 401 else "",
            )
        return data, response.headers

    def health(self) -> dict[str, Any]:
        """Give who the server is, or raise :class:`Trouble` when it is none that this SkyPilot can use."""
        data, headers = self.ask("GET", "/api/health", wait=10.0)
        if not isinstance(data, dict) or not all(
            isinstance(data.get(key), str) for key in ("status", "version", "commit")
        ):
            raise Trouble(
                f"what answers at {self.shown()} is no SkyPilot API server", "rejected", "Correct its URL."
            )
        if data["status"] == "needs_auth":
            raise Trouble(
                f"the API server {self.shown()} does not know you", "rejected", "Log in: sky api login."
            )
        if data["status"] != "healthy":
            raise Trouble(f"the API server {self.shown()} says that it is {data['status']}")
        known = self.versions.check_compatibility_at_client(headers)
        if known is None or known.error is not None:
            raise Trouble(
                f"the API server {self.shown()} is SkyPilot {data['version']}, which the one in "
                f"{sys.prefix} cannot use",
                "rejected",
                "Use the same version on both sides, and restart the server after an upgrade.",
            )
        self.versions.set_remote_api_version(known.api_version)
        self.versions.set_remote_version(known.version)
        user = data.get("user")
        user_id = user.get("id") if isinstance(user, dict) else None
        return {
            "version": data["version"],
            "commit": data["commit"],
            "api_version": str(known.api_version),
            "user": user_id or importlib.import_module("sky.utils.common_utils").get_user_hash(),
            "authenticated": bool(user_id),
        }

    def incarnation(self) -> str:
        """Give what changes whenever the server's table of requests is made anew; empty if it hides that."""
        data, _ = self.ask("GET", "/api/status", params={"request_ids": [DAEMON]})
        if not isinstance(data, list):
            raise Trouble("the server's list of requests is no list")
        rows = [each for each in data if isinstance(each, dict) and each.get("request_id") == DAEMON]
        made = rows[0].get("created_at") if len(rows) == 1 else None
        return repr(float(made)) if isinstance(made, (int, float)) else ""

    def body(self, kind: str, **given: Any) -> Any:
        """Give the body of a request as SkyPilot's client library builds it."""
        return json.loads(getattr(self.payloads, kind)(**given).model_dump_json())

    def submit(self, path: str, body: Any) -> str:
        """Send one request that the server works on by itself; gives its id."""
        _, headers = self.ask("POST", path, json=body)
        request_id = headers.get("X-Skypilot-Request-ID")
        if not request_id:
            raise Trouble(f"the API server {self.shown()} gave request {path} no id")
        return str(request_id)

    def result(self, request_id: str, *, wait: float = _LONG) -> Any:
        """Wait for a request to end, and give what it returned.

        Raises :class:`Trouble` with the server's own exception in ``kind``.
        """
        try:
            response = self.call("GET", "/api/get", wait=wait, params={"request_id": request_id})
            data = read_json(response.content)
        except Exception as error:
            raise Trouble(f"the API server {self.shown()} did not answer: {words(error)}") from None
        if response.status_code == 500 and isinstance(data, dict) and isinstance(data.get("detail"), dict):
            data = data["detail"]
        elif response.status_code != 200:
            raise Trouble(
                f"the API server answered with {response.status_code} for request {request_id}: "
                f"{complaint(data)}".rstrip(": ")
            )
        if not isinstance(data, dict) or "return_value" not in data or "status" not in data:
            raise Trouble(f"the API server's answer for request {request_id} is no result")
        raised = read_json(data.get("error"))
        if isinstance(raised, dict):
            kind, said = str(raised.get("type", "")), str(raised.get("message", ""))
            raise Trouble(f"{kind}: {said}" if kind else said, "rejected", kind=kind or "Exception")
        if data["status"] != "SUCCEEDED":
            raise Trouble(f"request {request_id} is {data['status']}", kind=str(data["status"]))
        value = data["return_value"]
        decoded = read_json(value)
        if decoded is None and value != "null":
            raise Trouble(f"the API server's answer for request {request_id} cannot be read")
        return decoded


def words(error: BaseException) -> str:
    """Say what went wrong on the network, without the URL's secrets."""
    seen: BaseException | None = error
    inner = error
    while seen is not None:
        inner = seen
        reason = getattr(seen, "reason", None)
        seen = reason if isinstance(reason, BaseException) else seen.__cause__ or seen.__context__
    said = getattr(inner, "strerror", None) or str(inner)
    return f"{type(inner).__name__}: {str(said)[:300]}"


# --- calls ---------------------------------------------------------------------------------------


class Calls:
    """What can be asked of the bridge: a method for each ``op``."""

    def __init__(self, server: Server, parent: int, tell: Any) -> None:
        self._server = server
        self._parent = parent
        self._tell = tell

    def server(self) -> dict[str, Any]:
        """Give who the server is and since when its requests are known."""
        found = self._server.health()
        return {**found, "incarnation": self._server.incarnation()}

    def survey(self) -> dict[str, Any]:
        """Give all jobs and active launches of the user.

        Requests are read before rows: a launch that ends in between is then seen as a row.
        """
        server = self._server
        before = self.server()
        listed, _ = server.ask("GET", "/api/status", wait=_LONG)
        requests = requests_of(listed, before["user"])
        rows = self._queue(before["user"], None)
        if server.incarnation() != before["incarnation"]:
            raise Trouble("the API server was started anew while it was asked")
        return {**before, "rows": rows, "requests": requests}

    def job(self, job_id: int) -> dict[str, Any]:
        """Give the rows of one job; none when the server answers that it has no such job of the user."""
        found = self.server()
        return {**found, "rows": self._queue(found["user"], [job_id])}

    def _queue(self, user: str, job_ids: Sequence[int] | None) -> list[dict[str, Any]]:
        server = self._server

        def read(refresh: bool) -> Any:
            body = server.body("JobsQueueV2Body", refresh=refresh, job_ids=job_ids, limit=None, fields=None)
            return server.result(server.submit("/jobs/queue/v2", body))

        try:
            return rows_of(read(False), user)
        except Trouble as error:
            if error.kind != "ClusterNotUpError":
                raise
        # The machine of the jobs controller is stopped, or there has never been one.  Only the attempt
        # to wake it tells which.
        try:
            return rows_of(read(True), user)
        except Trouble as error:
            if error.kind == "ClusterDoesNotExist":
                return []
            raise

    def request(self, request_id: str) -> dict[str, Any]:
        """Give what became of one request of any kind."""
        server = self._server
        listed, _ = server.ask("GET", "/api/status", params={"request_ids": [request_id]})
        if not isinstance(listed, list):
            raise Trouble("the server's list of requests is no list")
        found = [each for each in listed if isinstance(each, dict) and each.get("request_id") == request_id]
        status = found[0].get("status") if found else None
        if status in ACTIVE:
            return {"state": "active"}
        if status not in ("SUCCEEDED", "FAILED"):
            # One that was cancelled may have been cut short at any point.
            return {"state": "unknown", "message": f"the request is {status}" if status else ""}
        try:
            value = server.result(request_id, wait=_SHORT)
        except Trouble as error:
            if not error.kind:
                raise
            cut = error.kind in ("RequestInterruptedError", "RequestCancelled", "CANCELLED")
            return {"state": "unknown" if cut else "failed", "message": str(error)}
        jobs = value.get("job_id") if isinstance(value, dict) else None
        jobs = jobs if isinstance(jobs, list) else [jobs]
        one = len(jobs) == 1 and type(jobs[0]) is int
        return {"state": "succeeded", "job_id": str(jobs[0]) if one else ""}

    def prepare(self, documents: list[Any], name: str, secrets: Mapping[str, str]) -> dict[str, Any]:
        """Build the body of a launch, ask the server whether it is one, and send nothing else."""
        self._server.health()
        return {"bytes": len(json.dumps(self._built(documents, name, secrets)))}

    def launch(
        self,
        documents: list[Any],
        name: str,
        secrets: Mapping[str, str],
        user: str,
        incarnation: str,
        not_after: float,
        command: str,
    ) -> dict[str, Any]:
        """Send one launch, once; gives its request id.

        ``user`` and ``incarnation`` (empty for any) are those that the server must have; nothing is sent
        after ``not_after`` (see :func:`boot_time`).  ``command`` is what SkyPilot shows as its origin.
        """
        server = self._server
        try:
            found = server.health()
            if found["user"] != user:
                raise Trouble(f"the API server takes you for {found['user']}, not {user}")
            body = {**self._built(documents, name, secrets), "entrypoint_command": command}
            if incarnation and server.incarnation() != incarnation:
                raise Trouble("the API server was started anew a moment ago")
        except Trouble as error:
            error.phase = "rejected" if error.phase == "rejected" else "never-sent"
            raise
        except Exception as error:
            raise Trouble(f"SkyPilot's client library failed: {words(error)}", "never-sent") from None
        if os.getppid() != self._parent or boot_time() > not_after:
            # Whoever asked may have been given up, and what it was about to send decided about.
            raise Trouble("the launch was held up for too long before it was sent", "never-sent")
        try:
            with server.watch.over(lambda: self._tell({"event": "sending"})):
                # The body of the answer is not needed: the id stands in its head.
                response = server.call("POST", "/jobs/launch", json=body, wait=_POSTED, stream=True)
                status, headers = response.status_code, response.headers
                request_id = headers.get("X-Skypilot-Request-ID", "")
        except Exception as error:
            phase = "maybe-sent" if server.watch.sent else "never-sent"
            raise Trouble(
                f"the API server {server.shown()} did not answer the launch: {words(error)}", phase
            ) from None
        if status == 200 and request_id:
            response.close()
            return {"request_id": str(request_id)}
        try:
            data = read_json(response.content)
        except Exception:
            data = None
        said = complaint(data)
        # An answer in another form is a proxy's, and so may be one that asks for patience.
        refused = 400 <= status < 500 and status not in (408, 425, 429) and bool(said)
        raise Trouble(
            f"the API server {server.shown()} answered the launch with {status}: {said}".rstrip(": "),
            "rejected" if refused else "maybe-sent",
        )

    def _built(self, documents: list[Any], name: str, secrets: Mapping[str, str]) -> Any:
        """Give the body that the client library's own launch would send."""
        import yaml

        dags = importlib.import_module("sky.utils.dag_utils")
        jobs = importlib.import_module("sky.jobs.client.sdk")
        launch = jobs.launch
        while hasattr(launch, "__wrapped__"):  # what is around it starts servers and sends usage reports
            launch = launch.__wrapped__
        server = self._server
        common: Any = server.common
        kept = common.make_authenticated_request

        def send(method: str, path: str, **given: Any) -> Any:
            if path == "/jobs/launch":
                raise Captured(given["json"])
            given.pop("retry", None)
            given.pop("server_url", None)
            given.pop("timeout", None)
            return server.call(method, path, **given)

        common.make_authenticated_request = send
        try:
            text = yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True)
            dag = dags.load_dag_from_yaml_str(text, secrets_overrides=list(secrets.items()) or None)
            launch(dag, name=name)
        except Captured as captured:
            return captured.body
        except Trouble:
            raise
        except self._server._http.exceptions.RequestException as error:
            raise Trouble(f"the API server {server.shown()} did not answer: {words(error)}") from None
        except Exception as error:
            said = str(error) or type(error).__name__
            raise Trouble(f"SkyPilot does not take the documents of {name}: {said}", "rejected") from None
        finally:
            common.make_authenticated_request = kept
        raise Trouble("SkyPilot's client library did not launch anything")

    def cancel(self, job_id: int) -> dict[str, Any]:
        """Ask for the end of one job of the user, by its id."""
        server = self._server
        found = server.health()
        if not self._queue(found["user"], [job_id]):
            raise Trouble(f"SkyPilot has no job {job_id} of user {found['user']}", "rejected")
        body = server.body("JobsCancelBody", job_ids=[job_id])
        server.result(server.submit("/jobs/cancel", body))
        return {}

    def logs(self, job_id: int, task: int | None, follow: bool) -> dict[str, Any]:
        """Tell the log of one job in pieces, to the end of the job if ``follow``."""
        server = self._server
        found = server.health()
        if not self._queue(found["user"], [job_id]):
            raise Trouble(f"SkyPilot has no job {job_id} of user {found['user']}", "rejected")
        given: dict[str, Any] = {} if task is None else {"task": task}
        body = server.body("JobsLogsBody", name=None, job_id=job_id, follow=follow, **given)
        lines = importlib.import_module("sky.utils.rich_utils").decode_rich_status
        try:
            response = server.call("POST", "/jobs/logs", json=body, wait=3600.0, stream=True)
            if response.status_code != 200:
                said = complaint(read_json(response.content))
                raise Trouble(f"the API server answered with {response.status_code}: {said}".rstrip(": "))
            for line in lines(response):
                if line:
                    self._tell({"chunk": line})
        except Trouble:
            raise
        except Exception as error:
            raise Trouble(f"the log of job {job_id} broke off: {words(error)}") from None
        return {}


def boot_time() -> float:
    """Give seconds of a clock that also counts while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


# --- the line protocol ---------------------------------------------------------------------------


def tamed() -> None:
    """Make SkyPilot's client library unable to start servers, send reports or draw."""
    common: Any = importlib.import_module("sky.server.common")

    def no_server(*_: Any, **__: Any) -> NoReturn:
        raise Trouble("no server is started from here", "never-sent")

    common._start_api_server = no_server
    common.check_server_healthy_or_start_fn = lambda *_, **__: None
    # A report is sent for a call only when it is the outermost one.
    importlib.import_module("sky.usage.usage_lib").messages.usage.entrypoint = "sky.jobs.client.sdk.launch"


def answered(calls: Calls, line: Mapping[str, Any]) -> dict[str, Any]:
    """Give the answer to one call."""
    given = line.get("args", {})
    secrets = given.get("secrets", {}).values()
    try:
        if str(line["op"]).startswith("_") or not hasattr(calls, line["op"]):
            raise Trouble(f"there is no call {line['op']!r}", "never-sent")
        return {"ok": getattr(calls, line["op"])(**given)}
    except Trouble as error:
        told = {"phase": error.phase, "message": hidden(str(error), secrets), "remedy": error.remedy}
    except Exception as error:
        said = hidden(f"{type(error).__name__}: {error}", secrets)
        told = {"phase": "maybe-sent", "message": f"SkyPilot's client library failed: {said}", "remedy": ""}
    return {"error": told}


def main() -> None:
    """Serve until standard input ends."""
    parent = int(sys.argv[1])
    with contextlib.suppress(Exception):  # Linux only: die with the process that is served
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        return
    sys.argv = ["npac"]  # what SkyPilot keeps as the command that launched
    out, lines = os.dup(1), os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # whatever is printed in here is no answer

    def write(message: Mapping[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(out, data) :]

    sky = importlib.import_module("sky")
    tamed()
    server = Server()
    current: list[Any] = [0]
    calls = Calls(server, parent, lambda event: write({"id": current[0], **event}))
    write(
        {
            "protocol": PROTOCOL,
            "skypilot": sky.__version__,
            "commit": sky.__commit__,
            "python": sys.version.split()[0],
            "url": server.shown(),
            "local": server.local,
            "user": importlib.import_module("sky.utils.common_utils").get_user_hash(),
        }
    )
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # nothing unread may fill up
    os.dup2(2, 1)
    asked: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        for line in lines:
            asked.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        call = json.loads(asked.get())
        current[0] = call["id"]
        try:
            write({"id": call["id"], **answered(calls, call)})
        except BrokenPipeError:
            os._exit(0)


if __name__ == "__main__":
    main()
