"""A project's configuration with mistakes stops every command that it concerns, with exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npac.checking import ProjectError, project_for
from tests.api.command import invoke
from tests.api.specs import PLAIN

FILES = {
    "npac.toml": ("strict = 1\nfoo = 2\n", ("npac.toml:1:10", "npac.toml:2:1")),
    "pyproject.toml": ("[tool.npac]\nstrict = \n", ("pyproject.toml:2:10",)),
}


@pytest.fixture(params=FILES)
def places(request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NPAC_HOME", str(tmp_path / "home"))
    Path("plain.yaml").write_text(PLAIN, encoding="utf-8")
    Path("plain.test.yaml").write_text("cases: [{name: runs, expect: {waves: 1}}]\n", encoding="utf-8")
    text, places = FILES[request.param]
    Path(request.param).write_text(text, encoding="utf-8")
    return places


@pytest.mark.parametrize(
    "argv",
    [
        ("check",), ("check", "plain.yaml"), ("check", "--exit-zero", "plain.yaml"),
        ("check", "--ignore", "NPA903", "plain.yaml"), ("check", "--format", "json", "plain.yaml"),
        ("compile", "plain.yaml"), ("plan", "plain.yaml"), ("graph", "plain.yaml"), ("run", "plain.yaml"),
        ("tools",), ("test",), ("diff", "plain.yaml", "plain.yaml"), ("status", "r"), ("runs",),
        ("cancel", "r"),
    ],
)  # fmt: skip
def test_exit_code_and_places(places: tuple[str, ...], capsys, argv: tuple[str, ...]) -> None:
    outcome = invoke(capsys, *argv)
    assert outcome.code == 2
    said = outcome.out + outcome.err
    assert "NPA903" in said
    assert places[0] in said
    if "--format" in argv:
        assert isinstance(json.loads(outcome.out), list)
    assert not Path("home").exists()


def test_all_mistakes_are_values_with_their_places(places: tuple[str, ...]) -> None:
    with pytest.raises(ProjectError) as caught:
        project_for("plain.yaml")
    found = caught.value.checked.findings
    assert all(item.code.id == "NPA903" and item.help for item in found)
    told = str(caught.value)
    assert len(found) == len(places) and all(place in told for place in places)


def test_another_ledger_needs_no_configuration(places: tuple[str, ...], capsys) -> None:
    outcome = invoke(capsys, "runs", "--ledger", "elsewhere")
    assert outcome.code == 0


def test_a_credential_in_it_is_not_shown(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.yaml").write_text(PLAIN, encoding="utf-8")
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    Path("npac.toml").write_text(f'token = "{secret}"\nselect = ["{secret}"]\n', encoding="utf-8")
    for command in ("check", "compile"):
        outcome = invoke(capsys, command, "plain.yaml")
        assert outcome.code == 2
        assert secret[:10] not in outcome.out + outcome.err
