"""Whatever stands in a test file, reading it gives findings and no exception."""

from __future__ import annotations

from pathlib import Path

import yaml
from hypothesis import given
from hypothesis import strategies as st

from npac.spectest import expect, parse
from npac.spectest.parse import parse_suite
from npac.text.source import SourceFile

SPECS = Path(__file__).resolve().parent / "specs"
EXAMPLES = [path.read_text(encoding="utf-8") for path in sorted(SPECS.glob("*.test.yaml"))]
KEYS = (
    *(*parse.TOP_KEYS, *parse.CASE_KEYS, *expect.KEYS),
    *(*expect.STEP_KEYS, *expect.WAVE_KEYS, *expect.GATE_KEYS),
    *("contains", "matches", "codes", "schema", "kind", "a", ""),
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 9), st.sampled_from(("...", "promote", "(", "NPA204", "x"))
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=12,
)


def _read(text: str) -> None:
    suite, findings = parse_suite(SourceFile("t.test.yaml", text))
    assert suite is not None or findings
    for item in findings:
        assert 0 <= item.span.start <= item.span.end <= len(text)
        assert item.message


@given(DATA)
def test_any_data(data: object) -> None:
    _read(yaml.safe_dump(data))


@given(DATA)
def test_any_case(data: object) -> None:
    _read(yaml.safe_dump({"cases": [{"name": "a", "expect": data}]}))
    _read(yaml.safe_dump({"defaults": data, "cases": [{"name": "a", "decide": data, "vars": data}]}))


@given(st.sampled_from(EXAMPLES), st.integers(0, 2000), st.integers(0, 40), st.text(max_size=6))
def test_any_damage(text: str, at: int, cut: int, new: str) -> None:
    _read(text[:at] + new + text[at + cut :])


@given(st.text(max_size=80))
def test_any_text(text: str) -> None:
    _read(text)
