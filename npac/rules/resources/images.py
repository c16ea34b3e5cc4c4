"""Images: readable, in the catalog when named by it, immutable where the spec demands it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow
from npac.flow.origins import whole_key, with_origin
from npac.flow.steps import SymbolicStep
from npac.flow.symbolic import hole_names
from npac.ir.values import Value, has_hole
from npac.rules.tokens.resolved import is_resolved
from npac.syntax.images import ImageProblem, ImageRef, ToolImage, immutable_problem, parse_image
from npac.syntax.reader import shown
from npac.text.source import Span
from npac.text.yaml_nodes import Scalar, Seq

CODES = (
    ("NPA509", "image-not-immutable", Severity.ERROR, "an image must be pinned by digest"),
    ("NPA511", "bad-source-sha", Severity.ERROR, "source_sha is not 40 hex digits"),
    ("NPA512", "overlay-with-baked", Severity.ERROR, "source_overlay contradicts require_baked_npa"),
    ("NPA514", "bad-import-module", Severity.ERROR, "baked_npa_import is no dotted module name"),
    (
        "NPA515",
        "mutable-image",
        Severity.NOTE,
        "a tag that can move names an image in runtime mode",
    ),
)
"""What this rule reports: code, name, severity and a summary."""

_SHA = r"[0-9a-fA-F]{40}\Z"
_SHA_LENGTH = 40
_BARE_DIGEST = r"sha(?:256|512):[0-9a-f]{32,}\Z"
_MODULE = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\Z"


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report malformed, unknown and mutable images, and the switches of baked images."""
    yield from _images(flow)
    if flow.spec.runtime_mode and not flow.config.switch("require_baked_npa"):
        yield from _mutable(flow)
    yield from _required(flow)
    yield from _baked(flow)


def _images(flow: Flow) -> Iterator[Diagnostic]:
    seen: set[tuple[int, str]] = set()
    for step in flow.steps.by_state.values():
        node = _image_node(flow, step)
        value = step.profile.get("image")
        if node is None or value is None:
            continue
        if not isinstance(value, str):
            names: set[str] = set()
            if not isinstance(value, (bool, int, float, list, dict)):
                hole_names(value, names)
            if "run.id" in names and (node.start, "late") not in seen:
                seen.add((node.start, "late"))
                message = "the image would depend on the run id, and a program's structure cannot"
                yield finding("late-structure", message, node.span, "give an image that is known beforehand")
            continue
        if value == "" or (node.start, value) in seen:
            continue
        seen.add((node.start, value))
        for item in check_image(flow, node, value):
            yield with_origin(item, node, flow.config, step.state.params)


def _mutable(flow: Flow) -> Iterator[Diagnostic]:
    """Note images by tag where a run may take long and be gone on with: a tag can be moved meanwhile."""
    entry = flow.config.entries.get("required_immutable_images")
    listed = entry.node.items if entry is not None and isinstance(entry.node, Seq) else []
    required = {item.value for item in listed if isinstance(item, Scalar)}
    seen: set[tuple[int, str]] = set()
    for step in flow.steps.by_state.values():
        node = _image_node(flow, step)
        value = step.profile.get("image")
        if node is None or not isinstance(value, str) or (node.start, value) in seen:
            continue
        seen.add((node.start, value))
        parsed = parse_image(value)
        if not isinstance(parsed, ImageRef) or parsed.digest is not None or value in flow.pins:
            continue
        if whole_key(node) in required:
            continue  # that is an error of its own
        what = f"its tag {parsed.tag!r:.80}" if parsed.tag else "no tag, which stands for latest"
        message = f"the image {value!r:.120} is named by {what}: it can be another one before a run has ended"
        help_text = f"write its digest here, or give it by --pin {value:.120}=REGISTRY/REPOSITORY@sha256:..."
        item = finding("mutable-image", message, node.span, help_text)
        yield with_origin(item, node, flow.config, step.state.params)


