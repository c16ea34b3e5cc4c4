"""Running the tests of specs: which files there are, what each case gave, and how that is shown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from npac.api.checking import Options, PathLike, SpecError
from npac.api.compiling import compile, link_record
from npac.errors import NpacError
from npac.spectest.parse import ENDING
from npac.spectest.render import FORMATS, render
from npac.spectest.run import ERROR, FAILED, PASSED, FileResult, run_file

if TYPE_CHECKING:
    from npac.spectest.model import Case
    from npac.spectest.walking import Refused, Sound

TEST_FORMATS = FORMATS
"""Formats that the results of tests are shown in."""


class Tested(NamedTuple):
    """What the test files gave, in their order."""

    files: tuple[FileResult, ...]

    @property
    def outcome(self) -> str:
        """How it all ended.

        ``error``: a case could not be tried; ``failed``: a case failed or a file is malformed;
        ``passed``: neither.
        """
        outcomes = {case.outcome for file in self.files for case in file.results}
        if ERROR in outcomes:
            return ERROR
        if FAILED in outcomes or any(file.findings for file in self.files):
            return FAILED
        return PASSED

    def as_text(self, format: str = "text", *, color: bool = False) -> str:
        """Give the results in one of :data:`TEST_FORMATS`; colour is for ``text`` only."""
        if format not in TEST_FORMATS:
            raise NpacError(
                f"there is no format {format!r}", remedy=f"Choose one of {', '.join(TEST_FORMATS)}."
            )
        return render(format, self.files, color=color and format == "text")


def run_tests(paths: Sequence[PathLike] = (), *, select: Sequence[str] = ()) -> Tested:
    """Run the cases of the test files that ``paths`` mean, and give how each ended.

    ``paths`` are as for :func:`find_tests`, ``select`` as for :func:`test`.  Raises :class:`NpacError`
    when there is nothing to run or a file cannot be read.
    """
    done = Tested(tuple(test(path, select=select) for path in find_tests(paths)))
    if not any(file.results or file.findings for file in done.files):
        wanted = " and ".join(repr(text) for text in select)
        if not select:
            raise NpacError("the test files have no case", remedy="Add cases: to one of them.")
        raise NpacError(f"no case is called {wanted}", remedy="Run without -k to see the names.")
    return done


def test(path: PathLike, *, select: Sequence[str] = ()) -> FileResult:
    """Run the cases of one test file (``x.test.yaml``) and give how each ended.

    ``select`` keeps the cases whose ``path::name`` holds each of its texts.  Raises
    :class:`NpacError` when the file cannot be read.
    """
    return run_file(os.fspath(path), _compile_case, select)


def find_tests(paths: Sequence[PathLike] = ()) -> list[str]:
    """Give the test files that ``paths`` mean: test files, specs that have one, or folders.

    Without any, those below the working directory.  Raises :class:`NpacError` for a folder without
    tests and for a spec that has none.
    """
    from npac.discovery import find_tests as find_below

    found: list[str] = []
    for named in paths or (os.curdir,):
        path = os.fspath(named)
        if os.path.isdir(path):
            below = find_below(path)
            if not below:
                where = "this folder" if path == os.curdir else path
                raise NpacError(
                    f"there is no test below {where}", remedy=f"A test of x.yaml is called x{ENDING}."
                )
            found += below
        elif not os.path.lexists(path):
            raise NpacError(
                f"there is no file or folder {path}",
                remedy=f"{_near(path)}Name a test (x{ENDING}), a spec that has one, or a folder.",
            )
        elif path.endswith(ENDING):
            found.append(path)
        else:
            beside = os.path.splitext(path)[0] + ENDING
            if not os.path.isfile(beside):
                raise NpacError(f"{path} has no test", remedy=f"Write {beside}.")
            found.append(beside)
    return list(dict.fromkeys(found))


def _near(path: str) -> str:
    """Give a sentence that names what there is beside a path that leads nowhere; empty for nothing near."""
    from npac.syntax.nearest import nearest

    folder, name = os.path.split(path)
    try:
        there = sorted(each for each in os.listdir(folder or os.curdir) if not each.startswith("."))
    except (OSError, ValueError):
        return ""
    known = {each: each for each in there}
    for ending in (ENDING, ".yaml"):
        known = {each.removesuffix(ending): each for each in there if each.endswith(ending)} | known
    near = nearest(name, known, 1)
    return f"Did you mean {os.path.join(folder, known[near[0]])}? " if near else ""


def _compile_case(spec: str, case: Case) -> Sound | Refused:
    from npac.spectest.walking import Sound, refused

    options = Options(
        vars=case.vars,
        sets=case.sets,
        config=case.config,
        catalogs=case.catalogs,
        allow_new_vars=case.allow_new_vars,
        pins=dict(case.pins),
        accelerators=dict(case.accelerators),
    )
    try:
        compiled = compile(spec, options)
    except SpecError as error:
        return refused(error.checked)
    return Sound(compiled.program, compiled.checked, link_record(options, case.run_id))
