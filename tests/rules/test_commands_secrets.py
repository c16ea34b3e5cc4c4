"""Credentials in commands are found as those of config keys are, and no character of one is shown."""

from __future__ import annotations

import pytest

from npac.diagnostics.render import FORMATS, render
from tests.rules.specs import END, WORK, checked, codes

HEX = "0123456789abcdef" * 2 + "01234567"
LONG = "s3cr3t-P4ssw0rd-long"


def _shell(line: str) -> str:
    return f"states:\n  a:\n    run:\n      shell: |\n        {line}\n    terminal: true\n"


SHELL = {
    f"export WANDB_API_KEY={HEX}": "601",
    f"export DB_PASSWORD='{LONG}'": "601",
    f'export DB_PASSWORD="{LONG}"': "601",
    f"AWS_SECRET_ACCESS_KEY={LONG}1 aws s3 ls": "601",
    f"wandb login {HEX}": "601",
    f"wandb login --relogin {HEX}": "601",
    f"mysql -u root --password={LONG}": "601",
    f"mysql -u root -p{LONG} db": "601",
    f"curl -fsS -u admin:{LONG} https://x.example": "601",
    f"curl --user 'admin:{LONG}' https://x.example": "601",
    f"sshpass -p {LONG} ssh x": "601",
    f"docker login -u me -p {LONG} r.example": "601",
    f"train --api-key {HEX}": "601",
    f"train --hf-token={HEX} -v": "601",
    f"bash -c 'export HF_TOKEN={HEX}'": "601",
    f"kubectl create secret generic x --from-literal=password={LONG}": "601",
    "PASSWORD=hunter2 x": "602",
    "login --password hunter2": "602",
}
ARGV = {
    f"[train, --api-key, '{HEX}']": "601",
    f"[train, '--hf-token={HEX}']": "601",
    f"[env, 'DB_PASSWORD={LONG} and more', train]": "601",
    f"[curl, -u, 'admin:{LONG}']": "601",
    f"[mysql, '-p{LONG}']": "601",
    f"[sshpass, -p, '{LONG}', ssh]": "601",
    f"[docker, login, -p, '{LONG}']": "601",
    f"[wandb, login, '{HEX}']": "601",
    f"[bash, -c, 'export HF_TOKEN={HEX}']": "601",
}
CLEAN = (
    "export HF_TOKEN=$HF_TOKEN",
    'export HF_TOKEN="${MY_HF_TOKEN:-}"',
    'export HF_TOKEN="$(cat /run/secrets/hf-token-12345)"',
    "export HF_TOKEN=`cat /run/secrets/hf`",
    "export HF_TOKEN=<your token goes here 123>",
    "export HF_TOKEN= ; train",
    "export HF_TOKEN_FILE=/run/secrets/hf-token-12345",
    "train --eos-token '</s>' --pad-token=0 --mask-token '[MASK]' --max-tokens 512",
    "train --image-token image_placeholder-1234 --mask-token special-mask-token-v1",
    "vllm serve --api-key EMPTY",
    "vllm serve --api-key $KEY --port 8000",
    "gcloud run deploy --set-secrets=HF_TOKEN=hf-token:latest",
    "docker build --secret id=hf-token-1234567,env=HF_TOKEN .",
    "gcloud secrets versions access 1 --secret my-hf-token-secret-1",
    "python -c 'client(api_key=os.environ[\"OPENAI_API_KEY\"], token=hf_token, pad_token=tok.eos_token)'",
    "python -c 'login(token=None, secret=True)'",
    "python -c 'x(token=get_token(1), api_key=f\"{api_key}\")'",
    "sed -i 's/token=.*/token=none/' conf",
    "ssh-keygen --private-key keys/id_ed25519-2.pem",
    "test \"$API_KEY\" = '' && exit 1",
    "curl -u $USER:$PASS https://x.example",
    "curl -u 'admin:' -o out:1234567890abcdefgh https://x.example",
    "mysql -u root -p mydatabase-2026-production",
    "docker run -p 8080:80 image",
    "echo a token of love, the key is abcdefgh12345678",
    "vault kv get -field=token secret/data/acme",
)


@pytest.mark.parametrize("line", SHELL)
def test_a_shell_text_gives_a_credential(line: str) -> None:
    assert codes(_shell(line)) == SHELL[line]


@pytest.mark.parametrize("argv", ARGV)
def test_the_words_of_a_command_give_a_credential(argv: str) -> None:
    assert codes(f"states:\n  a: {{run: {{argv: {argv}}}, terminal: true}}\n") == ARGV[argv]


