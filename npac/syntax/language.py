"""The language ``npa.workflow/v0.0.1`` in one place: every key, what it takes and what it means.

The parsers and the rules take their keys, old spellings, words and bounds from here, and the JSON
Schema for editors is generated from it.  It is plain data: importing it must cost next to nothing.

A key's form says what stands behind it:

- ``plain``: text that is never filled in, or nothing; ``labels``: a mapping of the author's names to it
- ``literals``: a mapping of the author's names to text without tokens
- ``text``: text, a number or a boolean, in which tokens are filled in; ``texts``: a list of them;
  ``values``: a mapping of the author's names to them
- ``label``: text without tokens; ``word``: one of ``words``
- ``name``: a name that the spec gives to something
- ``ref``: a name that the spec gives elsewhere; ``refs``: a list of them; ``exit``: one, or nothing
- ``env``: a list of names of environment variables; ``keys``: a list of config keys
- ``condition``: one config key; ``count``: a whole number, or one config key
- ``flag``: true or false; ``switch``: a config value that is on or off
- ``quantity``: a profile's text or number, of the shape ``pattern``; tokens are filled in;
  ``quantities``: the same, or a mapping of texts of that shape to counts; ``seconds``: a whole number
- ``section``: a mapping with the keys of ``inner``; ``sections``: a list of them; ``named``: a mapping of
  the author's names to them; ``listed``: the same, or a list of them that each have a ``name`` too
- ``settings``: a mapping of the author's names to anything; ``inner`` has those that npac knows
- ``data``: a mapping that is passed on as it is; ``toggle``: one, or true or false
"""

from __future__ import annotations

from typing import Any, Final

NAME_PATTERN: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
ENV_PATTERN: Final = r"[A-Za-z_][A-Za-z0-9_]*"
KEY_PATTERN: Final = r"[A-Za-z0-9_.-]+"

# The kinds of state; a key's ``on`` says which of them take it.
WORK: Final = "work"
SEQUENCE: Final = "sequence"
PARALLEL: Final = "parallel"
PLAIN: Final = "plain"
"""A state that runs nothing: it routes, or the run ends there."""


class Key:
    """One key: its form, what it means, and what is demanded of its value.

    ``default`` is what counts when the key is left out; ``fewest`` is the least number of entries,
    ``least`` and ``most`` bound a number; ``old`` is the key's spelling in older specs.
    """

    __slots__ = (
        "about", "default", "examples", "fewest", "form", "inner", "least", "most", "old", "on", "pattern",
        "required", "words",
    )  # fmt: skip

    def __init__(
        self,
        form: str,
        about: str,
        *,
        required: bool = False,
        default: Any = None,
        examples: tuple[Any, ...] = (),
        words: tuple[str, ...] = (),
        pattern: str = "",
        least: int = 0,
        most: int | None = None,
        fewest: int = 0,
        inner: Section | None = None,
        old: str = "",
        on: tuple[str, ...] = (),
    ) -> None:
        self.form = form
        self.about = about
        self.required = required
        self.default = default
        self.examples = examples
        self.words = words
        self.pattern = pattern
        self.least = least
        self.most = most
        self.fewest = fewest
        self.inner = inner
        self.old = old
        self.on = on


class Section:
    """A mapping of the language: its keys in the order in which they are best written.

    ``names`` are the keys, ``aliases`` maps each old spelling to its key.
    """

    __slots__ = ("about", "aliases", "keys", "names", "title")

    def __init__(self, title: str, about: str, keys: dict[str, Key]) -> None:
        self.title = title
        self.about = about
        self.keys = keys
        self.names = tuple(keys)
        self.aliases = {key.old: name for name, key in keys.items() if key.old}

    def on(self, kind: str) -> frozenset[str]:
        """Give the keys that a state of this kind takes."""
        return frozenset(name for name, key in self.keys.items() if kind in key.on)


API_VERSIONS: Final = ("npa.workflow/v0.0.1", "npa.workflow/v0.0.1-beta")
PREDICATES: Final = ("promote_checkpoint", "loop_back")
MAX_CONCURRENCY: Final = 64
MAX_NODES: Final = 32

