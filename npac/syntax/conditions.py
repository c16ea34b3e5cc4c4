"""Whole texts that refer to one config key: the ``if`` of a transition, and the numbers of the language.

``if`` is exactly ``config.K`` or ``{{config.K}}``.  A count (``loop.max``, ``parallelCount``,
``maxConcurrency``, trigger numbers, ``disk_size``, ``num_nodes``) is the same, or decimal digits.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from npac.syntax import grammars
from npac.syntax.grammars import MAX_DIGITS, MAX_GUESSED
from npac.syntax.templates import SCOPES, near_scope

_GRAMMAR = "references.lark"
_REFERENCE = re.compile(
    r"config\.([A-Za-z0-9_.-]++)|\{\{[ \t\r\n]*+config\.([A-Za-z0-9_.-]++)[ \t\r\n]*+\}\}"
)


class Condition(NamedTuple):
    """The config key that an ``if`` asks for; ``start`` and ``end`` are the key's offsets in the text."""

    key: str
    start: int
    end: int


class KeyRef(NamedTuple):
    """The config key that holds a count; ``start`` and ``end`` are the key's offsets in the text."""

    key: str
    start: int
    end: int


class ConditionProblem(grammars.Problem):
    """A text that ``if`` does not take."""

    __slots__ = ()


class CountProblem(grammars.Problem):
    """A text that is neither decimal digits nor one config key."""

    __slots__ = ()


@lru_cache(maxsize=1024)
def parse_condition(text: str) -> Condition | ConditionProblem:
    """Read the text of an ``if``."""
    return scan_condition(text) or read_condition(text)


@lru_cache(maxsize=1024)
def parse_count(text: str) -> int | KeyRef | CountProblem:
    """Read the text of a count: its number (0 or more), or the config key that holds it."""
    found = scan_count(text)
    return read_count(text) if found is None else found


def scan_condition(text: str) -> Condition | None:
    """Read an ``if`` without the grammar, or give None when it is not well formed."""
    match = _REFERENCE.fullmatch(text)
    if match is None:
        return None
    group = match.lastindex or 1
    return Condition(match[group], match.start(group), match.end(group))


def scan_count(text: str) -> int | KeyRef | None:
    """Read a count without the grammar, or give None when it is not well formed."""
    if text.isdecimal() and text.isascii():
        return int(text) if len(text) <= MAX_DIGITS else None
    found = scan_condition(text)
    return None if found is None else KeyRef(found.key, found.start, found.end)


def read_condition(text: str) -> Condition | ConditionProblem:
    """Read an ``if`` with the grammar."""
    tree = grammars.read(_GRAMMAR, "condition", text)
    if isinstance(tree, grammars.Stop):
        return ConditionProblem(*_whole(text, _explain_condition(text, tree)))
    (leaf,) = (leaf for leaf in tree.children if isinstance(leaf, str))
    start = int(leaf.start_pos or 0)
    return Condition(str(leaf), start, start + len(leaf))


def read_count(text: str) -> int | KeyRef | CountProblem:
    """Read a count with the grammar."""
    tree = grammars.read(_GRAMMAR, "count", text)
    if isinstance(tree, grammars.Stop):
        return CountProblem(*_whole(text, _explain_count(text, tree)))
    (leaf,) = (leaf for leaf in tree.children if isinstance(leaf, str))
    if leaf.type != "DIGITS":
        start = int(leaf.start_pos or 0)
        return KeyRef(str(leaf), start, start + len(leaf))
    if len(leaf) > MAX_DIGITS:
        message = f"This number has {len(leaf)} digits; {MAX_DIGITS} is the most that is read."
        return CountProblem("too-large", message, 0, len(text), "Write a smaller number.")
    return int(leaf)


# Kind, message, help, suggestion.
_Report = tuple[str, str, str, str | None]

_EXACT_IF = "`if` is exactly `config.KEY` or `{{config.KEY}}`"
_EXACT_COUNT = "A count is decimal digits, `config.KEY` or `{{config.KEY}}`"

_KEY = r"(?P<key>[A-Za-z0-9_][A-Za-z0-9_.-]*)"
_OPEN = r"\s*(?:\{\{)?\s*"
_NEGATION = rf"{_OPEN}(?:!|not\b)"
_EXPRESSION = r"==|!=|<|>|\s(?:and|or|in|is)\s|&&|\|\|"
_WORD = rf"{_OPEN}(?P<word>[A-Za-z]+)(?:\.(?P<key>[A-Za-z0-9_.-]+)|\[|\s)"
_OTHER_NUMBER = r"[+-]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|0[xXoObB][0-9A-Fa-f_]+"
_CONSTANTS = ("true", "false", "yes", "no", "on", "off", "0", "1")

