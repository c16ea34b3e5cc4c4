"""Credentials are found wherever they stand, nothing else is taken for one, and none is ever shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from npac.cli.check import command
from npac.diagnostics.credentials import credentials, redacted
from npac.diagnostics.render import FORMATS, render
from tests.rules.specs import HEAD, WORK, checked, codes

# Put together here, so that no scanner takes this file for a leak.
HUGGING_FACE = "hf" + "_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567"
MANY = "a1B2" * 9
FORMED = (
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "ASIA" + "ABCDEFGHIJKLMNOP",
    HUGGING_FACE,
    "gh" + "p_" + MANY,
    "github" + "_pat_" + MANY,
    "nvapi" + "-" + MANY,
    "glpat" + "-" + MANY,
    "xox" + "b-123456789012-abcdef",
    "sk" + "-" + MANY,
    "sk" + "-proj-" + MANY,
    "sk" + "-ant-api03-" + MANY,
    "AI" + "za" + "a1B2" * 8 + "abc",
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijk",
    "Bearer " + "abcDEF123456789012345",
    "postgres://user:" + "hunter2@db.example.com/x",
    "-----BEGIN RSA PRIVATE " + "KEY-----",
)
CLEAN = (
    'max_tokens: "512"',
    "hf_token_env: HF_TOKEN",
    "pull_secret_name: my-registry-secret-2",
    "token_uri: s3://b/secret-token-1234567",
    'api_token: "12345678901234567890"',
    "secret: https://example.com/abc1234567",
    "password: ''",
    "password:",
    "use_token: true",
    "api_key_file: /etc/keys/abc1234567890",
    "access_key_name: Abcdefgh12345678",
    "secretary: Abcdefgh12345678",
    "tokens: Abcdefgh12345678",
    'token: "{{run.id}}-suffix-1234567890"',
    "password: aaaaaaaaaaaaaaaaaaaaaaaa",
    "image: r.io:5000/team/x@sha256:" + "0123456789abcdef" * 4,
    "url: ssh://git@host.example.com:22/x",
    "url: https://user:{{config.image}}@host/x",
    "url: https://USER:PASSWORD@host/x",
    "model: sk-learn-based-classifier-model-small",
    "text: uses bearer authentication/authorization headers",
    "hf_environment_of_the_model: x",
    "arn: arn:aws:iam::123456789012:role/x",
    "sha: 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
    "uuid: 123e4567-e89b-12d3-a456-426614174000",
    "token_count: 128",
    "bos_token: '<|begin_of_text|>'",
    "pad_token: '<pad>'",
    "mask_token: '[MASK]'",
    "hf_token: '<your token goes here 123>'",
    "hf_token: HF_TOKEN",
    "hf_token: $HF_TOKEN",
    "hf_token: '${MY_OWN_HF_TOKEN_2}'",
    "wandb_api_key: env:WANDB_API_KEY",
    "private_key: /etc/keys/id_ed25519.pem",
    "private_key: ~/.ssh/id_ed25519-2",
    "ssh_private_key: ./keys/Deploy-2026.pem",
    "password: '********'",
    "password: xxx",
)
NAMED = {
    "password: hunter2": "602",
    "db_password: Abcdefgh12345678": "601",
    "DB-Password: Abcdefgh12345678": "601",
    "secret: aaaaaaaaaaaaaaa1": "601",
    "a.b.token: Abcdefgh12345678": "601",
    "nested: {my_secret: Abcdefgh12345678}": "601",
    "api_key: abc def 123 456 789": "601",
    "aws_secret_access_key: a/b+c/d+e/f+g/h+1": "601",
    "secret_key: /a/b+c/d+e/f+g/h1Abcdefg": "601",
    "secret_key: /Abcdefgh12345678/Abcdefgh12345678": "601",
    "token: TODO": "602",
    "token: ABCDEF_12345678X": "601",
    "password: '<Abcdefgh12345678'": "601",
    "password: $Abcdefgh-12345678": "601",
}


@pytest.mark.parametrize("value", FORMED)
def test_a_credential_is_known_by_its_form(value: str) -> None:
    assert codes(f'config: {{k: "x {value} y"}}\n{WORK}', but="215") == "601"
    assert [text for text in (f"x {value} y",) if list(credentials(text))]


@pytest.mark.parametrize("line", CLEAN)
def test_what_only_resembles_one_is_clean(line: str) -> None:
    assert codes(f"config:\n  {line}\n{WORK}", but="204 215") == ""


@pytest.mark.parametrize("line", NAMED)
def test_a_key_can_say_that_its_value_is_one(line: str) -> None:
    assert codes(f"config:\n  {line}\n{WORK}", but="215") == NAMED[line]


def test_names_of_pull_secrets_and_secret_references_are_clean() -> None:
    body = f"""\
