"""Where the objects of a run are, relative to the run's own prefix.

``run.json``
    What makes the prefix a run: format, run id, how it is written, and a nonce.  Never changed.
``log/<12 digits>.json``
    The events, each written once, on condition that nothing is there (:mod:`.records`).
``heartbeat/<fence>``
    The last sign of life of a driver; overwritten.
``released/<fence>``
    A driver has given the run back; written once.
``requests/<id>``, ``requests/<id>.answer``
    What a person asked, and what a driver said to it; each written once.
``blobs/<ab>/<sha256>``
    Content-addressed bytes.
``snapshot``
    The first events of the log in one object, to be read faster.  A cache: whoever reads it verifies it
    against the log, and losing it loses nothing.
"""

from __future__ import annotations

MARKER = "run.json"
SNAPSHOT = "snapshot"
LOG = "log/"
REQUESTS = "requests/"
BLOBS = "blobs/"
HEARTBEATS = "heartbeat/"

_ANSWER = ".answer"


def event(number: int) -> str:
    """Give the key of an event."""
    return f"{LOG}{number:012d}.json"


def event_number(key: str) -> int | None:
    """Give the number of the event that a key is of; None for a key that is of no event."""
    digits = key.removeprefix(LOG).removesuffix(".json")
    return int(digits) if digits.isdecimal() and digits.isascii() and key == event(int(digits)) else None


def heartbeat(fence: int) -> str:
    """Give the key of a driver's heartbeat."""
    return f"{HEARTBEATS}{fence}"


def released(fence: int) -> str:
    """Give the key of what says that a driver has given the run back."""
    return f"released/{fence}"


def request(request_id: str) -> str:
    """Give the key of a request."""
    return REQUESTS + request_id


def answer(request_id: str) -> str:
    """Give the key of the answer to a request."""
    return REQUESTS + request_id + _ANSWER


def is_answer(key: str) -> bool:
    """Say whether a key below ``requests/`` is that of an answer."""
    return key.endswith(_ANSWER)


def blob(digest: str) -> str:
    """Give the key of a blob."""
    return f"{BLOBS}{digest[:2]}/{digest}"
