"""GPUs that no node holds, and images that may be others tomorrow."""

from __future__ import annotations

import pytest

from npac.checking import check_bytes
from npac.pipeline import Settings
from npac.rules.resources.gpu_nodes import largest_nodes
from npac.syntax.quantities import Accelerator, parse_accelerator
from tests.rules.specs import HEAD, RUNTIME, WORK, catalog, checked

DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("accelerators", "help_text"),
    [
        ("'H100:16'", "H100:8 and num_nodes: 2"),
        ("'h100:16'", "h100:8 and num_nodes: 2"),
        ("{H100: 16}", "H100:8 and num_nodes: 2"),
        ("'B200:72'", "B200:8 and num_nodes: 9"),
        ("'GB200:72'", "GB200:4 and num_nodes: 18"),
        ("'H100:12'", "ask for 8 at most"),
        ("'H100:512'", "ask for 8 at most"),
        ("'L4:17'", "ask for 16 at most"),
        ("'H100:{{config.n}}'", "H100:8 and num_nodes: 2"),
        ("{H100: '{{config.n}}'}", "H100:8 and num_nodes: 2"),
    ],
)
def test_a_request_that_no_node_can_hold_is_told(accelerators: str, help_text: str) -> None:
    body = f"config: {{n: 16}}\nresources: {{default: {{accelerators: {accelerators}}}}}\n{WORK}"
    (item,) = [item for item in checked(body).findings if item.code.id != "NPA215"]
    assert (item.code.id, item.severity.word) == ("NPA516", "warning")
    assert help_text in item.help


@pytest.mark.parametrize(
    "accelerators",
    ["H100", "'H100:8'", "{H100: 8}", "'A100:16'", "'L40S:10'", "'tpu-v5e-256'", "'tpu-v5p:128'", "'my-card:64'", "'H100:3'"],
)  # fmt: skip
def test_a_request_that_some_node_holds_or_that_nobody_knows_is_not(accelerators: str) -> None:
    assert checked(f"resources: {{default: {{accelerators: {accelerators}}}}}\n{WORK}").findings == []


def test_several_nodes_of_eight_are_clean() -> None:
    body = (
        "resources: {default: {accelerators: 'H100:8', num_nodes: 2}}\n"
        "states:\n  a: {run: {argv: [x]}, multiNodeMode: sharded, terminal: true}\n"
    )
    assert checked(body).findings == []


def test_the_table_of_nodes_can_be_read() -> None:
    table = largest_nodes()
    assert len(table) > 30 and table["H100"] == 8
    assert all(name == name.upper() and number > 1 for name, number in table.items())
    assert all(parse_accelerator(f"{name}:2") == Accelerator(name, 2, True) for name in table)


@pytest.mark.parametrize(
    ("image", "head", "noted"),
    [
        ("ghcr.io/a/b:1.2", RUNTIME, "its tag '1.2'"),
        ("ghcr.io/a/b", RUNTIME, "no tag"),
        ("{{config.image}}", RUNTIME, "its tag '2'"),
        ("ghcr.io/a/b:1.2", HEAD, ""),
        (f"ghcr.io/a/b@{DIGEST}", RUNTIME, ""),
        (f"ghcr.io/a/b:1.2@{DIGEST}", RUNTIME, ""),
        ("tool://cosmos3-reason", RUNTIME, ""),
        ("", RUNTIME, ""),
    ],
)
def test_a_tag_in_runtime_mode_is_noted(image: str, head: str, noted: str) -> None:
    body = f"config: {{image: 'ghcr.io/a/b:2'}}\nresources: {{default: {{image: '{image}'}}}}\n{WORK}"
    found = [item for item in checked(body, head=head).findings if item.code.id != "NPA215"]
    assert [item.code.id for item in found] == (["NPA515"] if noted else [])
    assert all(noted in item.message and item.severity.word == "note" for item in found)


@pytest.mark.parametrize(
    "config", ["required_immutable_images: [image]", "require_baked_npa: true, source_sha: " + "a" * 40]
)
def test_where_a_digest_is_demanded_that_is_said_instead(config: str) -> None:
    body = f"config: {{image: 'ghcr.io/a/b:2', {config}}}\nresources: {{default: {{image: '{{{{config.image}}}}'}}}}\n{WORK}"
    assert [item.code.id for item in checked(body, head=RUNTIME).findings] == ["NPA509"]


def test_a_pinned_image_is_not_noted() -> None:
    text = f"{RUNTIME}resources: {{default: {{image: 'ghcr.io/a/b:2'}}}}\n{WORK}".encode()
    pins = {"ghcr.io/a/b:2": f"ghcr.io/a/b@{DIGEST}"}
    assert check_bytes("spec.yaml", text, Settings(catalog(), pins=pins)).findings == []


@pytest.mark.parametrize("image", [DIGEST, "sha512:" + "ab" * 64])
def test_a_digest_without_a_name_is_no_image(image: str) -> None:
    (item,) = checked(f"resources: {{default: {{image: '{image}'}}}}\n{WORK}").findings
    assert item.code.id == "NPA507" and "a digest alone" in item.message