def check_image(flow: Flow, node: Scalar, value: str) -> Iterator[Diagnostic]:
    """Report an image that cannot be read or that the catalog lacks; ``node`` is where it stands."""
    parsed = parse_image(value)
    if re.match(_BARE_DIGEST, value):
        message = "the image is a digest alone, which does not say of which image"
        yield finding("bad-image", message, node.span, "write REGISTRY/REPOSITORY@sha256:<64 hex digits>")
    elif isinstance(parsed, ImageProblem):
        given = "" if value == node.value else f" ({value!r:.120})"
        message = f"the image{given} cannot be read: {parsed.message}"
        yield finding("bad-image", message, node.span, parsed.help)
    elif isinstance(parsed, ToolImage) and parsed.name not in flow.catalog.images:
        near = flow.images_nearest(parsed.name)
        help_text = "did you mean " + " or ".join(near) + "?" if near else "name an image of the catalog"
        yield finding("unknown-tool-image", f"the catalog has no image {parsed.name!r}", node.span, help_text)


def _image_node(flow: Flow, step: SymbolicStep) -> Scalar | None:
    profile = flow.spec.profiles.get(step.profile_name)
    node = profile.node.get("image") if profile is not None and step.state.works else None
    return node if isinstance(node, Scalar) else None


def _required(flow: Flow) -> Iterator[Diagnostic]:
    entry = flow.config.entries.get("required_immutable_images")
    if entry is None:
        return
    if not isinstance(entry.node, Seq):
        message = "required_immutable_images must be a list of config keys"
        yield finding("wrong-type", message, entry.node.span, "write it as a list, as in [trainer_image]")
        return
    for item in entry.node.items:
        if not isinstance(item, Scalar) or item.is_null:
            message = "an entry of required_immutable_images must be a config key"
            yield finding("wrong-type", message, item.span, "write the key's name")
            continue
        key = item.value
        flow.config.read.add(key)
        if key not in flow.config.entries:
            message = f"required_immutable_images names {key!r:.80}, which is no config key"
            yield finding("unknown-config-key", message, item.span, "declare it in config")
            continue
        given = flow.config.entries[key].node
        if not isinstance(given, Scalar):
            message = f"the image {key!r} must be text, and this is {shown(given)}"
            yield finding(
                "wrong-type", message, given.span, "write REGISTRY/REPOSITORY@sha256:<64 hex digits>"
            )
            continue
        value = "" if given.is_null else flow.config.values.get(key)
        if value is None:
            continue
        remedy = f"give --var {key}=REGISTRY/REPOSITORY@sha256:<64 hex digits>"
        if value == "":
            message = f"the image {key!r} is an operator input and is empty"
            yield finding("operator-input-empty", message, flow.config.entries[key].node.span, remedy)
            continue
        problem = immutable_problem(value) if isinstance(value, str) else None
        if problem is not None or has_hole(value):
            why = problem.message if problem is not None else "it depends on the run id"
            message = f"the image {key!r} must be immutable: {why}"
            yield finding("image-not-immutable", message, flow.config.entries[key].node.span, remedy)


def _baked(flow: Flow) -> Iterator[Diagnostic]:
    config = flow.config
    baked = config.switch("require_baked_npa")
    if baked and config.switch("source_overlay"):
        message = "source_overlay puts submitted source over the image, and require_baked_npa forbids that"
        at = config.entries["source_overlay"].node.span
        yield finding("overlay-with-baked", message, at, "switch one of the two off")
    for key, rule in (("source_sha", _source_sha), ("baked_npa_import", _module)):
        entry = config.entries.get(key)
        if entry is not None and isinstance(entry.node, Scalar):
            yield from rule(config.values.get(key), entry.node.span)
        for state in flow.spec.states.values():
            param = state.params.get(key)
            if param is not None and is_resolved(flow, state.name.value, param.text):
                value = flow.steps.by_state[state.name.value].params[key]
                yield from rule(value, param.text.node.span)
    if not baked:
        return
    entry = config.entries.get("source_sha")
    given = entry is not None and not isinstance(entry.node, Scalar)  # of the wrong type, which is said
    if not given and config.values.get("source_sha", "") == "" and not _all_give(flow, "source_sha"):
        at = entry.node.span if entry is not None else config.entries["require_baked_npa"].key.span
        message = "require_baked_npa needs source_sha, an operator input that is empty"
        help_text = "give --var source_sha=<the commit's 40 hex digits>"
        yield finding("operator-input-empty", message, at, help_text)
    yield from baked_images(flow)


