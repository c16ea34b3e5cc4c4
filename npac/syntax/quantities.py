"""The quantities of a resource profile: accelerators, cpus, memory, disk and node counts.

Amounts are positive.  Decimal amounts stay the text that their author wrote; memory and disk are in
gibibytes (``G`` and ``Gi`` mean the same to SkyPilot, and so does no unit at all).
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from npac.syntax import grammars
from npac.syntax.grammars import MAX_DIGITS, MAX_GUESSED, Problem
from npac.syntax.language import MAX_NODES

if TYPE_CHECKING:
    from lark.lexer import Token as Leaf

_GRAMMAR = "quantities.lark"
_ACCELERATOR = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*+)(?::([0-9]++))?")
_CPUS = re.compile(r"([0-9]++(?:\.[0-9]++)?)(\+)?")
_MEMORY = re.compile(r"([0-9]++(?:\.[0-9]++)?)(Gi|G)?(\+)?")
_DIGITS = re.compile(r"[0-9]++")


class Accelerator(NamedTuple):
    """An accelerator and how many of it a node has; ``counted`` says whether the text gave the number."""

    name: str
    number: int
    counted: bool


class Cpus(NamedTuple):
    """CPUs of a node; ``at_least`` for a trailing ``+``."""

    amount: str
    at_least: bool


class Memory(NamedTuple):
    """Memory of a node in GiB; ``unit`` is ``Gi``, ``G`` or empty as written, ``at_least`` for a ``+``."""

    amount: str
    unit: str
    at_least: bool


class DiskSize(NamedTuple):
    """Disk of a node in GiB."""

    gib: int


class NodeCount(NamedTuple):
    """Number of nodes, 1 to ``MAX_NODES``."""

    number: int


@lru_cache(maxsize=512)
def parse_accelerator(text: str) -> Accelerator | Problem:
    """Read ``NAME`` or ``NAME:N``, N at least 1."""
    match = _ACCELERATOR.fullmatch(text)
    return _accelerator(text, match[1], match[2]) if match else read_accelerator(text)


@lru_cache(maxsize=512)
def parse_cpus(text: str) -> Cpus | Problem:
    """Read ``N`` or ``N.N``, with or without ``+``."""
    match = _CPUS.fullmatch(text)
    return _cpus(text, match[1], match[2]) if match else read_cpus(text)


@lru_cache(maxsize=512)
def parse_memory(text: str) -> Memory | Problem:
    """Read ``N`` or ``N.N``, with or without ``Gi`` or ``G``, with or without ``+``."""
    match = _MEMORY.fullmatch(text)
    return _memory(text, match[1], match[2], match[3]) if match else read_memory(text)


@lru_cache(maxsize=512)
def parse_disk_size(text: str) -> DiskSize | Problem:
    """Read a whole number of GiB."""
    return _disk_size(text, text) if _DIGITS.fullmatch(text) else read_disk_size(text)


@lru_cache(maxsize=512)
def parse_num_nodes(text: str) -> NodeCount | Problem:
    """Read a whole number of nodes, 1 to ``MAX_NODES``."""
    return _num_nodes(text, text) if _DIGITS.fullmatch(text) else read_num_nodes(text)


def read_accelerator(text: str) -> Accelerator | Problem:
    """Read an accelerator with the grammar."""
    leaves = _leaves("accelerator", text)
    if isinstance(leaves, grammars.Stop):
        return _explain_accelerator(text, leaves)
    return _accelerator(text, leaves["NAME"], leaves.get("DIGITS"))


def read_cpus(text: str) -> Cpus | Problem:
    """Read cpus with the grammar."""
    leaves = _leaves("cpus", text)
    if isinstance(leaves, grammars.Stop):
        return _explain_amount("cpus", "a number such as `16`, `0.5` or `16+`", text, leaves, unit="")
    return _cpus(text, leaves["NUMBER"], leaves.get("PLUS"))


def read_memory(text: str) -> Memory | Problem:
    """Read memory with the grammar."""
    leaves = _leaves("memory", text)
    if isinstance(leaves, grammars.Stop):
        return _explain_amount(
            "memory", "gibibytes such as `64Gi`, `64G` or `64Gi+`", text, leaves, unit="Gi"
        )
    return _memory(text, leaves["NUMBER"], leaves.get("UNIT"), leaves.get("PLUS"))


def read_disk_size(text: str) -> DiskSize | Problem:
    """Read a disk size with the grammar."""
    leaves = _leaves("whole", text)
    if isinstance(leaves, grammars.Stop):
        return _explain_whole("disk_size", "a whole number of gibibytes such as `512`", text, leaves)
    return _disk_size(text, leaves["DIGITS"])


def read_num_nodes(text: str) -> NodeCount | Problem:
    """Read a node count with the grammar."""
    leaves = _leaves("whole", text)
    if isinstance(leaves, grammars.Stop):
        return _explain_whole("num_nodes", f"a whole number from 1 to {MAX_NODES}", text, leaves)
    return _num_nodes(text, leaves["DIGITS"])


def _leaves(rule: str, text: str) -> dict[str, str] | grammars.Stop:
    tree = grammars.read(_GRAMMAR, rule, text)
    if isinstance(tree, grammars.Stop):
        return tree
    leaves: list[Leaf] = [leaf for leaf in tree.children if isinstance(leaf, str)]
    return {leaf.type: str(leaf) for leaf in leaves}


def _accelerator(text: str, name: str, count: str | None) -> Accelerator | Problem:
    if count is None:
        return Accelerator(name, 1, False)
    if problem := _range_problem("the accelerator count", text, count):
        return problem
    return Accelerator(name, int(count), True)


def _cpus(text: str, amount: str, plus: str | None) -> Cpus | Problem:
    return _range_problem("cpus", text, amount) or Cpus(amount, plus is not None)


def _memory(text: str, amount: str, unit: str | None, plus: str | None) -> Memory | Problem:
    return _range_problem("memory", text, amount) or Memory(amount, unit or "", plus is not None)


def _disk_size(text: str, digits: str) -> DiskSize | Problem:
    return _range_problem("disk_size", text, digits) or DiskSize(int(digits))


def _num_nodes(text: str, digits: str) -> NodeCount | Problem:
    if problem := _range_problem("num_nodes", text, digits):
        return problem
    if int(digits) > MAX_NODES:
        message = f"num_nodes is {int(digits)}; a task takes 1 to {MAX_NODES} nodes."
        return Problem("out-of-range", message, 0, len(text), f"Write a number from 1 to {MAX_NODES}.")
    return NodeCount(int(digits))


def _range_problem(what: str, text: str, number: str) -> Problem | None:
    """Refuse an amount of zero, or one too long to be meant."""
    if len(number) > MAX_DIGITS:
        message = f"{_begin(what)} has {len(number)} digits; {MAX_DIGITS} is the most that is read."
        return Problem("too-large", message, 0, len(text), "Write a smaller number.")
    if not number.strip("0."):
        return Problem(
            "not-positive", f"{_begin(what)} is 0.", 0, len(text), "Write a number greater than 0."
        )
    return None


def _begin(what: str) -> str:
    """Begin a sentence with ``what``, a key's name keeping its case."""
    return what[0].upper() + what[1:] if " " in what else what


