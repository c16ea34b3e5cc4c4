"""Names of states and groups as SkyPilot takes them.

SkyPilot is narrower than a spec: a task's name has at most two of ``.``, ``_`` and ``-`` in a row and
does not end with one, and inside a JobGroup neither a task nor the group may hold a dot.  A name that
is taken as it stands stays; any other is mended and gets 8 hex digits of its own, so that two
names that differ still do.  Tasks know their state by ``NPA_WORKFLOW_STATE``, never by this name.
"""

from __future__ import annotations

import hashlib
import re

_TASK = re.compile(r"[A-Za-z0-9]+(?:[._-]{1,2}[A-Za-z0-9]+)*")
_MEMBER = re.compile(r"[A-Za-z0-9]+(?:[_-]{1,2}[A-Za-z0-9]+)*")
_RUN = re.compile(r"([._-]{2})[._-]+")


def task_name(state: str) -> str:
    """Give the name of a task that stands alone."""
    return state if _TASK.fullmatch(state) else _mended(state)


def member_name(name: str) -> str:
    """Give the name of a task inside a JobGroup, or of the group itself."""
    return name if _MEMBER.fullmatch(name) else _mended(name.replace(".", "-"), name)


def _mended(text: str, name: str = "") -> str:
    own = hashlib.sha256((name or text).encode()).hexdigest()[:8]
    plain = _RUN.sub(r"\1", text).rstrip("._-")
    return f"{plain}-{own}"
