"""Only what asks about paths or lays out a drawing pays for networkx."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.specs import GOOD
from tests.api.test_imports import among, modules


@pytest.mark.parametrize(
    ("argv", "asked"),
    [
        (("plan", "spec.yaml"), True),
        (("graph", "spec.yaml", "--format", "svg"), True),
        (("graph", "spec.yaml", "--format", "mmd"), False),
        (("graph", "spec.yaml", "--format", "dot", "--unrolled"), False),
        (("compile", "spec.yaml"), False),
    ],
)
def test_networkx_is_imported_when_it_is_asked(argv: tuple[str, ...], asked: bool, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(GOOD, encoding="utf-8")
    code, names = modules(*argv, cwd=tmp_path)
    assert code in (0, None)
    assert bool(among(names, {"networkx"})) is asked
