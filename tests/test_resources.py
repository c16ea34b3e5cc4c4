"""Grammars and schemas are found, in a checkout and beside an installed package."""

from __future__ import annotations

from pathlib import Path

import pytest

from npac import resources


def test_a_schema_is_found_in_the_checkout() -> None:
    assert '"npac tool catalog"' in resources.schema_text("npac.catalog.schema.json")


def test_an_installed_package_comes_before_the_folder_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, text in (("npac/_grammar", "installed"), ("grammar", "checkout")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x.lark").write_text(text)
    monkeypatch.setattr(resources, "_PACKAGE", str(tmp_path / "npac"))
    assert resources.grammar_text("x.lark") == "installed"
    (tmp_path / "npac/_grammar/x.lark").unlink()
    assert resources.grammar_text("x.lark") == "checkout"


def test_an_absent_file_is_a_sentence_with_a_remedy() -> None:
    with pytest.raises(
        resources.ResourceError, match=r"absent\.lark ships with npac but is at neither .*Install npac again"
    ):
        resources.grammar_text("absent.lark")


def test_an_unreadable_file_is_a_sentence_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "npac/_schemas").mkdir(parents=True)
    (tmp_path / "npac/_schemas/x.json").write_bytes(b"\xff")
    monkeypatch.setattr(resources, "_PACKAGE", str(tmp_path / "npac"))
    with pytest.raises(resources.ResourceError, match="cannot be read"):
        resources.schema_text("x.json")


@pytest.mark.parametrize("name", ["", ".", "..", "../pyproject.toml", ".hidden", "a/b"])
def test_only_plain_names_are_read(name: str) -> None:
    with pytest.raises(resources.ResourceError, match="plain name"):
        resources.schema_text(name)
