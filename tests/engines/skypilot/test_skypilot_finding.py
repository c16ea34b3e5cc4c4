"""Which SkyPilot, in which environment, whose server: all without starting any."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from npac import engines
from npac.engines.skypilot import finding, server
from npac.engines.skypilot.engine import bridge_version
from npac.engines.skypilot.environment import (
    PORT,
    environment,
    identity_of,
    instance_marker,
    make_state,
    marker_path,
    port_of,
)
from npac.engines.skypilot.parcels import command, parcel
from npac.launch.ports import EngineError


def venv(folder: Path, head: str) -> Path:
    """Make what looks like an environment with SkyPilot; gives its command."""
    (folder / "bin").mkdir(parents=True)
    python = folder / "bin" / "python3"
    python.symlink_to(sys.executable)
    command = folder / "bin" / "sky"
    command.write_text(head.format(python=python) + "import sky\n")
    command.chmod(0o755)
    return command


SHEBANGS = {
    "plain": "#!{python}\n",
    "with a flag": "#!{python} -E\n",
    "too long for a line": "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n",
    "bare words": "#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''\n",
    "of env": "#!/usr/bin/env python3\n",
}


@pytest.mark.parametrize("kind", SHEBANGS)
def test_the_interpreter_of_a_command(tmp_path: Path, kind: str) -> None:
    command = venv(tmp_path / "sky env", SHEBANGS[kind])
    for named in (command, tmp_path / "sky env"):
        found = finding.find(named, {})
        assert found.command == command
        assert found.python == tmp_path / "sky env" / "bin" / "python3"


def test_a_link_to_a_command_leads_to_its_environment(tmp_path: Path) -> None:
    command = venv(tmp_path / "env", "#!/usr/bin/env python3\n")
    link = tmp_path / "sky"
    link.symlink_to(command)
    assert finding.find(link, {}).python == command.parent / "python3"


def test_an_option_counts_before_the_variable(tmp_path: Path) -> None:
    one, two = (venv(tmp_path / name, SHEBANGS["plain"]) for name in "ab")
    assert finding.find(one, {finding.VARIABLE: str(two)}).command == one
    found = finding.find(None, {finding.VARIABLE: str(two)})
    assert (found.command, found.source) == (two, finding.VARIABLE)


def test_what_is_on_path_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = venv(tmp_path / "env", SHEBANGS["plain"])
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EngineError, match="No SkyPilot is named") as caught:
        finding.find(None, dict(os.environ) | {finding.VARIABLE: ""})
    assert "--sky-bin" in caught.value.remedy


@pytest.mark.parametrize("what", ["absent", "a folder", "a program"])
def test_what_is_no_command_of_skypilot(tmp_path: Path, what: str) -> None:
    path = tmp_path / "sky"
    if what == "a folder":
        path.mkdir()
    elif what == "a program":
        path.write_bytes(b"\x7fELF\x00")
    with pytest.raises(EngineError) as caught:
        finding.find(path, {})
    assert caught.value.phase == "rejected"
    assert str(path) in str(caught.value)


def test_the_table_of_engines_knows_skypilot(tmp_path: Path) -> None:
    assert "skypilot" in engines.names
    with pytest.raises(EngineError, match="no option 'pretend'"):
        engines.create("skypilot", {"pretend": True})
    with pytest.raises(EngineError, match="cannot be read"):
        engines.create("skypilot", {"bin": tmp_path / "none"})


def test_nothing_of_skypilot_is_imported_here() -> None:
    script = "import sys; import npac.engines.skypilot.engine; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(engines.__file__).parents[2],
    )
    loaded = set(done.stdout.split())
    assert "npac.engines.skypilot.bridge" in loaded
    assert loaded & {"sky", "requests", "yaml", "pydantic"} == set()


@pytest.mark.parametrize(
    ("text", "version"),
    [("0.12.2.post1", (0, 12)), ("0.14.1", (0, 14)), ("1.0.0.dev20261101", (1, 0)), ("1.0.0-dev0", (1, 0))],
)
def test_versions(text: str, version: tuple[int, int]) -> None:
    assert bridge_version(text) == version


# --- environment ---------------------------------------------------------------------------------


def test_a_surrounding_job_leaves_no_mark() -> None:
    given = {
        "PATH": "/bin",
        "SKYPILOT_MANAGED_JOB_ID": "7",
        "SKYPILOT_TASK_ID": "sky-managed-7-0",
        "SKYPILOT_TASK_IDS": "x",
        "SKYPILOT_ROOT_JOB_ID": "7",
        "SKYPILOT_NODE_RANK": "0",
        "SKYPILOT_NUM_GPUS_PER_NODE": "8",
        "SKYPILOT_JOBGROUP_NAME": "g",
        "SKYPILOT_SETUP_NODE_RANK": "0",
        "SKY_RUNTIME_DIR": "/node",
        "SKYPILOT_USER_ID": "me",
        "SKYPILOT_API_SERVER_ENDPOINT": "http://there",
        "SKYPILOT_DEBUG": "1",
    }
    kept = {"PATH", "SKYPILOT_USER_ID", "SKYPILOT_API_SERVER_ENDPOINT", "SKYPILOT_DEBUG"}
    assert set(environment(given, None)) == kept
    assert environment({"SKY_RUNTIME_DIR": "/mine"}, None) == {"SKY_RUNTIME_DIR": "/mine"}


def test_an_isolated_skypilot_has_all_of_its_own(tmp_path: Path) -> None:
    state, home = tmp_path / "state", tmp_path / "home"
    make_state(state)
    (home / ".kube").mkdir(parents=True)
    (home / ".kube" / "config").write_text("")
    env = environment({"HOME": str(home), "SKY_RUNTIME_DIR": "/mine"}, state)
    assert env["HOME"] == str(state / "home")
    assert env["SKY_RUNTIME_DIR"] == str(state / "runtime")
    assert env["SKYPILOT_USER_ID"] == identity_of(state)
    assert env[PORT] == str(port_of(state))
    assert 20000 <= port_of(state) < 30000
    assert env["KUBECONFIG"] == str(home / ".kube" / "config")
    assert "AWS_CONFIG_FILE" not in env
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    given = environment({"SKYPILOT_USER_ID": "me", PORT: "5", "KUBECONFIG": "/k"}, state)
    assert (given["SKYPILOT_USER_ID"], given[PORT], given["KUBECONFIG"]) == ("me", "5", "/k")


def test_the_identity_is_that_of_the_folder_however_it_is_reached(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (tmp_path / "link").symlink_to(state)
    assert identity_of(tmp_path / "link") == identity_of(state)
    assert len(identity_of(state)) == len("npa-") + 12
    assert identity_of(state) != identity_of(tmp_path)


def test_a_state_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match="cannot be used") as caught:
        make_state(tmp_path / "file" / "state")
    assert caught.value.phase == "rejected"


def test_the_marker_is_written_once_by_whoever_comes_first(tmp_path: Path) -> None:
    path = marker_path({"HOME": str(tmp_path)}, None)
    assert path == tmp_path / ".sky" / "npac-engine-instance"
    assert marker_path({}, tmp_path) == tmp_path / "engine-instance"
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(instance_marker(path))) for _ in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 16
    assert len(set(found)) == 1
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    path.write_text("")
    with pytest.raises(EngineError, match="does not hold the identity"):
        instance_marker(path)


# --- documents -----------------------------------------------------------------------------------


def test_every_task_carries_its_launch_id() -> None:
    header = {"name": "g", "execution": "parallel"}
    given: list[dict[str, Any]] = [header, {"name": "a", "run": "x"}, {"name": "b", "envs": {"K": "v"}}]
    made = parcel(given, "launch-1", {"TOKEN": "hush"})
    assert made[0] == header
    assert [each["envs"]["NPA_WORKFLOW_ATTEMPT_ID"] for each in made[1:]] == ["launch-1", "launch-1"]
    assert given[1] == {"name": "a", "run": "x"}
    assert "hush" not in repr(made)
    # One document is a task, whatever it has.
    assert parcel([{"name": "a"}], "launch-1", {})[0]["envs"] == {"NPA_WORKFLOW_ATTEMPT_ID": "launch-1"}
    with pytest.raises(EngineError, match="no task"):
        parcel([], "launch-1", {})


def test_the_command_names_launch_and_post() -> None:
    def task(post: object) -> dict[str, Any]:
        return {"envs": {"NPA_LAUNCH_POST": post}}

    assert command([{"name": "g"}, task("3"), task("3")], "launch-1") == "npac launch launch-1 post 3"
    unclear: list[list[dict[str, Any]]] = [[task("3"), task("4")], [task("x")], [{"envs": {}}], [{}]]
    for tasks in unclear:
        assert command(tasks, "launch-1") == "npac launch launch-1 post 0"


@pytest.mark.parametrize("path", ["/data", "~/data", "s3://bucket/key", "https://host/file"])
def test_paths_that_mean_the_same_everywhere(path: str) -> None:
    assert parcel([{"workdir": path, "file_mounts": {"/m": path, "/n": {"source": path}}}], "l", {})


@pytest.mark.parametrize(
    "task",
    [
        {"workdir": "."},
        {"file_mounts": {"/m": "data"}},
        {"file_mounts": {"/m": {"source": ["/ok", "../data"]}}},
    ],
)
def test_paths_that_depend_on_the_folder(task: dict[str, object]) -> None:
    with pytest.raises(EngineError, match="relative path") as caught:
        parcel([task], "l", {})
    assert caught.value.phase == "rejected"


# --- the server of this host ---------------------------------------------------------------------


def test_whose_server_it_is(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        # What this process was started with, whatever the tests have set since.
        begun = Path("/proc/self/environ").read_bytes().decode().split("\0")
        mine = dict(
            each.partition("=")[::2] for each in begun if each.startswith(("HOME=", "SKY_RUNTIME_DIR="))
        )
        assert server.foreign(url, mine) == ""
        assert "as its HOME" in server.foreign(url, {"HOME": str(tmp_path)})
        assert "as its SKY_RUNTIME_DIR" in server.foreign(url, {**mine, "SKY_RUNTIME_DIR": str(tmp_path)})
        assert server.listening(url)
    assert not server.listening(url)
    assert "no process of this host listens" in server.foreign(url, mine)


@pytest.mark.parametrize(
    ("text", "words"), [("echo one; echo 'no room'; exit 3", "no room"), ("exit 1", "nothing")]
)
def test_a_server_that_does_not_start(tmp_path: Path, text: str, words: str) -> None:
    command = tmp_path / "sky"
    command.write_text(f"#!/bin/sh\n{text}\n")
    command.chmod(0o755)
    found = finding.Found(command, Path(sys.executable), "test")
    with pytest.raises(EngineError, match=words) as caught:
        server.start(found, {"HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    assert caught.value.phase == "never-sent"


def test_starting_runs_the_command_that_was_named(tmp_path: Path) -> None:
    command = tmp_path / "sky"
    command.write_text('#!/bin/sh\necho "$@" > "$HOME/asked"\n')
    command.chmod(0o755)
    server.start(
        finding.Found(command, Path(sys.executable), "test"),
        {"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
    )
    assert (tmp_path / "asked").read_text() == "api start\n"
