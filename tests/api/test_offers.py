"""``npac.api``: comparing, mending, explaining, schemas, tools, and tests of specs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from npac import api
from npac.api import NpacError, Options, Severity
from tests.api.command import invoke, spawn
from tests.api.specs import BROKEN, GOOD, PLAIN, RAW, WARNED

NOWHERE = Options(use_project=False)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


# --- diff and drift


def test_diff_is_of_meaning(spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remarked, other = tmp_path / "remarked.yaml", tmp_path / "other.yaml"
    remarked.write_text(f"# a remark\n{GOOD}", encoding="utf-8")
    other.write_text(GOOD.replace("word: hello", "word: bye"), encoding="utf-8")
    same = api.diff(spec, remarked)
    assert (same.changes, same.as_data(), same.as_text()) == ((), [], "")
    changed = api.diff(spec, other)
    assert [(change.kind, change.node, change.aspect) for change in changed.changes] == [
        ("changed", "greet", "command")
    ]
    done = invoke(capsys, "diff", spec, other)
    assert (done.code, done.out) == (1, changed.as_text())
    assert json.loads(invoke(capsys, "diff", spec, other, "--format", "json").out) == changed.as_data()


def test_diff_takes_builds_and_raw_yaml(spec: Path, tmp_path: Path) -> None:
    api.build(api.compile(spec), tmp_path / "build")
    raw = tmp_path / "raw.yaml"
    raw.write_text(RAW, encoding="utf-8")
    assert api.diff(spec, tmp_path / "build").changes == ()
    assert api.diff(raw, tmp_path / "build").changes
    with pytest.raises(api.SpecError):
        broken = tmp_path / "broken.yaml"
        broken.write_text(BROKEN, encoding="utf-8")
        api.diff(spec, broken)


def test_drift_is_told_and_changes_nothing(spec: Path, tmp_path: Path) -> None:
    compiled, folder = api.compile(spec), tmp_path / "build"
    api.build(compiled, folder)
    assert api.check_drift(compiled, folder) == ""
    view = folder / "waves" / "001-greet.sky.yaml"
    before = view.read_text(encoding="utf-8")
    view.write_text(before.replace("hello", "HELLO"), encoding="utf-8")
    assert "HELLO" in api.check_drift(compiled, folder)
    assert "HELLO" in view.read_text(encoding="utf-8")
    view.write_text(before, encoding="utf-8")
    other = api.compile("spec.yaml", data=GOOD.replace("word: hello", "word: bye").encode())
    assert "bye" in api.check_drift(other, folder)
    assert "no build" in api.check_drift(compiled, tmp_path / "absent")


# --- mend


OLD = PLAIN.replace("terminal: true", "terminal: yes")
"""A spec with something to mend."""


def test_mending_gives_the_text_and_what_is_left(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(OLD, encoding="utf-8")
    checked = api.check(path)
    mended = api.mend(checked)
    assert path.read_text(encoding="utf-8") == OLD
    assert mended.before is checked
    assert [item.code.name for item in mended.applied] == [item.code.name for item in checked.findings]
    assert mended.after.findings == []
    assert mended.data == mended.source.text.encode() == OLD.replace("yes", "true").encode()
    odd = api.check("x.yaml", NOWHERE, data=b"\xff\xfe")
    assert api.mend(odd)[1:] == (odd, odd.source, b"\xff\xfe", ())


def test_mending_writes_the_file_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(OLD, encoding="utf-8")
    path.chmod(0o640)
    mended = api.mend(api.check(path), write=True)
    assert mended.applied and path.read_bytes() == mended.data != OLD.encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert api.mend(api.check(path), write=True).applied == ()


def test_what_is_piped_in_is_never_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("not to be touched", encoding="utf-8")
    for name in ("spec.yaml", "absent.yaml"):
        done = spawn("check", "--fix", "-", "--stdin-filename", name, cwd=tmp_path, input=OLD.encode())
        assert done.out == api.mend(api.check("x.yaml", NOWHERE, data=OLD.encode())).data.decode()
    assert path.read_text(encoding="utf-8") == "not to be touched"
    assert not (tmp_path / "absent.yaml").exists()


# --- explain and schema


def test_explain_takes_codes_and_names(capsys: pytest.CaptureFixture[str]) -> None:
    page = api.explain("NPA302")
    assert page.startswith("# NPA302: ")
    name = page.partition("\n")[0].partition(": ")[2]
    assert api.explain(" npa302 ") == api.explain(name.upper()) == page
    assert invoke(capsys, "explain", "NPA302").out == page


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [
        ("NPA000", "Did you mean NPA001"),
        ("NPA950", "Codes that begin with NPA9: NPA901 to NPA903."),
        ("memberastarget", "Did you mean member-as-target?"),
        ("???", "Codes stand in brackets"),
    ],
)
def test_explain_of_no_code_says_what_may_be_meant(asked: str, remedy: str) -> None:
    with pytest.raises(NpacError, match="there is no code") as caught:
        api.explain(asked)
    assert remedy in caught.value.remedy


def test_every_schema_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    for name in api.SCHEMAS:
        assert json.loads(api.schema(name))["$schema"].startswith("http")
    assert invoke(capsys, "schema").out == api.schema() == api.schema("workflow")
    for name in api.SCHEMAS:
        assert invoke(capsys, "schema", name).out == api.schema(name)
    listed = " ".join(invoke(capsys, "schema", "--help").out.split())
    assert f"NAME is one of {', '.join(api.SCHEMAS)}" in listed
    refused = invoke(capsys, "schema", "spec")
    assert (refused.code, refused.out) == (2, "")
    assert "Choose one of workflow, catalog" in refused.err
    with pytest.raises(NpacError, match="'spec'") as caught:
        api.schema("spec")
    assert "workflow, catalog" in caught.value.remedy


# --- tools


def test_tools_are_found_by_name_and_by_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    every = api.tools()
    assert [entry.name for entry in every] == sorted(entry.name for entry in every)
    one = every[0]
    assert api.tools(one.name) == [one]
    assert one in api.tools(f"{one.name[:-1].upper()}?")
    assert set(one.needed) <= set(one.config)
    assert one.as_data()["command"] == list(one.tool.argv)
    with pytest.raises(NpacError, match=r"holds 'no\.such\.tool'") as caught:
        api.tools("no.such.tool")
    assert caught.value.remedy
    with pytest.raises(NpacError, match="absent"):
        api.tools(catalogs=["absent.yaml"])


# --- plans as the command shows them


def test_a_plan_gives_the_text_and_the_json_of_the_command(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    item = api.planned(spec, decide=api.parse_decisions(["refine=loop_back,promote"]))
    arguments = ("plan", spec, "--decide", "refine=loop_back,promote")
    assert invoke(capsys, *arguments).out == item.as_text()
    assert invoke(capsys, *arguments, "--format", "json").out == item.as_json() + "\n"
    assert json.loads(item.as_json())["analysis"] == item.analysis().as_data()
    assert item.decided and max(map(len, item.as_text(60).splitlines())) <= 60
    for text in ("refine", "=promote", "refine="):
        with pytest.raises(NpacError, match="not GATE=DECISION"):
            api.parse_decisions([text])


# --- link options as they are written


DIGEST = "sha256:" + "0" * 64


def test_link_options_are_read_as_options_take_them() -> None:
    assert api.parse_pins([]) == api.parse_accelerators([]) == {}
    assert api.parse_pins([f"r.example/a/b:1={DIGEST}", f"c=r.example/c@{DIGEST}"]) == {
        "r.example/a/b:1": f"r.example/a/b@{DIGEST}",
        "c": f"r.example/c@{DIGEST}",
    }
    assert api.parse_accelerators(["A100=H100:2", "T4=L4"]) == {"A100": "H100:2", "T4": "L4"}
    assert api.parse_accelerators(["T4=L4", "T4=L4"]) == {"T4": "L4"}
    for read, texts in (
        (api.parse_pins, ["a"]),
        (api.parse_pins, ["r.example/a=r.example/a:1"]),
        (api.parse_accelerators, ["A100="]),
        (api.parse_accelerators, ["A100=H100:none"]),
        (api.parse_accelerators, ["T4=L4", "T4=H100"]),
    ):
        with pytest.raises(NpacError) as caught:
            read(texts)
        assert caught.value.remedy


# --- tests of specs, and finding files


def test_tests_are_found_run_and_shown(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NpacError, match="no test below this folder"):
        api.find_tests()
    with pytest.raises(NpacError, match="has no test"):
        api.run_tests(["spec.yaml"])
    (tmp_path / "spec.test.yaml").write_text(
        "cases:\n"
        "  - {name: promoted, assume: promote_checkpoint, expect: {waves: [greet, judge]}}\n"
        "  - {name: wrong, assume: promote_checkpoint, expect: {waves: [judge]}}\n",
        encoding="utf-8",
    )
    assert api.find_tests() == api.find_tests(["spec.yaml", "spec.test.yaml"])
    done = api.run_tests(select=["promoted"])
    assert (done.outcome, [case.outcome for file in done.files for case in file.results]) == (
        "passed",
        ["passed"],
    )
    assert api.run_tests(["spec.yaml"]).outcome == "failed"
    shown = invoke(capsys, "test", "--format", "json")
    assert shown.code == 1
    assert [case["outcome"] for case in json.loads(shown.out)[0]["cases"]] == ["passed", "failed"]
    with pytest.raises(NpacError, match="'nothing'"):
        api.run_tests(select=["nothing"])
    with pytest.raises(NpacError, match="'xml'"):
        done.as_text("xml")


def test_specs_are_told_from_other_yaml(spec: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("a: 1\n", encoding="utf-8")
    assert api.find_specs(os.fspath(tmp_path)) == [os.fspath(spec)]
    assert api.keep_specs([os.fspath(spec), os.fspath(other), "-"]) == [os.fspath(spec), "-"]


# --- projects


def test_a_projects_settings_are_answered(spec: Path, tmp_path: Path) -> None:
    spec.write_text(WARNED, encoding="utf-8")
    (checked,) = [api.check(spec)]
    assert not api.wants_strict([checked])
    (tmp_path / "npac.toml").write_text('strict = true\nledger = "runs"\n', encoding="utf-8")
    assert api.wants_strict([checked]) and not api.wants_strict([checked], NOWHERE)
    assert api.project_ledger(tmp_path) == os.fspath(tmp_path / "runs")
    (tmp_path / "npac.toml").write_text("strict = 3\n", encoding="utf-8")
    with pytest.raises(api.ProjectError) as caught:
        api.project_ledger(tmp_path)
    assert caught.value.checked.findings[0].severity is Severity.ERROR


SECRET = "hf_" + "aBcD1234" * 4


@pytest.mark.parametrize(
    "argv",
    [
        ("graph", "spec.yaml", "--decide", SECRET),
        ("graph", "spec.yaml", "--decide", f"{SECRET}=promote"),
        ("graph", "spec.yaml", "--decide", f"refine={SECRET}"),
        ("graph", "spec.yaml", "--assume-decision", SECRET),
        ("graph", "spec.yaml", "--run-id", f"{SECRET}/x"),
        ("graph", "spec.yaml", "-o", f"{SECRET}.png"),
        ("graph", "spec.yaml", "-o", f"absent/{SECRET}.svg"),
        ("plan", "spec.yaml", "--decide", SECRET),
        ("explain", SECRET),
        ("tools", SECRET),
        ("test", SECRET),
        ("test", ".", "-k", SECRET),
        ("check", "--select", SECRET),
        ("diff", SECRET, "spec.yaml"),
        ("verify", SECRET),
        ("schema", SECRET),
        ("check", SECRET),
    ],
)
def test_what_is_refused_is_said_without_a_credential_that_was_given_by_mistake(
    argv: tuple[str, ...], spec: Path, tmp_path: Path
) -> None:
    test = "cases: [{name: a, assume: loop_back}]\n"
    (tmp_path / "spec.test.yaml").write_text(test, encoding="utf-8")
    done = spawn(*argv, cwd=tmp_path)
    assert done.code in (1, 2), done
    assert SECRET[:12] not in done.out + done.err
