"""``npac.api``: running, resuming, and looking at runs, on the embedded engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npac import api
from npac.api import NpacError, SpecError
from npac.runtime.options import RunOptions
from tests.api.specs import BROKEN, running


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(running(str(tmp_path / "artifacts")), encoding="utf-8")
    return path


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    return str(tmp_path / "ledger")


def test_a_run_follows_its_real_decisions_to_the_end(spec: Path, ledger: str, tmp_path: Path) -> None:
    result = api.run(
        spec,
        run_id="demo",
        ledger=ledger,
        engine_options={"root": str(tmp_path / "engine")},
        run_options=RunOptions(poll_seconds=0.05),
    )
    assert (result.run_id, result.state, result.exit_code) == ("demo", "succeeded", 0), result
    decision = json.loads((tmp_path / "artifacts" / "demo" / "decision.json").read_text(encoding="utf-8"))
    assert decision == {"decision": "promote_checkpoint", "iteration": "2"}

    view = api.status("demo", ledger=ledger)
    assert view.ended and view.state == "succeeded"
    assert [wave.node for wave in view.waves.values()] == ["refine[1]/judge", "refine[2]/judge"]

    again = api.resume("demo", ledger=ledger, engine_options={"root": str(tmp_path / "engine")})
    assert (again.state, again.exit_code) == ("succeeded", 0)
    assert len(api.status("demo", ledger=ledger).waves) == 2

    with pytest.raises(NpacError) as caught:
        api.run(spec, run_id="demo", ledger=ledger)
    assert "demo" in str(caught.value) and caught.value.remedy


def test_a_spec_with_errors_is_not_run(spec: Path, ledger: str) -> None:
    spec.write_text(BROKEN, encoding="utf-8")
    with pytest.raises(SpecError):
        api.run(spec, run_id="demo", ledger=ledger)
    with pytest.raises(NpacError):
        api.status("demo", ledger=ledger)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"engine": "steam"}, "steam"),
        ({"run_id": "../up"}, "../up"),
        ({"secrets": ["NPAC_TEST_NO_SUCH_SECRET"]}, "NPAC_TEST_NO_SUCH_SECRET"),
    ],
)
def test_a_refused_run_says_what_to_do(
    arguments: dict[str, object], words: str, spec: Path, ledger: str, tmp_path: Path
) -> None:
    with pytest.raises(NpacError) as caught:
        api.run(spec, ledger=ledger, **{"run_id": "demo", **arguments})  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert caught.value.remedy
    assert not (tmp_path / "artifacts").exists()


def test_a_run_that_is_not_there_is_said(ledger: str) -> None:
    for call in (api.status, api.resume):
        with pytest.raises(NpacError) as caught:
            call("absent", ledger=ledger)
        assert "absent" in str(caught.value)
        assert caught.value.remedy
