"""Starting one process of a job so that no instruction of it runs unrecorded."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from npac.engines.local.log_files import open_log
from npac.engines.local.processes import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_GO = b"g"


def spawn(
    program: str,
    script: str,
    *,
    directory: str,
    environment: Mapping[str, str],
    log: str,
    umask: int,
    record: Callable[[int, int], None],
) -> tuple[int, int]:
    """Run ``program script`` as the leader of a session of its own; gives pid and start time.

    Output goes straight to the end of the file ``log``, input is ``/dev/null``.  ``record`` gets pid
    and start time and returns before the program is executed; when it raises, or when this process
    dies first, the program never starts.  Raises ``OSError`` when there can be no process.
    """
    output = open_log(log)
    try:
        waiting, release = os.pipe()
    except OSError:
        os.close(output)
        raise
    try:
        pid = os.fork()
        if pid == 0:
            _become(program, script, directory, environment, output, umask, waiting, release)
        try:
            now = stat(pid)
            start = -1 if now is None else now.start
            record(pid, start)
            os.write(release, _GO)
            return pid, start
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
    finally:
        for handle in (output, waiting, release):
            os.close(handle)


def _become(
    program: str,
    script: str,
    directory: str,
    environment: Mapping[str, str],
    output: int,
    umask: int,
    waiting: int,
    release: int,
) -> None:
    """Turn the forked child into the program; never returns."""
    try:
        os.close(release)
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with suppress(OSError, ValueError):  # Some are the C library's own.
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        nothing = os.open("/dev/null", os.O_RDONLY)
        for handle, place in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(handle, place)
        if os.read(waiting, 1) != _GO:
            os._exit(125)
        os.umask(umask)
        os.chdir(directory)
        os.execve(program, [os.path.basename(program), script], dict(environment))
    except BaseException as error:
        os.write(2, f"{program} could not be started: {error}\n".encode("utf-8", "replace"))
        os._exit(127)
