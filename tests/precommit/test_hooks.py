"""The hooks of ``.pre-commit-hooks.yaml``, run by the real pre-commit on real commits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

pytest.importorskip("pre_commit", reason="the pre-commit package is not installed")

ROOT = Path(__file__).resolve().parents[2]
SOAK = bool(os.environ.get("NPAC_SOAK"))
GOOD = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: hooked}
config: {word: hello}
states:
  only:
    run: {argv: [echo, "{{config.word}}"]}
    terminal: true
"""
BAD = GOOD.replace("terminal", "teminal")
FOREIGN = "services:\n  web: {image: nginx}\n"
IDENTITY = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]


def run(*command: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=env, check=False, text=True, timeout=300,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


class Repository:
    """A scratch repository whose commits go through npac's hooks."""

    def __init__(self, root: Path, env: dict[str, str]) -> None:
        self.root = root
        self.env = env

    def git(self, *arguments: str) -> str:
        done = run("git", *IDENTITY, *arguments, cwd=self.root, env=self.env)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def commit(self, *paths: str) -> tuple[bool, str]:
        """Try to commit the files (all without any): whether it went through, and what was said."""
        self.git("add", "--", *(paths or (".",)))
        done = run("git", *IDENTITY, "commit", "-m", "try", cwd=self.root, env=self.env)
        return done.returncode == 0, done.stdout

    def npac(self, *arguments: str) -> None:
        done = run("npac", *arguments, cwd=self.root, env=self.env)
        assert done.returncode == 0, done.stdout


def hook_repository(folder: Path, env: dict[str, str], *names: str) -> str:
    """Make a repository of some of npac's own files, as a user's configuration names it; give its commit."""
    folder.mkdir()
    for name in names:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, folder / name)
    repository = Repository(folder, env)
    repository.git("init", "--quiet")
    repository.git("add", ".")
    repository.git("commit", "--quiet", "-m", "hooks")
    return repository.git("rev-parse", "HEAD").strip()


def configure(repository: Repository, hooks: Path, commit: str, *entries: Mapping[str, object]) -> None:
    """Write the configuration, install the hook, and commit the configuration itself."""
    configuration = {"repos": [{"repo": str(hooks), "rev": commit, "hooks": list(map(dict, entries))}]}
    repository.write(".pre-commit-config.yaml", yaml.safe_dump(configuration, sort_keys=False))
    repository.git("init", "--quiet")
    done = run(sys.executable, "-m", "pre_commit", "install", cwd=repository.root, env=repository.env)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment in which ``npac`` is this checkout's, and pre-commit has a cache of its own."""
    programs = tmp_path / "programs"
    programs.mkdir()
    npac = programs / "npac"
    program = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom npac.cli.main import entry\nentry()\n"
    npac.write_text(f"#!{sys.executable} -P\n{program}")
    npac.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(tmp_path / "cache"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "protocol.file.allow",
        "GIT_CONFIG_VALUE_0": "always",
    }


@pytest.fixture
def repository(tmp_path: Path, env: dict[str, str]) -> Repository:
    root = tmp_path / "project"
    root.mkdir()
    return Repository(root, env)


# The hooks' own entries, arguments and file types, with npac taken from here instead of installed.
CHECK = {"id": "npac-check", "language": "system"}


def test_good_specs_and_other_yaml_are_committed(repository: Repository, tmp_path: Path) -> None:
    commit = hook_repository(tmp_path / "hooks", repository.env, ".pre-commit-hooks.yaml")
    configure(repository, tmp_path / "hooks", commit, CHECK)
    repository.write("good.yaml", GOOD)
    repository.write("compose.yml", FOREIGN)
    repository.write("broken.yaml", "a: [unclosed\n")
    repository.write("remark.txt", BAD)
    through, said = repository.commit()
    assert through, said
    assert "npac check" in said and "Passed" in said
    assert repository.git("ls-files").split() == [
        ".pre-commit-config.yaml",
        "broken.yaml",
        "compose.yml",
        "good.yaml",
        "remark.txt",
    ]


def test_only_other_yaml_is_passed_over_without_a_word(repository: Repository, tmp_path: Path) -> None:
    commit = hook_repository(tmp_path / "hooks", repository.env, ".pre-commit-hooks.yaml")
    configure(repository, tmp_path / "hooks", commit, CHECK)
    repository.write("compose.yml", FOREIGN)
    through, said = repository.commit()
    assert through, said
    assert "NPA" not in said


def test_a_bad_spec_is_not_committed(repository: Repository, tmp_path: Path) -> None:
    commit = hook_repository(tmp_path / "hooks", repository.env, ".pre-commit-hooks.yaml")
    configure(repository, tmp_path / "hooks", commit, CHECK)
    repository.write("good.yaml", GOOD)
    assert repository.commit()[0]
    repository.write("deep/bad.yaml", BAD)
    through, said = repository.commit()
    assert not through
    assert "Failed" in said and "exit code: 1" in said
    assert "deep/bad.yaml:8:5" in said and "NPA101" in said
    assert repository.git("rev-list", "--count", "HEAD").strip() == "1"
    repository.write("deep/bad.yaml", GOOD)
    assert repository.commit()[0]


