"""Whatever stands in a file, checking gives findings or success; what it calls sound compiles."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npac.checking import Checked, check_bytes
from npac.diagnostics.diagnostic import Severity
from npac.diagnostics.render import FORMATS, render
from npac.flow.overrides import Overrides
from npac.pipeline import Settings
from tests.checking.generated import SPECS, TREES, damaged, words
from tests.rules.specs import catalog

REFUSED_LATER = {"operator-input-empty", "unknown-tool-image", "too-many-nodes"}
"""What only compiling refuses: what the operator has not given, and the bound on nodes."""


def looked_at(data: bytes) -> Checked:
    """Check some bytes as `npac check` does, in every format, and then as `npac compile` does."""
    settings = Settings(catalog(), Overrides(), max_nodes=500)
    checked = check_bytes("x.yaml", data, settings)
    size = len(checked.source.text)
    for item in checked.findings:
        for span in (item.span, *(other.span for other in item.related)):
            assert 0 <= span.start <= span.end <= size, item
        assert item.message.strip() and "\n" not in item.message, item
    for name in FORMATS:
        assert isinstance(render(name, checked.findings, hidden=checked.hidden), str)
    if checked.sound and not checked.raw:
        built = check_bytes("x.yaml", data, settings, until="settle")
        errors = {item.code.name for item in built.findings if item.severity >= Severity.ERROR}
        assert errors <= REFUSED_LATER, errors
        assert errors or (built.unit is not None and built.unit.program is not None)
    return checked


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    looked_at(data)


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    looked_at(text.encode("utf-8", "surrogatepass"))


@given(
    st.lists(
        st.sampled_from([*words(), ": ", "- ", "\n", "\n  ", "{", "}", "[", "]", ",", "&a ", "*a", "<<: "])
    )
)
def test_any_row_of_the_languages_words(parts: list[str]) -> None:
    looked_at("".join(parts).encode())


@given(TREES)
def test_any_tree(tree: object) -> None:
    import yaml

    looked_at(yaml.safe_dump(tree, allow_unicode=True).encode("utf-8", "surrogatepass"))


@given(SPECS)
def test_any_tree_in_the_form_of_a_spec(text: str) -> None:
    looked_at(text.encode("utf-8", "surrogatepass"))


@given(damaged())
def test_real_specs_that_were_damaged(text: str) -> None:
    looked_at(text.encode("utf-8", "surrogatepass"))
