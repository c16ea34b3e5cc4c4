"""Scripts that a shell text names by a relative path, where nothing has put them into the task's folder."""

from __future__ import annotations

import json
import time

import pytest

from tests.rules.specs import checked

CONFIG = "config: {code: /opt/x, script: train.py, folder: scripts, blank: 'a b'}\n"


def _found(shell: str) -> list[str]:
    body = f"{CONFIG}states:\n  a: {{run: {{shell: {json.dumps(shell)}}}, terminal: true}}\n"
    found = [item for item in checked(body).findings if item.code.id == "NPA331"]
    assert all("{{config.code | sh}}/" in item.help for item in found)
    return [item.span.text for item in found]


@pytest.mark.parametrize(
    ("shell", "script"),
    [
        ("python3 train.py", "train.py"),
        ("set -euo pipefail\npython3 -u scripts/train.py --x 1 | tee log", "scripts/train.py"),
        ("python3 {{config.script}}", "{{config.script}}"),
        ("python3 {{config.folder | sh}}/train.py", "{{config.folder | sh}}/train.py"),
        ("A=1 B='x y' exec python train.py", "train.py"),
        ("# first\n./run.sh", "./run.sh"),
        ("mkdir -p out && ./run.sh > log 2>&1", "./run.sh"),
        ("torchrun --nproc_per_node 8 train.py --lr 1", "train.py"),
        ("source ./env.sh && x", "./env.sh"),
        ("python3 \\\n  x.py", "x.py"),
        ("[ -d x ] && python3 y.py", "y.py"),
        ("bash run.sh & wait", "run.sh"),
        ("echo {{config.blank | sh}}; python3 'y.py'", "'y.py'"),
    ],
)
def test_a_relative_script_is_noted_at_its_word(shell: str, script: str) -> None:
    assert _found(shell) == [script]


@pytest.mark.parametrize(
    "shell",
    [
        "cd {{config.code | sh}} && python3 train.py",
        "python3 {{config.code | sh}}/train.py",
        'python3 "$CODE/train.py"',
        "python3 $CODE/train.py",
        "echo 'print(1)' > x.py; python3 x.py",
        "cat > x.py <<EOF\nprint(1)\nEOF\npython3 x.py",
        "git clone $URL u && python3 u/x.py",
        "python3 -c 'print(1)'",
        "python3 -m x.py",
        "python3 - <<'EOF'\nimport x.py\nEOF",
        "torchrun -m train.py",
        "torchrun --nproc_per_node=8 /opt/train.py",
        "python3 {{run.id}}.py",
        "python3 {{config.blank}}.py",
        "source env.sh",
        "if true; then python3 x.py; fi",
        "(python3 x.py)",
        "export A=$(date); python3 x.py",
        "python3 ~/x.py",
        "python3 https://example.com/y.py",
        "echo './x.sh is the script'",
        "'unfinished ./x.sh",
        "",
    ],
)
def test_what_may_be_there_is_not_noted(shell: str) -> None:
    assert _found(shell) == []


def test_a_params_value_that_becomes_a_word_counts() -> None:
    body = (
        "config: {script: /opt/a.py}\nstates:\n"
        "  a: {run: {argv: [python3, '{{config.script}}']}, next: b}\n"
        "  b: {run: {argv: [python3, '{{config.script}}']}, params: {script: b.py}, next: c}\n"
        "  c: {run: {shell: 'python3 {{config.script}}'}, params: {script: c.py}, terminal: true}\n"
    )
    found = [item for item in checked(body).findings if item.code.id == "NPA331"]
    assert [item.message.split()[2] for item in found] == ["'b.py',", "'c.py',"]


def test_a_long_text_of_harmless_commands_takes_no_long_look() -> None:
    shell = "echo '{{config.code}}' {{config.code}};" * 3000 + " ./x"
    begin = time.process_time()
    assert _found(shell) == ["./x"]
    assert time.process_time() - begin < 5
