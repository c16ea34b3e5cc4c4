"""URIs at which npac looks, and scripts that a task would not find."""

from __future__ import annotations

import pytest

from tests.rules.specs import END, RUNTIME, checked, codes

LONG = "a" * 64


@pytest.mark.parametrize(
    ("uri", "severity", "says"),
    [
        ("file://tmp/{{run.id}}/x.j", "error", "write three slashes: file:///tmp/"),
        ("file://localhost/tmp/{{run.id}}/x.j", "", ""),
        ("file:///tmp/{{run.id}}/x.j", "", ""),
        ("file://", "error", "file:///PATH"),
        ("file:///tmp/{{run.id}}/a?.j", "error", "%3F"),
        ("file:///tmp/{{run.id}}/a%20b.j", "", ""),
        ("s3:///{{run.id}}/x.j", "error", "s3://BUCKET/KEY"),
        ("s3://bkt", "error", "s3://BUCKET/KEY"),
        ("s3://{{config.k}}-{{run.id}}", "", ""),
        ("s3://b/{{run.id}}/x.j", "warning", "3 to 63 lowercase"),
        ("s3://My_Bucket/{{run.id}}/x.j", "warning", "3 to 63 lowercase"),
        ("s3://a..b/{{run.id}}/x.j", "warning", "3 to 63 lowercase"),
        ("s3://10.0.0.1/{{run.id}}/x.j", "error", "3 to 63 lowercase"),
        (f"s3://{LONG}/{{{{run.id}}}}/x.j", "warning", "3 to 63 lowercase"),
        ("s3://Bad_Bucket!/{{run.id}}/x.j", "error", "3 to 63 lowercase"),
        ("s3://bad!-{{run.id}}/x.j", "error", "3 to 63 lowercase"),
        ("s3://bkt@x/{{run.id}}/x.j", "error", "3 to 63 lowercase"),
        ("s3://-bkt/{{run.id}}/x.j", "error", "3 to 63 lowercase"),
        ("s3://b\u00fccket/{{run.id}}/x.j", "error", "3 to 63 lowercase"),
        ("s3://my_bucket/{{run.id}}/x.j", "warning", "3 to 63 lowercase"),
        ("s3://my.bucket-2/{{run.id}}/x.j", "", ""),
        ("gs://bkt/{{run.id}}/x.j", "error", "s3:// or file:///"),
        ("out/{{run.id}}/x.j", "error", "s3://BUCKET/KEY"),
    ],
)
@pytest.mark.parametrize("place", ["output", "decision"])
def test_a_place_that_npac_looks_at_is_one(uri: str, severity: str, says: str, place: str) -> None:
    if place == "output":
        body = (
            f"states:\n  a: {{run: {{argv: [x]}}, outputs: [{{uri: '{uri}', kind: file}}], terminal: true}}\n"
        )
    else:
        body = (
            f"states:\n  a: {{params: {{decision_uri: '{uri}'}}, "
            "transitions: [{when: loop_back, goto: z}], next: z}\n" + END
        )
    found = [item for item in checked("config: {k: x}\n" + body).findings if item.code.id == "NPA706"]
    assert [item.severity.word for item in found] == ([severity] if severity else [])
    assert all(says in item.help for item in found)


@pytest.mark.parametrize(
    ("config", "uri", "marked"),
    [
        ("k: x", "s3://Bad_Bucket!/{{run.id}}/x.j", "Bad_Bucket!"),
        ("k: Bad!", "s3://{{config.k}}/{{run.id}}/x.j", "Bad!"),
        ("k: 's3://Bad!/x'", "{{config.k}}/{{run.id}}/x.j", "Bad!"),
        ("k: '{{config.b}}/y', b: 's3://Bad!'", "{{config.k}}/{{run.id}}/x.j", "Bad!"),
        ("k: here", "{{config.k}}/{{run.id}}/x.j", "here"),
        ("k: 'gs://bkt'", "{{config.k}}/{{run.id}}/x.j", "'gs://bkt'"),
    ],
)
def test_what_config_brings_into_a_place_is_marked_there_and_once(config: str, uri: str, marked: str) -> None:
    body = (
        f"config: {{{config}}}\nstates:\n  a: {{run: {{argv: [x]}}, next: b, outputs: [{{uri: '{uri}'}}]}}\n"
        f"  b: {{run: {{argv: [x]}}, terminal: true, outputs: [{{uri: '{uri.replace('x.j', 'y.j')}'}}]}}\n"
    )
    found = [item for item in checked(body).findings if item.code.id == "NPA706"]
    assert {item.span.text for item in found} == {marked}
    assert len(found) == (2 if "Bad_Bucket!" in uri else 1)
    assert len(found[0].related) == 2 - len(found)


