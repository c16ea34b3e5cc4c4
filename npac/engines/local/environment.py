"""The environment of a task: a small base of the launching process, SkyPilot's variables, the task's own.

What counts most comes last: base, SkyPilot's variables and the node's state folder, ``envs``, secrets,
the engine's marker.
"""

from __future__ import annotations

import time

from npac.engines.local.processes import MARKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

BASE = (
    # Where programs, libraries, temporary files and the user's own files are.
    "PATH",
    "LD_LIBRARY_PATH",
    "HOME",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "SHELL",
    # How text and times are read.
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    # Where certificates and object stores are, and which named profile to use: no key is among these.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "AWS_CA_BUNDLE",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
)
"""The variables that tasks inherit from the process that launches them.

Nothing else is inherited: no access key, no token, no ``NPA_`` or ``SKYPILOT_`` variable, no
``PYTHONPATH``.  What a task needs beyond this stands in its ``envs`` or among the secrets.
"""


def base_environment(source: Mapping[str, str]) -> dict[str, str]:
    """Give the part of ``source`` that tasks inherit."""
    return {name: source[name] for name in BASE if name in source}


def marker(instance: str, job: int, task: int | None = None) -> str:
    """Give the marker of a task's processes, or what the markers of all a job's tasks begin with."""
    return f"{instance}.{job}." + ("" if task is None else f"{task}.")


def task_id(name: str, task: str, job: int, number: int, *, group: bool, submitted_at: float) -> str:
    """Give ``SKYPILOT_TASK_ID``: unique to one task of one job, the same on all its nodes."""
    stamp = time.strftime("%Y-%m-%d-%H-%M-%S", time.localtime(submitted_at))
    micro = int(submitted_at % 1 * 1_000_000)
    middle = f"{name}_{task}" if group else name
    return f"sky-managed-{stamp}-{micro:06d}_{middle}_{job}-{number}"


def process_environment(
    base: Mapping[str, str],
    task: Mapping[str, Any],
    *,
    phase: str,
    rank: int,
    job: int,
    task_identity: str,
    group: str,
    mark: str,
    state: str,
) -> dict[str, str]:
    """Give the whole environment of one process.

    ``task`` is an entry of the plan (see :mod:`npac.engines.local.documents`).  As on SkyPilot, a
    setup script finds its rank in ``SKYPILOT_SETUP_NODE_RANK`` and a run script in
    ``SKYPILOT_NODE_RANK``; ``SKYPILOT_NUM_NODES`` is there in both.  All nodes are this machine, so
    each has a folder of its own, ``state``, in ``NPA_TASK_STATE``: what a container would hold
    between setup and run.
    """
    nodes = task["nodes"]
    prefix = "SKYPILOT_SETUP_" if phase == "setup" else "SKYPILOT_"
    given = {
        "PYTHONUNBUFFERED": "1",
        "SKYPILOT_MANAGED_JOB_ID": str(job),
        "SKYPILOT_TASK_ID": task_identity,
        "SKYPILOT_NUM_NODES": str(nodes),
        f"{prefix}NODE_RANK": str(rank),
        f"{prefix}NODE_IPS": "\n".join(["127.0.0.1"] * nodes),
        f"{prefix}NUM_GPUS_PER_NODE": str(task["gpus"]),
        "NPA_TASK_STATE": state,
    }
    if group:
        given["SKYPILOT_JOBGROUP_NAME"] = group
    return {**base, **given, **task["envs"], **task["secrets"], MARKER: mark}
