"""The pod config of a task on Kubernetes."""

from __future__ import annotations

from npac.backends.skypilot.resources import on_kubernetes, sort_keys
from npac.ir.program import Step, Tree

MAIN_CONTAINER = "ray-node"
"""The container that SkyPilot runs a task in."""
CACHES = (
    ("XDG_CACHE_HOME", "/tmp/npa-skypilot-xdg-cache"),
    ("UV_CACHE_DIR", "/tmp/npa-skypilot-uv-cache"),
)
"""Where the bootstrap of a baked image, which may own no writable home, keeps its caches."""


def config(step: Step) -> dict[str, Tree]:
    """Give the task's ``config`` block; empty when there is nothing to say.

    The profile is not changed: everything is built anew.  A baked image on Kubernetes gets cache
    folders that can be written, in the pod's environment because SkyPilot's own bootstrap reads
    them before any setup; a name that the spec sets already stays.
    """
    written = step.profile.get("kubernetes")
    kubernetes: dict[str, Tree] = {}
    if isinstance(written, dict):
        for key in ("pod_config", "provision_timeout"):
            if key in written:
                kubernetes[key] = sort_keys(written[key])
    if step.baked and on_kubernetes(step):
        kubernetes["pod_config"] = _with_caches(kubernetes.get("pod_config"))
    return {"kubernetes": kubernetes} if kubernetes else {}


def _with_caches(pod: Tree) -> Tree:
    """Give ``pod`` with the cache folders; it is fresh, so it may be changed in place."""
    root = pod if isinstance(pod, dict) else {}
    spec = root.setdefault("spec", {})
    if not isinstance(spec, dict):
        return root
    containers = spec.setdefault("containers", [])
    if not isinstance(containers, list):
        return root
    main = next(
        (item for item in containers if isinstance(item, dict) and item.get("name") == MAIN_CONTAINER), None
    )
    if main is None:
        main = {"name": MAIN_CONTAINER}
        containers.append(main)
    environment = main.setdefault("env", [])
    if isinstance(environment, list):
        named = {item.get("name") for item in environment if isinstance(item, dict)}
        environment.extend({"name": name, "value": value} for name, value in CACHES if name not in named)
    return root
