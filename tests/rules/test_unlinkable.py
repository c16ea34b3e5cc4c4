"""What could not be linked, or looked at by any store, is an error of the check already."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npac.diagnostics.diagnostic import Severity
from npac.ir.errors import LinkError
from npac.ir.linking import LinkRecord, link_program
from npac.ir.program import Program
from npac.ledger.ports import StoreError
from npac.ledger.stores.file import path_of
from npac.ledger.stores.s3 import split
from tests.rules.specs import RUNTIME, checked

PLACES = {
    "output": 'states:\n  a: {{run: {{argv: [x]}}, outputs: [{{uri: "{}"}}], terminal: true}}\n',
    "input": 'states:\n  a: {{run: {{argv: [x]}}, inputs: [{{uri: "{}"}}], terminal: true}}\n',
    "trigger": 'states:\n  a: {{run: {{argv: [x]}}, trigger: {{uri: "{}"}}, terminal: true}}\n',
    "decision": (
        'config: {{decision_uri: "{}"}}\n'
        "states:\n  g: {{transitions: [{{when: promote_checkpoint, goto: z}}], next: z}}\n  z: {{terminal: true}}\n"
    ),
}
NO_STORE = (
    "file://host/x", "file://../x", "file://x", "file:///", "file:////", "file:///%2F", "file:///x%00y", "s3:///x",
    "s3://", "http://x/y", "x/y", "file:///a?b", "file:///a%zz",
)  # fmt: skip
NO_LINK = ("file:///x\\0y", "s3://bucket/a\\0b", "s3://bucket/a\\x1bb", f"s3://bucket/{'k' * 1025}")


def errors(body: str) -> list[str]:
    found = checked(body, head=RUNTIME).findings
    # that nothing writes the decision is another finding
    return [item.code.id for item in found if item.severity is Severity.ERROR and item.code.id != "NPA404"]


def lowered(body: str) -> Program:
    unit = checked(body, head=RUNTIME, until="lower").unit
    assert unit is not None and unit.program is not None
    return unit.program


@pytest.mark.parametrize("uri", [*NO_STORE, *NO_LINK])
@pytest.mark.parametrize("kind", ["output", "trigger", "decision"])
def test_a_place_that_no_store_can_look_at_is_an_error(kind: str, uri: str) -> None:
    assert errors(PLACES[kind].format(uri)) == ["NPA706"]


@pytest.mark.parametrize("uri", [*NO_LINK, "s3:///x", "s3://"])
def test_an_input_that_cannot_be_linked_is_an_error(uri: str) -> None:
    assert errors(PLACES["input"].format(uri)) == ["NPA706"]


@pytest.mark.parametrize("uri", ["file://host/x", "http://x/y", "hf://model", "s3://my_bucket/x"])
def test_an_input_that_only_the_task_reads_is_the_task_s_affair(uri: str) -> None:
    assert errors(PLACES["input"].format(uri)) == []
    link_program(lowered(PLACES["input"].format(uri)), LinkRecord("r"))


@pytest.mark.parametrize("uri", [text for text in NO_STORE if text.startswith(("file:", "s3:"))])
def test_the_stores_refuse_the_same(uri: str) -> None:
    with pytest.raises(StoreError):
        path_of(uri) if uri.startswith("file:") else split(uri)


@pytest.mark.parametrize(
    "run",
    [
        'argv: [echo, "a\\0b"]', 'argv: ["a\\x00"]', 'shell: "echo a\\0b"',
        'argv: [echo, "{{config.nul}}"]', 'shell: "echo {{config.nul}} {{run.id}}"',
        'argv: [echo, "{{run.id}}\\0"]',
    ],
)  # fmt: skip
def test_a_nul_in_a_command_is_an_error(run: str) -> None:
    config = 'config: {nul: "x\\0y"}\n' if "config.nul" in run else ""
    body = f"{config}states:\n  a: {{run: {{{run}}}, terminal: true}}\n"
    assert errors(body) == ["NPA332"]


def test_an_encoded_nul_is_none() -> None:
    body = 'config: {nul: "x\\0y"}\nstates:\n  a: {run: {argv: [echo, "{{config.nul|base64}}"]}, terminal: true}\n'
    assert errors(body) == []
    link_program(lowered(body), LinkRecord("r"))


def test_linking_refuses_a_nul_too() -> None:
    body = "states:\n  a: {run: {argv: [echo, b]}, terminal: true}\n"
    program = lowered(body)
    steps = tuple(replace(step, argv=("echo", "a\0b")) for step in program.steps)
    with pytest.raises(LinkError, match="NUL"):
        link_program(replace(program, steps=steps), LinkRecord("r"))


@pytest.mark.parametrize("option", ["variables", "sets"])
def test_an_override_that_is_no_text_is_an_error(option: str) -> None:
    body = "config: {word: a}\nstates:\n  a: {run: {argv: [echo, '{{config.word}}']}, terminal: true}\n"
    for pair in (("word", "a\udcff"), ("w\udcff", "a")):
        found = checked(body, **{option: (pair,)}).findings  # type: ignore[arg-type]
        assert [item.code.id for item in found if item.severity is Severity.ERROR] == ["NPA218"]
        assert "no UTF-8 text" in found[-1].message + found[0].message
