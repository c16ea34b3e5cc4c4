"""The values of secrets are refused wherever a run would write them down."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from npac.runtime.options import Refused

SHORTEST = 8
"""Characters of the shortest value that is looked for in texts, where shorter ones stand by chance."""
_SHORTEST_IN_ID = 4
_REMEDY = (
    "take it out and let the task read the environment variable instead; if the value is no secret, "
    "leave it out of --secret-env"
)


def demand_unexposed_id(secrets: Mapping[str, str], run_id: str) -> None:
    """Refuse a run id that is, or holds, the value of a secret: ids name folders, jobs and variables.

    ``secrets`` holds values by name.  Raises :class:`Refused`, which never shows a value.
    """
    for name, value in secrets.items():
        if value == run_id or (len(value) >= _SHORTEST_IN_ID and value in run_id):
            raise Refused(
                f"the run id holds the value of the secret {name}, and it is written in many places",
                remedy="choose another run id",
            )


def demand_unexposed_options(
    secrets: Mapping[str, str], options: Iterable[tuple[str, Iterable[tuple[str, str]]]]
) -> None:
    """Refuse options whose keys or values hold the value of a secret; ``options`` are name and pairs.

    Raises :class:`Refused`, which never shows a value, and shows a key only where it holds none.
    """
    for option, pairs in options:
        for key, value in pairs:
            if holder := _holds(secrets, key):
                raise Refused(
                    f"a key given with {option} holds the value of the secret {holder}", remedy=_REMEDY
                )
            if holder := _holds(secrets, value):
                raise Refused(
                    f"what {option} gives for {key} holds the value of the secret {holder}", remedy=_REMEDY
                )


def demand_unexposed_text(secrets: Mapping[str, str], what: str, data: bytes) -> None:
    """Refuse a text that is stored with a run and holds the value of a secret, as such or in JSON.

    ``what`` names the text.  Raises :class:`Refused` with the line, which never shows a value.
    """
    for name, value in secrets.items():
        if len(value) < SHORTEST:
            continue
        for form in (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
            at = data.find(form.encode("utf-8", "surrogateescape"))
            if at >= 0:
                line = data.count(b"\n", 0, at) + 1
                raise Refused(f"{what} holds the value of the secret {name} in line {line}", remedy=_REMEDY)


def _holds(secrets: Mapping[str, str], text: str) -> str:
    """Give the name of a secret whose value stands in ``text``; empty for none."""
    return next((name for name, value in secrets.items() if len(value) >= SHORTEST and value in text), "")
