"""What stands below a plan's table: the critical path, what is held at once, what the run needs."""

from __future__ import annotations

from collections.abc import Sequence

from npac.ir.program import Program, Wave
from npac.report.analysis import Analysis, Needed, Range
from npac.report.captions import counted, shorten
from npac.report.rounds import merged

MOST_STATES = 6
_USES = {"trigger": "awaited by", "decision": "decision read by", "input": "read by"}


def detail_text(text: str, label: str, room: int | None, base: str) -> str:
    """Give a URI, image or other text with its schema label, in at most ``room`` characters."""
    if base and text.startswith(base) and text != base:
        text = "…/" + text.removeprefix(base)
    if room is None:
        return f"{text}  {label}".rstrip()
    if len(text) + 2 + len(label) <= room:
        return f"{text}  {label}".rstrip()
    return shorten(text, room)


def summary(program: Program, analysis: Analysis, limit: int | None, base: str) -> list[str]:
    """Give the lines below the table; ``base`` is the folder that is written as ``…/``, empty for none."""
    index = program.index()

    def at(node_id: str) -> str:
        wave = index[node_id]
        assert isinstance(wave, Wave)
        return f"wave {wave.number}, {wave.group or program.steps[wave.members[0].step].state}"

    held = ", ".join(f"{count} × {name}" for name, count in analysis.held.accelerators.items())
    lines = [
        f"Critical path  {_range(analysis.chain, 'wave')}",
        f"Widest wave    {_range(analysis.width, 'step', ' at once')} ({at(analysis.widest)})"
        if analysis.widest
        else "Widest wave    none",
        f"GPUs at once   {_range(analysis.gpus, 'GPU')}"
        + (f" ({held} in {at(analysis.peak)})" if held else ""),
    ]
    if not analysis.secrets:
        lines.append("Secrets        none")
    longest = max((len(name) for name in analysis.secrets), default=0)
    for number, (name, states) in enumerate(analysis.secrets.items()):
        lines.append(f"{'Secrets' if not number else '':<15}{name:<{longest}}  for {_listed(states)}")
    lines += _needed(analysis.needed, limit, base)
    return lines


def _range(numbers: Range, noun: str, what: str = "") -> str:
    if not numbers.most:
        return "none"
    if numbers.least == numbers.most:
        return f"{counted(numbers.most, noun)}{what}"
    if numbers.chosen is None:
        return f"{numbers.least:,} to {counted(numbers.most, noun)}{what}, by path"
    return (
        f"{counted(numbers.chosen, noun)}{what} on this path, {numbers.least:,} to {numbers.most:,} over all"
    )


def _listed(states: Sequence[str]) -> str:
    if len(states) <= MOST_STATES:
        return ", ".join(states)
    return f"{', '.join(states[: MOST_STATES - 1])} and {len(states) - MOST_STATES + 1} more"


def _needed(needed: Sequence[Needed], limit: int | None, base: str) -> list[str]:
    """List what must be there before the run; rounds of one URI are one line."""
    if not needed:
        return ["From outside   nothing: every input is made by the run before it is read"]
    uses: dict[str, list[str]] = {}
    for item in needed:
        uses.setdefault(item.uri, []).append(f"{_USES[item.use]} {_listed(item.readers)}")
    alike: dict[str, list[str]] = {}
    for uri, how in uses.items():
        alike.setdefault(", ".join(how), []).append(uri)
    lines = ["From outside   not made by any wave before they are read:"]
    for reading, uris in alike.items():
        one = merged(uris)
        for uri in [one] if one is not None else uris:
            text = detail_text(uri, "", None if limit is None else limit - 2, base)
            if limit is None or len(text) + len(reading) + 4 <= limit:
                lines.append(f"  {text}  {reading}")
            else:
                lines += [f"  {text}", f"    {shorten(reading, limit - 4)}"]
    return lines
