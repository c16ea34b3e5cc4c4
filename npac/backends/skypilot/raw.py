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

import yaml

from npac.ir.program import End, Member, Program, Step, Tree, Wave
from npac.ir.verifier import ENVIRONMENT_NAME, MAX_NODES, valid_name

API_VERSION = "skypilot"
"""What stands as ``api_version`` of a program that was made from raw SkyPilot YAML."""
MAX_BYTES = 8 << 20
MAX_DEPTH = 64
MAX_ITEMS = 200_000
"""Most scalars, lists and mappings in one file."""
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
_EXACT = 2**53
_MOST_BITS = 4096
"""Python refuses to write much larger numbers in digits."""
_MOST_SAID = 600
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class RawError(ValueError):
    """A file that is no SkyPilot YAML npac can run; the message says where and what to do.

    ``problems`` holds a sentence for each thing to mend, at most :data:`MAX_PROBLEMS`, in the order
    of the file; ``more`` says how many others there are.
    """

    def __init__(self, *problems: str, more: int = 0) -> None:
        said = [*problems, *([f"and {more} more"] if more else [])]
        many = f"{len(problems) + more} problems: " if len(said) > 1 else ""
        super().__init__(many + "; ".join(said))
        self.problems = problems
        self.more = more


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
    return _Reader().program(_load(text), name)


