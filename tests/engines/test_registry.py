"""The table of engines, and what stands on the path of a supervisor's start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from npac import engines
from npac.engines.local import states
from npac.launch import ports


def test_local_is_made_by_name(tmp_path: Path) -> None:
    engine = engines.create("local", {"root": tmp_path / "e", "slots": 3, "pretend": True})
    limits = engine.capabilities().limits
    assert "local" in engines.names
    assert engine.capabilities().name == "local"
    assert (limits["slots"], limits["pretend"]) == (3, True)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("lokal", {}, "no engine called 'lokal'"),
        ("local", {}, "needs the option 'root'"),
        ("local", {"root": "x", "slot": 1}, "no option 'slot'"),
        ("local", {"root": "x", "slots": 0}, "0 slots"),
    ],
)
def test_what_is_not_known_is_refused(name: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(ports.EngineError, match=words) as caught:
        engines.create(name, options)
    assert caught.value.phase == "rejected"
    assert caught.value.remedy


def test_the_states_are_those_of_the_contract() -> None:
    own = {name: value for name, value in vars(states).items() if name.isupper() and isinstance(value, str)}
    assert own
    for name, value in own.items():
        assert getattr(ports, name) == value
    assert states.TERMINAL <= ports.TERMINAL


@pytest.mark.parametrize("module", ["npac.engines", "npac.engines.local.supervisor"])
def test_no_heavy_import(module: str) -> None:
    script = f"import sys; sys.path.insert(0, '.'); import {module}; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(engines.__file__).parents[2],
    )
    loaded = set(done.stdout.split())
    assert module in loaded
    heavy = {
        "npac.launch.ports",
        "dataclasses",
        "typing",
        "pathlib",
        "subprocess",
        "shutil",
        "yaml",
        "pydantic",
    }
    assert loaded & heavy == set()
