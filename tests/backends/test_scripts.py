from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.backends.skypilot import scripts
from npac.backends.skypilot.documents import LaunchValues, link_documents, unlinked
from npac.backends.skypilot.scripts import TEMPLATES, probe_test, quote_word, render
from npac.ir.linking import LinkRecord
from npac.ir.program import Baked, ToolSetup
from tests.backends.shell import demand_clean
from tests.ir.programs import BAKED_IMAGE, SOURCE_SHA, everything, single

LAUNCH = LaunchValues(attempt=1, fence=1, launch_id="npa-launch-0", number=1)
SETUPS = [
    {"interpreters": [], "pip_extra": "", "requirements": [], "overlay": False},
    {
        "interpreters": ["/isaac-sim/python.sh", "/opt/with space/python"],
        "pip_extra": "viz",
        "requirements": [
            {"probe": "python:av", "requirement": "av>=12,<17"},
            {"probe": 'python:t;assert(__import__("x")=="1")', "requirement": "t==1"},
            {"probe": "huggingface-cli", "requirement": "huggingface_hub[cli]>=0.23,<1.0"},
        ],
        "overlay": True,
    },
]
SCRIPTS = {
    "setup-plain": lambda: render("setup", SETUPS[0]),
    "setup-full": lambda: render("setup", SETUPS[1]),
    "setup-baked": lambda: render("setup_baked", {"import_module": "npa.cli.main"}),
    "run-argv": lambda: render("run", {"argv": ["echo", "a b", "it's", "-n"], "shell": ""}),
    "run-shell": lambda: render("run", {"argv": [], "shell": "echo one\necho 'two'\n"}),
    "run-shell-dollar": lambda: render("run", {"argv": [], "shell": 'for x in $(ls); do echo "$x"; done\n'}),
    "run-argv-dollar": lambda: render("run", {"argv": ["echo", "$HOME", "`id`"], "shell": ""}),
}


BARE = LinkRecord("run-1")


def _documents(program: Any, link: LinkRecord = BARE) -> dict[str, Any]:
    (document,) = link_documents(unlinked(program, program.waves()[0], 0), link, LAUNCH)
    return document