_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_MISWRITTEN_ACCELERATORS = (
    rf"(?P<name>{_NAME})(?:\s+|\s*[:=*\u00d7,]\s*|\s+[xX]\s*)(?P<count>[0-9]+)",
    rf"(?P<count>[0-9]+)(?:\s+|\s*[:*\u00d7]\s*|\s*[xX]\s+)(?P<name>{_NAME})",
    rf"\{{\s*['\"]?(?P<name>{_NAME})['\"]?\s*:\s*(?P<count>[0-9]+)\s*\}}",
    rf"(?P<name>{_NAME})\s*:?(?P<count>)",
)


def _explain_accelerator(text: str, stop: grammars.Stop) -> Problem:
    kind, rule, advice = "bad-accelerator", "An accelerator is `NAME` or `NAME:N`", "Write it as `H100:8`."
    stripped = text.strip()
    if not stripped:
        return _empty("accelerators", text, "Write `NAME` or `NAME:N`, or leave the key out.")
    if len(text) > MAX_GUESSED or "{{" in text:
        return _stopped(kind, rule, text, stop, advice)
    for pattern in _MISWRITTEN_ACCELERATORS:
        if match := re.fullmatch(pattern, stripped):
            meant = match["name"] + (f":{match['count']}" if match["count"] else "")
            message = f"{rule}, without blanks or other signs."
            return Problem(kind, message, 0, len(text), f"Write `{meant}`.", meant)
    if re.fullmatch(rf"{_NAME}:-?[0-9]*\.?[0-9]+", stripped):
        message = "The accelerator count is not a whole number of 1 or more."
        return Problem(kind, message, 0, len(text), "Write a whole number after `:`.")
    if re.search(r"[,|]", stripped):
        message = "One accelerator is read here, not several."
        return Problem(kind, message, 0, len(text), "Use a mapping of names to counts.")
    return _stopped(kind, rule, text, stop, advice)


