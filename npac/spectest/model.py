"""What a test file says, every part with its place in the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from npac.text.source import SourceFile, Span

RUN_ID = "RUN-ID"
"""The run id of a case that gives none; the one that ``npac plan`` shows."""

DECISIONS = {
    "promote": "promote_checkpoint",
    "promote_checkpoint": "promote_checkpoint",
    "loop_back": "loop_back",
    "loop_back_to_inner_loop": "loop_back",
}


@dataclass(frozen=True, slots=True)
class Text:
    """A text of the test file."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number of the test file."""

    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class Match:
    """What one text must be: equal to ``exact``, or with every part of ``contains`` and a match of each
    pattern of ``matches``.
    """

    span: Span
    exact: str | None = None
    contains: tuple[Text, ...] = ()
    matches: tuple[tuple[re.Pattern[str], Span], ...] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """What a list of words must be: all of ``exact``, or with the words of ``contains`` in a row and a
    match of each pattern in the words written as one shell line.
    """

    span: Span
    exact: tuple[Text, ...] | None = None
    contains: tuple[tuple[Text, ...], ...] = ()
    matches: tuple[tuple[re.Pattern[str], Span], ...] = ()


@dataclass(frozen=True, slots=True)
class ArtifactExpected:
    """One input or output; what is None is not looked at."""

    span: Span
    uri: Match
    schema: Match | None = None
    kind: Text | None = None


@dataclass(frozen=True, slots=True)
class ArtifactsExpected:
    """The inputs or outputs of a step: all of them in order, or some of them."""

    span: Span
    items: tuple[ArtifactExpected, ...]
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Absent:
    """An environment variable that must not be there."""

    span: Span


@dataclass(frozen=True, slots=True)
class StepExpected:
    """What must hold of a step each time that it runs on the walk; what is None is not looked at."""

    selector: Text
    """A state, or the path of one visit (``refine[2]/train``)."""
    argv: Words | None = None
    shell: Match | None = None
    tool: Match | None = None
    image: Match | None = None
    nodes: Number | None = None
    runs: Number | None = None
    env: Mapping[str, Match | Absent] = field(default_factory=dict)
    resources: Mapping[str, Text | Absent] = field(default_factory=dict)
    """Some keys of the task's ``resources`` block, as text."""
    secrets: Words | None = None
    inputs: ArtifactsExpected | None = None
    outputs: ArtifactsExpected | None = None
    triggers: tuple[Match, ...] | None = None
    triggers_at: Span | None = None


@dataclass(frozen=True, slots=True)
class WaveExpected:
    """One wave of the walk: a state, group or path by ``name``, or a parallel group by its members."""

    span: Span
    name: str = ""
    members: tuple[Text, ...] = ()
    batches: Number | None = None


@dataclass(frozen=True, slots=True)
class AnyWaves:
    """Any number of waves (``...``)."""

    span: Span


@dataclass(frozen=True, slots=True)
class GateExpected:
    """One gate that the walk reads; what is None is not looked at."""

    span: Span
    uri: Match | None = None
    state: Text | None = None
    decision: Text | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The case must be refused: with exactly these codes at error level, or a message with these texts."""

    span: Span
    codes: tuple[Text, ...] = ()
    message: Match | None = None


WaveEntry: TypeAlias = "WaveExpected | AnyWaves"


@dataclass(frozen=True, slots=True)
class Expected:
    """All that a case expects; what is None is not looked at."""

    waves: tuple[WaveEntry, ...] | Number | None = None
    waves_at: Span | None = None
    steps: tuple[StepExpected, ...] = ()
    never: tuple[Text, ...] = ()
    gates: tuple[GateExpected, ...] | Number | None = None
    gates_at: Span | None = None
    warnings: tuple[Text, ...] | None = None
    warnings_at: Span | None = None
    error: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Decisions:
    """What one gate answers, visit by visit; the last answer is repeated."""

    gate: Text
    answers: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One test: what is given, and what is expected."""

    name: Text
    expected: Expected
    vars: tuple[tuple[str, str], ...] = ()
    sets: tuple[tuple[str, str], ...] = ()
    config: tuple[str, ...] = ()
    catalogs: tuple[str, ...] = ()
    pins: tuple[tuple[str, str], ...] = ()
    accelerators: tuple[tuple[str, str], ...] = ()
    allow_new_vars: bool = False
    run_id: str = RUN_ID
    assume: Text | None = None
    decide: tuple[Decisions, ...] = ()


@dataclass(frozen=True, slots=True)
class Suite:
    """One test file: the spec that it is about, and its cases."""

    source: SourceFile
    spec: str
    """Path of the spec, as the user would give it."""
    spec_at: Span
    cases: tuple[Case, ...]
