"""The project's configuration: ``npac.toml``, or ``[tool.npac]`` in ``pyproject.toml``.

The nearest file, from a folder upwards, counts alone; where both lie in one folder, ``npac.toml``
does.  Mistakes in it are values with their place, so that all of them can be shown at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from npac.reading import MAX_PROJECT_BYTES, read_regular

FILE_NAMES = ("npac.toml", "pyproject.toml")
_LEVELS = ("error", "warning", "note")
_SELECTOR = re.compile(r"NPA[0-9]{0,3}\Z")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

Key = tuple[str | int, ...]


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
    ``exclude``: patterns of paths that are not looked at.  ``ledger``: a URI or a folder.
    ``source``: the checkout that is staged for runs.  ``project``: the name of the credentials.
    ``skypilot_bin``: the SkyPilot to use.  ``context``: the Kubernetes context.
    """

    root: Path
    path: Path | None = None
    catalogs: tuple[Path, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: dict[str, str] = field(default_factory=dict)
    strict: bool = False
    exclude: tuple[str, ...] = ()
    ledger: str | None = None
    source: Path | None = None
    project: str | None = None
    skypilot_bin: Path | None = None
    context: str | None = None

    def excludes(self, path: str | os.PathLike[str]) -> bool:
        """Say whether ``path`` (relative ones count from the working directory) is excluded.

        A pattern without a slash fits any part of the path below the root; one with a slash fits
        from the root on.  What fits a folder fits everything in it.
        """
        try:
            parts = Path(os.path.abspath(path)).relative_to(self.root).parts
        except ValueError:
            return False
        for pattern in self.exclude:
            wanted = pattern.strip("/")
            if "/" in wanted:
                heads = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
                if any(fnmatchcase(head, wanted) for head in heads):
                    return True
            elif any(fnmatchcase(part, wanted) for part in parts):
                return True
        return False


def discover(
    start: str | os.PathLike[str], *, codes: Collection[str] = ()
) -> tuple[Project, list[ProjectProblem]]:
    """Find and read the configuration for the folder ``start``, upwards to the file system's root.

    ``codes`` are the codes that exist (empty: not checked).  Without a file, and for every key that
    is wrong, the defaults hold.
    """
    here = Path(os.path.abspath(start))
    for folder in (here, *here.parents):
        for name in FILE_NAMES:
            file = folder / name
            if os.path.lexists(file):
                loaded = load(file, codes=codes)
                if loaded is not None:
                    return loaded
    return Project(here), []


def load(
    file: str | os.PathLike[str], *, codes: Collection[str] = ()
) -> tuple[Project, list[ProjectProblem]] | None:
    """Read one file.

    Gives None for a ``pyproject.toml`` without ``[tool.npac]``, and for one that cannot be read as
    TOML and does not speak of npac.
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
        line, column = _position(data[: error.start].decode("utf-8"), error.start)
        return failed(line, column, "the file is not UTF-8 text", "save it as UTF-8")
    import tomllib

    try:
        table: Any = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        if not own and "tool.npac" not in text:
            return None
        reason, line, column = _syntax_error(text, str(error))
        return failed(line, column, f"the file is no TOML: {reason}", "mend the syntax")
    prefix: Key = () if own else ("tool", "npac")
    for step in prefix:
        if not isinstance(table, dict) or step not in table:
            return None
        table = table[step]
    reader = _Reader(shown, text, prefix, path.parent, codes)
    return reader.project(project, table), reader.problems


class _Reader:
    """Turns the table into a project and notes every mistake with its place."""

    def __init__(self, shown: str, text: str, prefix: Key, root: Path, codes: Collection[str]) -> None:
        self.problems: list[ProjectProblem] = []
        self._shown = shown
        self._text = text
        self._prefix = prefix
        self._root = root
        self._codes = codes
        self._places: dict[Key, tuple[int, int]] | None = None

    def project(self, base: Project, table: Any) -> Project:
        values: dict[str, Any] = {}
        if not isinstance(table, dict):
            self._wrong((), "a table", table)
            return base
        for key, value in table.items():
            read = _KEYS.get(key)
            if read is None:
                self._unknown((key,), key, _KEYS)
                continue
            for name, result in read(self, (key,), value).items():
                values[name] = result
        return replace(base, **values)

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
        self._wrong(key, "true or false", value)
        return {}

    def texts(self, key: Key, value: Any) -> dict[str, Any]:
        if not isinstance(value, list):
            self._wrong(key, "a list of texts", value)
            return {}
        return {str(key[-1]): tuple(each for at, each in enumerate(value) if self._is_text((*key, at), each))}

    def paths(self, key: Key, value: Any) -> dict[str, Any]:
        return {name: tuple(map(self._path, texts)) for name, texts in self.texts(key, value).items()}

    def selectors(self, key: Key, value: Any) -> dict[str, Any]:
        if not isinstance(value, list):
            self._wrong(key, "a list of codes", value)
            return {}
        chosen = []
        for at, each in enumerate(value):
            if self._is_text((*key, at), each) and self._is_selector((*key, at), each):
                chosen.append(each)
        return {str(key[-1]): tuple(chosen)}

    def levels(self, key: Key, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._wrong(key, "a table from code to severity", value)
            return {}
        chosen = {}
        for code, level in value.items():
            place = (*key, code)
            if not self._is_selector(place, code) or not self._is_text(place, level):
                continue
            if level in _LEVELS:
                chosen[code] = level
            else:
                near = _nearest(level, _LEVELS)
                self._problem(place, f"`{level}` is no severity", f"use {near or ', '.join(_LEVELS)}", 1)
        return {str(key[-1]): chosen}

    def skypilot(self, key: Key, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._wrong(key, "a table", value)
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
            self._wrong(key, "a text", value)
        elif not value.strip() or "\0" in value:
            self._problem(key, f"`{_dotted(key)}` must not be empty or hold a NUL", "give it a value", 1)
        else:
            return True
        return False

    def _is_selector(self, key: Key, text: str) -> bool:
        if not _SELECTOR.match(text):
            message, help = f"`{text}` is no code", "a code is `NPA` and up to three digits"
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

    def _wrong(self, key: Key, wanted: str, value: Any) -> None:
        name = _dotted(key) or _dotted(self._prefix)
        self._problem(key, f"`{name}` must be {wanted}, not {_kind(value)}", "correct the value", 1)

    def _unknown(self, key: Key, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = _nearest(name, known)
        help = f"did you mean `{near}`?" if near else f"known are {', '.join(known)}"
        self._problem(key, f"`{_dotted(key)}` is not a setting of npac", help, 0)

    def _problem(self, key: Key, message: str, help: str, part: int) -> None:
        """Note a mistake at the key itself (``part`` 0) or at its value (1)."""
        if self._places is None:
            self._places = _Places(self._text).found
        offset = self._places.get((*self._prefix, *key), (0, 0))[part]
        line, column = _position(self._text, offset)
        self.problems.append(ProjectProblem(self._shown, line, column, message, help))


_KEYS: dict[str, Callable[[_Reader, Key, Any], dict[str, Any]]] = {
    "catalogs": _Reader.paths,
    "select": _Reader.selectors,
    "ignore": _Reader.selectors,
    "severity": _Reader.levels,
    "strict": _Reader.flag,
    "exclude": _Reader.texts,
    "ledger": _Reader.address,
    "source": _Reader.path,
    "project": _Reader.text,
    "skypilot": _Reader.skypilot,
    "context": _Reader.text,
}


class _Places:
    """Where the keys and values of a text stand that is known to be valid TOML.

    ``found`` maps a key's full name, with numbers for list items, to the offsets of key and value.
    """

    def __init__(self, text: str) -> None:
        self.found: dict[Key, tuple[int, int]] = {}
        self._text = text
        self._at = 0
        table: Key = ()
        while self._skip("\n\r"):
            if text[self._at] == "[":
                start = self._at
                self._at += 2 if text.startswith("[[", start) else 1
                table = self._key()
                self.found.setdefault(table, (start, start))
                self._at = self._line_end()
            else:
                self._pair(table)

    def _skip(self, more: str) -> bool:
        """Pass over blanks, comments and the characters ``more``; False at the end."""
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            if char == "#":
                self._at = self._line_end()
            elif char in " \t" or char in more:
                self._at += 1
            else:
                return True
        return False

    def _line_end(self) -> int:
        end = self._text.find("\n", self._at)
        return len(self._text) if end < 0 else end

    def _key(self) -> Key:
        parts: list[str | int] = []
        while True:
            self._skip("")
            start = self._at
            if self._text[start] in "\"'":
                self._string()
                parts.append(self._unquoted(start))
            else:
                match = _BARE_KEY.match(self._text, start)
                assert match is not None, "tomllib took this text"
                self._at = match.end()
                parts.append(match.group())
            self._skip("")
            if self._text[self._at] != ".":
                return tuple(parts)
            self._at += 1

    def _unquoted(self, start: int) -> str:
        import tomllib

        return str(next(iter(tomllib.loads(f"{self._text[start : self._at]} = 0"))))

    def _pair(self, table: Key) -> None:
        self._skip("")
        start = self._at
        key = (*table, *self._key())
        self._at += 1  # the equals sign
        self._skip("")
        for count in range(len(table) + 1, len(key)):  # the tables that a dotted key opens
            self.found.setdefault(key[:count], (start, start))
        self.found[key] = (start, self._at)
        self._value(key)

    def _value(self, key: Key) -> None:
        opener = self._text[self._at]
        if opener in "\"'":
            self._string()
        elif opener in "[{":
            self._at += 1
            index = 0
            while self._skip("\n\r,") and self._text[self._at] not in "]}":
                if opener == "{":
                    self._pair(key)
                else:
                    self.found[(*key, index)] = (self._at, self._at)
                    self._value((*key, index))
                    index += 1
            self._at += 1
        else:
            while self._at < len(self._text) and self._text[self._at] not in ",]}\n#":
                self._at += 1

    def _string(self) -> None:
        text = self._text
        quote = text[self._at]
        if text.startswith(quote * 3, self._at):
            self._at += 3
            while not text.startswith(quote * 3, self._at):
                self._at += 2 if quote == '"' and text[self._at] == "\\" else 1
            while text.startswith(quote * 4, self._at):  # quotes right before the closing three
                self._at += 1
            self._at += 3
            return
        self._at += 1
        while text[self._at] != quote:
            self._at += 2 if quote == '"' and text[self._at] == "\\" else 1
        self._at += 1


def _position(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _syntax_error(text: str, message: str) -> tuple[str, int, int]:
    """Take the place out of tomllib's message."""
    found = re.search(r" \((?:at line (\d+), column (\d+)|at end of document)\)\Z", message)
    if found is None:
        return message or "it is nested too deeply", 1, 1
    reason = message[: found.start()]
    reason = reason[:1].lower() + reason[1:]
    if found.group(1) is None:
        line, column = _position(text, len(text))
        return f"{reason} at the end of the file", line, column
    return reason, int(found.group(1)), int(found.group(2))


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
