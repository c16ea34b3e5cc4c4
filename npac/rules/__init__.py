"""Semantic rules: every check of a spec, in the order in which they run.

A rule is a module with a function ``check`` from a :class:`~npac.flow.flow.Flow` to findings, and with the
``CODES`` that it reports.  To add one, write it beside those of its family, list it here, and give each of
its codes a page in ``docs/rules``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from npac.diagnostics.codes import declare
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.flow import Flow
from npac.rules.artifacts import places, uri_text, uris
from npac.rules.control import (
    groups,
    idle_children,
    loops,
    needs,
    nul,
    program_size,
    reach,
    references,
    scripts,
    transitions,
    work,
)
from npac.rules.decisions import mode, sources, written
from npac.rules.resources import images, late_values, nodes, profiles
from npac.rules.secrets import plain_text
from npac.rules.tokens import config_keys, late_lengths, order, params, retyped, shell_values
from npac.rules.tools import known

Rule = Callable[[Flow], Iterable[Diagnostic]]

_MODULES = (
    references,
    work,
    scripts,
    nul,
    groups,
    idle_children,
    loops,
    transitions,
    reach,
    needs,
    order,
    sources,
    written,
    mode,
    known,
    profiles,
    late_values,
    nodes,
    images,
    places,
    uris,
    uri_text,
    plain_text,
    shell_values,
    late_lengths,
    program_size,
    params,
    retyped,
    config_keys,  # last: by then every other rule has said which keys it reads
)

RULES: tuple[Rule, ...] = tuple(module.check for module in _MODULES)

declare(row for module in _MODULES for row in getattr(module, "CODES", ()))
