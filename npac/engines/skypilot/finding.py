"""Which SkyPilot is used: the one that is named, or the one in npac's own environment; never one on PATH."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from npac.launch.ports import EngineError

VARIABLE = "NPA_SKYPILOT_BIN"
_SHEBANG = re.compile(rb"\A#!\s*(/[^\n]*?python[0-9.]*)(?: [^\n]*)?\n")
_TRAMPOLINE = re.compile(rb"\A#![^\n]*/sh\n'''exec' \"?(/[^\n\"]*?python[0-9.]*)\"? \"\$0\"")
"""What installers write where the interpreter's path is too long for the first line."""


@dataclass(frozen=True, slots=True)
class Found:
    """A SkyPilot: its command, the interpreter that it runs in, and who named it."""

    command: Path
    python: Path
    source: str


def find(named: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> Found:
    """Give the SkyPilot to use.

    ``named`` is what an option or the project's configuration says; else the variable
    ``NPA_SKYPILOT_BIN`` counts, else npac's own environment.  Raises :class:`EngineError`, phase
    ``"rejected"``, when there is none or what is named is no SkyPilot command.
    """
    if named:
        return _at(named, "--sky-bin or the project's configuration")
    if environ.get(VARIABLE):
        return _at(environ[VARIABLE], VARIABLE)
    if importlib.util.find_spec("sky") is not None:
        try:
            importlib.metadata.version("skypilot")
        except importlib.metadata.PackageNotFoundError:
            pass
        else:
            return Found(Path(sys.prefix, "bin", "sky"), Path(sys.executable), "npac's own environment")
    raise EngineError(
        "No SkyPilot is named, and there is none in npac's own environment.",
        phase="rejected",
        remedy=f"Name one: --sky-bin ENVIRONMENT/bin/sky, or {VARIABLE}; or install npac[skypilot].",
    )


def _at(named: str | os.PathLike[str], source: str) -> Found:
    path = Path(os.path.abspath(os.path.expanduser(named)))
    command = path / "bin" / "sky" if path.is_dir() else path
    try:
        with open(command, "rb") as handle:
            head = handle.read(4096)
    except OSError as error:
        raise EngineError(
            f"The SkyPilot named by {source} cannot be read: {command}: {error.strerror}.",
            phase="rejected",
            remedy="Give the path of the command `sky` in the environment that SkyPilot is installed in.",
        ) from error
    match = _SHEBANG.match(head) or _TRAMPOLINE.match(head)
    # The interpreter is a link inside the environment; where it leads to, SkyPilot is not installed.
    choices = [Path(os.fsdecode(match[1]))] if match else []
    choices += [command.resolve().parent / name for name in ("python3", "python")]
    for python in choices:
        if os.access(python, os.X_OK):
            return Found(command, python, source)
    raise EngineError(
        f"{command} is no Python program of an environment, so it cannot be SkyPilot's command.",
        phase="rejected",
        remedy="Give the path of the command `sky` in the environment that SkyPilot is installed in.",
    )
