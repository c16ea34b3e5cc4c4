"""Quantities of a resource profile."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.syntax.grammars import Problem
from npac.syntax.quantities import (
    Accelerator,
    Cpus,
    DiskSize,
    Memory,
    NodeCount,
    parse_accelerator,
    parse_cpus,
    parse_disk_size,
    parse_memory,
    parse_num_nodes,
    read_accelerator,
    read_cpus,
    read_disk_size,
    read_memory,
    read_num_nodes,
)

PARSERS: list[tuple[Callable[[str], object], Callable[[str], object]]] = [
    (parse_accelerator, read_accelerator),
    (parse_cpus, read_cpus),
    (parse_memory, read_memory),
    (parse_disk_size, read_disk_size),
    (parse_num_nodes, read_num_nodes),
]
PIECES = st.sampled_from(
    [
        "H100",
        "A",
        "8",
        "0",
        "32",
        "1.5",
        ".",
        ":",
        "+",
        "-",
        " ",
        "Gi",
        "G",
        "Mi",
        "m",
        "x",
        "{{",
        "}}",
        "é",
        "٣",
        "\n",
    ]
)
TEXTS = st.lists(PIECES, max_size=6).map("".join) | st.text(max_size=12)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_accelerator, "H100", Accelerator("H100", 1, False)),
        (parse_accelerator, "H100:8", Accelerator("H100", 8, True)),
        (
            parse_accelerator,
            "RTXPRO-6000-BLACKWELL-SERVER-EDITION:1",
            Accelerator("RTXPRO-6000-BLACKWELL-SERVER-EDITION", 1, True),
        ),
        (parse_cpus, "4", Cpus("4", False)),
        (parse_cpus, "4+", Cpus("4", True)),
        (parse_cpus, "0.5", Cpus("0.5", False)),
        (parse_memory, "16Gi", Memory("16", "Gi", False)),
        (parse_memory, "16G+", Memory("16", "G", True)),
        (parse_memory, "1.5Gi", Memory("1.5", "Gi", False)),
        (parse_memory, "16", Memory("16", "", False)),
        (parse_disk_size, "512", DiskSize(512)),
        (parse_num_nodes, "1", NodeCount(1)),
        (parse_num_nodes, "32", NodeCount(32)),
    ],
)
def test_quantities_are_read(parse: Callable[[str], object], text: str, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "kind", "suggestion"),
    [
        (parse_accelerator, "H100 8", "bad-accelerator", "H100:8"),
        (parse_accelerator, "8 x H100", "bad-accelerator", "H100:8"),
        (parse_accelerator, "H100=8", "bad-accelerator", "H100:8"),
        (parse_accelerator, "{H100: 8}", "bad-accelerator", "H100:8"),
        (parse_accelerator, "H100: 8", "bad-accelerator", "H100:8"),
        (parse_accelerator, "H100:", "bad-accelerator", "H100"),
        (parse_accelerator, " H100", "bad-accelerator", "H100"),
        (parse_accelerator, "H100:0", "not-positive", None),
        (parse_accelerator, "H100:000", "not-positive", None),
        (parse_accelerator, "H100:1.5", "bad-accelerator", None),
        (parse_accelerator, "H100:-1", "bad-accelerator", None),
        (parse_accelerator, ":8", "bad-accelerator", None),
        (parse_accelerator, "H100,A100", "bad-accelerator", None),
        (parse_accelerator, "H100:8:1", "bad-accelerator", None),
        (parse_accelerator, "H100:" + "9" * 5000, "too-large", None),
        (parse_accelerator, "", "empty", None),
        (parse_cpus, "0", "not-positive", None),
        (parse_cpus, "0.0+", "not-positive", None),
        (parse_cpus, "-1", "not-positive", None),
        (parse_cpus, "4 +", "bad-cpus", "4+"),
        (parse_cpus, "+4", "bad-cpus", "4"),
        (parse_cpus, "4 cores", "bad-cpus", "4"),
        (parse_cpus, "500m", "bad-cpus", "0.5"),
        (parse_cpus, ".5", "bad-cpus", "0.5"),
        (parse_cpus, "four", "bad-cpus", None),
        (parse_cpus, "1e2", "bad-cpus", None),
        (parse_cpus, "4++", "bad-cpus", None),
        (parse_memory, "16 Gi", "bad-memory", "16Gi"),
        (parse_memory, "16GB", "bad-memory", "16Gi"),
        (parse_memory, "16gib+", "bad-memory", "16Gi+"),
        (parse_memory, "16+Gi", "bad-memory", "16Gi+"),
        (parse_memory, "512Mi", "bad-memory", "0.5Gi"),
        (parse_memory, "1Ti", "bad-memory", "1024Gi"),
        (parse_memory, "16Ki", "bad-memory", None),
        (parse_memory, "0Gi", "not-positive", None),
        (parse_memory, "-4Gi", "not-positive", None),
        (parse_memory, "16" + " " * 100_000 + "Gi", "bad-memory", None),
        (parse_disk_size, "512Gi", "bad-disk-size", "512"),
        (parse_disk_size, "512.0", "bad-disk-size", "512"),
        (parse_disk_size, "1.5", "bad-disk-size", None),
        (parse_disk_size, "0", "not-positive", None),
        (parse_disk_size, "9" * 16, "too-large", None),
        (parse_num_nodes, "0", "not-positive", None),
        (parse_num_nodes, "-2", "not-positive", None),
        (parse_num_nodes, "33", "out-of-range", None),
        (parse_num_nodes, "2 nodes", "bad-num-nodes", "2"),
        (parse_num_nodes, "two", "bad-num-nodes", None),
        (parse_num_nodes, "٣", "bad-num-nodes", None),
    ],
)
def test_miswritten_quantities_are_problems(
    parse: Callable[[str], object], text: str, kind: str, suggestion: str | None
) -> None:
    found = parse(text)
    assert isinstance(found, Problem)
    assert (found.kind, found.suggestion) == (kind, suggestion)
    assert found.help.endswith(".")
    if suggestion is not None:
        assert f"`{suggestion}`" in found.help


def test_the_help_says_what_to_write() -> None:
    found = parse_accelerator("H100 8")
    assert isinstance(found, Problem)
    assert found.help == "Write `H100:8`."
    nodes = parse_num_nodes("33")
    assert isinstance(nodes, Problem)
    assert nodes.message == "num_nodes is 33; a task takes 1 to 32 nodes."


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_both_ways_of_reading_agree_on_every_text(text: str) -> None:
    for parse, read in PARSERS:
        found = parse(text)
        assert found == read(text)
        if isinstance(found, Problem) and found.suggestion is not None:
            mended = parse(found.suggestion)
            assert not isinstance(mended, Problem) or mended.kind in (
                "not-positive",
                "too-large",
                "out-of-range",
            )
