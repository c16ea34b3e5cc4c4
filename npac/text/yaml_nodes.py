"""YAML as nodes that know where they stand.

The C parser's events become scalars, sequences and mappings; no Python object is ever built from
a tag.  Scalars keep their author's text.  Aliases are shared, bounded in number and depth, and an
alias's node carries the place where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import yaml

from npac.text.scalar_map import Places, inner_offsets
from npac.text.source import MAX_ALIKE, SourceFile, Span

MAX_DEPTH = 100
MAX_ALIASED_NODES = 200_000
MAX_ALIASED_TEXT = 16 << 20
"""Characters that the aliases of a document stand for."""

_SAFE_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map", "timestamp")
)
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))
_STRING_TAGS = frozenset(("tag:yaml.org,2002:str", "!"))
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE = frozenset(("true", "True", "TRUE"))
_FALSE = frozenset(("false", "False", "FALSE"))


class YamlProblem(NamedTuple):
    """A fault of the YAML itself; ``kind`` is a name of a diagnostic, ``related`` a (message, span) pair."""

    kind: str
    message: str
    span: Span
    help: str = ""
    related: tuple[str, Span] | None = None


class Scalar:
    """A scalar with its author's text.  ``style`` is ``""`` for plain, else the quote or block mark."""

    __slots__ = ("_offsets", "aliased", "end", "source", "start", "style", "value")
    kind = "scalar"
    _offsets: int | Places | None

    def __init__(self, source: SourceFile, start: int, end: int, value: str, style: str) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.value = value
        self.style = style
        self.aliased = False

    @property
    def span(self) -> Span:
        """Where the scalar stands (where the alias stands, for an aliased one)."""
        return Span(self.source, self.start, self.end)

    @property
    def is_null(self) -> bool:
        """Say whether this is YAML's null."""
        return self.style == "" and self.value in _NULLS

    @property
    def boolean(self) -> bool | None:
        """The boolean that the plain scalar is, or None."""
        if self.style == "":
            if self.value in _TRUE:
                return True
            if self.value in _FALSE:
                return False
        return None

    def inner(self, start: int, end: int) -> Span:
        """Give the place in the file of the characters ``start`` to ``end`` of the value.

        For an alias this is the place of the alias.
        """
        if self.aliased:
            return self.span
        offsets = self._found_offsets()
        if offsets is None or not 0 <= start <= end <= len(self.value):
            return self.span
        if isinstance(offsets, int):
            return Span(self.source, offsets + start, offsets + end)
        if start == end:
            at = offsets.starts[start] if start < len(self.value) else (offsets.ends or [self.end])[-1]
            return Span(self.source, at, at)
        return Span(self.source, offsets.starts[start], offsets.ends[end - 1])

    def _found_offsets(self) -> int | Places | None:
        """Give the map of the value's characters, which is found once: a long text may hold many tokens."""
        try:
            return self._offsets
        except AttributeError:
            found = inner_offsets(self.source.text, self.start, self.end, self.value, self.style)
            self._offsets = found
            return found


class Seq:
    """A sequence of nodes."""

    __slots__ = ("depth", "end", "items", "size", "source", "start")
    kind = "sequence"

    def __init__(self, source: SourceFile, start: int) -> None:
        self.source = source
        self.start = start
        self.end = start
        self.items: list[Node] = []
        self.size = 1
        self.depth = 1

    @property
    def span(self) -> Span:
        """Where the sequence stands."""
        return Span(self.source, self.start, self.end)


class Map:
    """A mapping in its author's order; every key is a scalar and stands once."""

    __slots__ = ("depth", "end", "entries", "size", "source", "start")
    kind = "mapping"

    def __init__(self, source: SourceFile, start: int) -> None:
        self.source = source
        self.start = start
        self.end = start
        self.entries: dict[str, tuple[Scalar, Node]] = {}
        self.size = 1
        self.depth = 1

    @property
    def span(self) -> Span:
        """Where the mapping stands."""
        return Span(self.source, self.start, self.end)

    def get(self, key: str) -> Node | None:
        """Give the value of ``key``, or None."""
        entry = self.entries.get(key)
        return entry[1] if entry else None

    def key(self, key: str) -> Scalar | None:
        """Give the key's own node, or None."""
        entry = self.entries.get(key)
        return entry[0] if entry else None


Node: TypeAlias = "Scalar | Seq | Map"


class _Stop(Exception):
    """The document cannot be read further."""


