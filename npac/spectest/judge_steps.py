"""Comparing the steps of a walk with what a case expects of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from npac.ir.program import Artifact
from npac.ir.values import show
from npac.spectest.judge_texts import Failure, match_problem, words_problem
from npac.spectest.model import Absent, ArtifactExpected, ArtifactsExpected, Match, StepExpected, Words
from npac.spectest.walking import Visit, Walked, hint, unknown_state
from npac.text.source import Span


def step_failures(wanted: StepExpected, found: Walked) -> Iterator[Failure]:
    """Give what does not hold of a step; each visit of it must be as expected."""
    name = wanted.selector.value
    every = found.visits()
    visits = [visit for visit in every if name in (visit.step.state, visit.path)]
    if wanted.runs is not None and wanted.runs.value != len(visits):
        message = f"{name} runs another number of times"
        yield Failure(wanted.runs.span, message, str(wanted.runs.value), _runs(visits))
    if not visits:
        if wanted.runs is not None and (unknown := unknown_state(name, found)):
            # That it runs no times would hold of any misspelt name.
            yield Failure(wanted.selector.span, unknown)
        if wanted.runs is None:
            known = list(dict.fromkeys(name for visit in every for name in (visit.step.state, visit.path)))
            message = f"the walk has no step {name}{hint(name, known)}"
            yield Failure(wanted.selector.span, message, name, "\n".join(visit.path for visit in every))
        return
    reported: set[tuple[int, str]] = set()
    for visit in visits:
        for failure in _visit(wanted, visit, found):
            key = (failure.span.start, failure.message)
            if key not in reported:
                reported.add(key)
                yield failure


def _runs(visits: Sequence[Visit]) -> str:
    paths = [visit.path for visit in visits[:8]]
    more = f", and {len(visits) - 8} more" if len(visits) > 8 else ""
    return f"{len(visits)} ({', '.join(paths)}{more})" if visits else "0"


def _visit(wanted: StepExpected, visit: Visit, found: Walked) -> Iterator[Failure]:
    step, path = visit.step, visit.path
    argv = [show(word) for word in step.argv]
    if wanted.argv is not None:
        got = argv if argv else None
        yield from _words(wanted.argv, got, f"{path} runs other words", f"a shell text:\n{show(step.shell)}")
    if wanted.shell is not None:
        if argv:
            yield Failure(wanted.shell.span, f"{path} runs words, and no shell text", "a shell text",
                          shlex.join(argv))  # fmt: skip
        else:
            yield from _text(wanted.shell, show(step.shell), f"{path} runs another shell text")
    if wanted.tool is not None:
        yield from _text(wanted.tool, step.tool_ref, f"{path} runs another tool")
    if wanted.nodes is not None and wanted.nodes.value != step.num_nodes:
        message = f"{path} runs on another number of nodes"
        yield Failure(wanted.nodes.span, message, str(wanted.nodes.value), str(step.num_nodes))
    if wanted.secrets is not None:
        message = f"{path} needs other secrets"
        yield from _words(wanted.secrets, list(step.secrets), message, "none")
    if wanted.inputs is not None:
        yield from _artifacts(wanted.inputs, step.inputs, f"{path} reads other inputs")
    if wanted.outputs is not None:
        yield from _artifacts(wanted.outputs, step.outputs, f"{path} writes other outputs")
    if wanted.triggers is not None:
        yield from _triggers(wanted, visit)
    yield from _task(wanted, visit, found)


def _task(wanted: StepExpected, visit: Visit, found: Walked) -> Iterator[Failure]:
    """Compare what only the task's final document says: image, variables, resources."""
    if wanted.image is None and not wanted.env and not wanted.resources:
        return
    task = found.task(visit)
    envs: Mapping[str, str] = task.get("envs", {})
    if wanted.image is not None:
        image = envs.get("NPA_TASK_IMAGE", "")
        yield from _text(wanted.image, image, f"{visit.path} runs in another image")
    for name, match in wanted.env.items():
        if isinstance(match, Absent):
            if name in envs:
                yield Failure(match.span, f"{visit.path} has the variable {name}", "not there", envs[name])
        elif name not in envs:
            listed = ", ".join(envs) or "none"
            yield Failure(match.span, f"{visit.path} has no variable {name}", _said(match), f"only {listed}")
        else:
            yield from _text(match, envs[name], f"{visit.path} has another value of {name}")
    block: Mapping[str, Any] = task.get("resources", {})
    for key, text in wanted.resources.items():
        got = _scalar(block[key]) if key in block else ""
        if isinstance(text, Absent):
            if key in block:
                yield Failure(text.span, f"{visit.path} asks for {key}", "not asked for", got)
        elif key not in block or text.value != got:
            message = f"{visit.path} asks for other resources: {key}"
            yield Failure(text.span, message, text.value, got or "not asked for")


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ", ".join(f"{key}:{count}" for key, count in value.items())
    return str(value)


