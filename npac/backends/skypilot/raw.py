"""Raw SkyPilot YAML as a program of one wave chain.

A file that was written for SkyPilot goes through the same launch layer as a compiled spec: each task
of a pipeline is a serial wave, a job group is one parallel wave.  The task stays as its author wrote
it; only the variables that identify a launch are added.  Secrets are named here and given at launch,
as everywhere.
"""

from __future__ import annotations

import datetime
import math
from typing import Any

from npac.backends.skypilot.raw_faults import Fault, Place, RawError
from npac.backends.skypilot.raw_text import load_documents, shown
from npac.ir.program import End, Member, Program, Step, Tree, Wave
from npac.ir.verifier import ENVIRONMENT_NAME, MAX_NODES, valid_name

API_VERSION = "skypilot"
"""What stands as ``api_version`` of a program that was made from raw SkyPilot YAML."""
MAX_TASKS = 1000
MAX_VARIABLE = 128 * 1024 - 1
"""Most bytes of one variable, ``NAME=value``: what Linux takes."""
MAX_ENVIRONMENT = 1 << 20
"""Most bytes of a task's ``envs`` together: half of what Linux gives a process by default."""
MAX_PROBLEMS = 32
_HEADER_KEYS = frozenset({"name", "execution"})
_TASK_MARKS = frozenset(
    {"run", "setup", "resources", "num_nodes", "envs", "workdir", "file_mounts", "secrets"}
)
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "run": ((str,), "text"),
    "setup": ((str,), "text"),
    "resources": ((dict,), "a mapping"),
    "file_mounts": ((dict,), "a mapping"),
    "config": ((dict,), "a mapping"),
    "workdir": ((str, dict), "text or a mapping"),
}
_NAMES = "use letters, digits and underscores, no digit first"
_NUL = "take that character out"
_PLAIN = "write text, a number, a list or a mapping"
_EXACT = 2**53
_MOST_BITS = 4096
"""Python refuses to write much larger numbers in digits."""
_MOST_SAID = 600


def is_raw(document: Any) -> bool:
    """Say whether the first document of a file looks like SkyPilot YAML and not like a spec."""
    if not isinstance(document, dict) or "apiVersion" in document or "states" in document:
        return False
    return bool(_TASK_MARKS & set(document)) or "execution" in document


def program_from_yaml(text: str, name: str) -> Program:
    """Read SkyPilot YAML; ``name`` (a valid name) is the workflow's when the file has no header.

    Raises :class:`RawError` with all that is wrong with the tasks at once; a text that is no YAML,
    or that is beyond a bound of the whole file, is refused for that alone.
    """
    return _Reader().program(load_documents(text), name)