METADATA: Final = Section(
    "Metadata",
    "What the workflow is called, and how it decides.",
    {
        "name": Key(
            "name",
            "Name of the workflow. Job names, object keys and folders are made from it.",
            required=True,
            examples=("train-policy",),
        ),
        "description": Key("plain", "What the workflow is for, in a sentence or two."),
        "namespace": Key("plain", "Whose workflow it is; for people, npac does not use it."),
        "labels": Key("labels", "Free labels, name to text; for people, npac does not use them."),
        "executionMode": Key(
            "word",
            "`runtime` says that only decisions that were really written may route: what would be a doubt "
            "about a decision otherwise is then an error.",
            words=("runtime",),
        ),
    },
)

COMMAND: Final = Section(
    "Command",
    "The command of a state: exactly one of shell and argv.",
    {
        "shell": Key(
            "text",
            "A script for `bash -c`. No option such as -e is set for you. A value that a token brings in can "
            "change the command's shape: write `{{config.KEY | sh}}`, or use argv.",
            examples=("echo {{config.message | sh}}",),
            pattern=r"\S",
        ),
        "argv": Key(
            "texts",
            "The program and its arguments, one entry a word. No shell reads them, so nothing has to be "
            "quoted.",
            fewest=1,
            examples=(["python3", "-m", "trainer", "--epochs", "{{config.epochs}}"],),
        ),
    },
)

TRIGGER: Final = Section(
    "Trigger",
    "What the state waits for before it starts.",
    {
        "uri": Key(
            "text",
            "Where the objects appear that the state waits for.",
            required=True,
            examples=("s3://{{config.bucket}}/incoming/",),
        ),
        "pollSeconds": Key(
            "count", "Seconds between two looks.", default=30, least=1, old="poll_seconds", examples=(30,)
        ),
        "maxPolls": Key(
            "count",
            "How often to look before giving up; 0 is without end.",
            default=0,
            old="max_polls",
            examples=(120,),
        ),
        "minObjects": Key(
            "count",
            "How many objects have to be there.",
            default=1,
            least=1,
            old="min_objects",
            examples=(1,),
        ),
    },
)

LOOP: Final = Section(
    "Loop",
    "Repeats the state (a sequence, or one that works) from 1 to max times.",
    {
        "max": Key(
            "count", "The most iterations; every loop is bounded.", required=True, least=1, examples=(3,)
        ),
        "until": Key(
            "word",
            "A decision, read after each iteration: the loop ends when it is this one.",
            words=PREDICATES,
        ),
    },
)

TRANSITION: Final = Section(
    "Transition",
    "A way on from the state. Transitions are tried in order; when none is taken, next is.",
    {
        "when": Key(
            "word",
            "The decision that this transition is for. Without it the transition is taken whenever its if "
            "allows.",
            words=PREDICATES,
        ),
        "if": Key(
            "condition",
            "One config key, as in `config.KEY`. The transition is skipped when its value is false, null, 0 "
            "or empty.",
            examples=("config.publish",),
        ),
        "goto": Key("ref", "The state that follows.", required=True),
    },
)

ARTIFACT: Final = Section(
    "Artifact",
    "A file or folder that the state reads or writes.",
    {
        "uri": Key(
            "text",
            "Where it is. Unless kind says otherwise, a slash at the end means a folder.",
            required=True,
            examples=("s3://{{config.bucket}}/{{run.prefix}}/model/",),
        ),
        "schema": Key(
            "label",
            "What is in it: an input carries the label of the output that it reads. A label with `decision` "
            "in it marks the artifact that a decision is read from.",
            examples=("example.model.v1",),
        ),
        "kind": Key("word", "Whether it is a file or a directory.", words=("file", "directory")),
    },
)

_EVERY = (WORK, SEQUENCE, PARALLEL, PLAIN)

