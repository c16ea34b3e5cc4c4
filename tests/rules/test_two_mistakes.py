"""Two mistakes that have nothing to do with each other are both found at once.

``SPEC`` is sound.  A slip of the first table leaves something unread; those of the second are found
beside each of them, as the unread text can neither be what they miss nor mend it.
"""

from __future__ import annotations

import pytest

from npac.checking import check_bytes
from npac.pipeline import Settings
from tests.rules.specs import catalog, checked

SPEC = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata:
  name: example
  labels: {team: blue}
config:
  rounds: "3"
  word: hello
  limit: 2
initial: prepare
states:
  prepare:
    run: {argv: [prepare, "{{config.word}}"]}
    outputs: [{uri: "s3://example-bucket/{{run.id}}/prepared.json", schema: prepared.v1}]
    next: fan
  fan:
    parallel: [left, right]
    maxConcurrency: "{{config.limit}}"
    next: rounds
  left:
    run: {argv: [left]}
    inputs: [{uri: "{{state.prepare.uri}}", schema: prepared.v1}]
    outputs: [{uri: "s3://example-bucket/{{run.id}}/left.json", schema: side.v1}]
  right:
    run: {argv: [right]}
    outputs: [{uri: "s3://example-bucket/{{run.id}}/right.json", schema: side.v1}]
  rounds:
    sequence: [train]
    loop: {max: "{{config.rounds}}"}
    next: ship
  train:
    run: {argv: [train, "{{loop.rounds}}"]}
    outputs: [{uri: "s3://example-bucket/{{run.id}}/{{loop.rounds}}/model.json", schema: model.v1}]
  ship:
    run: {argv: [ship]}
    next: end
  end:
    terminal: true
