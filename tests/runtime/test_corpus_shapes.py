"""Published shapes whose later iterations write earlier URIs anew, their driver killed in every wave."""

from __future__ import annotations

import os
import signal
import traceback
from collections import Counter
from pathlib import Path

import pytest

from npac.ir.linking import LinkRecord
from npac.ir.program import Program
from npac.ledger.ports import Event
from npac.ledger.sqlite import SqliteLedger
from npac.runtime import api
from npac.runtime import events as ev
from npac.runtime.view import RunView
from tests.runtime.corpus_shapes import shape
from tests.runtime.programs import Bench


class KilledBy(SqliteLedger):
    """Kills its own process, as ``kill -9`` does, right after the first event of a type."""

    fatal = ""

    def append(self, type: str, data, fence: int) -> Event:
        event = super().append(type, data, fence)
        if type == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return event


def drive_until_killed(bench: Bench, program: Program, fatal: str, *, first: bool) -> int:
    """Run one driver in a process of its own; gives the process's wait status."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    try:
        ledger = KilledBy(bench.ledgers().path / "run", "run")
        ledger.fatal = fatal
        if first:
            record = LinkRecord("run", run_uid="5" * 32)
            result = api.start_run(ledger, bench.world(program, record), program, record)
        else:
            stored = api.load(ledger)
            result = api.resume_run(ledger, bench.world(stored.program, stored.link))
        os._exit(result.exit_code)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(99)


def told(view: RunView) -> list[tuple[str, str]]:
    """Give what gates decided, in the order in which they did."""
    return [(each.node, each.decision) for each in view.decisions.values()]


@pytest.mark.parametrize(
    ("name", "fatal"),
    [
        ("token-factory-gate-loop", ev.WAVE_STARTED),
        ("token-factory-gate-loop", ev.LAUNCH_RESULT),
        ("token-factory-gate-loop", ev.BATCH_ENDED),
        ("sim2real", ev.LAUNCH_RESULT),
    ],
)
def test_killed_in_every_wave_it_runs_as_if_never_killed(tmp_path: Path, name: str, fatal: str) -> None:
    smooth, rough = Bench(tmp_path / "smooth"), Bench(tmp_path / "rough")
    for bench in (smooth, rough):
        bench.root.mkdir()
    result = smooth.start(shape(smooth, name, promote_after=2))
    assert result.state == "succeeded", result
    whole = smooth.view()
    assert len(told(whole)) > 1 and len(set(map(str, told(whole)))) > 1
    rewritten = [uri for uri, records in whole.history.items() if len(records) > 1]
    assert rewritten, "no iteration has written a URI anew"

    program = shape(rough, name, promote_after=2)
    rough.ledgers().create("run").close()
    status = drive_until_killed(rough, program, fatal, first=True)
    killed = 0
    while os.WIFSIGNALED(status):
        killed += 1
        assert killed < 500
        status = drive_until_killed(rough, program, fatal, first=False)
    assert os.WEXITSTATUS(status) == 0
    view = rough.view()
    assert killed >= len(view.waves) > 3
    assert (view.state, told(view)) == ("succeeded", told(whole))
    assert list(view.waves) == list(whole.waves)
    assert Counter(rough.trace()) == Counter(smooth.trace())
    assert all(len(wave.attempts) == 1 for wave in view.waves.values())
    assert [len(records) for records in view.history.values()] == [
        len(records) for records in whole.history.values()
    ]
