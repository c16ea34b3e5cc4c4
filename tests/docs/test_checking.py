"""The page about checking is true: its configuration is read, and its options are those of the command."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import yaml

from npac.cli.check import command
from npac.diagnostics.codes import CODES
from npac.project import discover
from tests.api.command import spawn
from tests.docs.pages import REPOSITORY

PAGE = (REPOSITORY / "docs/checking.md").read_text(encoding="utf-8")


def test_the_example_of_a_configuration_can_be_pasted(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "npac.toml").write_text(example, encoding="utf-8")
    shutil.copy(REPOSITORY / "workflows/quickstart.yaml", tmp_path)
    home = tmp_path / "home"
    for words in (("check",), ("runs",), ("tools", "train"), ("plan", "quickstart.yaml")):
        done = spawn(*words, cwd=tmp_path, env={"NPAC_HOME": str(home)})
        assert (done.code, done.err) == (0, ""), words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["npac.toml", "quickstart.yaml"]


def test_the_example_of_a_configuration_is_read_without_a_problem(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    example, uncommented = re.subn(r"^# (?=\w+ =)", "", example, flags=re.MULTILINE)
    assert uncommented == 2
    (tmp_path / "npac.toml").write_text(example, encoding="utf-8")
    (tmp_path / "robots.yaml").write_text("catalog: npac.catalog/v1\n", encoding="utf-8")
    project, problems = discover(tmp_path, codes=CODES)
    assert problems == []
    assert project.ledger == str(tmp_path / "runs")
    assert [Path(each) for each in project.catalogs] == [tmp_path / "robots.yaml"]
    assert project.strict and project.severity == {"NPA703": "error", "NPA405": "warning"}
    assert project.excludes(tmp_path / "drafts" / "a.yaml")
    assert not project.excludes(tmp_path / "a.yaml")


def test_every_option_of_check_is_named() -> None:
    options = {opt for param in command.params for opt in param.opts if opt.startswith("--")}
    assert [name for name in sorted(options) if f"`{name}" not in PAGE and f" {name} " not in PAGE] == []


def test_the_hook_of_the_readme_is_local_and_passes_over_other_yaml() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    block = text.partition("# .pre-commit-config.yaml\n")[2].partition("```")[0]
    (repository,) = yaml.safe_load(block)["repos"]
    (hook,) = repository["hooks"]
    assert repository["repo"] == "local"
    assert hook["entry"] == "npac check --skip-other" and hook["language"] == "system"


def test_the_index_leads_to_every_page_and_the_changelog_names_every_command() -> None:
    from npac.cli.commands import COMMANDS

    index = (REPOSITORY / "docs/index.md").read_text(encoding="utf-8")
    pages = [page.name for page in (REPOSITORY / "docs").glob("*.md") if page.name != "index.md"]
    assert [name for name in pages if f"]({name})" not in index] == []
    log = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if not re.search(rf"`(npac )?{name}`", log)] == []
