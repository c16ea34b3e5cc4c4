"""Grammars, schemas and rule pages that ship with npac.

They live in the repository's ``grammar/``, ``schemas/`` and ``docs/rules/``; a built wheel carries the
same files as ``npac/_grammar``, ``npac/_schemas`` and ``npac/_rules``.
"""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


class ResourceError(RuntimeError):
    """A file that ships with npac is not there or cannot be read; the message names it and the remedy."""


def grammar_text(name: str) -> str:
    """Give the text of the grammar file ``name`` (``"tokens.lark"``).

    Raises ResourceError when there is no such grammar.
    """
    return _read("_grammar", "grammar", name)


def schema_text(name: str) -> str:
    """Give the text of the JSON Schema file ``name`` (``"npac.catalog.schema.json"``).

    Raises ResourceError when there is no such schema.
    """
    return _read("_schemas", "schemas", name)


def rule_text(code: str) -> str:
    """Give the page about the code ``code`` (``"NPA302"``), in Markdown.

    Raises ResourceError when there is no such page.
    """
    return _read("_rules", "docs/rules", f"{code}.md")


def _read(installed: str, checkout: str, name: str) -> str:
    if not name or name.startswith(".") or "/" in name or os.sep in name:
        raise ResourceError(f"{name!r} is not the plain name of a file in {checkout}/.")
    places = (
        os.path.join(_PACKAGE, installed, name),
        os.path.join(os.path.dirname(_PACKAGE), checkout, name),
    )
    for place in places:
        try:
            with open(place, encoding="utf-8") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise ResourceError(
                f"{place} ships with npac but cannot be read ({error}). "
                "Mend its permissions or install npac again."
            ) from error
    raise ResourceError(
        f"{name} ships with npac but is at neither {places[0]} nor {places[1]}. Install npac again."
    )
