"""Random small specs that are valid: every token in them is read where it has a value on every path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml
from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]

_KEYS = ("alpha", "beta", "gamma")
_LITERALS = ("x", "it-", " ", "%", "é", '{"k": 1}', "{{{{", "}}", "$(date)", "'", "{{.Go}}", "\n")


@dataclass
class _State:
    """A state on its way: what it is was drawn, its texts come later."""

    name: str
    kind: str
    children: list[_State] = field(default_factory=list)
    loop: dict[str, Any] | None = None
    outputs: int = 0
    data: dict[str, Any] = field(default_factory=dict)
    targets: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    """A spec's text, and the decisions that its gates give, in the order in which they are read."""

    text: str
    decisions: tuple[bool, ...]


class _Maker:
    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.count = 0

    # --- drawing

    def chance(self, percent: int) -> bool:
        return bool(self.draw(st.integers(0, 99)) < percent)

    def upto(self, least: int, most: int) -> int:
        return int(self.draw(st.integers(least, most)))

    def choice(self, items: Any) -> Any:
        return self.draw(st.sampled_from(list(items)))

    # --- what there is

    def spec(self) -> str:
        top = [self.tree(depth=0, room=9) for _ in range(self.upto(1, 3))]
        last = _State(self.name(), "leaf" if self.chance(70) else "end", outputs=self.upto(0, 1))
        top.append(last)
        for place, state in enumerate(top[:-1]):
            self.exits(state, place, top)
        last.data["terminal"] = True
        self.texts(top)
        states: dict[str, Any] = {}
        for state in top:
            self.collect(state, states)
        config = {
            "alpha": "plain-α",
            "beta": "{{config.alpha}}/{{run.id}}",
            "gamma": "{{run.prefix}}",
            "zone": "west",
            "decision_uri": "s3://bbb/{{run.id}}/decision.json",
            "two": 2,
            "yes": self.choice(("text", True, "false", 1)),
            "no": self.choice((False, None, 0, "")),
            **({"prefix": "runs/{{run.id}}"} if self.chance(30) else {}),
        }
        document = {
            "apiVersion": "npa.workflow/v0.0.1",
            "kind": "Workflow",
            "metadata": {"name": "generated"},
            "config": config,
            "run": {"owner": "team"},
            "resources": {"default": {"region": "r-{{config.zone}}"}, "other": {"region": "fixed"}},
            "initial": top[0].name,
            "states": states,
        }
        text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
        return text

    def name(self) -> str:
        self.count += 1
        return f"{self.choice(('s', 'state-', 'v1.'))}{self.count}"

    def tree(self, depth: int, room: int, loop: str = "") -> _State:
        """Draw a state; ``room`` bounds the product of the loops around it, ``loop`` is the innermost."""
        if loop and self.chance(6):
            # it has no work, and its transitions do not route: nothing happens there
            idle = _State(self.name(), "router")
            idle.data["transitions"] = [{"when": "loop_back", "goto": loop}]
            return idle
        kinds = ["leaf", "leaf", "sequence", "sequence", "parallel"] if depth < 3 else ["leaf"]
        kind = self.choice((*kinds, "router") if depth == 0 else kinds)
        state = _State(self.name(), kind)
        most = min(3, room)
        if kind in ("leaf", "sequence") and most > 1 and self.chance(60):
            bound = self.upto(1, most)
            room //= bound
            written: Any = self.choice(("{{config.two}}", "config.two")) if bound == 2 else str(bound)
            state.loop = {"max": bound if self.chance(60) else written}
            if self.chance(80):
                state.loop["until"] = self.choice(("promote_checkpoint", "loop_back"))
        if kind == "sequence":
            inner = state.name if state.loop is not None else loop
            state.children = [self.tree(depth + 1, room, inner) for _ in range(self.upto(1, 3))]
            state.outputs = self.upto(0, 1)
        elif kind == "parallel":
            state.children = [_State(self.name(), "leaf") for _ in range(self.upto(2, 3))]
            state.outputs = self.upto(0, 1)
        if kind == "leaf":
            state.outputs = self.upto(0, 2)
        for child in state.children:
            if child.kind == "leaf":
                child.outputs = self.upto(0, 2)
        return state

    def exits(self, state: _State, place: int, top: list[_State]) -> None:
        later = range(place + 1, len(top))
        if state.kind in ("leaf", "sequence") and self.chance(6):
            state.data["terminal"] = True
            return
        following = self.choice(later)
        state.targets.append(following)
        state.data["next"] = top[following].name
        if state.kind != "parallel" and (state.kind == "router" or self.chance(55)):
            transitions = []
            for _ in range(self.upto(1, 3)):
                target = self.choice(later)
                state.targets.append(target)
                transition: dict[str, Any] = {}
                if self.chance(75):
                    transition["when"] = self.choice(("promote_checkpoint", "loop_back"))
                if self.chance(25):
                    transition["if"] = self.choice(("{{config.yes}}", "config.no", "config.yes"))
                transitions.append({**transition, "goto": top[target].name})
            state.data["transitions"] = transitions

    # --- what they say

    def texts(self, top: list[_State]) -> None:
        """Write the texts; what a state may read is what has run on every path to it."""
        known: list[frozenset[str] | None] = [frozenset()] + [None] * (len(top) - 1)
        for place, state in enumerate(top):
            after = self.fill(state, known[place] or frozenset(), loops=())
            for target in state.targets:
                before = known[target]
                known[target] = after if before is None else before & after

    def fill(self, state: _State, known: frozenset[str], loops: tuple[str, ...]) -> frozenset[str]:
        """Write a state's texts; gives what may be read after it."""
        data = state.data
        if state.loop is not None:
            data["loop"] = state.loop
        if state.kind == "leaf":
            own = known | {f"loop.{state.name}"} if state.loop is not None else known
            self.leaf(state, own, loops)
            return own | self.given(state)
        if state.kind in ("sequence", "parallel"):
            data[state.kind] = [child.name for child in state.children]
            self.group_outputs(state, known)
        if state.kind == "parallel":
            taken = False
            after = known
            for child in state.children:
                taken = self.leaf(child, known, (), taken) or taken
                after = after | self.given(child)
            if self.chance(50):
                data["maxConcurrency"] = self.choice((1, 2, "{{config.two}}"))
            return after | self.given(state)
        if state.kind == "sequence":
            at = known
            if state.loop is not None:
                at = at | {f"loop.{state.name}"}
                loops = (*loops, state.name)
            for child in state.children:
                at = self.fill(child, at, loops)
            return at | self.given(state)
        return known

    def given(self, state: _State) -> frozenset[str]:
        tokens = {f"state.{state.name}.output_{number}" for number in range(1, state.outputs + 1)}
        return frozenset(tokens | ({f"state.{state.name}.uri"} if state.outputs else set()))

    def text(self, known: frozenset[str], *, most: int = 3) -> str:
        parts = []
        for _ in range(self.upto(1, most)):
            kind = self.upto(0, 9)
            if kind < 2:
                parts.append(self.choice(_LITERALS))
            elif kind < 4:
                parts.append(
                    self.choice(
                        (*(f"{{{{config.{key}}}}}" for key in _KEYS), "{{ run.id }}", "{{run.owner}}")
                    )
                )
            elif known:
                token = self.choice(sorted(known))
                parts.append(f"{{{{{token} | base64}}}}" if kind == 9 else f"{{{{{token}}}}}")
            else:
                parts.append("{{run.prefix}}")
        return "".join(parts)

    def path(self, known: frozenset[str], *, most: int = 2) -> str:
        """Write a text as it may stand in a URI, which holds no line end."""
        return self.text(known, most=most).replace("\n", "")

    def uri(self, name: str, number: int, known: frozenset[str]) -> str:
        tail = ""
        if known and self.chance(70):
            # counters in the places of outputs are what keeps iterations apart long after their loop
            counters = [token for token in sorted(known) if token.startswith("loop.")]
            token = self.choice(counters if counters and self.chance(70) else sorted(known))
            tail = f"{{{{{token}}}}}" + self.choice(("", "/", ".json"))
        return f"s3://bbb/{{{{run.id}}}}/{name}/{number}/{tail}"

    def group_outputs(self, state: _State, known: frozenset[str]) -> None:
        if state.outputs:
            item: dict[str, Any] = {"uri": self.uri(state.name, 1, known)}
            if self.chance(40):
                item["schema"] = "group.Decision.v1"
            state.data["outputs"] = [item]

    def leaf(self, state: _State, known: frozenset[str], loops: tuple[str, ...], taken: bool = False) -> bool:
        """Write a leaf's texts; says whether it writes the base config's decision."""
        data = state.data
        params = {}
        if self.chance(25):
            params = {self.choice(_KEYS): self.path(known, most=3) for _ in range(self.upto(1, 2))}
        counters = sorted(token for token in known if token.startswith("loop."))
        if counters and self.chance(20):
            params["zone"] = f"z{{{{{self.choice(counters)}}}}}"
        if self.chance(50):
            data["run"] = {"argv": ["prog", *(self.text(known) for _ in range(self.upto(0, 2)))]}
        else:
            data["run"] = {"shell": "echo " + self.text(known, most=4)}
        outputs: list[dict[str, Any]] = [
            {"uri": self.uri(state.name, number, known)} for number in range(1, state.outputs + 1)
        ]
        shared = False
        if self.chance(70):
            shared = self.writer(state, outputs, params, known, taken)
        elif self.chance(40):
            # nobody writes there; where the state routes or loops, it is read there all the same
            params["decision_uri"] = self.uri(state.name, 8, known)
        if outputs:
            data["outputs"] = outputs
        if self.chance(20):
            data["inputs"] = [{"uri": f"s3://inn/{self.path(known)}"}]
        if self.chance(12):
            data["trigger"] = {"uri": f"s3://ttt/{self.path(known)}", "minObjects": self.upto(1, 2)}
        if self.chance(20):
            data["resources"] = "other"
        if loops and self.chance(15):
            data["transitions"] = [{"when": "promote_checkpoint", "goto": loops[-1]}]
        if params:
            data["params"] = params
        return shared

    def writer(
        self,
        state: _State,
        outputs: list[dict[str, Any]],
        params: dict[str, str],
        known: frozenset[str],
        taken: bool,
    ) -> bool:
        """Make a leaf write a decision, in one of the ways in which its place can be told."""
        way = self.choice(("label", "label", "label", "params", "params", "config"))
        if way == "label" and outputs:
            self.choice(outputs)["schema"] = "x.threshold_Decision.v1"
        elif way == "params":
            params["decision_uri"] = self.uri(state.name, 9, known)
        elif taken:
            return False
        if way == "params" or not any("schema" in item for item in outputs):
            outputs.append({"uri": "{{config.decision_uri}}"})
            state.outputs += 1
        state.data["writesDecision"] = True
        return "decision_uri" not in params and not any("schema" in item for item in outputs)

    def collect(self, state: _State, into: dict[str, Any]) -> None:
        into[state.name] = state.data
        for child in state.children:
            self.collect(child, into)


@st.composite
def cases(draw: Draw) -> Case:
    """Draw a valid spec and a sequence of decisions."""
    text = _Maker(draw).spec()
    decisions = draw(st.lists(st.booleans(), min_size=1, max_size=10))
    return Case(text, tuple(decisions))
