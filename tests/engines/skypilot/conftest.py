"""Real SkyPilots, where there are any, against an API server of the tests' own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from npac.engines.skypilot.engine import SkyPilotEngine
from tests.engines.skypilot.fake_api import FakeApi

SKYPILOTS = ("NPAC_SKY_PYTHON", "NPAC_SKY012_PYTHON")
"""Variables that name the interpreter of a SkyPilot: the newest, and one of 0.12."""

USER = "npa-0123456789ab"


def interpreter(variable: str) -> Path:
    """Give the interpreter that a variable names, or skip the test."""
    python = os.environ.get(variable, "")
    if not python:
        pytest.skip(f"{variable} names no interpreter that has SkyPilot")
    return Path(python)


class Bench:
    """A SkyPilot, a home of its own, and the server that it is configured for."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.python = python
        self.api = FakeApi()
        home = folder / "home"
        home.mkdir()
        self.environ = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "SKYPILOT_USER_ID": USER,
            "SKYPILOT_API_SERVER_ENDPOINT": self.api.url,
            "SKYPILOT_DISABLE_USAGE_COLLECTION": "1",
        }
        self._made: list[SkyPilotEngine] = []

    def engine(self, **more: str) -> SkyPilotEngine:
        """Make an engine with a bridge of its own; ``more`` goes into its environment."""
        self._made.append(SkyPilotEngine(self.python.parent / "sky", environ={**self.environ, **more}))
        return self._made[-1]

    def close(self) -> None:
        for engine in self._made:
            engine.close()
        self.api.close()


@pytest.fixture(params=SKYPILOTS, scope="module")
def python(request: pytest.FixtureRequest) -> Path:
    """Each SkyPilot in turn."""
    return interpreter(request.param)


@pytest.fixture
def bench(python: Path, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(python, tmp_path)
    try:
        yield bench
    finally:
        bench.close()


@pytest.fixture(scope="module")
def shared(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A bench that the tests of a module share, because SkyPilot takes seconds to start."""
    bench = Bench(python, tmp_path_factory.mktemp("sky"))
    bench.engine()
    try:
        yield bench
    finally:
        bench.close()


@pytest.fixture
def api(shared: Bench) -> FakeApi:
    """The shared bench's server, as if nothing had ever been asked of it."""
    shared.api.forget()
    return shared.api


@pytest.fixture
def engine(shared: Bench, api: FakeApi) -> Iterator[SkyPilotEngine]:
    """The shared bench's engine, which has just looked at its server."""
    found = shared._made[0]
    found.about()
    api.seen.clear()
    yield found
    found._secrets.clear()
