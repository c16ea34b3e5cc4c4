"""Credentials given to commands: ``NAME=value``, ``--name value``, options of well-known programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from npac.rules.secrets.telling import is_telling, may_give, stands_in

_NAME = r"(?<![A-Za-z0-9_.$-])(-{0,2}[A-Za-z_][A-Za-z0-9_.-]{0,120})(=|(?:[ \t]|\\\n){1,80})"
_VALUE = (
    r"[fFrRbB]{0,2}(?:'([^']{0,2000})'|\"((?:[^\"\\]|\\[\s\S]){0,2000})\")"
    r"|((?:[^\s;|&<>()'\"`\\]|\\.){1,500}(?:'[^'\s]{0,200}'|\"[^\"\s]{0,200}\")?)"
)
"""A value: in single quotes, in double quotes, or bare (with a quoted piece at its end)."""
_REST = r"[^\s;|&<>()'\"`]*"
"""What is left of a bare value that is longer than is looked at."""
_WHOLE = r"-{0,2}([A-Za-z_][A-Za-z0-9_.-]{0,120})="
_SHORT = r"-{1,2}([A-Za-z][A-Za-z0-9_.-]{0,120})\Z"
_CODE = (
    r"(?:None|True|False|true|false|null|nil|undefined|yes|no|on|off)\Z"
    r"|[A-Za-z_]+(?:\.[A-Za-z_]+)+[\[(]?|[A-Za-z_][A-Za-z0-9_.]*[\[(]"  # args.token, os.environ[...]
    r"|\{[^{}]*\}\Z|%(?:\([a-z_]+\))?[sr]\Z|id="  # what is filled in later; build --secret id=...
)
"""What a program's text writes in the place of a value."""
_PATTERN = r"\.[*+]|\[\^|\\[wSd]|\*\Z"
_WORDS = r"\\\n|[;|&()\n]|(?:[^\s;|&()'\"\\]|\\.|'[^'\n]*'|\"[^\"\n]*\"|['\"\\])+"
"""The words of a shell text, and what stands between its commands."""
_BETWEEN = frozenset(";|&()\n")
_PROGRAM = (
    r"(?:[^\s]*/)?(curl|mysql|mysqldump|mysqladmin|mariadb|sshpass|docker|podman|nerdctl|crane|helm|wandb)\Z"
)
_MARKS = ("curl", "mysql", "mariadb", "sshpass", "login")
_USER = r"(?:-[A-Za-z]*[uU]|--(?:proxy-)?user)\Z"


class Given(NamedTuple):
    """A value that is given to a command, its offsets in the text, and what says that it is a credential."""

    said: str
    value: str
    start: int
    end: int


def in_text(text: str) -> Iterator[Given]:
    """Give the credentials that a shell text (or one word of a command) gives to commands."""
    names, value_of = re.compile(_NAME), re.compile(_VALUE)
    match = names.search(text)
    while match is not None:
        at = match.end()
        found = value_of.match(text, at) if _may_follow(match[1], match[2] == "=") else None
        if found is not None:
            kind = found.lastindex or 0
            start, end = found.span(kind)
            value = found[kind]
            call = kind == 3 and text[end : end + 1] == "("
            option = match[2] != "=" and value.startswith("-")
            judged = value.rstrip(",}]/") if kind == 3 else value
            name = match[1].lstrip("-")
            if not call and not option and _is_plain(name, judged, literal=kind == 1):
                if kind == 3:
                    end = re.compile(_REST).match(text, end).end()  # type: ignore[union-attr]  # or nothing
                yield Given(_named(match[1]), value, start, end)
                at = end
        match = names.search(text, at)
    if any(mark in text for mark in _MARKS):
        yield from _to_programs(text)


