"""The scripts of every task of the corpus and of ``workflows/`` are clean for bash and shellcheck."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from tests.backends.compiled import Compiled, of_corpus, of_workflows
from tests.backends.shell import demand_clean
from tests.corpus.place import needs_corpus


def _scripts(compiled: Sequence[Compiled]) -> Iterator[str]:
    for item in compiled:
        for document in yaml.safe_load_all(item.text):
            yield from (document[key] for key in ("setup", "run") if key in document)


@needs_corpus
def test_scripts_of_the_corpus(tmp_path: Path) -> None:
    assert demand_clean(_scripts(of_corpus()), tmp_path) > 100


def test_scripts_of_the_workflows(tmp_path: Path) -> None:
    assert demand_clean(_scripts(of_workflows()), tmp_path) > 10
