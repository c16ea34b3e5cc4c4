"""What a reviewer is told of realistic changes, word for word, and that the JSON form holds the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from npac.api import Options, build, compile, diff
from npac.build.diff import Change
from npac.build.diff_text import render
from tests.api.command import ROOT, invoke
from tests.build.reviewed import write

REVIEWS: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("reviews.yaml").read_text(encoding="utf-8")
)


def _built(folder: Path, review: dict[str, Any]) -> tuple[Path, Path]:
    """Compile the spec as it was and as it is, and give both builds, the older first."""
    builds = []
    for name, edits in (("plain", {}), ("edited", review)):
        spec, catalog = write(folder / name, edits.get("spec", ()), edits.get("catalog", ()))
        builds.append(folder / f"{name}-build")
        build(compile(spec, Options(catalogs=[catalog])), builds[-1])
    return (builds[1], builds[0]) if review.get("back") else (builds[0], builds[1])


@pytest.mark.parametrize("review", REVIEWS, ids=lambda review: review["change"].replace(" ", "-"))
def test_what_a_reviewer_is_told(review: dict[str, Any], tmp_path: Path) -> None:
    old, new = _built(tmp_path, review)
    found = diff(old, new)
    assert found.as_text() == review["said"]
    data = json.loads(json.dumps(found.as_data()))
    assert render([Change(**item) for item in data]) == review["said"]


def test_that_nothing_that_runs_has_changed_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    old, new = _built(tmp_path, REVIEWS[0])
    done = invoke(capsys, "diff", old, new)
    assert done.code == 0
    assert done.out == "no difference in anything that runs: only the text of the specs differs\n"
    assert json.loads(invoke(capsys, "diff", old, new, "--format", "json").out) == []
    assert invoke(capsys, "diff", old, old).out == "no difference\n"


def test_the_exit_code_says_that_something_differs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    old, new = _built(tmp_path, REVIEWS[1])
    assert invoke(capsys, "diff", old, new).code == 1
    assert invoke(capsys, "diff", old, new, "--format", "json").code == 1


def test_pins_and_accelerators_that_builds_keep_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    spec, catalog = write(tmp_path / "spec", (), ())
    pinned = {"registry.example/train:2": f"registry.example/train@sha256:{'a' * 64}"}
    plain = Options(catalogs=[catalog])
    build(compile(spec, plain), tmp_path / "plain")
    build(compile(spec, plain._replace(pins=pinned)), tmp_path / "pinned")
    build(compile(spec, plain._replace(accelerators={"A100": "H100:1"})), tmp_path / "linked", run_id="r")
    done = invoke(capsys, "diff", tmp_path / "pinned", tmp_path / "linked")
    assert done.code == 1
    assert done.out.splitlines() == [
        "~ program",
        "    images pinned",
        f"      - registry.example/train:2: registry.example/train@sha256:{'a' * 64}",
        "    accelerators replaced",
        "      + A100: H100:1",
    ]
    assert invoke(capsys, "diff", tmp_path / "plain", tmp_path / "linked").code == 1
    same = ("diff", spec, tmp_path / "linked", "--catalog", catalog, "--accelerator", "A100=H100:1")
    assert invoke(capsys, *same).out == "no difference\n"


def test_the_example_of_the_documentation_is_what_is_told(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "artifacts.md").read_text(encoding="utf-8")
    example = page.partition("## Comparing")[2].partition("```text\n")[2].partition("```")[0]
    told = ("an image is bumped", "a state put between two")
    edits = [("next: report", "next: summary"), ("  report:", "  summary:")]
    edits += [edit for review in REVIEWS if review["change"] in told for edit in review["spec"]]
    old, new = _built(tmp_path, {"spec": edits})
    assert example == diff(old, new).as_text()