def test_what_is_staged_is_checked_and_not_what_lies_about(repository: Repository, tmp_path: Path) -> None:
    commit = hook_repository(tmp_path / "hooks", repository.env, ".pre-commit-hooks.yaml")
    configure(repository, tmp_path / "hooks", commit, CHECK)
    repository.write("spec.yaml", GOOD)
    repository.git("add", ".")
    repository.write("spec.yaml", BAD)
    done = run("git", *IDENTITY, "commit", "-m", "staged", cwd=repository.root, env=repository.env)
    assert done.returncode == 0, done.stdout
    assert (repository.root / "spec.yaml").read_text() == BAD


def test_what_the_project_excludes_is_passed_over(repository: Repository, tmp_path: Path) -> None:
    commit = hook_repository(tmp_path / "hooks", repository.env, ".pre-commit-hooks.yaml")
    configure(repository, tmp_path / "hooks", commit, CHECK)
    repository.write("pyproject.toml", '[tool.npac]\nexclude = ["drafts"]\n')
    repository.write("drafts/bad.yaml", BAD)
    through, said = repository.commit()
    assert through, said


def test_options_can_be_given_as_arguments(repository: Repository, tmp_path: Path) -> None:
    commit = hook_repository(tmp_path / "hooks", repository.env, ".pre-commit-hooks.yaml")
    configure(repository, tmp_path / "hooks", commit, {**CHECK, "args": ["--strict", "--format", "concise"]})
    unreached = GOOD + "  never: {run: {argv: [echo]}, terminal: true}\n"
    repository.write("warned.yaml", unreached.replace("states:", "initial: only\nstates:"))
    through, said = repository.commit()
    assert not through
    assert "warned.yaml:" in said and "NPA326" in said


def test_a_stale_build_is_not_committed(repository: Repository, tmp_path: Path) -> None:
    commit = hook_repository(tmp_path / "hooks", repository.env, ".pre-commit-hooks.yaml")
    arguments = ["-o", "golden/hooked", "flow.yaml"]
    hook = {"id": "npac-compile", "language": "system", "args": arguments}
    configure(repository, tmp_path / "hooks", commit, hook)
    repository.write("flow.yaml", GOOD)
    through, said = repository.commit()
    assert not through
    assert "golden/hooked is not what flow.yaml compiles to" in said and "no build" in said

    repository.npac("compile", *arguments)
    through, said = repository.commit()
    assert through, said
    assert "golden/hooked/manifest.json" in repository.git("ls-files")

    repository.write("flow.yaml", GOOD.replace("hello", "goodbye"))
    through, said = repository.commit()
    assert not through
    assert "- hello" in said and "+ goodbye" in said

    repository.npac("compile", *arguments)
    assert repository.commit()[0]

    view = next((repository.root / "golden/hooked/waves").iterdir())
    view.write_text(view.read_text() + "# by hand\n")
    through, said = repository.commit()
    assert not through
    assert "the program is the same" in said and "-# by hand" in said


def test_a_spec_that_does_not_compile_is_not_committed(repository: Repository, tmp_path: Path) -> None:
    commit = hook_repository(tmp_path / "hooks", repository.env, ".pre-commit-hooks.yaml")
    hook = {"id": "npac-compile", "language": "system", "args": ["-o", "golden/hooked", "flow.yaml"]}
    configure(repository, tmp_path / "hooks", commit, hook)
    repository.write("flow.yaml", GOOD)
    repository.npac("compile", "-o", "golden/hooked", "flow.yaml")
    repository.write("flow.yaml", BAD)
    through, said = repository.commit()
    assert not through
    assert "NPA101" in said


@pytest.mark.skipif(not SOAK, reason="set NPAC_SOAK=1: this installs npac from a package index, in a minute")
def test_the_hooks_work_as_pre_commit_installs_them(repository: Repository, tmp_path: Path) -> None:
    packaged = (
        ".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE", "npac", "grammar", "schemas",
        "docs",
    )  # fmt: skip
    commit = hook_repository(tmp_path / "hooks", repository.env, *packaged)
    absent = tmp_path / "programs/npac"
    absent.unlink()  # nothing but what pre-commit installs is called npac
    arguments = ["-o", "golden/hooked", "flow.yaml"]
    check, compare = {"id": "npac-check"}, {"id": "npac-compile", "args": arguments}
    configure(repository, tmp_path / "hooks", commit, check, compare)
    repository.write("flow.yaml", BAD)
    through, said = repository.commit()
    assert not through
    assert "flow.yaml:8:5" in said and "NPA101" in said
    installed = next((tmp_path / "cache").glob("repo*/py_env-*/bin/npac"))
    repository.write("flow.yaml", GOOD)
    done = run(str(installed), "compile", *arguments, cwd=repository.root, env=repository.env)
    assert done.returncode == 0, done.stdout
    through, said = repository.commit()
    assert through, said
    assert said.count("Passed") == 2
