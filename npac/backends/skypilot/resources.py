"""A resource profile as a SkyPilot ``resources`` block."""

from __future__ import annotations

import re

from npac.backends.errors import BackendError
from npac.ir.program import Step, Tree

KUBERNETES = "kubernetes"
_QUANTITY = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>Gi|G)?(?P<more>\+?)")


def on_kubernetes(step: Step) -> bool:
    """Say whether the step's profile names Kubernetes as its cloud."""
    return step.profile.get("cloud") == KUBERNETES


def resources(step: Step) -> dict[str, Tree]:
    """Give the ``resources`` block of a step; empty when its profile asks for nothing.

    SkyPilot reads memory as GiB, so the unit is dropped.  On Kubernetes, ``cpus`` and ``memory`` are
    lower bounds and ``disk_size`` is the pod's ephemeral storage; elsewhere ``disk_size`` is left
    out.  Raises :class:`BackendError` for a quantity that is none.
    """
    profile = step.profile
    kubernetes = on_kubernetes(step)
    block: dict[str, Tree] = {}
    for key in ("cloud", "region"):
        if profile.get(key):
            block[key] = profile[key]
    accelerators = profile.get("accelerators")
    if accelerators:
        block["accelerators"] = sort_keys(accelerators)
    for key in ("cpus", "memory"):
        if profile.get(key) is not None:
            block[key] = _quantity(step, key, profile[key], more=kubernetes)
    if kubernetes and profile.get("disk_size") is not None:
        block["ephemeral_storage"] = _whole(step, "disk_size", profile["disk_size"])
    if step.image:
        block["image_id"] = f"docker:{step.image}"
    if profile.get("use_spot") is not None:
        block["use_spot"] = profile["use_spot"]
    return block


def sort_keys(tree: Tree) -> Tree:
    """Give ``tree`` anew with the keys of every mapping sorted.

    Key order is no part of a program's identity, so it may not show in what is made of it.
    """
    if isinstance(tree, dict):
        return {key: sort_keys(tree[key]) for key in sorted(tree)}
    if isinstance(tree, list):
        return [sort_keys(item) for item in tree]
    return tree


def _quantity(step: Step, key: str, tree: Tree, *, more: bool) -> str:
    match = _QUANTITY.fullmatch(_scalar_text(tree))
    if match is None or (key == "cpus" and match["unit"]):
        raise BackendError(_refusal(step, key, tree))
    return f"{match['number']}{'+' if more or match['more'] else ''}"


def _whole(step: Step, key: str, tree: Tree) -> int:
    text = _scalar_text(tree)
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise BackendError(_refusal(step, key, tree))
    return int(text)


def _scalar_text(tree: Tree) -> str:
    if isinstance(tree, bool) or not isinstance(tree, int | float | str):
        return ""
    if isinstance(tree, float) and tree.is_integer():
        return str(int(tree))
    return str(tree)


def _refusal(step: Step, key: str, tree: Tree) -> str:
    return f"state {step.state}: the profile {step.resources!r} has {key} {tree!r}, which is no quantity"
