"""``npac``: from the command line to an exit code, and what becomes of errors."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Any

# Imports and syntax trees make many objects and no cycles; looking for cycles at the default rate
# is a tenth of a short command's time.
gc.set_threshold(100_000, 20, 20)

from npac.cli.streams import OutputLost, prepare, tell  # noqa: E402  # after the line above

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

CUT_OFF = 141
"""Exit code of a command that was stopped because nobody reads its output, as shells count SIGPIPE."""
_READING = (["check"], ["explain"], ["schema"])


def entry(argv: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 findings, 2 usage or the outside world (run has more)."""
    prepare()
    code: Any
    try:
        code = _perform(sys.argv[1:] if argv is None else argv)
    except SystemExit as end:
        code = 1 if isinstance(end.code, str) else end.code
    except KeyboardInterrupt:
        tell("interrupted")
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


def _perform(argv: Sequence[str]) -> Any:
    """Run a command and give its exit code, or anything else for 0."""
    if plain_check(argv):
        from npac.cli.checks import perform

        perform(tuple(argv[1:]))
        return 0
    import click

    from npac.cli.commands import main

    try:
        return main.main(args=list(argv), prog_name="npac", standalone_mode=False)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        _usage(error)
        return 2
    except click.Abort:
        raise KeyboardInterrupt from None


def plain_check(argv: Sequence[str]) -> bool:
    """Say whether this is ``npac check`` of files and folders, without any option.

    Editors and hooks do it all day, and reading such a line needs no parser of command lines, whose
    import takes a third of the time that checking a spec does.
    """
    return (
        argv[:1] == ["check"]
        and all(word and word[0] != "-" and "\0" not in word for word in argv[1:])
        and "_NPAC_COMPLETE" not in os.environ
    )


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

    tell(redacted(text))


def _usage(error: click.ClickException) -> None:
    import click

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
