"""Messages about chains of any length, and numbers of any size, stay short."""

from __future__ import annotations

from tests.rules.specs import END, checked


def _only(body: str, code: str) -> list[str]:
    return [item.message for item in checked(body).findings if item.code.name == code]


def test_a_long_circle_in_config_is_named_by_its_ends() -> None:
    keys = "".join(f"  k{at}: '{{{{config.k{(at + 1) % 50}}}}}'\n" for at in range(50))
    (message,) = _only(f"config:\n{keys}states:\n{END}", "config-cycle")
    assert message.endswith("circle: k0 -> k1 -> k2 -> ... -> k46 -> k47 -> k48 -> k49 -> k0")


def test_each_circle_in_config_is_reported_once() -> None:
    keys = (
        "  a: '{{config.b}}'\n  b: '{{config.a}}{{config.c}}'\n  c: '{{config.d}}{{config.b}}'\n"
        "  d: '{{config.c}}{{config.a}}'\n  e: '{{config.e}}'\n  f: '{{config.a}}'\n"
    )
    messages = _only(f"config:\n{keys}states:\n{END}", "config-cycle")
    assert [message.rpartition(": ")[2] for message in messages] == [
        "a -> b -> a",
        "c -> d -> c",
        "e -> e",
    ]


def test_loops_in_loops_are_counted_up_to_a_bound() -> None:
    loops = "".join(
        f"  s{at}: {{sequence: [s{at + 1}], loop: {{max: 999999999999999}}{', next: z' if not at else ''}}}\n"
        for at in range(400)
    )
    (message,) = _only(f"states:\n{loops}  s400: {{run: {{argv: [x]}}}}\n{END}", "too-many-steps")
    assert message.startswith(
        "the longest walk has 1,000,000,000,000,000,000 or more steps, more than 250,000"
    )


def test_a_long_way_is_named_by_its_ends() -> None:
    states = "".join(f"  s{at}: {{run: {{argv: [x]}}, next: s{at + 1}}}\n" for at in range(40))
    gate = "  s40: {run: {argv: [x]}, transitions: [{when: loop_back, goto: w}], next: z}\n"
    writer = "  w: {run: {argv: [x]}, writesDecision: true, next: z}\n"
    body = f"config: {{decision_uri: s3://bkt/d}}\nstates:\n{states}{gate}{writer}{END}"
    (message,) = _only(body, "decision-not-written")
    assert message.endswith("on this path: s0 -> s1 -> s2 -> ... -> s37 -> s38 -> s39 -> s40")


def test_what_a_spec_has_is_listed_in_part() -> None:
    loops = "".join(f"  loop{at}: {{run: {{argv: [x]}}, loop: {{max: 2}}, next: z}}\n" for at in range(30))
    body = f"states:\n  a: {{run: {{argv: ['{{{{loop.qqqqqq}}}}']}}, next: z}}\n{loops}{END}"
    (help_text,) = [item.help for item in checked(body).findings if item.code.name == "unknown-loop"]
    assert help_text == "loops of this spec: " + ", ".join(f"loop{at}" for at in range(12))
