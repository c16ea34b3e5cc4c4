"""Scripts from their templates (``templates/*.sh.j2``).

Every value that enters a script passes a quoting filter; a template that prints a value without one
does not render.  Values are final text by then: rendering is the last thing that happens to them.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npac.ir.errors import LinkError

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).resolve().parent / "templates"


class Quoted(str):
    """Text that is safe as it stands inside a shell script."""

    __slots__ = ()


def quote_word(value: object) -> Quoted:
    """Quote one value as one shell word.  Raises :class:`LinkError` for a NUL character."""
    text = str(value)
    if "\0" in text:
        raise LinkError("a command holds a NUL character, which no program can be given")
    return Quoted(shlex.quote(text))


def quote_words(values: list[object]) -> Quoted:
    """Quote a list as shell words with blanks between them."""
    return Quoted(" ".join(quote_word(value) for value in values))


def probe_test(probe: str) -> Quoted:
    """Give the shell test that succeeds when a requirement is there already.

    ``python:MODULE`` imports the module with the task's interpreter, ``python:MODULE;STATEMENT``
    runs the statement too; anything else is a command that must be found.
    """
    kind, colon, body = probe.partition(":")
    if kind == "python" and colon:
        return Quoted(f'"$npac_python" -c {quote_word(f"import {body}")}')
    return Quoted(f"command -v {quote_word(probe)}")


def looks_expanding(values: list[object]) -> bool:
    """Say whether a linter could take one of ``values`` for text that its author wants expanded."""
    return any(mark in str(value) for value in values for mark in "$`")


def render(template: str, values: Mapping[str, Any]) -> str:
    """Give the text of one script; it ends with a line feed.

    Raises ``jinja2.TemplateError`` for a template that does not exist, prints an unquoted value or
    names a value that is not given: faults of npac, not of a spec.
    """
    return _environment().get_template(f"{template}.sh.j2").render(values)


_REMEMBERED = 256
"""Scripts that are kept by :func:`render_again`; there are as many as a program has kinds of setup."""
_scripts: dict[tuple[str, str], str] = {}


def render_again(template: str, values: Mapping[str, Any]) -> str:
    """Give the text of a script that many tasks have in common; as :func:`render`, but made once.

    ``values`` must be plain data: text, truth values, lists and mappings of them.
    """
    key = (template, repr(values))
    found = _scripts.get(key)
    if found is None:
        if len(_scripts) >= _REMEMBERED:
            _scripts.clear()
        found = _scripts[key] = render(template, values)
    return found


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, Undefined
    from jinja2.exceptions import TemplateRuntimeError

    def only_quoted(value: object) -> object:
        if isinstance(value, Quoted | Undefined):
            return value
        raise TemplateRuntimeError(f"a script template prints {value!r:.60} without quoting it")

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        undefined=StrictUndefined,
        finalize=only_quoted,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(sh=quote_word, words=quote_words, probe=probe_test)
    environment.tests.update(expanding=looks_expanding)
    return environment
