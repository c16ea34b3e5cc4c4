"""Resource profiles, images, and what several nodes demand."""

from __future__ import annotations

import pytest

from npac.diagnostics.diagnostic import Severity
from tests.rules.specs import WORK, checked, codes

DIGEST = "sha256:" + "0123456789abcdef" * 4

PROFILES = {
    "cpus: 16": "", "cpus: 4+": "", "cpus: 0.5": "", "cpus: -4": "502", "cpus: 0": "502", "cpus: true": "502", "cpus: ": "102",
    "memory: 64": "", "memory: 64Gi+": "", "memory: 1.5G": "", "memory: lots": "502", "memory: 64GB": "502",
    "disk_size: 100": "", "disk_size: 100G": "502", "disk_size: -1": "502", "disk_size: 1.5": "502",
    "use_spot: true": "", "use_spot: 'true'": "102",
    "num_nodes: 1": "", "num_nodes: 0": "502", "num_nodes: 2": "505", "num_nodes: 33": "502", "num_nodes: true": "502",
    "accelerators: H100": "", "accelerators: 'H100:8'": "", "accelerators: {H100: 8}": "", "accelerators: H100 8": "502",
    "accelerators: 'H100:0'": "502", "accelerators: {H100: 0}": "502", "accelerators: {H100: true}": "502",
    "accelerators: {'H100:2': 8}": "502", "accelerators: [H100]": "102", "accelerators: {H100: [1]}": "102",
    "accelerators: ''": "502",
    "cloud: kubernetes": "", "cloud: local": "", "cloud: slurm": "", "cloud: kuberntes": "503", "cloud: mars": "503",
    "region: [a]": "102", "region: '${REGION}'": "504", "region: 'costs $5'": "",
    "image: 5": "102", "image: true": "102", "image: ''": "", "image: Registry/X": "507", "image: 'r.io/x:v1'": "",
    "image: tool://nope": "508", "image: tool://cosmos3": "",
    "kubernetes: x": "102", "kubernetes: {pod_config: [a]}": "102", "kubernetes: {provision_timeout: -1}": "502",
    "kubernetes: {provision_timeout: 600, x-why: slow}": "", "kubernetes: {pod_confg: {}}": "101",
    "kubernetes: {pod_config: {spec: {a: '${X}'}}}": "504",
    "kubernetes: {pod_config: {spec: {containers: [{command: [sh, '${X}'], args: ['${Y}']}]}}}": "",
    "deployIfAbsent: true": "513", "deployIfAbsent: {clusterName: c}": "513", "deployIfAbsent: false": "",
    "deployIfAbsent: 'true'": "102",
    "acclerators: H100": "101", "x-note: 1": "",
}  # fmt: skip


@pytest.mark.parametrize("entry", PROFILES)
def test_every_entry_of_a_profile_is_read(entry: str) -> None:
    assert codes(f"resources:\n  default: {{{entry}}}\n{WORK}") == PROFILES[entry]


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("cpus", "lots", "502"),
        ("accelerators", "H100:8", ""),
        ("accelerators", "H100 8", "502"),
        ("num_nodes", "many", "502"),
        ("cloud", "kuberntes", "503"),
        ("region", "${REGION}", "504"),
        ("region", "eu-north1", ""),
    ],
)
def test_what_a_token_brings_in_is_read_too(key: str, value: str, wanted: str) -> None:
    body = f"config: {{v: '{value}'}}\nresources:\n  default: {{{key}: '{{{{config.v}}}}'}}\n{WORK}"
    assert codes(body) == wanted


def test_counts_and_timeouts_by_tokens_are_read() -> None:
    profile = "{accelerators: {H100: '{{config.n}}'}, kubernetes: {provision_timeout: '{{config.n}}'}}"
    assert codes(f"config: {{n: 8}}\nresources: {{default: {profile}}}\n{WORK}") == ""
    found = checked(f"config: {{n: x}}\nresources: {{default: {profile}}}\n{WORK}").findings
    assert [item.code.id for item in found] == ["NPA502"]
    assert [other.span.text for other in found[0].related] == ["x", "'{{config.n}}'"]


def test_a_shell_variable_in_a_uri_is_found_also_behind_a_token() -> None:
    body = "config: {d: '${DIR}'}\nstates:\n  a: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/{{config.d}}/o.j'}], terminal: true}\n"
    (item,) = checked(body).findings
    assert item.code.id == "NPA504" and "${DIR}" in item.message


def test_an_unknown_key_in_a_quantity_is_said_once() -> None:
    assert codes(f"resources:\n  default: {{num_nodes: '{{{{config.no}}}}'}}\n{WORK}") == "204"


