"""The typed syntax tree of a spec.

Every leaf is (or holds) the scalar that stands in the file, so every node knows its span.  The
tree is what the author wrote: nothing is resolved, defaulted or coerced here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from npac.syntax.templates import Template
from npac.text.source import SourceFile, Span
from npac.text.yaml_nodes import Map, Node, Scalar

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Text(NamedTuple):
    """A scalar that may hold tokens."""

    node: Scalar
    template: Template


class Count(NamedTuple):
    """A whole number: literal, or the config key that holds it."""

    node: Scalar
    literal: int | None
    key: str | None


class ArtifactDecl(NamedTuple):
    """An entry of ``inputs`` or ``outputs``."""

    span: Span
    uri: Text
    schema: Scalar | None = None
    kind: Scalar | None = None


class Loop(NamedTuple):
    """``loop: {max, until}``."""

    span: Span
    max: Count | None
    until: Scalar | None


class Transition(NamedTuple):
    """One entry of ``transitions``."""

    span: Span
    goto: Scalar | None
    when: Scalar | None
    condition: Scalar | None


class TriggerDecl(NamedTuple):
    """``trigger``: objects to wait for before the state runs."""

    span: Span
    uri: Text | None
    poll_seconds: Count | None
    max_polls: Count | None
    min_objects: Count | None


class Param(NamedTuple):
    """One config overlay of a state."""

    key: Scalar
    text: Text


class State(NamedTuple):
    """One state as written.  ``keys`` gives the key's own scalar by its camelCase name."""

    name: Scalar
    span: Span
    keys: Mapping[str, Scalar]
    needs: tuple[Scalar, ...] = ()
    shell: Text | None = None
    argv: tuple[Text, ...] | None = None
    tool_ref: Scalar | None = None
    sequence: tuple[Scalar, ...] | None = None
    parallel: tuple[Scalar, ...] | None = None
    parallel_count: Count | None = None
    max_concurrency: Count | None = None
    params: Mapping[str, Param] = _NOTHING
    trigger: TriggerDecl | None = None
    loop: Loop | None = None
    transitions: tuple[Transition, ...] = ()
    next: Scalar | None = None
    inputs: tuple[ArtifactDecl, ...] = ()
    outputs: tuple[ArtifactDecl, ...] = ()
    resources: Scalar | None = None
    multi_node_mode: Scalar | None = None
    terminal: bool = False
    writes_decision: bool = False
    secrets: tuple[Scalar, ...] = ()
    group_retry: Scalar | None = None

    @property
    def is_group(self) -> bool:
        """Say whether this state is a ``sequence`` or a ``parallel``."""
        return self.sequence is not None or self.parallel is not None

    @property
    def works(self) -> bool:
        """Say whether this state runs a command of its own."""
        return self.tool_ref is not None or self.shell is not None or self.argv is not None

    @property
    def members(self) -> tuple[Scalar, ...]:
        """The children of a group, in order; empty for any other state."""
        return self.sequence or self.parallel or ()

    def key_span(self, key: str) -> Span:
        """Where the key stands, or the state's name when the key was not written."""
        found = self.keys.get(key)
        return found.span if found is not None else self.name.span


class ConfigEntry(NamedTuple):
    """One config value as given.

    ``origin`` is ``spec``, ``tool``, ``file`` (``--config``), ``set`` or ``var``; the text of a
    ``var`` is data, in which braces are text.
    """

    key: Scalar
    node: Node
    origin: str = "spec"


class Profile(NamedTuple):
    """One resource profile as written."""

    name: Scalar
    node: Map


class Spec(NamedTuple):
    """A whole spec as written."""

    source: SourceFile
    top: Map
    api_version: str = ""
    name: Scalar | None = None
    execution_mode: str = ""
    config: Mapping[str, ConfigEntry] = _NOTHING
    run: Mapping[str, tuple[Scalar, Scalar]] = _NOTHING
    profiles: Mapping[str, Profile] = _NOTHING
    initial: Scalar | None = None
    states: Mapping[str, State] = _NOTHING

    @property
    def runtime_mode(self) -> bool:
        """Say whether only real decisions may route (``metadata.executionMode: runtime``)."""
        return self.execution_mode == "runtime"
