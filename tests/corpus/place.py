"""Where the corpus is, what is in it, and which operator inputs two of its specs need."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from npac.api import Options

CORPUS = Path(
    os.environ.get("NPAC_CORPUS") or Path(__file__).resolve().parents[2] / ".." / "shared" / "corpus"
)
RUN_ID = "demo"
ASSUMPTIONS = ("default", "promote_checkpoint", "loop_back")

F = TypeVar("F", bound=Callable[..., Any])


def names() -> list[str]:
    """Give the names of the corpus specs, sorted; none where there is no corpus."""
    return sorted(path.stem for path in (CORPUS / "specs").glob("*.yaml"))


def each_spec(function: F) -> F:
    """Run a test once for every corpus spec; where there is no corpus, skip it and say so."""
    found: list[Any] = list(names())
    if not found:
        absent = pytest.mark.skip(reason=f"no corpus at {CORPUS}; set NPAC_CORPUS to run this test")
        found = [pytest.param("none", marks=absent)]
    marked: F = pytest.mark.parametrize("name", found)(function)
    return marked


def needs_corpus(function: F) -> F:
    """Skip a test where there is no corpus."""
    marked: F = pytest.mark.skipif(
        not names(), reason=f"no corpus at {CORPUS}; set NPAC_CORPUS to run this test"
    )(function)
    return marked


def spec_path(name: str) -> Path:
    """Give the file of a corpus spec."""
    return CORPUS / "specs" / f"{name}.yaml"


def expected(folder: str, name: str) -> dict[str, Any]:
    """Give what the corpus expects of a spec: ``folder`` is ``plans`` or ``tasks``."""
    data: dict[str, Any] = json.loads((CORPUS / folder / f"{name}.json").read_text(encoding="utf-8"))
    return data


def under(data: dict[str, Any], assumption: str) -> dict[str, Any]:
    """Give the entry for an assumption; ``any`` stands for all, and a string for another entry."""
    if "any" in data:
        assumption = "any"
    found = data[assumption]
    if isinstance(found, str):
        found = data[found]
    assert isinstance(found, dict)
    return found


def given(name: str) -> Options:
    """Give the operator inputs with which the corpus made a spec's tasks."""
    inputs = expected("tasks", name).get("given")
    if inputs is None:
        return Options()
    image = inputs["image for every tool"]
    values = dict(inputs["vars"])
    if name == "sim2real":
        values |= dict.fromkeys(SIM2REAL_IMAGES, image)
        return Options(vars=values)
    return Options(vars=values, pins={CHECKPOINT_IMAGE: image})


SIM2REAL_IMAGES = (
    "controller_image",
    "transfer_image",
    "envgen_image",
    "reason_image",
    "isaac_image",
    "viewer_image",
)
CHECKPOINT_IMAGE = "ghcr.io/nebius/nebius-physical-ai/npa-cosmos3:1.2.2-cu130-r6"
NEEDY = ("sim2real", "cosmos3-checkpoint-eval")
"""The specs that leave operator inputs empty."""
