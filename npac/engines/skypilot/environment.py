"""The environment of SkyPilot's processes, and the state folder of an isolated one."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from npac.launch.ports import EngineError

PORT = "SKYPILOT_API_SERVER_LOCAL_PORT"
USER = "SKYPILOT_USER_ID"
STATE = "NPA_SKYPILOT_STATE_DIR"

_OF_A_JOB = re.compile(
    r"SKYPILOT_(TASK_IDS?|MANAGED_JOB_ID|ROOT_JOB_ID|INTERNAL_JOB_ID|NUM_JOBS|JOB_RANK|CLUSTER_INFO"
    r"|NODE_RANK|NODE_IPS|NUM_NODES|NUM_GPUS_PER_NODE|SETUP_\w+|JOBGROUP_\w+|SERVE_REPLICA_ID|RUN_TIMESTAMP)"
)
"""What SkyPilot sets in a job.  A launch from inside a job must not seem to be a part of it."""
_IN_A_JOB = ("SKYPILOT_TASK_ID", "SKYPILOT_MANAGED_JOB_ID", "SKYPILOT_INTERNAL_JOB_ID")
_CREDENTIALS = {
    "KUBECONFIG": ".kube/config",
    "AWS_CONFIG_FILE": ".aws/config",
    "AWS_SHARED_CREDENTIALS_FILE": ".aws/credentials",
}
"""Files of the user's own home that an isolated SkyPilot goes on using."""
_INSTANCE = re.compile(r"[0-9a-f]{32}\n")


def identity_of(state: Path) -> str:
    """Give the user id that belongs to a state folder: ``npa-`` and 12 hex digits."""
    return "npa-" + hashlib.sha256(os.fsencode(state.resolve())).hexdigest()[:12]


def port_of(state: Path) -> int:
    """Give the port of a state folder's own API server, from 20000 to 29999."""
    return 20000 + int(hashlib.sha256(os.fsencode(state.resolve())).hexdigest()[12:20], 16) % 10000


def environment(source: Mapping[str, str], state: Path | None) -> dict[str, str]:
    """Give the environment of SkyPilot's processes.

    It is the caller's own without what a surrounding job has set.  With a ``state`` folder, SkyPilot
    has its home, runtime folder, port and user id there; credentials files of the user's home are
    named by variables that say nothing yet.
    """
    inside = any(source.get(name) for name in _IN_A_JOB)
    env = {name: value for name, value in source.items() if not _OF_A_JOB.fullmatch(name)}
    if inside:
        env.pop("SKY_RUNTIME_DIR", None)
    if state is None:
        return env
    home = Path(source.get("HOME") or os.path.expanduser("~"))
    for name, path in _CREDENTIALS.items():
        if name not in env and (home / path).is_file():
            env[name] = str(home / path)
    folder = state.resolve()
    env["HOME"] = str(folder / "home")
    env["SKY_RUNTIME_DIR"] = str(folder / "runtime")
    env.setdefault(PORT, str(port_of(folder)))
    env.setdefault(USER, identity_of(folder))
    return env


def make_state(state: Path) -> None:
    """Make a state folder, for its owner only.  Raises :class:`EngineError`, phase ``"rejected"``."""
    try:
        for folder in (state, state / "home", state / "runtime"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if state.stat().st_uid != os.getuid():
            raise PermissionError(errno.EACCES, "it is another user's", str(state))
    except OSError as error:
        raise EngineError(
            f"SkyPilot's state folder {state} cannot be used: {error.strerror}.",
            phase="rejected",
            remedy="Choose a folder that you own and can write to.",
        ) from error


def marker_path(env: Mapping[str, str], state: Path | None) -> Path:
    """Give the file that holds the random identity of this SkyPilot's state."""
    if state is not None:
        return state.resolve() / "engine-instance"
    return Path(env.get("HOME") or os.path.expanduser("~"), ".sky", "npac-engine-instance")


def instance_marker(path: Path) -> str:
    """Give the random identity in a file, which is written once, with the first call.

    Raises :class:`EngineError`, phase ``"rejected"``, when it can be neither read nor written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        if not path.exists():
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
                handle.write(secrets.token_hex(16) + "\n")
                handle.flush()
                os.fsync(handle.fileno())
            try:
                os.link(draft, path)  # whole, and only if nobody was faster
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise EngineError(
            f"The identity of SkyPilot's state, {path}, cannot be kept: {error}.",
            phase="rejected",
            remedy="See that the folder is yours and on a disk with room.",
        ) from error
    if not _INSTANCE.fullmatch(text):
        raise EngineError(
            f"{path} does not hold the identity that npac wrote there.",
            phase="rejected",
            remedy="Put the file back; removing it makes this another engine, on which no run goes on.",
        )
    return text.strip()
