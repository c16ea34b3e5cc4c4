"""Any input at all: text, trees of the language's own words, and real specs that were damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from npac.syntax.language import SPEC, Section
from tests.corpus.place import CORPUS

ROOT = Path(__file__).resolve().parents[2]


def words() -> list[str]:
    """Give every key, old spelling and word of the language."""
    found: dict[str, None] = {}

    def visit(section: Section) -> None:
        for name, key in section.keys.items():
            if name in found and key.inner is None:
                continue
            found.update(dict.fromkeys((name, key.old, *key.words)))
            if key.inner is not None and key.inner.title not in seen:
                seen.add(key.inner.title)
                visit(key.inner)

    seen = {SPEC.title}
    visit(SPEC)
    found.pop("", None)
    return list(found)


NAMES = ("a", "b", "c", "train", "judge")
TEXTS = (
    "",
    "x",
    "promote_checkpoint",
    "loop_back",
    "workbench.train",
    "default",
    "H100:8",
    "tool://x",
    "4+",
    "16Gi",
    "s3://bkt/k",
    "s3://bkt/{{run.id}}/",
    "{{config.a}}",
    "{{config.b | sh}}",
    "{{loop.a}}",
    "{{state.a.uri}}",
    "{{state.b.uris.1}}",
    "config.a",
    "{{",
    "}}",
    "{{config.",
    "echo '{{config.a}}'",
    "\x00",
    "\ud800",
    "<<",
    "=",
    "registry.example/team/image:1",
    "registry.example/team/image@sha256:" + "0" * 64,
    "file:///tmp/x",
    "²",
    "٣",
)
LEAVES = st.one_of(
    st.sampled_from(TEXTS).filter(lambda text: "\ud800" not in text),
    st.sampled_from(NAMES),
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.sampled_from([10**9, 10**30, 0.5, float("inf"), float("nan")]),
    st.text(max_size=12).filter(lambda text: not any("\ud800" <= char <= "\udfff" for char in text)),
)
KEYS = st.one_of(st.sampled_from(words()), st.sampled_from(NAMES))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=25,
)
STATE_KEYS = st.sampled_from(
    [
        *("run", "toolRef", "sequence", "parallel", "params", "trigger", "loop", "transitions", "next"),
        *("needs", "inputs", "outputs", "resources", "terminal", "writesDecision", "secrets", "groupRetry"),
        "maxConcurrency",
    ]
)
STATE_VALUES = st.one_of(
    TREES,
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(NAMES), max_size=4),
    st.just({"argv": ["x", "{{config.a}}", "{{loop.a}}"]}),
    st.just({"shell": "echo {{config.a}} '{{config.b}}'"}),
    st.builds(lambda most: {"max": most, "until": "loop_back"}, st.sampled_from([1, 3, 1000, "config.n"])),
    st.just([{"uri": "{{config.decision_uri}}", "schema": "decision"}]),
    st.builds(lambda goto: [{"when": "loop_back", "goto": goto}], st.sampled_from(NAMES)),
    st.just(True),
)
STATES = st.dictionaries(
    st.sampled_from(NAMES), st.dictionaries(STATE_KEYS, STATE_VALUES, max_size=5), min_size=1, max_size=5
)
CONFIGS = st.dictionaries(
    st.sampled_from(["a", "b", "n", "bucket", "prefix", "decision_uri", "require_baked_npa", "source_sha"]),
    LEAVES,
    max_size=6,
)


def _spec(states: Any, config: Any, extra: Any) -> str:
    data = {
        "apiVersion": "npa.workflow/v0.0.1",
        "kind": "Workflow",
        "metadata": {"name": "x"},
        "config": config,
        "states": states,
        **extra,
    }
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


SPECS = st.builds(_spec, STATES, CONFIGS, st.dictionaries(st.sampled_from(words()), TREES, max_size=2))
"""Specs of the right outer form with anything inside."""

SOUND = sorted((CORPUS / "specs").glob("*.yaml")) or sorted((ROOT / "workflows").rglob("*[!t].yaml"))


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Give a real spec with a few lines or characters lost, doubled, moved or replaced."""
    text = draw(st.sampled_from(SOUND)).read_text(encoding="utf-8")
    for _ in range(draw(st.integers(1, 4))):
        lines = text.splitlines(keepends=True) or [""]
        at = draw(st.integers(0, len(lines) - 1))
        end = min(len(lines), at + draw(st.integers(1, 6)))
        other = draw(st.integers(0, len(lines) - 1))
        act = draw(st.sampled_from(["drop", "double", "swap", "indent", "outdent", "char", "cut", "word"]))
        if act == "drop":
            del lines[at:end]
        elif act == "double":
            lines[at:at] = lines[at:end]
        elif act == "swap":
            lines[at], lines[other] = lines[other], lines[at]
        elif act == "indent":
            lines[at:end] = [f"  {line}" for line in lines[at:end]]
        elif act == "outdent":
            lines[at:end] = [line.removeprefix("  ") for line in lines[at:end]]
        elif act == "char":
            column = draw(st.integers(0, max(0, len(lines[at]) - 1)))
            char = draw(st.sampled_from("{}[]:,'\"&*!|>#-%@`\t \n\\\x00\u2028é🜁"))
            lines[at] = lines[at][:column] + char + lines[at][column + 1 :]
        elif act == "cut":
            lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))] + "\n"
        else:
            head, colon, _ = lines[at].partition(":")
            lines[at] = f"{head}{colon} {draw(st.sampled_from(TEXTS[:-1]))}\n"
        text = "".join(lines)
    return text