"""

UNREAD: dict[str, tuple[str, str]] = {
    "NPA104 kind": ("kind: Workflow", "kind: Workflo"),
    "NPA105 name": ("name: example", 'name: "exam ple"'),
    "NPA101 metadata": ("labels:", "lables:"),
    "NPA101 member": ("argv: [left]}", "argv: [left]}\n    attempts: 3"),
    "NPA101 state": ("argv: [ship]}", "argv: [ship]}\n    attempts: 3"),
    "NPA101 run": ("argv: [left]}", "argv: [left], attempts: 3}"),
    "NPA102 terminal": ("terminal: true", 'terminal: "true"'),
    "NPA102 argv": ("argv: [ship]", "argv: ship"),
    "NPA111 max": ('rounds: "3"', "rounds: many"),
    "NPA111 maxConcurrency": ("limit: 2", "limit: 200"),
    "NPA301 next": ("next: end", "next: edn"),
    "NPA204 word": ("{{config.word}}", "{{config.wrod}}"),
    "NPA205 run": ("{{run.id}}/prepared", "{{run.di}}/prepared"),
    "NPA003 key": ("  limit: 2\n", "  limit: 2\n  limit: 2\n"),
}

BESIDE: dict[str, tuple[str, str]] = {
    "NPA209": ("argv: [left", "argv: [left, '{{state.train.uri}}'"),
    "NPA211": ("argv: [left", "argv: [left, '{{loop.rounds}}'"),
    "NPA212": ("run: {argv: [right]}", "run: {argv: [right, '{{state.left.uri}}']}"),
    "NPA215": ("  word: hello\n", "  word: hello\n  idle: 1\n"),
    "NPA326": ("  end:\n", "  lost: {run: {argv: [x]}, next: end}\n  end:\n"),
    "NPA328": ("    next: fan\n", "    next: fan\n    needs: [ship]\n"),
    "NPA704": ("schema: prepared.v1}]\n    outputs", "schema: other.v1}]\n    outputs"),
}


def _found(text: str) -> set[str]:
    return {item.code.id for item in check_bytes("spec.yaml", text.encode(), Settings(catalog())).findings}


def _with(text: str, slip: tuple[str, str]) -> str:
    assert slip[0] in text
    return text.replace(slip[0], slip[1], 1)


def test_the_spec_is_sound() -> None:
    assert _found(SPEC) == set()


@pytest.mark.parametrize("code", BESIDE)
def test_a_mistake_by_itself_is_found(code: str) -> None:
    assert _found(_with(SPEC, BESIDE[code])) == {code}


@pytest.mark.parametrize("code", BESIDE)
@pytest.mark.parametrize("unread", UNREAD)
def test_what_cannot_be_read_hides_no_mistake_that_is_none_of_its_own(unread: str, code: str) -> None:
    found = _found(_with(_with(SPEC, UNREAD[unread]), BESIDE[code]))
    if (unread, code) == ("NPA205 run", "NPA704"):
        return  # that is about the URI which cannot be read
    assert found == {unread.split()[0], code}


@pytest.mark.parametrize("unread", UNREAD)
def test_what_cannot_be_read_is_one_mistake(unread: str) -> None:
    assert _found(_with(SPEC, UNREAD[unread])) == {unread.split()[0]}


@pytest.mark.parametrize(
    ("wrong", "read"),
    [
        ("run: {shel: 'echo {{config.idle}}'}", True),
        ("run: {argv: 'echo {{config.idle}}'}", True),
        ("run: {argv: ['{{config[idle]}}']}", True),
        ("run: {argv: ['{{confg.idle}}']}", True),
        ("run: {argv: ['{{config.idel}}']}", True),
        ("run: {argv: ['{{config.}}']}", True),
        ("run: {argv: [x]}, zzz: '{{config.idle}}'", True),
        ("run: {argv: [idle]}, zzz: 3", False),
        ("run: {argv: 'echo {{config.other}}'}", False),
        ("run: {argv: ['{{confg.other}}']}", False),
    ],
)
def test_only_an_unread_text_that_names_a_key_may_be_what_reads_it(wrong: str, read: bool) -> None:
    body = f"config: {{idle: 1}}\nstates:\n  a: {{{wrong}, terminal: true}}\n"
    found = {item.code.id for item in checked(body).findings}
    assert len(found) == 1 + (not read) and ("NPA215" in found) is not read


@pytest.mark.parametrize(
    ("wrong", "echoes"),
    [
        ("then: b", False),
        ("then: 3", True),
        ("steps: [b]", False),
        ("on: {success: b}", False),
        ("zzz: [c]", True),
    ],
)
def test_a_key_that_nobody_knows_leads_to_the_states_that_its_value_names(wrong: str, echoes: bool) -> None:
    body = f"states:\n  a: {{run: {{argv: [x]}}, {wrong}}}\n  b: {{run: {{argv: [x]}}, terminal: true}}\n"
    found = {item.code.id for item in checked(body).findings}
    assert found == ({"NPA101", "NPA324"} if echoes else {"NPA101"})


def test_a_suggestion_leads_on_to_the_state_that_it_names_and_to_those_behind_it() -> None:
    body = (
        "states:\n  a: {run: {argv: [x]}, next: bete}\n  beta: {run: {argv: [x]}, next: z}\n"
        "  lost: {run: {argv: [x]}, next: z}\n  z: {terminal: true}\n"
    )
    assert [(item.code.id, item.span.text) for item in checked(body).findings] == [
        ("NPA301", "bete"),
        ("NPA326", "lost"),
    ]


def test_a_state_that_is_read_past_what_is_in_doubt_is_not_spoken_of() -> None:
    body = (
        "states:\n  a: {run: {argv: [x]}, next: g}\n  g: {sequence: m, next: c}\n"
        "  m: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/m.json'}]}\n"
        "  c: {run: {argv: ['{{state.m.uri}}']}, terminal: true}\n"
    )
    assert [item.code.id for item in checked(body).findings] == ["NPA102"]
    around = body.replace("next: g}", "transitions: [{if: config.k, goto: c}], next: g}")
    assert [item.code.id for item in checked("config: {k: true}\n" + around).findings] == ["NPA102", "NPA209"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ("x", "nothing reads the config key 'k'"),
        ("'{{config.k}}'", "the states that may read it set it by params"),
    ],
)
def test_params_are_named_as_what_is_read_instead_only_where_they_are_read(argv: str, said: str) -> None:
    body = f"config: {{k: v}}\nstates:\n  a: {{run: {{argv: [{argv}]}}, params: {{k: 2}}, terminal: true}}\n"
    (item,) = [item for item in checked(body).findings if item.code.id == "NPA215"]
    assert item.message.endswith(said)


def test_a_folder_and_a_file_in_it_are_two_uris() -> None:
    out = "outputs: [{uri: 's3://example-bucket/{{run.id}}/o/%s'}]"
    body = (
        "states:\n  g: {parallel: [a, b], next: z}\n"
        f"  a: {{run: {{argv: [x]}}, {out % ''}}}\n  b: {{run: {{argv: [x]}}, {out % 'x.json'}}}\n  z: {{terminal: true}}\n"
    )
    assert not checked(body).findings
