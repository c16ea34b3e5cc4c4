"""``npac plan``."""

from __future__ import annotations

from typing import Any

import click

from npac.api import NpacError, Options, plan
from npac.cli.options import spec_options, take_options


@click.command()
@click.argument("spec")
@spec_options
@click.option("--run-id", default="RUN-ID", metavar="ID", help="Run id to plan for.")
@click.option(
    "--assume-decision",
    "assume",
    metavar="DECISION",
    help="Assume promote_checkpoint, loop_back or default at every gate.",
)
@click.option(
    "--decide", "decisions", multiple=True, metavar="GATE=D1,D2", help="Decisions of one gate, by visit."
)
@click.option(
    "--format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)
def command(
    spec: str, run_id: str, assume: str | None, decisions: tuple[str, ...], format: str, **shared: Any
) -> None:
    """Show the steps and waves of a spec.

    With --assume-decision or --decide, the one path that these decisions lead along; without, the
    whole program: every wave and gate that could run.
    """
    show_plan(spec, take_options(shared), run_id, assume, _decide(decisions), format)


def show_plan(
    spec: str,
    options: Options,
    run_id: str,
    assume: str | None,
    decide: dict[str, list[str]] | None = None,
    format: str = "text",
) -> None:
    """Plan a spec and print the result."""
    data = plan(spec, options, run_id=run_id, assume=assume, decide=decide)
    if format == "json":
        import json

        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
    elif "waves" in data:
        _path(data)
    else:
        _program(data)


def _decide(items: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in items:
        gate, equals, text = item.partition("=")
        if not equals or not gate or not text:
            raise NpacError(
                f"--decide {item!r} is not GATE=DECISION", remedy="Write --decide refine=loop_back,promote."
            )
        found[gate] = text.split(",")
    return found


def _path(data: dict[str, Any]) -> None:
    click.echo(_head(data) + (f", assuming {data['assume']}" if data["assume"] else ""))
    steps = iter(data["steps"])
    rows: list[tuple[str, ...]] = []
    for number, wave in enumerate(data["waves"], 1):
        members = [next(steps) for _ in wave["states"]]
        title = wave["group"] or members[0]["node"]
        if wave["kind"] == "parallel":
            batches = f", {wave['batches']} batches" if wave["batches"] > 1 else ""
            title = f"{members[0]['node']} ({len(members)} at {wave['max_concurrency']} a time{batches})"
        rows.append((str(number), title, _resources(members[0]) if len(members) == 1 else "", ""))
        for member in members:
            if len(members) > 1:
                rows.append(("", f"  {member['state']}", _resources(member), ""))
            for item in member["outputs"]:
                rows.append(("", f"    -> {item['uri']}", "", item["schema"]))
    _table(rows)


def _resources(step: dict[str, Any]) -> str:
    profile = step["resources_profile"]
    parts = [str(profile[key]) for key in ("accelerators", "image") if profile.get(key)]
    if "cpus" in profile:
        parts.insert(0, f"{profile['cpus']} cpus")
    if str(profile.get("num_nodes", 1)) != "1":
        parts.append(f"{profile['num_nodes']} nodes")
    return ", ".join(parts)


def _program(data: dict[str, Any]) -> None:
    click.echo(_head(data) + f", {len(data['nodes'])} nodes")
    leads: dict[str, list[tuple[str, str]]] = {}
    for edge in data["edges"]:
        leads.setdefault(edge["from"], []).append((edge["decision"], edge["to"]))
    rows: list[tuple[str, ...]] = []
    for node in data["nodes"]:
        to = leads.get(node["id"], [])
        if node["kind"] == "wave":
            what = ", ".join(node["states"]) if node["group"] else ""
            rows.append((str(node["number"]), node["id"], f"-> {to[0][1]}", what))
        elif node["kind"] == "gate":
            for index, (decision, follow) in enumerate(to):
                rows.append(
                    (
                        "?" if index == 0 else "",
                        node["id"] if index == 0 else "",
                        f"{decision} -> {follow}",
                        "",
                    )
                )
            rows.append(("", f"    reads {node['uri']}", "", ""))
        else:
            rows.append((".", node["id"], "", ""))
    _table(rows)


def _head(data: dict[str, Any]) -> str:
    return f"{data['workflow']}  sha256:{data['digest'][:16]}  run {data['run_id']}"


def _table(rows: list[tuple[str, ...]]) -> None:
    widths = [max((min(len(row[column]), 72) for row in rows), default=0) for column in range(3)]
    for row in rows:
        line = f"{row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:<{widths[2]}}  {row[3]}"
        click.echo(line.rstrip())
