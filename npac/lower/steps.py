"""Concrete steps: a symbolic step with the values of one iteration filled in."""

from __future__ import annotations

from collections.abc import Callable

from npac.catalog import pod_env_names, terms_env
from npac.flow.flow import Flow
from npac.flow.program_size import step_names
from npac.flow.steps import SymbolicArtifact, SymbolicStep
from npac.flow.symbolic import substitute
from npac.ir.program import Artifact, Baked, Step, ToolSetup, Tree
from npac.ir.values import Value, has_hole
from npac.lower.specialise import Env, artifact
from npac.lower.texts import Texts, step_text
from npac.syntax.images import ToolImage, parse_image

DEFAULT_MODULE = "npa.cli.main"


class StepTable:
    """Builds the program's step table; a state with equal values of its variables is one entry."""

    def __init__(self, flow: Flow, texts: Texts) -> None:
        self.flow = flow
        self.texts = texts
        self.steps: list[Step] = []
        self._index: dict[tuple[object, ...], int] = {}
        self._variables: dict[str, tuple[str, ...]] = {}
        self._profiles: dict[str, dict[str, Tree]] = {}

    def index(self, state: str, env: Env) -> int:
        """Give the place of a state's step under ``env``, adding it when it is new.

        Raises :class:`npac.lower.texts.TooLarge` when the program's text passes its bound.
        """
        names = self._variables.get(state)
        if names is None:
            names = self._variables[state] = tuple(sorted(step_names(self.flow, state)))
        key = (state, *(env.get(name) for name in names))
        found = self._index.get(key)
        if found is None:
            found = self._index[key] = len(self.steps)
            step = self._build(self.flow.steps.by_state[state], env)
            self.texts.add(state, step_text(step))
            self.steps.append(step)
        return found

    def _build(self, step: SymbolicStep, env: Env) -> Step:
        """Fill a symbolic step."""
        flow = self.flow
        state = step.state
        name = state.name.value

        def fill(value: Value) -> Value:
            return value if isinstance(value, str) else self.texts.share(substitute(value, env), name)

        profile = self._profile(step, fill)
        argv = tuple(map(fill, step.argv))
        if step.droppable:
            argv = _drop_empty(argv, step.droppable)
        image = step_image(flow, step, profile)
        tool = step.tool
        baked = _baked(flow, step, argv, env)
        return Step(
            state=name,
            argv=argv,
            shell=fill(step.shell),
            tool_ref=state.tool_ref.value if state.tool_ref is not None else "",
            resources=step.profile_name,
            profile=profile,
            num_nodes=node_count(profile),
            image=image,
            inputs=_artifacts(step.inputs, fill),
            outputs=_artifacts(step.outputs, fill),
            secrets=step.secrets,
            env=_env(flow, step, profile, image, env, baked),
            writes_decision=state.writes_decision,
            decision_uri=fill(step.decision_uri)
            if state.writes_decision and step.decision_uri is not None
            else "",
            setup=ToolSetup(
                interpreters=tool.interpreters,
                pip_extra=tool.pip_extra,
                pip_requirements=tool.pip_requirements,
            )
            if tool is not None
            else ToolSetup(),
            baked=baked,
            source_overlay=flow.config.switch("source_overlay"),
        )

    def _profile(self, step: SymbolicStep, fill: Callable[[Value], Value]) -> dict[str, Tree]:
        """Fill a profile; one that is the same in every iteration is one mapping for all steps."""
        name = step.state.name.value
        found = self._profiles.get(name)
        if found is None:
            found = {key: _tree(value, fill) for key, value in step.profile.items()}
            if found == step.profile:
                self._profiles[name] = found
        return found


def _artifacts(items: tuple[SymbolicArtifact, ...], fill: Callable[[Value], Value]) -> tuple[Artifact, ...]:
    return tuple(artifact(fill(item.uri), item.schema, item.declared_kind) for item in items)


def _tree(tree: Tree, fill: Callable[[Value], Value]) -> Tree:
    if isinstance(tree, dict):
        return {key: _tree(value, fill) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_tree(value, fill) for value in tree]
    if tree is None or isinstance(tree, (bool, int, float)):
        return tree
    return fill(tree)


def _drop_empty(argv: tuple[Value, ...], flags: frozenset[int]) -> tuple[Value, ...]:
    words: list[Value] = []
    at = 0
    while at < len(argv):
        if at in flags and at + 1 < len(argv) and argv[at + 1] == "":
            at += 2
            continue
        words.append(argv[at])
        at += 1
    return tuple(words)


def step_image(flow: Flow, step: SymbolicStep, profile: dict[str, Tree]) -> str:
    """Give the image that a step runs in: the profile's, else its tool's; empty for none.

    A ``tool://`` name that the catalog lacks stays as written; compiling refuses it.
    """
    given = profile.get("image")
    if isinstance(given, str) and given:
        parsed = parse_image(given)
        if isinstance(parsed, ToolImage):
            return flow.catalog.images.get(parsed.name, given)
        return given
    return step.tool.image if step.tool is not None else ""


def node_count(profile: dict[str, Tree]) -> int:
    """Give a profile's ``num_nodes``; 1 when it is left out or cannot be read."""
    given = profile.get("num_nodes", 1)
    if isinstance(given, bool):
        return 1
    if isinstance(given, int):
        return given
    return int(given) if isinstance(given, str) and given.isascii() and given.isdigit() else 1


def _overlaid(flow: Flow, step: SymbolicStep, key: str) -> Value | None:
    return step.params[key] if key in step.params else flow.config.values.get(key)


def _baked(flow: Flow, step: SymbolicStep, argv: tuple[Value, ...], env: Env) -> Baked | None:
    if not flow.config.switch("require_baked_npa"):
        return None
    sha = substitute(_overlaid(flow, step, "source_sha") or "", env)
    if isinstance(sha, str):
        sha = sha.lower()
    module = substitute(_overlaid(flow, step, "baked_npa_import") or "", env)
    if not isinstance(module, str) or not module:
        module = _python_module(argv) or DEFAULT_MODULE
    return Baked(sha, module)


def _python_module(argv: tuple[Value, ...]) -> str | None:
    if len(argv) < 3 or argv[1] != "-m" or not isinstance(argv[0], str) or not isinstance(argv[2], str):
        return None
    program = argv[0].rpartition("/")[2]
    return argv[2] if program.startswith("python") and argv[2].startswith("npa.") else None


def _env(
    flow: Flow, step: SymbolicStep, profile: dict[str, Tree], image: str, env: Env, baked: Baked | None
) -> dict[str, Value]:
    found: dict[str, Value] = dict(step.tool.env) if step.tool is not None else {}
    kubernetes = profile.get("kubernetes")
    pod = kubernetes.get("pod_config") if isinstance(kubernetes, dict) else None
    names = pod_env_names(pod if isinstance(pod, dict) else None)
    found.update(terms_env(flow.catalog, step.tool, image, names))
    if baked is None:
        sha = substitute(_overlaid(flow, step, "source_sha") or "", env)
        if has_hole(sha) or sha:
            found["NPA_SIM2REAL_SOURCE_SHA"] = sha.lower() if isinstance(sha, str) else sha
    return dict(sorted(found.items()))
