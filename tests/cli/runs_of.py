"""Specs that run anywhere, for the tests of the commands that run things."""

from __future__ import annotations

from pathlib import Path

import pytest

HEAD = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: sample}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder of the test's own to work in, with npac's state below it."""
    monkeypatch.setenv("NPAC_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, states: str, name: str = "spec.yaml") -> Path:
    """Write a spec with ``states`` (YAML, indented by two)."""
    path = folder / name
    path.write_text(f"{HEAD}states:\n{states}", encoding="utf-8")
    return path


def sh(command: str, more: str = "") -> str:
    """Give the body of a state that runs one line of shell."""
    return f"{{run: {{argv: [sh, -c, {command!r}]}}{', ' if more else ''}{more}}}"


def failing(folder: Path) -> Path:
    """Write a spec of a step and a group of which both members fail."""
    out = f"{folder}/made/below/first.txt"
    first = sh(f"echo 1 > {out}", f"outputs: [{{uri: 'file://{out}'}}], next: both")
    return write(
        folder,
        f"  first: {first}\n"
        "  both: {parallel: [one, two], next: done}\n"
        f"  one: {sh('echo line-of-one; no-such-command')}\n"
        f"  two: {sh('for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo two-$i; done; exit 3')}\n"
        "  done: {terminal: true}\n",
    )


def gated(folder: Path) -> Path:
    """Write a spec with a gate whose decision is spoilt by a step between its writer and the gate."""
    uri = f"file://{folder}/art/decision.json"
    place = f"{folder}/art/decision.json"
    return write(
        folder,
        "  refine: {sequence: [judge, spoil], loop: {max: 2, until: promote_checkpoint}, next: publish}\n"
        "  judge:\n"
        "    run:\n"
        f"      argv: [sh, -c, 'echo ''{{\"decision\": \"loop_back\"}}'' > {place}']\n"
        "    writesDecision: true\n"
        f"    outputs: [{{uri: {uri!r}, schema: decision.v1}}]\n"
        f"  spoil: {sh(f'rm {place}')}\n"
        f"  publish: {sh('echo published', 'terminal: true')}\n",
    )
