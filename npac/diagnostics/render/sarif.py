"""Findings as a SARIF 2.1.0 log, for code scanning services.

The format is the OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from npac._version import __version__
from npac.diagnostics.diagnostic import Code, Diagnostic, Fix
from npac.diagnostics.render.options import MANY, Options, rule_command
from npac.text.source import Span

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(diagnostics: Sequence[Diagnostic], options: Options) -> str:
    """Give a log with one run, indented, in plain ASCII; of very many results each has a line."""
    rules: dict[str, Code] = {found.code.id: found.code for found in diagnostics}
    index = {code: at for at, code in enumerate(sorted(rules))}
    few = len(diagnostics) <= MANY
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "npac",
                "version": __version__,
                "rules": [_rule(rules[code]) for code in index],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(found, index[found.code.id]) for found in diagnostics] if few else [],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    text = json.dumps(log, indent=2)
    if few:
        return text + "\n"
    head, _, tail = text.rpartition("[]")  # the list of results is the last of the log
    results = ",\n".join(json.dumps(_result(found, index[found.code.id])) for found in diagnostics)
    return f"{head}[\n{results}\n]{tail}\n"


def _message(text: str) -> dict[str, str]:
    """Give a message; braces and what looks like a link have a meaning there and are escaped (§3.11.5-6)."""
    text = text.replace("{", "{{").replace("}", "}}")
    if "](" in text:
        text = re.sub(r"[\\\[\]]", r"\\\g<0>", text)
    return {"text": text}


def _rule(code: Code) -> dict[str, Any]:
    """Give a rule with the text of its page: there is no place in the web that could be named."""
    from npac.resources import ResourceError, rule_text

    rule: dict[str, Any] = {"id": code.id, "name": code.name, "shortDescription": {"text": code.summary}}
    see = f"`{rule_command(code.id)}` prints the page about this code."
    try:
        # links between pages lead nowhere outside the repository that holds the pages
        page = re.sub(r"\[([^\]]+)\]\([^)\s]+\)", r"\1", rule_text(code.id)).strip()
    except ResourceError:
        rule["help"] = {"text": see}
    else:
        does = re.search(r"^## What it does\n+(.+?)(?=\n\n|\n#|\Z)", page, re.MULTILINE | re.DOTALL)
        rule["fullDescription"] = {"text": does[1].replace("\n", " ") if does else code.summary}
        rule["help"] = {"text": page, "markdown": page}
    rule["defaultConfiguration"] = {"level": code.severity.word}
    return rule


def _result(found: Diagnostic, index: int) -> dict[str, Any]:
    text = f"{found.message}\n{found.help}" if found.help else found.message
    result: dict[str, Any] = {
        "ruleId": found.code.id,
        "ruleIndex": index,
        "level": found.severity.word,
        "message": _message(text),
        "locations": [{"physicalLocation": _physical(found.span)}],
    }
    if found.related:
        # the standard asks for distinct locations; numbers keep equal places apart
        result["relatedLocations"] = [
            {"id": number, "message": _message(other.message), "physicalLocation": _physical(other.span)}
            for number, other in enumerate(found.related, 1)
        ]
    if found.fix is not None and found.fix.edits:
        result["fixes"] = [_fix(found.fix)]
    return result


def _fix(fix: Fix) -> dict[str, Any]:
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in fix.edits:
        changes.setdefault(edit.span.source.path, []).append(
            {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}
        )
    return {
        "description": _message(fix.message),
        "artifactChanges": [
            {"artifactLocation": _artifact(path), "replacements": replacements}
            for path, replacements in changes.items()
        ],
    }


def _physical(span: Span) -> dict[str, Any]:
    return {"artifactLocation": _artifact(span.source.path), "region": _region(span)}


def _region(span: Span) -> dict[str, int]:
    line, column, end_line, end_column = span.range()
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _artifact(path: str) -> dict[str, str]:
    """Give a location; a relative path stays relative to where the run happened."""
    if path[1:3] in (":\\", ":/"):  # a drive letter
        return {"uri": "file:///" + quote(path.replace("\\", "/"), safe="/:")}
    uri = quote(path.removeprefix("./"), safe="/", errors="surrogateescape")
    return {"uri": "file://" + uri if path.startswith("/") else uri}