def test_what_a_token_that_names_nothing_leaves_of_a_uri_is_not_judged() -> None:
    body = "states:\n  a: {run: {argv: [x]}, outputs: [{uri: '%s'}], terminal: true}\n"
    assert codes(body % "{{config.k}}/o.j") == "204"
    assert codes("config: {k: '{{config.j}}/x'}\n" + body % "{{config.k}}/o.j") == "204"
    assert codes(body % "{{confg.k}}/o.j") == "201"
    assert codes(body % "{{state.b.uri}}/o") == "208"


def test_a_trigger_may_watch_a_whole_bucket_and_no_host() -> None:
    body = "states:\n  a: {run: {argv: [x]}, trigger: {uri: '%s'}, terminal: true}\n"
    assert codes(body % "s3://my-bucket") == ""
    assert codes(body % "file://inbox/") == "706"


def test_a_place_in_config_is_marked_there_and_once() -> None:
    body = (
        "config: {decision_uri: 'file://tmp/d.json'}\nstates:\n"
        "  a: {transitions: [{when: loop_back, goto: b}], next: b}\n"
        "  b: {transitions: [{when: loop_back, goto: z}], next: z}\n" + END
    )
    (item,) = [item for item in checked(body, head=RUNTIME).findings if item.code.id == "NPA706"]
    assert item.span.text == "'file://tmp/d.json'"


@pytest.mark.parametrize(
    ("argv", "script"),
    [
        ("[python3, train.py]", "train.py"),
        ("[/usr/bin/python3.11, -u, -W, ignore, scripts/a.py, --x]", "scripts/a.py"),
        ("[bash, ./x]", "./x"),
        ("[./run.sh, a.py]", "./run.sh"),
        ("[node, server.mjs]", "server.mjs"),
        ("[python3, -m, train.py]", ""),
        ("[python3, -c, 'print(1)', a.py]", ""),
        ("[bash, -lc, ./x.sh]", ""),
        ("[python3, /opt/train.py]", ""),
        ("[python3, '{{config.code}}/train.py']", ""),
        ("[python3, '{{run.id}}.py']", ""),
        ("[cat, notes.py]", ""),
        ("[python3, -]", ""),
        ("[python3]", ""),
    ],
)
def test_a_script_with_a_relative_path_is_noted(argv: str, script: str) -> None:
    body = f"config: {{code: /opt}}\nstates:\n  a: {{run: {{argv: {argv}}}, terminal: true}}\n"
    found = [item for item in checked(body).findings if item.code.id == "NPA331"]
    assert [item.span.text for item in found] == ([script] if script else [])
    assert all(item.severity.word == "note" and "--var code=$PWD" in item.help for item in found)


@pytest.mark.parametrize("more", ["", "---\napiVersion: v1\nkind: Service\n"])
def test_a_kubernetes_object_is_called_one_and_nothing_more(more: str) -> None:
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicas: 2}\n" + more
    (item,) = checked(text, head="").findings
    assert (item.code.id, item.span.text) == ("NPA008", "Deployment")
    assert item.message == "this is a Kubernetes Deployment, not an npac spec"


def test_a_slip_in_a_specs_own_head_is_not_taken_for_kubernetes() -> None:
    slip = "apiVersion: npa.workflow/v0.0.1\nkind: Workflov\nmetadata: {name: x}\n"
    assert codes("", head=slip) == "104 109"
