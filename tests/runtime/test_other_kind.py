"""An output of the other kind than was declared is said, and how to declare it."""

from __future__ import annotations

from typing import Any

from tests.runtime.programs import chain, step


def test_a_directory_where_a_file_was_declared(bench: Any) -> None:
    shell = f"mkdir {bench.work}/o; echo x > {bench.work}/o/file"
    result = bench.start(chain(step("train", shell, [bench.uri("o")])))
    assert result.exit_code == 1 and "nothing is there" not in result.reason
    assert "a directory stands there, not a file; end the URI with a slash, or declare kind: directory" in (
        result.reason
    )


def test_a_file_where_a_directory_was_declared(bench: Any) -> None:
    result = bench.start(chain(step("train", f"echo x > {bench.work}/o", [bench.uri("o/")])))
    assert result.exit_code == 1
    assert (
        "a file stands there, not a directory; take the slash off the URI's end, or declare kind: file"
        in (result.reason)
    )


def test_a_pipe_where_a_directory_was_declared_is_nothing(bench: Any) -> None:
    result = bench.start(chain(step("train", f"mkfifo {bench.work}/o", [bench.uri("o/")])))
    assert result.exit_code == 1 and "nothing is there" in result.reason


def test_a_directory_with_a_link_to_its_parent_and_a_pipe_was_not_written(bench: Any) -> None:
    out = f"{bench.work}/o"
    shell = f"echo x > {bench.work}/beside; mkdir {out}; ln -s .. {out}/up; mkfifo {out}/pipe"
    result = bench.start(chain(step("train", shell, [bench.uri("o/")])))
    assert result.exit_code == 1 and "it is empty" in result.reason
