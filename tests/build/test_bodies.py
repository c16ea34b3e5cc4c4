"""Files of a build that are too many to be kept in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npac.build.bodies import Bodies, Documents
from npac.build.pretty import pretty, pretty_text
from npac.build.preview import preview
from npac.build.program_view import program_view
from npac.build.verify import verify_build
from npac.ir.canonical import canonical_bytes, digest, digest_bytes, program_bytes, program_parts
from npac.ir.codec import program_to_json
from npac.ir.linking import LinkRecord
from npac.ir.program import Program
from tests.build.test_writer import build, files
from tests.ir.programs import everything, single


@pytest.mark.parametrize("program", [everything(), single()], ids=["everything", "single"])
def test_the_pieces_of_a_program_are_its_bytes(program: Program) -> None:
    data = program_to_json(program)
    assert b"".join(program_parts(program)) == canonical_bytes(data) == program_bytes(program)
    assert digest(program) == digest_bytes(canonical_bytes(data))
    assert b"".join(program_view(program)) == pretty(data)
    assert json.loads(b"".join(program_view(program))) == data


def test_bodies_are_kept_up_to_the_budget_and_made_again_above_it() -> None:
    calls: list[str] = []

    def maker(name: str, size: int):
        def make() -> tuple[bytes, bytes]:
            calls.append(name)
            return (b"x" * size, name.encode())

        return make

    bodies = Bodies(20)
    small, large, other = (bodies.add(maker(*item)) for item in (("s", 9), ("l", 30), ("o", 9)))
    assert (small.kept, large.kept, other.kept) == (b"x" * 9 + b"s", None, b"x" * 9 + b"o")
    assert large.size == 31 and large.digest == digest_bytes(b"x" * 30 + b"l")
    assert [b"".join(body.parts())[-1:] for body in (small, large, other)] == [b"s", b"l", b"o"]
    assert calls == ["s", "l", "o", "l"]


@pytest.mark.parametrize("link", [None, LinkRecord("run-7")], ids=["open", "linked"])
def test_a_build_without_any_memory_is_the_same_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: LinkRecord | None
) -> None:
    build(tmp_path / "kept", link=link)
    monkeypatch.setattr("npac.build.bodies.Bodies.__init__.__defaults__", (0,))
    build(tmp_path / "made", link=link)
    assert files(tmp_path / "made") == files(tmp_path / "kept")
    build(tmp_path / "made", link=link)  # over itself: every object is there
    assert files(tmp_path / "made") == files(tmp_path / "kept")
    assert verify_build(tmp_path / "made") == []
    damaged = max((tmp_path / "made" / "objects").rglob("?" * 64))
    damaged.write_bytes(b"damaged")
    build(tmp_path / "made", link=link)
    assert files(tmp_path / "made") == files(tmp_path / "kept")


class _NoOptions:
    pins = None
    accelerators = None


def test_documents_are_made_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = list(preview(everything(), None, _NoOptions()))
    monkeypatch.setattr("npac.build.bodies.Bodies.__init__.__defaults__", (0,))
    made = preview(everything(), None, _NoOptions())
    assert isinstance(made, Documents) and len(made) == len(kept) > 3
    assert list(made) == kept and made[0] == kept[0] and list(made[1:3]) == kept[1:3]


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    ),
    st.integers(0, 6),
)
def test_json_for_people_is_that_of_the_standard_library(data: Any, depth: int) -> None:
    text = json.dumps(data, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    assert pretty_text(data, depth) == text.replace("\n", "\n" + " " * depth)


@pytest.mark.parametrize("data", [float("nan"), {"a": [float("inf")]}, {"a": {1, 2}}, object(), {(1,): 2}])
def test_what_json_cannot_hold_is_refused(data: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        pretty(data)
