"""Image references."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.syntax.images import (
    ImageProblem,
    ImageRef,
    ToolImage,
    immutable_problem,
    is_digest_pinned,
    is_immutable,
    is_registry_qualified,
    parse_image,
    read_image,
    scan_image,
)

HEX = "0123456789abcdef" * 4
SHA = f"sha256:{HEX}"
# fmt: off
PIECES = st.sampled_from([
    "a", "python", "nvcr.io", "localhost", "[::1]", "[fd00::1]", "[", "]", ":", ":5000", ":70000",
    ":3.11-slim", "/", "//", "@", f"@{SHA}", f"@{SHA.upper()}", f"@sha512:{HEX}{HEX}", "A", "_", "__",
    "___", ".", "..", "-", "tool://", "docker:", "DOCKER:", "https://", " ", "é", "${X}", "{{config.x}}",
    "a" * 130, "\n",
])
# fmt: on
TEXTS = st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=20)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("python", (None, "python", None, None)),
        ("python:3.11-slim", (None, "python", "3.11-slim", None)),
        ("library/python", (None, "library/python", None, None)),
        ("nvcr.io/nvidia/nre/nre-ga:26.04", ("nvcr.io", "nvidia/nre/nre-ga", "26.04", None)),
        ("localhost/x", ("localhost", "x", None, None)),
        ("localhost:5000/x:1", ("localhost:5000", "x", "1", None)),
        ("host:5000/a/b", ("host:5000", "a/b", None, None)),
        ("10.0.0.1:5000/a", ("10.0.0.1:5000", "a", None, None)),
        ("[::1]:5000/x", ("[::1]:5000", "x", None, None)),
        (f"[fd00::1]/x@{SHA}", ("[fd00::1]", "x", None, SHA)),
        (f"ghcr.io/a/b_c--d.e:V1@{SHA}", ("ghcr.io", "a/b_c--d.e", "V1", SHA)),
        (f"x@sha512:{HEX * 2}", (None, "x", None, f"sha512:{HEX * 2}")),
        ("localhost:5000", (None, "localhost", "5000", None)),
    ],
)
def test_references_are_taken_apart(text: str, parts: tuple[str | None, ...]) -> None:
    image = parse_image(text)
    assert isinstance(image, ImageRef)
    assert (image.registry, image.repository, image.tag, image.digest) == parts
    assert str(image) == text
    assert read_image(text) == image


def test_a_tool_image_is_its_key() -> None:
    assert parse_image("tool://isaac-lab") == ToolImage("isaac-lab")
    assert read_image("tool://isaac-lab") == ToolImage("isaac-lab")
    assert not is_registry_qualified(ToolImage("x"))
    assert not is_digest_pinned(ToolImage("x"))


@pytest.mark.parametrize(
    ("text", "kind", "suggestion"),
    [
        ("", "empty", None),
        (" python", "blanks", "python"),
        ("my image", "bad-image", None),
        ("Foo/bar", "capitals", "foo/bar"),
        ("ghcr.io/Nebius/X:T", "capitals", "ghcr.io/nebius/x:T"),
        ("docker:python:3", "prefix", ""),
        ("docker:nvcr.io/a/b:1", "prefix", ""),
        ("Docker:python", "prefix", ""),
        ("docker://python", "prefix", ""),
        ("https://nvcr.io/x", "prefix", ""),
        ("tool://", "bad-tool-image", None),
        ("tool://a/b", "bad-tool-image", None),
        ("tool:x y", "bad-tool-image", None),
        (f"x@{SHA.upper()}", "bad-digest", SHA),
        (f"x@sha256:{HEX.upper()}", "bad-digest", SHA),
        (f"x@sha256:{HEX[:40]}", "bad-digest", None),
        ("x@sha256:abc", "bad-digest", None),
        ("x@", "bad-digest", None),
        ("user:hunter2@host/x", "bad-digest", None),
        ("x:", "bad-tag", None),
        ("x:-a", "bad-tag", None),
        ("x:" + "a" * 129, "bad-tag", None),
        ("python:3.11:slim", "bad-tag", None),
        ("a//b", "bad-image", None),
        ("a/", "bad-image", None),
        ("/a", "bad-image", None),
        ("[zz]/x", "bad-registry", None),
        ("[fffff::1]/x", "bad-registry", None),
        ("h:70000/y", "bad-registry", None),
        ("h:0/y", "bad-registry", None),
        ("{{config.x}}", "bad-image", None),
        ("${X}/a", "bad-image", None),
        ("a" * 256, "too-long", None),
        ("a" * 5000, "too-long", None),
    ],
)
def test_what_is_no_reference(text: str, kind: str, suggestion: str | None) -> None:
    found = parse_image(text)
    assert isinstance(found, ImageProblem)
    assert (found.kind, found.suggestion) == (kind, suggestion)
    assert found.message.endswith(".")
    assert "hunter2" not in found.message + found.help


def test_the_help_on_docker_prefixes_shows_the_reference() -> None:
    found = parse_image("docker:python:3")
    assert isinstance(found, ImageProblem)
    assert "`python:3`" in found.help
    assert "docker.io/library/docker" in found.help


@pytest.mark.parametrize(
    ("text", "qualified", "pinned", "kind"),
    [
        (f"nvcr.io/x@{SHA}", True, True, None),
        (f"localhost/x@{SHA}", True, True, None),
        (f"[::1]:5000/x@{SHA}", True, True, None),
        (f"host:5000/x@{SHA}", True, True, None),
        (f"nvcr.io/x:1@{SHA}", True, True, "tag-and-digest"),
        (f"nvidia/x@{SHA}", False, True, "no-registry"),
        ("nvcr.io/x:1", True, False, "no-digest"),
        (f"nvcr.io/x@sha512:{HEX * 2}", True, False, "bad-digest"),
        ("x", False, False, "no-registry"),
        ("tool://x", False, False, "not-immutable"),
    ],
)
def test_immutable_means_registry_and_sha256_digest_without_tag(
    text: str, qualified: bool, pinned: bool, kind: str | None
) -> None:
    image = parse_image(text)
    assert not isinstance(image, ImageProblem)
    assert (is_registry_qualified(image), is_digest_pinned(image)) == (qualified, pinned)
    problem = immutable_problem(text)
    assert (problem.kind if problem else None) == kind
    assert is_immutable(image) == (kind is None)


def test_the_tag_beside_a_digest_can_be_cut_out() -> None:
    text = f"host:5000/x:1@{SHA}"
    problem = immutable_problem(text)
    assert problem is not None
    assert text[problem.start : problem.end] == ":1"
    assert immutable_problem(text[: problem.start] + str(problem.suggestion) + text[problem.end :]) is None
    malformed = immutable_problem(f"nvcr.io/x@sha256:{HEX.upper()}")
    assert malformed is not None
    assert malformed.kind == "bad-digest"


@given(TEXTS)
@settings(max_examples=400, deadline=None)
def test_both_ways_of_reading_agree_on_every_text(text: str) -> None:
    found, quick = read_image(text), scan_image(text)
    assert parse_image(text) == found
    if quick is not None:
        assert quick == found
    if isinstance(found, ImageProblem):
        assert 0 <= found.start <= found.end <= len(text)
        if found.suggestion is not None:
            mended = text[: found.start] + found.suggestion + text[found.end :]
            assert not isinstance(parse_image(mended), ImageProblem) or "@" in mended
    elif isinstance(found, ImageRef):
        assert str(found) == text
        assert immutable_problem(text) is None or not is_immutable(found)


@pytest.mark.parametrize("piece", ["a", "a.", "a-", "a__", "a/", "A", "1:", "-"])
def test_no_text_takes_long(piece: str) -> None:
    text = (piece * 1024)[:1023] + "!"
    started = time.perf_counter()
    assert isinstance(read_image(text), ImageProblem)
    assert scan_image(text) is None
    assert time.perf_counter() - started < 1.0
