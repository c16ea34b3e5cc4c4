"""Finding the specs below a folder, as git sees it, and telling specs from other YAML."""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from npac.errors import NpacError
from npac.project import Project, discover
from npac.reading import demand_regular, read_head

_ENDINGS = (".yaml", ".yml")
_TEST_ENDINGS = (".test.yaml",)
_LOOKED_AT = 1 << 20
_IGNORE_FILE = ".gitignore"

GIT_QUIET = 1.0
"""Seconds after which it is looked for what git may be waiting for."""
GIT_PATIENCE = 120.0
"""Seconds that git is given then."""

# Where there is no .gitignore to say it: what no one keeps specs in.
_SKIPPED = frozenset((".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox"))

# Inside a hook these point git at one repository, whichever folder it is asked about.
_HOOK_VARIABLES = frozenset(
    (
        "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_LITERAL_PATHSPECS",
        "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
    )
)  # fmt: skip

_FIRST_LINE = re.compile(rb"^([ \t]*)(?![ \t#%\r\n])(?!---|\.\.\.)(.)", re.MULTILINE)
# Tags, anchors, and the head of a text that stands on the lines below, all of which may precede a value.
_DECORATION = rb"(?:(?:[&!]\S+|[>|][-+0-9]*(?:[ \t]+#[^\r\n]*)?)\s+)*[\"']?"
_EXPLICIT = rb"(?:\?[ \t]+(?:[&!]\S+\s+)*)?"


def find_specs(folder: str) -> list[str]:
    """Give the npac specs below ``folder``, sorted.

    Passed over are other YAML, what git ignores, what the project excludes, whatever a symbolic link
    leads to, and repositories inside this one.
    """
    return [path for path in _files(folder, _ENDINGS) if _reads_as_spec(path)]


def keep_specs(paths: Sequence[str]) -> list[str]:
    """Give those of the named files that are to be checked when someone names every YAML file there is.

    Passed over are other YAML and what the project excludes.  Folders, ``-`` and what cannot be read
    are kept, for the check to say so.
    """
    seen: dict[str, Project] = {}
    return [
        path
        for path in paths
        if path == "-"
        or not os.path.isfile(path)
        or (_reads_as_spec(path, True) and not excluded(path, seen))
    ]


def find_tests(folder: str) -> list[str]:
    """Give the test files of specs below ``folder``, sorted; passed over is what find_specs passes over."""
    return list(_files(folder, _TEST_ENDINGS))


def is_spec(data: bytes) -> bool:
    """Say whether a YAML file is an npac spec, by a quick look at its keys at the left.

    It is one when some key's value begins with ``npa.workflow``; and, whatever became of that key,
    when it is of ``kind: Workflow`` and has ``states``.
    """
    data = data[:_LOOKED_AT].removeprefix(b"\xef\xbb\xbf")
    first = _FIRST_LINE.search(data)
    if first is None:
        return False
    if first[2] == b"{":
        return b"npa.workflow/" in data
    margin = b"^" + first[1]
    if b"npa.workflow" in data and _search(
        margin + _EXPLICIT + rb"[\w\"'.-]+\s*:\s+" + _DECORATION + rb"npa\.workflow\b", data
    ):
        return True
    return _search(margin + _EXPLICIT + rb"[\"']?states[\"']?\s*:", data) and _search(
        margin + _EXPLICIT + rb"[\"']?kind[\"']?\s*:\s+" + _DECORATION + rb"Workflow\b(?!\s*:)", data
    )


def excluded(path: str, seen: dict[str, Project] | None = None) -> bool:
    """Say whether the project that a file belongs to excludes it.

    ``seen`` keeps the projects that were found, by folder, for the next call.
    """
    folder = os.path.dirname(path)
    known = {} if seen is None else seen
    if folder not in known:
        known[folder] = discover(folder or ".")[0]
    return known[folder].excludes(path)


def excluder(path: str) -> str | None:
    """Give the configuration file whose ``exclude`` fits a file or folder; None without one."""
    file = discover(os.path.dirname(os.path.abspath(path)))[0].excluder(path)
    if file is None and os.path.isdir(path):
        file = discover(path)[0].excluder(path)
    return os.path.relpath(file) if file is not None else None


def _search(pattern: bytes, data: bytes) -> bool:
    return re.search(pattern, data, re.MULTILINE) is not None