def _may_follow(name: str, assigned: bool) -> bool:
    """Say whether a name takes a credential: ``NAME=``, ``--name=`` or ``--name`` and a blank."""
    bare = name.lstrip("-")
    # most programs take the name of one as --secret
    return is_telling(bare) and (assigned or (name != bare and bare.lower() != "secret"))


def in_words(words: Sequence[str]) -> Iterator[tuple[int, Given]]:
    """Give the credentials in the words of one command, each with its word's place."""
    command = _Command()
    before = ""
    for at, word in enumerate(words):
        option, whole = re.match(_SHORT, before), re.match(_WHOLE, word)
        taken = command.password(word)
        if option is not None and _may_follow(before, False) and not word.startswith("-"):
            if _is_plain(option[1], word, literal=True):
                yield at, Given(_named(before), word, 0, len(word))
        elif whole is not None and is_telling(whole[1]):
            if _is_plain(whole[1], word[whole.end() :], literal=True):
                yield at, Given(_named(word[: whole.end() - 1]), word[whole.end() :], whole.end(), len(word))
        elif taken is not None:
            if _is_plain("password", word[taken:], literal=True):
                yield at, Given(_TAKEN, word[taken:], taken, len(word))
        elif may_give(word):
            yield from ((at, given) for given in in_text(word))
        before = word


_TAKEN = "this is where a command takes a password, and"


class _Command:
    """The words of a command so far, as much of them as says which one is a password."""

    def __init__(self) -> None:
        self.program, self.login, self.before = "", False, ""

    def password(self, word: str) -> int | None:
        """Take the next word, and give where in it a password begins; None for a word without one."""
        before, self.before = self.before, word
        if not self.program:
            found = re.match(_PROGRAM, word)
            self.program = found[1] if found is not None else ""
            return None
        self.login = self.login or word == "login"
        if self.program == "curl":
            user = (
                0
                if re.match(_USER, before)
                else self._attached(word, ("-u", "-U", "--user=", "--proxy-user="))
            )
            colon = word.find(":", user) if user is not None else -1
            return colon + 1 if 0 <= colon < len(word) - 1 and "{{" not in word[:colon] else None
        if self.program.startswith(("mysql", "mariadb")):
            return self._attached(word, ("-p",))
        if self.program == "wandb":
            return 0 if self.login and re.fullmatch("[0-9a-f]{40}", word) else None
        if self.program == "sshpass" or self.login:
            return 0 if before == "-p" else self._attached(word, ("-p=", "-p"))
        return None

    def _attached(self, word: str, options: Sequence[str]) -> int | None:
        return next((len(item) for item in options if word.startswith(item) and word != item), None)


def _to_programs(text: str) -> Iterator[Given]:
    """Give the passwords that well-known programs take by options of their own."""
    command = _Command()
    for match in re.finditer(_WORDS, text):
        raw, start = match[0], match.start()
        if raw in _BETWEEN:
            command = _Command()
        elif raw != "\\\n":
            quote = raw[0] if len(raw) > 1 and raw[0] in "'\"" and raw[-1] == raw[0] else ""
            word = raw[1:-1] if quote else raw
            at = command.password(word)
            value = word[at:].strip("'\"") if at is not None else ""
            if at is not None and _is_plain("password", value, literal=quote == "'"):
                begin = start + len(quote) + at
                yield Given(_TAKEN, value, begin, start + len(quote) + len(word))


def _named(name: str) -> str:
    what = "option" if name.startswith("-") else "name"
    return f"the {what} {name!r:.80} says that this is a credential, and"


def _is_plain(name: str, value: str, *, literal: bool) -> bool:
    """Say whether a value stands in plain text; in a ``literal`` one a dollar sign is a character."""
    if not value or ("$" in value and not literal) or "`" in value or "{{" in value:
        return False
    if re.match(_CODE, value) or re.search(_PATTERN, value) or stands_in(name, value):
        return False
    # a program's own variable: token=hf_token
    return not (value.isidentifier() and (value.islower() or value.isupper()) and is_telling(value))
