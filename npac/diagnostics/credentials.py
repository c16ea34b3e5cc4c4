"""The forms of credentials: finding them in text, and taking them out of what is said about a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

HIDDEN = "***"


class Credential(NamedTuple):
    """What looks like a credential, and its offsets in the text."""

    what: str
    start: int
    end: int


class _Form(NamedTuple):
    """``marks``: one of them stands in every match.  ``cut`` also matches one of which the end is missing.

    The patterns are compiled (and kept, by ``re``) when a mark is first seen: most texts hold none.
    """

    what: str
    marks: tuple[str, ...]
    whole: str
    cut: str


def _form(what: str, marks: tuple[str, ...], whole: str, cut: str) -> _Form:
    return _Form(what, marks, rf"(?<![A-Za-z0-9]){whole}", rf"(?<![A-Za-z0-9]){cut}")


_BEGIN, _END = r"-----BEGIN [A-Z ]*PRIVATE KEY", r"-----END [A-Z ]*PRIVATE KEY-----"
_USER = r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@{}$'\"]+:"
# Words that documentation writes for a password, and references to one kept elsewhere.
_NO_PASSWORD = r"(?!\{\{|[$<*]|(?:PASS|PASSWORD|PW|SECRET|TOKEN)@)"

_FORMS = (
    _form(
        "an AWS access key",
        ("AKIA", "ASIA"),
        r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])",
        r"(?:AKIA|ASIA)[0-9A-Z]{4,}",
    ),
    _form(
        "a Hugging Face token",
        ("hf_",),
        r"hf_[A-Za-z0-9]{20,}",
        r"hf_(?=[A-Za-z0-9]*[A-Z0-9])[A-Za-z0-9]{8,}",
    ),
    _form("an NVIDIA API key", ("nvapi-",), r"nvapi-[A-Za-z0-9_-]{20,}", r"nvapi-[A-Za-z0-9_-]{4,}"),
    _form(
        "a GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})",
        r"(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{6,}",
    ),
    _form("a GitLab token", ("glpat-",), r"glpat-[A-Za-z0-9_-]{20,}", r"glpat-[A-Za-z0-9_-]{4,}"),
    _form("a Slack token", ("xox",), r"xox[abeoprs]-[A-Za-z0-9-]{10,}", r"xox[abeoprs]-[A-Za-z0-9-]{4,}"),
    _form("a Google API key", ("AIza",), r"AIza[0-9A-Za-z_-]{35}", r"AIza[0-9A-Za-z_-]{8,}"),
    _form(
        "an API key",
        ("sk-",),
        r"sk-(?:[a-z0-9]{1,8}-){0,3}(?=[A-Za-z_]*[0-9])[A-Za-z0-9_]{20,}",
        r"sk-(?:[a-z0-9]{1,8}-){0,3}(?=[A-Za-z_]*[0-9])[A-Za-z0-9_]{8,}",
    ),
    _form(
        "a private key",
        ("PRIVATE KEY",),
        rf"{_BEGIN}-----(?:[\s\S]*?{_END}|[A-Za-z0-9+/=\s]*)",
        rf"{_BEGIN}[\s\S]*",
    ),
    _form(
        "a signed token",
        ("eyJ",),
        r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        r"eyJ[A-Za-z0-9_-]{12,}(?:\.[A-Za-z0-9_-]*){0,2}",
    ),
    _form(
        "a bearer token",
        ("earer",),
        r"[Bb]earer\s+(?=\S*[0-9])[A-Za-z0-9._~+/-]{16,}=*",
        r"[Bb]earer\s+(?=\S*[0-9])[A-Za-z0-9._~+/-]{8,}=*",
    ),
    _form(
        "a password in a URL",
        ("@",),
        rf"{_USER}{_NO_PASSWORD}[^\s/@{{}}'\"]+@",
        rf"{_USER}{_NO_PASSWORD}[^\s/@{{}}'\"]+@",
    ),
)


# One look for all marks at once: nearly every text has none.
_ANY_MARK = re.compile("|".join(re.escape(mark) for form in _FORMS for mark in form.marks))


def may_hold(text: str) -> bool:
    """Say whether ``text`` has the mark of any form; one quick look."""
    return _ANY_MARK.search(text) is not None


def credentials(text: str) -> Iterator[Credential]:
    """Give what in ``text`` has a credential's form, a form after the other."""
    if not _ANY_MARK.search(text):
        return
    for form in _FORMS:
        if any(mark in text for mark in form.marks):
            for match in re.finditer(form.whole, text):
                yield Credential(form.what, match.start(), match.end())


def redacted(text: str) -> str:
    """Give ``text`` with ``***`` for whatever has a credential's form, also where its end was cut off."""
    if not _ANY_MARK.search(text):
        return text
    for form in _FORMS:
        if any(mark in text for mark in form.marks):
            text = re.sub(form.cut, HIDDEN, text)
    return text
