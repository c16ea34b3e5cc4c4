"""Names that say that their value is a credential, and what of such values is none."""

from __future__ import annotations

import re
from functools import lru_cache

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic
from npac.syntax.spec_parser import SECRET_HELP
from npac.syntax.templates import parse_template
from npac.text.source import Span

_NAMES = (
    "secret", "token", "password", "passwd", "passphrase", "api_key", "apikey", "access_key", "secret_key",
    "private_key",
)  # fmt: skip
_HUMP = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
"""Where a word of a camelCase name begins."""
_NAME_ENDS = tuple(f"_{name}" for name in _NAMES)
_LAST = ("secret", "token", "password", "passwd", "passphrase", "key")
"""What the names end in, whatever stands between their words."""
_GIVING = (
    *(f"{name}{sign}" for name in _LAST for sign in "= \t\\"),
    "curl ", "mysql", "mariadb ", "sshpass ", " login ",
)  # fmt: skip
"""One of these stands in every text in which a credential is given to a command."""
_ENDS_NAME = ("=", " ", "\t", ",", "\r", "\n")
_NO_VALUE = (":", "#")
_ENDS_KEY = (":", ",", "}", "\r", "\n", "")
# Words before `token` in names of what models read: those stand for a place in a text, an image or a motion.
_OF_MODELS = frozenset(
    (
        "action", "additional", "audio", "begin", "blank", "bos", "box", "camera", "class", "cls", "concept",
        "depth", "dummy", "end", "eos", "eot", "fake", "frame", "image", "img", "instance", "latent", "mask",
        "modality", "newline", "nl", "pad", "padding", "patch", "placeholder", "point", "pose", "prompt",
        "proprio", "query", "register", "sep", "sot", "special", "speech", "start", "stop", "text", "trigger",
        "unk", "unknown", "video", "vision",
    )
)  # fmt: skip
_OBJECTS = frozenset(("k8s", "kubernetes", "kube", "pull"))
"""Words before `secret` in names of what holds the name of a Kubernetes object."""
_OBJECT = r"(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\Z"

_NUMBER = r"[-+]?[0-9][0-9_.eE+-]*\Z"
_URI = r"[A-Za-z][A-Za-z0-9+.-]*://"
_STAND_IN = (
    r"<[^<>]*>\Z|\[[^\[\]]*\]\Z"  # <your token here>, and what tokenizers call tokens: <pad>, [MASK]
    r"|\$[A-Za-z_][A-Za-z0-9_]*\Z|\$\{[A-Za-z_][A-Za-z0-9_]*\}\Z|\$\([^()]*\)\Z"
    r"|(?:env:)?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:TOKEN|KEY|SECRET|PASSWORD|PASSPHRASE)\Z"
    r"|(?:~|\.\.?|/(?:etc|home|mnt|opt|root|run|secrets|srv|tmp|usr|var|workspace))(?:/[A-Za-z0-9_.@-]+)+/?\Z"
    r"|[A-Za-z0-9_./~-]+\.(?:pem|key|pub|crt|cert|p12|pfx|json|txt|env|ya?ml|toml|ini)\Z"
    r"|(?i:empty|none|null|dummy|unused|not[-_ ]?(?:needed|used|required)|placeholder|redacted)\Z"
    r"|(.)\1{2,}\Z"  # ********, xxx
)
"""What stands for a value, or says where it is: a placeholder, a variable's name, a file."""
_PART = r"[A-Za-z0-9_.@-]+"
_STORED = (
    # Google's, AWS's and Vault's names of what a secret store holds
    rf"projects/{_PART}/secrets/{_PART}(?:/versions/{_PART})?\Z"
    r"|arn:aws[a-z-]*:(?:secretsmanager|ssm):[A-Za-z0-9_:/+=.@-]+\Z"
    rf"|(?:vault|ssm|aws-sm|awssm|gcp-sm|gcpsm|sm|akv|keyvault|op|sops|doppler|infisical|conjur|k8s|kubernetes)"
    rf":/*(?:{_PART}/)+{_PART}(?:[#:]{_PART})?\Z"
    r"|[a-z0-9-]+:(?:latest|[0-9]{1,4})\Z"  # a secret's name and version
    rf"|(?:k8s|kubernetes)/(?:{_PART}/)*{_PART}\Z"
    rf"|(?:secret|kv)/(?:data/)?(?:{_PART}/)*{_PART}#{_PART}\Z"
)
"""References to a secret by its path in a store."""
_CLASSES = ("[a-z]", "[A-Z]", "[0-9]", r"[^A-Za-z0-9\s]")
_LONG = 16


