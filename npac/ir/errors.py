"""What can go wrong on the way from a program to a document."""

from __future__ import annotations


class LinkError(ValueError):
    """A late value is missing, or a linked text breaks a constraint that text must keep."""
