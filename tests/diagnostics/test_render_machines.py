"""The formats for programs: concise, json, sarif, github."""

from __future__ import annotations

import io
import json

import jsonschema
import pytest

from npac.diagnostics.diagnostic import Diagnostic, Edit, Fix, Related, Severity
from npac.diagnostics.render import FORMATS, emit, render, rule_command
from npac.text.source import SourceFile


@pytest.fixture
def pair(codes):
    """Two findings in one file, with a related place, a help, a fix and an awkward message."""
    error, warning, _ = codes
    source = SourceFile("specs/a b.yaml", "max_polls: 1\nnext: trian\n{{config.x}}\n")
    fix = Fix("write `maxPolls`", (Edit(source.span(0, 9), "maxPolls"),))
    return [
        Diagnostic(
            error,
            "no `{{config.x}}`: 100%,\nsee",
            source.span(19, 24),
            (Related("first here", source.span(0, 9)),),
            "did you mean `train`?",
        ),
        Diagnostic(warning, "old spelling", source.span(0, 9), fix=fix),
    ]


def test_every_format_takes_no_finding():
    outputs = {name: render(name, [], checked=2) for name in FORMATS}
    assert outputs["text"] == "all 2 specs are fine\n"
    assert outputs["concise"] == ""
    assert outputs["github"] == ""
    assert outputs["json"] == "[]\n"
    assert json.loads(outputs["sarif"])["runs"][0]["results"] == []


def test_an_unknown_format_is_refused():
    with pytest.raises(KeyError):
        render("xml", [])


def test_concise(pair):
    assert render("concise", pair) == (
        "specs/a b.yaml:1:1: warning[NPA106] old spelling\n"
        "specs/a b.yaml:2:7: error[NPA302] no `{{config.x}}`: 100%,␊see\n"
    )


def test_concise_color(pair):
    assert render("concise", pair[1:], color=True) == (
        "\x1b[1mspecs/a b.yaml\x1b[0m:1:1: \x1b[1;33mwarning[NPA106]\x1b[0m old spelling\n"
    )


def test_json(pair):
    assert json.loads(render("json", pair)) == [
        {
            "code": "NPA106",
            "name": "old-spelling",
            "severity": "warning",
            "message": "old spelling",
            "path": "specs/a b.yaml",
            "range": {"start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 10}},
            "related": [],
            "help": "",
            "fix": {
                "message": "write `maxPolls`",
                "safe": True,
                "edits": [
                    {
                        "range": {"start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 10}},
                        "text": "maxPolls",
                    }
                ],
            },
            "explain": "npac explain NPA106",
        },
        {
            "code": "NPA302",
            "name": "unknown-state",
            "severity": "error",
            "message": "no `{{config.x}}`: 100%,\nsee",
            "path": "specs/a b.yaml",
            "range": {"start": {"line": 2, "column": 7}, "end": {"line": 2, "column": 12}},
            "related": [
                {
                    "message": "first here",
                    "path": "specs/a b.yaml",
                    "range": {"start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 10}},
                }
            ],
            "help": "did you mean `train`?",
            "fix": None,
            "explain": "npac explain NPA302",
        },
    ]


def test_json_keys_stand_in_the_documented_order(pair):
    first = json.loads(render("json", pair))[0]
    assert list(first) == [
        *("code", "name", "severity", "message", "path", "range", "related", "help", "fix", "explain"),
    ]


def test_json_columns_are_characters_and_the_output_is_ascii(make):
    text = render("json", [make("名🤖: x\n", "x", message="\ud800\x1b")])
    assert text.isascii()
    assert json.loads(text)[0]["range"]["start"] == {"line": 1, "column": 5}
    assert json.loads(text)[0]["message"] == "\ud800\x1b"


def _object(required: str, **properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "additionalProperties": False,
    }


def _list(item: object, **more: object) -> dict[str, object]:
    return {"type": "array", "items": item, **more}


_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 1}
_MESSAGE = _object("text", text=_TEXT)
_REGION = _object("startLine", startLine=_COUNT, startColumn=_COUNT, endLine=_COUNT, endColumn=_COUNT)
_ARTIFACT = _object("uri", uri={"type": "string", "pattern": r"^[A-Za-z0-9._~%/:@!$&'()*+,;=#?-]+$"})
_PLACE = _object("artifactLocation region", artifactLocation=_ARTIFACT, region=_REGION)
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_RULE = _object(
    "id",
    id=_TEXT,
    name=_TEXT,
    shortDescription=_MESSAGE,
    fullDescription=_MESSAGE,
    help=_object("text", text=_TEXT, markdown=_TEXT),
    defaultConfiguration=_object("level", level=_LEVEL),
)
_REPLACEMENT = _object("deletedRegion", deletedRegion=_REGION, insertedContent=_object("", text=_TEXT))
_CHANGE = _object(
    "artifactLocation replacements",
    artifactLocation=_ARTIFACT,
    replacements=_list(_REPLACEMENT, minItems=1),
)
_RESULT = _object(
    "message",
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level=_LEVEL,
    message=_MESSAGE,
    locations=_list(_object("", physicalLocation=_PLACE)),
    relatedLocations=_list(
        _object("", id={"type": "integer"}, message=_MESSAGE, physicalLocation=_PLACE), uniqueItems=True
    ),
    fixes=_list(
        _object("artifactChanges", description=_MESSAGE, artifactChanges=_list(_CHANGE, minItems=1)),
        uniqueItems=True,
    ),
)
# The objects of SARIF 2.1.0 that npac writes, with the standard's own requirements.
SARIF = _object(
    "version runs",
    **{"$schema": {"type": "string", "format": "uri"}, "version": {"const": "2.1.0"}},
    runs=_list(
        _object(
            "tool",
            tool=_object(
                "driver",
                driver=_object("name", name=_TEXT, version=_TEXT, rules=_list(_RULE, uniqueItems=True)),
            ),
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            results=_list(_RESULT),
        )
    ),
)


def test_sarif(pair):
    log = json.loads(render("sarif", [*pair, pair[0]]))
    jsonschema.validate(log, SARIF)
    run = log["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["NPA106", "NPA302"]
    rule = run["tool"]["driver"]["rules"][1]
    assert rule["help"]["markdown"].startswith("# NPA302: member-as-target")
    assert rule["fullDescription"]["text"].startswith("Reports an `initial`")
    assert "docs/rules" not in json.dumps(log) and "helpUri" not in json.dumps(log)
    assert [result["ruleIndex"] for result in run["results"]] == [0, 1, 1]
    assert [result["level"] for result in run["results"]] == ["warning", "error", "error"]
    first, second, _ = run["results"]
    assert second["message"]["text"] == "no `{{{{config.x}}}}`: 100%,\nsee\ndid you mean `train`?"
    assert second["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "specs/a%20b.yaml"},
                "region": {"startLine": 2, "startColumn": 7, "endLine": 2, "endColumn": 12},
            }
        }
    ]
    assert second["relatedLocations"][0]["message"] == {"text": "first here"}
    assert "fixes" not in second
    assert first["fixes"] == [
        {
            "description": {"text": "write `maxPolls`"},
            "artifactChanges": [
                {
                    "artifactLocation": {"uri": "specs/a%20b.yaml"},
                    "replacements": [
                        {
                            "deletedRegion": {
                                "startLine": 1,
                                "startColumn": 1,
                                "endLine": 1,
                                "endColumn": 10,
                            },
                            "insertedContent": {"text": "maxPolls"},
                        }
                    ],
                }
            ],
        }
    ]


def test_sarif_uses_the_raised_severity(make, codes):
    error, _, _ = codes
    found = make("a\n", "a")
    raised = Diagnostic(error, "m", found.span, severity_override=Severity.NOTE)
    run = json.loads(render("sarif", [raised]))["runs"][0]
    assert run["results"][0]["level"] == "note"
    assert run["tool"]["driver"]["rules"][0]["defaultConfiguration"] == {"level": "error"}


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("./a.yaml", "a.yaml"),
        ("/abs/é.yaml", "file:///abs/%C3%A9.yaml"),
        ("C:\\specs\\a.yaml", "file:///C:/specs/a.yaml"),
        ("odd:name#1?.yaml", "odd%3Aname%231%3F.yaml"),
        ("<stdin>", "%3Cstdin%3E"),
        ("bad\udcff.yaml", "bad%FF.yaml"),
    ],
)
def test_sarif_addresses(make, path, uri):
    log = json.loads(render("sarif", [make("a\n", "a", path=path)]))
    jsonschema.validate(log, SARIF)
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == uri


