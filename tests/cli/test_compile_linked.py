"""Documents of a run as it will be: what only the run's environment knows is given by options."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.api.command import invoke
from tests.cli.runs_of import home, sh, write

__all__ = ["home"]


def test_a_linked_build_holds_the_endpoint_and_the_source(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    link = ("--run-id", "r", "--endpoint", "http://store:9000", "--source-uri", "s3://bkt/source")
    assert invoke(capsys, "compile", spec, "-o", home / "build", *link).code == 0
    (view,) = (home / "build" / "waves").iterdir()
    task = yaml.safe_load(view.read_text())
    assert task["envs"]["AWS_ENDPOINT_URL"] == "http://store:9000"
    assert task["envs"]["NPA_SRC_S3_URI"] == "s3://bkt/source"
    assert invoke(capsys, "compile", spec, "-o", home / "build", "--check", *link).code == 0
    other = (*link[:3], "http://other:9000", *link[4:])
    assert invoke(capsys, "compile", spec, "-o", home / "build", "--check", *other).code == 1
    assert invoke(capsys, "verify", home / "build").code == 0


@pytest.mark.parametrize("option", ["--endpoint", "--source-uri"])
def test_they_are_values_of_a_run(home: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    done = invoke(capsys, "compile", spec, option, "http://store:9000")
    assert done.code == 2 and "--run-id" in done.err