# What people write for a reference, and what to tell them, in the order of looking.
_SLIPS = (
    (rf"{_OPEN}config\.{_KEY}\s*\|", "transform", "A transform cannot be applied here."),
    (
        rf"{_OPEN}config\s*\[\s*['\"]?{_KEY}",
        "brackets",
        "A config key is reached with a dot, not with brackets.",
    ),
    (rf"\s*\{{\{{\s*config\.{_KEY}\s*\}}?\s*\Z", "unclosed-token", "The token is not closed by `}}`."),
    (
        rf"\s*\$\{{\{{?\s*(?:config\.)?{_KEY}\s*\}}\}}?\s*\Z",
        "shell-variable",
        "Shell variables are not read here; a config key is.",
    ),
)


def _whole(text: str, report: _Report) -> tuple[str, str, int, int, str, str | None]:
    """Make a report one about all of ``text``, so that its suggestion can stand in its place."""
    kind, message, advice, suggestion = report
    return kind, message, 0, len(text), advice, suggestion


def _explain_condition(text: str, stop: grammars.Stop) -> _Report:
    if len(text) > MAX_GUESSED:
        return _stopped("not-a-condition", _EXACT_IF, text, stop)
    if not text.strip():
        return "empty", "`if` is empty.", "Write `config.KEY`, or leave `if` out.", None
    if re.match(_NEGATION, text):
        advice = (
            "Turn the config value round, or put the other transition first: the first that holds is taken."
        )
        return "negation", f"{_EXACT_IF}; it cannot negate.", advice, None
    if re.search(_EXPRESSION, text):
        advice = "Give `config` a key that is true or false, and let `if` name it."
        return "expression", f"{_EXACT_IF}; it compares and combines nothing.", advice, None
    if slip := _explain_reference(text):
        return slip
    if text.strip().lower() in _CONSTANTS:
        advice = "Name a config key that holds it, or leave `if` out (always) or the transition (never)."
        return "constant", f"{_EXACT_IF}; a constant is none.", advice, None
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", text):
        advice = "For a config key, write `config.` before it; predicates on decisions go in `when`."
        meant = None if near_scope(text) else f"{{{{config.{text}}}}}"
        return "bare-name", f"{_EXACT_IF}; here is a bare name.", advice, meant
    return _stopped("not-a-condition", _EXACT_IF, text, stop)


def _explain_count(text: str, stop: grammars.Stop) -> _Report:
    if len(text) > MAX_GUESSED:
        return _stopped("not-a-count", _EXACT_COUNT, text, stop)
    number = text.strip()
    if not number:
        return "empty", "The count is empty.", "Write a number or `{{config.KEY}}`.", None
    if number.isascii() and number.isdecimal():
        return "blanks", "Blanks stand before or after the digits.", "Write the digits alone.", number
    if re.fullmatch(r"[+-][0-9]+", number):
        plus = number[0] == "+"
        advice = "Write the number without a sign." if plus else "Write a number of 0 or more."
        return "sign", f"{_EXACT_COUNT}; signs are not read.", advice, number[1:] if plus else None
    if re.fullmatch(_OTHER_NUMBER, number):
        whole = re.fullmatch(r"([0-9]+)\.0*", number)
        message = f"{_EXACT_COUNT}; here is another kind of number."
        return "not-whole", message, "Write the number in plain digits, such as `12`.", whole and whole[1]
    if slip := _explain_reference(text):
        return slip
    if "{{" in text and "}}" in text:
        advice = "Put the whole number in one config key and name that key."
        return "not-one-token", f"{_EXACT_COUNT}; here is a token with other text.", advice, None
    return _stopped("not-a-count", _EXACT_COUNT, text, stop)


def _explain_reference(text: str) -> _Report | None:
    """Explain a slip in the reference that both forms share, or give None."""
    if scan_condition(text.strip()):
        message = "Blanks stand before or after the config key."
        return "blanks", message, f"Write `{text.strip()}`.", text.strip()
    for pattern, kind, message in _SLIPS:
        if match := re.match(pattern, text):
            meant = f"{{{{config.{match['key']}}}}}"
            return kind, message, f"Write `{meant}`.", meant
    match = re.match(_WORD, text)
    word = match["word"] if match else ""
    scope = near_scope(word) if match else None
    if match is None or scope is None or word == "config":
        return None
    if word in SCOPES:
        message = f"This reads the scope `{scope}`; only a config key is read here."
        return "wrong-scope", message, "Give the value a key in `config` and name that key.", None
    whole = re.fullmatch(r"\s*(?:\}\})?\s*", text[match.end() :])
    if scope == "config" and match["key"] and whole:
        meant = f"{{{{config.{match['key']}}}}}"
        return "unknown-scope", f"There is no scope `{word}`.", f"Write `{meant}`.", meant
    return "unknown-scope", f"There is no scope `{word}`.", f"The scope is called `{scope}`.", None


def _stopped(kind: str, exact: str, text: str, stop: grammars.Stop) -> _Report:
    """Say what the grammar wanted and what stands where it stopped."""
    where = "the text ends too early"
    if stop.at < len(text):
        where = f"here is {grammars.show_char(text, stop.at)} at character {stop.at + 1}"
    return kind, f"{exact}; {where}.", "Write `{{config.KEY}}` with a key of `config`.", None
