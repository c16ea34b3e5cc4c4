"""The project's configuration: ``npac.toml``, or ``[tool.npac]`` in ``pyproject.toml``.

The nearest file, from a folder upwards, counts alone, unless it extends another; where both lie in
one folder, ``npac.toml`` does.  Mistakes in it are values with their place, so that all of them can be
shown at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any

from npac.reading import MAX_PROJECT_BYTES, read_regular
from npac.toml_places import Key, Places, position, syntax_error

FILE_NAMES = ("npac.toml", "pyproject.toml")
_LEVELS = ("error", "warning", "note")
_SELECTOR = re.compile(r"NPA[0-9]{0,3}\Z")
_NAME = re.compile(r"[a-z]+(-[a-z0-9]+)+\Z")

_NO_NAMES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ProjectProblem:
    """A mistake in the configuration; ``line`` and ``column`` count from 1."""

    path: str
    line: int
    column: int
    message: str
    help: str = ""

    def __str__(self) -> str:
        """Give one line: where, what, and what to do."""
        text = f"{self.path}:{self.line}:{self.column}: {self.message}"
        return f"{text}; {self.help}" if self.help else text


@dataclass(frozen=True, slots=True)
class Project:
    """What a project sets; a command's own options go before it.

    ``root``: the folder of the file (the folder that was searched from, when there is no file), to
    which relative paths belong.  ``path``: the file, or None.  ``catalogs``: more tool catalogs.
    ``select``, ``ignore``, keys of ``severity``: codes or beginnings of codes; values of
    ``severity``: ``error``, ``warning``, ``note``.  ``strict``: warnings stop the work.
    ``exclude``: patterns of paths that are not looked at.  ``per_file_ignores``: by patterns of paths,
    codes that are ignored in them.  ``ledger``: a URI or a folder.
    ``source``: the checkout that is staged for runs.  ``project``: the name of the credentials.
    ``skypilot_bin``: the SkyPilot to use.  ``context``: the Kubernetes context.  ``base``: what the file
    extends, whose settings count where the file has none, and whose patterns of paths count besides.
    """

    root: Path
    path: Path | None = None
    catalogs: tuple[Path, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: dict[str, str] = field(default_factory=dict)
    strict: bool = False
    exclude: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ledger: str | None = None
    source: Path | None = None
    project: str | None = None
    skypilot_bin: Path | None = None
    context: str | None = None
    base: Project | None = None

    def excludes(self, path: str | os.PathLike[str]) -> bool:
        """Say whether ``path`` (relative ones count from the working directory) is excluded.

        A pattern without a slash fits any part of the path below the root; one with a slash fits
        from the root on.  What fits a folder fits everything in it.
        """
        return self.excluder(path) is not None

    def excluder(self, path: str | os.PathLike[str]) -> Path | None:
        """Give the file whose ``exclude`` fits ``path``, or None."""
        if self._fits(path, self.exclude):
            return self.path
        return self.base.excluder(path) if self.base is not None else None

    def ignored_in(self, path: str | os.PathLike[str]) -> tuple[str, ...]:
        """Give the codes, or beginnings of codes, that are ignored in the file ``path``.

        Its patterns fit as those of ``exclude`` do.
        """
        more = (codes for pattern, codes in self.per_file_ignores.items() if self._fits(path, (pattern,)))
        base = self.base.ignored_in(path)[len(self.base.ignore) :] if self.base is not None else ()
        return (*self.ignore, *(code for codes in more for code in codes), *base)

    def _fits(self, path: str | os.PathLike[str], patterns: Iterable[str]) -> bool:
        try:
            parts = Path(os.path.abspath(path)).relative_to(self.root).parts
        except ValueError:
            return False
        for pattern in patterns:
            wanted = pattern.strip("/")
            if "/" in wanted:
                heads = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
                if any(fnmatchcase(head, wanted) for head in heads):
                    return True
            elif any(fnmatchcase(part, wanted) for part in parts):
                return True
        return False


def discover(
    start: str | os.PathLike[str], *, codes: Collection[str] = (), names: Mapping[str, str] = _NO_NAMES
) -> tuple[Project, list[ProjectProblem]]:
    """Find and read the configuration for the folder ``start``, upwards to the file system's root.

    ``codes`` are the codes that exist (empty: not checked), ``names`` the codes by their names.  Without
    names what may be one is taken as it is.  Without a file, and for every key that is wrong, the
    defaults hold.
    """
    here = Path(os.path.abspath(start))
    for folder in (here, *here.parents):
        for name in FILE_NAMES:
            file = folder / name
            if os.path.lexists(file):
                loaded = load(file, codes=codes, names=names)
                if loaded is not None:
                    return loaded
    return Project(here), []


def load(
    file: str | os.PathLike[str],
    *,
    codes: Collection[str] = (),
    names: Mapping[str, str] = _NO_NAMES,
    within: tuple[Path, ...] = (),
) -> tuple[Project, list[ProjectProblem]] | None:
    """Read one file, and what it extends.

    Gives None for a ``pyproject.toml`` without ``[tool.npac]``, and for one that cannot be read as
    TOML and does not speak of npac.  ``within`` are the files that extend this one.
    """
    path = Path(os.path.abspath(file))
    shown = os.fspath(file)
    project = Project(path.parent, path)
    own = path.name != "pyproject.toml"

    def failed(line: int, column: int, message: str, help: str) -> tuple[Project, list[ProjectProblem]]:
        return project, [ProjectProblem(shown, line, column, message, help)]

    try:
        data = read_regular(path, MAX_PROJECT_BYTES)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return failed(1, 1, f"the file cannot be read: {reason}", "make it readable or remove it")
    if not own and b"npac" not in data:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if not own and b"tool.npac" not in data:
            return None
        line, column = position(data[: error.start].decode("utf-8"), error.start)
        return failed(line, column, "the file is not UTF-8 text", "save it as UTF-8")
    import tomllib

    try:
        table: Any = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        if not own and "tool.npac" not in text:
            return None
        reason, line, column = syntax_error(text, str(error))
        return failed(line, column, f"the file is no TOML: {reason}", "mend the syntax")
    prefix: Key = () if own else ("tool", "npac")
    for step in prefix:
        if not isinstance(table, dict) or step not in table:
            return None
        table = table[step]
    reader = _Reader(shown, text, prefix, path.parent, codes, names, (*within, path))
    result = reader.project(project, table)
    return result, reader.problems or reader.below


class _Reader:
    """Turns the table into a project and notes every mistake with its place."""

    def __init__(
        self,
        shown: str,
        text: str,
        prefix: Key,
        root: Path,
        codes: Collection[str],
        names: Mapping[str, str],
        files: tuple[Path, ...],
    ) -> None:
        self.problems: list[ProjectProblem] = []
        self.below: list[ProjectProblem] = []
        """Mistakes in what is extended."""
        self._names = names
        self._files = files
        self._shown = shown
        self._text = text
        self._prefix = prefix
        self._root = root
        self._codes = codes
        self._places: dict[Key, tuple[int, int]] | None = None

    def project(self, base: Project, table: Any) -> Project:
        values: dict[str, Any] = {}
        if not isinstance(table, dict):
            self._wrong((), "a table", table, "write the table [tool.npac]")
            return base
        for key, value in table.items():
            read = _KEYS.get(key)
            if read is None:
                self._unknown((key,), key, _KEYS.keys() - _QUIET)
                continue
            for name, result in read(self, (key,), value).items():
                values[name] = result
        below: Project | None = values.get("base")
        if below is None:
            return replace(base, **values)
        values["severity"] = below.severity | values.get("severity", {})
        # patterns of paths belong to the folder of their own file, and stay with it
        own: dict[str, Any] = {
            "root": base.root,
            "path": base.path,
            "base": below,
            "exclude": (),
            "per_file_ignores": {},
        }
        return replace(below, **{**own, **values})

    def extended(self, key: Key, value: Any) -> dict[str, Any]:
        if not self._is_text(key, value):
            return {}
        file = self._path(value)
        if file.is_dir():
            file /= FILE_NAMES[0]
        if file in self._files:
            self._problem(key, f"`{value}` extends itself", "extend a file further up", 1)
            return {}
        if not file.is_file():
            self._problem(key, f"there is no file {value}", 'name a file, as in "../npac.toml"', 1)
            return {}
        loaded = load(file, codes=self._codes, names=self._names, within=self._files)
        if loaded is None:
            self._problem(key, f"{value} holds no settings of npac", "give it a table [tool.npac]", 1)
            return {}
        self.below = loaded[1]
        return {"base": loaded[0]}

    def text(self, key: Key, value: Any) -> dict[str, Any]:
        return {str(key[-1]): value} if self._is_text(key, value) else {}

    def path(self, key: Key, value: Any) -> dict[str, Any]:
        return {str(key[-1]): self._path(value)} if self._is_text(key, value) else {}

    def address(self, key: Key, value: Any) -> dict[str, Any]:
        if not self._is_text(key, value):
            return {}
        return {str(key[-1]): value if "://" in value else str(self._path(value))}

    def flag(self, key: Key, value: Any) -> dict[str, Any]:
        if isinstance(value, bool):
            return {str(key[-1]): value}
        self._wrong(key, "true or false", value, "write true or false, without quotes")
        return {}

    def texts(self, key: Key, value: Any) -> dict[str, Any]:
        if not isinstance(value, list):
            self._wrong(key, "a list of texts", value, f'write a list, as in {key[-1]} = ["drafts"]')
            return {}
        return {str(key[-1]): tuple(each for at, each in enumerate(value) if self._is_text((*key, at), each))}

    def paths(self, key: Key, value: Any) -> dict[str, Any]:
        return {name: tuple(map(self._path, texts)) for name, texts in self.texts(key, value).items()}

    def selectors(self, key: Key, value: Any) -> dict[str, Any]:
        return {str(key[-1]): self._selected(key, value)}

    def _selected(self, key: Key, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list):
            self._wrong(key, "a list of codes", value, 'write a list of codes, as in ["NPA215", "NPA3"]')
            return ()
        chosen = []
        for at, each in enumerate(value):
            if self._is_text((*key, at), each) and self._is_selector((*key, at), each):
                chosen.append(self._names.get(each, each))
        return tuple(chosen)

    def by_file(self, key: Key, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            help = 'write a table, as in "vendor/*.yaml" = ["NPA215"]'
            self._wrong(key, "a table from patterns of paths to codes", value, help)
            return {}
        return {
            "per_file_ignores": {
                pattern: self._selected((*key, pattern), codes) for pattern, codes in value.items()
            }
        }

    def levels(self, key: Key, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._wrong(
                key, "a table from code to severity", value, 'write a table, as in NPA215 = "warning"'
            )
            return {}
        chosen = {}
        for code, level in value.items():
            place = (*key, code)
            if not self._is_selector(place, code) or not self._is_text(place, level):
                continue
            if level in _LEVELS:
                chosen[self._names.get(code, code)] = level
            else:
                near = _nearest(level, _LEVELS)
                meant = f"did you mean {near}? " if near else ""
                help = f"{meant}a severity is error, warning or note"
                self._problem(place, f"`{level}` is no severity", help, 1)
        return {str(key[-1]): chosen}

    def skypilot(self, key: Key, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._wrong(key, "a table", value, 'write a table, as in skypilot = {bin = "venv/bin/sky"}')
            return {}
        result: dict[str, Any] = {}
        for name, each in value.items():
            place = (*key, name)
            if name != "bin":
                self._unknown(place, name, ("bin",))
            elif self._is_text(place, each):
                result["skypilot_bin"] = self._path(each)
        return result

    def _path(self, text: str) -> Path:
        return Path(os.path.normpath(self._root / os.path.expanduser(text)))

    def _is_text(self, key: Key, value: Any) -> bool:
        if not isinstance(value, str):
            self._wrong(key, "a text", value, 'write a text in quotes, as in "name"')
        elif not value.strip() or "\0" in value:
            self._problem(key, f"`{_dotted(key)}` must not be empty or hold a NUL", "give it a value", 1)
        else:
            return True
        return False

    def _is_selector(self, key: Key, text: str) -> bool:
        if text in self._names or (not self._names and _NAME.match(text)):
            return True
        if not _SELECTOR.match(text):
            message, help = f"`{text}` is no code", "a code is `NPA` and up to three digits"
            near = text.upper() if _SELECTOR.match(text.upper()) else _nearest(text, self._names)
            if near:
                help = f"did you mean {near}? {help}, or its name"
            elif self._names:
                help += ", or its name"
        elif self._codes and not any(code.startswith(text) for code in self._codes):
            near = _nearest(text, self._codes)
            message, help = (
                f"there is no code {text}",
                f"did you mean {near}?" if near else "look the code up",
            )
        else:
            return True
        self._problem(key, message, help, 1 if isinstance(key[-1], int) else 0)
        return False

    def _wrong(self, key: Key, wanted: str, value: Any, help: str) -> None:
        name = _dotted(key) or _dotted(self._prefix)
        self._problem(key, f"`{name}` must be {wanted}, not {_kind(value)}", help, 1)

    def _unknown(self, key: Key, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = _nearest(name, known)
        help = f"did you mean `{near}`?" if near else f"known are {', '.join(known)}"
        self._problem(key, f"`{_dotted(key)}` is not a setting of npac", help, 0)

    def _problem(self, key: Key, message: str, help: str, part: int) -> None:
        """Note a mistake at the key itself (``part`` 0) or at its value (1)."""
        if self._places is None:
            self._places = Places(self._text).found
        offset = self._places.get((*self._prefix, *key), (0, 0))[part]
        line, column = position(self._text, offset)
        self.problems.append(ProjectProblem(self._shown, line, column, message, help))


_KEYS: dict[str, Callable[[_Reader, Key, Any], dict[str, Any]]] = {
    "catalogs": _Reader.paths,
    "select": _Reader.selectors,
    "ignore": _Reader.selectors,
    "severity": _Reader.levels,
    "strict": _Reader.flag,
    "exclude": _Reader.texts,
    "per-file-ignores": _Reader.by_file,
    "extend": _Reader.extended,
    "ledger": _Reader.address,
    "source": _Reader.path,
    "project": _Reader.text,
    "skypilot": _Reader.skypilot,
    "context": _Reader.text,
}
_QUIET = frozenset(("source", "project", "context"))
"""Settings that no command of this version reads: files may have them, and they are not offered."""


def _nearest(text: str, known: Iterable[str]) -> str:
    """Give the nearest of ``known``, or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(text, sorted(known), 1)
    return near[0] if near else ""


def _dotted(key: Key) -> str:
    text = ""
    for part in key:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {str: "a text", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return names.get(type(value), "a date or time")
