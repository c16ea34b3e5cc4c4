"""What an S3 store that refuses or does not answer means, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npac.ledger.ports import StoreChanged, StoreError
from npac.ledger.stores.identity import in_words

_CREDENTIALS = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to credentials for it."
_ENDPOINT = "Check AWS_ENDPOINT_URL and the network, then try again."
_AGAIN = "Try again later; nothing was concluded from this answer."

_BY_STATUS: dict[int, tuple[str, str]] = {
    301: ("the bucket is in another region", "Set AWS_REGION to the bucket's region."),
    401: ("the credentials were not accepted", _CREDENTIALS),
    403: ("access was refused", "Check that these credentials may read and list that bucket."),
    404: (
        "there is no such bucket at this endpoint",
        "Create the bucket, or correct its name or AWS_ENDPOINT_URL.",
    ),
    429: ("the store asks for fewer requests", _AGAIN),
}

_BY_CODE: dict[str, tuple[str, str]] = {
    "ExpiredToken": ("the credentials have expired", _CREDENTIALS),
    "InvalidToken": ("the credentials are not valid (any more)", _CREDENTIALS),
    "RequestTimeTooSkewed": (
        "this machine's clock is not that of the store",
        "Set the clock; requests are signed with the time.",
    ),
    "InvalidBucketName": ("no bucket can have that name", "Correct the bucket's name in the URI."),
}
"""What a store says by a code is said more exactly than by its status."""

_BY_NAME: dict[str, tuple[str, str]] = {
    "NoCredentialsError": ("there are no AWS credentials", _CREDENTIALS),
    "PartialCredentialsError": ("the AWS credentials are incomplete", _CREDENTIALS),
    "CredentialRetrievalError": ("the AWS credentials could not be had", _CREDENTIALS),
    "ProfileNotFound": ("the AWS profile does not exist", "Correct AWS_PROFILE or ~/.aws/config."),
    "ParamValidationError": ("the URI is not valid", "Correct the bucket and key in the URI."),
}

_PERMANENT = frozenset({"ParamValidationError", "ProfileNotFound"})
"""Faults of what was asked, or of how it was set up: the same request fails again."""


def status_of(error: Exception) -> int:
    """Give the HTTP status of the answer that an error reports; 0 where there was no whole answer."""
    response = getattr(error, "response", None)
    if not isinstance(response, Mapping):
        return 0
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status if isinstance(status, int) else 0


def failed(error: Exception, doing: str, bucket: str) -> StoreError:
    """Say why something could not be done; ``doing`` completes "could not …" and names the URI."""
    status = status_of(error)
    name = type(error).__name__
    known = _BY_CODE.get(code_of(error)) or _BY_STATUS.get(status) or _BY_NAME.get(name)
    reason, remedy = known or ("", "")
    if not reason:
        if status >= 500:
            reason, remedy = f"the store failed with status {status}", _AGAIN
        elif status:
            reason, remedy = f"the store answered with status {status}", _ENDPOINT
        else:
            reason, remedy = "the store did not answer", _ENDPOINT
    where = f" (bucket {bucket})" if bucket else ""
    permanent = code_of(error) == "InvalidBucketName" or name in _PERMANENT
    return StoreError(f"could not {doing}{where}: {reason}: {error}", remedy=remedy, permanent=permanent)


def code_of(error: Exception) -> str:
    """Give the store's own word for the fault that an error reports; empty where it gave none."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, Mapping) else ""


def changed(uri: str, before: Mapping[str, Any], after: Mapping[str, Any] | None) -> StoreChanged:
    """Say that an object is no longer the one that was seen as ``before``."""
    now = f"has now {in_words(after)}" if after is not None else "is missing"
    return StoreChanged(
        f"{uri} has changed: it was seen with {in_words(before)} and {now}",
        remedy="Run again what writes it, and let nothing else write there.",
    )