class Machine:
    """A bare machine: a folder of its own, an environment of its own, and bash."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = root / "state"
        self.bin = root / "bin"
        self.bin.mkdir()
        self.env = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "HOME": str(root),
            "NPA_TASK_STATE": str(self.state),
        }

    def program(self, path: Path | str, text: str) -> Path:
        target = self.bin / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        target.chmod(0o755)
        return target

    def bash(self, script: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash"],
            input=script,
            env={**self.env, **env},
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=120,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_clean_for_bash_and_shellcheck(name: str, tmp_path: Path) -> None:
    assert demand_clean([SCRIPTS[name]()], tmp_path) == 1


_SILENCED = re.compile(r"#\s*shellcheck\s+disable=")


def test_a_rule_is_silenced_only_with_a_reason_above_it() -> None:
    for path in sorted(TEMPLATES.glob("*.j2")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for at, line in enumerate(lines):
            if _SILENCED.search(line):
                above = lines[at - 1].strip() if at else ""
                assert above.startswith("#") and not _SILENCED.search(above), f"{path.name}:{at + 1}"


def test_every_template_is_rendered_by_a_test() -> None:
    whole = {path.name.removesuffix(".sh.j2") for path in TEMPLATES.glob("*.sh.j2") if path.name[0] != "_"}
    assert whole == {"setup", "setup_baked", "run"}


def test_nothing_is_printed_without_quotes() -> None:
    from npac.backends.skypilot.scripts import _environment

    with pytest.raises(jinja2.TemplateRuntimeError, match="without quoting"):
        _environment().from_string("echo {{ value }}").render(value="$(id)")
    with pytest.raises(jinja2.UndefinedError):
        render("run", {"argv": []})
    assert quote_word("it's") == "'it'\"'\"'s'"


def test_probes() -> None:
    assert probe_test("python:av") == "\"$npac_python\" -c 'import av'"
    assert probe_test("python:a;assert(1)") == "\"$npac_python\" -c 'import a;assert(1)'"
    assert probe_test("huggingface-cli") == "command -v huggingface-cli"
    assert probe_test("x; rm -rf /") == "command -v 'x; rm -rf /'"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1, max_size=4))
def test_arguments_arrive_as_they_are(words: list[str]) -> None:
    code = "import os, sys; print(*(os.fsencode(word).hex() for word in sys.argv[1:]), sep=',')"
    script = render("run", {"argv": [sys.executable, "-c", code, *words], "shell": ""})
    done = subprocess.run(["bash"], input=script.encode(), env={"PATH": "/usr/bin:/bin"}, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert [bytes.fromhex(word).decode() for word in done.stdout.decode().strip("\n").split(",")] == words


def test_shell_text_runs_without_options(machine: Machine) -> None:
    text = 'false; echo "[$UNSET]"; false | true; echo $?; echo $-; shopt login_shell; echo \'a\'"b"'
    done = machine.bash(render("run", {"argv": [], "shell": text}))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["[]", "0"] and lines[-1] == "ab"
    assert not set("eu") & set(lines[2])
    assert lines[3].split() == ["login_shell", "off"]


def test_the_exit_code_is_the_commands_own(machine: Machine) -> None:
    assert machine.bash(render("run", {"argv": [], "shell": "exit 7"})).returncode == 7
    assert machine.bash(render("run", {"argv": ["false"], "shell": ""})).returncode == 1
    assert machine.bash(render("run", {"argv": ["no-such-command"], "shell": ""})).returncode == 127


def test_a_signal_reaches_the_command_itself(machine: Machine) -> None:
    script = render("run", {"argv": [sys.executable, "-c", "import os; print(os.getpid())"], "shell": ""})
    process = subprocess.Popen(
        ["bash", "-c", script], env=machine.env, stdout=subprocess.PIPE, text=True, cwd=machine.root
    )
    output, _ = process.communicate(timeout=60)
    assert int(output) == process.pid


def test_a_bare_task_needs_no_setup_and_leaves_nothing(machine: Machine) -> None:
    document = _documents(single(argv=("python3", "-c", "print(6 * 7)")))
    assert "setup" not in document
    del machine.env["NPA_TASK_STATE"]
    done = machine.bash(document["run"], **document["envs"])
    assert done.stdout == "42\n"
    assert not list(Path("/tmp").glob(f"npac-{os.getuid()}-npa-launch-0-*"))


def test_the_tools_interpreter_is_python_for_the_task(machine: Machine) -> None:
    tool = machine.program("tool dir/vendor.sh", f'#!/bin/bash\nVENDOR=yes exec {sys.executable} "$@"\n')
    later = machine.program("other.sh", "#!/bin/bash\nexit 9\n")
    step = single(
        argv=("python", "-c", "import os; print(os.environ.get('VENDOR'))"),
        setup=ToolSetup(interpreters=("/nowhere/python", str(tool), str(later))),
    )
    document = _documents(step)
    done = machine.bash(document["setup"])
    assert done.returncode == 0, done.stderr
    assert machine.bash(document["run"]).stdout == "yes\n"
    assert (machine.state / "python").read_text() == f"{tool}\n"


def test_a_requirement_that_is_there_is_not_installed(machine: Machine) -> None:
    machine.program("python3", f'#!/bin/bash\nexec {sys.executable} "$@"\n')
    machine.program("ffmpeg-like", "#!/bin/sh\n")
    requirements = (
        ("python:json;assert(json.dumps(1)=='1')", "must-not-be-asked-for"),
        ("ffmpeg-like", "nor-this"),
    )
    document = _documents(single(setup=ToolSetup(pip_requirements=requirements)))
    done = machine.bash(document["setup"])
    assert done.returncode == 0, done.stderr
    assert not (machine.state / "venv").exists()


def _wheel(folder: Path, name: str, code: str) -> Path:
    """Make a pure wheel by hand: no index and no build back end is needed to install it."""
    import zipfile

    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{name}.py", code)
        file.writestr(
            f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        file.writestr(
            f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return path


def test_a_shared_python_is_never_changed(machine: Machine) -> None:
    wheel = _wheel(machine.root, "npac_probe_module", "VALUE = 'installed'\n")
    machine.program("python3", f'#!/bin/bash\nexec {sys.executable} "$@"\n')
    document = _documents(
        single(
            argv=("python3", "-c", "import npac_probe_module as m, yaml; print(m.VALUE, yaml.__name__)"),
            setup=ToolSetup(pip_requirements=(("python:npac_probe_module", str(wheel)),)),
        )
    )
    done = machine.bash(document["setup"], PIP_NO_INDEX="1")
    assert done.returncode == 0, done.stderr
    # What the shared Python has is still seen, and it has not got anything.
    assert machine.bash(document["run"]).stdout == "installed yaml\n"
    assert (
        subprocess.run([sys.executable, "-c", "import npac_probe_module"], capture_output=True).returncode
        != 0
    )
    # A second node on the same machine finds it done.
    again = machine.bash(document["setup"], PIP_NO_INDEX="1")
    assert again.returncode == 0, again.stderr


def test_without_python_a_requirement_cannot_be_met(machine: Machine) -> None:
    for name in ("bash", "id", "mkdir", "mv", "cat", "dirname", "chmod", "tail", "rm"):
        (machine.bin / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    machine.env["PATH"] = str(machine.bin)
    document = _documents(single(setup=ToolSetup(pip_requirements=(("python:av", "av>=12"),))))
    bash = shutil.which("bash") or "/bin/bash"
    done = subprocess.run([bash], input=document["setup"], env=machine.env, capture_output=True, text=True)
    assert done.returncode == 66
    assert "no python3 to install for: av>=12" in done.stderr


def test_a_folder_of_somebody_else_is_refused(machine: Machine) -> None:
    elsewhere = machine.root / "elsewhere"
    elsewhere.mkdir()
    machine.state.symlink_to(elsewhere)
    done = machine.bash(render("setup", SETUPS[0]))
    assert done.returncode == 73
    assert "belongs to somebody else" in done.stderr
    assert list(elsewhere.iterdir()) == []


def _baked(machine: Machine, module: str = "json", **env: str) -> subprocess.CompletedProcess[str]:
    document = _documents(
        single(argv=("python3", "-c", "print('ran')"), image=BAKED_IMAGE, baked=Baked(SOURCE_SHA, module))
    )
    return machine.bash(document["setup"], **{**document["envs"], "NPA_IMAGE_SOURCE_SHA": SOURCE_SHA, **env})


def test_a_baked_image_is_proven_and_not_changed(machine: Machine) -> None:
    assert _baked(machine, NPA_BAKED_PYTHON=sys.executable).returncode == 0
    assert (machine.state / "python").read_text() == f"{sys.executable}\n"
    run = machine.bash(
        render("run", {"argv": ["python3", "-c", "import sys; print(sys.executable)"], "shell": ""})
    )
    assert Path(run.stdout.strip()).samefile(sys.executable)


@pytest.mark.parametrize(
    ("module", "env", "code", "said"),
    [
        ("json", {"NPA_BAKED_PYTHON": "python3"}, 68, "no absolute path"),
        ("json", {"NPA_BAKED_PYTHON": "/nowhere/python"}, 69, "cannot be executed"),
        ("npa.nowhere", {"NPA_BAKED_PYTHON": sys.executable}, 70, "cannot import npa.nowhere"),
        (
            "json",
            {"NPA_BAKED_PYTHON": sys.executable, "NPA_IMAGE_SOURCE_SHA": "f" * 40},
            71,
            "was built from source",
        ),
        (
            "json",
            {"NPA_BAKED_PYTHON": sys.executable, "NPA_IMAGE_SOURCE_SHA": ""},
            71,
            "was built from source",
        ),
    ],
)
def test_a_wrong_baked_image_is_refused(
    machine: Machine, module: str, env: dict[str, str], code: int, said: str
) -> None:
    done = _baked(machine, module, **env)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert not (machine.state / "python").exists()


# --- machines that lack something --------------------------------------------------------------


def _interpreter(machine: Machine, *, pip: bool = True, boto3: bool = True) -> Path:
    """A tool's own interpreter, with pip that only notes what it is asked, or without it."""
    no_pip = (
        "exit 1"
        if not pip
        else f'printf "%s " "$@" >>"{machine.root}/pip"; echo >>"{machine.root}/pip"; exit'
    )
    lines = [
        "#!/bin/bash",
        f'if [ "$1 $2" = "-m pip" ]; then {no_pip}; fi',
        'if [ "$2" = "import boto3" ]; then exit 1; fi' if not boto3 else "",
        f'exec {sys.executable} "$@"',
    ]
    return machine.program("tool-python", "\n".join(lines) + "\n")


