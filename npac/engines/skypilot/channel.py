"""The engine's end of the bridge: one child process, spoken to by lines of JSON."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from npac.engines.skypilot import bridge
from npac.launch.ports import EngineError

START_WITHIN = 90.0
"""Importing SkyPilot takes 2 s, and many times as long on a busy machine."""
_MOST = 1 << 30
_CHUNK = 1 << 16


class BridgeLost(EngineError):
    """The bridge ended, said nothing in time, or said something that is no answer.

    Its phase is ``"never-sent"`` only if it had not begun to send a launch.
    """


class Channel:
    """A bridge, started at the first call and anew when it has ended since the last one.

    Calls come one at a time; other threads wait.  ``python`` is the interpreter of the SkyPilot that
    is meant and ``env`` its whole environment.  No secret is on the command line or in ``env``.
    """

    def __init__(self, python: Path, env: Mapping[str, str]) -> None:
        self._command = [str(python), "-I", bridge.__file__, str(os.getpid())]
        self._env = dict(env)
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = bytearray()
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()
        self._hello: dict[str, Any] = {}

    def hello(self) -> dict[str, Any]:
        """Give what the bridge says of itself: ``skypilot``, ``url``, ``local``, ``user`` and more."""
        with self._lock:
            self._running()
            return self._hello

    def call(self, op: str, args: Mapping[str, Any], within: float) -> dict[str, Any]:
        """Make a call and give its answer, or raise :class:`EngineError` within so many seconds."""
        with self._lock:
            for message in self._conversation(op, args, within):
                if "ok" in message:
                    return dict(message["ok"])
        raise AssertionError("a conversation ends with an answer or an error")

    def stream(self, op: str, args: Mapping[str, Any], within: float) -> Iterator[str]:
        """Make a call and yield the pieces that it tells; ``within`` bounds the wait for each."""
        with self._lock:
            for message in self._conversation(op, args, within):
                if "chunk" in message:
                    yield str(message["chunk"])

    def close(self) -> None:
        """End the bridge, whatever it does."""
        with self._lock:
            self._end()

    def _conversation(self, op: str, args: Mapping[str, Any], within: float) -> Iterator[dict[str, Any]]:
        """Yield what the bridge says to one call, up to its answer."""
        process = self._running()
        number = next(self._numbers)
        deadline = time.monotonic() + within
        sending = False
        whole = False
        try:
            call = json.dumps({"id": number, "op": op, "args": args})
            self._write(process, call.encode() + b"\n", deadline)
            while True:
                message = self._read(process, deadline)
                if message.get("id") != number:
                    raise _Lost("answered another call")
                if message.get("event") == "sending":
                    sending = True
                    continue
                if "chunk" in message:
                    deadline = time.monotonic() + within
                    yield message
                    continue
                whole = True
                error = message.get("error")
                if error is not None:
                    said, phase, remedy = (str(error[key]) for key in ("message", "phase", "remedy"))
                    raise EngineError(sentence(said), phase=phase, remedy=remedy)
                if not isinstance(message.get("ok"), dict):
                    raise _Lost("gave no answer")
                yield message
                return
        except (_Lost, OSError, KeyError, TypeError) as error:
            whole = False
            phase = "maybe-sent" if sending or op != "launch" else "never-sent"
            how = str(error) if isinstance(error, _Lost) else "broke off"
            raise BridgeLost(
                f"The process that speaks with SkyPilot {how}.",
                phase=phase,
                remedy="Ask again; it is started anew.",
            ) from None
        finally:
            if not whole:  # what it may still say belongs to a call that nobody waits for any more
                self._end()

    # --- the process ------------------------------------------------------------------------------

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        with tempfile.TemporaryFile() as errors:
            try:
                process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env=self._env,
                    cwd="/",  # SkyPilot would read a configuration in the folder that npac was called in
                    start_new_session=True,
                )
            except OSError as error:
                raise EngineError(
                    f"SkyPilot's interpreter {self._command[0]} cannot be run: {error.strerror}.",
                    phase="rejected",
                    remedy="See that the environment of --sky-bin is whole.",
                ) from error
            self._process = process
            self._buffer.clear()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                os.set_blocking(pipe.fileno(), False)
            try:
                hello = self._read(process, time.monotonic() + START_WITHIN)
            except _Lost as lost:
                self._end()
                errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4096))
                last = errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
                raise EngineError(
                    f"SkyPilot does not start in {self._command[0]}: it {lost}: {last}".rstrip(": ") + ".",
                    phase="rejected" if last else "never-sent",
                    remedy="See that `sky --version` works in the environment of --sky-bin.",
                ) from None
        if hello.get("protocol") != bridge.PROTOCOL or not isinstance(hello.get("skypilot"), str):
            self._end()
            raise EngineError(
                f"What {self._command[0]} runs is not npac's bridge to SkyPilot.",
                phase="rejected",
                remedy="Install npac anew.",
            )
        self._hello = hello
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self._end()

    def _write(self, process: subprocess.Popen[bytes], data: bytes, deadline: float) -> None:
        assert process.stdin is not None
        handle, left = process.stdin.fileno(), memoryview(data)
        while left:
            _, ready, _ = select.select([], [handle], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise _Lost("does not listen")
            with contextlib.suppress(BlockingIOError):
                left = left[os.write(handle, left[:_CHUNK]) :]

    def _read(self, process: subprocess.Popen[bytes], deadline: float) -> dict[str, Any]:
        assert process.stdout is not None
        handle, looked = process.stdout.fileno(), 0
        while True:
            end = self._buffer.find(b"\n", looked)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                break
            looked = len(self._buffer)
            if looked > _MOST:
                raise _Lost("says too much")
            ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise _Lost("did not answer in time")
            try:
                piece = os.read(handle, _CHUNK)
            except BlockingIOError:
                continue
            if not piece:
                raise _Lost("ended")
            self._buffer += piece
        try:
            message = json.loads(line)
        except ValueError:
            raise _Lost("said something that is no answer") from None
        if not isinstance(message, dict):
            raise _Lost("said something that is no answer")
        return message


class _Lost(Exception):
    """What went wrong with the bridge, as the end of a sentence."""


def sentence(text: str) -> str:
    """Make a sentence of what went wrong."""
    text = text.strip().rstrip(".")
    return (text[:1].upper() + text[1:] if text[:1].islower() else text) + "."
