"""The line that says what a command is doing: on a terminal, after a while, and gone at the end."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from npac.cli import working
from npac.cli.working import Working

ROOT = Path(__file__).resolve().parents[2]
CLEAR = "\r\x1b[K"


class Terminal(io.StringIO):
    """A stream that says it is a terminal, and tells when something was written to it."""

    def __init__(self, terminal: bool = True) -> None:
        super().__init__()
        self.terminal = terminal
        self.written = threading.Event()

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        count = super().write(text)
        self.written.set()
        return count


def _screen(text: str) -> str:
    """Give what stands on a terminal after ``text``, of one line."""
    line = ""
    for part in re.split("(\r\x1b\\[K)", text):
        line = "" if part == CLEAR else line + part
    return line


def test_the_line_is_shown_and_taken_away() -> None:
    stream = Terminal()
    with Working("big.yaml", stream, after=0) as work:
        work("writing files", 1234, 5678)
        stream.written.clear()
        assert stream.written.wait(30)
        assert _screen(stream.getvalue()) == "0:00  big.yaml: writing files 1,234 of 5,678"
    assert _screen(stream.getvalue()) == "" and "\n" not in stream.getvalue()


def test_it_is_gone_before_an_error_is_told() -> None:
    stream = Terminal()
    with pytest.raises(ValueError), Working("big.yaml", stream, after=0):
        assert stream.written.wait(30)
        raise ValueError
    assert _screen(stream.getvalue()) == ""


def test_nothing_is_written_after_the_end() -> None:
    stream = Terminal()
    with Working("big.yaml", stream, after=0) as work:
        assert stream.written.wait(30)
        work.end()
        said = stream.getvalue()
        work("more", 1, 2)
        assert not [thread for thread in threading.enumerate() if thread.name == "working"]
    assert stream.getvalue() == said and said.endswith(CLEAR)


def test_short_work_and_other_streams_see_nothing() -> None:
    short, other = Terminal(), Terminal(terminal=False)
    with Working("small.yaml", short) as work:
        work("writing files", 1, 2)
    with Working("big.yaml", other, after=0) as work:
        work("writing files", 1, 2)
    assert short.getvalue() == other.getvalue() == ""


def test_a_line_fits_the_terminal_and_holds_no_control_character(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    stream = Terminal()
    with Working("a\x1b[31m" + "b" * 100, stream, after=0):
        assert stream.written.wait(30)
        assert _screen(stream.getvalue()) == "0:00  a?[31mbbbbbbbbbbbbbbbbb…"[:28] + "…"


SPEC = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: shown}
states:
  one: {run: {argv: [one]}, next: two}
  two: {run: {argv: [two]}, terminal: true}
"""


def _on_terminal(*arguments: str) -> Iterator[str]:
    """Run a command with a terminal as its standard error, and the line from the beginning.

    Gives what it wrote to the terminal and to standard output, and its exit code.
    """
    code = (
        "import sys, npac.cli.working as working\n"
        "working.AFTER = working.EVERY = 0.0005\n"
        "working.Working.__init__.__kwdefaults__['after'] = 0.0\n"
        "from npac.cli.main import entry\nentry()"
    )
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=slave,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
    )
    os.close(slave)
    said = bytearray()

    def read() -> None:
        try:
            while piece := os.read(master, 65536):
                said.extend(piece)
        except OSError:
            pass  # the terminal has no other end any more

    reader = threading.Thread(target=read)
    reader.start()
    out, _ = process.communicate(timeout=120)
    reader.join(timeout=60)
    os.close(master)
    yield said.decode()
    yield out.decode()
    yield str(process.returncode)


def test_compile_shows_it_on_the_terminal_only(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC)
    said, out, code = _on_terminal("compile", str(spec), "-o", str(tmp_path / "out"))
    assert code == "0" and out.startswith(f"{tmp_path / 'out'}: 2 waves, 0 gates, program sha256:")
    assert f"checking {spec}" in said and _screen(said) == ""
    said, out, code = _on_terminal("compile", str(spec))
    plain = subprocess.run(
        [sys.executable, "-c", "from npac.cli.main import entry; entry()", "compile", str(spec)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (code, out, plain.stderr) == ("0", plain.stdout, "") and _screen(said) == ""


def test_findings_stand_alone(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC.replace("next: two", "next: nowhere"))
    said, out, code = _on_terminal("compile", str(spec))
    shown = said.rpartition(CLEAR)[2]
    assert (code, out) == ("1", "") and "nowhere" in shown and "checking" not in shown
    assert working.AFTER == 1.0