def test_without_pip_and_uv_a_requirement_cannot_be_met(machine: Machine) -> None:
    tool = _interpreter(machine, pip=False)
    setup = ToolSetup(interpreters=(str(tool),), pip_requirements=(("python:npac_nowhere", "nowhere==1"),))
    done = machine.bash(_documents(single(setup=setup))["setup"])
    assert done.returncode == 67
    assert "has no pip and there is no uv, so this cannot be installed: nowhere==1" in done.stderr
    assert not (machine.state / "python").exists()


def test_without_pip_uv_installs(machine: Machine) -> None:
    tool = _interpreter(machine, pip=False)
    machine.program("uv", f'#!/bin/bash\nprintf "%s " "$@" >"{machine.root}/uv"\n')
    setup = ToolSetup(interpreters=(str(tool),), pip_requirements=(("python:npac_nowhere", "nowhere==1"),))
    done = machine.bash(_documents(single(setup=setup))["setup"])
    assert done.returncode == 0, done.stderr
    said = (machine.root / "uv").read_text().split()
    assert said[:2] == ["pip", "install"] and said[-3:] == ["--python", str(tool), "nowhere==1"]
    assert (machine.state / "python").read_text() == f"{tool}\n"


def test_without_boto3_the_aws_command_fetches_the_source(machine: Machine) -> None:
    tool = _interpreter(machine, boto3=False)
    machine.program(
        "aws",
        f'#!/bin/bash\nprintf "%s " "$@" >"{machine.root}/aws"\n'
        'mkdir -p "${@: -1}" && echo x >"${@: -1}/pyproject.toml"\n',
    )
    link = LinkRecord("run-1", source_uri="s3://src/npa/abc", endpoint_url="http://127.0.0.1:9")
    document = _documents(single(setup=ToolSetup(interpreters=(str(tool),), pip_extra="viz")), link)
    done = machine.bash(document["setup"], **document["envs"])
    assert done.returncode == 0, done.stderr
    said = (machine.root / "aws").read_text().split()
    assert said[:2] == ["--endpoint-url", "http://127.0.0.1:9"]
    assert said[-2:] == ["s3://src/npa/abc/", str(machine.state / "source.part")]
    installed = [
        line.split()[-1] for line in (machine.root / "pip").read_text().splitlines() if "install" in line
    ]
    assert installed == [str(machine.state / "source"), f"{machine.state / 'source'}[viz]"]
    assert (machine.state / "source" / "pyproject.toml").is_file()


