"""Of one code a thousand findings are listed, wherever they come from, and no name makes a message long."""

from __future__ import annotations

import pytest

from npac.text.source import MAX_ALIKE
from tests.rules.specs import checked

BODY = 'states:\n  s: {run: {shell: "echo %s"}, terminal: true}\n'


@pytest.mark.parametrize(
    ("text", "code"),
    [("{{config.x%d}}", "NPA204"), ("{{state.x%d.uri}}", "NPA208"), ("{{loop.x%d}}", "NPA210")],
)
def test_many_findings_of_one_text(text: str, code: str) -> None:
    tokens = "".join(text % number for number in range(1500))
    found = [item for item in checked(BODY % tokens).findings if item.code.id == code]
    assert len(found) == MAX_ALIKE + 1
    assert found[-1].message == "500 more of this kind begin here, which are not listed"


def test_many_comments_that_silence_nothing() -> None:
    comments = "# npac: ignore[NPA221] x\n" * 1500
    found = checked(BODY % "one" + comments).findings
    assert (len(found), {item.code.id for item in found}) == (MAX_ALIKE + 1, {"NPA901"})
    assert found[-1].message == "500 more of this kind begin here, which are not listed"


def test_secrets_in_plain_text_are_all_listed() -> None:
    keys = "".join(f"  k{number}: hf_{number:034d}\n" for number in range(1100))
    found = checked("config:\n" + keys + BODY % "one").findings
    assert sum(item.code.id == "NPA601" for item in found) == 1100


@pytest.mark.parametrize("text", ["{{config.%s}}", "{{state.%s.uri}}", "{{run.%s}}", "{{params.%s}}"])
def test_a_long_name_makes_no_long_message(text: str) -> None:
    found = checked(BODY % (text % ("a." * 50_000 + "a"))).findings
    assert found
    assert max(len(item.message) + len(item.help) for item in found) < 1_000
