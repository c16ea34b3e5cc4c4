from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from npac.discovery import excluded, find_specs, find_tests, is_spec, keep_specs

ROOT = Path(__file__).resolve().parents[2]
SPEC = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: found}
states:
  only: {run: {argv: [echo, hello]}, terminal: true}
"""
FOREIGN = "services:\n  web: {image: nginx}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the working directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def git(*arguments: str, cwd: Path | None = None) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True, text=True, errors="replace"
    )
    return done.stdout


@pytest.fixture
def repository(here: Path) -> Path:
    """An empty git repository that is the working directory."""
    git("init", "--quiet")
    return here


def write(path: str, text: str = SPEC) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def npac(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from npac.cli.main import entry; entry()"
    command = [sys.executable, "-P", "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, check=False, env={**os.environ, **environment})


@pytest.mark.parametrize(
    "text",
    [
        SPEC,
        "\ufeff" + SPEC,
        SPEC.replace("\n", "\r\n"),
        "# a remark\n\n%YAML 1.1\n---\n" + SPEC,
        SPEC.replace("npa.workflow/v0.0.1", '"npa.workflow/v0.0.1-beta"'),
        SPEC.replace("npa.workflow/v0.0.1", "!!str npa.workflow/v0.0.1"),
        SPEC.replace("apiVersion:", "apiVerson:"),
        SPEC.replace("apiVersion:", "apiVersion:\n "),
        SPEC.replace("npa.workflow", "npa.worklow"),
        SPEC.replace("apiVersion: npa.workflow/v0.0.1\n", ""),
        SPEC.replace("kind: Workflow", "kind: Worklow"),
        SPEC.replace("kind: Workflow", "kind : 'Workflow'  # of npac"),
        "".join(f"  {line}\n" for line in SPEC.splitlines()),
        "config: {x: " + "y" * 200_000 + "}\n" + SPEC,
        '{"apiVersion": "npa.workflow/v0.0.1", "kind": "Workflow"}',
        "apiVersion: npa.workflow/v0.0.1\nstates: [unclosed\n",
    ],
)
def test_specs_are_told_by_their_keys(text: str) -> None:
    assert is_spec(text.encode("utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# apiVersion: npa.workflow/v0.0.1\n",
        FOREIGN,
        "- apiVersion\n- kind\n",
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec: {}\n",
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  w.yaml: |\n    apiVersion: npa.workflow/v0.0.1\n"
        "    kind: Workflow\n    states: {}\n",
        "jobs:\n  check:\n    run: grep npa.workflow/v0.0.1 *.yaml\n",
        "kind: WorkflowTemplate\nstates: {}\n",
        "comment: about npa.workflow/v0.0.1\n",
        '{"kind": "Workflow", "states": {}}',
    ],
)
def test_other_yaml_is_told_from_specs(text: str) -> None:
    assert not is_spec(text.encode("utf-8"))


def test_outside_git_folders_are_walked(here: Path) -> None:
    for path in ("b.yaml", "a.yml", "deep/er/c.yaml", ".hidden/d.yaml", "build/e.yaml"):
        write(path)
    for path in ("venv/x.yaml", "deep/node_modules/x.yaml", ".venv/x.yaml"):
        write(path)
    write("foreign.yaml", FOREIGN)
    write("spec.txt")
    assert find_specs(".") == [".hidden/d.yaml", "a.yml", "b.yaml", "build/e.yaml", "deep/er/c.yaml"]
    assert find_specs("deep") == ["deep/er/c.yaml"]
    assert find_specs(str(here / "deep")) == [str(here / "deep/er/c.yaml")]


def test_without_a_git_program_folders_are_walked(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.yaml")
    write(".gitignore", "a.yaml\n")
    assert find_specs(".") == []
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    assert find_specs(".") == ["a.yaml"]


def test_a_repository_outside_which_one_stands_is_still_read_as_git_sees_it(here: Path) -> None:
    git("init", "--quiet", "one")
    write("one/.gitignore", "out/\n")
    for path in ("one/a.yaml", "one/out/x.yaml", "two/b.yaml"):
        write(path)
    assert find_specs(".") == ["one/a.yaml", "two/b.yaml"]


def test_tracked_and_untracked_files_are_found_and_ignored_ones_not(repository: Path) -> None:
    write(".gitignore", "*.tmp.yaml\n/out/\n")
    write("deep/.gitignore", "cache/\n!kept.tmp.yaml\n")
    found = ["deep/kept.tmp.yaml", "deep/out/untracked.yaml", "tracked.yaml"]
    for path in (
        *found,
        "a.tmp.yaml",
        "out/x.yaml",
        "out/deep/x.yaml",
        "deep/cache/x.yaml",
        "deep/cache/y/x.yml",
    ):
        write(path)
    git("add", "tracked.yaml", ".gitignore")
    assert find_specs(".") == found
    assert find_specs("deep") == found[:2]
    git("config", "status.showUntrackedFiles", "no")
    assert find_specs(".") == found


def test_a_tracked_file_counts_though_it_is_ignored(repository: Path) -> None:
    write("a.yaml")
    git("add", "a.yaml")
    write(".gitignore", "*.yaml\n")
    write("b.yaml")
    assert find_specs(".") == ["a.yaml"]


def test_the_repositorys_own_excludes_count_too(repository: Path) -> None:
    write("a.yaml")
    write("mine.yaml")
    (repository / ".git/info/exclude").write_text("mine.yaml\n")
    assert find_specs(".") == ["a.yaml"]


def test_an_ignored_folder_is_looked_into_when_it_is_named(repository: Path) -> None:
    write(".gitignore", "out/\n")
    write("out/a.yaml")
    write("out/deep/b.yaml")
    assert find_specs(".") == []
    assert find_specs("out") == ["out/a.yaml", "out/deep/b.yaml"]
    assert find_specs("out/deep") == ["out/deep/b.yaml"]


def test_deleted_files_are_passed_over(repository: Path) -> None:
    for path in ("gone.yaml", "kept.yaml", "removed/with/folder.yaml"):
        write(path)
    git("add", ".")
    git("commit", "--quiet", "-m", "all")
    os.unlink("gone.yaml")
    os.unlink("removed/with/folder.yaml")
    os.rmdir("removed/with")
    assert find_specs(".") == ["kept.yaml"]


def test_a_file_in_conflict_is_found_once(repository: Path) -> None:
    write("a.yaml")
    git("add", ".")
    git("commit", "--quiet", "-m", "base")
    git("checkout", "--quiet", "-b", "other")
    write("a.yaml", SPEC.replace("found", "theirs"))
    git("commit", "--quiet", "-am", "theirs")
    git("checkout", "--quiet", "main")
    write("a.yaml", SPEC.replace("found", "ours"))
    git("commit", "--quiet", "-am", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git("merge", "other")
    assert git("ls-files", "-u").count("a.yaml") == 3
    assert find_specs(".") == ["a.yaml"]


def links(here: Path, outside: Path) -> None:
    """Lay links to a folder, a file, nothing, and the folder above."""
    outside.mkdir()
    (outside / "secret.yaml").write_text(SPEC)
    write("real/a.yaml")
    os.symlink(outside, "folder")
    os.symlink(outside / "secret.yaml", "file.yaml")
    os.symlink(here / "real/a.yaml", "again.yaml")
    os.symlink("nowhere", "dangling.yaml")
    os.symlink("..", "real/up")
    os.symlink(outside, "folder.yaml")


def test_symbolic_links_are_not_followed(here: Path, tmp_path: Path) -> None:
    links(here, tmp_path / "outside")
    assert find_specs(".") == ["real/a.yaml"]


def test_symbolic_links_are_not_followed_in_a_repository(repository: Path, tmp_path: Path) -> None:
    links(repository, tmp_path / "outside")
    assert find_specs(".") == ["real/a.yaml"]
    git("add", ".")
    assert find_specs(".") == ["real/a.yaml"]


def test_a_tracked_folder_that_became_a_link_is_not_followed(repository: Path, tmp_path: Path) -> None:
    write("specs/a.yaml")
    write("b.yaml")
    git("add", ".")
    outside = tmp_path / "outside"
    os.rename("specs", outside)
    os.symlink(outside, "specs")
    assert git("ls-files") == "b.yaml\nspecs/a.yaml\n"
    assert find_specs(".") == ["b.yaml"]


def test_a_link_that_is_named_is_followed(here: Path, tmp_path: Path) -> None:
    links(here, tmp_path / "outside")
    assert find_specs("folder") == ["folder/secret.yaml"]
    assert npac("check", "file.yaml").returncode == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_does_not_hold_up_the_search(repository: Path) -> None:
    os.mkfifo("pipe.yaml")
    write("a.yaml")
    assert find_specs(".") == ["a.yaml"]


NAMES = (
    "new\nline.yaml",
    " blank s.yaml",
    "tab\t.yaml",
    "-dash.yaml",
    "quo\"te'.yaml",
    "[x]*?.yaml",
    "größe-机.yaml",
)


@pytest.mark.parametrize("tracked", [False, True])
def test_strange_names_are_found(repository: Path, tracked: bool) -> None:
    names = [os.fsencode(name) for name in NAMES]
    try:
        Path(os.fsdecode(b"latin-\xe9.yaml")).touch()
        names.append(b"latin-\xe9.yaml")
    except OSError:  # a file system that takes only UTF-8
        pass
    for name in names:
        Path(os.fsdecode(name)).write_text(SPEC)
    if tracked:
        git("add", ".")
    assert sorted(map(os.fsencode, find_specs("."))) == sorted(names)


def test_strange_names_are_checked_and_shown(repository: Path) -> None:
    bad = SPEC.replace("terminal", "teminal")
    Path("new\nline.yaml").write_text(bad)
    Path(os.fsdecode(b"latin-\xe9.yaml")).write_text(bad)
    for format in ("text", "concise", "json", "sarif", "github"):
        done = npac("check", "--format", format)
        assert done.returncode == 1, done.stderr
        assert done.stderr == b""
        assert b"NPA101" in done.stdout
        done.stdout.decode("utf-8")


def test_repositories_inside_this_one_are_not_part_of_it(repository: Path) -> None:
    write("a.yaml")
    git("init", "--quiet", "vendor")
    write("vendor/b.yaml")
    git("add", "b.yaml", cwd=repository / "vendor")
    assert find_specs(".") == ["a.yaml"]
    assert find_specs("vendor") == ["vendor/b.yaml"]


def test_a_submodule_is_not_part_of_it(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git("init", "--quiet", str(other))
    (other / "s.yaml").write_text(SPEC)
    git("add", ".", cwd=other)
    git("commit", "--quiet", "-m", "s", cwd=other)
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    write("a.yaml")
    assert find_specs(".") == ["a.yaml"]


def test_a_hooks_environment_does_not_mislead(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("deep/a.yaml")
    git("add", ".")
    other = tmp_path / "other"
    git("init", "--quiet", str(other))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    monkeypatch.setenv("GIT_LITERAL_PATHSPECS", "1")
    assert find_specs(".") == ["deep/a.yaml"]
    assert find_specs("deep") == ["deep/a.yaml"]


def test_no_program_of_the_repository_is_started(repository: Path, tmp_path: Path) -> None:
    write("a.yaml")
    witness = tmp_path / "started"
    monitor = write(str(tmp_path / "monitor"), f"#!/bin/sh\ntouch {witness}\n")
    monitor.chmod(0o755)
    git("config", "core.fsmonitor", str(monitor))
    git("status")
    assert witness.exists()
    witness.unlink()
    assert find_specs(".") == ["a.yaml"]
    assert not witness.exists()


def test_what_the_project_excludes_is_passed_over(repository: Path) -> None:
    write("pyproject.toml", '[tool.npac]\nexclude = ["drafts", "old/*.yaml", "*.gen.yaml"]\n')
    for path in (
        "a.yaml",
        "drafts/x.yaml",
        "deep/drafts/y/x.yaml",
        "old/x.yaml",
        "b.gen.yaml",
        "deep/old/c.yaml",
    ):
        write(path)
    assert find_specs(".") == ["a.yaml", "deep/old/c.yaml"]
    assert find_specs("deep") == ["deep/old/c.yaml"]


def test_a_nested_project_excludes_its_own(repository: Path) -> None:
    write("npac.toml", 'exclude = ["x.yaml"]\n')
    write("part/npac.toml", 'exclude = ["y.yaml"]\n')
    for path in ("x.yaml", "y.yaml", "part/y.yaml", "part/z.yaml"):
        write(path)
    assert find_specs(".") == ["part/z.yaml", "y.yaml"]
    assert excluded("part/y.yaml") and not excluded("y.yaml")


def test_tests_of_specs_are_found_as_specs_are(repository: Path) -> None:
    write(".gitignore", "out/\n")
    for path in ("a.test.yaml", "deep/b.test.yaml", "out/c.test.yaml"):
        write(path, "spec: a.yaml\ncases: []\n")
    write("a.yaml")
    assert find_tests(".") == ["a.test.yaml", "deep/b.test.yaml"]
    assert find_specs(".") == ["a.yaml"]


def test_check_without_arguments_checks_what_is_found(repository: Path) -> None:
    write(".gitignore", "out/\n")
    write("good.yaml")
    write("out/ignored.yaml", SPEC.replace("terminal", "teminal"))
    write("foreign.yaml", FOREIGN)
    done = npac("check", "--format", "concise")
    assert (done.returncode, done.stderr) == (0, b"")
    write("deep/misspelt.yaml", SPEC.replace("npa.workflow", "npa.worklow"))
    for arguments in ((), (".",), ("deep",)):
        done = npac("check", "--format", "concise", *arguments)
        assert done.returncode == 1
        assert b"deep/misspelt.yaml:1:13: error[NPA104]" in done.stdout
        assert b"foreign" not in done.stdout and b"ignored" not in done.stdout


def test_a_file_that_is_named_twice_is_checked_once(here: Path) -> None:
    write("deep/bad.yaml", SPEC.replace("terminal", "teminal"))
    done = npac("check", "--format", "concise", "deep", "deep/bad.yaml", "deep")
    assert done.stdout.count(b"NPA101") == 1


def test_named_files_are_checked_whatever_they_are_unless_others_are_to_be_skipped(repository: Path) -> None:
    write("npac.toml", 'exclude = ["left-out.yaml"]\n')
    bad = SPEC.replace("terminal", "teminal")
    write("good.yaml")
    write("bad.yaml", bad)
    write("left-out.yaml", bad)
    write("foreign.yaml", FOREIGN)
    assert keep_specs(["good.yaml", "foreign.yaml", "left-out.yaml", "-", "absent.yaml", "."]) == [
        "good.yaml",
        "-",
        "absent.yaml",
        ".",
    ]
    assert npac("check", "foreign.yaml").returncode == 1
    assert npac("check", "left-out.yaml").returncode == 1
    skipping = ("check", "--skip-other", "--format", "concise")
    assert npac(*skipping, "good.yaml", "foreign.yaml", "left-out.yaml").returncode == 0
    assert npac(*skipping, "foreign.yaml").returncode == 0
    done = npac(*skipping, "bad.yaml", "foreign.yaml")
    assert done.returncode == 1
    assert done.stdout.startswith(b"bad.yaml:5:")
    done = npac(*skipping, "absent.yaml")
    assert done.returncode == 2
    assert b"absent.yaml" in done.stderr


def test_check_says_where_it_found_no_spec(here: Path) -> None:
    from click.testing import CliRunner

    from npac.cli.check import command

    write("compose.yml", FOREIGN)
    alone = CliRunner().invoke(command, [])
    assert (alone.exit_code, alone.stderr) == (0, "no npac specs below .\n")
    write("inside/spec.yaml")
    found = CliRunner().invoke(command, ["."])
    assert (found.exit_code, found.stderr, found.stdout) == (0, "", "the spec is fine\n")


def test_check_says_what_raw_skypilot_yaml_is_read_as(here: Path) -> None:
    from click.testing import CliRunner

    from npac.cli.check import command

    write("raw.yaml", "run: echo hello\n")
    write("spec.yaml")
    alone = CliRunner().invoke(command, ["raw.yaml"])
    assert (alone.exit_code, alone.stdout) == (0, "raw SkyPilot YAML; read as one chain of tasks\n")
    machines = CliRunner().invoke(command, ["raw.yaml", "--format", "json"])
    assert "raw SkyPilot" not in machines.stdout
    both = CliRunner().invoke(command, ["raw.yaml", "spec.yaml"])
    assert both.stdout == "the spec is fine; 1 file of raw SkyPilot YAML, read as a chain of tasks\n"
