"""Users' catalog files: what they replace, and what is said about their faults."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.catalog import Catalog, CatalogError, load_catalog
from npac.catalog.shape import read_catalog
from npac.resources import schema_text
from npac.text.source import decode

HEAD = "catalog: npac.catalog/v1\n"

FULL = """\
catalog: npac.catalog/v1
x-note: anything
images:
  mine: registry.example.com:5000/team/mine:1.2@sha256:DIGEST
eulas:
  beta:
    env: {BETA_TERMS: yes}
tools:
  my.tool:
    command: [run-it, --cache, "{{config.cache}}", --count, 010, "{{ run.id | base64 }}", "{{{{.Names}}"]
    image: mine
    eula: beta
    secrets: [MY_KEY]
    env: {MODE: fast}
    interpreters: [/opt/venv/bin/python]
    requires:
      - {probe: "python:av", install: "av>=12"}
    pip_extra: viz
    omit_when_empty: [--cache]
    config_defaults: {weight: 1.0, empty: ""}
    contract: my_contract
    nodes: {mode: sharded, activation_key: a, output_key: b, variants_key: c}
""".replace("DIGEST", "0" * 64)


def _write(folder: Path, text: str | bytes, name: str = "user.yaml") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def _fault(folder: Path, text: str | bytes) -> CatalogError:
    with pytest.raises(CatalogError) as caught:
        load_catalog([_write(folder, text)])
    return caught.value


def test_every_field_is_read(tmp_path: Path) -> None:
    path = _write(tmp_path, FULL)
    catalog = load_catalog([path])
    tool = catalog.get("my.tool")
    assert tool is not None
    assert tool.argv == (
        "run-it",
        "--cache",
        "{{config.cache}}",
        "--count",
        "010",
        "{{ run.id | base64 }}",
        "{{{{.Names}}",
    )
    assert tool.image == catalog.images["mine"]
    assert tool.image.startswith("registry.example.com:5000/team/mine:1.2@sha256:")
    assert tool.secrets == ("MY_KEY",)
    assert tool.env == {"BETA_TERMS": "yes", "MODE": "fast"}
    assert tool.interpreters == ("/opt/venv/bin/python",)
    assert tool.pip_requirements == (("python:av", "av>=12"),)
    assert tool.pip_extra == "viz"
    assert tool.drop_when_empty == frozenset({"--cache"})
    assert tool.config_defaults == {"weight": "1.0", "empty": ""}
    assert tool.contract == "my_contract"
    assert (tool.multi_node_mode, tool.shard_activation, tool.shard_output, tool.variant_count) == (
        "sharded",
        "a",
        "b",
        "c",
    )
    assert tool.source == str(path)
    assert len(catalog.tools) == 100
    jsonschema.Draft202012Validator(json.loads(schema_text("npac.catalog.schema.json"))).validate(
        yaml.safe_load(FULL)
    )


def test_a_users_entry_replaces_the_shipped_one_and_later_files_win(tmp_path: Path) -> None:
    first = _write(tmp_path, HEAD + "tools: {workbench.cosmos.check: {command: [first]}}\n", "first.yaml")
    second = _write(tmp_path, HEAD + "tools: {workbench.cosmos.check: {command: [second]}}\n", "second.yaml")
    assert _argv(load_catalog([first, second]), "workbench.cosmos.check") == ("second",)
    assert _argv(load_catalog([second, first]), "workbench.cosmos.check") == ("first",)
    assert _argv(load_catalog(), "workbench.cosmos.check")[:2] == ("npa", "workbench")


def test_a_replaced_image_reaches_the_shipped_tools(tmp_path: Path) -> None:
    path = _write(tmp_path, HEAD + "images: {cosmos3: example.com/mirror/cosmos3:9}\n")
    tool = load_catalog([path]).get("workbench.cosmos3.generate")
    assert tool is not None and tool.image == "example.com/mirror/cosmos3:9"


def test_a_file_may_use_what_the_files_before_it_define(tmp_path: Path) -> None:
    images = _write(tmp_path, HEAD + "images: {mine: example.com/mine:1}\n", "images.yaml")
    tools = _write(
        tmp_path, HEAD + "tools: {mine: {command: [run], image: mine, eula: isaac}}\n", "tools.yaml"
    )
    tool = load_catalog([images, tools]).get("mine")
    assert tool is not None
    assert (tool.image, tool.env) == ("example.com/mine:1", {"ACCEPT_EULA": "Y"})
    with pytest.raises(CatalogError, match="names the image `mine`, which nothing defines"):
        load_catalog([tools])


def _argv(catalog: Catalog, name: str) -> tuple[str, ...]:
    tool = catalog.get(name)
    assert tool is not None
    return tool.argv


def test_the_digest_is_of_what_is_said(tmp_path: Path) -> None:
    one = _write(
        tmp_path, HEAD + "images: {a: x/y:1, b: x/z:1}\ntools: {t: {command: [c], image: a}}\n", "one.yaml"
    )
    other = _write(
        tmp_path,
        "# said otherwise\ntools:\n  t:\n    image: a\n    command:\n    - 'c'\n"
        'images:\n  "b": x/z:1\n  a: "x/y:1"\ncatalog: "npac.catalog/v1"\n',
        "other.yaml",
    )
    assert load_catalog([one]).digest == load_catalog([other]).digest
    assert load_catalog([one]).digest != load_catalog().digest
    changed = _write(
        tmp_path, HEAD + "images: {a: x/y:1, b: x/z:1}\ntools: {t: {command: [d], image: a}}\n", "one.yaml"
    )
    assert load_catalog([changed]).digest != load_catalog([other]).digest
    assert load_catalog([_write(tmp_path, HEAD, "nothing.yaml")]).digest == load_catalog().digest
    assert load_catalog().digest.startswith("sha256:") and len(load_catalog().digest) == 71


def test_near_names_are_found() -> None:
    catalog = load_catalog()
    assert catalog.nearest("workbench.cosmos3.genrate")[0] == "workbench.cosmos3.generate"
    assert len(catalog.nearest("workbench.cosmos3.genrate", 2)) == 2
    assert catalog.images_nearest("isac-lab")[0] == "isaac-lab"
    assert catalog.nearest("zzzzzz") == []
    assert catalog.get("zzzzzz") is None


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "remedy"),
    [
        ("", 1, 1, "the file is empty", "Begin it with"),
        ("- a\n", 1, 1, "the catalog must be a mapping, not a sequence", ""),
        ("tools: {}\n", 1, 1, "the catalog lacks `catalog`", "Add `catalog:`"),
        ("catalog: npac.catalog/v2\n", 1, 10, "'npac.catalog/v2'", "npac.catalog/v1"),
        (HEAD + "tool: {}\n", 2, 1, "the catalog has no key `tool`", "tools"),
        (HEAD + "tools: [a]\n", 2, 8, "must be a mapping, not a sequence", ""),
        (
            HEAD + "tools:\n  a: {comand: [x]}\n",
            3,
            7,
            "tool `a` has no key `comand`",
            "Did you mean command?",
        ),
        (HEAD + "tools:\n  a: {}\n", 3, 6, "tool `a` lacks `command`", "Add `command:`"),
        (HEAD + "tools:\n  a: {command: echo}\n", 3, 16, "must be a list, not a scalar", ""),
        (HEAD + "tools:\n  a: {command: []}\n", 3, 16, "`command` of tool `a` is empty", ""),
        (
            HEAD + "tools:\n  a: {command: [x, [y]]}\n",
            3,
            20,
            "item 2 of `command` of tool `a` must be text",
            "",
        ),
        (HEAD + "tools:\n  a: {command: [x, ~]}\n", 3, 20, "has no value", '""'),
        (HEAD + "tools:\n  a: {command: [x, 'é{{confg.y}}']}\n", 3, 22, "'{{confg.y}}'", "{{config.NAME}}"),
        (HEAD + "tools:\n  a: {command: [x, '{{config[1]}}']}\n", 3, 21, "no token", "{{config.NAME}}"),
        (HEAD + "tools:\n  a: {command: [x, '{{run.id']}\n", 3, 21, "no token", "{{run.NAME}}"),
        (HEAD + "tools:\n  a: {command: [x], image: cosmso3}\n", 3, 28, "the image `cosmso3`", "cosmos3"),
        (HEAD + "tools:\n  a: {command: [x], eula: isac}\n", 3, 27, "the eula `isac`", "Did you mean isaac?"),
        (HEAD + "tools:\n  a: {command: [x, --ab], omit_when_empty: [--abc]}\n", 3, 44, "'--abc'", "--ab?"),
        (HEAD + "tools:\n  a: {command: [x], secrets: [MY-KEY]}\n", 3, 31, "environment name", ""),
        (HEAD + "tools:\n  a: {command: [x], interpreters: [python]}\n", 3, 36, "not absolute", ""),
        (HEAD + "tools:\n  a: {command: [x], requires: [{probe: y}]}\n", 3, 32, "lacks `install`", ""),
        (HEAD + "tools:\n  a: {command: [x], nodes: {mode: mirrored}}\n", 3, 35, "'mirrored'", "sharded"),
        (HEAD + "tools:\n  a b: {command: [x]}\n", 3, 3, "'a b' is no tool name", ""),
        (HEAD + "tools:\n  a: {command: [x]}\n  a: {command: [y]}\n", 4, 3, "twice", ""),
        (HEAD + "images: {a: 'no spaces'}\n", 2, 13, "no image reference", ""),
        (HEAD + "eulas: {a: {env: {}}}\n", 2, 12, "lacks `env`", ""),
        (HEAD + "eulas: {a: {env: {A: b}, repositories: [x, x]}}\n", 2, 44, "twice", ""),
        (HEAD + "---\ncatalog: npac.catalog/v1\n", 2, 1, "second YAML document", "own"),
        (HEAD + "tools: {a: {command: [x}\n", 2, 24, "", ""),
        (HEAD + "tools: !!python/object:os.system {}\n", 2, 8, "tag", "Remove the tag."),
        (b"catalog: npac.catalog/v1\n# \xff\n", 2, 3, "no UTF-8", "UTF-8"),
    ],
)
def test_faults_are_told_with_their_place(
    tmp_path: Path, text: str | bytes, line: int, column: int, message: str, remedy: str
) -> None:
    fault = _fault(tmp_path, text)
    assert (fault.line, fault.column) == (line, column), str(fault)
    assert message in fault.message
    assert remedy in fault.remedy
    assert str(fault).startswith(f"{tmp_path / 'user.yaml'}:{line}:{column}: ")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.yaml", tmp_path):
        with pytest.raises(CatalogError) as caught:
            load_catalog([path])
        assert caught.value.path == str(path) and caught.value.line == 0
        assert "cannot be read" in str(caught.value) and "--catalog" in caught.value.remedy


def test_a_bomb_of_aliases_is_refused(tmp_path: Path) -> None:
    lines = ["x-a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, after in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"x-{after}: &{after} [{', '.join([f'*{before}'] * 10)}]")
    assert "aliases" in _fault(tmp_path, HEAD + "\n".join(lines) + "\n").message
    assert "nested" in _fault(tmp_path, HEAD + "x-deep: " + "[" * 200 + "\n").message


_PIECES = st.sampled_from(
    (
        *("catalog", "npac.catalog/v1", "tools", "images", "eulas", "command", "image", "env", "config."),
        *(": ", "\n", "  ", "- ", "[", "]", "{", "}", ", ", "{{", "}}", '"', "'", "&a", "*a", "<<", "!", "#"),
        *("|", ">", "\t", "\r\n", "\ufeff", "é", "\0"),
    )
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES, max_size=40).map("".join), st.booleans())
def test_any_text_is_a_catalog_or_a_fault_with_a_place(text: str, headed: bool) -> None:
    source, _ = decode("any.yaml", ((HEAD if headed else "") + text).encode())
    try:
        read = read_catalog(source)
    except CatalogError as fault:
        assert fault.message and fault.line >= 1 and fault.column >= 1
    else:
        assert read.path == "any.yaml"
