"""The API server on this host: whose it is, and starting the one of an isolated SkyPilot."""

from __future__ import annotations

import os
import socket
import subprocess
import urllib.parse
from collections.abc import Iterator, Mapping

from npac.engines.skypilot.environment import PORT
from npac.engines.skypilot.finding import Found
from npac.launch.ports import EngineError

__all__ = ["PORT", "foreign", "listening", "start"]

_START_WITHIN = 180.0
_LISTEN = "0A"


def _port(url: str) -> int:
    parts = urllib.parse.urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def listening(url: str) -> bool:
    """Say whether anything takes connections at the port of a URL of this host."""
    try:
        with socket.create_connection((urllib.parse.urlsplit(url).hostname or "127.0.0.1", _port(url)), 5):
            return True
    except OSError:
        return False


def foreign(url: str, env: Mapping[str, str]) -> str:
    """Say why the process that listens at the port of ``url`` cannot be the server that ``env`` means.

    Empty when it has the same home and runtime folder, and where processes cannot be looked at.
    """
    port = _port(url)
    try:
        sockets = set(_sockets(port))
    except OSError:
        return ""  # no Linux
    if not sockets:
        return f"no process of this host listens at port {port}"
    hidden = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            handles = f"/proc/{pid}/fd"
            if not any(_leads_to(f"{handles}/{each}", sockets) for each in os.listdir(handles)):
                continue
            with open(f"/proc/{pid}/environ", "rb") as handle:
                theirs = dict(part.partition("=")[::2] for part in os.fsdecode(handle.read()).split("\0"))
        except PermissionError:
            hidden += 1
            continue
        except OSError:
            continue  # it has ended meanwhile
        for name, fallback in (("HOME", ""), ("SKY_RUNTIME_DIR", "HOME")):
            mine = os.path.realpath(env.get(name) or env.get(fallback) or "/")
            other = os.path.realpath(theirs.get(name) or theirs.get(fallback) or "/")
            if mine != other:
                return f"process {pid} has {other} as its {name}, and not {mine}"
        return ""
    return "it belongs to another user" if hidden else ""


def _leads_to(link: str, sockets: set[str]) -> bool:
    try:
        return os.readlink(link) in sockets
    except FileNotFoundError:
        return False


def _sockets(port: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if table.endswith("6") and not os.path.exists(table):
            continue
        with open(table, encoding="ascii") as handle:
            for line in handle:
                fields = line.split()
                if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    yield f"socket:[{fields[9]}]"


def start(found: Found, env: Mapping[str, str]) -> None:
    """Start the API server of an isolated SkyPilot; it goes on when this process ends.

    Raises :class:`EngineError` when it does not come up.
    """
    try:
        done = subprocess.run(
            [str(found.command), "api", "start"],
            env=dict(env),
            cwd=env["HOME"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_START_WITHIN,
            start_new_session=True,
            check=False,
        )
        said, failed = done.stdout.decode("utf-8", "replace").strip(), done.returncode != 0
    except subprocess.TimeoutExpired:
        said, failed = f"it did not come up within {_START_WITHIN:.0f} s", True
    except OSError as error:
        said, failed = f"{found.command} cannot be run: {error.strerror}", True
    if failed:
        last = said.rpartition("\n")[2].rstrip(".") or "it said nothing"
        raise EngineError(
            f"SkyPilot's API server could not be started: {last}.",
            phase="never-sent",
            remedy=f"See {env['HOME']}/.sky/api_server/server.log.",
        )
