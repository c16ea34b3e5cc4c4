"""The pages of ``docs/rules``: read as data, with their examples checked as npac checks specs.

An example is a fenced block whose info string says what it is:

    ```yaml bad also:NPA405 var:KEY=VALUE

The first word is ``yaml`` for a spec or ``toml`` for a project's configuration beside a small spec;
the second ``bad``, ``good`` or ``catalog`` (a tool catalog for both).  The rest is optional:
``also:CODE`` for another finding that the example cannot do without, ``var:KEY=VALUE`` for an
override, ``max-nodes:N`` to lower the program under that bound, ``escaped`` for a text in which
``\\xHH`` stands for a byte and ``\\uHHHH`` for a character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from npac.checking import ProjectError, check_bytes, project_for, settings_catalog
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.overrides import Overrides, split_pair
from npac.pipeline import MAX_NODES, Settings
from npac.project import Project

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "rules"
SECTIONS = ("What it does", "Why it is bad", "Example", "Use instead", "Fix safety", "Since")

_FENCE = re.compile(r"^```(\S+) (\S+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_ESCAPE = re.compile(rb"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})")
_PLAIN_SPEC = b"""\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: example}
states:
  train: {run: {shell: echo trained}, terminal: true}
"""


@dataclass(frozen=True)
class Example:
    """One fenced block."""

    language: str
    kind: str
    words: tuple[str, ...]
    text: str

    def options(self, name: str) -> list[str]:
        """Give the values of the words ``name:VALUE``."""
        return [word.partition(":")[2] for word in self.words if word.startswith(f"{name}:")]

    @property
    def data(self) -> bytes:
        """The bytes of the example."""
        data = self.text.encode()
        if "escaped" not in self.words:
            return data
        return _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()) if match[1] else _char(match), data)


def _char(match: re.Match[bytes]) -> bytes:
    return chr(int(match[2], 16)).encode()


@dataclass(frozen=True)
class Page:
    """One page, by its code."""

    code: str
    text: str
    examples: tuple[Example, ...] = field(default=())

    def example(self, kind: str) -> Example:
        """Give the one example of a kind."""
        (found,) = (item for item in self.examples if item.kind == kind)
        return found

    def section(self, title: str) -> str:
        """Give the text of a section."""
        return self.text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0].strip()

    @property
    def fix(self) -> str:
        """What the page says of a fix: ``safe``, ``unsafe`` or nothing."""
        first = self.section("Fix safety").split(maxsplit=1)[0]
        return {"No": "", "Safe": "safe", "Unsafe": "unsafe"}[first]


def read_page(path: Path) -> Page:
    """Read one page."""
    text = path.read_text(encoding="utf-8")
    examples = [
        Example(match[1], match[2], tuple(match[3].split()), match[4]) for match in _FENCE.finditer(text)
    ]
    return Page(path.stem, text, tuple(examples))


def all_pages() -> dict[str, Page]:
    """Read every page, by code."""
    return {path.stem: read_page(path) for path in sorted(FOLDER.glob("NPA*.md"))}


def findings(page: Page, example: Example, folder: Path, data: bytes | None = None) -> list[Diagnostic]:
    """Check an example (or ``data`` in its place) in ``folder`` and give its findings."""
    catalogs = [item for item in page.examples if item.kind == "catalog"]
    files = []
    for number, item in enumerate(catalogs):
        files.append(folder / f"catalog{number}.yaml")
        files[-1].write_bytes(item.data)
    content = example.data if data is None else data
    project: Project | None = None
    problems: list[Diagnostic] = []
    if example.language == "toml":
        (folder / "npac.toml").write_bytes(content)
        try:
            project, _ = project_for(str(folder / "spec.yaml"))
        except ProjectError as error:
            problems = error.checked.findings
        content = _PLAIN_SPEC
    pairs = tuple(pair for text in example.options("var") if (pair := split_pair(text)))
    (bound,) = example.options("max-nodes") or [str(MAX_NODES)]
    settings = Settings(settings_catalog(files), Overrides(vars=pairs), max_nodes=int(bound))
    until = "lower" if example.options("max-nodes") else "check"
    checked = check_bytes("spec.yaml", content, settings, project=project, until=until)
    return [*problems, *checked.findings]
