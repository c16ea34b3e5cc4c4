"""Reading YAML nodes as typed values: the one place where a wrong type becomes a finding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Edit, Fix, Related
from npac.syntax.ast import Count, Text
from npac.syntax.conditions import CountProblem, KeyRef, parse_count
from npac.syntax.language import ENV_PATTERN, NAME_PATTERN
from npac.syntax.nearest import Names, is_slip
from npac.syntax.templates import parse_template
from npac.text.source import MAX_ALIKE, Span
from npac.text.yaml_nodes import Map, Node, Scalar, Seq

NAME = re.compile(rf"{NAME_PATTERN}\Z")
ENV_NAME = re.compile(rf"{ENV_PATTERN}\Z")

_TOKEN_NAMES = ("unknown-scope", "unknown-transform")
_DOLLARS = ("${{", "${config.", "${run.", "${state.", "${loop.", "${params.", "${secrets.")
_YAML11_TRUE = frozenset(("yes", "Yes", "YES", "on", "On", "ON", "y", "Y"))
_YAML11_FALSE = frozenset(("no", "No", "NO", "off", "Off", "OFF", "n", "N"))


def shown(node: Node) -> str:
    """Say in words what a node is, for messages about wrong types."""
    if isinstance(node, Seq):
        return "a list"
    if isinstance(node, Map):
        return "a mapping"
    if node.is_null:
        return "nothing"
    if node.boolean is not None:
        return f"the boolean {node.value}"
    text = node.value if len(node.value) <= 40 else node.value[:37] + "..."
    return f"the text {text!r}"


class Reader:
    """Reads nodes into values and collects findings; a value that cannot be read is left out."""

    def __init__(self, report: list[Diagnostic]) -> None:
        self.report = report
        self._known: dict[tuple[str, ...], Names] = {}
        self._alike: dict[str, int] = {}
        self._beyond: dict[str, Span] = {}

    def add(
        self,
        name: str,
        message: str,
        node: Node | Scalar,
        help: str = "",
        *,
        related: tuple[Related, ...] = (),
    ) -> None:
        """Report a finding at a whole node."""
        if self._lists(name, node):
            self._put(name, message, node, help, related)

    def close(self) -> None:
        """Say how many findings of each kind were left out."""
        for name, span in self._beyond.items():
            message = f"{self._alike[name] - MAX_ALIKE:,} more of this kind begin here, which are not listed"
            self.report.append(finding(name, message, span, "mend the others first"))

    def _lists(self, name: str, node: Node) -> bool:
        """Count a finding, and say whether it is listed: of one kind there are at most ``MAX_ALIKE``."""
        count = self._alike[name] = self._alike.get(name, 0) + 1
        if count <= MAX_ALIKE:
            return True
        if count == MAX_ALIKE + 1:
            self._beyond[name] = node.span
        return False

    def _put(self, name: str, message: str, node: Node, help: str, related: tuple[Related, ...] = ()) -> None:
        self.report.append(finding(name, message, node.span, help, related=related))

    def wrong_type(self, node: Node, what: str, wanted: str, help: str = "") -> None:
        """Report that ``what`` must be ``wanted``."""
        if self._lists("wrong-type", node):
            message = f"{what} must be {wanted}, and this is {shown(node)}"
            self._put("wrong-type", message, node, help or f"write {wanted}")

    def mapping(self, node: Node, what: str, help: str = "") -> Map | None:
        """Read a mapping."""
        if isinstance(node, Map):
            return node
        self.wrong_type(node, what, "a mapping", help)
        return None

    def sequence(self, node: Node, what: str, help: str = "") -> list[Node] | None:
        """Read a list."""
        if isinstance(node, Seq):
            return node.items
        self.wrong_type(node, what, "a list", help)
        return None

    def scalar(self, node: Node, what: str, wanted: str = "text") -> Scalar | None:
        """Read a scalar that is not null."""
        if isinstance(node, Scalar) and not node.is_null:
            return node
        self.wrong_type(node, what, wanted)
        return None

    def text(self, node: Node, what: str) -> Text | None:
        """Read text that may hold tokens; malformed tokens are reported."""
        scalar = self.scalar(node, what)
        return self.template(scalar) if scalar is not None else None

    def template(self, scalar: Scalar) -> Text:
        """Parse the tokens of a scalar, reporting those that are malformed."""
        template = parse_template(scalar.value)
        for problem in template.problems:
            name = problem.kind if problem.kind in _TOKEN_NAMES else "bad-token"
            if not self._lists(name, scalar):
                continue
            span = scalar.inner(*(problem.mark or (problem.start, problem.end)))
            whole = scalar.inner(problem.start, problem.end)
            fix = None
            # only where the text stands in the file as it is: no alias, no escape, no folded line
            if problem.suggestion and whole.text == scalar.value[problem.start : problem.end]:
                edit = Edit(whole, problem.suggestion)
                fix = Fix(f"write {problem.suggestion}", (edit,), safe=False)
            self.report.append(finding(name, problem.message, span, problem.help, fix=fix))
        if scalar.value.count("{{") != len(template.tokens) or _has_dollar(scalar.value):
            self._foreign(scalar)
        return Text(scalar, template)

    def _foreign(self, scalar: Scalar) -> None:
        """Note what looks like a token of another tool."""
        from npac.syntax.foreign_tokens import foreign_tokens  # most specs have none

        for item in foreign_tokens(scalar.value):
            if self._lists("foreign-token", scalar):
                span = scalar.inner(item.start, item.end)
                self.report.append(finding("foreign-token", item.message, span, item.help))

    def plain_name(self, node: Node, what: str) -> Scalar | None:
        """Read a name: text without tokens."""
        scalar = self.scalar(node, what, "a name")
        if scalar is None:
            return None
        if "{{" in scalar.value:
            self.add(
                "token-in-name",
                f"{what} is a name, and a token cannot stand in a name",
                scalar,
                "write the name out; only values can be filled in",
            )
            return None
        return scalar

    def new_name(self, scalar: Scalar, what: str) -> bool:
        """Check a name that the spec defines; it becomes job names, object keys and file names."""
        if NAME.match(scalar.value) and scalar.value not in (".", ".."):
            return True
        if "{{" in scalar.value:
            self.plain_name(scalar, what)
            return False
        self.add(
            "bad-name",
            f"{what} {scalar.value!r:.120} cannot be used as a name",
            scalar,
            "use letters, digits, '.', '_' and '-', begin with a letter or digit, at most 96 characters",
        )
        return False

    def names(self, node: Node, what: str) -> tuple[Scalar, ...]:
        """Read a list of names."""
        items = self.sequence(node, what, f"write it as a list, as in `{what.split()[-1]}: [name]`")
        found = []
        for item in items or ():
            name = self.plain_name(item, f"an entry of {what}")
            if name is not None:
                found.append(name)
        return tuple(found)

    def boolean(self, node: Node, what: str) -> bool:
        """Read a boolean; the YAML 1.1 words are read with a note."""
        if isinstance(node, Scalar) and node.style == "":
            value = node.boolean
            if value is not None:
                return value
            for words, meaning in ((_YAML11_TRUE, True), (_YAML11_FALSE, False)):
                if node.value in words:
                    better = "true" if meaning else "false"
                    fix = Fix(f"write {better}", (Edit(node.span, better),))
                    message = f"{node.value!r} is a boolean only to some YAML readers"
                    self.report.append(
                        finding("retyped-scalar", message, node.span, f"write {better}", fix=fix)
                    )
                    return meaning
        self.wrong_type(node, what, "true or false", "write true or false, without quotes")
        return (
            isinstance(node, Scalar) and node.value.lower() == "true"
        )  # what was meant, for the other rules

    def count(self, node: Node, what: str) -> Count | None:
        """Read a whole number or the config key that holds one."""
        if not isinstance(node, Scalar) or node.is_null:
            self.wrong_type(node, what, "a whole number", "write a number, or one whole {{config.KEY}}")
            return None
        parsed = parse_count(node.value.strip())
        if isinstance(parsed, CountProblem):
            self.add("bad-number", f"{what} must be a whole number: {parsed.message}", node, parsed.help)
            return None
        if isinstance(parsed, KeyRef):
            return Count(node, None, parsed.key)
        return Count(node, parsed, None)

    def known_keys(
        self,
        mapping: Map,
        known: Iterable[str],
        where: str,
        aliases: Mapping[str, str] | None = None,
        *,
        guess: bool = False,
    ) -> dict[str, tuple[Scalar, Node]]:
        """Give the entries of a mapping by canonical key, reporting unknown and doubly spelt ones.

        Keys that begin with ``x-`` are always allowed and left out.  With ``guess``, for mappings of a
        spec, one that is a slip of the hand away from a known key is reported, and read as that key
        where nothing else gives it: what it holds is then not missed elsewhere.  One that another
        mapping of the language has is reported with the place where it belongs.
        """
        names = tuple(known)
        found: dict[str, tuple[Scalar, Node]] = {}
        slips: list[tuple[str, Scalar, Node]] = []
        for text, (key, value) in mapping.entries.items():
            if text.startswith(("x-", "\0")):  # NUL: a key that is no text, which was reported
                continue
            canonical = (aliases or {}).get(text)
            old = canonical is not None and canonical not in mapping.entries
            if canonical is not None and old and self._lists("old-spelling", key):
                fix = Fix(f"write {canonical}", (Edit(key.span, canonical),)) if key.style == "" else None
                self.report.append(
                    finding(
                        "old-spelling",
                        f"{text!r} is the old spelling of {canonical!r}",
                        key.span,
                        f"write {canonical}",
                        fix=fix,
                    )
                )
            if canonical is None:
                canonical = text
            if canonical not in names:
                if not self._lists("unknown-key", key):
                    continue
                place, same = _meant(text, names) if guess else ("", "")
                if same:
                    slips.append((same, key, value))
                near = [] if place else self._known.setdefault(names, Names(names)).nearest(text)
                if place:
                    help_text = place
                elif near:
                    help_text = f"did you mean {near[0]!r}?"
                    if guess and is_slip(text, near[0]):
                        slips.append((near[0], key, value))
                else:
                    help_text = (
                        "known keys: " + ", ".join(sorted(names)) + "; keys that begin with x- are ignored"
                    )
                self._put("unknown-key", f"{where} has no key {text!r:.80}", key, help_text)
                continue
            if canonical in found:
                first = found[canonical][0]
                self.add(
                    "both-spellings",
                    f"{canonical!r} is given in both spellings",
                    key,
                    f"keep {canonical} only",
                    related=(Related("first given here", first.span),),
                )
                continue
            found[canonical] = (key, value)
        for canonical, key, value in slips:
            found.setdefault(canonical, (key, value))
        return found


def _has_dollar(text: str) -> bool:
    return "${" in text and any(begin in text for begin in _DOLLARS)


def _meant(key: str, known: tuple[str, ...]) -> tuple[str, str]:
    from npac.syntax.elsewhere import belongs, foreign  # most specs never ask

    place = belongs(key, known)
    return (place, "") if place else foreign(key, known)
