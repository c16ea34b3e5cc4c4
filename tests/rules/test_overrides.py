"""Overrides: declared keys only, the old value's type, and every fault at its place."""

from __future__ import annotations

from typing import Any

import pytest

from npac.api import Options, plan
from tests.rules.specs import checked, codes

BODY = """\
config: {up: true, n: 3, l: [1], m: {k: v}, nul: , s: text}
states:
  a: {run: {argv: ["{{config.up}}", "{{config.n}}", "{{config.m.k}}", "{{config.nul}}", "{{config.s}}"]}, terminal: true}
"""


def _places(**options: Any) -> list[tuple[str, str, tuple[int, int]]]:
    found = checked(BODY, **options).findings
    return [
        (item.code.id, item.span.source.path, item.span.source.position(item.span.start))
        for item in found
        if item.code.id not in ("NPA215", "NPA206")
    ]


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("up", "false", ""),
        ("up", "False", ""),
        ("up", "0", "218"),
        ("up", "fAlse", "218"),
        ("n", "4.5", ""),
        ("n", "four", "218"),
        ("l", "x", "218"),
        ("m", "x", "218"),
        ("m.k", "w", ""),
        ("s", "7", ""),
        ("s", "{{config.no}}", ""),
        ("t", "x", "217"),
        ("m.l", "x", "217"),
    ],
)
def test_a_var_fits_what_it_replaces(key: str, value: str, wanted: str) -> None:
    assert codes(BODY, but="206 215", variables=((key, value),)) == wanted


def test_the_braces_of_a_set_are_read_and_those_of_a_var_are_not() -> None:
    assert _places(sets=(("s", "{{config.no}}"),)) == [("NPA204", "--set", (1, 3))]
    assert _places(variables=(("s", "{{config.no}}"),)) == []


def test_every_override_has_a_line_of_its_own() -> None:
    assert _places(variables=(("s", "x"), ("q", "x"), ("n", "x"))) == [
        ("NPA217", "--var", (2, 1)),
        ("NPA218", "--var", (3, 3)),
    ]


@pytest.mark.parametrize(
    ("overlay", "wanted"),
    [
        ("s: other\n", []),
        ("m: {k: other}\n", []),
        ("m: other\n", [("NPA218", "overlay.yaml", (1, 1))]),
        ("m: {}\n", []),
        ("s: {a: 1}\n", [("NPA218", "overlay.yaml", (1, 4)), ("NPA217", "overlay.yaml", (1, 5))]),
        ("s: {}\n", [("NPA218", "overlay.yaml", (1, 4))]),
        ("s: [a]\n", [("NPA218", "overlay.yaml", (1, 4))]),
        ("s: '{{config.no}}'\n", [("NPA204", "overlay.yaml", (1, 5))]),
        ("new: 1\n", [("NPA217", "overlay.yaml", (1, 1))]),
        ("up: 'perhaps'\n", [("NPA218", "overlay.yaml", (1, 5))]),
        ("s: a\ns: b\n", [("NPA003", "overlay.yaml", (2, 1))]),
        ("- s\n", [("NPA102", "overlay.yaml", (1, 1))]),
        ("s: 'a\n", [("NPA002", "overlay.yaml", (2, 1))]),
    ],
)
def test_an_overlay_is_checked_like_the_spec(
    overlay: str, wanted: list[tuple[str, str, tuple[int, int]]]
) -> None:
    assert sorted(_places(overlay=overlay)) == sorted(wanted)


def test_new_keys_can_be_allowed() -> None:
    assert codes(BODY, but="206 215", variables=(("t", "x"),), allow_new=True) == ""


def test_they_apply_in_order_and_a_boolean_stays_one(tmp_path: Any) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: example}\n"
        "config: {up: true, s: spec}\nstates:\n"
        "  a: {run: {argv: ['{{config.s}}']}, transitions: [{if: config.up, goto: b}], next: z}\n"
        "  b: {run: {argv: [b]}, next: z}\n  z: {terminal: true}\n"
    )
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text("s: file\n")

    def steps(**options: Any) -> str:
        answer = plan(spec, Options(config=[overlay], **options), assume="default")
        return f"{answer['steps'][0]['argv'][0]} {' '.join(step['state'] for step in answer['steps'])}"

    assert steps() == "file a b"
    assert steps(sets={"s": "set"}) == "set a b"
    assert steps(sets={"s": "set"}, vars={"s": "var", "up": "false"}) == "var a"
