"""Whatever is named in a file's place: nothing is waited for, and every command says what it is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.api.command import Outcome, spawn
from tests.api.specs import PLAIN


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "plain.yaml").write_text(PLAIN, encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    os.symlink("/dev/zero", tmp_path / "endless")
    (tmp_path / "folder").mkdir()
    with (tmp_path / "huge").open("wb") as stream:
        stream.truncate(1 << 40)
    return tmp_path


SAID = {"pipe": "a pipe", "endless": "a device", "folder": "a folder", "huge": "larger than"}


def npac(here: Path, *argv: str | Path) -> Outcome:
    outcome = spawn(*argv, cwd=here, env={"NPAC_HOME": str(here / "home")})
    assert "Traceback" not in outcome.err and "fault of npac" not in outcome.err
    return outcome


@pytest.mark.parametrize("kind", SAID)
def test_in_the_place_of_a_spec(here: Path, kind: str) -> None:
    for command in ("check", "compile", "plan", "run", "graph"):
        if kind == "folder" and command in ("check", "run"):
            continue  # these take folders
        outcome = npac(here, command, kind)
        assert outcome.code == 2, command
        assert SAID[kind] in outcome.err and "help: " in outcome.err


@pytest.mark.parametrize("kind", SAID)
@pytest.mark.parametrize("option", ["--catalog", "--config"])
def test_in_the_place_of_a_catalog_or_an_overlay(here: Path, kind: str, option: str) -> None:
    for command in ("check", "compile"):
        outcome = npac(here, command, "plain.yaml", option, kind)
        assert outcome.code == 2
        assert SAID[kind] in outcome.err and "help: " in outcome.err


@pytest.mark.parametrize("kind", SAID)
def test_as_a_catalog_of_the_project(here: Path, kind: str) -> None:
    (here / "npac.toml").write_text(f'catalogs = ["{kind}"]\n', encoding="utf-8")
    outcome = npac(here, "check", "plain.yaml")
    assert outcome.code == 2 and SAID[kind] in outcome.err


@pytest.mark.parametrize("name", ["npac.toml", "pyproject.toml"])
@pytest.mark.parametrize("kind", SAID)
def test_as_the_project_s_configuration(here: Path, name: str, kind: str) -> None:
    os.rename(here / kind, here / name)
    for command in ("check", "compile"):
        outcome = npac(here, command, "plain.yaml")
        assert outcome.code == 2
        assert SAID[kind] in outcome.err and f"{name}:1:1" in outcome.err and "NPA903" in outcome.err


@pytest.mark.parametrize("kind", ["pipe", "endless", "huge", "folder"])
def test_in_the_place_of_a_test(here: Path, kind: str) -> None:
    os.rename(here / kind, here / "plain.test.yaml")
    outcome = npac(here, "test", "plain.test.yaml")
    assert outcome.code == 2
    assert SAID[kind] in outcome.err or (kind == "folder" and "no test" in outcome.err)


@pytest.mark.parametrize("kind", SAID)
@pytest.mark.parametrize("name", ["manifest.json", "objects", "graph.mmd"])
def test_in_the_place_of_a_build_s_files(here: Path, name: str, kind: str) -> None:
    assert npac(here, "compile", "plain.yaml", "-o", "build").code == 0
    manifest = json.loads((here / "build" / "manifest.json").read_bytes())
    file = here / "build" / name
    if name == "objects":
        file = file / "sha256" / manifest["program"][:2] / manifest["program"]
    file.unlink()
    os.rename(here / kind, file)
    verified, ran = npac(here, "verify", "build"), npac(here, "run", "build", "--run-id", "r")
    compared = npac(here, "compile", "plain.yaml", "--check", "-o", "build")
    assert (verified.code, ran.code) == (1, 2)
    assert SAID[kind] in verified.out and SAID[kind] in ran.err
    assert compared.code in (1, 2) and compared.out + compared.err
    assert not (here / "home" / "runs" / "r").exists()
    again = npac(here, "compile", "plain.yaml", "-o", "build")
    assert again.code == 2 or (again.code == 0 and npac(here, "verify", "build").code == 0)


def test_hooks_that_name_odd_files_are_told(here: Path) -> None:
    outcome = npac(here, "check", "--skip-other", "plain.yaml", "pipe")
    assert outcome.code == 2 and "pipe cannot be read: it is a pipe" in outcome.err


def test_a_name_with_a_nul_in_an_overlay_is_told(here: Path) -> None:
    (here / "spec.yaml").write_text(
        PLAIN.replace("states:", "config: {word: a}\nstates:").replace("hello", '"{{config.word}}"'),
        encoding="utf-8",
    )
    (here / "nul.yaml").write_text('word: "a\\0b"\n', encoding="utf-8")
    for command in ("check", "compile", "plan", "run"):
        outcome = npac(here, command, "spec.yaml", "--config", "nul.yaml")
        assert outcome.code == 1
        assert "NPA332" in outcome.out + outcome.err