@pytest.mark.parametrize("line", CLEAN)
def test_a_command_that_gives_none_is_clean(line: str) -> None:
    assert codes(_shell(line), but="221 331") == ""


@pytest.mark.parametrize("token", ["{{config.t}}", "{{config.t | sh}}", "'{{config.t}}'"])
def test_a_token_is_no_credential_where_it_is_named(token: str) -> None:
    assert codes(f"config: {{t: abc}}\n{_shell(f'x --api-key {token}; HF_TOKEN={token} y')}") == ""


def test_lists_of_variables_and_config_values_are_commands_too() -> None:
    profile = f"resources: {{default: {{kubernetes: {{pod_config: {{x: ['HF_TOKEN={HEX}']}}}}}}}}\n"
    assert codes(profile + WORK) == "601"
    assert codes(f"config: {{k: 'train --api-key {HEX}'}}\n{WORK}", but="215") == "601"


def test_webhooks_are_known_by_their_form() -> None:
    hook = "https://hooks.slack.com/" + "services/T0A1B2C3D/B0A1B2C3D/" + "abcdefGHIJKL0123456789mn"
    assert codes(f"config: {{k: {hook}}}\n{WORK}", but="215") == "601"
    assert codes(_shell(f"curl -d x {hook}")) == "601"
    assert codes(f"config: {{k: {hook[:-24] + 'X' * 24}}}\n{WORK}", but="215") == ""
    other = "https://discord.com/" + "api/webhooks/123456789012345678/" + "aB3_" * 16
    assert codes(f"config: {{k: {other}}}\n{WORK}", but="215") == "601"


@pytest.mark.parametrize(
    "line",
    [
        "mask_token: special-mask-token-v1",
        "image_token: image_placeholder",
        "action_token: action-token-number-1",
        "k8s_secret: projects/acme/secrets/hf-token",
        "hf_secret: projects/acme/secrets/hf-token/versions/3",
        "vault_token: vault:secret/data/acme#token",
        "api_token: arn:aws:secretsmanager:us-east-1:123456789012:secret:hf-AbCdEf",
        "k8s_secret: training/hf-token-secret-1",
        "api_key: EMPTY",
        "ssh_private_key: keys/deploy-2026.pem",
    ],
)
def test_names_of_models_and_references_to_stores_are_clean(line: str) -> None:
    assert codes(f"config:\n  {line}\n{WORK}", but="215") == ""


@pytest.mark.parametrize(
    "line", [f"session_token: {LONG}", f"my_secret: {LONG}", f"k8s_token: {LONG}", f"vault_token: {LONG}"]
)
def test_the_exemptions_let_no_other_key_through(line: str) -> None:
    assert codes(f"config:\n  {line}\n{WORK}", but="215") == "601"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("line", [line for line in SHELL if HEX in line or LONG in line])
def test_no_part_of_the_value_is_shown(line: str, format: str) -> None:
    body = _shell(line).replace("terminal: true", "next: zz\n    transitions: []") + END
    result = checked(body)
    shown = render(format, result.findings, hidden=result.hidden, width=500)
    value = HEX if HEX in line else LONG
    assert "NPA601" in shown and len(result.findings) > 1
    assert all(value[at : at + 6] not in shown for at in range(len(value) - 6))


@pytest.mark.parametrize("use", ["{{config.password}}", '"{{config.password}}"', "'{{config.password}}'"])
@pytest.mark.parametrize("config", ['password: "s3\'cr3t-P$ssw0rd!"', "password: 'a b!$\"''\\c'"])
def test_no_character_of_a_hidden_value_is_named(config: str, use: str) -> None:
    found = checked(f"config:\n  {config}\n  w: '{{{{config.password}}}}'\n{_shell(f'x {use}')}").findings
    (item,) = [item for item in found if item.code.id == "NPA221"]
    assert "holds a character that the shell reads" in item.message
    assert not set(item.message) & set("!$\"\\'")


def test_a_value_that_is_no_secret_is_still_explained() -> None:
    (item,) = checked(f"config: {{w: 'a!b'}}\n{_shell('x {{config.w}}')}").findings
    assert "holds ! and is unquoted" in item.message


def test_the_help_gives_a_name_and_no_value() -> None:
    (item,) = checked(_shell(f"export WANDB_API_KEY={HEX}")).findings
    assert "--secret-env NAME:" in item.help and "environment" in item.help
