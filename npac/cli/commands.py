"""The group of commands: which there are, and where each is."""

from __future__ import annotations

import click

from npac.cli.given import vet

COMMANDS: dict[str, tuple[str, str]] = {
    "check": ("npac.cli.check", "Check specs and show every fault with its place and remedy."),
    "compile": ("npac.cli.compile", "Compile specs to SkyPilot YAML: to the screen, or to a build folder."),
    "plan": ("npac.cli.plan", "Show the steps and waves of a spec, for assumed decisions or as a whole."),
    "graph": ("npac.cli.graph", "Draw a spec as SVG, Mermaid or Graphviz."),
    "test": ("npac.cli.test", "Run the tests of specs: what must run for which decisions."),
    "run": ("npac.cli.run", "Run a spec, a build or raw SkyPilot YAML to its end."),
    "resume": ("npac.cli.resume", "Go on with a run; nothing that has finished runs again."),
    "status": ("npac.cli.status", "Show where a run is."),
    "logs": ("npac.cli.logs", "Show the logs of a run's jobs."),
    "cancel": ("npac.cli.cancel", "Cancel a run and its jobs."),
    "retry": ("npac.cli.retry", "Allow a failed run one more attempt, and go on."),
    "decide": ("npac.cli.decide", "Give a blocked gate its decision, and go on."),
    "clean": ("npac.cli.clean", "Remove what a run's ended jobs have left on this machine."),
    "runs": ("npac.cli.runs", "List runs, or verify a run's ledger."),
    "events": ("npac.cli.events", "Show a run's event log."),
    "why": ("npac.cli.why", "Explain in one paragraph why a run is where it is."),
    "explain": ("npac.cli.explain", "Explain a code: what it means, an example, and what to do instead."),
    "verify": ("npac.cli.verify", "Verify that a build is exactly what was compiled."),
    "diff": ("npac.cli.diff", "Compare two specs or builds by meaning."),
    "tools": ("npac.cli.tools", "List the catalog's tools, or show one: its command and config keys."),
    "schema": ("npac.cli.schema", "Print the JSON Schema of specs, for editors."),
}


# Commands that read files and write text: they leave nothing behind that has to be closed.


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for, so that start-up stays short."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the commands in the order of use, not of the alphabet."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        from importlib import import_module

        command: click.Command = import_module(entry[0]).command
        vet(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, suggesting the nearest one for a name that does not exist."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            from npac.api import nearest

            near = nearest(args[0], COMMANDS) if args else []
            if near:
                ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
            raise


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from npac._version import __version__

        click.echo(f"npac {__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version."
)
def main() -> None:
    """Check, compile and run npa.workflow specs: typed pipelines on SkyPilot, fail-closed."""
