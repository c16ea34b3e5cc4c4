"""The public Python API: check, compile, plan, run, status, and all else that the command line does.

Everything that the command line does goes through these functions.  What a user can mend is raised
as :class:`NpacError` with a remedy; faults of a spec are values (:class:`Diagnostic`), except where
a function needs a sound spec and raises :class:`SpecError`, which holds them.

A name is imported from its module when it is first asked for, so that importing this package costs
next to nothing, and a check imports what a check needs.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from npac.api.catalog import ToolEntry, tools
    from npac.api.checking import Options, SpecError, check, parse_pair, wants_strict
    from npac.api.comparing import Difference, check_drift, diff
    from npac.api.compiling import Compiled, build, compile, load, preview
    from npac.api.drawing import GRAPH_FORMATS, Drawn, drawn, graph, graph_format
    from npac.api.linking import parse_accelerators, parse_pins
    from npac.api.mending import Mended, mend
    from npac.api.pages import SCHEMAS, codes, explain, schema
    from npac.api.planning import Planned, parse_decisions, plan, planned
    from npac.api.running import clean, project_ledger, resume, run, status
    from npac.api.testing import TEST_FORMATS, Tested, find_tests, run_tests, test
    from npac.checking import Checked, ProjectError, read_bytes
    from npac.diagnostics.diagnostic import Diagnostic, Severity
    from npac.discovery import excluder, find_specs, keep_specs
    from npac.errors import NpacError
    from npac.flow.flow import MAX_STEPS
    from npac.ledger.fold import LedgerFault, LedgerReport
    from npac.operations import (
        answer,
        cancel,
        damage,
        decide,
        events,
        examine,
        examine_all,
        fsck,
        holder,
        logs,
        restore,
        retry,
        runs,
        runs_place,
        strays,
        verify,
        why,
    )
    from npac.pipeline import MAX_NODES
    from npac.runtime.options import Driven, RunOptions, RunResult, result_of
    from npac.runtime.progress import Progress
    from npac.runtime.view import DecisionView, LaunchView, RunView, WaveView
    from npac.syntax.nearest import nearest

__all__ = [
    "GRAPH_FORMATS",
    "MAX_NODES",
    "MAX_STEPS",
    "SCHEMAS",
    "TEST_FORMATS",
    "Checked",
    "Compiled",
    "DecisionView",
    "Diagnostic",
    "Difference",
    "Drawn",
    "Driven",
    "LaunchView",
    "LedgerFault",
    "LedgerReport",
    "Mended",
    "NpacError",
    "Options",
    "Planned",
    "Progress",
    "ProjectError",
    "RunOptions",
    "RunResult",
    "RunView",
    "Severity",
    "SpecError",
    "Tested",
    "ToolEntry",
    "WaveView",
    "answer",
    "build",
    "cancel",
    "check",
    "check_drift",
    "clean",
    "codes",
    "compile",
    "damage",
    "decide",
    "diff",
    "drawn",
    "events",
    "examine",
    "examine_all",
    "excluder",
    "explain",
    "find_specs",
    "find_tests",
    "fsck",
    "graph",
    "graph_format",
    "holder",
    "keep_specs",
    "load",
    "logs",
    "mend",
    "nearest",
    "parse_accelerators",
    "parse_decisions",
    "parse_pair",
    "parse_pins",
    "plan",
    "planned",
    "preview",
    "project_ledger",
    "read_bytes",
    "restore",
    "result_of",
    "resume",
    "retry",
    "run",
    "run_tests",
    "runs",
    "runs_place",
    "schema",
    "status",
    "strays",
    "test",
    "tools",
    "verify",
    "wants_strict",
    "why",
]

_HOMES = {
    "npac.api.catalog": "ToolEntry tools",
    "npac.api.checking": "Options SpecError check parse_pair wants_strict",
    "npac.api.comparing": "Difference check_drift diff",
    "npac.api.compiling": "Compiled build compile load preview",
    "npac.api.drawing": "GRAPH_FORMATS Drawn drawn graph graph_format",
    "npac.api.linking": "parse_accelerators parse_pins",
    "npac.api.mending": "Mended mend",
    "npac.api.pages": "SCHEMAS codes explain schema",
    "npac.api.planning": "Planned parse_decisions plan planned",
    "npac.api.running": "clean project_ledger resume run status",
    "npac.api.testing": "TEST_FORMATS Tested find_tests run_tests test",
    "npac.checking": "Checked ProjectError read_bytes",
    "npac.diagnostics.diagnostic": "Diagnostic Severity",
    "npac.discovery": "excluder find_specs keep_specs",
    "npac.errors": "NpacError",
    "npac.flow.flow": "MAX_STEPS",
    "npac.ledger.fold": "LedgerFault LedgerReport",
    "npac.operations": (
        "answer cancel damage decide events examine examine_all fsck holder logs restore retry runs "
        "runs_place strays verify why"
    ),
    "npac.pipeline": "MAX_NODES",
    "npac.runtime.options": "Driven RunOptions RunResult result_of",
    "npac.runtime.progress": "Progress",
    "npac.runtime.view": "DecisionView LaunchView RunView WaveView",
    "npac.syntax.nearest": "nearest",
}
"""Where each name is defined; as in the imports above, which only type checkers read."""


if not TYPE_CHECKING:  # a type checker is to see no more names than those above

    def __getattr__(name: str) -> Any:
        """Import a public name from its module; from then on it is an attribute like any other."""
        for home, names in _HOMES.items():
            if name in names.split():
                from importlib import import_module

                value = globals()[name] = getattr(import_module(home), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