def test_a_source_that_comes_empty_is_said(machine: Machine) -> None:
    tool = _interpreter(machine, boto3=False)
    machine.program("aws", "#!/bin/bash\nexit 0\n")
    link = LinkRecord("run-1", source_uri="s3://src/npa/abc")
    document = _documents(single(setup=ToolSetup(interpreters=(str(tool),))), link)
    done = machine.bash(document["setup"], **document["envs"])
    assert done.returncode == 72
    assert "there is no source at s3://src/npa/abc" in done.stderr
    assert not (machine.state / "python").exists()


def test_a_failed_command_of_setup_ends_it(machine: Machine) -> None:
    tool = _interpreter(machine, boto3=False)
    machine.program("aws", "#!/bin/bash\nexit 5\n")
    link = LinkRecord("run-1", source_uri="s3://src/npa/abc")
    document = _documents(single(setup=ToolSetup(interpreters=(str(tool),))), link)
    assert machine.bash(document["setup"], **document["envs"]).returncode == 5


# --- source from a real endpoint ---------------------------------------------------------------


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    pytest.importorskip("moto.server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline, "the S3 server did not start"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture
def source(endpoint: str, machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> LinkRecord:
    """Stage a small npa package and give the link record that names it."""
    boto3 = pytest.importorskip("boto3")
    machine.env.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_DEFAULT_REGION="us-east-1")
    # Built with the back end that is installed here: the test needs no index.
    machine.env.update(PIP_NO_INDEX="1", PIP_NO_BUILD_ISOLATION="0")
    machine.program("python3", f'#!/bin/bash\nexec {sys.executable} "$@"\n')
    client = boto3.client(
        "s3", endpoint_url=endpoint, aws_access_key_id="x", aws_secret_access_key="x", region_name="us-east-1"
    )
    client.create_bucket(Bucket="src")
    files = {
        "pyproject.toml": (
            '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
            '[project]\nname = "npa"\nversion = "1"\n[project.scripts]\nnpa = "npa.cli.main:main"\n'
            "[project.optional-dependencies]\nviz = []\n"
            '[tool.hatch.build.targets.wheel]\npackages = ["src/npa"]\n'
        ),
        "src/npa/__init__.py": "",
        "src/npa/cli/__init__.py": "",
        "src/npa/cli/main.py": "import sys\n\ndef main():\n    print('staged', *sys.argv[1:])\n",
        ".npa-source.json": "{}",
    }
    for name, text in files.items():
        client.put_object(Bucket="src", Key=f"npa-src/npa/abc/{name}", Body=text.encode())
    return LinkRecord("run-1", source_uri="s3://src/npa-src/npa/abc/", endpoint_url=endpoint)


def test_staged_source_is_installed_for_the_task(machine: Machine, source: LinkRecord) -> None:
    document = _documents(single(argv=("npa", "a b"), setup=ToolSetup(pip_extra="viz")), source)
    done = machine.bash(document["setup"], **document["envs"])
    assert done.returncode == 0, done.stderr
    assert machine.bash(document["run"], **document["envs"]).stdout == "staged a b\n"
    assert (machine.state / "source" / "src" / "npa" / "cli" / "main.py").is_file()


def test_source_that_is_not_there_is_said(machine: Machine, source: LinkRecord) -> None:
    lost = LinkRecord("run-1", source_uri="s3://src/nothing/", endpoint_url=source.endpoint_url)
    document = _documents(single(argv=("npa",)), lost)
    done = machine.bash(document["setup"], **document["envs"])
    assert done.returncode != 0
    assert "there is no source at s3://src/nothing/" in done.stderr


def test_an_image_that_has_npa_keeps_its_own(machine: Machine, source: LinkRecord) -> None:
    _own_npa(machine)
    document = _documents(single(argv=("python3", "-m", "npa.cli.main")), source)
    done = machine.bash(document["setup"], **document["envs"])
    assert done.returncode == 0, done.stderr
    assert not (machine.state / "source").exists()
    assert machine.bash(document["run"], **document["envs"]).stdout == "baked\n"


def test_an_overlay_goes_over_what_the_image_has(machine: Machine, source: LinkRecord) -> None:
    _own_npa(machine)
    command = ("python3", "-c", "import npa.cli.main as m; m.main()")
    document = _documents(single(argv=command, image="registry.example/x:1", source_overlay=True), source)
    done = machine.bash(document["setup"], **document["envs"])
    assert done.returncode == 0, done.stderr
    assert machine.bash(document["run"], **document["envs"]).stdout == "staged\n"


def _own_npa(machine: Machine) -> None:
    own = machine.root / "own"
    (own / "npa" / "cli").mkdir(parents=True)
    (own / "npa" / "__init__.py").touch()
    (own / "npa" / "cli" / "__init__.py").touch()
    (own / "npa" / "cli" / "main.py").write_text(
        "def main():\n    print('baked')\n\nif __name__ == '__main__':\n    main()\n"
    )
    machine.env["PYTHONPATH"] = str(own)


def test_scripts_of_every_task_parse() -> None:
    program = everything()
    link = LinkRecord("run-1", source_uri="s3://src/x")
    for wave in program.waves():
        for batch in range(len(wave.batches)):
            for document in link_documents(unlinked(program, wave, batch), link, LAUNCH):
                for script in (document.get("setup"), document.get("run")):
                    if script:
                        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_a_setup_that_tasks_share_is_rendered_once_and_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"interpreters": ["/opt/py"], "pip_extra": "", "requirements": [], "overlay": False}
    monkeypatch.setattr(scripts, "_scripts", {})
    monkeypatch.setattr(scripts, "_REMEMBERED", 2)
    plain = scripts.render("setup", values)
    made: list[str] = []
    real = scripts.render

    def counted(template: str, given: Any) -> str:
        made.append(template)
        return real(template, given)

    monkeypatch.setattr(scripts, "render", counted)
    assert [scripts.render_again("setup", dict(values)) for _ in range(3)] == [plain] * 3
    assert len(made) == 1
    others = [scripts.render_again("setup", {**values, "pip_extra": f"e{at}"}) for at in range(5)]
    assert len(set(others)) == 5 and len(scripts._scripts) <= 2
    assert scripts.render_again("setup", values) == plain
