"""What holds for all tests: they see nothing of the machine's user, and leave nothing with them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import npac.rules  # noqa: F401  # which declares the codes of the rules

# A machine that is busy with other things must not fail a test.
settings.register_profile("npac", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", settings.get_profile("npac"), max_examples=5_000)
settings.load_profile("soak" if os.environ.get("NPAC_SOAK") else "npac")

# Settings for the tests themselves, not for what they test.
_KEPT = frozenset(
    (
        "NPAC_CORPUS",
        "NPAC_SKY_PYTHON",
        "NPAC_SKY012_PYTHON",
        "NPAC_TOOL_FACTS",
        "NPAC_UPDATE_GOLDEN",
        "NPAC_UPDATE_SCHEMAS",
    )
)
_OWN = ("NPAC_", "NPA_", "AWS_", "SKYPILOT_", "XDG_", "GIT_")
_SHOWN = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES")


@pytest.fixture(scope="session", autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Take the user's own settings away and give an empty home, for the tests and what they start."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name not in _KEPT and (name.startswith(_OWN) or name in _SHOWN):
                patch.delenv(name)
        home = tmp_path_factory.mktemp("home")
        patch.setenv("HOME", str(home))
        yield
