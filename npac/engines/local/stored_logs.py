"""Logs of jobs in a state folder that may only be read: on a read-only disk, or another user's.

The engine itself cannot be opened there, since whoever reads its queue also sees to jobs whose
supervisor has died.  The logs are plain files, and reading them needs nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from npac.engines.local.folder import JobFolder
from npac.engines.local.logs import Tail, present
from npac.launch.ports import EngineError


def only_readable(root: Path) -> bool:
    """Say whether there is a state folder at ``root`` that this process may not write to."""
    return root.is_dir() and not os.access(root, os.W_OK | os.X_OK)


def stored_logs(root: Path, job_id: str, tasks: Sequence[str], task: str = "") -> Iterator[str]:
    """Yield what the logs of a job hold, as ``LocalEngine.logs`` does without ``follow``.

    ``tasks`` are the names of the job's tasks in their order.  Raises
    :class:`~npac.launch.ports.EngineError` when there is no log, or it cannot be read.
    """
    folder = JobFolder(os.fspath(root), int(job_id))
    try:
        files = [
            (name, number, rank)
            for number, name in enumerate(tasks)
            if not task or name == task
            for rank in _ranks(os.path.dirname(folder.log(number, 0)))
        ]
        tails = [
            Tail(folder.log(number, rank), f"({name} rank={rank}) " if len(files) > 1 else "")
            for name, number, rank in files
        ]
        yield from present(tails)
    except OSError as error:
        raise EngineError(
            f"The log of job {job_id} cannot be read: {error.strerror or error}.",
            remedy=f"See whether its folder {folder.path} is still there.",
        ) from error


def _ranks(folder: str) -> list[int]:
    names = (name.removesuffix(".log") for name in os.listdir(folder) if name.endswith(".log"))
    return sorted(int(name) for name in names if name.isdigit())
