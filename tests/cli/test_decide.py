"""``npac decide``: a blocked gate takes a decision, always; nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from npac import api
from npac.running import open_ledger
from tests.api.command import invoke
from tests.cli.runs_of import gated, home, sh, write

__all__ = ["home"]

FAST = ("--poll-seconds", "0.05")
WHY = ("--reason", "looked at it", *FAST)


@pytest.mark.parametrize("resumes", [0, 1, 2])
def test_a_blocked_gate_is_decided_also_after_it_was_resumed(home: Path, capsys, resumes: int) -> None:
    blocked = invoke(capsys, "run", gated(home), "--run-id", "r", *FAST)
    assert blocked.code == 3, blocked
    assert "{" not in blocked.out, "said in words"
    for _ in range(resumes):
        again = invoke(capsys, "resume", "r", *FAST)
        assert again.code == 3 and "npac decide r refine[1]" in again.out
    gate = api.status("r").node
    done = invoke(capsys, "decide", "r", gate, "promote_checkpoint", *WHY)
    assert done.code == 0, done
    assert "promote_checkpoint (by hand)" in done.err
    assert list(api.status("r").waves)[-1] == "publish"


def test_what_is_no_blocked_gate_is_refused_and_nothing_is_resumed(home: Path, capsys) -> None:
    invoke(capsys, "run", gated(home), "--run-id", "r", *FAST)
    head = api.status("r").head
    unknown = invoke(capsys, "decide", "r", "nowhere", "loop_back", *WHY)
    assert unknown.code == 2 and "no gate 'nowhere'" in unknown.err and "refine[1]@until" in unknown.err
    later = invoke(capsys, "decide", "r", "refine[2]@until", "loop_back", *WHY)
    assert later.code == 2 and "is not blocked" in later.err and "refine[1]@until" in later.err
    assert (api.status("r").head, list(open_ledger("r", None).requests())) == (head, [])


def test_an_ended_run_takes_no_decision(home: Path, capsys) -> None:
    invoke(capsys, "run", gated(home), "--run-id", "r", *FAST)
    assert invoke(capsys, "decide", "r", "refine[1]@until", "promote_checkpoint", *WHY).code == 0
    head = api.status("r").head
    done = invoke(capsys, "decide", "r", "refine[1]@until", "promote_checkpoint", *WHY)
    assert done.code == 2 and "has ended (succeeded)" in done.err
    assert api.status("r").head == head
    plain = write(home, f"  first: {sh('true', 'terminal: true')}\n", "plain.yaml")
    invoke(capsys, "run", plain, "--run-id", "p", *FAST)
    assert "Its program has no gates" in invoke(capsys, "decide", "p", "first", "loop_back", *WHY).err
