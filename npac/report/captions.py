"""The short texts inside boxes, and the longer ones of their tooltips."""

from __future__ import annotations

from collections.abc import Mapping

from npac.ir.program import Artifact, Gate, Step, Trigger
from npac.ir.values import Value, bind, show
from npac.report.demand import accelerator_text


def counted(number: int, one: str, many: str = "") -> str:
    """Give ``1 wave`` or ``2 waves``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shorten(text: str, width: int) -> str:
    """Give ``text`` in at most ``width`` characters, its middle left out where it is longer."""
    if len(text) <= width:
        return text
    if width < 3:
        return text[: max(0, width)]
    head = width // 2
    return f"{text[:head]}…{text[len(text) - (width - head - 1) :]}"


def runs(step: Step) -> str:
    """Say what a step runs: its tool, or the kind of its command."""
    if step.tool_ref:
        return step.tool_ref
    if step.raw:
        return "SkyPilot task"
    if step.shell:
        return "shell"
    words = [_text(word, {}) for word in step.argv[:3]]
    if not words:
        return ""
    shown = [words[0].rpartition("/")[2]]
    if words[1:2] == ["-m"]:
        shown += words[1:]
    return " ".join((*shown, "…")) if len(step.argv) > len(shown) else " ".join(shown)


def resources(step: Step) -> str:
    """Give accelerators and nodes in one short text; empty for a step on one CPU node."""
    parts = [accelerator_text(step)]
    if step.num_nodes > 1:
        parts.append(f"{step.num_nodes} nodes")
    return " × ".join(part for part in parts if part)


def step_lines(step: Step) -> tuple[str, ...]:
    """Give the lines below a state's name."""
    words = [_text(word, {}) for word in step.argv[:3]]
    what = words[2] if words[1:2] == ["-m"] and len(words) > 2 and not step.tool_ref else runs(step)
    return tuple(line for line in (_ending(what, 38), shorten(resources(step), 32)) if line)


def _ending(name: str, width: int) -> str:
    """Give the last parts of a dotted name that fit; its beginning says the least."""
    if len(name) <= width or "." not in name:
        return shorten(name, width)
    cut = name[len(name) - width + 1 :]
    return f"…{cut.partition('.')[2]}" if "." in cut else shorten(name, width)


def step_note(step: Step, triggers: tuple[Trigger, ...], description: str, late: Mapping[str, str]) -> str:
    """Give the tooltip of a step: its description, image, secrets and artifacts, a line each."""
    lines = [step.state]
    if description:
        lines.append(description)
    if step.image:
        lines.append(f"image {step.image}")
    if step.secrets:
        lines.append(f"secrets {', '.join(step.secrets)}")
    lines += [trigger_text(item, late) for item in triggers if item.state == step.state]
    lines += [f"in {_artifact(item, late)}" for item in step.inputs]
    lines += [f"out {_artifact(item, late)}" for item in step.outputs]
    return "\n".join(lines)


def gate_note(gate: Gate, late: Mapping[str, str]) -> str:
    """Give the tooltip of a gate: what it reads and who may have written that."""
    lines = [f"{gate.state} reads {_text(gate.uri, late)}"]
    if gate.writers:
        lines.append(f"written by {', '.join(gate.writers)}")
    return "\n".join(lines)


def trigger_text(trigger: Trigger, late: Mapping[str, str]) -> str:
    """Say what a wave waits for before it is launched."""
    objects = counted(trigger.min_objects, "object")
    bound = f", at most {counted(trigger.max_polls, 'time')}" if trigger.max_polls else ""
    return f"waits for {objects} at {_text(trigger.uri, late)} (every {trigger.poll_seconds} s{bound})"


def _artifact(item: Artifact, late: Mapping[str, str]) -> str:
    uri = _text(item.uri, late)
    return f"{uri} ({item.schema})" if item.schema else uri


def _text(value: Value, late: Mapping[str, str]) -> str:
    return show(bind(value, late))
