"""The golden builds: which spec each is of, and what it is compiled with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from npac import api

REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = REPOSITORY / "golden"
WORKFLOWS = REPOSITORY / "workflows"
ZEROS = "sha256:" + "0" * 64


@dataclass(frozen=True)
class Case:
    """A golden build: its folder, its spec, and what it is compiled with."""

    folder: str
    spec: str
    vars: Mapping[str, str] = field(default_factory=dict)
    run_id: str | None = None

    def build(self, output: Path) -> None:
        """Write the build to the folder ``output``."""
        compiled = api.compile(WORKFLOWS / self.spec, api.Options(vars=self.vars))
        api.build(compiled, output, run_id=self.run_id)


# Two iterations show all that a loop compiles to.
CASES = (
    Case("quickstart", "quickstart.yaml"),
    Case("quickstart-linked", "quickstart.yaml", run_id="golden-run"),
    Case("gate-loop", "testing/gate-loop.yaml", {"max_iterations": "2"}),
    Case("inbox-trigger", "testing/inbox-trigger.yaml"),
    Case("own-scripts", "testing/own-scripts/own-scripts.yaml"),
    Case("parallel-sweep", "testing/parallel-sweep.yaml"),
    Case("s3-artifacts", "testing/s3-artifacts.yaml"),
    Case("two-node-shards", "testing/two-node-shards.yaml"),
    Case("gridworld-policy", "main/gridworld-policy.yaml", {"max_rounds": "2"}),
    Case(
        "baked-kubernetes",
        "partners/example/baked-kubernetes.yaml",
        {
            "source_sha": "0123456789abcdef0123456789abcdef01234567",
            "stage_image": f"registry.example.com/acme/stages@{ZEROS}",
            "trainer_image": f"registry.example.com/acme/trainer@{ZEROS}",
        },
    ),
)


def files(folder: Path) -> dict[str, bytes]:
    """Give the files of a folder by their paths in it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def specs_below(folder: Path) -> list[str]:
    """Give the specs below a folder, without the files that test them, by their paths in it."""
    paths = [path for path in folder.rglob("*.yaml") if not path.name.endswith(".test.yaml")]
    return sorted(path.relative_to(folder).as_posix() for path in paths)
