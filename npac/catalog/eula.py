"""Which licence terms a step runs under."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from npac.catalog.model import Catalog, Tool


def terms_env(catalog: Catalog, tool: Tool | None, image: str, pod_env: Iterable[str] = ()) -> dict[str, str]:
    """Give the environment that accepts the terms of one step, by name; empty when there are none.

    The terms of an entry hold when the step's ``tool`` names them, whatever image it runs in; when
    ``image`` (a resolved reference, or "") is one of their repositories, under any registry, tag or
    digest; or when ``pod_env``, the names of the variables that the step's pod configuration sets,
    has one with their prefix, which is how a spec that brings its own image says what is in it.
    """
    repository = repository_name(image)
    names = tuple(pod_env)
    found: dict[str, str] = {}
    for name in sorted(catalog.eulas):
        eula = catalog.eulas[name]
        if (
            (tool is not None and tool.eula == name)
            or repository in eula.repositories
            or (
                eula.pod_env_prefixes
                and any(variable.startswith(eula.pod_env_prefixes) for variable in names)
            )
        ):
            found.update(eula.env)
    return dict(sorted(found.items()))


def repository_name(image: str) -> str:
    """Give the last part of an image's repository: ``"npa"`` for ``"docker:host:5000/team/npa:1"``."""
    last = image.partition("@")[0].rpartition("/")[2].removeprefix("docker:")
    return last.partition(":")[0]


def pod_env_names(pod_config: Mapping[str, Any] | None) -> list[str]:
    """Give the names of the variables that a Kubernetes pod configuration sets in its containers, in order.

    What is not of a pod's shape is passed over: its faults are found elsewhere.
    """
    spec = pod_config.get("spec") if isinstance(pod_config, Mapping) else None
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    found: list[str] = []
    for container in _list(containers):
        for variable in _list(container.get("env") if isinstance(container, Mapping) else None):
            name = variable.get("name") if isinstance(variable, Mapping) else None
            if isinstance(name, str):
                found.append(name)
    return found


def _list(value: Any) -> list[Any] | tuple[Any, ...]:
    return value if isinstance(value, list | tuple) else ()
