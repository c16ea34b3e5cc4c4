"""Short ways to check small specs."""

from __future__ import annotations

from functools import lru_cache

from npac.catalog.model import Catalog
from npac.checking import Checked, check_bytes, settings_catalog
from npac.flow.flow import MAX_STEPS
from npac.flow.overrides import Overrides
from npac.pipeline import Settings
from npac.text.source import SourceFile

HEAD = "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: example}\n"
RUNTIME = (
    "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: example, executionMode: runtime}\n"
)
WORK = "states:\n  a: {run: {argv: [x]}, terminal: true}\n"
END = "  z: {terminal: true}\n"


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    """Give the shipped catalog."""
    return settings_catalog([])


def checked(
    body: str,
    *,
    head: str = HEAD,
    variables: tuple[tuple[str, str], ...] = (),
    sets: tuple[tuple[str, str], ...] = (),
    overlay: str = "",
    allow_new: bool = False,
    max_steps: int = MAX_STEPS,
    until: str = "check",
) -> Checked:
    """Check a spec made of ``head`` and ``body``."""
    files = (SourceFile("overlay.yaml", overlay),) if overlay else ()
    settings = Settings(catalog(), Overrides(files, sets, variables, allow_new), max_steps)
    return check_bytes("spec.yaml", (head + body).encode(), settings, until=until)


def codes(body: str, *, but: str = "", **options: object) -> str:
    """Give the codes of a spec's findings without ``NPA``, sorted, each once; those in ``but`` left out."""
    found = checked(body, **options).findings  # type: ignore[arg-type]
    left_out = {f"NPA{code}" for code in but.split()}
    return " ".join(sorted({item.code.id[3:] for item in found if item.code.id not in left_out}))
