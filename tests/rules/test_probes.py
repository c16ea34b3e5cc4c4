"""Small specs with one trick each: what is found in them, and at exactly which place."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from npac.api import Options, check, plan
from npac.diagnostics.diagnostic import Severity

FOLDER = Path(os.environ.get("NPAC_PROBES", Path(__file__).resolve().parents[3] / "shared" / "probes"))

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"the probes are not beside the checkout ({FOLDER}); NPAC_PROBES names them"
)

Errors = tuple[tuple[str, int, int], ...]

# Probe: its errors with line and column, and the codes of its warnings and notes.  The outputs of
# most probes do not depend on the run, of which NPA703 warns.
SAME = ("NPA703",)
EXPECTED: dict[str, tuple[Errors, tuple[str, ...]]] = {
    "00_ok": ((), ()),
    "01_misspelt_state_key": ((("NPA101", 15, 5), ("NPA101", 27, 5), ("NPA101", 28, 5)), SAME),
    "03_misspelt_metadata_key": ((("NPA101", 5, 3),), SAME),
    "05_token_scope_misspelt": ((("NPA201", 17, 21),), SAME),
    "07_token_unknown_key": ((("NPA204", 17, 19),), SAME),
    "09_token_key_with_space_or_default": ((("NPA202", 17, 58), ("NPA202", 17, 75)), SAME),
    "11_unreachable_states": ((), ("NPA326", *SAME)),
    "13_state_token_never": ((("NPA208", 17, 19),), ("NPA215", *SAME)),
    "15_wrong_type_needs_string": ((("NPA102", 24, 12),), ("NPA326", *SAME)),
    "17_wrong_type_run_argv_string": ((("NPA102", 25, 13),), SAME),
    "19_wrong_type_outputs_list_of_strings": ((("NPA102", 19, 9),), ()),
    "21_wrong_type_state_null": ((("NPA102", 22, 5),), SAME),
    "23_needs_number": ((("NPA102", 22, 12),), SAME),
    "25_yaml11_booleans": ((), ("NPA011", "NPA215", *SAME)),
    "27_plaintext_secret": ((("NPA601", 8, 13), ("NPA601", 9, 26)), ("NPA215", *SAME)),
    "29_crlf": ((), SAME),
    "31_tabs": ((("NPA002", 25, 1),), ()),
    "33_multi_document": ((("NPA004", 27, 1),), SAME),
    "35_not_a_mapping": ((("NPA008", 1, 1),), ()),
    "39_loop_max_1e9": ((("NPA315", 22, 5),), ("NPA702", *SAME)),
    "41_sequence_self": ((("NPA308", 9, 3),), ()),
    "43_var_token_injection": ((), ("NPA215", "NPA602", *SAME)),
    "45_nested_config": ((), ("NPA215", *SAME)),
    "47_config_self_reference": ((("NPA207", 7, 8),), SAME),
    "49_config_chain_6": ((), SAME),
    "49b_config_chain_6_reversed": ((), SAME),
    "51_several_errors": (
        (
            ("NPA204", 17, 19),
            ("NPA301", 22, 13),
            ("NPA301", 23, 26),
            ("NPA303", 24, 5),
            ("NPA801", 24, 14),
        ),
        SAME,
    ),
    "53_resource_profile_unknown_on_group": ((("NPA101", 6, 47), ("NPA101", 6, 70)), ()),
    "55_toolref_and_run_both": ((("NPA303", 26, 5),), SAME),
    "57_if_unknown_config": ((("NPA204", 22, 31), ("NPA321", 22, 54)), SAME),
    "59_loop_max_missing": ((("NPA103", 22, 5),), ("NPA405", "NPA702", *SAME)),
    "61_parallel_members_same_output": ((("NPA701", 11, 61),), (*SAME, "NPA706")),
    "63_api_version_missing": ((("NPA103", 1, 1),), SAME),
    "65_states_list_form": ((), ()),
    "67_state_name_number": ((), SAME),
    "69_alias_bomb": ((("NPA006", 11, 12),), ()),
    "71_python_tag": ((("NPA005", 7, 8),), SAME),
    "73_step_limit": ((), ()),
    "75_sequence_self_loop_empty": ((("NPA308", 9, 3),), ()),
    "77_config_forward_chain_15": ((), SAME),
    "79_params_reference_other_param": ((("NPA204", 21, 28),), SAME),
    "81_writes_decision_nonwriter_loop_until": ((("NPA401", 9, 44),), ("NPA405",)),
    "83_terminal_has_next": ((("NPA311", 27, 5),), SAME),
    "85_sequence_child_terminal": ((("NPA310", 11, 45),), ()),
    "87_dollar_brace_in_resources": ((("NPA504", 12, 13),), SAME),
    "89_case_variant_keys": ((("NPA101", 26, 5), ("NPA101", 27, 5)), SAME),
    "91_loop_max_1e6_leaf": ((("NPA315", 22, 5),), ("NPA702", *SAME)),
}


def _path(probe: str) -> str:
    return str(FOLDER / f"{probe}.yaml")


def test_the_table_knows_every_probe() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == sorted(EXPECTED)


@pytest.mark.parametrize("probe", EXPECTED)
def test_a_probe_gives_its_errors_at_their_places_and_nothing_unexpected(probe: str) -> None:
    errors, others = EXPECTED[probe]
    found = check(_path(probe), Options(use_project=False)).findings
    bad = [item for item in found if item.severity is Severity.ERROR]
    places = [(item.code.id, *item.span.source.position(item.span.start)) for item in bad]
    assert sorted(places) == sorted(errors)
    assert {item.code.id for item in found if item.severity < Severity.ERROR} == set(others)
    assert all(item.help for item in bad)


@pytest.mark.parametrize(
    ("probe", "suggestion"),
    [
        ("01_misspelt_state_key", "'resources'"),
        ("03_misspelt_metadata_key", "'description'"),
        ("05_token_scope_misspelt", "`{{config.msg}}`"),
        ("53_resource_profile_unknown_on_group", "'accelerators'"),
        ("89_case_variant_keys", "'terminal'"),
    ],
)
def test_what_was_meant_is_suggested(probe: str, suggestion: str) -> None:
    assert any(suggestion in item.help for item in check(_path(probe)).findings)


def test_a_cycle_is_printed() -> None:
    (found,) = [
        item for item in check(_path("75_sequence_self_loop_empty")).findings if item.code.id == "NPA308"
    ]
    assert found.message.endswith("a -> c -> a")


def test_the_value_of_a_var_is_data() -> None:
    answer = plan(
        _path("43_var_token_injection"), Options(vars={"msg": "{{config.secret}}"}), assume="default"
    )
    assert "{{config.secret}}" in str(answer["steps"][0])
    assert "s3cr3t" not in str(answer)


def test_a_lower_bound_of_steps_names_the_loop() -> None:
    path = _path("73_step_limit")
    assert check(path).findings == []
    (found,) = check(path, Options(max_steps=300)).findings
    assert found.code.id == "NPA315"
    assert "301 steps, more than 300" in found.message and "(max 300)" in found.message


@pytest.mark.parametrize("probe", ["39_loop_max_1e9", "69_alias_bomb", "91_loop_max_1e6_leaf"])
def test_what_would_not_end_is_refused_by_arithmetic(probe: str) -> None:
    data = Path(_path(probe)).read_bytes()
    tracemalloc.start()
    try:
        assert not check(_path(probe), data=data).sound
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()
