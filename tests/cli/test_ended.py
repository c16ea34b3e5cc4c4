"""A run that has ended is left as it is: what is asked of it is answered, and nothing is appended."""

from __future__ import annotations

from pathlib import Path

import pytest

from npac import api
from npac.running import open_ledger
from tests.api.command import invoke
from tests.cli.runs_of import home, sh, write
from tests.cli.test_asking import Start, endless, npac, running, until

__all__ = ["home", "npac"]

FAST = ("--poll-seconds", "0.05")


def ended(home: Path, capsys: pytest.CaptureFixture[str], state: str) -> int:
    """Bring run ``r`` to one of its ends; gives the number of its last event."""
    work = {"succeeded": "true", "failed": "exit 3", "cancelled": "exec sleep 600"}[state]
    out = f"file://{home}/art/x"
    writes = f"outputs: [{{uri: {out!r}}}], next: last"
    first = sh(f"echo 1 > {home}/art/x", writes)
    spec = write(home, f"  first: {first}\n  last: {sh(work, 'terminal: true')}\n")
    detach = ("--max-wait", "0.5", "--on-timeout", "detach") if state == "cancelled" else ()
    invoke(capsys, "run", spec, "--run-id", "r", *detach, *FAST)
    if state == "cancelled":
        invoke(capsys, "cancel", "r", *FAST)
    view = api.status("r")
    assert view.state == state
    return view.head


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_there_is_nothing_to_cancel(home: Path, capsys: pytest.CaptureFixture[str], state: str) -> None:
    head = ended(home, capsys, state)
    done = invoke(capsys, "cancel", "r", *FAST)
    assert (done.code, done.out) == (0, f"run r has ended ({state}): there is nothing to cancel\n")
    assert api.status("r").head == head
    with pytest.raises(api.NpacError, match="nothing to cancel"):
        api.cancel("r")
    assert list(open_ledger("r", None).requests()) == []


def test_there_is_nothing_to_retry(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = ended(home, capsys, "succeeded")
    done = invoke(capsys, "retry", "r", *FAST)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: run r has ended (succeeded): there is nothing to retry\n")
    assert api.status("r").head == head
    assert list(open_ledger("r", None).requests()) == []


@pytest.mark.parametrize(
    ("state", "code", "kind"),
    [
        ("succeeded", 0, "none"),
        ("succeeded", 0, "cancel"),
        ("succeeded", 0, "retry"),
        ("succeeded", 0, "decide"),
        ("failed", 1, "none"),
        ("failed", 1, "cancel"),
        ("failed", 1, "dance"),
        ("cancelled", 4, "none"),
        ("cancelled", 4, "cancel"),
    ],
)
def test_resume_shows_the_result_and_appends_nothing(
    home: Path, capsys: pytest.CaptureFixture[str], state: str, code: int, kind: str
) -> None:
    head = ended(home, capsys, state)
    if kind != "none":
        # As left by one who asked just when the run ended.
        open_ledger("r", None).ask(kind, {"reason": "late"})
    for _ in range(2):
        done = invoke(capsys, "resume", "r", *FAST)
        assert done.code == code and done.out.startswith(f"r: {state}"), done
        assert ("artifacts:" in done.out) == (state == "succeeded")
    assert api.status("r").head == head
    assert open_ledger("r", None).events()[-1].type == "run-ended"


def test_a_run_that_goes_on_is_not_retried_and_one_sentence_says_so(
    home: Path, capsys: pytest.CaptureFixture[str], npac: Start
) -> None:
    npac("run", str(endless(home)), "--run-id", "r", *FAST)
    until(lambda: running("r"))
    done = invoke(capsys, "retry", "r", *FAST)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "error: run r is going on; there is no failed wave to try again",
        "  help: npac status r shows where it is",
    ]
    assert list(open_ledger("r", None).requests()) == []
    assert invoke(capsys, "cancel", "r", *FAST).code == 4
