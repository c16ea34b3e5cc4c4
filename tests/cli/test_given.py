"""Values of options: empty ones, bytes that are no text, secrets given by mistake, pairs that are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npac.api import NpacError, Options, run
from npac.cli.commands import COMMANDS, LazyGroup
from npac.cli.commands import main as group
from tests.api.command import invoke, spawn
from tests.api.specs import GOOD, PLAIN

SECRETS = (
    "AKIAIOSFODNN7EXAMPLQ",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "hf_AbCdEfGhIjKlMnOpQrStUvWx12",
    "sk-proj-abcdefghij0123456789ABCDEFGH",
    "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
)
BYTES = os.fsdecode(b"\xff\xfe")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NPAC_HOME", str(tmp_path / "home"))
    Path("plain.yaml").write_text(PLAIN, encoding="utf-8")
    Path("good.yaml").write_text(GOOD, encoding="utf-8")
    return tmp_path


def test_every_parameter_is_looked_at() -> None:
    assert isinstance(group, LazyGroup)
    context = group.make_context("npac", ["check"])
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        assert all(param.callback is not None for param in command.params), name


@pytest.mark.parametrize(
    "line",
    [
        "run plain.yaml --run-id=", "run plain.yaml --plan-only --run-id=", "compile plain.yaml --run-id=",
        "plan plain.yaml --run-id=", "check plain.yaml --catalog=", "check plain.yaml --config=",
        "check plain.yaml --var=", "check plain.yaml --var==x", "check plain.yaml --set==x",
        "compile plain.yaml --output=", "check plain.yaml --format=", "check plain.yaml --select=",
        "run plain.yaml --ledger=", "run plain.yaml --engine=", "run plain.yaml --secret-env=",
        "run plain.yaml --slots=", "runs --ledger=", "cancel r --reason=", "graph plain.yaml --output=",
        "check - --stdin-filename=", "plan plain.yaml --decide=", "plan plain.yaml --decide==x",
        "plan plain.yaml --assume-decision=", "compile plain.yaml --pin=", "compile plain.yaml --pin==x",
        "compile plain.yaml --pin=x=", "compile plain.yaml --accelerator=A100=",
        "compile plain.yaml --accelerator==A100",
    ],
)  # fmt: skip
def test_an_empty_value_is_not_taken_for_an_absent_one(here: Path, capsys, line: str) -> None:
    outcome = invoke(capsys, *line.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert "Traceback" not in outcome.err and line.split()[-1].split("=")[0] in outcome.err
    assert sorted(path.name for path in here.iterdir()) == ["good.yaml", "plain.yaml"]


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("schema", "test", "runs")])
def test_an_empty_argument_is_refused(here: Path, capsys, command: str) -> None:
    outcome = invoke(capsys, command, "", "x", "x")
    assert outcome.code == 2
    assert "is empty" in outcome.err or "unexpected extra argument" in outcome.err


def test_an_empty_config_value_is_a_value(here: Path, capsys) -> None:
    assert invoke(capsys, "check", "good.yaml", "--var", "word=").code == 0


@pytest.mark.parametrize("option", ["--var", "--set"])
def test_bytes_that_are_no_text_are_refused_by_every_command_alike(here: Path, capsys, option: str) -> None:
    said = set()
    for command in ("check", "compile", "plan", "run", "graph", "diff"):
        targets = ["good.yaml"] * (2 if command == "diff" else 1)
        outcome = invoke(capsys, command, *targets, option, f"word={BYTES}")
        assert outcome.code == 2 and outcome.out == ""
        said.add(outcome.err.splitlines()[-1])
    assert said == {f"Error: {option} holds bytes that are no UTF-8 text: write it as UTF-8"}


@pytest.mark.parametrize(
    "argv",
    [
        ("run", "plain.yaml", "--run-id", BYTES), ("run", "plain.yaml", "--secret-env", BYTES),
        ("run", "plain.yaml", "--engine", BYTES), ("cancel", "r", "--reason", BYTES),
        ("decide", "r", "g", "loop_back", "--reason", BYTES), ("status", BYTES), ("logs", "r", BYTES),
        ("compile", "plain.yaml", "--pin", f"{BYTES}=x"), ("plan", "good.yaml", "--decide", f"{BYTES}=x"),
        ("check", "plain.yaml", "--select", BYTES), ("explain", BYTES), ("tools", BYTES), (BYTES,),
        ("check", f"--{BYTES}"), ("check", "plain.yaml", "--format", BYTES), ("test", "-k", BYTES),
        ("check", BYTES), ("check", "plain.yaml", "--catalog", BYTES), ("plan", BYTES), ("test", BYTES),
        ("check", "plain.yaml", "--config", BYTES), ("verify", BYTES),
    ],
)  # fmt: skip
def test_bytes_that_are_no_text_give_a_plain_sentence(here: Path, argv: tuple[str, ...]) -> None:
    outcome = spawn(*argv, cwd=here, env={"NPAC_HOME": str(here / "home")})
    assert outcome.code in ((1, 2) if argv[0] == "verify" else (2,))
    assert "Traceback" not in outcome.err and "fault of npac" not in outcome.err
    assert outcome.err + outcome.out


def test_paths_that_are_no_text_work(here: Path) -> None:
    (here / BYTES).mkdir()
    for name, text in (("plain", PLAIN), ("over", "word: bye\n"), ("tools", "catalog: npac.catalog/v1\n")):
        (here / BYTES / f"{name}{BYTES}.yaml").write_text(text, encoding="utf-8")
    spec = here / BYTES / f"plain{BYTES}.yaml"
    env = {"NPAC_HOME": str(here / "home")}
    extra = ("--catalog", here / BYTES / f"tools{BYTES}.yaml")
    for format in ("text", "json", "sarif", "github", "concise"):
        assert spawn("check", spec, *extra, "--format", format, cwd=here, env=env).code == 0
    overlay = ("--config", here / BYTES / f"over{BYTES}.yaml")
    assert "bye" in spawn("compile", "good.yaml", *overlay, cwd=here, env=env).out
    build = here / f"build{BYTES}"
    assert spawn("compile", spec, "-o", build, cwd=here, env=env).code == 0
    assert spawn("verify", build, cwd=here, env=env).code == 0
    assert spawn("diff", build, spec, cwd=here, env=env).code == 0
    assert spawn("check", here / BYTES, cwd=here, env=env).code == 0


@pytest.mark.parametrize("secret", SECRETS)
def test_a_credential_given_by_mistake_is_not_shown(here: Path, capsys, secret: str) -> None:
    lines = [
        ("plan", "good.yaml", "--decide", secret), ("plan", "good.yaml", "--decide", f"{secret}=x"),
        ("plan", "good.yaml", "--decide", f"refine={secret}"),
        ("plan", "good.yaml", "--assume-decision", secret), ("check", "good.yaml", "--select", secret),
        ("check", "good.yaml", "--ignore", secret), ("check", "good.yaml", "--var", secret),
        ("check", "good.yaml", "--var", f"nokey={secret}"),
        ("check", "good.yaml", "--set", f"nokey={secret}"),
        ("check", "good.yaml", "--var", f"{secret}=x"), ("check", "good.yaml", "--format", secret),
        ("check", "good.yaml", "--max-steps", secret), ("check", "good.yaml", f"--{secret}"), (secret,),
        ("check", secret), ("check", "good.yaml", "--catalog", secret),
        ("check", "good.yaml", "--config", secret), ("check", "-", "--stdin-filename", secret),
        ("compile", "good.yaml", "--pin", secret), ("compile", "good.yaml", "--pin", f"a={secret}"),
        ("compile", "good.yaml", "--pin", f"{secret}=sha256:aa"), ("compile", "good.yaml", "-o", secret),
        ("compile", "good.yaml", "--check", "-o", secret), ("compile", "good.yaml", "--run-id", f"{secret}/"),
        ("compile", "good.yaml", "--accelerator", f"A={secret}"), ("explain", secret), ("tools", secret),
        ("test", secret), ("test", "-k", secret), ("status", secret), ("why", secret), ("logs", "r", secret),
        ("cancel", secret), ("runs", secret), ("events", secret), ("diff", secret, secret), ("plan", secret),
        ("graph", "good.yaml", "-o", secret), ("run", secret), ("run", "plain.yaml", "--engine", secret),
        ("run", "plain.yaml", "--secret-env", secret),
        ("run", "plain.yaml", "--secret-env", f"TOKEN={secret}"),
        ("run", "plain.yaml", "--secret-env", f"{secret}=x"),
        ("decide", "r", "g", secret, "--reason", "x"), ("schema", secret),
    ]  # fmt: skip
    for line in lines:
        outcome = invoke(capsys, *line)
        assert outcome.code in (1, 2), line
        assert secret[:12] not in outcome.out + outcome.err, (line, outcome)
        assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("TOKEN=hunter22", "the secret TOKEN was given with a value"),
        ("hf_token=hunter22", "the secret hf_token was given with a value"),
        ("hunter22-and-more", "a secret was given by no name"),
        ("aHVudGVyMjI=", "a secret was given by no name"),
        ("aHVudGVyMg==", "a secret was given by no name"),
        ("SOME NAME=hunter22", "a secret was given by no name"),
    ],
)
def test_the_value_of_a_secret_is_not_shown(here: Path, capsys, given: str, shown: str) -> None:
    outcome = invoke(capsys, "run", "plain.yaml", "--secret-env", given)
    assert outcome.code == 2
    assert shown in outcome.err and "names of environment variables" in outcome.err
    for part in ("hunter22", "aHVudGVyMjI", "aHVudGVyMg"):
        assert part not in outcome.err
    with pytest.raises(NpacError) as caught:
        run("plain.yaml", Options(), secrets=[given])
    assert "hunter22" not in f"{caught.value}{caught.value.remedy}"
    assert not (here / "home" / "runs").exists()


def test_a_secret_with_a_value_is_refused_on_resume(here: Path, capsys) -> None:
    assert invoke(capsys, "run", "plain.yaml", "--run-id", "r").code == 0
    outcome = invoke(capsys, "resume", "r", "--secret-env", "TOKEN=hunter22")
    assert outcome.code == 2 and "the secret TOKEN was given with a value" in outcome.err
    assert "hunter22" not in outcome.err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--pin", "a"), "no pair"),
        (("--pin", "a=b"), "does not name a registry"),
        (("--pin", "a=b@sha256:00"), "does not name a registry"),
        (("--pin", f"r.io/a=r.io/a:1@sha256:{'0' * 64}"), "does not name a registry"),
        (("--pin", f"r.io/a=sha256:{'0' * 64}", "--pin", f"r.io/a=sha256:{'1' * 64}"), "twice for 'r.io/a'"),
        (("--accelerator", "A100"), "no pair"),
        (("--accelerator", "A100=H100:0"), "names no two accelerators"),
        (("--accelerator", "A100=H100", "--accelerator", "A100=L40"), "twice for 'A100'"),
    ],
)  # fmt: skip
def test_pins_and_remaps_that_say_nothing_are_refused(
    here: Path, capsys, argv: tuple[str, ...], words: str
) -> None:
    for command in (("compile", "plain.yaml"), ("run", "plain.yaml"), ("run", "plain.yaml", "--plan-only")):
        outcome = invoke(capsys, *command, *argv)
        assert outcome.code == 2 and words in outcome.err and "help: " in outcome.err


@pytest.mark.parametrize("decision", ["promote_chekpoint", "yes", "--"])
def test_an_assumed_decision_that_is_none_is_refused(here: Path, capsys, decision: str) -> None:
    for command in (("plan", "good.yaml"), ("run", "good.yaml", "--plan-only"), ("graph", "good.yaml")):
        outcome = invoke(capsys, *command, f"--assume-decision={decision}")
        assert outcome.code == 2
        assert "is no decision" in outcome.err and "promote_checkpoint, loop_back or default" in outcome.err
