"""Semantic rules: every check of a spec, in the order in which they run.

A rule is a function from a :class:`~npac.flow.flow.Flow` to findings.  To add one, write a module
beside those of its family, give its codes a line in ``npac/diagnostics/codes.py``, and list it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

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

RULES: tuple[Rule, ...] = (
    references.check,
    work.check,
    scripts.check,
    nul.check,
    groups.check,
    idle_children.check,
    loops.check,
    transitions.check,
    reach.check,
    needs.check,
    order.check,
    sources.check,
    written.check,
    mode.check,
    known.check,
    profiles.check,
    late_values.check,
    nodes.check,
    images.check,
    places.check,
    uris.check,
    uri_text.check,
    plain_text.check,
    shell_values.check,
    late_lengths.check,
    program_size.check,
    params.check,
    retyped.check,
    config_keys.check,  # last: by then every other rule has said which keys it reads
)
