"""Template tokens: ``{{ scope.path }}`` and ``{{ scope.path | transform }}`` inside text.

How a text is read, from left to right:

- ``{{{{`` writes a literal ``{{``.  Nothing needs to escape ``}}``: outside a token it is text.
- In a longer run of braces the last two open the token: ``{{{config.x}}}`` is ``{``, a token, ``}``.
- Double braces whose inside begins with a scope, or with a near miss of one, followed by ``.``,
  ``[`` or white space are meant as a token; when they are no token, that is a problem.
- All other double braces are text: Go templates, dict literals, other tools' placeholders.

A near miss differs in case only or by a slip of the hand (:func:`near_scope`); words that other
template languages and programs really use (``stage``, ``stats``, ``look``) are none.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from npac.syntax import grammars
from npac.syntax.nearest import distance, nearest

SCOPES = ("config", "run", "state", "loop")
TRANSFORMS = ("base64", "json", "sh", "urlencode")

MAX_PROBLEMS = 32
"""Problems reported per text; what follows the last one is taken as text."""

_CACHED_LENGTH = 2048
_GRAMMAR = "tokens.lark"
_LITERAL_HELP = "To keep the braces as text, write `{{{{` for `{{`."

_TOKEN = re.compile(
    r"\{\{[ \t\r\n]*+(config|run|state|loop)\.([A-Za-z0-9_.-]++)[ \t\r\n]*+"
    r"(?:\|[ \t\r\n]*+(base64|json|sh|urlencode)[ \t\r\n]*+)?\}\}"
)

_TOKEN_OF_ANY = (
    r"\{\{[ \t\r\n]*+(?:config|run|state|loop)\.[A-Za-z0-9_.-]++[ \t\r\n]*+"
    r"\|[ \t\r\n]*+[A-Za-z][A-Za-z0-9_-]*+[ \t\r\n]*+\}\}"
)

# An escape, or double braces that may be meant as a token.  Blanks that are no blanks of the
# language (a no-break space pasted from a page) are let through, to be reported.
_MARK = r"\{\{(?:(?P<escape>\{\{)|(?!\{)[\s\u200b\u2060\ufeff]*+(?P<word>[A-Za-z]++)(?=[.\[\s]))"

# As much of a malformed token as can be understood.  No group is possessive: before 3.11.5 Python
# matches possessive groups that hold captures wrongly.
_SHAPE = r"""(?x)
    \{\{ [\s\u200b\u2060\ufeff]*+ (?P<scope>[A-Za-z]++)
    (?P<steps> (?: \s*+ (?: \. \s*+ [A-Za-z0-9_.-]++
                          | \[ \s*+ (?: '[A-Za-z0-9_.-]++' | "[A-Za-z0-9_.-]++" ) \s*+ \] ) )* )
    (?: \s*+ \| \s*+ (?P<transform> [A-Za-z][A-Za-z0-9_-]*+ ) )?
"""
_STEP = r"[A-Za-z0-9_-][A-Za-z0-9_.-]*"
_FALLBACK = r"\s+(?:or|if|else)\b|\s*(?:\?|:-|\|\|)"
_ARITHMETIC = r"\s*([-+*/%])\s*([0-9]{1,6})\s*(?:\}\}|\Z)"
_GET = r"""\{\{\s*+[A-Za-z]++\.get\(\s*+['"](?P<key>[A-Za-z0-9_.-]++)['"]"""

# What other template languages call our transforms.
_FOREIGN = {
    "b64": "base64",
    "b64enc": "base64",
    "b64encode": "base64",
    "tojson": "json",
    "to_json": "json",
    "quote": "sh",
    "shellquote": "sh",
    "urlquote": "urlencode",
}
_DEFAULT_HELP = "A default belongs in `config`, where an override replaces it. "

# Ordinary words one letter away from a scope.
# fmt: off
_ORDINARY = frozenset((
    "stage", "stake", "stale", "stare", "stave", "stats", "slate", "skate", "spate", "estate",
    "look", "loot", "loom", "loon", "hoop", "coop", "goop", "poop", "loo", "oop", "bloop", "sloop",
))
# fmt: on
_RUN_SLIPS = frozenset(("runs", "runn", "rrun", "ruun", "rnu"))


class Token(NamedTuple):
    """A token and where it stands in the text.

    ``start`` and ``end`` take in the braces, ``path_start`` and ``path_end`` the path alone; ends
    are exclusive.  ``transform`` is one of ``TRANSFORMS`` or None.
    """

    scope: str
    path: str
    transform: str | None
    start: int
    end: int
    path_start: int
    path_end: int


class TokenProblem(grammars.Problem):
    """Double braces that are meant as a token and are none.

    ``kind`` is ``"unknown-scope"``, ``"bad-token-syntax"``, ``"unclosed-token"`` or
    ``"unknown-transform"``.  ``start`` and ``end`` take in the whole malformed token, so that
    ``suggestion`` can stand in its place; ``mark`` is the part of it that is wrong.
    """

    __slots__ = ()


class Template(NamedTuple):
    """A text as a template.

    ``parts`` are literal pieces, unescaped, never empty and never two in a row, and tokens;
    ``tokens`` are the tokens among them.  Malformed tokens stand in ``parts`` as they are written.
    """

    text: str
    parts: tuple[str | Token, ...]
    tokens: tuple[Token, ...]
    problems: tuple[TokenProblem, ...]


def parse_template(text: str) -> Template:
    """Read ``text`` as a template.  Any text gives a template; what is wrong is in ``problems``."""
    return _parse_cached(text) if len(text) <= _CACHED_LENGTH else _parse(text)


def _parse(text: str) -> Template:
    return scan(text) or read(text)


_parse_cached = lru_cache(maxsize=4096)(_parse)


def scan(text: str) -> Template | None:
    """Read ``text`` without the grammar, or give None when it has double braces that are no token."""
    if "{{" not in text:
        return Template(text, (text,) if text else (), (), ())
    parts: list[str | Token] = []
    tokens: list[Token] = []
    at = 0
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        if start > at:
            literal = text[at:start]
            if "{{" in literal:
                return None
            parts.append(literal)
        scope, path, transform = match.groups()
        path_start, path_end = match.span(2)
        token = Token(scope, path, transform, start, end, path_start, path_end)
        parts.append(token)
        tokens.append(token)
        at = end
    if at < len(text):
        literal = text[at:]
        if "{{" in literal:
            return None
        parts.append(literal)
    return Template(text, tuple(parts), tuple(tokens), ())


def read(text: str) -> Template:
    """Read ``text`` with the grammar; it takes any text and agrees with :func:`scan`."""
    mark = re.compile(_MARK)
    parts: list[str | Token] = []
    problems: list[TokenProblem] = []
    literal: list[str] = []
    since = at = 0
    while (match := mark.search(text, at)) and len(problems) < MAX_PROBLEMS:
        start = match.start()
        if match["escape"]:
            literal += (text[since:start], "{{")
            since = at = match.end()
            continue
        scope = near_scope(match["word"])
        if scope is None:
            at = start + 2
            continue
        found = _read_token(text, start, scope)
        at = found.end
        if isinstance(found, TokenProblem):
            problems.append(found)
            continue
        literal.append(text[since:start])
        if piece := "".join(literal):
            parts.append(piece)
        literal.clear()
        parts.append(found)
        since = at
    literal.append(text[since:])
    if piece := "".join(literal):
        parts.append(piece)
    tokens = tuple(part for part in parts if isinstance(part, Token))
    return Template(text, tuple(parts), tokens, tuple(problems))


@lru_cache(maxsize=256)
def near_scope(word: str) -> str | None:
    """Give the scope that ``word`` is or was meant to be, or None for a word that means something else.

    Meant is a scope in other case, a scope of four letters or more with one letter added, dropped,
    replaced or swapped with its neighbour, ``config`` with two letters dropped or added, and
    ``run`` with a letter doubled or swapped.  Only words of ASCII letters are asked for.
    """
    folded = word.lower()
    if folded in SCOPES:
        return folded
    if len(folded) > 8 or folded in _ORDINARY:
        return None
    if folded in _RUN_SLIPS:
        return "run"
    for scope in ("config", "state", "loop"):
        if distance(folded, scope, 1) == 1:
            return scope
    short, long = sorted((folded, "config"), key=len)
    if folded[0] == "c" and len(long) - len(short) == 2 and _is_within(short, long):
        return "config"
    return None


def _is_within(short: str, long: str) -> bool:
    """Say whether dropping letters of ``long`` can give ``short``."""
    letters = iter(long)
    return all(char in letters for char in short)


def _read_token(text: str, start: int, scope: str) -> Token | TokenProblem:
    """Read the token whose braces open at ``start``; ``scope`` is what its first word means."""
    bound = text.find("{{", start + 2)
    if bound < 0:
        bound = len(text)
    close = text.find("}}", start + 2, bound)
    window = text[start : close + 2] if close >= 0 else text[start:bound]
    if match := _TOKEN.match(text, start):
        path_start, path_end = match.span(2)
        return Token(match[1], match[2], match[3], start, match.end(), path_start, path_end)
    # Braces that close lines later close something else, unless all but a transform's name is right.
    closed = close >= 0 and (window.count("\n") <= 1 or re.fullmatch(_TOKEN_OF_ANY, window) is not None)
    return _diagnose(window, start, scope, closed=closed)


def _diagnose(window: str, start: int, scope: str, *, closed: bool) -> TokenProblem:
    """Say what is wrong with the malformed token that begins ``window``, and what it should be."""
    shape = re.compile(_SHAPE).match(window)
    assert shape is not None, "the grammar was asked about double braces without a word"
    word, transform = shape["scope"], shape["transform"]
    path = ".".join(re.findall(_STEP, shape["steps"])).rstrip(".")
    if get := re.match(_GET, window):
        path = get["key"]
    meant = _meant_transform(transform) if transform else None
    end = len(window) if closed else shape.end() + window.startswith("}", shape.end())
    rest = window[shape.end() : end]
    default = transform == "default" or bool(re.match(_FALLBACK, rest))
    suggestion = None
    if (
        path
        and (meant or not transform or default)
        and (not closed or default or get or not rest.strip(" \t\r\n}"))
    ):
        suggestion = f"{{{{{scope}.{path} | {meant}}}}}" if meant else f"{{{{{scope}.{path}}}}}"

    mark = (0, end)
    if not closed:
        kind, message = "unclosed-token", f"A `{word}` token opens here and is not closed by `}}}}`."
    elif word != scope:
        kind, message = "unknown-scope", f"There is no scope `{word}`; scopes are {_list(SCOPES)}."
        mark = shape.span("scope")
    elif transform and transform not in TRANSFORMS:
        kind, message = "unknown-transform", f"There is no transform `{transform[:32]}`."
        mark = shape.span("transform")
    else:
        kind = "bad-token-syntax"
        message, at = _explain(window, scope)
        last = len(window[: end - 2].rstrip())
        if not window[2:at].strip():  # a strange blank before the scope
            mark = (at, at + 1)
        elif at < last:
            mark = (last - len(window[at:last].lstrip()), last)
    advice = f"Write `{suggestion}`. " if suggestion and len(suggestion) <= 120 else ""
    if default:
        advice += _DEFAULT_HELP
    elif kind == "unknown-transform":
        advice += f"Transforms are {_list(TRANSFORMS)}. "
    elif path and (term := re.match(_ARITHMETIC, rest)):
        token = f"{{{{{scope}.{path}}}}}"
        advice = (
            f"Tokens do no arithmetic: give the command `{token}` and let it work the number out, as in "
            f"`$(({token} {term[1]} {term[2]}))` in run.shell. "
        )
    elif not advice:
        advice = f"A token is `{{{{{scope}.{_EXAMPLES[scope]}}}}}`, with `| TRANSFORM` after it if need be. "
    marked = (start + mark[0], start + mark[1])
    return TokenProblem(kind, message, start, start + end, advice + _LITERAL_HELP, suggestion, marked)


def _meant_transform(name: str) -> str | None:
    """Give the transform that ``name`` is or was meant to be."""
    if name in TRANSFORMS:
        return name
    return _FOREIGN.get(name.lower()) or next(iter(nearest(name, TRANSFORMS, 1)), None)


_EXAMPLES = {"config": "KEY", "run": "id", "state": "NAME.uri", "loop": "NAME"}


def _explain(window: str, scope: str) -> tuple[str, int]:
    """Say what the grammar wanted at the place where it stopped, and give that place."""
    # Asked only here: it takes a hundred times as long as the expression that found the fault.
    stop = grammars.read(_GRAMMAR, "token", window)
    assert isinstance(stop, grammars.Stop), "what is a token to the grammar is one to the expression"
    found = grammars.show_char(window, stop.at)
    if "SCOPE" in stop.expected:
        wanted = f"Before `{scope}`, a token takes blanks, tabs and line ends only"
    elif "_DOT" in stop.expected:
        wanted = f"In a token, `{scope}` is followed by `.` and a name at once"
    elif "PATH" in stop.expected:
        wanted = f"In a token, a name follows `{scope}.` at once"
    elif "TRANSFORM" in stop.expected:
        wanted = "In a token, the name of a transform follows `|`"
    elif "_PIPE" in stop.expected:
        wanted = (
            f"After `{scope}.`, a token takes a name of letters, digits, `_`, `.`, `-`, "
            "then nothing but `| TRANSFORM`"
        )
    else:
        wanted = "A token ends after its one transform"
    return f"{wanted}; here is {found}.", stop.at


def _list(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)
