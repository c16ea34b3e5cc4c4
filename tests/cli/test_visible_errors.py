"""Nothing that is given or read acts on the terminal that standard error is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from npac.cli.streams import tell
from tests.api.command import ROOT, invoke
from tests.api.specs import PLAIN

EVIL = "a\x1b]0;owned\x07\x1b[31m"
SHOWN = "a␛]0;owned␇␛[31m"
OLD = PLAIN.replace("terminal: true", "terminal: true, multi_node_mode: single")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.yaml").write_text(PLAIN, encoding="utf-8")
    return tmp_path


def demand_visible(text: str) -> None:
    assert SHOWN in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)


@pytest.mark.parametrize(
    "words",
    [
        ("check", f"{EVIL}.yaml"),
        ("check", f"{EVIL}.test.yaml"),
        ("check", "plain.yaml", "--catalog", EVIL),
        ("check", "plain.yaml", "--config", EVIL),
        ("check", "plain.yaml", "--var", EVIL),
        ("check", "plain.yaml", "--ignore", EVIL),
        ("check", "plain.yaml", "--output-file", f"no/{EVIL}"),
        ("compile", f"{EVIL}.yaml"),
        ("plan", f"{EVIL}.yaml"),
        ("run", f"{EVIL}.yaml"),
        ("test", EVIL),
        ("diff", EVIL, "plain.yaml"),
        ("verify", EVIL),
        (EVIL,),
    ],
)
def test_what_was_given_is_shown_without_effect(
    here: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    done = invoke(capsys, *words)
    if "\\x1b" in done.err:  # a message that quotes what was given
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", done.err)
    else:
        demand_visible(done.err)


def test_folders_and_files_that_are_found(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / EVIL).mkdir()
    demand_visible(invoke(capsys, "check", EVIL).err)
    (here / f"{EVIL}.yaml").write_text(OLD, encoding="utf-8")
    mended = invoke(capsys, "check", "--fix", f"{EVIL}.yaml")
    assert mended.err == f"{SHOWN}.yaml: 1 mended\n"
    drawn = invoke(capsys, "graph", "plain.yaml", "-o", f"{EVIL}.svg")
    demand_visible(drawn.err)


@pytest.mark.parametrize(
    "text",
    [
        "'a\\u001b]0;owned\\u0007\\u001b[31m' = 1\n".replace("'", '"'),
        'ignore = ["a\\u001b]0;owned\\u0007\\u001b[31m"]\n',
        'extend = "a\\u001b]0;owned\\u0007\\u001b[31m"\n',
    ],
)
def test_what_a_configuration_holds(here: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    folder = here / EVIL
    folder.mkdir()
    (folder / "a.yaml").write_text(PLAIN, encoding="utf-8")
    (folder / "npac.toml").write_text(text, encoding="utf-8")
    for command in ("check", "compile", "plan"):
        done = invoke(capsys, command, f"{EVIL}/a.yaml")
        assert done.code == 2
        demand_visible(done.err)


def test_lines_and_tabs_stay_and_what_npac_writes_itself_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tell("one\ttwo\r\nthree\x1b[K", nl=False, before="\r\x1b[K")
    assert capsys.readouterr().err == "\r\x1b[Kone\ttwo\nthree␛[K"


def test_commands_write_to_standard_error_in_one_way() -> None:
    others = {}
    for path in sorted((ROOT / "npac/cli").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        direct = re.findall(r"echo\([^\n]*err=True|file=sys\.stderr|stderr\.write", text)
        if direct and path.name != "streams.py":
            others[path.name] = direct
    assert others == {}
