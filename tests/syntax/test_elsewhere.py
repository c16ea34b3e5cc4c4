"""A key in the wrong mapping: the finding says where it belongs, by the definition of the language."""

from __future__ import annotations

import pytest

from npac.syntax.elsewhere import belongs, foreign
from npac.syntax.language import (
    ARTIFACT,
    COMMAND,
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


@pytest.mark.parametrize(
    ("key", "known", "sentence"),
    [
        ("steps", SPEC, "states are given under 'states'"),
        ("vars", SPEC, "under 'config'"),
        ("spec", SPEC, "metadata.name and states"),
        ("generateName", METADATA, "metadata.name"),
        ("command", STATE, "run: {argv: [WORD, ...]}"),
        ("depends_on", STATE, "'needs'"),
        ("env", STATE, "{{config.KEY}}"),
        ("retries", STATE, "npac run --retries N"),
        ("timeout", STATE, "timeout SECONDS"),
        ("gpus", STATE, "accelerators: NAME:N"),
        ("command", COMMAND, "argv"),
        ("script", COMMAND, "shell: |"),
        ("gpus", PROFILE, "accelerators: NAME:N"),
        ("mem", PROFILE, "'memory'"),
        ("ram", PROFILE, "'memory'"),
        ("spot", PROFILE, "'use_spot'"),
    ],
)
def test_words_of_other_tools_are_told_in_words_of_the_language(
    key: str, known: Section, sentence: str
) -> None:
    assert sentence in foreign(key, known.names)[0]
    assert key not in known.names and belongs(key, known.names) == ""


def test_what_other_tools_call_states_is_read_as_states() -> None:
    body = "steps:\n  a: {command: [x], depends_on: [b], terminal: true}\n"
    found = checked(body).findings
    assert [item.span.text for item in found if item.code.id == "NPA101"] == [
        "steps",
        "command",
        "depends_on",
    ]
    assert foreign("steps", SPEC.names)[1] == "states"
    assert not any(item.code.name == "no-states" for item in found)


def test_a_profile_is_told_so_too() -> None:
    body = "resources: {gpu: {gpus: 1}}\nstates:\n  a: {run: {argv: [x]}, resources: gpu, terminal: true}\n"
    (item,) = (item for item in checked(body + END).findings if item.code.id == "NPA101")
    assert item.help == "GPUs are accelerators: NAME:N, as in H100:1"
