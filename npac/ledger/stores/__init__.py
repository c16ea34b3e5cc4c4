"""Stores of artifacts, one module for each URI scheme."""

from __future__ import annotations

import os
from functools import lru_cache

from npac.ledger.ports import Store, StoreError


def store_for(uri: str) -> Store:
    """Give the store that holds ``uri``: ``file://`` or ``s3://``.

    Nothing of a scheme is imported before a URI of it is asked for.  An S3 store follows the
    ``AWS_*`` variables as they are now.  Raises :class:`StoreError` for any other scheme.
    """
    scheme, separator, _ = uri.partition("://")
    if separator and scheme == "file":
        from npac.ledger.stores.file import FileStore

        return FileStore()
    if separator and scheme == "s3":
        return _s3(tuple(sorted((k, v) for k, v in os.environ.items() if k.startswith("AWS_"))))
    raise StoreError(
        f"{uri!r} is in no store that npac can read",
        remedy="Use a URI that begins with file:/// or s3://.",
        permanent=True,
    )


def demand_usable(uri: str) -> None:
    """Refuse a URI that no store of this installation could ever read, without asking any store.

    Raises a permanent :class:`StoreError`: an unknown scheme, a URI that names no file or object,
    or a scheme whose package is not installed.
    """
    store_for(uri)
    if uri.startswith("file://"):
        from npac.ledger.stores.file import path_of

        path_of(uri)
        return
    from npac.ledger.stores.s3 import demand_boto3, split

    split(uri)
    demand_boto3()


@lru_cache(maxsize=4)
def _s3(environment: tuple[tuple[str, str], ...]) -> Store:
    # Making a client takes a tenth of a second, so one is kept for each state of the variables.
    from npac.ledger.stores.s3 import S3Store

    return S3Store()
