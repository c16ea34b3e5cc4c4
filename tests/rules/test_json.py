"""``npac check`` for machines: the shape of its JSON, its exit codes, and any bytes as a spec."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npac.checking import check_bytes
from npac.diagnostics.codes import CODES
from npac.diagnostics.collector import ordered
from npac.diagnostics.render import FORMATS, render
from npac.pipeline import Settings
from tests.api.command import Outcome, spawn
from tests.corpus.place import names, needs_corpus, spec_path
from tests.rules.specs import HEAD, WORK, catalog

GOOD = HEAD + WORK
BAD = HEAD + "config: {n: no}\nstates:\n  b: {tool_ref: nope, next: c}\n  b: {terminal: true}\n"
WARNED = HEAD + WORK.replace("terminal", "outputs: [{uri: 's3://bkt/o.j'}], terminal")


def _check(*argv: str, cwd: Path, input: bytes = b"") -> Outcome:
    outcome = spawn("check", *argv, cwd=cwd, input=input)
    assert "Traceback" not in outcome.err
    return outcome


def _json(*argv: str, cwd: Path, input: bytes = b"") -> list[dict[str, Any]]:
    data = json.loads(_check(*argv, "--format", "json", cwd=cwd, input=input).out)
    assert isinstance(data, list)
    return data


def _assert_range(data: Any) -> None:
    assert set(data) == {"start", "end"}
    for end in data.values():
        assert set(end) == {"line", "column"}
        assert type(end["line"]) is type(end["column"]) is int
        assert end["line"] >= 1 and end["column"] >= 1
    assert tuple(data["start"].values()) <= tuple(data["end"].values())


def _assert_finding(data: Any) -> None:
    wanted = ["code", "name", "severity", "message", "path", "range", "related", "help", "fix", "explain"]
    assert list(data) == wanted
    code = CODES[data["code"]]
    assert data["name"] == code.name
    assert data["severity"] in ("error", "warning", "note")
    assert data["explain"] == f"npac explain {code.id}"
    assert all(isinstance(data[key], str) for key in ("message", "path", "help", "explain"))
    assert data["message"] and data["help"]
    _assert_range(data["range"])
    for other in data["related"]:
        assert list(other) == ["message", "path", "range"]
        _assert_range(other["range"])
    if data["fix"] is not None:
        assert list(data["fix"]) == ["message", "safe", "edits"]
        assert type(data["fix"]["safe"]) is bool
        for edit in data["fix"]["edits"]:
            assert list(edit) == ["range", "text"]
            _assert_range(edit["range"])


def test_the_shape_of_the_output(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(BAD)
    found = _json("bad.yaml", cwd=tmp_path)
    for item in found:
        _assert_finding(item)
    assert [(item["code"], item["path"]) for item in found] == [
        ("NPA011", "bad.yaml"),
        ("NPA106", "bad.yaml"),
        ("NPA801", "bad.yaml"),
        ("NPA301", "bad.yaml"),
        ("NPA003", "bad.yaml"),
    ]
    retyped, spelling, _, _, twice = found
    assert retyped["fix"]["edits"] == [
        {"range": {"start": {"line": 4, "column": 13}, "end": {"line": 4, "column": 15}}, "text": '"no"'}
    ]
    assert spelling["fix"]["safe"] is True
    assert twice["related"] == [
        {
            "message": "first given here",
            "path": "bad.yaml",
            "range": {"start": {"line": 6, "column": 3}, "end": {"line": 6, "column": 4}},
        }
    ]


def test_columns_count_characters_and_lines_any_line_end(tmp_path: Path) -> None:
    text = (
        HEAD.replace("\n", "\r\n")
        + "x-ü: '𝄞é'\r\nstates:\r\n  a: {description: '𝄞𝄞é', nxt: b, terminal: true}\r\n"
    )
    (tmp_path / "bom.yaml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (item,) = _json("bom.yaml", cwd=tmp_path)
    assert item["range"] == {"start": {"line": 6, "column": 27}, "end": {"line": 6, "column": 30}}


def test_several_files_are_ordered_by_path_then_place(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yaml"):
        (tmp_path / name).write_text(BAD)
    (tmp_path / "c.yaml").write_text(GOOD)
    found = _json("b.yaml", "c.yaml", "a.yaml", cwd=tmp_path)
    keys = [
        (item["path"], *item["range"]["start"].values(), *item["range"]["end"].values(), item["code"])
        for item in found
    ]
    assert keys == sorted(keys) and {key[0] for key in keys} == {"a.yaml", "b.yaml"}


def test_nothing_found_is_an_empty_array(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    outcome = _check("good.yaml", "--format", "json", cwd=tmp_path)
    assert (outcome.code, json.loads(outcome.out), outcome.err) == (0, [], "")


def test_standard_input_is_read_under_the_name_that_is_given(tmp_path: Path) -> None:
    assert {item["path"] for item in _json("-", cwd=tmp_path, input=BAD.encode())} == {"-"}
    found = _json("-", "--stdin-filename", "flows/x.yaml", cwd=tmp_path, input=BAD.encode())
    assert {item["path"] for item in found} == {"flows/x.yaml"}


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("good.yaml",), 0),
        (("warned.yaml",), 0),
        (("warned.yaml", "--strict"), 1),
        (("good.yaml", "--strict"), 0),
        (("bad.yaml",), 1),
        (("good.yaml", "bad.yaml"), 1),
        (("missing.yaml",), 2),
        (("bad.yaml", "missing.yaml"), 2),
        (("good.yaml", "--format", "xml"), 2),
        (("good.yaml", "--nope"), 2),
        (("good.yaml", "--var", "novalue"), 2),
        (("good.yaml", "--catalog", "missing.yaml"), 2),
        (("good.yaml", "--config", "missing.yaml"), 2),
        (("good.yaml", "--var", "k=v"), 1),
        (("folder",), 1),
        (("empty-folder",), 0),
        (("turning.yaml",), 2),
        (("good.yaml/x.yaml",), 2),
        (("a\udcffb.yaml",), 2),
    ],
)
def test_exit_codes(argv: tuple[str, ...], code: int, tmp_path: Path) -> None:
    for name, text in (("good", GOOD), ("bad", BAD), ("warned", WARNED)):
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty-folder").mkdir()
    (tmp_path / "folder" / "bad.yaml").write_text(BAD)
    (tmp_path / "turning.yaml").symlink_to("turning.yaml")
    outcome = _check(*argv, cwd=tmp_path)
    assert outcome.code == code
    if code == 2:
        assert outcome.err.strip()
    if "missing.yaml" in argv and "bad.yaml" in argv:
        assert "NPA003" in outcome.out, "what can be read is still checked"


@pytest.mark.parametrize("verb", ["compile", "plan"])
def test_warnings_alone_stop_neither_compile_nor_plan_and_errors_do(verb: str, tmp_path: Path) -> None:
    for name, text in (("bad", BAD), ("warned", WARNED)):
        (tmp_path / f"{name}.yaml").write_text(text)
    assert spawn(verb, "warned.yaml", cwd=tmp_path).code == 0
    assert spawn(verb, "bad.yaml", cwd=tmp_path).code == 1
    assert spawn(verb, "missing.yaml", cwd=tmp_path).code == 2


RANDOM = random.Random(7)
BYTES = {
    "nothing": b"",
    "blanks": b" \n\t\n",
    "a comment": b"# x\n",
    "a BOM alone": b"\xef\xbb\xbf",
    "latin-1": HEAD.encode() + b"x-a: gr\xfcn\n",
    "utf-16": GOOD.encode("utf-16"),
    "zeros": b"\0" * 1000,
    "an executable": b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 40,
    "a mebibyte of random bytes": RANDOM.randbytes(1 << 20),
    "random text": "".join(RANDOM.choices("{}[]:-,'\"|>&*!%#\n \tab1", k=20_000)).encode(),
    "open brackets": b"[" * 100_000,
    "open braces": b"{" * 100_000,
    "a deep block": "".join(" " * n + "a:\n" for n in range(1000)).encode(),
    "one long line": b"a" * 1_000_000,
    "many keys": "".join(f"k{n}: 1\n" for n in range(20_000)).encode(),
    "a lone surrogate": HEAD.encode() + b'x-a: "\\ud800"\n',
    "a spec that is only null": HEAD.encode() + b"states: {a: , b: }\n",
}


@pytest.mark.parametrize("data", BYTES.values(), ids=BYTES)
def test_any_bytes_give_findings_and_exit_code_1(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(data)
    outcome = _check("x.yaml", "--format", "json", cwd=tmp_path)
    assert outcome.code == 1 and outcome.err == ""
    found = json.loads(outcome.out)
    assert found and any(item["severity"] == "error" for item in found)
    for item in found[:200]:
        _assert_finding(item)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(GOOD)
    path.chmod(0)
    outcome = _check("x.yaml", cwd=tmp_path)
    assert outcome.code == 2 and "cannot be read" in outcome.err


def _assert_sound(data: bytes) -> None:
    result = check_bytes("x.yaml", data, Settings(catalog()), until="settle")
    assert result.findings == ordered(result.findings)
    for item in result.findings:
        assert 0 <= item.span.start <= item.span.end <= len(item.span.source.text) + 1
        assert item.message
    for format in FORMATS:
        assert isinstance(render(format, result.findings, hidden=result.hidden), str)


@given(st.binary(max_size=400))
def test_arbitrary_bytes_never_raise(data: bytes) -> None:
    _assert_sound(data)


@given(st.text(max_size=200))
def test_arbitrary_text_behind_a_head_never_raises(text: str) -> None:
    _assert_sound((HEAD + text).encode("utf-8", "surrogatepass"))


_WORDS = st.sampled_from(
    "states config resources run shell argv next terminal true no 010 1e3 a b ~ {{config.a}} {{state.a.uri}} {{loop.a}} "  # noqa: SIM905 - as a list it takes fifty lines
    "{{ {{{{ sequence parallel loop max until transitions goto when if outputs uri s3://bkt/{{run.id}} needs params "
    "promote_checkpoint writesDecision num_nodes accelerators image x-y << * & - ? ${X} 'q \"r 0x_ 1_0 99999999999999999999".split()
)
_KEYS = _WORDS | st.text(max_size=4)
_NODES: st.SearchStrategy[Any] = _WORDS | st.text(max_size=6) | st.none() | st.integers() | st.booleans()
for _ in range(3):
    _NODES = _NODES | st.lists(_NODES, max_size=4) | st.dictionaries(_KEYS, _NODES, max_size=4)


@given(st.dictionaries(_WORDS, st.dictionaries(_WORDS, _NODES, max_size=4), max_size=4), _NODES, _NODES)
def test_data_of_any_shape_never_raises(states: dict[str, Any], config: Any, resources: Any) -> None:
    body = {"config": config, "resources": resources, "states": states}
    _assert_sound((HEAD + "\n".join(f"{key}: {json.dumps(value)}" for key, value in body.items())).encode())


@needs_corpus
@given(st.data())
def test_mutated_specs_never_raise(data: st.DataObject) -> None:
    text = spec_path(data.draw(st.sampled_from(names()))).read_text(encoding="utf-8")
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        kind = data.draw(st.sampled_from(("cut", "insert", "swap", "double")))
        end = min(len(text), start + data.draw(st.integers(0, 60)))
        if kind == "cut":
            text = text[:start] + text[end:]
        elif kind == "insert":
            text = text[:start] + data.draw(_WORDS) + text[start:]
        elif kind == "double":
            text = text[:end] + text[start:end] + text[end:]
        else:
            lines = text.split("\n")
            at = data.draw(st.integers(0, max(len(lines) - 2, 0)))
            lines[at : at + 2] = reversed(lines[at : at + 2])
            text = "\n".join(lines)
    _assert_sound(text.encode())