@lru_cache(maxsize=1024)
def is_telling(key: str) -> bool:
    """Say whether a key's name says that its value is a credential: by its last word, in any spelling."""
    name = _snake(key)
    if name not in _NAMES and not name.endswith(_NAME_ENDS):
        return False
    before, _, last = name.rpartition("_")
    return last != "token" or before.rpartition("_")[2] not in _OF_MODELS


def may_give(text: str) -> bool:
    """Say whether a text may give a credential to a command; a quick look."""
    low = text.lower()
    # Nearly no text has one of the words, and plain searches are the cheapest way to see that.
    if not (
        "token" in low
        or "key" in low
        or "pass" in low
        or "secret" in low
        or "curl" in low
        or "mysql" in low
        or "mariadb" in low
        or "login" in low
    ):
        return False
    return any(mark in low for mark in _GIVING)


def may_name(text: str) -> bool:
    """Say whether a whole spec may give a credential to a command: a quick look, at it as it is written.

    That is `--token=x`, `TOKEN=x`, `[--token, x]`, or `- --token` with its value on the next line.
    """
    low = text.lower()
    if any(mark in low for mark in ("curl", "mysql", "mariadb", "sshpass", "login")):
        return True
    for word in _LAST:
        # Plain searches: an expression of all words takes many times as long over a whole spec.
        at = low.find(word)
        while at >= 0:
            end = at + len(word)
            after = low[end : end + 8].lstrip("\"'")
            if after[:1] in _ENDS_NAME and after.lstrip(" \t")[:1] not in _NO_VALUE:
                return True
            at = low.find(word, end)
    return False


def may_tell(text: str) -> bool:
    """Say whether a whole spec may have a telling key, or a telling name of a variable: a quick look."""
    low = text.lower()
    if "\\" in low:
        return True
    for word in _LAST:
        at = low.find(word)
        while at >= 0:
            end = at + len(word)
            if low[end : end + 80].lstrip("\"' \t")[:1] in _ENDS_KEY:
                return True
            at = low.find(word, end)
    return False


def _snake(key: str) -> str:
    name = key.rpartition(".")[2]
    if not name.lower().endswith(_LAST):
        return ""
    return re.sub(_HUMP, "_", name).lower().replace("-", "_")


def stands_in(key: str, text: str) -> bool:
    """Say whether the value of a telling key is none: a number, a place, a name, or text with tokens."""
    if "{{" in text:
        template = parse_template(text)
        if template.tokens or template.problems:
            return True
    if any(re.match(form, text) for form in (_NUMBER, _URI, _STAND_IN, _STORED)):
        return True
    before, _, last = _snake(key).rpartition("_")
    return last == "secret" and before.rpartition("_")[2] in _OBJECTS and bool(re.match(_OBJECT, text))


def plainly(said: str, text: str, span: Span) -> Diagnostic | None:
    """Give the finding about a credential by its name: an error for one like a real one, else a warning."""
    if len(text) < _LONG:
        return finding("maybe-secret", f"{said} a value stands in plain text", span, SECRET_HELP)
    if sum(1 for form in _CLASSES if re.search(form, text)) >= 2:
        return finding("secret-in-plain-text", f"{said} its value stands in plain text", span, SECRET_HELP)
    return None
