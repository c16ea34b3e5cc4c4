"""The place where the ledgers of all runs are: one folder for each run."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

from npac.ledger.blobs import sync_folder
from npac.ledger.database import make_database
from npac.ledger.events import ZEROS
from npac.ledger.faults import from_os
from npac.ledger.ports import LedgerCorrupt, LedgerError, NoSuchRun, StoreError
from npac.ledger.run_ids import demand_run_id, is_run_id
from npac.ledger.sqlite import BLOBS, DATABASE, SqliteLedger
from npac.ledger.stores.file import path_of
from npac.ledger.surroundings import Surroundings


def default_root() -> Path:
    """Give ``$NPAC_HOME``, else ``$XDG_STATE_HOME/npac``, else ``~/.local/state/npac``.

    Raises :class:`LedgerError` when none of them can be known.
    """
    home = os.environ.get("NPAC_HOME", "")
    if home:
        return Path(home).absolute()
    state = os.environ.get("XDG_STATE_HOME", "")
    # The XDG rules say that a relative path there is to be ignored.
    if state and os.path.isabs(state):
        return Path(state) / "npac"
    try:
        return Path.home() / ".local" / "state" / "npac"
    except RuntimeError as error:
        raise LedgerError(
            f"there is no home directory to keep ledgers in: {error}",
            remedy="Set NPAC_HOME to a folder of yours.",
        ) from error


class LedgerRoot:
    """All runs below one folder: a path, a ``file://`` URL, or the default where ``url`` is empty.

    A :class:`~npac.ledger.ports.Root`.  Nothing is made on disk before the first :meth:`create`.
    """

    def __init__(self, url: str | None = None, *, surroundings: Surroundings | None = None) -> None:
        """Raises :class:`LedgerError` when the URL cannot be a ledger root."""
        self.path = _root_path(url) if url else default_root()
        self._surroundings = surroundings

    @property
    def place(self) -> str:
        """Give the folder's path."""
        return str(self.path)

    def caution(self, run_id: str) -> str:
        """Give nothing: a folder keeps two drivers apart by itself."""
        return ""

    def create(self, run_id: str) -> SqliteLedger:
        """Make the empty ledger of a new run and open it.

        Raises :class:`LedgerError` when the run exists, or anything else has its name.
        """
        folder = self._folder(run_id)
        try:
            _make(self.path)
            if self.holds(run_id):
                raise _exists(run_id, folder)
            # Made aside and renamed: a run is there as a whole or not at all.
            staging = Path(tempfile.mkdtemp(prefix=".new-", dir=self.path))
            try:
                os.chmod(staging, 0o700)
                make_database(staging / DATABASE, ZEROS)
                sync_folder(staging)
                os.rename(staging, folder)
            except BaseException:
                shutil.rmtree(staging, ignore_errors=True)
                raise
            sync_folder(self.path)
        except OSError as error:
            if os.path.lexists(folder):
                raise _exists(run_id, folder) from error
            raise from_os(error, f"make the ledger folder {folder}") from error
        return self.open(run_id)

    def holds(self, run_id: str) -> bool:
        """Say whether a run has this id, even one of which nothing is on record.

        Raises :class:`LedgerError` for an id that no run may have, and when something that is no
        ledger stands in its place.
        """
        folder = self._folder(run_id)
        try:
            if not os.path.lexists(folder):
                return False
            if not os.path.islink(folder) and _holds_ledger(folder):
                return True
        except NotADirectoryError:
            pass
        except OSError as error:
            raise from_os(error, f"look at the ledger folder {folder}") from error
        raise LedgerError(
            f"{folder} exists already, and it is not the ledger of a run",
            remedy="Move it away, or choose another run id.",
        )

    def open(self, run_id: str) -> SqliteLedger:
        """Open the ledger of a run; raises :class:`NoSuchRun` when there is none."""
        folder = self._folder(run_id)
        try:
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                raise LedgerError(
                    f"{folder} is not a folder, so it is not the ledger of run {run_id}",
                    remedy="Put the run's folder itself there; a ledger is never reached by a link.",
                )
            if not _holds_ledger(folder) and _was_ledger(folder):
                raise LedgerCorrupt(
                    f"the folder {folder} of run {run_id} has lost its {DATABASE}",
                    remedy="Restore the run's folder from a copy.",
                )
            os.lstat(folder / DATABASE)
        except FileNotFoundError:
            # A folder without a ledger stands in the way of a new run of that id.
            absent = LedgerError if os.path.lexists(folder) else NoSuchRun
            raise absent(
                f"there is no run {run_id} in {self.path}",
                remedy="`npac runs` lists the runs there; check the run id and the ledger root.",
            ) from None
        except OSError as error:
            raise from_os(error, f"open the ledger folder {folder}") from error
        return SqliteLedger(folder, run_id, surroundings=self._surroundings)

    def runs(self) -> list[str]:
        """Give the ids of all runs, sorted; whatever else is in the root is passed over.

        Raises :class:`LedgerError` when the root cannot be read, which says nothing about its runs.
        """
        found = []
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    named = is_run_id(entry.name) and entry.is_dir(follow_symlinks=False)
                    if named and _holds_ledger(entry.path):
                        found.append(entry.name)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise from_os(error, f"list the ledger root {self.path}") from error
        return sorted(found)

    def strays(self) -> list[tuple[str, str]]:
        """Give what is named like a run and cannot be opened as one, each with a sentence that says why.

        That are links to the folders of runs, links that lead nowhere, and folders that have lost
        their ledger file.  Raises like :meth:`runs`.
        """
        found = []
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    if not is_run_id(entry.name):
                        continue
                    if entry.is_symlink():
                        target = os.path.realpath(entry.path)
                        if not os.path.lexists(target):
                            found.append((entry.name, f"it is a link to {target}, where nothing is"))
                        elif os.path.lexists(os.path.join(target, DATABASE)):
                            why = f"it is a link to {target}; a ledger is never reached by a link"
                            found.append((entry.name, why))
                    elif entry.is_dir() and not _holds_ledger(entry.path) and _was_ledger(entry.path):
                        found.append((entry.name, f"it has lost its {DATABASE}"))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise from_os(error, f"list the ledger root {self.path}") from error
        return sorted(found)

    def _folder(self, run_id: str) -> Path:
        demand_run_id(run_id)
        return self.path / run_id


