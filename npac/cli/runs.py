"""``npac runs``."""

from __future__ import annotations

import click

from npac.cli.project_defaults import ledger_of


@click.group(name="runs", invoke_without_command=True)
@click.option("--ledger", metavar="DIR", help="Folder of run ledgers.")
@click.pass_context
def command(ctx: click.Context, ledger: str | None) -> None:
    """List the runs of a ledger root with their states, or verify one."""
    ctx.obj = ledger or ledger_of()
    if ctx.invoked_subcommand is not None:
        return
    from npac.api import NpacError, status
    from npac.running import ledger_root

    root = ledger_root(ctx.obj)
    names = root.runs()
    if not names:
        click.echo(f"no runs in {root.path}")
    for name in names:
        try:
            view = status(name, ledger=ctx.obj)
        except NpacError as error:
            click.echo(f"{name}  unreadable: {error}")
            continue
        click.echo(f"{name}  {view.state}  {view.workflow}  {view.updated}")


@command.command()
@click.argument("run_id")
@click.pass_obj
def fsck(ledger: str | None, run_id: str) -> None:
    """Replay a run's whole log: numbers, hash chain, and every stored object."""
    from npac.ledger.fold import fsck as verify
    from npac.running import open_ledger

    problems = verify(open_ledger(run_id, ledger))
    for problem in problems:
        click.echo(problem)
    if problems:
        raise SystemExit(1)
    click.echo(f"{run_id}: the log is whole")
