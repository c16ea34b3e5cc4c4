"""``npac runs``."""

from __future__ import annotations

from typing import Any

import click

from npac.cli.project_defaults import ledger_of


@click.group(name="runs", invoke_without_command=True)
@click.option("--ledger", metavar="DIR", help="Folder or s3:// URL of run ledgers.")
@click.pass_context
def command(ctx: click.Context, ledger: str | None) -> None:
    """List the runs of a ledger root with their states, or verify one."""
    ctx.obj = ledger or ledger_of()
    if ctx.invoked_subcommand is not None:
        return
    from npac.api import NpacError, holder, runs, runs_place, status, strays

    names, others = runs(ledger=ctx.obj), strays(ledger=ctx.obj)
    if not names and not others:
        click.echo(f"no runs in {runs_place(ledger=ctx.obj)}")
        return
    found = [("", (name, f"unreadable: {reason}", "", "", "")) for name, reason in others]
    for name in names:
        try:
            view = status(name, ledger=ctx.obj)
        except NpacError as error:
            found.append(("", (name, f"unreadable: {error}", "", "", "")))
            continue
        state = view.state if view.run_uid else _unbegun(holder(name, ledger=ctx.obj))
        row = (name, state, view.workflow, _seconds(view.created), _seconds(view.updated))
        found.append((view.created or view.updated, row))
    # What has no time sorts first: nothing of it ever ran.
    table = [("RUN", "STATE", "WORKFLOW", "BEGUN", "LAST EVENT"), *(row for _, row in sorted(found))]
    # One sentence about a ledger that cannot be read must not push the other columns away.
    widths = [
        max(len(row[at]) for row in table if at != 1 or not row[1].startswith("unreadable"))
        for at in range(len(table[0]))
    ]
    for row in table:
        click.echo("  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip())


def _seconds(at: str) -> str:
    return f"{at[:19]}Z" if at else ""


def _unbegun(holder: Any) -> str:
    """Say what a run is of which nothing is on record."""
    from npac.cli.drivers import driver_word, unbegun

    return unbegun(driver_word(holder))


@command.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--ledger", metavar="DIR", help="Folder or s3:// URL of run ledgers.")
@click.option("--format", "shape", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_obj
def fsck(root: str | None, run_id: str | None, ledger: str | None, shape: str) -> None:
    """Replay the whole log of a RUN, or of all: numbers, hash chain, and every stored object.

    Exit codes: 0 whole, 1 damaged, 2 it could not be found out.
    """
    from npac.api import LedgerFault, examine, examine_all
    from npac.cli.fsck import exit_code, show_json, show_text

    place = ledger or root
    unknown: list[tuple[str, LedgerFault]] = []
    if run_id is None:
        reports, unknown = examine_all(ledger=place)
    else:
        reports = [examine(run_id, ledger=place)]
    if shape == "json":
        show_json(reports, unknown)
    else:
        show_text(reports, unknown, place)
    raise SystemExit(exit_code(reports, unknown))
