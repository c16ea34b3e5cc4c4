"""Compiling into a folder and being killed on the way, at every place where the disk is touched.

This runs in a process of its own, which has a single thread and forks once for each kill.  The child
compiles through the command line and sends itself SIGKILL before, in the middle of, or after its N-th
operation on files; the parent then looks at what is on the disk.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn

from npac.build.errors import BuildError
from npac.build.verify import Problem, verify_build
from npac.cli.commands import main

Files = dict[str, bytes]
OPERATIONS = ("open", "fsync", "replace", "unlink", "mkdir", "rmdir")


def die() -> NoReturn:
    """End this process like ``kill -9`` does."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("SIGKILL returned")


class Torn:
    """A file whose write can be cut off after half of the bytes."""

    def __init__(self, file: Any, points: Points) -> None:
        self._file, self._points = file, points

    def write(self, data: bytes) -> int:
        """Write all, or half and die."""
        if self._points.here():
            self._file.write(data[: len(data) // 2])
            self._file.flush()
            die()
        return int(self._file.write(data))

    def __enter__(self) -> Torn:
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.__exit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class Points:
    """Counts the places at which a process can be killed, and kills at one of them."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.seen = 0
        self._lock = Lock()  # files are synced side by side

    def here(self) -> bool:
        """Pass one point; True when it is the one."""
        with self._lock:
            self.seen += 1
            return self.seen == self.target

    def install(self) -> None:
        """Put a point before and after every operation on files, and inside every write."""
        for name in OPERATIONS:
            setattr(os, name, self._around(getattr(os, name)))
        os.fdopen = self._fdopen(os.fdopen)

    def _around(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.here():
                die()
            try:
                return real(*args, **kwargs)
            finally:
                if self.here():
                    die()

        return call

    def _fdopen(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return Torn(real(*args, **kwargs), self)

        return call


def compile_to(spec: Path, out: Path) -> int:
    """Run ``npac compile SPEC -o OUT`` in this process, its words thrown away; gives 0."""
    with open(os.devnull, "w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        main.main(args=["compile", str(spec), "-o", str(out)], standalone_mode=False)
    return 0


def in_child(action: Callable[[], int]) -> tuple[int, int]:
    """Run ``action`` in a fork; give its exit code (or minus the signal) and its process id."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = action()
        except BuildError:
            code = 98
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), child


def files(folder: Path) -> Files:
    """Give every file below a folder by its path."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


class Campaign:
    """Kills compiles of ``new`` into a folder that holds a build of ``old`` (or nothing)."""

    def __init__(self, root: Path, old: Path | None, new: Path, weaken: str = "") -> None:
        self.root = root
        self.old = old
        self.new = new
        self.weaken = weaken
        self.start = root / "start"
        self.out = root / "out"
        self.before: Files = {}
        self.records: list[dict[str, Any]] = []
        # What a compile imports is imported here, and not again in every fork.
        compile_to(new, root / "first")
        if old is not None:
            self._sound(old, self.start)
            self.before = files(self.start)
        self._sound(new, root / "fresh")
        self.after = files(root / "fresh")

    @staticmethod
    def _sound(spec: Path, out: Path) -> None:
        code, _ = in_child(lambda: compile_to(spec, out))
        assert code == 0, f"compiling {spec} exits with {code}"
        assert verify_build(out) == []

    def reset(self) -> None:
        """Put the folder back to what it was before the compile."""
        shutil.rmtree(self.out, ignore_errors=True)
        if self.old is not None:
            shutil.copytree(self.start, self.out)

    def points(self) -> int:
        """Count the points of an undisturbed compile."""
        self.reset()
        reader, writer = os.pipe()

        def run() -> int:
            points = Points(-1)
            self._prepare(points)
            compile_to(self.new, self.out)
            os.write(writer, str(points.seen).encode())
            return 0

        code, _ = in_child(run)
        assert code == 0
        os.close(writer)
        count = int(os.read(reader, 64))
        os.close(reader)
        return count

    def _prepare(self, points: Points) -> None:
        if self.weaken == "no note":
            from npac.build import durable, folder

            def without(path: Path, data: bytes) -> None:
                if path.name != folder.PENDING:
                    durable.write_atomic(path, data)

            setattr(folder, "write_atomic", without)  # noqa: B010 - the name is only borrowed there
        points.install()

    def kill_at(self, target: int) -> None:
        """Kill at one point and record what is left."""
        self.reset()

        def run() -> int:
            self._prepare(Points(target))
            return compile_to(self.new, self.out)

        code, _ = in_child(run)
        self.judge(f"point {target}", code)

    def kill_after(self, seconds: float) -> None:
        """Kill a compile from outside after some time and record what is left."""
        self.reset()
        child = os.fork()
        if child == 0:
            try:
                compile_to(self.new, self.out)
            finally:
                os._exit(0)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        self.judge(f"after {seconds * 1000:.1f} ms", os.waitstatus_to_exitcode(status))

    def _verify(self) -> list[Problem]:
        problems = verify_build(self.out)
        if self.weaken == "no extras":
            return [problem for problem in problems if problem.kind != "extra"]
        return problems

    def judge(self, where: str, code: int) -> None:
        """Say whether the folder is a whole build, verifies, and is mended by compiling again."""
        found = files(self.out) if self.out.is_dir() else {}
        good = not self._verify()
        whole = "old" if self.before and found == self.before else "new" if found == self.after else ""
        again, _ = in_child(lambda: compile_to(self.new, self.out))
        healed = again == 0 and verify_build(self.out) == [] and files(self.out) == self.after
        self.records.append({"where": where, "code": code, "good": good, "whole": whole, "healed": healed})


def run(root: str, old: str, new: str, points: str, timed: str, weaken: str, seed: str) -> None:
    """Run a campaign and print its records as JSON; at most ``points`` points, drawn with ``seed``."""
    campaign = Campaign(Path(root), Path(old) if old else None, Path(new), weaken)
    draw = random.Random(int(seed))
    count = campaign.points()
    targets = list(range(1, count + 1))
    if len(targets) > int(points):
        targets = sorted({1, count, *draw.sample(targets[1:-1], int(points) - 2)})
    for target in targets:
        campaign.kill_at(target)
    campaign.reset()
    start = time.monotonic()
    in_child(lambda: compile_to(campaign.new, campaign.out))
    longest = time.monotonic() - start
    for _ in range(int(timed)):
        campaign.kill_after(draw.uniform(0, longest))
    print(json.dumps({"points": count, "records": campaign.records}))


if __name__ == "__main__":
    run(*sys.argv[1:])
