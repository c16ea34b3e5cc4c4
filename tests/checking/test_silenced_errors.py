"""Errors that were silenced: check counts them, and what needs a program names each and what silences it."""

from __future__ import annotations

from pathlib import Path

import pytest

from npac import api
from tests.api.command import Outcome, invoke
from tests.api.specs import PLAIN

FAULTY = PLAIN.replace("terminal: true", "terminal: true, zzz: 3")
BY_COMMENT = FAULTY.replace("zzz: 3}", "zzz: 3}  # npac: ignore[NPA101] ours")


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.yaml"
    path.write_text(FAULTY, encoding="utf-8")
    return path


COUNTED = "nothing else was found; 1 error silenced, which keeps the spec from compiling\n"


def compiled(capsys: pytest.CaptureFixture[str], command: str) -> Outcome:
    return invoke(capsys, command, "a.yaml")


@pytest.mark.parametrize("command", ["compile", "plan", "graph", "run"])
@pytest.mark.parametrize(
    ("text", "config", "how"),
    [
        (BY_COMMENT, "", "silenced at line 5"),
        (FAULTY, 'ignore = ["NPA101"]', "silenced by "),
        (FAULTY, 'ignore = ["unknown-key"]', "silenced by "),
        (FAULTY, 'select = ["NPA3"]', "silenced by "),
        (FAULTY, '[severity]\nNPA101 = "note"', "silenced by "),
        (FAULTY, '[per-file-ignores]\n"a.yaml" = ["NPA101"]', "silenced by "),
    ],
)
def test_what_needs_a_program_names_what_stands_in_its_way(
    spec: Path, capsys: pytest.CaptureFixture[str], command: str, text: str, config: str, how: str
) -> None:
    spec.write_text(text, encoding="utf-8")
    (spec.parent / "npac.toml").write_text(config, encoding="utf-8")
    done = invoke(capsys, command, "a.yaml")
    assert (done.code, done.out) == (1, "")
    assert "error[NPA101] unknown-key: the state 'only' has no key 'zzz'" in done.err
    assert how in done.err and "nothing is compiled in spite of it" in done.err
    assert "npac.toml" in done.err or text is BY_COMMENT
    assert "fine" not in done.err and done.err.endswith("1 error in 1 file\n")


def test_the_comment_that_silences_is_shown(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec.write_text(BY_COMMENT, encoding="utf-8")
    assert "------ silenced here" in compiled(capsys, "compile").err


def test_check_counts_them_and_does_not_call_the_spec_fine(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(capsys, "check", "--ignore", "NPA101", "a.yaml")[:] == (0, COUNTED, "")
    assert invoke(capsys, "check", "--select", "NPA3", "a.yaml")[:] == (0, COUNTED, "")
    spec.write_text(BY_COMMENT, encoding="utf-8")
    assert invoke(capsys, "check", "a.yaml")[:] == (0, COUNTED, "")


def test_an_error_made_less_is_counted_beside_what_is_shown(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (spec.parent / "npac.toml").write_text('[severity]\nNPA101 = "warning"\n', encoding="utf-8")
    done = invoke(capsys, "check", "a.yaml")
    assert done.code == 0
    assert done.out.endswith("1 warning in 1 file; 1 error silenced, which keeps the spec from compiling\n")


def test_from_python_the_errors_are_there(spec: Path) -> None:
    ignoring = api.Options(ignore=("unknown-key",))
    checked = api.check(spec, ignoring)
    assert checked.sound and checked.findings == []
    (silenced,) = checked.silenced
    assert (silenced.finding.code.id, silenced.by) == ("NPA101", None)
    with pytest.raises(api.SpecError) as raised:
        api.compile(spec, ignoring)
    (item,) = raised.value.checked.findings
    assert item.help.endswith("silenced by an option, and nothing is compiled in spite of it")


def test_a_warning_that_is_silenced_keeps_nothing_from_compiling(spec: Path) -> None:
    spec.write_text(
        PLAIN + "  lost: {terminal: true}  # npac: ignore[NPA326] kept for later\n", encoding="utf-8"
    )
    checked = api.check(spec)
    assert (checked.findings, checked.silenced) == ([], [])
    assert api.compile(spec).program.workflow == "plain"
