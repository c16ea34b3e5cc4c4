"""A key in the wrong mapping: the finding says where it belongs, by the definition of the language."""

from __future__ import annotations

import pytest

from npac.syntax.elsewhere import belongs
from npac.syntax.language import (
    ARTIFACT,
    CONFIG,
    LOOP,
    METADATA,
    PROFILE,
    SPEC,
    STATE,
    TRANSITION,
    TRIGGER,
    Section,
)
from tests.rules.specs import END, checked

PROFILES = "into a resource profile, under resources"


@pytest.mark.parametrize(
    ("key", "known", "place"),
    [
        *((key, STATE, "into an entry of transitions") for key in ("when", "if", "goto")),
        *((key, STATE, "under loop") for key in ("max", "until")),
        *((key, STATE, "under run") for key in ("shell", "argv")),
        *((key, STATE, PROFILES) for key in ("image", "cpus", "memory", "accelerators", "num_nodes")),
        ("pollSeconds", STATE, "under trigger"),
        ("poll_seconds", STATE, "under trigger as 'pollSeconds'"),
        ("uri", STATE, "into an entry of inputs or outputs, or under trigger"),
        ("uri", LOOP, "into an entry of inputs or outputs, or under trigger"),
        ("schema", STATE, "into an entry of inputs or outputs"),
        ("initial", STATE, "at the top of the spec"),
        ("executionMode", SPEC, "under metadata"),
        ("name", SPEC, "under metadata"),
        ("sequence", SPEC, "into a state"),
        ("tool_ref", SPEC, "into a state as 'toolRef'"),
        ("bucket", SPEC, "under config"),
        ("image", SPEC, PROFILES),
        ("pod_config", PROFILE, "under kubernetes"),
        ("description", SPEC, "under metadata, or into a state"),
        ("next", TRANSITION, "into a state"),
        ("zebra", STATE, ""),
    ],
)
def test_it_says_where_a_key_belongs(key: str, known: Section, place: str) -> None:
    assert belongs(key, known.names) == (f"{key!r} belongs {place}" if place else "")


@pytest.mark.parametrize(
    "section", [SPEC, METADATA, STATE, TRIGGER, LOOP, TRANSITION, ARTIFACT, PROFILE, CONFIG]
)
def test_every_key_that_one_or_two_other_mappings_have_has_a_place(section: Section) -> None:
    for other in (SPEC, METADATA, STATE, TRIGGER, LOOP, TRANSITION, ARTIFACT, PROFILE):
        for key in set(other.names) - set(section.names) - {"name"}:
            assert belongs(key, section.names).startswith(f"{key!r} belongs "), key


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("states:\n  a: {run: {argv: [x]}, when: loop_back, next: z}\n", "'when' belongs into an entry of"),
        ("states:\n  a: {run: {argv: [x]}, max_polls: 3, next: z}\n", "belongs under trigger as 'maxPolls'"),
        ("states:\n  a: {run: {argv: [x], image: y}, next: z}\n", PROFILES),
        ("states:\n  a: {shell: echo, next: z}\n", "'shell' belongs under run"),
        ("states:\n  a: {run: {argv: [x]}, name: b, next: z}\n", "is its name"),
        (
            "states:\n  a: {run: {argv: [x]}, loop: {max: 2, next: z}, next: z}\n",
            "'next' belongs into a state",
        ),
        ("cpus: 2\nstates:\n  a: {run: {argv: [x]}, next: z}\n", PROFILES),
        ("resources: {default: {trigger: {}}}\nstates:\n  a: {run: {argv: [x]}, next: z}\n", "into a state"),
        (
            "resources: {default: {pod_config: {}}}\nstates:\n  a: {run: {argv: [x]}, next: z}\n",
            "under kubernetes",
        ),
        (
            "resources: {default: {kubernetes: {cpus: 1}}}\nstates:\n  a: {run: {argv: [x]}, next: z}\n",
            PROFILES,
        ),
    ],
)
def test_the_finding_of_check_says_it(body: str, place: str) -> None:
    (found,) = [item for item in checked(body + END).findings if item.code.name == "unknown-key"]
    assert place in found.help
    assert "known keys" not in found.help and "did you mean" not in found.help


def test_a_misspelt_key_is_still_guessed_and_a_strange_one_still_gets_the_list() -> None:
    body = f"states:\n  a: {{run: {{argv: [x]}}, resource: g, zebra: 1, next: z}}\n{END}"
    helps = [item.help for item in checked(body).findings if item.code.name == "unknown-key"]
    assert helps[0] == "did you mean 'resources'?"
    assert helps[1].startswith("known keys: description, ")