class _Reader:
    """Reads all documents of a file, whatever is wrong with some, and keeps what is wrong."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.more = 0

    def program(self, documents: list[Any], name: str) -> Program:
        """Make the program, or raise all problems."""
        header: dict[str, Any] = {}
        first = 1
        if isinstance(documents[0], dict) and set(documents[0]) <= _HEADER_KEYS:
            if len(documents) > 1:
                header, *documents = documents
                first = 2
            elif "execution" in documents[0]:
                self._wrong(
                    "the file has a header and no task; add a document for each task after it", Place(1)
                )
                self._raise()
        execution = header.get("execution", "serial")
        if execution not in ("serial", "parallel"):
            self._wrong(
                f"execution: {_quoted(execution)} does not exist; write serial or parallel",
                Place(1).at("execution"),
            )
        named = header if "name" in header or not isinstance(documents[0], dict) else documents[0]
        workflow = name
        if named.get("name") is not None and named is header:
            workflow = self._name(header["name"], Place(1, "document 1"))
        elif named.get("name") is not None and valid_name(str(named["name"])):
            workflow = str(named["name"])  # What is wrong with it is said where the task is read.
        if len(documents) > MAX_TASKS:
            self._wrong(
                f"the file has {len(documents)} tasks; npac runs at most {MAX_TASKS} of one file",
                Place(MAX_TASKS + first),
                "split the file",
            )
            self._raise()
        steps = tuple(
            self._step(document, at, at + first - 1) for at, document in enumerate(documents, start=1)
        )
        parallel = execution == "parallel" and len(steps) > 1
        if parallel:
            self._group(workflow, steps)
        self._raise()
        return _parallel(workflow, steps) if parallel else _serial(workflow, steps)

    def _wrong(self, problem: str, place: Place, help: str = "") -> None:
        """Keep a fault; without ``help``, what to do is what the problem says after its last semicolon."""
        help = help or problem.rpartition("; ")[2]
        if len(problem) > _MOST_SAID:  # A place may be deep, and its keys long.
            problem = f"{problem[: _MOST_SAID // 2]}...{problem[-_MOST_SAID // 2 :]}"
        if len(self.faults) < MAX_PROBLEMS:
            self.faults.append(Fault(problem, help, place))
        else:
            self.more += 1

    def _raise(self) -> None:
        if self.faults:
            raise RawError(*self.faults, more=self.more)

    def _group(self, workflow: str, steps: tuple[Step, ...]) -> None:
        if workflow == "end":
            self._wrong(
                "the job group is called 'end', which npac uses itself; rename it", Place(1).at("name")
            )
        seen: set[str] = set()
        said: set[str] = set()
        for at, step in enumerate(steps, start=2):  # The header is the first document.
            if step.state in seen and step.state not in said:
                said.add(step.state)
                self._wrong(
                    f"two tasks of the job group are called {step.state!r}; give each its own name",
                    Place(at).at("name"),
                )
            seen.add(step.state)

    def _step(self, document: Any, at: int, place: int) -> Step:
        """Read task ``at`` of the file, which is its document ``place``."""
        where = Place(place, f"document {place}")
        if not isinstance(document, dict):
            self._wrong(
                f"{where} is {type(document).__name__}; a SkyPilot task is a mapping",
                where,
                "write the task as a mapping, with run and what else it needs",
            )
            return Step(state=f"task-{at}", raw={"run": ""})
        state = f"task-{at}"
        if document.get("name") is not None:
            state = self._name(document["name"], where)
            where = Place(place, f"{where} (task {_quoted(document['name'])})")
        task: dict[str, Tree] = {}
        for key, value in document.items():
            if not isinstance(key, str):
                self._wrong(f"{where} has a key that is not text: {_quoted(key)}", where.at(None), "quote it")
            elif key == "execution":
                self._wrong(
                    f"{where} has execution; it stands in a header document of its own, before the tasks",
                    where.at("execution"),
                    "move it into a header document of its own, before the tasks",
                )
            elif key not in ("name", "secrets", "envs"):
                kinds, noun = _KINDS.get(key, ((), ""))
                if value is not None and kinds and not isinstance(value, kinds):
                    self._wrong(f"{where}: {key} must be {noun}", where.at(key), f"write {key} as {noun}")
                # What num_nodes may be is said below.
                inside = where.at(key, f"{where}: {shown(key)}")
                task[key] = value if key == "num_nodes" else self._tree(value, inside)
        envs = self._environment(document.get("envs"), where)
        if envs:
            task["envs"] = dict(envs)
        if not set(document) - {"name", "secrets"}:
            self._wrong(f"{where} has nothing to run", where, "add run, with the commands of the task")
        return Step(
            state=state,
            num_nodes=self._nodes(document.get("num_nodes"), where),
            image=_image(document.get("resources")),
            secrets=self._secrets(document.get("secrets"), where),
            raw=task,
        )

    def _nodes(self, nodes: Any, where: Place) -> int:
        if nodes is None:
            return 1
        if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
            self._wrong(
                f"{where}: num_nodes is {_quoted(nodes)}, not a positive number; "
                f"write a whole number from 1 to {MAX_NODES}",
                where.at("num_nodes"),
            )
        elif nodes > MAX_NODES:
            self._wrong(
                f"{where}: num_nodes is {_quoted(nodes)}; a task takes 1 to {MAX_NODES} nodes",
                where.at("num_nodes"),
                f"write a whole number from 1 to {MAX_NODES}",
            )
        else:
            return nodes
        return 1

    def _environment(self, envs: Any, where: Place) -> dict[str, str]:
        if envs is None:
            return {}
        if not isinstance(envs, dict):
            self._wrong(
                f"{where}: envs must be a mapping", where.at("envs"), "write it as 'NAME: value' lines"
            )
            return {}
        found: dict[str, str] = {}
        total = 0
        block = where.at("envs")
        for name, value in envs.items():
            here = block.at(name if isinstance(name, str) else None)
            if not isinstance(name, str) or ENVIRONMENT_NAME.fullmatch(name) is None:
                self._wrong(
                    f"{where}: {_quoted(name)} is not the name of an environment variable", here, _NAMES
                )
                continue
            short = shown(name)
            if value is None:
                self._wrong(f"{where}: {short} has no value; give it one, or name it under secrets", here)
                continue
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                self._wrong(f"{where}: the value of {short} must be text; quote it", here)
                continue
            if isinstance(value, int) and value.bit_length() > _MOST_BITS:
                self._wrong(
                    f"{where}: the value of {short} is a number of {value.bit_length()} bits; quote it", here
                )
                continue
            text = found[name] = str(value)
            if "\0" in text:
                self._wrong(
                    f"{where}: the value of {short} has a NUL character, which no environment can hold",
                    here,
                    "take that character out",
                )
            size = len(name) + 1 + len(text.encode("utf-8", "surrogatepass"))
            total += size
            if size > MAX_VARIABLE:
                self._wrong(
                    f"{where}: the value of {short} makes {size} bytes with its name; "
                    f"a process takes at most {MAX_VARIABLE} in one variable; put the value into a file",
                    here,
                )
        if total > MAX_ENVIRONMENT:
            self._wrong(
                f"{where}: envs takes {total} bytes; a task takes at most {MAX_ENVIRONMENT}; "
                "put large values into files",
                block,
            )
        return found

    def _secrets(self, secrets: Any, where: Place) -> tuple[str, ...]:
        if secrets is None:
            return ()
        if not isinstance(secrets, dict):
            self._wrong(
                f"{where}: secrets must be a mapping",
                where.at("secrets"),
                "write it as 'NAME:' lines, no values",
            )
            return ()
        for name, value in secrets.items():
            here = where.at("secrets").at(name if isinstance(name, str) else None)
            if not isinstance(name, str) or ENVIRONMENT_NAME.fullmatch(name) is None:
                self._wrong(
                    f"{where}: {_quoted(name)} is not the name of an environment variable", here, _NAMES
                )
            elif len(name) >= MAX_VARIABLE:
                self._wrong(
                    f"{where}: the name of the secret {shown(name)} is too long for any environment",
                    here,
                    "give it a shorter name",
                )
            elif value not in (None, ""):
                short = shown(name)
                self._wrong(
                    f"{where}: the secret {short} has a value; leave it empty and use --secret-env {short}",
                    here,
                )
        return tuple(sorted(name for name in secrets if isinstance(name, str)))

    def _tree(self, value: Any, where: Place) -> Tree:
        """Give a value as JSON data; ``where`` is its place, one more step at each level."""
        if isinstance(value, str):
            if "\0" in value:
                self._wrong(f"{where} has a NUL character, which no script or setting can hold", where, _NUL)
            return value
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            if not -_EXACT < value < _EXACT:
                self._wrong(f"{where} is a number too large to be kept exactly; quote it", where)
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                self._wrong(f"{where} is {value}, which is no number; quote it", where)
            return value
        if isinstance(value, list):
            return [self._tree(item, where.at(at, f"{where}[{at}]")) for at, item in enumerate(value)]
        if isinstance(value, dict):
            branch: dict[str, Tree] = {}
            for key, item in value.items():
                if isinstance(key, str):
                    branch[key] = self._tree(item, where.at(key, f"{where}.{shown(key)}"))
                else:
                    self._wrong(
                        f"{where} has a key that is not text: {_quoted(key)}; quote it", where.at(None)
                    )
            return branch
        if isinstance(value, datetime.date):
            self._wrong(f"{where} holds a date ({value}); quote it", where)
        else:
            self._wrong(f"{where} holds {type(value).__name__}, which no SkyPilot task has", where, _PLAIN)
        return None

    def _name(self, value: Any, where: Place) -> str:
        if isinstance(value, str) and valid_name(value):
            return value
        self._wrong(
            f"{where}: the name {_quoted(value)} is not allowed; use letters, digits, '.', '_' and '-', "
            "at most 96, the first a letter or a digit",
            where.at("name"),
        )
        return "unnamed"


def _parallel(workflow: str, steps: tuple[Step, ...]) -> Program:
    everyone = tuple(range(len(steps)))
    members = tuple(Member(index) for index in everyone)
    wave = Wave(workflow, 1, members, (everyone,), "end", group=workflow, max_concurrency=len(steps))
    return Program(workflow, workflow, steps, (wave, End("end")), API_VERSION)


def _serial(workflow: str, steps: tuple[Step, ...]) -> Program:
    ids = _ids(steps)
    waves = tuple(
        Wave(ids[at], at + 1, (Member(at),), ((0,),), ids[at + 1] if at + 1 < len(ids) else "end")
        for at in range(len(steps))
    )
    return Program(workflow, ids[0], steps, (*waves, End("end")), API_VERSION)


def _quoted(value: Any) -> str:
    """Show a value of the file in a message, whatever its size."""
    if isinstance(value, str):
        return repr(shown(value))
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"a number of {value.bit_length()} bits"
    if value is None or isinstance(value, bool | int | float):
        return shown(repr(value))
    return type(value).__name__


def _image(resources: Any) -> str:
    image = resources.get("image_id") if isinstance(resources, dict) else None
    return image.removeprefix("docker:") if isinstance(image, str) and image.startswith("docker:") else ""


def _ids(steps: tuple[Step, ...]) -> list[str]:
    """Give each task its node id: its name, with a count where a pipeline repeats one."""
    ids: list[str] = []
    taken = {"end"} | {step.state for step in steps}
    seen: set[str] = set()
    for step in steps:
        node, count = step.state, 2
        if node in seen or node == "end":
            while f"{step.state}-{count}" in taken:
                count += 1
            node = f"{step.state}-{count}"
        seen.add(step.state)
        taken.add(node)
        ids.append(node)
    return ids
