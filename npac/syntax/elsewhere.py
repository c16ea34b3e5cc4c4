"""What was meant by a key that a mapping of a spec does not have: its place, or its name here."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from npac.syntax.language import COMMAND, METADATA, PROFILE, SPEC, STATE, Section

_MOST = 2
"""A key that is known in more mappings than this says nothing of what was meant."""

_STATES = ("steps", "tasks", "jobs", "stages", "nodes")
_CONFIG = ("vars", "variables", "parameters", "values", "arguments")
_LINE = "a command is `run: {argv: [WORD, ...]}`, or `run: {shell: ...}` for a line of shell"
_VARIABLE = (
    "set a variable in run.shell; what varies is a token, as in {{config.KEY}}, and secrets go into 'secrets'"
)
_TRY = "how often a command that fails is run again is said to the run: npac run --retries N"
_TIME = "npac ends no task for its time: begin the command with `timeout SECONDS`"
_MACHINE = "name a profile of resources in the state's resources, as in resources: gpu, and write there "

_FOREIGN: dict[str, dict[str, str]] = {
    SPEC.title: {
        **dict.fromkeys(_STATES, "states are given under 'states', by name"),
        **dict.fromkeys(_CONFIG, "values are given under 'config', and read as {{config.KEY}}"),
        **dict.fromkeys(("version", "api_version"), "the version is given as apiVersion"),
        "spec": "what is in it belongs to the top of the spec, which has to have metadata.name and states",
        "entrypoint": "the state that runs first is given as 'initial'",
        **dict.fromkeys(("env", "envs", "environment"), _VARIABLE),
    },
    METADATA.title: {
        "generateName": "a workflow has one name, metadata.name; each run of it gets an id of its own",
        **dict.fromkeys(("annotations",), "write it under labels, or under a key that begins with x-"),
    },
    STATE.title: {
        **dict.fromkeys(("command", "cmd", "script", "args", "exec", "entrypoint"), _LINE),
        **dict.fromkeys(
            ("depends_on", "dependsOn", "depends", "dependencies", "after", "requires"),
            "say in the other state that this one is 'next'; 'needs' says that it must have run before",
        ),
        **dict.fromkeys(("env", "envs", "environment"), _VARIABLE),
        **dict.fromkeys(("retries", "retry", "max_retries", "retryStrategy", "attempts"), _TRY),
        **dict.fromkeys(("timeout", "timeout_seconds", "timeoutSeconds", "deadline"), _TIME),
        **dict.fromkeys(("gpus", "gpu", "num_gpus"), _MACHINE + "accelerators: NAME:N"),
        **dict.fromkeys(("mem", "ram"), _MACHINE + "memory: 64Gi"),
        **dict.fromkeys(("cpu",), _MACHINE + "cpus: 16"),
        **dict.fromkeys(("container", "docker"), _MACHINE + "image: ..."),
        **dict.fromkeys(("tool", "uses", "component"), "a tool of the catalog is given as toolRef"),
        **dict.fromkeys(
            ("with", "parameters", "arguments"), "values for this state are given under 'params'"
        ),
        **dict.fromkeys(
            ("foreach", "matrix", "with_items", "withItems"), "write one state for each, in a parallel group"
        ),
    },
    COMMAND.title: {
        **dict.fromkeys(
            ("command", "cmd", "args", "exec"), "give the words as argv: [...], or a line as shell"
        ),
        **dict.fromkeys(("script", "bash", "sh"), "give the script as shell: |"),
        **dict.fromkeys(("env", "envs", "environment"), _VARIABLE),
        **dict.fromkeys(("timeout", "timeout_seconds"), _TIME),
        **dict.fromkeys(("retries", "retry"), _TRY),
    },
    PROFILE.title: {
        **dict.fromkeys(
            ("gpus", "gpu", "num_gpus", "accelerator"), "GPUs are accelerators: NAME:N, as in H100:1"
        ),
        **dict.fromkeys(("mem", "ram"), "did you mean 'memory'?"),
        **dict.fromkeys(("cpu", "vcpus", "cores"), "did you mean 'cpus'?"),
        **dict.fromkeys(("disk", "storage", "diskSize", "ephemeral_storage"), "did you mean 'disk_size'?"),
        **dict.fromkeys(("spot", "preemptible", "useSpot"), "did you mean 'use_spot'?"),
        **dict.fromkeys(("nodes", "replicas", "numNodes"), "did you mean 'num_nodes'?"),
        **dict.fromkeys(("container", "docker", "image_id"), "did you mean 'image'?"),
        **dict.fromkeys(("instance_type", "machine_type"), "say what it has: cpus, memory, accelerators"),
    },
}
_MEANT: dict[str, dict[str, str]] = {SPEC.title: dict.fromkeys(_STATES, "states")}


def foreign(key: str, known: Collection[str]) -> tuple[str, str]:
    """Say how the language writes what other tools call ``key``, in the mapping with the keys ``known``.

    Gives a sentence, and the key of the mapping that holds the same where there is one; or nothing.
    """
    for section in (SPEC, METADATA, STATE, COMMAND, PROFILE):
        if set(section.names) <= set(known):
            sentence = _FOREIGN[section.title].get(key, "")
            return sentence, _MEANT.get(section.title, {}).get(key, "")
    return "", ""


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
