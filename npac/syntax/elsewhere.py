"""Where a key belongs that stands in the wrong mapping of a spec."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from npac.syntax.language import SPEC, STATE, Section

_MOST = 2
"""A key that is known in more mappings than this says nothing of what was meant."""


def belongs(key: str, known: Collection[str]) -> str:
    """Say where a key belongs that the mapping at hand, which has the keys ``known``, does not have.

    Gives a sentence, or nothing where no other mapping of the language has this very key (in its
    present or its old spelling), or more than two have it.
    """
    if key == "name" and set(STATE.names) <= set(known):
        return "the key that a state stands at is its name; 'name' is for states in a list"
    places: dict[str, list[str]] = {}
    names: dict[str, None] = {}
    for section, way, place in _sections(SPEC, "", "at the top of the spec", set()):
        name = section.aliases.get(key, key)
        if name in section.keys and not set(section.names) <= set(known):
            group = places.setdefault(section.title, [])
            group.append(place if not group else way)
            names[name] = None
    if not 0 < len(places) <= _MOST or len(names) != 1:
        return ""
    where = ", or ".join(" or ".join(dict.fromkeys(group)) for group in places.values())
    (name,) = names
    renamed = f" as {name!r}" if name != key else ""
    return f"{key!r} belongs {where}{renamed}"


def _sections(section: Section, way: str, place: str, seen: set[str]) -> Iterator[tuple[Section, str, str]]:
    """Give each mapping of the language: itself, the key that it stands at, and that place in words."""
    yield section, way, place
    for name, key in section.keys.items():
        # A section that two keys hold (inputs and outputs) is given for both, what is in it once.
        if key.inner is None or f"{section.title}.{name}" in seen:
            continue
        seen.add(f"{section.title}.{name}")
        yield from _sections(key.inner, name, _words(name, key.form, key.inner), seen)


def _words(name: str, form: str, inner: Section) -> str:
    """Say in words where the keys of a mapping stand, by the form of the key that holds it."""
    if form == "sections":
        return f"into an entry of {name}"
    if form == "named":
        return f"into a {inner.title.lower()}, under {name}"
    if form == "listed":
        return f"into a {inner.title.lower()}"
    return f"under {name}"