def _make(folder: Path) -> None:
    """Make a folder, and those above it that are not there yet, for the owner alone."""
    lacking = []
    while not os.path.lexists(folder):
        lacking.append(folder)
        folder = folder.parent
    for each in reversed(lacking):
        each.mkdir(mode=0o700, exist_ok=True)
    # What stands there may be a file, or a link that leads nowhere.
    folder.mkdir(exist_ok=True)


def _root_path(url: str) -> Path:
    if "://" not in url:
        try:
            return Path(url).expanduser().absolute()
        except RuntimeError as error:
            raise LedgerError(
                f"no ledger root: {error}", remedy="Write the path out, without '~'."
            ) from error
    try:
        return Path(path_of(url))
    except StoreError as error:
        raise LedgerError(f"no ledger root: {error}", remedy=error.remedy) from error


def _was_ledger(folder: str | Path) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in (BLOBS, f"{DATABASE}-wal"))


def _holds_ledger(folder: str | Path) -> bool:
    # Any other error than absence goes up: a run that cannot be seen is not one that is not there.
    try:
        os.lstat(os.path.join(folder, DATABASE))
    except FileNotFoundError:
        return False
    return True


def _exists(run_id: str, folder: Path) -> LedgerError:
    return LedgerError(
        f"run {run_id} exists already ({folder})",
        remedy=f"Go on with it by `npac resume {run_id}`, or choose another run id.",
    )
