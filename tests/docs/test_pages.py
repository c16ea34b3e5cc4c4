"""What the documentation shows is true: specs check, outputs are real, links lead somewhere."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from npac import api
from npac.cli.commands import COMMANDS
from npac.diagnostics.render import render
from npac.runtime.options import RunOptions
from npac.syntax import language
from tests.docs.pages import PAGES, REPOSITORY, Block, blocks, replace

UPDATE = os.environ.get("NPAC_UPDATE_GOLDEN") == "1"


def _catalogs(block: Block, folder: Path) -> list[Path]:
    """Write the catalog that a block asks for, from the same page, into a folder."""
    found = []
    for word in block.words:
        key, _, name = word.partition("=")
        if key == "catalog" and name:
            (catalog,) = [each for each in blocks("yaml", "catalog", name) if each.page == block.page]
            (folder / name).write_text(catalog.text, encoding="utf-8")
            found.append(folder / name)
    return found


@pytest.mark.parametrize("block", blocks("yaml", "spec"), ids=str)
def test_specs_check_without_a_warning_and_compile(block: Block, tmp_path: Path) -> None:
    options = api.Options(catalogs=_catalogs(block, tmp_path), use_project=False)
    path = tmp_path / "spec.yaml"
    path.write_text(block.text, encoding="utf-8")
    findings = api.check(path, options).findings
    assert [f"{item.code.id} {item.message}" for item in findings] == []
    assert api.compile(path, options).program.waves()


RUNNABLE = [block for block in blocks("yaml", "spec") if '\n  folder: "/tmp/' in block.text]


@pytest.mark.parametrize("block", RUNNABLE, ids=str)
def test_specs_that_write_to_a_folder_run(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPAC_HOME", str(tmp_path / "home"))
    path = tmp_path / "spec.yaml"
    path.write_text(block.text, encoding="utf-8")
    options = api.Options(sets={"folder": f"{tmp_path}/artifacts/{{{{run.id}}}}"}, use_project=False)
    result = api.run(path, options, run_id="run-1", run_options=RunOptions(poll_seconds=0.1))
    assert result.state == "succeeded", result
    written = {Path(record.uri.removeprefix("file://")) for record in api.status("run-1").records.values()}
    assert written
    assert all(file.is_relative_to(tmp_path / "artifacts" / "run-1") for file in written)


@pytest.mark.parametrize("block", blocks("text", "output"), ids=str)
def test_golden_findings_are_those_that_npac_shows(block: Block) -> None:
    name = block.words[2]
    (spec,) = [each for each in blocks("yaml", "broken", name) if each.page == block.page]
    checked = api.check(name, api.Options(use_project=False), data=spec.text.encode())
    shown = render("text", checked.findings, color=False, checked=1, hidden=[], width=100).rstrip() + "\n"
    if UPDATE:
        replace(block, shown)
        return
    assert block.text == shown, "`make golden` writes the output in the page anew"


@pytest.mark.parametrize("block", blocks("yaml", "excerpt"), ids=str)
def test_excerpts_stand_in_real_builds(block: Block) -> None:
    whole = (REPOSITORY / "golden" / block.words[2]).read_text(encoding="utf-8")
    assert block.text in whole


@pytest.mark.parametrize("block", blocks("python", "example"), ids=str)
def test_programs_run(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPAC_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workflows").symlink_to(REPOSITORY / "workflows")
    exec(compile(block.text, str(block), "exec"), {"__name__": "__main__"})


def test_every_kind_of_block_is_there() -> None:
    assert len(blocks("yaml", "spec")) > 8
    assert len(RUNNABLE) > 3
    for words in (("text", "output"), ("yaml", "excerpt"), ("yaml", "catalog"), ("python", "example")):
        assert blocks(*words), f"no block {' '.join(words)} in the documentation"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page.name} links to {target}"
        if heading:
            titles = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in slugs, f"{page.name} links to {target}, and there is no such heading"


def test_the_readme_names_both_commands_on_its_first_screen_and_all_commands_in_its_table() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    first = "\n".join(text.splitlines()[:24])
    assert "make demo" in first
    assert "make test" in first
    table = text.partition("## Commands")[2].partition("\n## ")[0]
    missing = [name for name in COMMANDS if not re.search(rf"`(npac )?{name}\b", table)]
    assert missing == [], "commands that README.md does not name"


def test_the_language_page_names_every_key() -> None:
    page = (REPOSITORY / "docs/language.md").read_text(encoding="utf-8")
    sections = [value for value in vars(language).values() if isinstance(value, language.Section)]
    assert len(sections) > 8
    keys = {key for section in sections for key in section.names}
    keys |= {word for section in sections for key in section.keys.values() for word in key.words}
    missing = [
        key
        for key in sorted(keys)
        if not re.search(rf"`[^`\n]*(?<![\w]){re.escape(key)}(?![\w])[^`\n]*`", page)
    ]
    assert missing == [], "keys and words that docs/language.md does not name"


def test_the_api_page_names_every_function() -> None:
    page = (REPOSITORY / "docs/python-api.md").read_text(encoding="utf-8")
    functions = [name for name in api.__all__ if name.islower()]
    assert "check" in functions
    assert [name for name in functions if f"`{name}(" not in page] == [], (
        "functions that docs/python-api.md does not name"
    )
