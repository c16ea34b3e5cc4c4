"""The checks that constrain text, repeated on a program whose text is whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npac.ir.link_record import IMAGE, LinkRecord, has_control, is_immutable, pinned
from npac.ir.program import Baked, Gate, Program, Step, Tree, Wave
from npac.ir.values import Value, holes

MAX_ARGUMENT = 128 * 1024
"""The longest single argument that Linux passes to a program, in bytes."""
MAX_S3_KEY = 1024
MAX_LABEL = 63
CONTAINER_LISTS = ("containers", "initContainers")
_SHA = re.compile(r"[0-9a-f]{40}")
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")


def recheck(linked: Program, link: LinkRecord) -> list[str]:
    """Repeat the checks that constrain text on a program without holes; a sentence each."""
    return [
        *_check_steps(linked, link),
        *_check_parallel_outputs(linked),
        *_check_uris(linked),
    ]


def _check_steps(linked: Program, link: LinkRecord) -> Iterator[str]:
    yield from _check_unused(linked, link)
    for step in linked.steps:
        image = pinned(step.image, link)
        if image and IMAGE.fullmatch(image) is None:
            yield f"state {step.state}: {image!r} is no image reference"
        if step.baked:
            yield from _check_baked(step.state, step.baked, image)
        for word in (*step.argv, step.shell):
            yield from _check_text(f"state {step.state}: an argument of its command", word, MAX_ARGUMENT)
        for name, value in step.env.items():
            yield from _check_text(
                f"state {step.state}: the environment variable {name}", value, MAX_ARGUMENT
            )
        if step.writes_decision and step.decision_uri not in [output.uri for output in step.outputs]:
            yield f"state {step.state}: the decision URI is none of its outputs once linked"
        yield from _check_pod(step)


def _check_unused(linked: Program, link: LinkRecord) -> Iterator[str]:
    images: set[str] = set()
    accelerators: set[str] = set()
    for step in linked.steps:
        images.update((step.image, *pod_images(step.profile.get("kubernetes"))))
        accelerators.update(_accelerators(step.profile.get("accelerators")))
    for image in sorted(set(link.pins) - images):
        yield f"the pin of {image!r} is used by no state; check how the spec or the catalog writes it"
    for written in sorted(set(link.accelerators) - accelerators):
        yield f"the accelerator remap of {written!r} is used by no state; check how the spec writes it"


def pod_images(kubernetes: Tree) -> Iterator[str]:
    """Yield the images that the containers of a profile's pod config name."""
    pod = kubernetes.get("pod_config") if isinstance(kubernetes, dict) else None
    spec = pod.get("spec") if isinstance(pod, dict) else None
    for kind in CONTAINER_LISTS:
        containers = spec.get(kind) if isinstance(spec, dict) else None
        for container in containers if isinstance(containers, list) else []:
            image = container.get("image") if isinstance(container, dict) else None
            if isinstance(image, str):
                yield image


def _accelerators(tree: Tree) -> Iterator[str]:
    written = tree if isinstance(tree, dict) else {tree: None} if isinstance(tree, str) else {}
    for text in written:
        yield text
        yield text.partition(":")[0]


def _check_baked(state: str, baked: Baked, image: str) -> Iterator[str]:
    if not is_immutable(image):
        said = f"its image {image!r} has no registry or no digest" if image else "it has no image"
        remedy = f"--pin {image}=REGISTRY/REPO@sha256:…" if image else "give the resource profile an image"
        yield f"state {state} demands a baked image, and {said}; {remedy}"
    sha = baked.source_sha
    if not isinstance(sha, str) or _SHA.fullmatch(sha) is None:
        yield f"state {state}: source_sha must be 40 hex digits once linked"


def _check_text(what: str, value: Value, limit: int) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{what} still waits for {', '.join(f'<{name}>' for name in holes(value))}"
    elif "\0" in value:
        yield f"{what} holds a NUL character"
    elif len(value) > limit or len(value.encode("utf-8", "surrogatepass")) > limit:
        yield f"{what} is longer than {limit} bytes once linked"


def _check_pod(step: Step) -> Iterator[str]:
    kubernetes = step.profile.get("kubernetes")
    pod = kubernetes.get("pod_config") if isinstance(kubernetes, dict) else None
    metadata = pod.get("metadata") if isinstance(pod, dict) else None
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if not isinstance(labels, dict):
        return
    for key, value in labels.items():
        prefix, slash, name = key.rpartition("/")
        if not name or len(name) > MAX_LABEL or len(prefix) > 253 or _LABEL_VALUE.fullmatch(name) is None:
            yield f"state {step.state}: the pod label key {key!r} is not allowed by Kubernetes"
        elif slash and not prefix:
            yield f"state {step.state}: the pod label key {key!r} has an empty prefix"
        if isinstance(value, str) and (len(value) > MAX_LABEL or _LABEL_VALUE.fullmatch(value) is None):
            yield (
                f"state {step.state}: the pod label {key} is {value!r} once linked; Kubernetes allows "
                f"{MAX_LABEL} letters, digits, '.', '_' and '-'"
            )


def _check_parallel_outputs(linked: Program) -> Iterator[str]:
    told: set[tuple[str, str, str]] = set()
    for wave in linked.waves():
        owner: dict[Value, str] = {}
        for member in wave.members:
            step = linked.steps[member.step]
            for output in step.outputs:
                first = owner.setdefault(output.uri, step.state)
                key = (first, step.state, str(output.uri))
                if first != step.state and key not in told:
                    told.add(key)
                    yield f"states {first} and {step.state} run side by side and both write {output.uri}"


def _check_uris(linked: Program) -> Iterator[str]:
    seen: set[Value] = set()
    for where, uri in _uris(linked):
        if uri in seen:
            continue
        seen.add(uri)
        if not isinstance(uri, str):
            yield f"{where}: a URI still waits for {', '.join(f'<{name}>' for name in holes(uri))}"
            continue
        if has_control(uri):
            yield f"{where}: the URI {uri!r} holds a control character"
        if uri.startswith("s3://"):
            bucket, _, key = uri[len("s3://") :].partition("/")
            if not bucket:
                yield f"{where}: the URI {uri!r} names no bucket"
            if len(key.encode("utf-8", "surrogatepass")) > MAX_S3_KEY:
                yield f"{where}: the key of {uri[:80]}… is longer than {MAX_S3_KEY} bytes"


def _uris(linked: Program) -> Iterator[tuple[str, Value]]:
    for step in linked.steps:
        for artifact in (*step.inputs, *step.outputs):
            yield f"state {step.state}", artifact.uri
    for node in linked.nodes:
        if isinstance(node, Gate):
            yield f"gate {node.id}", node.uri
        groups = list(node.checks)
        if isinstance(node, Wave):
            for trigger in node.triggers:
                yield f"trigger of {trigger.state}", trigger.uri
            for artifact in node.outputs:
                yield f"group {node.group}", artifact.uri
            groups += node.opens
        for group in groups:
            for artifact in group.outputs:
                yield f"group {group.group}", artifact.uri