def _load(text: str) -> list[Any]:
    if len(text) > MAX_BYTES:
        raise RawError(f"the file is larger than {MAX_BYTES >> 20} MiB, which no SkyPilot YAML is")
    try:
        _bound(text)
        loaded = [document for document in yaml.load_all(text, Loader=_Loader) if document is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise RawError(f"line {mark.line + 1 if mark else 1}: this is no YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, RawError):
            raise
        raise RawError(f"this is no YAML that npac can read: {error}") from error
    if not loaded:
        raise RawError("the file is empty")
    return loaded


def _bound(text: str) -> None:
    """Refuse aliases, which are cheap to read and dear to write out, and nesting without end."""
    depth = items = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise RawError(
                f"line {line}: an alias (*{_shown(event.anchor or '')}) is not accepted; write its text out"
            )
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise RawError(f"line {line}: nested deeper than {MAX_DEPTH} levels")
        items += isinstance(event, yaml.NodeEvent)
        if items > MAX_ITEMS:
            raise RawError(f"line {line}: the file holds more than {MAX_ITEMS} values and keys")


class _Reader:
    """Reads all documents of a file, whatever is wrong with some, and keeps what is wrong."""

    def __init__(self) -> None:
        self.problems: list[str] = []
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
                self._wrong("the file has a header and no task; add a document for each task after it")
                self._raise()
        execution = header.get("execution", "serial")
        if execution not in ("serial", "parallel"):
            self._wrong(f"execution: {_quoted(execution)} does not exist; write serial or parallel")
        named = header if "name" in header or not isinstance(documents[0], dict) else documents[0]
        workflow = name
        if named.get("name") is not None and named is header:
            workflow = self._name(header["name"], "document 1")
        elif named.get("name") is not None and valid_name(str(named["name"])):
            workflow = str(named["name"])  # What is wrong with it is said where the task is read.
        if len(documents) > MAX_TASKS:
            self._wrong(f"the file has {len(documents)} tasks; npac runs at most {MAX_TASKS} of one file")
            self._raise()
        steps = tuple(
            self._step(document, at, at + first - 1) for at, document in enumerate(documents, start=1)
        )
        parallel = execution == "parallel" and len(steps) > 1
        if parallel:
            self._group(workflow, steps)
        self._raise()
        return _parallel(workflow, steps) if parallel else _serial(workflow, steps)

    def _wrong(self, problem: str) -> None:
        if len(problem) > _MOST_SAID:  # A place may be deep, and its keys long.
            problem = f"{problem[: _MOST_SAID // 2]}...{problem[-_MOST_SAID // 2 :]}"
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)
        else:
            self.more += 1

    def _raise(self) -> None:
        if self.problems:
            raise RawError(*self.problems, more=self.more)

    def _group(self, workflow: str, steps: tuple[Step, ...]) -> None:
        if workflow == "end":
            self._wrong("the job group is called 'end', which npac uses itself; rename it")
        seen: set[str] = set()
        said: set[str] = set()
        for step in steps:
            if step.state in seen and step.state not in said:
                said.add(step.state)
                self._wrong(f"two tasks of the job group are called {step.state!r}; give each its own name")
            seen.add(step.state)

    def _step(self, document: Any, at: int, place: int) -> Step:
        """Read task ``at`` of the file, which is its document ``place``."""
        where = f"document {place}"
        if not isinstance(document, dict):
            self._wrong(f"{where} is {type(document).__name__}; a SkyPilot task is a mapping")
            return Step(state=f"task-{at}", raw={"run": ""})
        state = f"task-{at}"
        if document.get("name") is not None:
            state = self._name(document["name"], where)
            where += f" (task {_quoted(document['name'])})"
        task: dict[str, Tree] = {}
        for key, value in document.items():
            if not isinstance(key, str):
                self._wrong(f"{where} has a key that is not text: {_quoted(key)}")
            elif key == "execution":
                self._wrong(
                    f"{where} has execution; it stands in a header document of its own, before the tasks"
                )
            elif key not in ("name", "secrets", "envs"):
                kinds, noun = _KINDS.get(key, ((), ""))
                if value is not None and kinds and not isinstance(value, kinds):
                    self._wrong(f"{where}: {key} must be {noun}")
                # What num_nodes may be is said below.
                task[key] = value if key == "num_nodes" else self._tree(value, f"{where}: {_shown(key)}")
        envs = self._environment(document.get("envs"), where)
        if envs:
            task["envs"] = dict(envs)
        if not set(document) - {"name", "secrets"}:
            self._wrong(f"{where} has nothing to run")
        return Step(
            state=state,
            num_nodes=self._nodes(document.get("num_nodes"), where),
            image=_image(document.get("resources")),
            secrets=self._secrets(document.get("secrets"), where),
            raw=task,
        )

    def _nodes(self, nodes: Any, where: str) -> int:
        if nodes is None:
            return 1
        if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
            self._wrong(
                f"{where}: num_nodes is {_quoted(nodes)}, not a positive number; "
                f"write a whole number from 1 to {MAX_NODES}"
            )
        elif nodes > MAX_NODES:
            self._wrong(f"{where}: num_nodes is {_quoted(nodes)}; a task takes 1 to {MAX_NODES} nodes")
        else:
            return nodes
        return 1

    def _environment(self, envs: Any, where: str) -> dict[str, str]:
        if envs is None:
            return {}
        if not isinstance(envs, dict):
            self._wrong(f"{where}: envs must be a mapping")
            return {}
        found: dict[str, str] = {}
        total = 0
        for name, value in envs.items():
            if not isinstance(name, str) or ENVIRONMENT_NAME.fullmatch(name) is None:
                self._wrong(f"{where}: {_quoted(name)} is not the name of an environment variable")
                continue
            short = _shown(name)
            if value is None:
                self._wrong(f"{where}: {short} has no value; give it one, or name it under secrets")
                continue
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                self._wrong(f"{where}: the value of {short} must be text; quote it")
                continue
            if isinstance(value, int) and value.bit_length() > _MOST_BITS:
                self._wrong(
                    f"{where}: the value of {short} is a number of {value.bit_length()} bits; quote it"
                )
                continue
            text = found[name] = str(value)
            if "\0" in text:
                self._wrong(
                    f"{where}: the value of {short} has a NUL character, which no environment can hold"
                )
            size = len(name) + 1 + len(text.encode("utf-8", "surrogatepass"))
            total += size
            if size > MAX_VARIABLE:
                self._wrong(
                    f"{where}: the value of {short} makes {size} bytes with its name; "
                    f"a process takes at most {MAX_VARIABLE} in one variable; put the value into a file"
                )
        if total > MAX_ENVIRONMENT:
            self._wrong(
                f"{where}: envs takes {total} bytes; a task takes at most {MAX_ENVIRONMENT}; "
                "put large values into files"
            )
        return found

    def _secrets(self, secrets: Any, where: str) -> tuple[str, ...]:
        if secrets is None:
            return ()
        if not isinstance(secrets, dict):
            self._wrong(f"{where}: secrets must be a mapping")
            return ()
        for name, value in secrets.items():
            if not isinstance(name, str) or ENVIRONMENT_NAME.fullmatch(name) is None:
                self._wrong(f"{where}: {_quoted(name)} is not the name of an environment variable")
            elif len(name) >= MAX_VARIABLE:
                self._wrong(f"{where}: the name of the secret {_shown(name)} is too long for any environment")
            elif value not in (None, ""):
                short = _shown(name)
                self._wrong(
                    f"{where}: the secret {short} has a value; leave it empty and use --secret-env {short}"
                )
        return tuple(sorted(name for name in secrets if isinstance(name, str)))

    def _tree(self, value: Any, where: str) -> Tree:
        """Give a value as JSON data; ``where`` is its place, one more step at each level."""
        if isinstance(value, str):
            if "\0" in value:
                self._wrong(f"{where} has a NUL character, which no script or setting can hold")
            return value
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            if not -_EXACT < value < _EXACT:
                self._wrong(f"{where} is a number too large to be kept exactly; quote it")
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                self._wrong(f"{where} is {value}, which is no number; quote it")
            return value
        if isinstance(value, list):
            return [self._tree(item, f"{where}[{at}]") for at, item in enumerate(value)]
        if isinstance(value, dict):
            branch: dict[str, Tree] = {}
            for key, item in value.items():
                if isinstance(key, str):
                    branch[key] = self._tree(item, f"{where}.{_shown(key)}")
                else:
                    self._wrong(f"{where} has a key that is not text: {_quoted(key)}; quote it")
            return branch
        if isinstance(value, datetime.date):
            self._wrong(f"{where} holds a date ({value}); quote it")
        else:
            self._wrong(f"{where} holds {type(value).__name__}, which no SkyPilot task has")
        return None

    def _name(self, value: Any, where: str) -> str:
        if isinstance(value, str) and valid_name(value):
            return value
        self._wrong(
            f"{where}: the name {_quoted(value)} is not allowed; use letters, digits, '.', '_' and '-', "
            "at most 96, the first a letter or a digit"
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


def _shown(text: str) -> str:
    """Shorten a text of the file for a message."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def _quoted(value: Any) -> str:
    """Show a value of the file in a message, whatever its size."""
    if isinstance(value, str):
        return repr(_shown(value))
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"a number of {value.bit_length()} bits"
    if value is None or isinstance(value, bool | int | float):
        return _shown(repr(value))
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