def parse_yaml(source: SourceFile) -> tuple[Node | None, list[YamlProblem]]:
    """Read one YAML document.

    Gives its top node (None when there is none, or when the text could not be read to its end)
    and the problems found; reading goes on after those that allow it.
    """
    builder = _Builder(source)
    whole = True
    try:
        builder.run()
    except _Stop:
        whole = False
    except yaml.YAMLError as error:
        whole = False
        builder.problems.append(_syntax_problem(source, error))
    except UnicodeEncodeError as error:
        whole = False
        message = "a lone surrogate stands here, which is no character"
        builder.problems.append(
            YamlProblem("yaml-syntax", message, source.span(error.start, error.end), "remove it")
        )
    builder.close()
    return builder.root if whole else None, builder.problems


def _syntax_problem(source: SourceFile, error: yaml.YAMLError) -> YamlProblem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None)
    context = getattr(error, "context", None)
    if mark is not None:
        at = min(mark.index, len(source.text))
    else:
        at = _unreadable_at(source.text)
    if problem is not None and "nesting depth" in problem:
        return _too_deep(source, at)
    if problem is None:
        message = "a control character stands here that YAML does not allow"
        return YamlProblem(
            "yaml-syntax", message, source.span(at, min(at + 1, len(source.text))), "remove it"
        )
    start = source.text.rfind("\n", 0, at) + 1
    indent = source.text[start : at + 1]
    if "\t" in indent and not indent.strip():
        tab = start + indent.index("\t")
        return YamlProblem(
            "yaml-syntax",
            "a tab indents this line, and YAML allows only blanks there",
            source.span(tab, tab + 1),
            "replace the tab with blanks",
        )
    message = f"{context}, {problem}" if context else str(problem)
    related = None
    other = getattr(error, "context_mark", None)
    if other is not None and other.index != getattr(mark, "index", None):
        place = min(other.index, len(source.text))
        related = ("it begins here", source.span(place, place))
    help_text = "look at the indentation, quotes and colons of this line and the one above"
    return YamlProblem(
        "yaml-syntax", message, source.span(at, min(at + 1, len(source.text))), help_text, related
    )


def _after_properties(text: str, at: int, end: int) -> int:
    """Give where a node itself begins, behind its anchor and tag and what stands between."""
    while at < end and text[at] in "&!":
        verbatim = text[at : at + 2] == "!<"
        while at < end and not (text[at] == ">" if verbatim else text[at].isspace()):
            at += 1
        at += verbatim
        while at < end and (text[at].isspace() or text[at] == "#"):
            line = text[at] == "#"
            at += 1
            while line and at < end and text[at] not in "\r\n":
                at += 1
    return at


def _block_end(text: str, start: int, end: int) -> int:
    """Give the end of a block scalar's last line; the C parser goes on to the next token."""
    while end > start:
        at = end
        while at > start and text[at - 1] in " \t":
            at -= 1
        if at == start or text[at - 1] not in "\r\n":
            break  # blanks at the end of the last line are part of it
        end = at - 1
    return end


def _too_deep(source: SourceFile, at: int) -> YamlProblem:
    at = min(at, max(len(source.text) - 1, 0))
    message = f"data is nested more than {MAX_DEPTH} levels deep here"
    return YamlProblem("nesting-too-deep", message, source.span(at, at + 1), "flatten the structure")


def _first_word(text: str, at: int) -> str:
    words = text[at : at + 80].split(None, 1)
    return words[0] if words else ""


def _unreadable_at(text: str) -> int:
    for at, char in enumerate(text):
        code = ord(char)
        if (code < 32 and char not in "\t\n\r") or code == 127 or (0x80 <= code < 0xA0 and code != 0x85):
            return at
        if 0xD800 <= code < 0xE000 or code in (0xFFFE, 0xFFFF):
            return at
    return 0


if TYPE_CHECKING:

    class _Mark(Protocol):
        index: int

    class _Event(Protocol):
        """An event as the C parser gives it: always with its marks, which PyYAML's stubs leave open."""

        start_mark: _Mark
        end_mark: _Mark
        anchor: str
        tag: str | None
        style: str | None
        value: str


