"""Commands and what they print, in blocks of the kind ``console``: the pages show what is really printed."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from npac import api
from tests.api.command import spawn
from tests.docs.pages import REPOSITORY, Block, blocks

GATE_LOOP = "workflows/testing/gate-loop.yaml"
LEFT_OUT = "…"


def sections(block: Block) -> list[tuple[str, list[str]]]:
    """Give each command of a block with the lines below it, but for those that stand for others."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line != LEFT_OUT and not line.startswith("Killed"):
            found[-1][1].append(line)
    return found


def the_block(command: str) -> Block:
    (block,) = [each for each in blocks("console") if each.text.startswith(f"$ {command}")]
    return block


def masked(line: str, artifacts: Path) -> str:
    """Leave out of a line what differs from run to run: times, jobs, how far they are, digests."""
    line = line.replace(str(artifacts), "/tmp/npac-gate-loop")
    line = re.sub(r"^\d+:\d\d:\d\d ", "CLOCK ", line)
    line = re.sub(r"(in|after) \d+\.\d s", r"\1 TIME", line)
    line = re.sub(r"~[0-9a-f]{8}\b", "~VALUES", line)
    return re.sub(r"(?:running|succeeded)  job \d+ \w+$|job \d+", "JOB", line)


class Killed:
    """The run of the README, whose driver is killed in the second round, and which is gone on with."""

    def __init__(self, folder: Path) -> None:
        self.artifacts = folder / "artifacts"
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": str(REPOSITORY),
            "NPAC_HOME": str(folder / "home"),
        }
        given = ("--run-id", "demo", "--var", f"artifacts={self.artifacts}", "--poll-seconds", "0.1")
        begun = self._begin(*given)
        state = self._npac("status", "demo")
        ended = self._npac("resume", "demo", "--poll-seconds", "0.1")
        self.printed = {"status": state, "run": begun + ended, "resume": begun + ended}

    def _begin(self, *words: str) -> list[str]:
        journal = self.artifacts / "demo" / "journal.txt"
        driver = subprocess.Popen(
            [sys.executable, "-c", "from npac.cli.main import entry; entry()", "run", GATE_LOOP, *words],
            cwd=REPOSITORY,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        end = time.monotonic() + 60
        while not (journal.exists() and "train-classifier 2" in journal.read_text(encoding="utf-8")):
            assert driver.poll() is None and time.monotonic() < end, "the run made no progress"
            time.sleep(0.01)
        driver.send_signal(signal.SIGKILL)
        return driver.communicate()[1].splitlines()

    def _npac(self, *words: str) -> list[str]:
        done = spawn(*words, cwd=REPOSITORY, env=self.environment)
        assert done.code == 0, done
        return (done.err + done.out).splitlines()


def test_the_readme_shows_what_a_killed_run_prints(tmp_path: Path) -> None:
    shown = sections(the_block("npac run"))
    assert [command for command, _ in shown] == [
        f"npac run {GATE_LOOP} --run-id demo",
        "npac status demo",
        "npac resume demo",
    ]
    run = Killed(tmp_path)
    for command, lines in shown:
        printed = [masked(line, run.artifacts) for line in run.printed[command.split()[1]]]
        wanted = [masked(line, run.artifacts) for line in lines]
        assert wanted
        assert [line for line in wanted if line not in printed] == [], "\n".join(printed)
        places = [printed.index(line) for line in wanted]
        assert places == sorted(places), command


@pytest.mark.parametrize("page", ["README.md"])
def test_what_compile_prints(page: str, tmp_path: Path) -> None:
    ((command, lines),) = sections(the_block("npac compile"))
    (tmp_path / "workflows").symlink_to(REPOSITORY / "workflows")
    done = spawn(*shlex.split(command)[1:], cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == lines
    folder = shlex.split(command)[-1]
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    (document,) = re.findall(rf"`({folder}/waves/[^`]+)`", text)
    assert (tmp_path / document).is_file()
    assert f"npac verify {folder}`" in text


def test_the_folders_of_builds_that_pages_name_are_not_inside_one_another() -> None:
    pages = [
        REPOSITORY / "README.md",
        *(REPOSITORY / "docs").glob("*.md"),
        REPOSITORY / "workflows/README.md",
    ]
    named = {
        folder
        for page in pages
        for folder in re.findall(r"npac compile .*-o (\w\S*)", page.read_text("utf-8"))
    }
    folders = [Path(folder) for folder in named]
    assert len(folders) > 1
    assert [(a, b) for a in folders for b in folders if a in b.parents] == []


def test_the_plan_page_shows_the_plan_of_a_terminal_and_that_of_a_pipe() -> None:
    first, second = [each for each in blocks("console") if each.page.name == "plan-and-graph.md"]
    ((command, lines),) = sections(first)
    words = command.split()
    assert words[:2] == ["npac", "plan"]
    item = api.planned(REPOSITORY / words[2], api.Options(use_project=False))
    shown = item.as_text(100)
    assert [line for line in lines if line] == [line for line in shown.splitlines() if line]
    assert max(map(len, shown.splitlines())) <= 100
    ((command, lines),) = sections(second)
    assert command.startswith(f"npac plan {words[2]} | grep -A 2 ")
    whole = item.as_text().splitlines()
    at = next(number for number, line in enumerate(whole) if command.split()[-1] in line)
    assert lines == whole[at : at + 3]


def test_the_readme_leads_to_every_page() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    pages = [page.name for page in (REPOSITORY / "docs").glob("*.md")]
    assert [name for name in pages if f"](docs/{name}" not in text] == []
    assert "](docs/rules/README.md)" in text


def test_the_node_names_that_pages_show_are_those_of_the_example() -> None:
    program = api.compile(REPOSITORY / GATE_LOOP, api.Options(use_project=False)).program
    names = {node.id for node in program.nodes}
    seen: set[str] = set()
    for page in (REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")):
        seen |= set(re.findall(r"[a-z-]+~[0-9a-f]{8}\b", page.read_text(encoding="utf-8")))
    assert seen and seen <= names
    # Reached with different values: one node for each way to leave the loop, and one state.
    alike = {name for name in names if name.startswith("publish-model~")}
    assert len(alike) == 6 and "publish-model" not in names
