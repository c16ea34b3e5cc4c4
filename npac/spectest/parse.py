"""Reading a test file: text to cases, with every fault of form found in one pass."""

from __future__ import annotations

import os
from typing import NamedTuple

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related
from npac.ir.verifier import valid_name
from npac.spectest import matchers
from npac.spectest.expect import expected
from npac.spectest.model import DECISIONS, RUN_ID, Case, Decisions, Suite, Text
from npac.syntax.reader import Reader
from npac.text.source import SourceFile
from npac.text.yaml_nodes import Map, Node, Scalar, Seq, parse_yaml

ENDING = ".test.yaml"
TOP_KEYS = ("spec", "defaults", "cases")
GIVEN_KEYS = (
    "vars", "sets", "config", "catalogs", "pins", "accelerators", "allow_new_vars", "run_id", "assume",
    "decide",
)  # fmt: skip
CASE_KEYS = ("name", *GIVEN_KEYS, "expect")
ASSUMPTIONS = ("promote_checkpoint", "loop_back", "default")

Entries = dict[str, tuple[Scalar, Node]]


class Parsed(NamedTuple):
    """A test file (None when there is nothing to go on with) and what is wrong in its form."""

    suite: Suite | None
    findings: list[Diagnostic]


def parse_suite(source: SourceFile) -> Parsed:
    """Read ``source``, a test file, into its cases."""
    report: list[Diagnostic] = []
    node, problems = parse_yaml(source)
    for problem in problems:
        related = (Related(*problem.related),) if problem.related else ()
        report.append(finding(problem.kind, problem.message, problem.span, problem.help, related=related))
    if node is None:
        if not report:
            report.append(
                finding("missing-key", "the file holds no test", source.span(0, 0), "add cases: [...]")
            )
        return Parsed(None, report)
    reader = Reader(report)
    top = reader.mapping(node, "a test file", "begin with cases:")
    if top is None:
        return Parsed(None, report)
    suite = _suite(reader, source, top)
    return Parsed(suite, report)


def _suite(reader: Reader, source: SourceFile, top: Map) -> Suite | None:
    before = len(reader.report)
    entries = reader.known_keys(top, TOP_KEYS, "a test file")
    folder = os.path.dirname(source.path)
    spec, spec_at = source.path.removesuffix(ENDING) + ".yaml", top.span
    if "spec" in entries:
        given = matchers.text(reader, entries["spec"][1], "spec")
        if given is not None:
            spec, spec_at = os.path.normpath(os.path.join(folder, given.value)), given.span
    defaults: Entries = {}
    if "defaults" in entries:
        mapping = reader.mapping(entries["defaults"][1], "defaults", "write defaults: {vars: {key: value}}")
        if mapping is not None:
            defaults = reader.known_keys(mapping, GIVEN_KEYS, "defaults")
            _Given(reader, folder).case(Text("", mapping.span), defaults, {})
    if "cases" not in entries:
        if len(reader.report) == before:
            help_text = "add cases: [{name: ..., expect: ...}]"
            reader.add("missing-key", "the test file has no cases", top, help_text)
        return None
    items = reader.sequence(entries["cases"][1], "cases", "write each as - name: ...")
    cases: list[Case] = []
    names: dict[str, Text] = {}
    for item in items or ():
        case = _case(reader, item, folder, defaults)
        if case is None:
            continue
        first = names.setdefault(case.name.value, case.name)
        if first is not case.name:
            reader.report.append(
                finding(
                    "bad-name",
                    f"two cases are called {case.name.value!r:.80}",
                    case.name.span,
                    "give each a name of its own",
                    related=(Related("the first is here", first.span),),
                )
            )
        cases.append(case)
    if items is not None and not items:
        reader.add("missing-key", "the test file has no case", entries["cases"][1], "add one, or remove it")
    return Suite(source, spec, spec_at, tuple(cases))