def test_a_near_miss_of_a_cloud_is_an_error_and_an_unknown_one_a_warning() -> None:
    severity = {}
    for cloud in ("awss", "mars"):
        (item,) = checked(f"resources: {{default: {{cloud: {cloud}}}}}\n{WORK}").findings
        severity[cloud] = item.severity
    assert severity == {"awss": Severity.ERROR, "mars": Severity.WARNING}


def test_a_profile_must_exist_for_a_state_that_works() -> None:
    state = "states:\n  a: {run: {argv: [x]}, resources: gpu, terminal: true}\n"
    assert codes(state) == "501"
    assert codes(state.replace("gpu", "default")) == ""
    (item,) = checked("resources: {gpus: {}}\n" + state).findings
    assert item.help == "did you mean 'gpus'?"


def test_nodes_are_counted_for_each_state_under_its_params() -> None:
    body = (
        "config: {n: 1}\nresources: {c: {num_nodes: '{{config.n}}'}}\nstates:\n"
        "  a: {run: {argv: [x]}, resources: c, params: {n: 2}, next: b}\n"
        "  b: {run: {argv: [x]}, resources: c, terminal: true}\n"
    )
    (item,) = checked(body).findings
    assert (item.code.id, item.message) == ("NPA505", "'a' would run the same command on 2 nodes")


SHARDS = """\
config: {{configs_uri: "{configs}", augment_uri: "{augment}", n_augmentations: "{count}"}}
resources: {{gpu: {{num_nodes: 2}}}}
states:
  a: {{toolRef: workbench.cosmos2.transfer_execute, resources: gpu, terminal: true}}
"""


@pytest.mark.parametrize(
    ("configs", "augment", "count", "wanted"),
    [
        ("s3://bkt/c/", "s3://bkt/{{run.id}}/o/", "2", False),
        ("", "s3://bkt/{{run.id}}/o/", "2", True),
        ("s3://bkt/c/", "/data/out", "2", True),
        ("s3://bkt/c/", "s3://bkt/{{run.id}}/o/", "1", True),
    ],
)
def test_a_tools_rules_for_several_nodes(configs: str, augment: str, count: str, wanted: bool) -> None:
    found = checked(SHARDS.format(configs=configs, augment=augment, count=count)).findings
    assert ("NPA506" in {item.code.id for item in found}) is wanted


def _immutable(one: str, two: str) -> str:
    return f"config: {{required_immutable_images: [one, two], one: {one}, two: {two}}}\n{WORK}"


@pytest.mark.parametrize(
    ("image", "code"),
    [
        (f"r.io/x@{DIGEST}", ""),
        (f"localhost/x@{DIGEST}", ""),
        (f"'[fd00::1]:5000/x@{DIGEST}'", ""),
        (f"r.io:5000/team/x@{DIGEST}", ""),
        (f"r.io/x:v1@{DIGEST}", "509"),
        (f"x@{DIGEST}", "509"),
        (f"team/x@{DIGEST}", "509"),
        ("r.io/x:v1", "509"),
        ("tool://cosmos3", "509"),
        (f"r.io/x@{DIGEST.upper().replace('SHA', 'sha')}", "509"),
        ("r.io/x@sha256:0123", "509"),
        ("'r.io/x-{{run.id}}'", "509"),
        ("''", "510"),
        ("", "510"),
        ("[a]", "102"),
    ],
)
def test_a_required_image_is_immutable_or_an_empty_input(image: str, code: str) -> None:
    body = _immutable(image, f"r.io/y@{DIGEST}")
    assert codes(body) == code


def test_all_offenders_are_reported_with_the_option_that_mends_them() -> None:
    found = checked(_immutable("r.io/x:v1", "''")).findings
    assert [(item.code.id, item.severity.word) for item in found] == [("NPA509", "error"), ("NPA510", "note")]
    assert found[0].help.startswith("give --var one=") and found[1].help.startswith("give --var two=")
    settled = checked(_immutable(f"r.io/x@{DIGEST}", "''"), until="settle")
    assert [item.severity for item in settled.findings] == [Severity.ERROR]


SHA = "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"


@pytest.mark.parametrize(
    ("sha", "image", "wanted"),
    [
        (SHA, f"r.io/x@{DIGEST}", ""),
        (SHA, "r.io/x:v1", "509"),
        (SHA, "", "510"),
        (SHA, "tool://cosmos3", "510"),
        ("''", f"r.io/x@{DIGEST}", "510"),
        ("main", f"r.io/x@{DIGEST}", "511"),
    ],
)
def test_baked_images_are_pinned_and_their_source_is_known(sha: str, image: str, wanted: str) -> None:
    config = f"config: {{require_baked_npa: true, source_sha: {sha}, i: '{image}'}}\n"
    assert codes(config + "resources: {default: {image: '{{config.i}}'}}\n" + WORK) == wanted
