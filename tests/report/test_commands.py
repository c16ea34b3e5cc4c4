"""Commands in plans: whole where nothing is shortened, as far as there is room on a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from npac import api
from npac.ir.program import Step
from npac.ir.values import Concat, Hole
from npac.report.commands import command

ROOT = Path(__file__).resolve().parents[2]
SPEC = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: said}
config: {folder: "/tmp/said/{{run.id}}", note: "two words; $HOME"}
states:
  one:
    run: {argv: [/usr/bin/python3, -m, train, --note, "{{config.note}}", --out, "{{config.folder}}/model"]}
    next: two
  two:
    run: {shell: "cat {{config.folder | sh}}/a | wc -l > {{config.folder | sh}}/b"}
    next: three
  three:
    loop: {max: 3}
    run:
      argv:
        - python3
        - -c
        - |

          import sys
          print(sys.argv)
          print("it's done")
        - "{{loop.three}}"
    next: four
  four:
    run: {argv: [echo, "bell \\a and tab \\t"]}
    next: five
  five: {run: {argv: [date]}, terminal: true}
"""


def planned(tmp_path: Path, width: int | None, **options: object) -> str:
    path = tmp_path / "said.yaml"
    path.write_text(SPEC, encoding="utf-8")
    item = api.planned(path, api.Options(use_project=False), run_id="r1", **options)  # type: ignore[arg-type]
    return item.as_text(width)


def test_whole_commands_have_a_line_of_their_own(tmp_path: Path) -> None:
    lines = [line.strip() for line in planned(tmp_path, None).splitlines()]
    runs = [line.partition("  ")[2].strip() for line in lines if line.startswith("run  ")]
    assert runs == [
        "/usr/bin/python3 -m train --note 'two words; $HOME' --out /tmp/said/r1/model",
        "cat /tmp/said/r1/a | wc -l > /tmp/said/r1/b",
        "python3 -c 'import sys (+2 lines)' {1..3}",
        "echo 'bell ␇ and tab ␉'",
    ]  # the last one stands in the table already, whole
    assert any(line.split()[1:] == ["five", "date", "1"] for line in lines)


def test_a_path_shows_the_command_of_each_round(tmp_path: Path) -> None:
    text = planned(tmp_path, None, assume="promote_checkpoint")
    for iteration in (1, 2, 3):
        assert f"python3 -c 'import sys (+2 lines)' {iteration}\n" in text


def test_on_a_terminal_the_table_has_as_much_of_it_as_fits(tmp_path: Path) -> None:
    wide, narrow = planned(tmp_path, 200), planned(tmp_path, 60)
    assert "/usr/bin/python3 -m train --note 'two words; $HOME' --out /tmp/said/r1/model" in wide
    (row,) = [line for line in narrow.splitlines() if "/usr/bin/python3" in line]
    assert row.split()[2:4] == ["/usr/bin/python3", "-m"] and "…" in row and len(row) <= 60
    assert "  run  " not in wide and "  run  " not in narrow


def test_a_tool_keeps_its_name_in_the_table_and_shows_its_command_below() -> None:
    spec = ROOT / "workflows/partners/example/baked-kubernetes.yaml"
    item = api.planned(spec, api.Options(use_project=False))
    row = next(line for line in item.as_text(120).splitlines() if " train-policy " in line)
    assert "workbench.lerobot.policy_train" in row
    assert "python3 -m npa.workbench.lerobot.policy_container train" in item.as_text()


def test_every_command_of_every_example_stands_in_its_plan() -> None:
    seen = 0
    for spec in sorted((ROOT / "workflows").rglob("*.yaml")):
        if spec.name.endswith(".test.yaml"):
            continue
        item = api.planned(spec, api.Options(use_project=False), assume="promote_checkpoint")
        text = item.as_text()
        for step in item.as_data()["steps"]:
            words = [word for word in step["argv"] if "\n" not in word]
            seen += len(words)
            assert all(word in text for word in words), (spec, words)
    assert seen > 100


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        (Step("a", argv=("x", "a b", "")), "x 'a b' ''"),
        (Step("a", argv=("x", "it's")), """x 'it'"'"'s'"""),
        (Step("a", argv=("x", Concat(("/r/", Hole("run.id"))))), "x /r/r1"),
        (Step("a", argv=("x", Hole("launch.id"))), "x '<launch.id>'"),
        (Step("a", shell="echo $HOME"), "echo $HOME"),
        (Step("a", shell="\n  echo 1\n\n"), "echo 1"),
        (Step("a", shell="echo 1\necho 2\n"), "echo 1 (+1 line)"),
        (Step("a", shell="\n\n"), ""),
        (Step("a", shell="x\x1b[31m"), "x␛[31m"),
        (Step("a", raw={"run": "echo raw\necho more\necho end"}), "echo raw (+2 lines)"),
        (Step("a", raw={"resources": {}}), ""),
        (Step("a"), ""),
    ],
)
def test_a_command_is_one_line(step: Step, wanted: str) -> None:
    assert command(step, {"run.id": "r1"}) == wanted


def test_the_boxes_of_drawings_stay_short() -> None:
    assert "import " not in api.graph(ROOT / "workflows/quickstart.yaml", format="mmd")
