"""SkyPilot's managed jobs as the launch layer sees them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from npac.engines.skypilot import server
from npac.engines.skypilot.bridge import boot_time, hidden
from npac.engines.skypilot.channel import Channel
from npac.engines.skypilot.environment import (
    STATE,
    environment,
    instance_marker,
    make_state,
    marker_path,
)
from npac.engines.skypilot.finding import Found, find
from npac.engines.skypilot.parcels import command, parcel
from npac.engines.skypilot.rows import COLOUR, jobs_of
from npac.launch.ports import (
    ActiveRequest,
    Capabilities,
    EngineError,
    JobRow,
    LaunchRequest,
    RequestResult,
    Survey,
)

_OPTIONS = frozenset({"bin", "state_dir", "start"})
_OLDEST = (0, 12)

BEFORE_POST = 20.0
"""Seconds from the call to the POST; a launch that is held up for longer is not sent."""
_LAUNCH = 120.0
_SURVEY = 240.0
_SHORT = 90.0
_QUIET_LOG = 3700.0


class SkyPilotEngine:
    """Runs jobs as managed jobs of one SkyPilot.

    ``named`` is SkyPilot's command or its environment's folder; None for what
    :func:`npac.engines.skypilot.finding.find` falls back on.  ``state`` is the folder of an isolated
    SkyPilot, with a home, a user id and an API server of its own; None for the user's own SkyPilot.
    ``start`` starts the API server of an isolated one where none answers; no other is ever started.

    A job is never known by its name alone: its YAML carries the launch id.  Nothing is sent twice.
    """

    def __init__(
        self,
        named: str | os.PathLike[str] | None = None,
        *,
        state: Path | None = None,
        start: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        source = os.environ if environ is None else environ
        self.found: Found = find(named, source)
        self.state = state
        self._env = environment(source, state)
        if state is not None:
            make_state(state)
        self._channel = Channel(self.found.python, self._env)
        self._secrets: set[str] = set()
        self._known: dict[str, Any] = {}
        """The server's last good word about itself."""
        hello = self._hello()
        self._marker = instance_marker(marker_path(self._env, state))
        if start and state is not None and hello["local"]:
            self._start()

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> SkyPilotEngine:
        """Make the engine from ``bin``, ``state_dir`` and ``start``, all of which may be left out.

        Where ``state_dir`` is left out, the variable ``NPA_SKYPILOT_STATE_DIR`` counts.
        """
        unknown = sorted(set(options) - _OPTIONS)
        if unknown:
            raise EngineError(
                f"The engine skypilot has no option {unknown[0]!r}.",
                phase="rejected",
                remedy=f"Its options are {', '.join(sorted(_OPTIONS))}.",
            )
        state = options.get("state_dir") or os.environ.get(STATE)
        return cls(
            options.get("bin"),
            state=Path(os.path.abspath(os.path.expanduser(state))) if state else None,
            start=bool(options.get("start", False)),
        )

    # --- who answers ------------------------------------------------------------------------------

    def capabilities(self) -> Capabilities:
        """Give what this engine is; ``limits`` holds SkyPilot's version, server and user id."""
        hello = self._hello()
        # A server that knows its users says which one this is; else it believes what it is told.
        user = hello["user"] if hello["local"] else self._server()["user"]
        return Capabilities(
            name="skypilot",
            unique_launch_key=False,
            images=True,
            accelerators=True,
            instance=self._instance(user),
            limits={"skypilot": hello["skypilot"], "server": hello["url"], "user": user},
        )

    def about(self) -> dict[str, str]:
        """Give what a person wants to know of this SkyPilot, by its name; asks the server.

        ``server_version`` is empty and ``problem`` says why when the server does not answer.
        """
        hello = self._hello()
        told = {
            "command": str(self.found.command),
            "python": str(self.found.python),
            "named_by": self.found.source,
            "version": str(hello["skypilot"]),
            "commit": str(hello["commit"]),
            "server": str(hello["url"]),
            "state": str(self.state or Path(self._env.get("HOME", "~"), ".sky")),
            "user": str(hello["user"]),
            "server_version": "",
            "incarnation": "",
            "problem": "",
        }
        try:
            known = self._server()
        except EngineError as error:
            return {**told, "problem": f"{error} {error.remedy}".rstrip()}
        return {
            **told,
            "user": str(known["user"]),
            "server_version": str(known["version"]),
            "incarnation": str(known["incarnation"]),
        }

    def _hello(self) -> dict[str, Any]:
        hello = self._channel.hello()
        if bridge_version(hello["skypilot"]) < _OLDEST:
            raise EngineError(
                f"{self.found.command} is SkyPilot {hello['skypilot']}, which is too old.",
                phase="rejected",
                remedy="Use SkyPilot 0.12 or newer.",
            )
        return hello

    def _instance(self, user: str) -> str:
        hello = self._channel.hello()
        place = "" if hello["local"] else f"{hello['url']} "
        return f"{place}{user} {self._marker}"

    def _server(self) -> dict[str, Any]:
        return self._vetted(self._call("server", {}, _SHORT))

    def _vetted(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Take in who answered; raises :class:`EngineError` when it is not the server that is meant."""
        hello = self._channel.hello()
        if hello["local"] and answer["incarnation"] != self._known.get("incarnation"):
            problem = server.foreign(hello["url"], self._env)
            if problem:
                raise EngineError(
                    f"The API server at {hello['url']} is not that of this SkyPilot: {problem}.",
                    remedy=f"Stop it, or have another port: {server.PORT}.",
                )
        self._known = {key: answer[key] for key in ("version", "user", "incarnation")}
        return answer

    def _start(self) -> None:
        try:
            self._server()
        except EngineError as error:
            if error.phase == "rejected" or server.listening(self._hello()["url"]):
                raise
            server.start(self.found, self._env)
            self._server()

    # --- launching --------------------------------------------------------------------------------

    def precheck(self, documents: Sequence[Mapping[str, Any]], name: str, secrets: Mapping[str, str]) -> None:
        """Refuse documents that SkyPilot refuses; the server is asked, and makes nothing."""
        self._secrets.update(secrets.values())
        args = {"documents": parcel(documents, "precheck", secrets), "name": name, "secrets": dict(secrets)}
        self._call("prepare", args, _SHORT)

    def launch(
        self,
        documents: Sequence[Mapping[str, Any]],
        name: str,
        launch_id: str,
        secrets: Mapping[str, str],
    ) -> LaunchRequest:
        """Submit one task, a pipeline or a JobGroup as one managed job; gives the request's id.

        One POST is sent, once, to the server that was asked last.  The job has no id yet.
        """
        self._secrets.update(secrets.values())
        not_after = boot_time() + BEFORE_POST
        try:
            known = self._known or self._server()
        except EngineError as error:
            raise EngineError(str(error), phase="never-sent", remedy=error.remedy) from error
        sent = parcel(documents, launch_id, secrets)
        answer = self._call(
            "launch",
            {
                "documents": sent,
                "command": command(sent, launch_id),
                "name": name,
                "secrets": dict(secrets),
                "user": known["user"],
                "incarnation": known["incarnation"],
                "not_after": not_after,
            },
            _LAUNCH,
        )
        return LaunchRequest(str(answer["request_id"]))

    # --- looking ----------------------------------------------------------------------------------

    def survey(self) -> Survey:
        """Give all jobs and active launches of this user, from one start of the server."""
        answer = self._vetted(self._call("survey", {}, _SURVEY))
        requests = [ActiveRequest(each["id"], each["name"], each["launch_id"]) for each in answer["requests"]]
        return Survey(
            self._rows(answer), requests, self._instance(answer["user"]), str(answer["incarnation"])
        )

    def jobs(self) -> Sequence[JobRow]:
        """Give every job of this user."""
        return self.survey().rows

    def job(self, job_id: str) -> JobRow | None:
        """Give one job; None when the server answers that this user has no such job."""
        if not _is_id(job_id):
            return None
        rows = self._rows(self._vetted(self._call("job", {"job_id": int(job_id)}, _SURVEY)))
        return next((row for row in rows if row.id == job_id), None)

    def request(self, request_id: str) -> RequestResult:
        """Give what became of a request; it is unknown when it was cut short, or is of an earlier start."""
        answer = self._call("request", {"request_id": request_id}, _SHORT)
        return RequestResult(
            answer["state"], answer.get("job_id", ""), hidden(answer.get("message", ""), self._secrets)
        )

    def _rows(self, answer: Mapping[str, Any]) -> list[JobRow]:
        rows = answer["rows"]
        for row in rows if self._secrets else ():
            for key in ("failure_reason", "details"):
                row[key] = hidden(row[key], self._secrets) if row[key] else row[key]
        return jobs_of(rows)

    # --- one job ----------------------------------------------------------------------------------

    def cancel(self, job_id: str) -> None:
        """Ask for the end of one job of this user, by its id; SkyPilot takes up to half a minute for it."""
        if not _is_id(job_id):
            raise EngineError(
                f"SkyPilot has no job {job_id!r}.", phase="rejected", remedy="Look at the list of jobs."
            )
        self._call("cancel", {"job_id": int(job_id)}, _SURVEY)

    def logs(self, job_id: str, *, task: str = "", follow: bool = False) -> Iterator[str]:
        """Yield the log of a job as SkyPilot shows it, from a bridge of its own."""
        row = self.job(job_id)
        if row is None:
            raise EngineError(
                f"SkyPilot has no job {job_id!r}, so it has no log.",
                phase="rejected",
                remedy="Look at the list of jobs.",
            )
        names = [each.name for each in row.tasks]
        if task and task not in names:
            raise EngineError(
                f"Job {job_id} has no task {task!r}.",
                phase="rejected",
                remedy=f"Its tasks are: {', '.join(names)}.",
            )
        at = names.index(task) if task and len(names) > 1 else None
        return self._log(int(job_id), at, follow)

    def _log(self, job_id: int, task: int | None, follow: bool) -> Iterator[str]:
        channel = Channel(self.found.python, self._env)
        try:
            args = {"job_id": job_id, "task": task, "follow": follow}
            for piece in channel.stream("logs", args, _QUIET_LOG):
                yield hidden(COLOUR.sub("", piece), self._secrets)
        finally:
            channel.close()

    def close(self) -> None:
        """End the bridge; the next call starts another one."""
        self._channel.close()

    def _call(self, op: str, args: Mapping[str, Any], within: float) -> dict[str, Any]:
        try:
            return self._channel.call(op, args, within)
        except EngineError as error:
            error.args = (hidden(str(error), self._secrets),)
            raise


def bridge_version(text: str) -> tuple[int, ...]:
    """Give the first two numbers of a version; a development version counts as the newest."""
    parts = text.split(".")[:2]
    numbers = tuple(int(part) for part in parts if part.isdigit())
    return numbers if len(numbers) == 2 and not text.startswith("1.0.0.dev") else (1, 0)


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16
