"""From the URL or path of a ledger root to the root."""

from __future__ import annotations

import os
from functools import lru_cache

from npac.ledger.ports import LedgerError, Root
from npac.ledger.root import LedgerRoot


def root_for(url: str, *, single_writer: bool = False) -> Root:
    """Give the root at a path, a ``file://`` URL or an ``s3://`` URL.

    Nothing of a scheme is imported before a URL of it is asked for.  A root on ``s3://`` follows the
    ``AWS_*`` variables as they are now.  ``single_writer`` allows new runs on a store that cannot
    keep two drivers apart.  Raises :class:`LedgerError` when the URL cannot be a ledger root.
    """
    if url.partition("://")[0] == "s3":
        environment = tuple(sorted((k, v) for k, v in os.environ.items() if k.startswith("AWS_")))
        return _objects(url, single_writer, environment)
    if single_writer:
        raise LedgerError(
            f"the ledger root {url} is a folder, which keeps two drivers apart by itself",
            remedy="Leave --single-writer out; it is for ledgers on s3:// alone.",
        )
    return LedgerRoot(url)


@lru_cache(maxsize=8)
def _objects(url: str, single_writer: bool, environment: tuple[tuple[str, str], ...]) -> Root:
    # One root for each state of the variables: what it has read and verified is not read again.
    from npac.ledger.objects.root import ObjectRoot

    return ObjectRoot(url, single_writer=single_writer)
