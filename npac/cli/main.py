"""``npac``: the group of commands, and what becomes of errors."""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

# Imports and syntax trees make many objects and no cycles; looking for cycles at the default rate
# is a tenth of a short command's time.
gc.set_threshold(100_000, 20, 20)

import click  # noqa: E402  # after the line above, so that it holds for this import too

from npac.cli.given import vet  # noqa: E402
from npac.cli.streams import OutputLost, prepare  # noqa: E402

CUT_OFF = 141
"""Exit code of a command that was stopped because nobody reads its output, as shells count SIGPIPE."""

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
_READING = (["check"], ["explain"], ["schema"])


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


def entry(argv: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 findings, 2 usage or the outside world (run has more)."""
    prepare()
    try:
        code: Any = main.main(args=argv, prog_name="npac", standalone_mode=False)
    except SystemExit as end:
        code = 1 if isinstance(end.code, str) else end.code
    except click.exceptions.Exit as error:
        code = error.exit_code
    except click.ClickException as error:
        _usage(error)
        code = 2
    except click.Abort:
        click.echo("interrupted", err=True)
        code = 130
    except OutputLost as lost:
        code = _cut_off(lost)
    except OSError as error:
        _say(f"error: {error.strerror or error}{_file(error)}")
        code = 2
    except Exception as error:
        code = _known(error)
    code = code if isinstance(code, int) else 0
    try:
        sys.stdout.flush()
    except OutputLost as lost:
        # the command was through, and what it found out still holds
        if not lost.unread:
            said = _cut_off(lost)
            code = code or said
    if argv is None and sys.argv[1:2] in _READING:
        # an interpreter that ends in order frees every object of every spec, a tenth of a check's time
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _cut_off(lost: OutputLost) -> int:
    """Give the code of a command whose output was lost, and say why; that nobody reads it is no fault."""
    if lost.unread:
        return CUT_OFF
    _say(f"error: {lost}")
    return 2


def _say(text: str) -> None:
    """Write to standard error, without anything that looks like a credential.

    What was given in the place of a name, a path or a decision may be one by mistake.
    """
    from npac.diagnostics.credentials import redacted

    click.echo(redacted(text), err=True)


def _usage(error: click.ClickException) -> None:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        _say(error.format_message())
        return
    context = getattr(error, "ctx", None)
    lines = []
    if context is not None:
        lines = [
            context.get_usage(),
            f"Try '{context.command_path} {context.help_option_names[0]}' for help.",
            "",
        ]
    _say("\n".join((*lines, f"Error: {error.format_message()}")))


def _file(error: OSError) -> str:
    name = error.filename
    return f": {os.fsdecode(name) if isinstance(name, bytes) else name}" if name else ""


def _known(error: Exception) -> int:
    """Say what an exception means; one that is not known is a fault of npac itself (exit code 2)."""
    from npac.errors import NpacError

    if not isinstance(error, NpacError):
        import traceback

        _say("".join(traceback.format_exception(error)).rstrip())
        _say("error: this is a fault of npac itself, not of your input")
        _say("  help: Please report it with the lines above and the command.")
        return 2
    checked: Any = getattr(error, "checked", None)
    if checked is not None:
        from npac.api import ProjectError
        from npac.cli.show import show_findings

        show_findings([checked], "text", None, err=True)
        return 2 if isinstance(error, ProjectError) else 1
    _say(f"error: {error}")
    if error.remedy:
        _say(f"  help: {error.remedy}")
    return 2