# What people write for an amount: a unit of any case, blanks, `+` on either side.
_AMOUNT = (
    r"\+?(?P<whole>[0-9]*)(?P<part>\.[0-9]+)?\.?\s*(?P<unit>[A-Za-z]*)\s*(?P<plus>\+?)\s*(?P<late>[A-Za-z]*)"
)
_GIBIBYTES = ("g", "gi", "gb", "gib")
_OTHER_BYTES = {"m": 1 / 1024, "t": 1024.0}
_CORES = ("c", "cpu", "cpus", "core", "cores", "vcpu", "vcpus")


def _explain_amount(key: str, wanted: str, text: str, stop: grammars.Stop, *, unit: str) -> Problem:
    kind = f"bad-{key}"
    stripped = text.strip()
    if not stripped:
        return _empty(key, text, f"Write {wanted}, or leave the key out.")
    if re.match(r"-\s*[0-9.]", stripped):
        return _negative(key, text)
    shape = re.fullmatch(_AMOUNT, stripped) if len(text) <= MAX_GUESSED else None
    if shape and (shape["whole"] or shape["part"]):
        message = f"{key} is {wanted}."
        amount = (shape["whole"] or "0") + (shape["part"] or "")
        said = (shape["unit"] + shape["late"]).lower()
        if said in ("", *(_GIBIBYTES if unit else _CORES)):
            meant = amount + (unit if said else "") + shape["plus"]
            return Problem(kind, message, 0, len(text), f"Write `{meant}`.", meant)
        factor = _OTHER_BYTES.get(said[0]) if unit and said[1:] in ("", "i", "b", "ib") else None
        if not unit and said == "m":
            factor = 1 / 1000
        if factor is not None and len(amount) < 7:
            meant = f"{float(amount) * factor:.12g}{unit}{shape['plus']}"
            return Problem(kind, message, 0, len(text), f"Write `{meant}`.", meant)
    return _stopped(kind, f"{key} is {wanted}", text, stop, "Write the amount that one node needs.")


def _explain_whole(key: str, wanted: str, text: str, stop: grammars.Stop) -> Problem:
    kind = f"bad-{key.replace('_', '-')}"
    stripped = text.strip()
    if not stripped:
        return _empty(key, text, f"Write {wanted}, or leave the key out.")
    if re.match(r"-\s*[0-9]", stripped):
        return _negative(key, text)
    pattern = r"\+?([0-9]{1,12})(?:\.0*)?\s*(?:[gG][iI]?[bB]?|nodes?)?\+?"
    shape = re.fullmatch(pattern, stripped) if len(text) <= MAX_GUESSED else None
    if shape:
        return Problem(kind, f"{key} is {wanted}.", 0, len(text), f"Write `{shape[1]}`.", shape[1])
    return _stopped(kind, f"{key} is {wanted}", text, stop, f"Write {wanted}.")


def _empty(key: str, text: str, advice: str) -> Problem:
    return Problem("empty", f"{key} is empty.", 0, len(text), advice)


def _negative(key: str, text: str) -> Problem:
    return Problem("not-positive", f"{key} is negative.", 0, len(text), "Write a number greater than 0.")


def _stopped(kind: str, rule: str, text: str, stop: grammars.Stop, advice: str) -> Problem:
    where = "the text ends too early"
    if stop.at < len(text):
        where = f"here is {grammars.show_char(text, stop.at)} at character {stop.at + 1}"
    return Problem(kind, f"{rule}; {where}.", 0, len(text), advice)
