"""No character of a secret's value is shown, however it is written and whatever else is wrong."""

from __future__ import annotations

import time

import pytest

from npac.checking import check_bytes, settings_catalog
from npac.diagnostics.render import FORMATS, render
from npac.pipeline import Settings

HEAD = "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: a}\n"
STATES = "states: {s: {run: {argv: [echo]}, terminal: true}}\n"

WRITTEN: dict[str, str | bytes] = {
    "folded": HEAD + "states:\n  password: >-\n    Zq9canary\n    Xw7Rt5Lk3\n",
    "escaped": HEAD + 'states:\n  password: "Zq9canary\\x58w7Rt5Lk3"\n',
    "continued": HEAD + STATES + 'config:\n  db_token: "Zq9canary\\\n    Xw7Rt5Lk3"\n  a: [\n',
    "a block that is read elsewhere": (
        HEAD
        + "config:\n  password: |\n    Zq9canaryXw7Rt5Lk3\n"
        + "states: {s: {run: {argv: [echo]}, terminal: true, outputs: [{uri: '{{config.password}}'}]}}\n"
    ),
    "an open quote": HEAD + STATES + 'config:\n  password: "Zq9canaryXw7Rt5Lk3\n',
    "a second colon": HEAD + STATES + "config:\n  password: Zq9canaryXw7Rt5Lk3 : b\n",
    "a reserved sign": HEAD + STATES + "config:\n  password: @Zq9canaryXw7Rt5Lk3\n",
    "a tab": HEAD + STATES + "config:\n\tpassword: Zq9canaryXw7Rt5Lk3\n",
    "a control character": HEAD + STATES + "config:\n  password: Zq9canary\x01Xw7Rt5Lk3\n",
    "twice": HEAD + STATES + "config:\n  password: Zq9canaryXw7Rt5Lk3\n  password: Zq9canaryw7Rt5Lk3\n",
    "a top-level list": "- password: Zq9canaryXw7Rt5Lk3\n",
    "a flow mapping": HEAD + STATES + "config: {a: 1, password: Zq9canaryXw7Rt5Lk3, b: [}\n",
    "on the next line": HEAD + STATES + "config:\n  password:\n    Zq9canaryXw7Rt5Lk3\n  x: [\n",
    "a list of them": HEAD + STATES + "config:\n  password: [Zq9canaryXw7Rt5Lk3]\n",
    "a mapping of them": HEAD + STATES + "config:\n  m: {token: {value: Zq9canaryXw7Rt5Lk3}}\n",
    "an anchor": HEAD + STATES + "config:\n  x: &a Zq9canaryXw7Rt5Lk3\n  db_password: *a\n",
    "a comment": HEAD + STATES + "config:\n  a: 1 # Zq9canaryXw7Rt5Lk3\n  db_password: Zq9canaryXw7Rt5Lk3\n",
    "no UTF-8": (HEAD + STATES + "config:\n  password: Zq9canary").encode() + b"\xffXw7Rt5Lk3\n",
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", WRITTEN)
def test_nothing_of_a_value_is_shown(name: str, form: str) -> None:
    text = WRITTEN[name]
    data = text if isinstance(text, bytes) else text.encode()
    checked = check_bytes("spec.yaml", data, Settings(catalog=settings_catalog(())))
    shown = render(form, checked.findings, hidden=checked.hidden)
    assert checked.findings
    assert not [part for part in ("canary", "w7Rt5") if part in shown], shown


def test_a_line_of_nothing_but_keys_of_secrets_is_looked_at_in_time() -> None:
    data = (HEAD + "config: {" + "token: " * 140_000).encode()
    begin = time.process_time()
    checked = check_bytes("spec.yaml", data, Settings(catalog=settings_catalog(())))
    assert checked.hidden
    assert time.process_time() - begin < 10
