"""From a URL or path to the root that holds ledgers there."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from npac.ledger.objects.root import ObjectRoot
from npac.ledger.ports import LedgerError
from npac.ledger.root import LedgerRoot
from npac.ledger.roots import root_for


def test_the_scheme_says_which_root_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for url, place in (("sub", f"{tmp_path}/sub"), (f"file://{tmp_path}/a%20b", f"{tmp_path}/a b")):
        root = root_for(url)
        assert isinstance(root, LedgerRoot) and root.place == place and root.caution("r") == ""
    root = root_for("s3://bucket/runs/")
    assert isinstance(root, ObjectRoot) and root.place == "s3://bucket/runs"


@pytest.mark.parametrize(
    "url", ["gs://bucket/runs", "S3://bucket/runs", "s3://", "file://host/x", "http://x/y"]
)
def test_what_is_no_root_is_refused(url: str) -> None:
    with pytest.raises(LedgerError) as caught:
        root_for(url)
    assert caught.value.remedy


def test_a_folder_needs_no_promise_of_one_writer(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="keeps two drivers apart by itself") as caught:
        root_for(str(tmp_path), single_writer=True)
    assert "--single-writer" in caught.value.remedy


def test_one_root_serves_one_state_of_the_environment(aws: Callable[[str], None]) -> None:
    aws("http://127.0.0.1:9")
    root = root_for("s3://bucket/runs")
    assert root_for("s3://bucket/runs") is root
    assert root_for("s3://bucket/runs", single_writer=True) is not root
    aws("http://127.0.0.1:8")
    assert root_for("s3://bucket/runs") is not root


def test_nothing_of_s3_is_imported_for_a_folder(python: Callable[..., subprocess.Popen[str]]) -> None:
    program = """
import sys
from npac.ledger.roots import root_for
root_for("/tmp/nowhere").runs()
print([name for name in sys.modules if name.startswith(("npac.ledger.objects", "boto3", "botocore"))])
root_for("s3://bucket/runs")
print([name for name in sys.modules if name.startswith(("boto3", "botocore"))])
"""
    out, err = python(program).communicate(timeout=60)
    assert (out.split("\n"), err) == (["[]", "[]", ""], "")


def test_without_boto3_the_extra_is_named(python: Callable[..., subprocess.Popen[str]]) -> None:
    program = """
import sys
sys.modules["boto3"] = sys.modules["botocore"] = sys.modules["botocore.exceptions"] = None
from npac.ledger.ports import LedgerError
from npac.ledger.roots import root_for
root = root_for("s3://bucket/runs")
for act in (root.runs, lambda: root.open("r"), lambda: root.create("r"), lambda: root.holds("r")):
    try:
        act()
    except LedgerError as error:
        print(error, "|", error.remedy)
"""
    out, err = python(program).communicate(timeout=60)
    assert err == "" and len(out.splitlines()) == 4
    assert all("boto3, which is not installed" in x and "pip install boto3" in x for x in out.splitlines())
