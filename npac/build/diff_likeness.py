"""Which blocks of a difference say the same of several nodes, or the same but for the iteration."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

_INDEX = re.compile(r"\[([0-9]+)\]")
_TAIL = re.compile(r"~[0-9a-f]{8,}(?=\Z|[ ,])")
_NUMBER = re.compile(r"[0-9]+")
_TRIED = 8
"""Families of one shape, the latest ones, that a block is held against."""


class Block(NamedTuple):
    """What is told of one node, or of one member of a group."""

    mark: str
    """``~``, ``+`` or ``-``."""
    node: str
    title: str = ""
    member: str = ""
    where: str = ""
    lines: tuple[str, ...] = ()


def families(blocks: Sequence[Block]) -> list[list[Block]]:
    """Gather blocks of the iterations of one thing that say the same but for the iterations' numbers."""
    shapes: dict[object, list[list[Block]]] = defaultdict(list)
    found: list[list[Block]] = []
    for block in blocks:
        known = shapes[_shape(block)] if _own_numbers(block) or _TAIL.search(block.node) else []
        for family in known[-_TRIED:]:
            if _alike(family[0], block):
                family.append(block)
                break
        else:
            known.append([block])
            found.append(known[-1])
    return found


def says_the_same(family: Sequence[Block]) -> bool:
    """Say whether the blocks of a family say the same, word for word."""
    return all(block.lines == family[0].lines and block.title == family[0].title for block in family)


def family_name(family: Sequence[Block]) -> str:
    """Give ``loop[1..20]/train`` for iterations that follow each other, else the first and the last."""
    nodes = [block.node for block in family]
    wheres = [block.where for block in family]
    name = nodes[0] if len(family) == 1 else _range(nodes) or f"{nodes[0]} … {nodes[-1]}"
    if not wheres[0]:
        return name
    if wheres[0] == wheres[-1]:
        return f"{name}, {wheres[0]}"
    last = wheres[-1].removeprefix("after ")
    return f"{name}, {_range(wheres) or f'{wheres[0]} … {last}'}"


def _own_numbers(block: Block) -> list[str]:
    return _INDEX.findall(f"{block.node} {block.where}")


def _text(block: Block) -> str:
    return "\n".join(_TAIL.sub("~", line) for line in (block.title, *block.lines))


def _shape(block: Block) -> object:
    """Give what like blocks have in common whatever their numbers are."""
    name = _TAIL.sub("~", _INDEX.sub("[]", block.node))
    return block.mark, name, block.member, _INDEX.sub("[]", block.where), _NUMBER.sub("#", _text(block))


def _alike(one: Block, other: Block) -> bool:
    """Say whether two blocks of one shape differ only as their iterations, and those behind them, do."""
    pairs = set()
    for mine, theirs in zip(_own_numbers(one), _own_numbers(other), strict=True):
        pairs.add((mine, theirs))
        # a branch back names the iteration behind this one
        pairs.add((str(int(mine) + 1), str(int(theirs) + 1)))
    numbers = zip(_NUMBER.findall(_text(one)), _NUMBER.findall(_text(other)), strict=True)
    return all(mine == theirs or (mine, theirs) in pairs for mine, theirs in numbers)


def _range(names: Sequence[str]) -> str:
    """Give one name for names that differ in one number which grows by one; else nothing."""
    numbers = [[int(number) for number in _INDEX.findall(name)] for name in names]
    varied = [at for at in range(len(numbers[0])) if len({found[at] for found in numbers}) > 1]
    if len(varied) != 1 or any("~" in name for name in names):
        return ""
    at = varied[0]
    values = [found[at] for found in numbers]
    if values != list(range(values[0], values[0] + len(values))):
        return ""
    parts = _INDEX.split(names[0])
    parts[2 * at + 1] = f"{values[0]}..{values[-1]}"
    return "".join(f"[{part}]" if index % 2 else part for index, part in enumerate(parts))
