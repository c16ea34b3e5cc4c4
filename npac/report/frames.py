"""How waves and gates become boxes: shared by the folded and the unrolled view."""

from __future__ import annotations

from collections.abc import Mapping

from npac.ir.program import Gate, Program, Wave
from npac.report.captions import counted, gate_note, shorten, step_lines, step_note
from npac.report.drawing import Box, Group, Outline

MEMBERS = 12
"""Members of a parallel group that are drawn; the others are counted in one box."""
COLUMNS = 4
TITLE = 44


def wave_box(
    box_id: str,
    wave: Wave,
    program: Program,
    late: Mapping[str, str],
    outline: Outline,
    *,
    group: str,
    off: bool,
    number: bool = False,
    extra: tuple[str, ...] = (),
) -> Box:
    """Give the box of a serial wave; ``extra`` are lines below the usual ones."""
    step = program.steps[wave.members[0].step]
    lines = list(step_lines(step))
    if wave.triggers:
        lines.append("waits for objects")
    title = f"{wave.number}  {step.state}" if number else step.state
    note = step_note(step, wave.triggers, outline.descriptions.get(step.state, ""), late)
    return Box(box_id, "wave", shorten(title, TITLE), (*lines, *extra), note, group, off)


def parallel_boxes(
    group_id: str,
    wave: Wave,
    program: Program,
    late: Mapping[str, str],
    outline: Outline,
    *,
    group: str,
    off: bool,
    number: bool = False,
    extra: tuple[str, ...] = (),
) -> tuple[Group, list[Box]]:
    """Give the frame of a parallel wave and the boxes in it."""
    count = len(wave.members)
    batches = len(wave.batches)
    at_once = min(wave.max_concurrency, count)
    how = f"{counted(count, 'step')} at once"
    if batches > 1:
        how = f"{counted(count, 'step')}, {at_once} at once in {batches} batches"
    shown = wave.members if count <= MEMBERS else wave.members[: MEMBERS - 1]
    boxes = []
    for at, member in enumerate(shown):
        step = program.steps[member.step]
        note = step_note(step, wave.triggers, outline.descriptions.get(step.state, ""), late)
        title = shorten(step.state, TITLE)
        boxes.append(Box(f"{group_id}#{at}", "wave", title, step_lines(step), note, group_id, off))
    if len(shown) < count:
        boxes.append(
            Box(f"{group_id}#more", "more", f"and {count - len(shown):,} more", (), "", group_id, off)
        )
    columns = at_once if batches > 1 and at_once <= COLUMNS else min(COLUMNS, len(boxes))
    title = f"{wave.number}  {wave.group}" if number else wave.group
    note = outline.descriptions.get(wave.group, "")
    frame = Group(
        group_id, "parallel", shorten(title, TITLE), (how, *extra), note, group, max(1, columns), off
    )
    return frame, boxes


def gate_box(
    box_id: str, gate: Gate, late: Mapping[str, str], *, group: str, off: bool, extra: tuple[str, ...] = ()
) -> Box:
    """Give the diamond of a gate."""
    what = f"until {gate.leaves_on}" if gate.role == "until" else "decision"
    return Box(box_id, "gate", shorten(gate.state, 28), (what, *extra), gate_note(gate, late), group, off)
