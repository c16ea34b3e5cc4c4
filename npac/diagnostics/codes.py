"""The table of all codes: one line a kind of finding, in families by hundreds."""

from __future__ import annotations

from npac.diagnostics.credentials import redacted
from npac.diagnostics.diagnostic import Code, Diagnostic, Fix, Related, Severity
from npac.text.source import Span

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

_TABLE = (
    # 0: files and YAML
    ("NPA001", "unreadable-file", _E, "the file cannot be read as UTF-8 text"),
    ("NPA002", "yaml-syntax", _E, "the text is no YAML"),
    ("NPA003", "duplicate-key", _E, "a key stands twice in one mapping"),
    ("NPA004", "several-documents", _E, "a spec is one YAML document"),
    ("NPA005", "unsafe-tag", _E, "a tag asks for an object to be built"),
    ("NPA006", "alias-expansion", _E, "aliases stand for more data than is sane"),
    ("NPA007", "nesting-too-deep", _E, "data is nested too deeply"),
    ("NPA008", "not-a-spec", _E, "the document is no workflow spec"),
    ("NPA009", "complex-key", _E, "a key is not plain text"),
    ("NPA010", "invisible-character", _W, "a bidirectional or zero-width character hides in the text"),
    ("NPA011", "retyped-scalar", _N, "other YAML readers would change this text"),
    ("NPA012", "bad-merge-key", _E, "a merge key takes mappings only"),
    # 1: shape
    ("NPA101", "unknown-key", _E, "a key is not part of the language"),
    ("NPA102", "wrong-type", _E, "a value has the wrong type"),
    ("NPA103", "missing-key", _E, "a required key is missing"),
    ("NPA104", "unknown-value", _E, "a value is not one of those allowed"),
    ("NPA105", "bad-name", _E, "a name cannot be used as one"),
    ("NPA106", "old-spelling", _W, "a snake_case spelling of a key"),
    ("NPA107", "both-spellings", _E, "one key is given in both spellings"),
    ("NPA108", "duplicate-state", _E, "a state is defined twice"),
    ("NPA109", "no-states", _E, "a spec without states"),
    ("NPA110", "token-in-name", _E, "a name holds a token"),
    ("NPA111", "bad-number", _E, "a number is missing, malformed or out of range"),
    # 2: tokens and config
    ("NPA201", "unknown-scope", _E, "a token's scope does not exist"),
    ("NPA202", "bad-token", _E, "a token is malformed"),
    ("NPA203", "unknown-transform", _E, "a token's transform does not exist"),
    ("NPA204", "unknown-config-key", _E, "a config key does not exist"),
    ("NPA205", "unknown-run-key", _E, "a run key does not exist"),
    ("NPA206", "value-not-text", _E, "a token names a null, a list or a mapping"),
    ("NPA207", "config-cycle", _E, "config values refer to each other in a circle"),
    ("NPA208", "unknown-state-value", _E, "a state token names nothing"),
    ("NPA209", "state-not-run", _E, "a state token is read before its state has run"),
    ("NPA210", "unknown-loop", _E, "a loop token names no loop"),
    ("NPA211", "loop-not-run", _E, "a loop token is read before its loop has begun"),
    ("NPA212", "sibling-value", _E, "a member of a parallel group reads another member"),
    ("NPA213", "reserved-run-key", _E, "run.id and run.prefix cannot be given"),
    ("NPA214", "value-too-long", _E, "a resolved value is too long"),
    ("NPA215", "unused-config-key", _N, "nothing reads a config key"),
    ("NPA216", "bad-switch", _E, "a switch is neither on nor off"),
    ("NPA217", "unknown-override", _E, "an override names no config key"),
    ("NPA218", "override-type", _E, "an override does not fit the value that it replaces"),
    ("NPA219", "late-structure", _E, "the program's structure depends on the run id"),
    ("NPA220", "tool-defaults-differ", _E, "two tools give one key different defaults"),
    ("NPA221", "shell-injection", _W, "a config value can change the shape of a shell command"),
    ("NPA222", "token-not-allowed-here", _E, "this scope cannot be read here"),
    ("NPA223", "program-too-large", _E, "the program's text is too large"),
    ("NPA224", "unused-param", _N, "nothing of a state reads one of its params"),
    ("NPA225", "foreign-token", _N, "a token of another tool is left as text"),
    # 3: control flow
    ("NPA301", "unknown-state", _E, "a state does not exist"),
    ("NPA302", "member-as-target", _E, "a group's member is named from outside"),
    ("NPA303", "two-commands", _E, "a state has more than one kind of work"),
    ("NPA304", "no-work", _E, "a state does nothing"),
    ("NPA305", "key-not-for-group", _E, "a key has no meaning here"),
    ("NPA306", "empty-group", _E, "a group without members"),
    ("NPA307", "repeated-member", _E, "a state stands more than once in groups"),
    ("NPA308", "group-in-itself", _E, "a state contains itself"),
    ("NPA309", "child-with-next", _E, "a sequence's child has its own next"),
    ("NPA310", "terminal-child", _E, "a sequence's child is terminal"),
    ("NPA311", "terminal-with-exit", _E, "a terminal state has an exit"),
    ("NPA312", "transition-never-routes", _W, "a transition is never followed"),
    ("NPA313", "child-transitions", _E, "a sequence's child outside any loop has transitions"),
    ("NPA314", "loop-on-parallel", _E, "a loop directly on a parallel group"),
    ("NPA315", "too-many-steps", _E, "the longest walk has too many steps"),
    ("NPA316", "too-few-members", _E, "a parallel group of fewer than two"),
    ("NPA317", "bad-member", _E, "a parallel member is no plain leaf"),
    ("NPA318", "count-mismatch", _E, "parallelCount is not the number of members"),
    ("NPA319", "no-fall-through", _E, "transitions can be exhausted and no next follows"),
    ("NPA320", "unknown-predicate", _E, "a decision that does not exist"),
    ("NPA321", "bad-condition", _E, "an if is not a config key"),
    ("NPA322", "quoted-false", _W, "a quoted false value counts as true"),
    ("NPA323", "flow-cycle", _E, "next and transitions form a cycle"),
    ("NPA324", "no-terminal", _E, "no terminal state can be reached"),
    ("NPA325", "dead-end", _W, "a path ends at a state that is not terminal"),
    ("NPA326", "unreachable-state", _W, "nothing reaches a state"),
    ("NPA327", "needs-cycle", _E, "needs form a cycle"),
    ("NPA328", "needs-not-run", _W, "a needed state has not run on every path"),
    ("NPA329", "trigger-without-work", _E, "a trigger on a state that does no work"),
    ("NPA330", "too-many-nodes", _E, "the program has too many nodes"),
    ("NPA331", "relative-script", _N, "a script is named by a relative path"),
    ("NPA332", "nul-character", _E, "a command holds a NUL character"),
    # 4: decisions
    ("NPA401", "no-decision-source", _E, "nothing says where a decision is read from"),
    ("NPA402", "decision-from-config", _W, "a loop's decision comes from no state of its body"),
    ("NPA403", "decision-not-an-output", _E, "a decision is written where no output is declared"),
    ("NPA404", "decision-not-written", _W, "a decision is read that was not written on every path"),
    ("NPA405", "undeclared-runtime-mode", _N, "a spec with decisions does not declare executionMode"),
    ("NPA406", "stale-decision", _W, "a loop's decision is not written in its iterations"),
    # 5: resources and images
    ("NPA501", "unknown-profile", _E, "a resource profile does not exist"),
    ("NPA502", "bad-quantity", _E, "a quantity cannot be read"),
    ("NPA503", "unknown-cloud", _W, "a cloud is not known"),
    ("NPA504", "shell-variable", _E, "a shell variable in a declarative field"),
    ("NPA505", "not-sharded", _E, "several nodes run a command that is not sharded"),
    ("NPA506", "shard-contract", _E, "a tool's rules for several nodes are not kept"),
    ("NPA507", "bad-image", _E, "an image reference is malformed"),
    ("NPA508", "unknown-tool-image", _W, "tool:// names no image of the catalog"),
    ("NPA509", "image-not-immutable", _E, "an image must be pinned by digest"),
    ("NPA510", "operator-input-empty", _N, "a value must be given before this can be compiled"),
    ("NPA511", "bad-source-sha", _E, "source_sha is not 40 hex digits"),
    ("NPA512", "overlay-with-baked", _E, "source_overlay contradicts require_baked_npa"),
    ("NPA513", "not-provisioned", _N, "npac does not provision clusters"),
    ("NPA514", "bad-import-module", _E, "baked_npa_import is no dotted module name"),
    ("NPA515", "mutable-image", _N, "a tag that can be moved names an image of a spec in runtime mode"),
    ("NPA516", "no-such-node", _W, "no node has as many GPUs as are asked for"),
    # 6: secrets
    ("NPA601", "secret-in-plain-text", _E, "a credential stands in the spec"),
    ("NPA602", "maybe-secret", _W, "a key's name suggests a credential"),
    # 7: artifacts
    ("NPA701", "racing-outputs", _E, "two members of a parallel group write one URI"),
    ("NPA702", "rewritten-output", _N, "one URI is written more than once"),
    ("NPA703", "output-shared-by-runs", _W, "an output's URI does not depend on the run"),
    ("NPA704", "label-mismatch", _W, "an input's label is not its producer's"),
    ("NPA705", "kind-undeclared", _N, "an output looks like a directory but does not say so"),
    ("NPA706", "bad-uri", _E, "an artifact's URI cannot be used"),
    # 8: catalog
    ("NPA801", "unknown-tool", _E, "a tool is not in the catalog"),
    # 9: the tool itself
    ("NPA901", "unused-suppression", _W, "a suppression hides nothing"),
    ("NPA902", "malformed-suppression", _W, "a suppression cannot be read"),
    ("NPA903", "bad-project-config", _E, "the project's configuration cannot be used"),
)

CODES: dict[str, Code] = {code: Code(code, name, severity, text) for code, name, severity, text in _TABLE}
BY_NAME: dict[str, Code] = {code.name: code for code in CODES.values()}


def finding(
    name: str,
    message: str,
    span: Span,
    help: str = "",
    *,
    related: tuple[Related, ...] = (),
    fix: Fix | None = None,
    severity: Severity | None = None,
) -> Diagnostic:
    """Make a diagnostic by the name of its code; what looks like a credential is taken out of its words."""
    return Diagnostic(BY_NAME[name], redacted(message), span, related, redacted(help), fix, severity)