STATE: Final = Section(
    "State",
    "A step of the workflow. It works (run or toolRef), is a group (sequence or parallel), only routes "
    "(next, transitions), or is an end (terminal).",
    {
        "description": Key("plain", "What the state is for.", on=_EVERY),
        "run": Key("section", "The command that the state runs.", inner=COMMAND, on=(WORK,)),
        "toolRef": Key(
            "label",
            "The catalog's tool that the state runs; its command, image and defaults come from there.",
            examples=("workbench.token_factory.generate",),
            old="tool_ref",
            on=(WORK,),
        ),
        "sequence": Key(
            "refs",
            "Makes the state a group whose members run one after the other, in this order.",
            fewest=1,
            on=(SEQUENCE,),
        ),
        "parallel": Key(
            "refs",
            "Makes the state a group whose members run at one time; its next follows when all have ended "
            "well. Members are plain working states.",
            fewest=2,
            on=(PARALLEL,),
        ),
        "parallelCount": Key(
            "count",
            "How many members the group has; a check against members that were forgotten.",
            least=2,
            old="parallel_count",
            on=(PARALLEL,),
        ),
        "maxConcurrency": Key(
            "count",
            "How many members run at one time: the group is cut, in its order, into batches of this many.",
            least=1,
            most=MAX_CONCURRENCY,
            old="max_concurrency",
            on=(PARALLEL,),
            examples=(8,),
        ),
        "params": Key(
            "values",
            "Config values for this state only. Every token of the state sees them; its if and its counts "
            "do not.",
            on=(WORK, PLAIN),
        ),
        "inputs": Key("sections", "Artifacts that the state reads.", inner=ARTIFACT, on=(WORK,)),
        "outputs": Key(
            "sections",
            "Artifacts that the state writes; each is looked for when it has ended.",
            inner=ARTIFACT,
            on=(WORK, SEQUENCE, PARALLEL),
        ),
        "resources": Key(
            "ref",
            "The profile, one of the spec's resources, on which the state runs.",
            default="default",
            on=(WORK, PLAIN),
        ),
        "secrets": Key(
            "env",
            "Names of the secret environment variables that the command needs; never their values.",
            on=(WORK,),
            examples=(["HF_TOKEN"],),
        ),
        "trigger": Key("section", "Waits for objects before the state starts.", inner=TRIGGER, on=(WORK,)),
        "loop": Key("section", "Repeats the state.", inner=LOOP, on=(WORK, SEQUENCE)),
        "writesDecision": Key(
            "flag",
            "Says that the command writes a decision, which transitions and loops then read.",
            default=False,
            old="writes_decision",
            on=(WORK,),
        ),
        "multiNodeMode": Key(
            "word",
            "`sharded` says that the command can share its work among several nodes; without it num_nodes "
            "has to be 1.",
            words=("sharded",),
            old="multi_node_mode",
            on=(WORK,),
        ),
        "groupRetry": Key(
            "word",
            "`all` starts every member again when one of them has to be tried again; otherwise only that "
            "member is.",
            words=("all",),
            on=(PARALLEL,),
        ),
        "needs": Key(
            "refs",
            "States that must have run before this one. It is a check only: the order comes from next, "
            "transitions and groups.",
            on=_EVERY,
        ),
        "transitions": Key(
            "sections",
            "Ways on by decision or config; the first that holds is taken, and next when none does.",
            inner=TRANSITION,
            on=(WORK, SEQUENCE, PLAIN),
        ),
        "next": Key("exit", "The state that follows; left out or empty: none.", on=_EVERY),
        "terminal": Key(
            "flag",
            "Says that the run ends well here. A terminal state has neither next nor transitions.",
            default=False,
            on=(WORK, SEQUENCE, PLAIN),
        ),
    },
)

LISTED_NAME: Final = Key("name", "Name of the state.", required=True, examples=("train",))
"""The one key that a state has besides those of STATE where ``states`` is a list."""

KUBERNETES: Final = Section(
    "Kubernetes",
    "What only Kubernetes understands.",
    {
        "pod_config": Key(
            "data", "Parts of the pod, as Kubernetes writes them; merged into what SkyPilot makes."
        ),
        "provision_timeout": Key("seconds", "Seconds to wait for the pod to be placed.", examples=(600,)),
    },
)