def _case(reader: Reader, node: Node, folder: str, defaults: Entries) -> Case | None:
    mapping = reader.mapping(node, "a case", "write - name: ...")
    if mapping is None:
        return None
    entries = reader.known_keys(mapping, CASE_KEYS, "a case")
    name = matchers.text(reader, entries["name"][1], "the name of a case") if "name" in entries else None
    if "name" not in entries:
        reader.add("missing-key", "the case has no name", mapping, "add name: ...")
    elif name is not None and not name.value.strip():
        reader.add("bad-name", "the name of a case must not be empty", entries["name"][1])
        name = None
    before = len(reader.report)
    case = _Given(reader, folder).case(name or Text("", mapping.span), entries, defaults)
    return case if name is not None and len(reader.report) == before else None


class _Given:
    """Reads the keys by which a case says what is given."""

    def __init__(self, reader: Reader, folder: str) -> None:
        self.reader = reader
        self.folder = folder

    def case(self, name: Text, own: Entries, defaults: Entries) -> Case:
        """Read a case; a mapping of its own is laid over the default one, anything else replaces it."""
        entries = {**defaults, **own}
        node = entries["expect"][1] if "expect" in entries else None
        return Case(
            name=name,
            expected=expected(self.reader, node),
            vars=self._table("vars", own, defaults),
            sets=self._table("sets", own, defaults),
            config=self._files(entries.get("config"), "config"),
            catalogs=self._files(entries.get("catalogs"), "catalogs"),
            pins=self._table("pins", own, defaults),
            accelerators=self._table("accelerators", own, defaults),
            allow_new_vars="allow_new_vars" in entries
            and self.reader.boolean(entries["allow_new_vars"][1], "allow_new_vars"),
            run_id=self._run_id(entries.get("run_id")),
            assume=matchers.one_of(self.reader, entries["assume"][1], "assume", ASSUMPTIONS)
            if "assume" in entries
            else None,
            decide=self._decide(own, defaults),
        )

    def _table(self, key: str, own: Entries, defaults: Entries) -> tuple[tuple[str, str], ...]:
        found: dict[str, str] = {}
        for entries in (defaults, own):
            mapping = (
                self.reader.mapping(entries[key][1], key, f"write {key}: {{name: value}}")
                if (key in entries)
                else None
            )
            for name, (_, value) in (mapping.entries if mapping is not None else {}).items():
                said = matchers.text(self.reader, value, f"the value of {name!r:.80} in {key}")
                if said is not None:
                    found[name] = said.value
        return tuple(found.items())

    def _files(self, entry: tuple[Scalar, Node] | None, key: str) -> tuple[str, ...]:
        if entry is None:
            return ()
        names = matchers.texts(self.reader, entry[1], key)
        return tuple(os.path.normpath(os.path.join(self.folder, name.value)) for name in names)

    def _run_id(self, entry: tuple[Scalar, Node] | None) -> str:
        if entry is None:
            return RUN_ID
        found = matchers.text(self.reader, entry[1], "run_id")
        if found is None:
            return RUN_ID
        if not valid_name(found.value):
            self.reader.add(
                "bad-name",
                f"{found.value!r:.120} cannot be a run id",
                entry[1],
                "use 1 to 96 letters, digits, '.', '_' and '-', the first a letter or digit",
            )
        return found.value

    def _decide(self, own: Entries, defaults: Entries) -> tuple[Decisions, ...]:
        found: dict[str, Decisions] = {}
        for entries in (defaults, own):
            if "decide" not in entries:
                continue
            help_text = "write decide: {GATE: [loop_back, promote]}"
            mapping = self.reader.mapping(entries["decide"][1], "decide", help_text)
            for gate, (key, value) in (mapping.entries if mapping is not None else {}).items():
                found[gate] = Decisions(Text(gate, key.span), self._answers(gate, value))
        return tuple(found.values())

    def _answers(self, gate: str, node: Node) -> tuple[Text, ...]:
        what = f"a decision of {gate!r:.80}"
        items = node.items if isinstance(node, Seq) else [node]
        found = (matchers.one_of(self.reader, item, what, DECISIONS) for item in items)
        answers = tuple(Text(DECISIONS[item.value], item.span) for item in found if item is not None)
        if isinstance(node, Seq) and not node.items:
            self.reader.add("missing-key", f"{gate!r:.80} is given no decision", node, "give at least one")
        return answers
