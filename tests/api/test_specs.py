"""``npac.api``: checking, compiling, building, showing and planning specs."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest
import yaml

from npac import api
from npac.api import NpacError, Options, Severity, SpecError
from tests.api.specs import BROKEN, GOOD, PLAIN, RAW, WARNED

NOWHERE = Options(use_project=False)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def codes(checked: api.Checked, least: Severity = Severity.NOTE) -> list[str]:
    return [item.code.name for item in checked.findings if item.severity >= least]


def test_what_is_public_is_there_and_documented() -> None:
    for name in api.__all__:
        item = getattr(api, name)
        assert inspect.getdoc(item), name


# --- check


def test_check_gives_findings_as_values(spec: Path) -> None:
    checked = api.check(spec)
    assert checked.sound and codes(checked, Severity.WARNING) == []
    spec.write_text(BROKEN, encoding="utf-8")
    broken = api.check(os.fspath(spec))
    assert not broken.sound
    assert "unknown-state" in codes(broken, Severity.ERROR)
    (item,) = [item for item in broken.findings if item.code.name == "unknown-state"]
    assert item.span.text == "refnie" and "refine" in item.help
    assert item.span.source.path == os.fspath(spec)


def test_check_takes_bytes_instead_of_the_file() -> None:
    assert api.check("not-there.yaml", NOWHERE, data=PLAIN.encode()).findings == []
    assert codes(api.check("x.yaml", NOWHERE, data=b"\xff\xfe")) == ["unreadable-file"]
    assert not api.check("x.yaml", NOWHERE, data=b"").sound
    assert not api.check("x.yaml", NOWHERE, data=b"[1, 2]").sound


def test_check_orders_findings_by_place(tmp_path: Path) -> None:
    checked = api.check("x.yaml", NOWHERE, data=WARNED.replace("next: refine", "next: nowhere").encode())
    places = [(item.span.start, item.code.id) for item in checked.findings]
    assert places == sorted(places) and len(places) >= 2


@pytest.mark.parametrize("missing", ["file", "folder", "catalog", "overlay"])
def test_what_cannot_be_read_is_said_with_a_remedy(missing: str, spec: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent.yaml"
    target, options = {
        "file": (absent, Options()),
        "folder": (tmp_path, Options()),
        "catalog": (spec, Options(catalogs=[absent])),
        "overlay": (spec, Options(config=[absent])),
    }[missing]
    with pytest.raises(NpacError) as caught:
        api.check(target, options)
    assert caught.value.remedy
    assert os.fspath(tmp_path) in str(caught.value)
    assert not isinstance(caught.value, SpecError)


def test_an_overlay_that_is_no_text_is_refused(spec: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "overlay.yaml"
    overlay.write_bytes(b"word: \xff\n")
    with pytest.raises(NpacError, match="UTF-8"):
        api.check(spec, Options(config=[overlay]))


def test_an_unknown_override_is_a_finding(spec: Path) -> None:
    checked = api.check(spec, Options(vars={"wrod": "x"}))
    (item,) = [item for item in checked.findings if item.severity is Severity.ERROR]
    assert item.code.name == "unknown-override" and "word" in item.help
    assert api.check(spec, Options(vars={"wrod": "x"}, allow_new_vars=True)).sound


# --- compile


def test_compile_gives_program_digest_and_what_it_depends_on(spec: Path) -> None:
    compiled = api.compile(spec)
    assert compiled.program.workflow == "sample"
    assert len(compiled.digest) == len(compiled.catalog_digest) == 64
    assert int(compiled.digest, 16) and int(compiled.catalog_digest, 16)
    assert compiled.diagnostics == compiled.checked.findings
    assert compiled.overrides == {"config": [], "set": [], "var": []}
    assert [wave.number for wave in compiled.program.waves()] == [1, 2, 3, 4]


def test_overrides_apply_in_order(spec: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text('word: "from {{run.id}}"\n', encoding="utf-8")

    def words(options: Options) -> object:
        return api.compile(spec, options).program.steps[0].argv[1]

    assert words(Options()) == "hello"
    file = Options(config=[overlay])
    assert words(file) != "hello"
    text = Options(config=[overlay], sets={"word": "{{config.decision_uri}}"})
    assert words(text) == api.compile(spec).program.steps[1].decision_uri
    # a var comes last, and is data: its braces are text
    assert words(text._replace(vars=[("word", "{{run.id}}")])) == "{{run.id}}"


def test_compile_raises_what_check_finds(spec: Path) -> None:
    spec.write_text(BROKEN, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        api.compile(spec)
    assert "unknown-state" in codes(caught.value.checked)
    assert os.fspath(spec) in str(caught.value)


def test_warnings_stop_nothing() -> None:
    compiled = api.compile("x.yaml", NOWHERE, data=WARNED.encode())
    assert "unreachable-state" in [item.code.name for item in compiled.diagnostics]


def test_bounds_are_options() -> None:
    with pytest.raises(SpecError) as caught:
        api.compile("x.yaml", NOWHERE._replace(max_nodes=3), data=GOOD.encode())
    assert codes(caught.value.checked, Severity.ERROR) == ["too-many-nodes"]
    with pytest.raises(SpecError) as caught:
        api.compile("x.yaml", NOWHERE._replace(max_steps=3), data=GOOD.encode())
    assert codes(caught.value.checked, Severity.ERROR) == ["too-many-steps"]


def test_raw_skypilot_yaml_is_a_program_of_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "my task.yaml"
    path.write_text(RAW, encoding="utf-8")
    assert api.check(path).raw
    compiled = api.compile(path)
    (wave,) = compiled.program.waves()
    assert compiled.program.steps[wave.members[0].step].raw["run"] == "echo hello"
    assert len(compiled.catalog_digest) == 64


# --- build and preview


def test_build_writes_a_manifest_and_the_documents(spec: Path, tmp_path: Path) -> None:
    compiled = api.compile(spec)
    manifest = api.build(compiled, tmp_path / "out")
    assert manifest.program == compiled.digest
    assert manifest.workflow == "sample"
    assert len(manifest.waves) == 4
    assert (tmp_path / "out" / "manifest.json").is_file()
    views = sorted(path.name for path in (tmp_path / "out" / "waves").iterdir())
    assert views == ["001-greet.sky.yaml", "002-judge.sky.yaml", "003-judge.sky.yaml", "004-judge.sky.yaml"]


def test_a_linked_build_has_the_run_id_in_its_documents(spec: Path, tmp_path: Path) -> None:
    compiled = api.compile(spec)
    open_build = api.build(compiled, tmp_path / "open")
    linked = api.build(compiled, tmp_path / "linked", run_id="demo")
    assert (open_build.link, len(linked.link)) == ("", 64)

    def text(folder: str) -> str:
        return (tmp_path / folder / "waves" / "002-judge.sky.yaml").read_text(encoding="utf-8")

    assert "<run.id>" in text("open") and "<run.id>" not in text("linked")
    assert yaml.safe_load(text("linked"))["envs"]["NPA_WORKFLOW_RUN_ID"] == "demo"


def test_a_build_that_cannot_be_written_or_linked_is_said(spec: Path, tmp_path: Path) -> None:
    compiled = api.compile(spec)
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(NpacError) as caught:
        api.build(compiled, tmp_path / "file")
    assert caught.value.remedy
    with pytest.raises(NpacError, match="run id"):
        api.build(compiled, tmp_path / "out", run_id="../up")
    assert not (tmp_path / "out").exists()
    pinned = api.compile(spec, Options(pins={"none:1": "r.example/a@sha256:" + "0" * 64}))
    with pytest.raises(NpacError, match="pin"):
        api.build(pinned, tmp_path / "out", run_id="demo")


def test_preview_shows_each_distinct_document(spec: Path) -> None:
    compiled = api.compile(spec)
    shown = api.preview(compiled)
    assert [yaml.safe_load(text)["name"] for _, text in shown] == ["greet", "judge", "judge", "judge"]
    assert all("<run.id>" in text for _, text in shown)
    linked = api.preview(compiled, run_id="demo")
    assert all("demo" in text and "<run.id>" not in text for _, text in linked)


# --- plan


def test_plan_of_an_assumption_is_one_path(spec: Path) -> None:
    promoted = api.plan(spec, run_id="demo", assume="promote_checkpoint")
    assert [step["state"] for step in promoted["steps"]] == ["greet", "judge"]
    assert promoted["steps"][1]["argv"] == ["judge", "1", "demo"]
    assert promoted["steps"][1]["loops"] == {"refine": 1}
    assert promoted["assume"] == "promote_checkpoint"
    assert len(api.plan(spec, assume="loop_back")["waves"]) == 4
    # without transitions there is no default assumption, and loops run to their bound
    assert len(api.plan(spec, assume="default")["waves"]) == 4
    assert api.plan(spec, assume="promote")["assume"] == "promote_checkpoint"


def test_plan_of_decisions_goes_where_they_lead(spec: Path) -> None:
    answers = {"refine": ["loop_back", "promote"]}
    assert len(api.plan(spec, decide=answers)["waves"]) == 3
    by_id = {"refine[2]@until": ["promote_checkpoint"]}
    assert len(api.plan(spec, decide=by_id, assume="loop_back")["waves"]) == 3


def test_plan_of_the_whole_program(spec: Path) -> None:
    whole = api.plan(spec)
    assert [node["kind"] for node in whole["nodes"]].count("wave") == 4
    assert [node["kind"] for node in whole["nodes"]].count("gate") == 3
    assert {edge["decision"] for edge in whole["edges"]} == {"", "promote_checkpoint", "loop_back"}
    assert whole["digest"] == api.compile(spec).digest


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"assume": "maybe"}, "promote_checkpoint"),
        ({"decide": {"nowhere": ["promote"]}}, "refine"),
        ({"decide": {"refine": ["maybe"]}}, "promote_checkpoint"),
        ({"run_id": "a/b"}, "letters"),
        ({"run_id": ""}, "letters"),
    ],
)
def test_plan_refuses_with_a_remedy(arguments: dict[str, object], words: str, spec: Path) -> None:
    with pytest.raises(NpacError) as caught:
        api.plan(spec, **arguments)  # type: ignore[arg-type]
    assert words in caught.value.remedy


def test_plan_raises_what_check_finds(spec: Path) -> None:
    spec.write_text(BROKEN, encoding="utf-8")
    with pytest.raises(SpecError):
        api.plan(spec)