def _all_give(flow: Flow, key: str) -> bool:
    """Say whether every state that works sets a key by its params, and not to nothing."""
    steps = [step for step in flow.steps.by_state.values() if step.state.works]
    return bool(steps) and all(step.params.get(key, "") != "" for step in steps)


def _source_sha(value: Value | None, at: Span) -> Iterator[Diagnostic]:
    if isinstance(value, str) and value and not re.match(_SHA, value):
        message = f"source_sha must be 40 hex digits, and this has {len(value)} characters"
        if len(value) == _SHA_LENGTH:
            message = "source_sha must be 40 hex digits, and some of these are none"
        help_text = "give --var source_sha=<the commit's 40 hex digits>"
        yield finding("bad-source-sha", message, at, help_text)


def _module(value: Value | None, at: Span) -> Iterator[Diagnostic]:
    if isinstance(value, str):
        if value and not re.match(_MODULE, value):
            message = f"baked_npa_import must be a dotted Python module name, and {value!r:.80} is none"
            yield finding("bad-import-module", message, at, "write package.module")
    elif value is not None:
        message = "baked_npa_import would depend on the run, and a program's structure cannot"
        yield finding("late-structure", message, at, "write the module's name out")


def baked_images(flow: Flow) -> Iterator[Diagnostic]:
    """Report the images of a spec that demands baked ones: wrong ones as errors, missing ones as notes."""
    seen: set[tuple[str, str]] = set()
    for name, step in flow.steps.by_state.items():
        if not step.state.works:
            continue
        node = _image_node(flow, step)
        value = step.profile.get("image")
        if node is not None and isinstance(value, str) and value != "":
            parsed = parse_image(value)
            if isinstance(parsed, ToolImage):
                image = flow.catalog.images.get(parsed.name, "")
                if image and (step.profile_name, value) not in seen:
                    seen.add((step.profile_name, value))
                    yield from _unpinned(flow, image, value, node.span)
                continue
            if isinstance(parsed, ImageProblem):
                continue
            problem = immutable_problem(flow.pins.get(value, value))
            if problem is not None and (step.profile_name, value) not in seen:
                seen.add((step.profile_name, value))
                message = f"require_baked_npa needs an immutable image for {name!r}: {problem.message}"
                yield finding("image-not-immutable", message, node.span, problem.help)
        elif node is not None and value == "" and (step.tool is None or not step.tool.image):
            if (step.profile_name, "") not in seen:
                seen.add((step.profile_name, ""))
                yield _empty_image(flow, step, node.span)
        elif step.tool is not None and step.tool.image:
            if ("tool", step.tool.image) not in seen:
                seen.add(("tool", step.tool.image))
                at = step.state.tool_ref.span if step.state.tool_ref is not None else step.state.name.span
                yield from _unpinned(flow, step.tool.image, step.tool.name, at)
        elif node is None and ("none", step.profile_name) not in seen:
            seen.add(("none", step.profile_name))
            message = f"require_baked_npa needs an image for {name!r}, and nothing names one"
            help_text = f"add image: to the profile {step.profile_name or 'default'!r}"
            yield finding("operator-input-empty", message, step.state.name.span, help_text)


def _unpinned(flow: Flow, image: str, user: str, at: Span) -> Iterator[Diagnostic]:
    """Report an image of the catalog that no digest pins."""
    if immutable_problem(flow.pins.get(image, image)) is not None:
        message = f"the catalog's image for {user} has no digest, and require_baked_npa needs one"
        yield finding("operator-input-empty", message, at, f"compile with --pin {image}=...@sha256:...")


def _empty_image(flow: Flow, step: SymbolicStep, at: Span) -> Diagnostic:
    from npac.syntax.templates import parse_template

    node = _image_node(flow, step)
    keys = (
        [token.path for token in parse_template(node.value).tokens if token.scope == "config"] if node else []
    )
    named = f" ({', '.join(keys)})" if keys else ""
    message = f"the image of the profile {step.profile_name!r}{named} is an operator input and is empty"
    remedy = f"give --var {keys[0] if keys else 'KEY'}=REGISTRY/REPOSITORY@sha256:<64 hex digits>"
    return finding("operator-input-empty", message, at, remedy)
