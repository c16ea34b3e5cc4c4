"""Where keys, values and faults stand in a TOML text, which its reader does not say."""

from __future__ import annotations

import re

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

Key = tuple[str | int, ...]
"""A key's full name, with numbers for list items."""


class Places:
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


def position(text: str, offset: int) -> tuple[int, int]:
    """Give line and column of ``offset``, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def syntax_error(text: str, message: str) -> tuple[str, int, int]:
    """Take the place out of tomllib's message: what is wrong, line, and column."""
    found = re.search(r" \((?:at line (\d+), column (\d+)|at end of document)\)\Z", message)
    if found is None:
        return message or "it is nested too deeply", 1, 1
    reason = message[: found.start()]
    reason = reason[:1].lower() + reason[1:]
    if found.group(1) is None:
        line, column = position(text, len(text))
        return f"{reason} at the end of the file", line, column
    return reason, int(found.group(1)), int(found.group(2))
