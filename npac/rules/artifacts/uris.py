"""Artifacts: who writes which URI, with which label, and whether two runs would meet there."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related
from npac.flow.flow import Flow
from npac.flow.graph import Kind
from npac.flow.steps import SymbolicArtifact
from npac.flow.symbolic import hole_names, written
from npac.ir.values import Hole, Value

_SCHEMES = ("s3://", "file://")


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report races, rewritten and shared outputs, and labels that differ."""
    writers: dict[Value, list[tuple[str, SymbolicArtifact]]] = {}
    for name, step in flow.steps.by_state.items():
        for output in step.outputs:
            yield from _shape(name, output)
            writers.setdefault(output.uri, []).append((name, output))
    for items in writers.values():
        yield from _same_uri(flow, items)
    yield from _labels(flow, writers)


def _shape(name: str, output: SymbolicArtifact) -> Iterator[Diagnostic]:
    uri = output.uri
    at = output.decl.uri.node.span
    begin = uri if isinstance(uri, str) else getattr(uri, "parts", ("",))[0]
    if isinstance(begin, str) and not begin.startswith(_SCHEMES):
        return  # that is an error of its own
    names: set[str] = set()
    hole_names(uri, names)
    if "run.id" not in names and not any(hole.startswith("state.") for hole in names):
        message = (
            f"the output {written(uri)!r:.160} of {name!r} is the same for every run: "
            "two runs overwrite each other"
        )
        yield finding("output-shared-by-runs", message, at, "put {{run.id}} or {{run.prefix}} into it")
    if not output.declared_kind and _looks_like_folder(uri):
        message = f"the output {written(uri)!r:.160} of {name!r} looks like a folder, and is taken for a file"
        help_text = "end it with a slash, or add kind: directory (or kind: file)"
        yield finding("kind-undeclared", message, at, help_text)


def _looks_like_folder(uri: Value) -> bool:
    """Say whether a URI ends in a written-out name without a suffix, and without a slash."""
    tail = uri if isinstance(uri, str) else getattr(uri, "parts", ("",))[-1]
    if not isinstance(tail, str) or "/" not in tail:
        return False
    last = tail.rpartition("/")[2]
    return last != "" and "." not in last


def _same_uri(flow: Flow, items: list[tuple[str, SymbolicArtifact]]) -> Iterator[Diagnostic]:
    shown = f"{written(items[0][1].uri)!r:.160}"
    for place, (other, item) in enumerate(items):
        for first, earlier in items[:place]:
            parent = flow.structure.parent.get(first)
            if (
                first != other
                and parent is not None
                and parent == flow.structure.parent.get(other)
                and flow.spec.states[parent].parallel is not None
            ):
                related = (Related(f"{first!r} writes it here", earlier.decl.uri.node.span),)
                message = f"{first!r} and {other!r} run at one time and both write {shown}"
                help_text = "give each member a URI of its own"
                yield finding("racing-outputs", message, item.decl.uri.node.span, help_text, related=related)
                break
    yield from _rewritten(flow, items, shown)


def _rewritten(flow: Flow, items: list[tuple[str, SymbolicArtifact]], shown: str) -> Iterator[Diagnostic]:
    if flow.graph is None:
        return
    for name, output in items:
        if name in flow.structure.members:
            continue
        names: set[str] = set()
        hole_names(output.uri, names)
        around = [*flow.structure.enclosing_loops(flow.spec, name)]
        if flow.spec.states[name].loop is not None:
            around.append(name)
        loops = [loop for loop in around if f"loop.{loop}" not in names]
        if loops and not any(hole.startswith("state.") for hole in names):
            message = f"every iteration of {loops[-1]!r} writes {shown} anew"
            help_text = f"put {{{{loop.{loops[-1]}}}}} into the URI to keep each iteration's"
            yield finding("rewritten-output", message, output.decl.uri.node.span, help_text)
    leaves = [(name, item) for name, item in items if name not in flow.structure.members]
    for place, (other, item) in enumerate(leaves[1:], 1):
        for first, earlier in leaves[:place]:
            if first != other and _one_path(flow, first, other):
                related = (Related(f"{first!r} writes it here", earlier.decl.uri.node.span),)
                message = f"{other!r} writes {shown}, which {first!r} wrote before on some path"
                yield finding(
                    "rewritten-output", message, item.decl.uri.node.span, "use another URI", related=related
                )
                break


def _one_path(flow: Flow, first: str, other: str) -> bool:
    """Say whether some path runs both states, in either order."""
    assert flow.graph is not None
    a, b = flow.graph.work.get(first), flow.graph.work.get(other)
    if a is None or b is None or a == b or not flow.reached(a) or not flow.reached(b):
        return False
    return _leads(flow, a, b) or _leads(flow, b, a)


def _leads(flow: Flow, start: int, target: int) -> bool:
    assert flow.graph is not None
    seen = {start}
    stack = [start]
    while stack:
        for follow in flow.graph.points[stack.pop()].successors:
            if follow == target:
                return True
            if follow not in seen and flow.graph.points[follow].kind is not Kind.END:
                seen.add(follow)
                stack.append(follow)
    return False


def _labels(flow: Flow, writers: dict[Value, list[tuple[str, SymbolicArtifact]]]) -> Iterator[Diagnostic]:
    for name, step in flow.steps.by_state.items():
        for item in step.inputs:
            producers = [entry for entry in _producers(flow, item.uri, writers) if entry[0] != name]
            labels = {entry[1].schema for entry in producers}
            if not producers or item.schema in labels or "" in labels:
                continue
            producer, made = producers[0]
            at = made.decl.schema.span if made.decl.schema is not None else made.decl.span
            related = (Related(f"{producer!r} writes it as {made.schema}", at),)
            what = f"as {item.schema!r:.80}" if item.schema else "without a label"
            message = f"{name!r} reads {what} what {producer!r} writes as {made.schema!r:.80}"
            here = item.decl.schema.span if item.decl.schema is not None else item.decl.uri.node.span
            help_text = f"give both the same schema label: {made.schema:.80}"
            yield finding("label-mismatch", message, here, help_text, related=related)


def _producers(
    flow: Flow, uri: Value, writers: dict[Value, list[tuple[str, SymbolicArtifact]]]
) -> list[tuple[str, SymbolicArtifact]]:
    """Give the outputs at ``uri``; a state token names its output itself."""
    if isinstance(uri, Hole) and uri.name.startswith("state."):
        state, _, number = uri.name.removeprefix("state.").rpartition(".")
        return [(state, flow.steps.by_state[state].outputs[int(number) - 1])]
    return writers.get(uri, [])
