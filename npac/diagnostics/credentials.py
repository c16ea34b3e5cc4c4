"""The forms of credentials: finding them in text, and taking them out of what is said about a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
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
    whole: str | Callable[[str], Iterator[tuple[int, int]]]
    cut: str


def _form(
    what: str, marks: tuple[str, ...], whole: str | Callable[[str], Iterator[tuple[int, int]]], cut: str
) -> _Form:
    found = rf"(?<![A-Za-z0-9]){whole}" if isinstance(whole, str) else whole
    return _Form(what, marks, found, rf"(?<![A-Za-z0-9]){cut}")


_BEGIN = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY"
_END = r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_USER = r"[A-Za-z][A-Za-z0-9+.-]{0,40}://[^\s/:@{}$'\"]+:"
# Words that documentation writes for a password, and references to one kept elsewhere.
_NO_PASSWORD = r"(?!\{\{|[$<*]|(?:PASS|PASSWORD|PW|SECRET|TOKEN)@)"


_SLACK = r"(?:services|workflows|triggers)(?:/[A-Za-z0-9]+){2}"


def _wandb_keys(text: str) -> Iterator[tuple[int, int]]:
    for match in re.finditer(
        r"\bwandb[ .]login\b[^\n;|&]{0,80}?(?<![A-Za-z0-9])([0-9a-f]{40})(?![A-Za-z0-9])", text
    ):
        yield match.span(1)


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    from npac.diagnostics.long_credentials import private_keys

    return private_keys(text, rf"(?<![A-Za-z0-9]){_BEGIN}(?: BLOCK)?-----", _END)


def _signed_tokens(text: str) -> Iterator[tuple[int, int]]:
    from npac.diagnostics.long_credentials import signed_tokens

    return signed_tokens(text)


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
    _form(
        "an npm token",
        ("npm_",),
        r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])",
        r"npm_(?=[A-Za-z]*[0-9])[A-Za-z0-9]{12,}",
    ),
    _form("a GitLab token", ("glpat-",), r"glpat-[A-Za-z0-9_-]{20,}", r"glpat-[A-Za-z0-9_-]{4,}"),
    _form("a Slack token", ("xox",), r"xox[abeoprs]-[A-Za-z0-9-]{10,}", r"xox[abeoprs]-[A-Za-z0-9-]{4,}"),
    _form(
        "a webhook of Slack",
        ("hooks.slack.com/",),
        rf"hooks\.slack\.com/{_SLACK}/(?![A-Za-z0-9]*?([A-Za-z0-9])\1{{15}})[A-Za-z0-9]{{16,}}",
        rf"hooks\.slack\.com/{_SLACK}/[A-Za-z0-9]+",
    ),
    _form(
        "a webhook of Discord",
        ("/api/webhooks/",),
        r"discord(?:app)?\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_-]{30,}",
        r"discord(?:app)?\.com/api/webhooks/[0-9]{4,}/[A-Za-z0-9_-]+",
    ),
    _form(
        "an API key of Weights & Biases",
        ("wandb",),
        _wandb_keys,
        r"(?<=wandb login )[0-9a-f]{8,}",
    ),
    _form("a Google API key", ("AIza",), r"AIza[0-9A-Za-z_-]{35}", r"AIza[0-9A-Za-z_-]{8,}"),
    _form("a Google access token", ("ya29.",), r"ya29\.[A-Za-z0-9_-]{20,}", r"ya29\.[A-Za-z0-9_-]{4,}"),
    _form("a PyPI token", ("pypi-AgE",), r"pypi-AgE[A-Za-z0-9_-]{20,}", r"pypi-AgE[A-Za-z0-9_-]{4,}"),
    _form(
        "a Stripe key",
        ("_live_",),
        r"[rs]k_live_[A-Za-z0-9]{16,}",
        r"[rs]k_live_[A-Za-z0-9]{4,}",
    ),
    _form(
        "an API key",
        ("sk-",),
        r"sk-(?:[a-z0-9]{1,8}-){0,3}(?=[A-Za-z_]*[0-9])[A-Za-z0-9_]{20,}",
        r"sk-(?:[a-z0-9]{1,8}-){0,3}(?=[A-Za-z_]*[0-9])[A-Za-z0-9_]{8,}",
    ),
    _form(
        "a private key",
        ("PRIVATE KEY",),
        _private_keys,
        rf"{_BEGIN}[\s\S]*",
    ),
    _form(
        "a signed token",
        ("eyJ",),
        _signed_tokens,
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


_WHOLE_TEXT = 1024
"""Characters from which on a text is looked at once, however often it is asked about."""


def may_hold(text: str) -> bool:
    """Say whether ``text`` has the mark of any form; one quick look."""
    return _held(text) if len(text) >= _WHOLE_TEXT else _ANY_MARK.search(text) is not None


@lru_cache(maxsize=4)
def _held(text: str) -> bool:
    return _ANY_MARK.search(text) is not None


def credentials(text: str) -> Iterator[Credential]:
    """Give what in ``text`` has a credential's form, a form after the other."""
    if not may_hold(text):
        return
    for form in _FORMS:
        if any(mark in text for mark in form.marks):
            if isinstance(form.whole, str):
                found: Iterator[tuple[int, int]] = (match.span() for match in re.finditer(form.whole, text))
            else:
                found = form.whole(text)
            for start, end in found:
                yield Credential(form.what, start, end)


def redacted(text: str) -> str:
    """Give ``text`` with ``***`` for whatever has a credential's form, also where its end was cut off."""
    if not _ANY_MARK.search(text):
        return text
    for form in _FORMS:
        if any(mark in text for mark in form.marks):
            text = re.sub(form.cut, HIDDEN, text)
    return text