PROFILE: Final = Section(
    "Resource profile",
    "The machine that a state runs on. What is left out is SkyPilot's choice.",
    {
        "cloud": Key(
            "quantity",
            "Where to run: a cloud of SkyPilot, kubernetes, slurm, or local.",
            examples=("kubernetes", "aws", "gcp", "azure", "nebius", "slurm", "local"),
        ),
        "region": Key("quantity", "The cloud's region.", examples=("eu-north1",)),
        "accelerators": Key(
            "quantities",
            "GPUs of one node: NAME, NAME:N, or a mapping of names to numbers.",
            pattern=r"[A-Za-z0-9][A-Za-z0-9._-]*(:0*[1-9][0-9]*)?",
            examples=("H100:1",),
        ),
        "cpus": Key(
            "quantity",
            "CPUs of a node; with + at least that many.",
            pattern=r"[0-9]+(\.[0-9]+)?\+?",
            examples=("16+",),
        ),
        "memory": Key(
            "quantity",
            "Memory of a node in GiB (G and Gi are the same); with + at least that much.",
            pattern=r"[0-9]+(\.[0-9]+)?(Gi|G)?\+?",
            examples=("64Gi+",),
        ),
        "disk_size": Key("count", "Disk of a node in GiB.", least=1, examples=(256,)),
        "use_spot": Key("flag", "Take a machine that may be taken away again, for less.", default=False),
        "image": Key(
            "quantity",
            "The container image, or tool://NAME for one of the catalog. Empty: the tool's own.",
            examples=("tool://NAME", "docker.io/library/python:3.12"),
        ),
        "num_nodes": Key(
            "count",
            "How many nodes run the command. More than 1 needs a tool, or a multiNodeMode, that is sharded.",
            default=1,
            least=1,
            most=MAX_NODES,
        ),
        "kubernetes": Key("section", "What only Kubernetes understands.", inner=KUBERNETES),
        "deployIfAbsent": Key(
            "toggle", "Kept for other programs: npac does not make clusters, they have to be there."
        ),
    },
)

CONFIG: Final = Section(
    "Config",
    "The workflow's values: read elsewhere as {{config.KEY}}, replaced by --var, --set and --config. A "
    "value may hold tokens of config and run.",
    {
        "bucket": Key("text", "The bucket that artifacts go to.", examples=("my-bucket",)),
        "prefix": Key(
            "text",
            "What {{run.prefix}} gives outside config; without it that is NAME/RUN_ID.",
            examples=("workflows/{{run.prefix}}",),
        ),
        "decision_uri": Key(
            "text", "Where decisions are written and read when no output is labelled as one."
        ),
        "plan_assume_decision": Key(
            "text", "The decision that previews assume by default.", examples=PREDICATES
        ),
        "require_baked_npa": Key(
            "switch", "On: images carry the user code already, and nothing is staged or installed."
        ),
        "baked_npa_import": Key("text", "The Python module that has to be importable in a baked image."),
        "source_sha": Key("text", "The commit, 40 hex digits, that a baked image has to carry."),
        "source_overlay": Key(
            "switch", "On: a checkout is laid over the code in the image. Excludes require_baked_npa."
        ),
        "required_immutable_images": Key(
            "keys", "Config keys whose values have to be images by digest: REGISTRY/REPOSITORY@sha256:…"
        ),
    },
)

SPEC: Final = Section(
    "npa.workflow spec",
    "A workflow: states that run commands or tools on resources, and the order in which they do.",
    {
        "apiVersion": Key("word", "The language's version.", words=API_VERSIONS, required=True),
        "kind": Key("word", "What the document is.", words=("Workflow",), required=True),
        "metadata": Key(
            "section", "What the workflow is called, and how it decides.", inner=METADATA, required=True
        ),
        "config": Key("settings", CONFIG.about, inner=CONFIG),
        "run": Key(
            "literals",
            "More values of the run, read as {{run.KEY}}: plain text. `id` and `prefix` are npac's own.",
        ),
        "resources": Key(
            "named",
            "Resource profiles by name; `default` is the one of states that name none.",
            inner=PROFILE,
        ),
        "initial": Key("ref", "The state that runs first; the first of states when left out."),
        "states": Key(
            "listed",
            "The states by name, or a list of states that each carry their name.",
            inner=STATE,
            required=True,
            fewest=1,
        ),
    },
)
