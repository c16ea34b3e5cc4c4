"""What can go wrong between a program and its documents."""

from __future__ import annotations


class BackendError(ValueError):
    """A program holds something that this back end cannot express; the message says what and where."""