def test_sarif_text_that_looks_like_a_link_stays_text(make):
    log = json.loads(render("sarif", [make("a\n", "a", message="[x](1) and \\")]))
    assert log["runs"][0]["results"][0]["message"]["text"] == "\\[x\\](1) and \\\\"


def test_github(pair):
    assert render("github", pair) == (
        "::warning file=specs/a b.yaml,line=1,endLine=1,col=1,endColumn=10,title=NPA106 old-spelling"
        "::old spelling\n"
        "::error file=specs/a b.yaml,line=2,endLine=2,col=7,endColumn=12,title=NPA302 unknown-state"
        "::no `{{config.x}}`: 100%25,%0Asee%0Adid you mean `train`?\n"
    )


def test_github_escapes(make, codes):
    _, _, note = codes
    found = make("a\nb\n", "a\nb", path="./x,y:z%.yaml", message="::error::\r\x1b[0m", code=note)
    assert render("github", [found]) == (
        "::notice file=x%2Cy%3Az%25.yaml,line=1,endLine=2,title=NPA215 unused-config-key::::error::%0D␛[0m\n"
    )


def test_the_page_of_a_code():
    assert rule_command("NPA302") == "npac explain NPA302"


def test_emit_writes_what_the_stream_can_take():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    emit("a…\ud800\n", stream)
    stream.flush()
    assert raw.getvalue() == b"a\\u2026\\ud800\n"
    utf8 = io.TextIOWrapper(raw := io.BytesIO(), encoding="utf-8")
    emit("a…\n", utf8)
    utf8.flush()
    assert raw.getvalue() == "a…\n".encode()


def test_very_many_findings_have_a_line_each_and_say_the_same(make):
    source = SourceFile("a.yaml", "".join(f"k{number}: []\n" for number in range(1_500)))
    found = [make(source, f"k{number}:", message=f"no [] {number}") for number in range(1_500)]
    text = render("json", found)
    assert text.count("\n") == 1_500 + 2
    assert json.loads(text) == [json.loads(render("json", [item]))[0] for item in found]
    log = render("sarif", found)
    results = json.loads(log)["runs"][0]["results"]
    assert results == [json.loads(render("sarif", [item]))["runs"][0]["results"][0] for item in found]
    assert log.count("\n") < 1_500 + 60


def test_json_takes_a_path_that_is_no_utf8(make):
    text = render("json", [make("x\n", "x", path="bad\udcff.yaml", related=(("here", "x"),))])
    (item,) = json.loads(text)
    assert (item["path"], item["related"][0]["path"]) == ("bad\\xff.yaml", "bad\\xff.yaml")
    assert json.loads(text.encode("utf-8"))[0]["path"].encode("utf-8") == rb"bad\xff.yaml"
