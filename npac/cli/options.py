"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from npac.api import MAX_NODES, MAX_STEPS, Options, parse_pair

F = TypeVar("F", bound=Callable[..., Any])

_SPEC_OPTIONS = (
    click.option(
        "--var", "variables", multiple=True, metavar="KEY=VALUE", help="Override a config key with data."
    ),
    click.option(
        "--set", "sets", multiple=True, metavar="KEY=TEMPLATE", help="Override a config key; tokens are read."
    ),
    click.option(
        "--config",
        "config_files",
        multiple=True,
        metavar="FILE",
        help="Lay a YAML file of config over the spec's.",
    ),
    click.option("--catalog", "catalogs", multiple=True, metavar="FILE", help="Add a tool catalog."),
    click.option(
        "--allow-new-vars", is_flag=True, help="Let overrides name config keys that nothing declares."
    ),
    click.option(
        "--max-steps", type=click.IntRange(1), default=MAX_STEPS, show_default=True, help="Longest walk."
    ),
    click.option(
        "--max-nodes", type=click.IntRange(1), default=MAX_NODES, show_default=True, help="Largest program."
    ),
)
_LINK_OPTIONS = (
    click.option(
        "--pin",
        "pins",
        multiple=True,
        metavar="IMAGE=REF@sha256:…",
        help="Use a digest for an image, as written.",
    ),
    click.option(
        "--accelerator", "accelerators", multiple=True, metavar="FROM=TO[:N]", help="Use another accelerator."
    ),
)


def spec_options(function: F) -> F:
    """Add the options that decide what a spec compiles to."""
    for option in reversed(_SPEC_OPTIONS):
        function = option(function)
    return function


def link_options(function: F) -> F:
    """Add the options that take effect when a program is linked."""
    for option in reversed(_LINK_OPTIONS):
        function = option(function)
    return function


def take_options(values: dict[str, Any]) -> Options:
    """Take the shared options out of a command's arguments and give them as one value."""
    return Options(
        vars=[parse_pair(item, "--var") for item in values.pop("variables", ())],
        sets=[parse_pair(item, "--set") for item in values.pop("sets", ())],
        config=values.pop("config_files", ()),
        catalogs=values.pop("catalogs", ()),
        allow_new_vars=values.pop("allow_new_vars", False),
        max_steps=values.pop("max_steps", MAX_STEPS),
        max_nodes=values.pop("max_nodes", MAX_NODES),
        pins=_pins(values.pop("pins", ())),
        accelerators=_accelerators(values.pop("accelerators", ())),
    )


def _pins(texts: tuple[str, ...]) -> dict[str, str]:
    if not texts:
        return {}
    from npac.api import parse_pins  # here, because a check has no use for it

    return parse_pins(texts)


def _accelerators(texts: tuple[str, ...]) -> dict[str, str]:
    if not texts:
        return {}
    from npac.api import parse_accelerators

    return parse_accelerators(texts)