class _Builder:
    """Builds nodes from events with a stack of its own, so that depth costs no host stack."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.root: Node | None = None
        self.problems: list[YamlProblem] = []
        self.anchors: dict[str, Node] = {}
        self.open_anchors: set[int] = set()
        self.aliased_nodes = 0
        self.aliased_text = 0
        self.weights: dict[int, int] = {}
        self.alike: dict[str, int] = {}
        self.beyond: dict[str, Span] = {}
        self.stack: list[Seq | Map] = []
        self.keys: list[Scalar | None] = []
        self.merges: list[list[tuple[Scalar, Node]]] = []

    def run(self) -> None:
        loader = yaml.CSafeLoader(self.source.text)
        try:
            self._read(loader)
        finally:
            loader.dispose()

    def close(self) -> None:
        """Say how many problems of each kind were left out."""
        for kind, span in self.beyond.items():
            message = f"{self.alike[kind] - MAX_ALIKE:,} more of this kind begin here, which are not listed"
            self.problems.append(YamlProblem(kind, message, span, "mend the others first"))

    def _lists(self, kind: str, node: Node) -> bool:
        """Count a problem at ``node``, and say whether it is listed."""
        count = self.alike[kind] = self.alike.get(kind, 0) + 1
        if count <= MAX_ALIKE:
            return True
        if count == MAX_ALIKE + 1:
            self.beyond[kind] = node.span
        return False

    def _weight(self, node: Node) -> int:
        """Give the characters that stand in a node, those behind its aliases too; each is counted once."""
        if isinstance(node, Scalar):
            return len(node.value)
        stack: list[Node] = [node]
        while stack:
            top = stack[-1]
            if isinstance(top, Scalar):
                stack.pop()
                continue
            inner: list[Node] = (
                top.items
                if isinstance(top, Seq)
                else [item for entry in top.entries.values() for item in entry]
            )
            mark = id(top.items) if isinstance(top, Seq) else id(top.entries)
            waiting = [item for item in inner if self._known_weight(item) is None]
            if waiting:
                stack.extend(waiting)
                continue
            self.weights[mark] = sum(self._known_weight(item) or 0 for item in inner)
            stack.pop()
        return self._known_weight(node) or 0

    def _known_weight(self, node: Node) -> int | None:
        if isinstance(node, Scalar):
            return len(node.value)
        return self.weights.get(id(node.items) if isinstance(node, Seq) else id(node.entries))

    def _read(self, loader: yaml.CSafeLoader) -> None:
        get: Callable[[], Any] = loader.get_event
        source, stack, keys = self.source, self.stack, self.keys
        scalar_event = yaml.ScalarEvent
        documents = 0
        while True:
            event = get()
            kind = type(event)
            if kind is scalar_event:
                # nearly all of a spec is plain and quoted scalars in mappings and lists, so these go straight
                style = event.style
                if event.anchor or event.tag is not None or style == "|" or style == ">" or not stack:
                    self._scalar(event)
                    continue
                value = event.value
                node = Scalar(source, event.start_mark.index, event.end_mark.index, value, style or "")
                parent = stack[-1]
                if type(parent) is Seq:
                    parent.size += 1
                    parent.items.append(node)
                elif keys[-1] is None:
                    parent.size += 1
                    keys[-1] = node
                else:
                    self._add(node)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._begin(event, kind is yaml.MappingStartEvent)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._finish(event)
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    at = event.start_mark.index
                    self.problems.append(
                        YamlProblem(
                            "several-documents",
                            "a second YAML document begins here; a spec is one document",
                            self.source.span(at, min(at + 3, len(self.source.text))),
                            "put the second workflow into a file of its own",
                        )
                    )
                    return
            elif kind is yaml.StreamEndEvent:
                return

    def _scalar(self, event: _Event) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        style = event.style or ""
        value = event.value
        if event.anchor or event.tag is not None:
            start = _after_properties(self.source.text, start, end)
        if style in ("|", ">"):
            end = _block_end(self.source.text, start, end)
        node = Scalar(self.source, start, end, value, style)
        if event.tag is not None:
            if event.tag in _STRING_TAGS:
                node.style = style or "!"
            elif event.tag in _PLAIN_TAGS:
                node.style = ""  # `!!bool "true"` is what `true` is
            else:
                self._check_tag(event)
        if event.anchor:
            self.anchors[event.anchor] = node
        self._add(node)

    def _check_tag(self, event: _Event) -> None:
        tag = event.tag
        if tag is None or tag in _SAFE_TAGS or tag == "!":
            return
        at = event.start_mark.index
        if not self._lists("unsafe-tag", Scalar(self.source, at, at + 1, "", "")):
            return
        shown = tag.removeprefix("tag:yaml.org,2002:")
        self.problems.append(
            YamlProblem(
                "unsafe-tag",
                f"the tag !!{shown} asks for an object to be built, and specs hold only data"
                if tag.startswith("tag:yaml.org")
                else f"the tag {shown} is not known; specs hold only plain data",
                self.source.span(at, at + len(_first_word(self.source.text, at))),
                "remove the tag",
            )
        )

    def _begin(self, event: _Event, mapping: bool) -> None:
        at = event.start_mark.index
        if event.tag is not None:
            self._check_tag(event)
        if len(self.stack) >= MAX_DEPTH:
            self._too_deep(at)
        node: Seq | Map = Map(self.source, at) if mapping else Seq(self.source, at)
        if event.anchor:
            self.anchors[event.anchor] = node
            self.open_anchors.add(id(node))
        self.stack.append(node)
        self.keys.append(None)
        self.merges.append([])

    def _too_deep(self, at: int) -> None:
        self.problems.append(_too_deep(self.source, at))
        raise _Stop

    def _finish(self, event: _Event) -> None:
        node = self.stack.pop()
        self.keys.pop()
        merges = self.merges.pop()
        end = event.end_mark.index
        if event.start_mark.index == end:
            # block collections end at the next token; their last child knows better
            end = self._last_end(node)
        node.end = max(end, node.start)
        if merges and isinstance(node, Map):
            self._merge(node, merges)
        self.open_anchors.discard(id(node))
        self._add(node)

    @staticmethod
    def _last_end(node: Seq | Map) -> int:
        if isinstance(node, Seq):
            return node.items[-1].end if node.items else node.start
        end = node.start
        for key, value in reversed(node.entries.values()):
            end = max(key.end, value.end)
            break
        return end

    def _alias(self, event: _Event) -> None:
        at, end = event.start_mark.index, event.end_mark.index
        span = self.source.span(at, end)
        target = self.anchors.get(event.anchor)
        if target is None:
            self.problems.append(
                YamlProblem(
                    "yaml-syntax",
                    f"the alias *{event.anchor} has no anchor &{event.anchor} above it",
                    span,
                    "define the anchor before its first use, or correct the name",
                )
            )
            raise _Stop
        if id(target) in self.open_anchors:
            self.problems.append(
                YamlProblem(
                    "alias-expansion",
                    f"the alias *{event.anchor} stands inside what it names, which would never end",
                    span,
                    "remove the alias",
                )
            )
            raise _Stop
        if isinstance(target, Scalar):
            scalar = Scalar(self.source, at, end, target.value, target.style)
            scalar.aliased = True
            self.aliased_nodes += 1
            copy: Node = scalar
        else:
            copy = Map(self.source, at) if isinstance(target, Map) else Seq(self.source, at)
            copy.end = end
            copy.size, copy.depth = target.size, target.depth
            if isinstance(copy, Map) and isinstance(target, Map):
                copy.entries = target.entries
            elif isinstance(copy, Seq) and isinstance(target, Seq):
                copy.items = target.items
            self.aliased_nodes += target.size
            if len(self.stack) + target.depth > MAX_DEPTH:
                self._too_deep(at)
        self.aliased_text += self._weight(target)
        if self.aliased_nodes > MAX_ALIASED_NODES or self.aliased_text > MAX_ALIASED_TEXT:
            what = f"{MAX_ALIASED_NODES:,} nodes"
            if self.aliased_nodes <= MAX_ALIASED_NODES:
                what = f"{MAX_ALIASED_TEXT >> 20} million characters"
            self.problems.append(
                YamlProblem(
                    "alias-expansion",
                    f"the aliases up to here stand for more than {what}",
                    span,
                    "write the data out, or use fewer aliases of aliases",
                )
            )
            raise _Stop
        self._add(copy)

    def _add(self, node: Node) -> None:
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        if not isinstance(node, Scalar):
            parent.size += node.size
            if node.depth >= parent.depth:
                parent.depth = node.depth + 1
        else:
            parent.size += 1
        if isinstance(parent, Seq):
            parent.items.append(node)
            return
        key = self.keys[-1]
        if key is None:
            if not isinstance(node, Scalar):
                if self._lists("complex-key", node):
                    self.problems.append(
                        YamlProblem(
                            "complex-key",
                            f"a {node.kind} cannot be a key here; keys are plain text",
                            node.span,
                            "write the key as text",
                        )
                    )
                node = Scalar(self.source, node.start, node.end, f"\0{node.start}", "!")
            self.keys[-1] = node
            return
        self.keys[-1] = None
        if key.style == "" and key.value == "<<":
            self.merges[-1].append((key, node))
            return
        first = parent.entries.get(key.value)
        if first is not None:
            if self._lists("duplicate-key", key):
                self.problems.append(
                    YamlProblem(
                        "duplicate-key",
                        f"the key {key.value!r} stands twice in one mapping",
                        key.span,
                        "remove one of the two, or rename it",
                        ("first given here", first[0].span),
                    )
                )
            return
        parent.entries[key.value] = (key, node)

    def _merge(self, node: Map, merges: list[tuple[Scalar, Node]]) -> None:
        for _, value in merges:
            sources = value.items if isinstance(value, Seq) else [value]
            for item in sources:
                if not isinstance(item, Map):
                    if self._lists("bad-merge-key", item):
                        self.problems.append(
                            YamlProblem(
                                "bad-merge-key",
                                "a merge key << takes a mapping, or a list of mappings",
                                item.span,
                                "name an anchored mapping, as in <<: *defaults",
                            )
                        )
                    continue
                for name, entry in item.entries.items():
                    if name not in node.entries:
                        node.entries[name] = entry
                        node.size += 1