config: {{registry_secret: my-registry-pull-secret-1, hub_token: my-hub-token-secret-1}}
resources:
  default:
    kubernetes:
      pod_config:
        spec:
          imagePullSecrets: [{{name: "{{{{config.registry_secret}}}}"}}]
          containers:
            - env:
                - name: HUB_TOKEN
                  valueFrom: {{secretKeyRef: {{name: "{{{{config.hub_token}}}}", key: token}}}}
{WORK}"""
    assert codes(body) == ""


def test_a_pods_variable_is_named_by_its_name() -> None:
    env = "[{name: HF_TOKEN, value: Abcdefgh12345678}, {name: MODE, value: Abcdefgh12345678}]"
    body = f"resources: {{default: {{kubernetes: {{pod_config: {{spec: {{containers: [{{env: {env}}}]}}}}}}}}}}\n"
    (item,) = checked(body + WORK).findings
    assert (item.code.id, item.span.text) == ("NPA601", "Abcdefgh12345678")


PLACES = {
    "in config": "config: {{k: {0}}}\n" + WORK.replace("{", "{{").replace("}", "}}"),
    "in config, escaped": 'config: {{k: "{1}"}}\n' + WORK.replace("{", "{{").replace("}", "}}"),
    "in a command": "states:\n  a: {{run: {{shell: echo {0} ; echo {0}}}, terminal: true}}\n",
    "in argv": "states:\n  a: {{run: {{argv: [x, {0}]}}, terminal: true}}\n",
    "in a wrong place": "states:\n  a: {{run: {{argv: [x]}}, terminal: {0}}}\n",
    "as a name": "states:\n  a: {{run: {{argv: [x]}}, next: {0}}}\n",
    "as a key": "states:\n  a: {{run: {{argv: [x]}}, {0}: 1, terminal: true}}\n",
    "as a state": "states:\n  {0}: {{run: {{argv: [x]}}, terminal: true}}\n",
    "twice as a key": "config:\n  {0}: 1\n  {0}: 2\n" + WORK.replace("{", "{{").replace("}", "}}"),
    "as a quantity": "resources: {{default: {{cpus: {0}}}}}\n" + WORK.replace("{", "{{").replace("}", "}}"),
    "as an image": "resources: {{default: {{image: '{0}'}}}}\n" + WORK.replace("{", "{{").replace("}", "}}"),
    "in a URI": "states:\n  a: {{run: {{argv: [x]}}, outputs: [{{uri: 's3://b/{0}/o.j'}}], terminal: true}}\n",
    "as a tool": "states:\n  a: {{toolRef: {0}, terminal: true}}\n",
    "in a comment": "config: {{k: 1}}  # {0}\n" + WORK.replace("{", "{{").replace("}", "}}"),
    "in a suppression": "config: {{k: 1}}  # npac: ignore[NPA601] {0}\n"
    + WORK.replace("{", "{{").replace("}", "}}"),
    "in what is no YAML": "config: {{k: {0}, [\n" + WORK.replace("{", "{{").replace("}", "}}"),
    "in a bad token": "states:\n  a: {{run: {{argv: ['{{{{confg.{0}}}}}']}}, terminal: true}}\n",
    "as a config key": "states:\n  a: {{run: {{argv: ['{{{{config.{0}}}}}']}}, terminal: true}}\n",
    "in a block": "states:\n  a:\n    run:\n      shell: |\n        echo {0}\n        {{{{confg.x}}}} {0}\n    terminal: true\n",
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("place", PLACES)
def test_a_credential_is_never_shown(place: str, format: str) -> None:
    escaped = "".join(f"\\x{ord(char):02x}" if char == "B" else char for char in HUGGING_FACE)
    result = checked(PLACES[place].format(HUGGING_FACE, escaped))
    shown = render(format, result.findings, hidden=result.hidden, width=500)
    assert (result.findings and "NPA601" in shown) or place == "in a suppression"
    for start in range(3, len(HUGGING_FACE) - 6):
        assert HUGGING_FACE[start : start + 6] not in shown


@pytest.mark.parametrize("format", FORMATS)
def test_the_value_of_a_telling_key_is_not_shown_by_other_findings(format: str) -> None:
    value = "C0rrect-horse-battery-5"
    body = f"config: {{db_password: {value}, n: 1}}\nresources: {{default: {{region: '{{{{config.db_password}}}}', "
    body += "cpus: '{{config.db_password}}', image: '{{config.db_password}}'}}\n"
    body += "states:\n  a: {run: {argv: [x]}, outputs: [{uri: '{{config.db_password}}/o.j'}], loop: {max: config.db_password}, terminal: true}\n"
    result = checked(body, variables=(("db_password", value), ("no_password", value)))
    assert len(result.findings) > 4
    assert value not in render(format, result.findings, hidden=result.hidden, width=500)


@pytest.mark.parametrize("option", ["--var", "--set"])
@pytest.mark.parametrize("key", ["k", "unknown", "number"])
def test_the_command_line_shows_no_credential_of_its_options(option: str, key: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(HEAD + "config: {k: x, number: 3}\n" + WORK)
    options = [option, f"{key}={HUGGING_FACE}", option, "other=1"]
    for format in FORMATS:
        result = CliRunner().invoke(command, [str(spec), "--format", format, *options])
        assert result.exit_code == 1
        assert HUGGING_FACE[3:12] not in result.output and HUGGING_FACE[-8:] not in result.output


def test_an_overlay_is_searched_too(tmp_path: Path) -> None:
    spec, overlay = tmp_path / "spec.yaml", tmp_path / "overlay.yaml"
    spec.write_text(HEAD + "config: {k: x}\n" + WORK)
    for text in (f"k: {HUGGING_FACE}\n", f"k: '{HUGGING_FACE}\n", f"k: 1 # {HUGGING_FACE}\nk: 2\n"):
        overlay.write_text(text)
        result = CliRunner().invoke(command, [str(spec), "--config", str(overlay)])
        assert "NPA601" in result.output
        assert HUGGING_FACE[3:12] not in result.output


def test_a_fix_that_would_write_it_is_dropped() -> None:
    result = checked(f"states:\n  a: {{run: {{argv: ['{{{{confg.{HUGGING_FACE}}}}}']}}, terminal: true}}\n")
    assert HUGGING_FACE not in json.dumps(json.loads(render("json", result.findings)))


def test_a_private_key_is_hidden_to_its_end() -> None:
    key = (
        "-----BEGIN PRIVATE "
        + "KEY-----\n        MIIEvQIBADANBgkq\n        hkiG9w0BAQEFAASC\n        -----END PRIVATE "
        + "KEY-----"
    )
    body = f"config:\n  k: |\n        {key}\n{WORK}"
    result = checked(body)
    shown = render("text", result.findings, hidden=result.hidden)
    assert "NPA601" in shown and "MIIEvQ" not in shown and "hkiG9w" not in shown


@pytest.mark.parametrize("value", FORMED)
def test_words_about_a_text_lose_a_credential_also_when_it_is_cut_short(value: str) -> None:
    assert value not in redacted(f"it is {value!r}")
    cut = value[: max(len(value) - 4, 14)]
    assert cut not in redacted(f"it is {cut!r}")


@pytest.mark.parametrize(
    "text", ["hf_environment", "sk-learn-based-classifier-model", "a bearer of good news", ""]
)
def test_other_words_stay(text: str) -> None:
    assert redacted(f"there is no key {text!r}") == f"there is no key {text!r}"
