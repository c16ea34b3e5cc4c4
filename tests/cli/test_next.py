"""What to do next is said once and the same by all: at a run's end, and by status, why and resume."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from npac import api
from tests.api.command import Outcome, invoke
from tests.cli.runs_of import HEAD, gated, home, sh, write

__all__ = ["home"]

FAST = ("--poll-seconds", "0.05")


def told(outcome: Outcome) -> str:
    """Give the next step that a command printed last."""
    found = re.findall(r"^  next: (.*)$", outcome.out, re.MULTILINE)
    assert len(found) == 1, outcome
    return str(found[0])


def everywhere(capsys: pytest.CaptureFixture[str], ended: Outcome, *place: str) -> str:
    """Give the next step of run ``r``, which must be the same wherever it is said."""
    said = told(ended)
    assert told(invoke(capsys, "status", "r", *place)) == said
    assert invoke(capsys, "why", "r", *place).out.rstrip().endswith(f"Next: {said}")
    assert json.loads(invoke(capsys, "status", "r", "--json", *place).out)["next"] == said
    return said


def commands(said: str) -> list[list[str]]:
    """Give the commands in a text, as words after ``npac``."""
    return [shlex.split(each)[1:] for each in re.findall(r"npac [^;(,]+", said)]


def test_a_failed_step_is_mended_and_tried_again(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write(home, f"  first: {sh(f'test -e {home}/mended', 'terminal: true')}\n")
    failed = invoke(capsys, "run", spec, "--run-id", "r", *FAST)
    said = everywhere(capsys, failed)
    assert said == (
        "mend what made first fail, then: npac retry r; "
        f"if the spec, a --var or a code path has to change: npac resume r --amend {spec}; "
        f"or, anew: npac run {spec}"
    )
    assert told(invoke(capsys, "resume", "r", *FAST)) == said
    assert "npac logs r first" in invoke(capsys, "status", "r").out
    (home / "mended").touch()
    retry, amend, anew = commands(said)
    assert amend == ["resume", "r", "--amend", str(spec)]
    assert invoke(capsys, *retry, *FAST).code == 0
    assert invoke(capsys, *anew, *FAST).code == 0


def test_a_missing_output_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uri = f"file://{home}/made/x"
    work = f"test ! -e {home}/mended || echo 1 > {home}/made/x"
    spec = write(home, f"  first: {sh(work, f'outputs: [{{uri: {uri!r}}}], terminal: true')}\n")
    said = everywhere(capsys, invoke(capsys, "run", spec, "--run-id", "r", *FAST))
    assert said.startswith(f"have first write {uri}, then: npac retry r; if the spec")
    (home / "mended").touch()
    assert invoke(capsys, *commands(said)[0], *FAST).code == 0


def judged(home: Path, after: str) -> Path:
    """Write a spec whose first step copies the file ``says`` to its decision artifact."""
    uri = f"file://{home}/art/decision.json"
    copied = sh(
        f"cat {home}/says > {home}/art/decision.json",
        f"writesDecision: true, outputs: [{{uri: {uri!r}, schema: decision.v1}}]",
    )
    other = f"  other: {sh('true')}\n" if "other" in after else ""
    return write(
        home,
        f"  refine: {{sequence: [{after}], loop: {{max: 2, until: promote_checkpoint}}, next: done}}\n"
        f"  judge: {copied}\n{other}  done: {{terminal: true}}\n",
    )


def test_a_decision_that_is_none_is_made_again(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "says").write_text('{"decision": "perhaps"}')
    failed = invoke(capsys, "run", judged(home, "judge"), "--run-id", "r", *FAST)
    assert failed.code == 1, failed
    said = everywhere(capsys, failed)
    assert f"remove what it wrote (rm {home}/art/decision.json)" in said and "then: npac retry r" in said
    (home / "says").write_text('{"decision": "promote"}')
    (home / "art" / "decision.json").unlink()
    assert invoke(capsys, "retry", "r", *FAST).code == 0
    assert len(api.status("r").waves["refine[1]/judge"].attempts) == 2


def test_a_decision_that_others_ran_after_is_given(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "says").write_text('{"decision": "perhaps"}')
    failed = invoke(capsys, "run", judged(home, "judge, other"), "--run-id", "r", *FAST)
    said = everywhere(capsys, failed)
    (home / "art" / "decision.json").unlink()
    blocked = invoke(capsys, "retry", "r", *FAST)
    assert blocked.code == 3, blocked
    decide = f"npac decide r {api.status('r').node} promote_checkpoint --reason '…'"
    assert decide in said and decide in everywhere(capsys, blocked)
    assert invoke(capsys, *shlex.split(decide)[1:], *FAST).code == 0


def test_what_took_too_long_gets_more_time(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write(
        home, f"  first: {sh(f'while test ! -e {home}/go; do sleep 0.05; done', 'terminal: true')}\n"
    )
    slow = invoke(capsys, "run", spec, "--run-id", "r", "--max-wait", "0.3", *FAST)
    said = everywhere(capsys, slow)
    assert said.startswith("npac retry r --max-wait 0.6; or npac retry r (")
    (home / "go").touch()
    assert invoke(capsys, "retry", "r", *FAST).code == 0


def test_a_cancelled_run_names_what_goes_on_and_a_detached_one_both(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write(home, f"  first: {sh('exec sleep 600', 'terminal: true')}\n")
    left = invoke(capsys, "run", spec, "--run-id", "r", "--max-wait", "0.3", "--on-timeout", "detach", *FAST)
    assert everywhere(capsys, left).startswith("npac resume r")
    cancelled = invoke(capsys, "cancel", "r", *FAST)
    assert everywhere(capsys, cancelled) == "npac retry r"
    assert told(invoke(capsys, "resume", "r", *FAST)) == "npac retry r"


def test_the_commands_name_the_ledger_that_had_to_be_named(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write(home, f"  first: {sh(f'test -e {home}/mended', 'terminal: true')}\n")
    place = ("--ledger", str(home / "led ger"))
    said = everywhere(capsys, invoke(capsys, "run", spec, "--run-id", "r", *place, *FAST), *place)
    assert f"npac retry r --ledger '{home}/led ger'; if" in said
    assert said.endswith(f"npac run {spec} --ledger '{home}/led ger'")
    (home / "mended").touch()
    assert invoke(capsys, *commands(said)[0], *FAST).code == 0


def test_the_ledger_of_the_project_is_told_and_needs_no_option(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "npac.toml").write_text('ledger = "kept"\n')
    spec = write(home, f"  first: {sh('exit 3', 'terminal: true')}\n")
    done = invoke(capsys, "run", spec, "--run-id", "r", *FAST)
    line = f"ledger: {home}/kept (from the project's configuration)"
    assert done.err.splitlines()[0] == line
    assert "--ledger" not in everywhere(capsys, done)
    other = invoke(capsys, "run", spec, "--run-id", "r", "--ledger", "elsewhere", *FAST)
    assert "ledger:" not in other.err
    os.unlink(home / "npac.toml")
    assert "ledger:" not in invoke(capsys, "run", spec, "--run-id", "r", *FAST).err


@pytest.mark.parametrize("word", ["promote", "promote_checkpoint"])
def test_a_gate_takes_the_words_of_an_artifact(
    home: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    blocked = invoke(capsys, "run", gated(home), "--run-id", "r", *FAST)
    assert "npac decide r refine[1]@until" in everywhere(capsys, blocked)
    done = invoke(capsys, "decide", "r", "refine[1]@until", word, "--reason", "seen", *FAST)
    assert done.code == 0 and "promote_checkpoint (by hand)" in done.err


def test_the_long_word_for_another_round_and_no_other_word(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke(capsys, "run", gated(home), "--run-id", "r", *FAST)
    head = api.status("r").head
    wrong = invoke(capsys, "decide", "r", "refine[1]@until", "perhaps", "--reason", "seen", *FAST)
    assert wrong.code == 2 and '"perhaps", which is none of promote,' in wrong.err
    assert api.status("r").head == head
    again = invoke(
        capsys, "decide", "r", "refine[1]@until", "loop_back_to_inner_loop", "--reason", "seen", *FAST
    )
    assert again.code == 3, "blocked at the next round's gate"
    assert api.status("r").decisions["refine[1]@until"].decision == "loop_back"


def test_of_a_run_that_never_was_it_is_said_that_nothing_was_begun(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ("resume r", "retry r", "cancel r", "status r", "why r"):
        done = invoke(capsys, *words.split())
        assert done.code == 2 and "there is no run r in" in done.err and "nothing of it was begun" in done.err
        assert "give that same command again" in done.err


def test_a_changed_spec_is_told_and_an_unchanged_one_is_not(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write(home, f"  first: {sh('exit 3', 'terminal: true')}\n")
    invoke(capsys, "run", spec, "--run-id", "r", *FAST)
    same = invoke(capsys, "retry", "r", *FAST)
    assert "stored with it" not in same.err
    spec.write_text(f"{HEAD}states:\n  first: {sh('exit 4', 'terminal: true')}\n")
    changed = invoke(capsys, "retry", "r", *FAST)
    assert f"{spec} has changed since run r began" in changed.err and f"npac run {spec}" in changed.err
    spec.unlink()
    gone = invoke(capsys, "retry", "r", *FAST)
    assert "cannot be compared with" in gone.err
    ended = invoke(capsys, "resume", "r", *FAST)
    assert "compared" not in ended.err, "nothing goes on"


def test_a_build_is_compared_by_its_manifest(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write(home, f"  first: {sh('exit 3', 'terminal: true')}\n")
    invoke(capsys, "compile", spec, "-o", home / "build")
    invoke(capsys, "run", home / "build", "--run-id", "r", *FAST)
    assert "stored with it" not in invoke(capsys, "retry", "r", *FAST).err
    write(home, f"  first: {sh('exit 4', 'terminal: true')}\n")
    invoke(capsys, "compile", spec, "-o", home / "build")
    assert f"{home}/build has changed since" in invoke(capsys, "retry", "r", *FAST).err


def test_a_path_that_holds_a_secret_is_not_put_on_record(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPAC_TOKEN", "open-sesame-4711")
    spec = write(home, f"  first: {sh('exit 3', 'terminal: true')}\n", "open-sesame-4711.yaml")
    done = invoke(capsys, "run", spec, "--run-id", "r", "--secret-env", "NPAC_TOKEN", *FAST)
    assert done.code == 1 and done.out.rstrip().endswith("npac run SPEC"), done
    assert api.status("r").target == ""