def _reads_as_spec(path: str, unreadable: bool = False) -> bool:
    try:
        return is_spec(read_head(path, _LOOKED_AT))
    except OSError:
        return unreadable


def _files(folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Give the plain files below a folder that are neither ignored nor excluded."""
    outer = discover(folder)[0]
    seen = {folder: outer}
    plain: dict[str, bool] = {folder: True, "": True}
    for path in sorted(_named(folder, endings)):
        if outer.excludes(path) or not _is_plain_folder(os.path.dirname(path), plain):
            continue
        try:
            kind = os.lstat(path).st_mode
        except OSError:
            continue  # in git's index, and no longer there
        if stat.S_ISREG(kind) and not excluded(path, seen):
            yield path


def _is_plain_folder(folder: str, known: dict[str, bool]) -> bool:
    """Say whether no symbolic link stands between the searched folder and this one."""
    if folder not in known:
        known[folder] = not os.path.islink(folder) and _is_plain_folder(os.path.dirname(folder), known)
    return known[folder]


def _named(folder: str, endings: tuple[str, ...]) -> set[str]:
    names = _git_names(folder, endings)
    if names is None or (not names and _is_ignored(folder)):
        return set(_walk(folder, endings))
    return names


def _git_names(folder: str, endings: tuple[str, ...]) -> set[str] | None:
    """Give tracked files, and others that are not ignored; None where git cannot say."""
    patterns = [f"*{ending}" for ending in endings]
    done = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns)
    if done is None or done.returncode != 0:
        return None
    prefix = "" if folder in (".", "") else folder
    return {os.path.join(prefix, os.fsdecode(name)) for name in done.stdout.split(b"\0") if name}


def _is_ignored(folder: str) -> bool:
    """Say whether git ignores the folder itself: who names it wants to see what is in it."""
    done = _git(folder, "check-ignore", "--quiet", ".")
    return done is not None and done.returncode == 0


def _git(folder: str, *arguments: str) -> subprocess.CompletedProcess[bytes] | None:
    """Ask git; None where it is not there.  Raises :class:`NpacError` where it does not answer."""
    environment = {name: value for name, value in os.environ.items() if name not in _HOOK_VARIABLES}
    # A file system monitor is a program that the repository names: looking at files must start none.
    command = ["git", "-c", "core.fsmonitor=false", "-C", folder, *arguments]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
    except (OSError, ValueError):
        return None
    with process:
        try:
            out, err = _answer(process, folder)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _answer(process: subprocess.Popen[bytes], folder: str) -> tuple[bytes, bytes]:
    """Wait for git, which itself waits for ever to read a .gitignore that is a pipe."""
    try:
        return process.communicate(timeout=GIT_QUIET)
    except subprocess.TimeoutExpired:
        odd = _odd_ignore_file(folder)
        if odd is not None:
            raise NpacError(
                f"{odd} is no regular file, and git cannot read it", remedy="Remove it, or make it a file."
            ) from None
    try:
        return process.communicate(timeout=GIT_PATIENCE)
    except subprocess.TimeoutExpired:
        raise NpacError(
            f"git does not answer about {folder or os.curdir}",
            remedy="See what `git status` says there, or name the files to look at.",
        ) from None


def _odd_ignore_file(folder: str) -> str | None:
    """Give a file of ignore patterns, in, above or below a folder, that git would wait for."""
    top = os.path.abspath(folder)
    above = [top]
    while os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    names = (_IGNORE_FILE, os.path.join(".git", "info", "exclude"))
    places = [os.path.join(here, name) for here in above for name in names]
    for here, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name != ".git"]
        places += [os.path.join(here, _IGNORE_FILE)] if _IGNORE_FILE in files else []
    return next((place for place in places if _is_odd(place)), None)


def _is_odd(path: str) -> bool:
    try:
        demand_regular(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        return error.errno == errno.EINVAL
    return False


def _walk(folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Walk a folder that is in no repository; those that are found below it are read as git sees them."""
    for here, folders, files in os.walk(folder):
        inside = []
        for name in folders:
            path = os.path.normpath(os.path.join(here, name))
            if name in _SKIPPED or os.path.islink(path):
                continue
            names = _git_names(path, endings) if Path(path, ".git").exists() else None
            if names is None:
                inside.append(name)
            else:
                yield from names
        folders[:] = inside
        for name in files:
            if name.endswith(endings):
                yield os.path.normpath(os.path.join(here, name))
