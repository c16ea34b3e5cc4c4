"""Two corpus specs leave operator inputs empty: checking notes it, planning works, compiling refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from npac.api import Severity, SpecError, build, check, compile, plan
from tests.api.command import invoke
from tests.corpus.place import (
    CHECKPOINT_IMAGE,
    NEEDY,
    RUN_ID,
    SIM2REAL_IMAGES,
    each_spec,
    given,
    needs_corpus,
    spec_path,
)

WHAT_MENDS = {
    "sim2real": ("--var source_sha=", *(f"--var {key}=" for key in SIM2REAL_IMAGES)),
    "cosmos3-checkpoint-eval": ("--var source_sha=", f"--pin {CHECKPOINT_IMAGE}="),
}


@each_spec
def test_check_finds_no_error(name: str) -> None:
    checked = check(spec_path(name))
    assert checked.sound
    inputs = [item for item in checked.findings if item.code.name == "operator-input-empty"]
    assert bool(inputs) == (name in NEEDY)
    assert all(item.severity is Severity.NOTE for item in inputs)


@needs_corpus
@pytest.mark.parametrize("name", NEEDY)
def test_compile_refuses_and_says_what_would_mend_it(name: str) -> None:
    with pytest.raises(SpecError) as caught:
        compile(spec_path(name))
    errors = [item for item in caught.value.checked.findings if item.severity is Severity.ERROR]
    assert {item.code.name for item in errors} == {"operator-input-empty"}
    helps = " ".join(item.help for item in errors)
    for remedy in WHAT_MENDS[name]:
        assert remedy in helps


@needs_corpus
@pytest.mark.parametrize("name", NEEDY)
def test_command_line_notes_refuses_and_plans(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = spec_path(name)

    checked = invoke(capsys, "check", spec)
    assert checked.code == 0
    assert "note[NPA510]" in checked.out
    for remedy in WHAT_MENDS[name]:
        assert remedy in checked.out

    refused = invoke(capsys, "compile", spec, "-o", tmp_path / "build")
    assert refused.code == 1
    assert "error[NPA510]" in refused.err
    for remedy in WHAT_MENDS[name]:
        assert remedy in refused.err
    assert not (tmp_path / "build").exists()

    planned = invoke(capsys, "plan", spec, "--assume-decision", "default")
    assert planned.code == 0
    assert planned.out


@needs_corpus
@pytest.mark.parametrize("name", NEEDY)
def test_with_the_inputs_it_compiles_and_links(name: str, tmp_path: Path) -> None:
    compiled = compile(spec_path(name), given(name))
    manifest = build(compiled, tmp_path / "build", run_id=RUN_ID)
    assert manifest.program.removeprefix("sha256:") == compiled.digest
    assert (tmp_path / "build" / "manifest.json").is_file()


@needs_corpus
@pytest.mark.parametrize("missing", SIM2REAL_IMAGES)
def test_each_image_is_asked_for_by_itself(missing: str) -> None:
    options = given("sim2real")
    assert isinstance(options.vars, dict)
    values = {key: value for key, value in options.vars.items() if key != missing}
    with pytest.raises(SpecError) as caught:
        compile(spec_path("sim2real"), type(options)(vars=values))
    errors = [item for item in caught.value.checked.findings if item.severity is Severity.ERROR]
    assert errors and all(missing in item.help for item in errors)


@needs_corpus
def test_plan_does_not_need_the_inputs() -> None:
    for name in NEEDY:
        assert plan(spec_path(name), run_id=RUN_ID, assume="default")["steps"]