def _said(match: Match) -> str:
    if match.exact is not None:
        return match.exact
    parts = [f"text that contains {part.value}" for part in match.contains]
    parts += [f"text that matches {pattern.pattern}" for pattern, _ in match.matches]
    return "\n".join(parts)


def _text(wanted: Match, got: str, message: str) -> Iterator[Failure]:
    problem = match_problem(wanted, got)
    if problem is not None:
        yield Failure(problem.span, message, problem.expected or "nothing", got or "nothing")


def _words(wanted: Words, got: Sequence[str] | None, message: str, instead: str) -> Iterator[Failure]:
    problem = words_problem(wanted, got or ())
    if problem is not None or got is None:
        span: Span = problem.span if problem is not None else wanted.span
        expected = problem.expected if problem is not None else "words"
        yield Failure(span, message, expected, shlex.join(got) if got else instead)


def _artifacts(wanted: ArtifactsExpected, got: Sequence[Artifact], message: str) -> Iterator[Failure]:
    # Kinds and labels are only shown where they are compared.
    full = any(item.schema is not None or item.kind is not None for item in wanted.items)
    shown = "\n".join(_artifact_text(item, full) for item in got) or "none"
    if wanted.whole and len(wanted.items) != len(got):
        yield Failure(wanted.span, message, _expected_artifacts(wanted.items), shown)
        return
    for place, item in enumerate(wanted.items):
        candidates = got[place : place + 1] if wanted.whole else got
        if not any(_is_artifact(item, candidate) for candidate in candidates):
            expected = _expected_artifacts(wanted.items if wanted.whole else (item,))
            yield Failure(item.span, message, expected, shown)
            return


def _is_artifact(wanted: ArtifactExpected, got: Artifact) -> bool:
    return (
        match_problem(wanted.uri, show(got.uri)) is None
        and (wanted.schema is None or match_problem(wanted.schema, got.schema) is None)
        and (wanted.kind is None or wanted.kind.value == got.kind)
    )


def _artifact_text(item: Artifact, full: bool) -> str:
    return (
        f"{show(item.uri)} ({', '.join(filter(None, (item.kind, item.schema)))})" if full else show(item.uri)
    )


def _expected_artifacts(items: Sequence[ArtifactExpected]) -> str:
    lines = []
    for item in items:
        more = [item.kind.value] if item.kind is not None else []
        more += [_said(item.schema)] if item.schema is not None else []
        lines.append(_said(item.uri) + (f" ({', '.join(more)})" if more else ""))
    return "\n".join(lines) or "none"


def _triggers(wanted: StepExpected, visit: Visit) -> Iterator[Failure]:
    got = [show(item.uri) for item in visit.wave.triggers if item.state == visit.step.state]
    assert wanted.triggers is not None and wanted.triggers_at is not None
    fits = len(got) == len(wanted.triggers) and all(
        match_problem(match, uri) is None for match, uri in zip(wanted.triggers, got, strict=True)
    )
    if not fits:
        expected = "\n".join(map(_said, wanted.triggers)) or "nothing"
        message = f"{visit.path} waits for other objects"
        yield Failure(wanted.triggers_at, message, expected, "\n".join(got) or "nothing")
