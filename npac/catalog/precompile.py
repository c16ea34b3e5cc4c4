"""Write the shipped catalog as one JSON file that loads in about a millisecond.

``python -m npac.catalog.precompile`` writes ``data/shipped.json`` from the YAML files beside it;
with ``--check`` it only says whether the file is up to date (exit code 1 when not).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from npac.catalog.errors import CatalogError
from npac.catalog.loader import DATA, SHIPPED, merge, read_file
from npac.catalog.shape import VERSION, CatalogFile


def shipped_text(folder: Path) -> str:
    """Give the text of ``shipped.json`` for the YAML files in ``folder``.

    Raises CatalogError for a file that is no catalog and for a name that two files define.
    """
    files = [read_file(path) for path in sorted(folder.glob("*.yaml"))]
    content = merge(files)
    data = {
        "catalog": VERSION,
        "digest": content.digest(),
        "eulas": content.eulas,
        "images": content.images,
        "tools": {_file_name(file): file.tools for file in files},
    }
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _file_name(file: CatalogFile) -> str:
    return os.path.basename(file.path)


def main(arguments: Sequence[str]) -> int:
    """Write or check the file; give the exit code."""
    if list(arguments) not in ([], ["--check"]):
        print("usage: python -m npac.catalog.precompile [--check]", file=sys.stderr)
        return 2
    try:
        text = shipped_text(Path(DATA))
    except CatalogError as error:
        print(error, file=sys.stderr)
        return 1
    target = Path(SHIPPED)
    current = target.read_text(encoding="utf-8") if target.exists() else ""
    if text == current:
        print(f"{target.name} is up to date.")
        return 0
    if arguments:
        print(f"{target.name} does not say what the YAML files say: run `make catalog`.", file=sys.stderr)
        return 1
    target.write_text(text, encoding="utf-8")
    print(f"{target.name} written.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
