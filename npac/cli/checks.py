"""What ``npac check`` does, whoever has read its command line; it needs no click."""

from __future__ import annotations

import os

from npac.api import Checked, NpacError, Options, check, wants_strict
from npac.cli.show import failed, show_findings, show_statistics
from npac.cli.streams import output_is_closed, tell
from npac.diagnostics.diagnostic import Severity


def perform(
    paths: tuple[str, ...],
    options: Options | None = None,
    *,
    format: str = "text",
    color: bool | None = None,
    strict: bool = False,
    least: str = "note",
    statistics: bool = False,
    skip_other: bool = False,
    exit_zero: bool = False,
    fix: bool = False,
    diff: bool = False,
    unsafe_fixes: bool = False,
    quiet: bool = False,
    output_file: str | None = None,
    stdin_filename: str | None = None,
) -> None:
    """Check specs and show what is found; the arguments are those of the command, already vetted.

    Raises ``SystemExit`` with the exit code unless that is 0, and what reading and writing raise.
    """
    if options is None:
        options = Options()
    named = _expand(paths, skip_other, quiet)
    if output_file is not None:
        _demand_other(output_file, named)
    results, unread, piped = _check_all(named, options, stdin_filename)
    changed = False
    if fix or diff:
        from npac.cli.mending import show_mended

        write = fix and not diff
        mended = [
            show_mended(item, options, write=write, color=color, piped=item is piped, unsafe=unsafe_fixes)
            for item in results
        ]
        results = [item for item, _ in mended]
        changed = any(change for _, change in mended)
    if statistics:
        show_statistics(results, Severity[least.upper()], format=format, output=output_file)
    elif not diff:
        # with --fix, standard output carries the mended text of standard input
        err = fix and "-" in paths
        level = Severity[least.upper()]
        show_findings(results, format, color, err=err, least=level, quiet=quiet, output=output_file)
    if output_is_closed() and output_file is None and any(one.findings for one in results):
        tell("standard output is closed: what was found is not shown")
    for message in unread:
        tell(message)
    if unread:
        raise SystemExit(2)
    if diff:
        raise SystemExit(1 if changed and not exit_zero else 0)
    if not exit_zero and failed(results, strict=strict or wants_strict(results, options)):
        raise SystemExit(1)


def _demand_other(output: str, paths: list[str]) -> None:
    """Raise :class:`NpacError` when the file for the findings is one that is checked: it would be lost."""
    for path in paths:
        try:
            same = path != "-" and os.path.samefile(path, output)
        except (OSError, ValueError):
            continue
        if same:
            raise NpacError(
                f"--output-file {output} is one of the files to check, and would be overwritten",
                remedy="Name another file for what is found.",
            )


def _check_all(
    paths: list[str], options: Options, stdin_filename: str | None
) -> tuple[list[Checked], list[str], Checked | None]:
    """Give what was checked, what is to be said of files that were not, and which was standard input."""
    results: list[Checked] = []
    unread: list[str] = []
    piped: Checked | None = None
    for path in paths:
        try:
            if path == "-":
                from npac.api import read_bytes

                piped = check(stdin_filename or "-", options, data=read_bytes("-"))
                results.append(piped)
            else:
                results.append(check(path, options))
        except NpacError as error:
            unread.append(f"error: {error}" + (f"\n  help: {error.remedy}" if error.remedy else ""))
    return results, list(dict.fromkeys(unread)), piped


def _expand(paths: tuple[str, ...], skip_other: bool, quiet: bool) -> list[str]:
    """Give the files to check; what holds no spec, a folder or a test, is said on standard error."""
    found: list[str] = []
    named = list(paths) or ["."]
    if skip_other:
        from npac.api import keep_specs

        named = keep_specs(named)
    for path in named:
        if path != "-" and os.path.isdir(path):
            from npac.api import find_specs

            below = find_specs(path)
            if not below and not quiet:
                from npac.api import excluder

                by = excluder(path)
                why = f"{path} is excluded by {by}" if by else f"no npac specs below {path}"
                tell(why)
            found.extend(below)
        elif path.endswith(".test.yaml"):
            tell(f"{path} is a test of a spec: npac test runs it")
        else:
            found.append(path)
    once: dict[str, str] = {}
    for path in found:
        once.setdefault(os.path.normpath(path), path)  # named in two ways, it is one file
    return list(once.values())
