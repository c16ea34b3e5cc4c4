"""Secrets in every place where a user may put one, and a look at every byte that npac has written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.api.command import ROOT

NPAC = "from npac.cli.main import entry; entry()"

NAMED = 'zq7-named-\u00e9-"quoted"-4c1d88'
"""The value of ``NPAC_TEST_TOKEN``, which ``--secret-env`` gives: a text that JSON and shells escape."""
UNNAMED = {
    "AWS_SECRET_ACCESS_KEY": "zq7-shell-aws-71b2c9d0",
    "AWS_SESSION_TOKEN": "zq7-shell-session-0a93ef",
    "NPAC_TEST_OTHER": "zq7-shell-other-5f5e10",
}
"""What the shell has exported and nobody has named to npac."""

TRACE = b"zq7-"
"""What stands in each of them, and nowhere else."""


class Place:
    """A user's folder with all that npac writes below it: state, home, temporary files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state" / "npac"
        self.mine: set[Path] = set()
        """Files that the user, not npac, has written."""
        for name in ("home", "tmp", "work"):
            (folder / name).mkdir()
        kept = ("PATH", "LANG", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
        self.environment = {name: os.environ[name] for name in kept if name in os.environ} | {
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "NPAC_HOME": str(self.state),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NPAC_TEST_TOKEN": NAMED,
            **UNNAMED,
        }
        self.said: list[tuple[tuple[str, ...], bytes]] = []

    def write(self, name: str, text: str) -> Path:
        """Write a file as the user."""
        path = self.folder / "work" / name
        path.write_text(text, encoding="utf-8")
        self.mine.add(path)
        return path

    def start(self, *argv: str) -> subprocess.Popen[bytes]:
        """Start a command, with a mask that takes nothing away."""
        return subprocess.Popen(
            [sys.executable, "-c", NPAC, *argv],
            cwd=self.folder / "work",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            umask=0,
        )

    def npac(self, *argv: str) -> int:
        """Run a command to its end, keep what it says, and give its exit code."""
        with self.start(*argv) as process:
            output, _ = process.communicate(timeout=120)
        self.said.append((argv, output))
        return process.returncode

    def written(self) -> Iterator[Path]:
        """Give all that there is below the place and was not written by the user."""
        for path in sorted(self.folder.rglob("*")):
            if path not in self.mine:
                yield path

    def exposed(self) -> list[str]:
        """Say where a secret stands: in a file, in a name, or in what a command has said."""
        found = [f"npac {' '.join(argv)} says: {text!r}" for argv, text in self.said if TRACE in text]
        for path in self.written():
            if TRACE in os.fsencode(path):
                found.append(f"the name {path}")
            if path.is_file() and not path.is_symlink() and TRACE in path.read_bytes():
                found.append(str(path))
        return found

    def open_to_others(self) -> list[str]:
        """Give what npac has written and others than its owner may read, write or enter."""
        return [
            f"{stat.filemode(path.lstat().st_mode)} {path}"
            for path in self.written()
            if (self.state in path.parents or self.folder / "tmp" in path.parents)
            and not path.is_symlink()
            and stat.S_IMODE(path.lstat().st_mode) not in ((0o700,) if path.is_dir() else (0o600,))
        ]


def command_lines() -> bytes:
    """Give the command lines of all processes that can be seen."""
    found = b""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                found += Path("/proc", entry, "cmdline").read_bytes() + b"\n"
            except OSError:
                continue
    return found
