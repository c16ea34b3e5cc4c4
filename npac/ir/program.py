"""The program: a finite DAG of waves, gates and ends, every iteration resolved.

Identity and meaning follow the IR contract: nodes are hash-consed on what is still used, steps
are stored once in a table, a node refers to its steps by index and to other nodes by id.  A
program holds no source position, no path, no time and no host; those are kept beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from npac.ir.values import Value

SCHEMA = "npac.ir/v1"

PROMOTE = "promote_checkpoint"
LOOP_BACK = "loop_back"

Tree: TypeAlias = "None | bool | int | float | Value | list[Tree] | dict[str, Tree]"
"""Data whose strings may be template values (a resource profile, a pod config)."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One declared input or output.

    ``kind`` is ``"file"`` or ``"directory"`` (already decided: what the spec says, else by the
    trailing slash); ``declared_kind`` is what the spec wrote, empty when it wrote nothing.
    """

    uri: Value
    schema: str = ""
    kind: str = "file"
    declared_kind: str = ""


@dataclass(frozen=True, slots=True)
class Baked:
    """What a step needs from an image that carries npac's user code already (``require_baked_npa``)."""

    source_sha: Value
    import_module: str


@dataclass(frozen=True, slots=True)
class ToolSetup:
    """What the catalog says must be there before the command of a tool runs."""

    interpreters: tuple[str, ...] = ()
    pip_extra: str = ""
    pip_requirements: tuple[tuple[str, str], ...] = ()
    """(probe, requirement) pairs: the requirement is installed when the probe fails."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command with all that it needs; equal steps of several iterations are one entry."""

    state: str
    argv: tuple[Value, ...] = ()
    shell: Value = ""
    tool_ref: str = ""
    resources: str = ""
    """The profile's name; empty when the state names none and no ``default`` profile exists."""
    profile: dict[str, Tree] = field(default_factory=dict)
    """The profile as written, every key but ``x-``, strings resolved."""
    num_nodes: int = 1
    image: str = ""
    """The image to run in: the profile's, else the tool's; empty for none."""
    inputs: tuple[Artifact, ...] = ()
    outputs: tuple[Artifact, ...] = ()
    secrets: tuple[str, ...] = ()
    """Names of environment variables, sorted; never values."""
    env: dict[str, Value] = field(default_factory=dict)
    """What the catalog entry gives; the task's own ``NPA_…`` variables are added by a back end."""
    writes_decision: bool = False
    decision_uri: Value = ""
    """Where a ``writes_decision`` step writes its decision; one of its outputs."""
    setup: ToolSetup = ToolSetup()
    baked: Baked | None = None
    source_overlay: bool = False
    raw: dict[str, Tree] = field(default_factory=dict)
    """A whole SkyPilot task as its author wrote it; empty for a step of a spec."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """Objects that must be there before a wave is launched."""

    state: str
    uri: Value
    poll_seconds: int = 30
    max_polls: int = 0
    min_objects: int = 1


@dataclass(frozen=True, slots=True)
class Member:
    """One step inside a wave, with its labels."""

    step: int
    """Index into :attr:`Program.steps`."""
    iteration: int | None = None
    """Iteration of a loop on this very leaf, from 1; None when the leaf has no loop."""
    loop_label: str = ""
    """The group that directly contains the step, looped or not."""


@dataclass(frozen=True, slots=True)
class GroupOutputs:
    """Outputs that a group declares; they are checked after its last member has ended."""

    group: str
    outputs: tuple[Artifact, ...]


@dataclass(frozen=True, slots=True)
class Wave:
    """One or more steps that run between two barriers."""

    id: str
    number: int
    """Place in the topological order of the waves, from 1."""
    members: tuple[Member, ...]
    batches: tuple[tuple[int, ...], ...]
    """Indexes into ``members``; one batch is launched after the other."""
    next: str
    """Id of the node that follows."""
    group: str = ""
    """The parallel group; empty for a serial wave."""
    max_concurrency: int = 1
    triggers: tuple[Trigger, ...] = ()
    loops: dict[str, int] = field(default_factory=dict)
    """Iterations of the loops that contain this wave, outermost first."""
    group_retry_all: bool = False
    outputs: tuple[Artifact, ...] = ()
    """What a parallel group itself declares; checked after its last batch."""
    opens: tuple[GroupOutputs, ...] = ()
    """Sequences that begin with this wave: their outputs are observed before it is launched."""
    checks: tuple[GroupOutputs, ...] = ()
    """Sequences that have just ended: their outputs are checked before this node does anything."""

    @property
    def kind(self) -> str:
        """``"parallel"`` for a group, ``"serial"`` for one step."""
        return "parallel" if self.group else "serial"


@dataclass(frozen=True, slots=True)
class Gate:
    """A decision that is read at run time; it has exactly two edges."""

    id: str
    state: str
    """The state whose ``until`` or ``transitions`` this gate decides."""
    role: str
    """``"until"`` or ``"transitions"``."""
    uri: Value
    promote: str
    """Id of the node that follows when the decision is ``promote_checkpoint``."""
    loop_back: str
    writers: tuple[str, ...] = ()
    """States that may have written the decision, sorted."""
    leaves_on: str = ""
    """For an ``until`` gate: the decision that leaves the loop; a walk without any assumption takes
    the other edge, so that loops run to their bound."""
    loops: dict[str, int] = field(default_factory=dict)
    checks: tuple[GroupOutputs, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """The run has succeeded."""

    id: str
    checks: tuple[GroupOutputs, ...] = ()


Node: TypeAlias = "Wave | Gate | End"


@dataclass(frozen=True, slots=True)
class Program:
    """A whole workflow, ready to be linked and walked."""

    workflow: str
    entry: str
    steps: tuple[Step, ...]
    nodes: tuple[Node, ...]
    """In topological order: every edge goes to a later node."""
    api_version: str = "npa.workflow/v0.0.1"
    execution_mode: str = ""
    default_assumption: str = ""
    """What ``--assume-decision default`` means: ``promote_checkpoint``, ``loop_back`` or empty."""

    def index(self) -> dict[str, Node]:
        """Give the nodes by id."""
        return {node.id: node for node in self.nodes}

    def waves(self) -> tuple[Wave, ...]:
        """Give the waves in the order of their numbers."""
        return tuple(node for node in self.nodes if isinstance(node, Wave))

    def gates(self) -> tuple[Gate, ...]:
        """Give the gates in topological order."""
        return tuple(node for node in self.nodes if isinstance(node, Gate))


def successors(node: Node) -> tuple[str, ...]:
    """Give the ids that ``node`` leads to, ``promote_checkpoint`` first."""
    if isinstance(node, Wave):
        return (node.next,)
    if isinstance(node, Gate):
        return (node.promote, node.loop_back)
    return ()


def label(wave: Wave, program: Program) -> str:
    """Give the short name of a wave: its group, else its one state."""
    return wave.group or program.steps[wave.members[0].step].state


JSON: TypeAlias = Any
