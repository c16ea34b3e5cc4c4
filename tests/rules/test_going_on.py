"""A state token that means the iteration before: the finding says how a loop goes on from its last round."""

from __future__ import annotations

from pathlib import Path

import pytest

from npac import api
from npac.runtime.options import RunOptions
from tests.docs.pages import blocks
from tests.rules.specs import END, checked

OUT = "outputs: [{uri: 's3://bkt/{{run.id}}/{{loop.%s}}/m.json'}]"
TOKEN = "run: {argv: [x, '{{state.train.uri}}']}"


def early(body: str) -> list[str]:
    return [item.help for item in checked(body).findings if item.code.name == "state-not-run"]


@pytest.mark.parametrize(
    ("body", "loop"),
    [
        (
            "states:\n  s: {sequence: [train], loop: {max: 2}, next: z}\n"
            f"  train: {{{TOKEN}, {OUT % 's'}}}\n" + END,
            "s",
        ),
        (f"states:\n  train: {{loop: {{max: 2}}, {TOKEN}, {OUT % 'train'}, next: z}}\n" + END, "train"),
        (
            "states:\n  s: {sequence: [start, train], loop: {max: 2}, next: z}\n"
            f"  start: {{{TOKEN}}}\n  train: {{run: {{argv: [x]}}, {OUT % 's'}}}\n" + END,
            "s",
        ),
        (
            "states:\n  o: {sequence: [s, end], loop: {max: 2}, next: z}\n"
            "  s: {sequence: [first], loop: {max: 2}}\n  end: {sequence: [train]}\n"
            f"  first: {{{TOKEN}}}\n  train: {{run: {{argv: [x]}}, {OUT % 'o'}}}\n" + END,
            "o",
        ),
    ],
    ids=["itself", "a loop on one state", "an earlier member", "the outer loop"],
)
def test_in_a_loop_the_help_says_how_to_read_the_last_round(body: str, loop: str) -> None:
    (found,) = early(body)
    assert found.startswith(f"in the first iteration of {loop!r} it has not run before")
    assert f"{{{{loop.{loop}}}}}" in found
    assert "a state before the loop" in found


def test_a_state_that_means_its_own_output_is_told_to_name_the_uri() -> None:
    out = "outputs: [{uri: 's3://bkt/{{run.id}}/m.json'}]"
    (found,) = early(f"states:\n  train: {{{TOKEN}, {out}, next: z}}\n{END}")
    assert "write the URI out as its outputs do, s3://bkt/{{run.id}}/m.json" in found


def test_elsewhere_the_help_names_the_path_and_the_state_that_it_lacks() -> None:
    out = "outputs: [{uri: 's3://bkt/{{run.id}}/m.json'}]"
    body = f"states:\n  a: {{{TOKEN}, next: train}}\n  train: {{run: {{argv: [x]}}, {out}, terminal: true}}\n"
    assert early(body) == ["on this path it has not: a; lead it through 'train' first"]


def test_the_example_of_the_language_page_goes_on_from_round_to_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = blocks("yaml", "spec", "going-on")
    monkeypatch.setenv("NPAC_HOME", str(tmp_path / "home"))
    spec = tmp_path / "spec.yaml"
    spec.write_text(block.text, encoding="utf-8")
    options = api.Options(vars={"folder": str(tmp_path / "out")}, use_project=False)
    result = api.run(spec, options, run_id="r", run_options=RunOptions(poll_seconds=0.1))
    assert result.state == "succeeded", result
    assert (tmp_path / "out/3/model.txt").read_text() == "untrained\nround 1\nround 2\nround 3\n"
    assert (tmp_path / "out/1/model.txt").read_text() == "untrained\nround 1\n"
