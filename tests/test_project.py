"""The project's configuration: found, read, and its mistakes placed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npac.project import Project, discover, load

CODES = ("NPA105", "NPA302", "NPA303")


@pytest.fixture
def write(tmp_path):
    def at(name, text):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return at


def problems(file, **options):
    loaded = load(file, **options)
    assert loaded is not None
    return [(each.line, each.column, each.message, each.help) for each in loaded[1]]


FULL = """\
catalogs = ["tools.yaml", "../shared/b.yaml", "/abs/c.yaml"]
select = ["NPA1", "NPA302"]
ignore = ["NPA105"]
strict = true
exclude = ["vendor", "gen/*.yaml"]
ledger = "s3://bucket/ledger"
source = "."
project = "robots"
context = "prod-eu"

[severity]
NPA3 = "warning"

[skypilot]
bin = "venv/bin/sky"
"""


def test_every_setting(write, tmp_path):
    file = write("npac.toml", FULL)
    project, mistakes = discover(tmp_path)
    assert mistakes == []
    assert project == Project(
        root=tmp_path,
        path=file,
        catalogs=(tmp_path / "tools.yaml", tmp_path.parent / "shared/b.yaml", Path("/abs/c.yaml")),
        select=("NPA1", "NPA302"),
        ignore=("NPA105",),
        severity={"NPA3": "warning"},
        strict=True,
        exclude=("vendor", "gen/*.yaml"),
        ledger="s3://bucket/ledger",
        source=tmp_path,
        project="robots",
        skypilot_bin=tmp_path / "venv/bin/sky",
        context="prod-eu",
    )


def test_pyproject(write, tmp_path):
    body = FULL.replace("[severity]", "[tool.npac.severity]").replace("[skypilot]", "[tool.npac.skypilot]")
    own = write("a/npac.toml", FULL)
    write("b/pyproject.toml", f'[project]\nname = "x"\n\n[tool.npac]\n{body}')
    one, _ = discover(own.parent)
    two, mistakes = discover(tmp_path / "b")
    assert mistakes == []
    assert two.path == tmp_path / "b/pyproject.toml"
    assert (two.select, two.severity, two.skypilot_bin) == (
        one.select,
        one.severity,
        tmp_path / "b/venv/bin/sky",
    )


def test_the_nearest_file_upwards_counts_alone(write, tmp_path):
    write("npac.toml", "strict = true\nproject = 'outer'\n")
    write("a/pyproject.toml", "[tool.npac]\nproject = 'inner'\n")
    write("a/b/pyproject.toml", "[tool.other]\nx = 1\n")
    (tmp_path / "a/b/c").mkdir()
    project, _ = discover(tmp_path / "a/b/c")
    assert (project.root, project.project, project.strict) == (tmp_path / "a", "inner", False)


def test_npac_toml_goes_before_pyproject(write, tmp_path):
    write("npac.toml", "project = 'one'\n")
    write("pyproject.toml", "[tool.npac]\nproject = 'two'\n")
    assert discover(tmp_path)[0].project == "one"


def test_without_a_file_the_defaults_hold(tmp_path):
    project, mistakes = discover(tmp_path / "not/there")
    if project.path is not None:
        pytest.skip(f"{project.path} lies above the folder for temporary files")
    assert (project, mistakes) == (Project(tmp_path / "not/there"), [])


def test_a_relative_start_and_paths_of_the_user(write, tmp_path, monkeypatch):
    write("npac.toml", "ledger = 'runs'\nsource = '~/src'\n")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv("HOME", "/home/someone")
    project, _ = discover(".")
    assert project.ledger == str(tmp_path / "runs")
    assert project.source == Path("/home/someone/src")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "\n  catalog = []\n",
            (2, 3, "`catalog` is not a setting of npac", "did you mean `catalogs`?"),
        ),
        (
            "zzz = 1\n",
            (
                1,
                1,
                "`zzz` is not a setting of npac",
                "known are catalogs, exclude, extend, ignore, ledger, per-file-ignores, select, severity, "
                "skypilot, strict",
            ),
        ),
        (
            "strict = 'yes'\n",
            (1, 10, "`strict` must be true or false, not a text", "write true or false, without quotes"),
        ),
        (
            "select = 'NPA3'\n",
            (
                1,
                10,
                "`select` must be a list of codes, not a text",
                'write a list of codes, as in ["NPA215", "NPA3"]',
            ),
        ),
        (
            "catalogs = [\n  'a', # one\n  3,\n]\n",
            (3, 3, "`catalogs[2]` must be a text, not a number", 'write a text in quotes, as in "name"'),
        ),
        ("project = ''\n", (1, 11, "`project` must not be empty or hold a NUL", "give it a value")),
        (
            "ignore = ['NPA1', 'E501']\n",
            (1, 19, "`E501` is no code", "a code is `NPA` and up to three digits"),
        ),
        ("ignore = ['NPA308']\n", (1, 11, "there is no code NPA308", "did you mean NPA303?")),
        (
            "[severity]\nNPA302 = 'warn'\n",
            (2, 10, "`warn` is no severity", "did you mean warning? a severity is error, warning or note"),
        ),
        (
            "severity = {NPA3 = 'note', NPA105 = 2}\n",
            (1, 37, "`severity.NPA105` must be a text, not a number", 'write a text in quotes, as in "name"'),
        ),
        (
            "severity.'x' = 'note'\n",
            (1, 1, "`x` is no code", "a code is `NPA` and up to three digits"),
        ),
        (
            "severity = 1979-05-27\n",
            (
                1,
                12,
                "`severity` must be a table from code to severity, not a date or time",
                'write a table, as in NPA215 = "warning"',
            ),
        ),
        (
            "[skypilot]\nbinary = 'x'\n",
            (2, 1, "`skypilot.binary` is not a setting of npac", "did you mean `bin`?"),
        ),
        (
            "skypilot = 'sky'\n",
            (
                1,
                12,
                "`skypilot` must be a table, not a text",
                'write a table, as in skypilot = {bin = "venv/bin/sky"}',
            ),
        ),
        (
            "[[strict]]\n",
            (1, 1, "`strict` must be true or false, not a list", "write true or false, without quotes"),
        ),
        (
            "x-y = 1 #\n",
            None,
        ),
    ],
)
def test_mistakes_have_their_place(write, text, expected):
    found = problems(write("npac.toml", text), codes=CODES)
    if expected is None:
        assert [each[:3] for each in found] == [(1, 1, "`x-y` is not a setting of npac")]
    else:
        assert found == [expected]


def test_the_place_is_found_past_everything_that_looks_alike(write):
    text = (
        '# strict = "no"\n'
        "[tool.other]\n"
        'strict = """\n'
        "[tool.npac]\n"
        'strict = 1 \\"""\n'
        '""""\n'
        "list = [['strict = 1'], {strict = ']'}, '''\n[tool.npac]''', 1.5] # [tool.npac]\n"
        "'tool.npac' = { strict = 1, 'a b'.c = 1979-05-27 07:32:00 }\n"
        "[tool.'npac']\n"
        '"str\\u0069ct" = 1\n'
    )
    file = write("pyproject.toml", text)
    assert problems(file) == [
        (11, 17, "`strict` must be true or false, not a number", "write true or false, without quotes")
    ]


def test_all_mistakes_are_told_and_the_rest_is_kept(write):
    file = write("npac.toml", "strict = 1\nproject = 'p'\nselect = ['bad', 'NPA1']\nextra = 2\n")
    loaded = load(file)
    assert loaded is not None
    project, mistakes = loaded
    assert [each.line for each in mistakes] == [1, 3, 4]
    assert (project.strict, project.project, project.select) == (False, "p", ("NPA1",))
    assert (
        str(mistakes[0])
        == f"{file}:1:10: `strict` must be true or false, not a number; write true or false, without quotes"
    )


def test_bad_toml(write):
    assert problems(write("npac.toml", "strict = true\nx = = 1\n")) == [
        (2, 5, "the file is no TOML: invalid value", "mend the syntax")
    ]
    assert problems(write("npac.toml", "a = '''\n")) == [
        (2, 1, "the file is no TOML: expected \"'''\" at the end of the file", "mend the syntax")
    ]
    deep = problems(write("npac.toml", "a = " + "[" * 100_000))
    assert [each[:2] for each in deep] == [(1, 1)]


def test_a_file_that_is_not_utf8(write):
    found = problems(write("npac.toml", b"a = 1\n# \xff\n"))
    assert found == [(2, 3, "the file is not UTF-8 text", "save it as UTF-8")]


def test_a_broken_pyproject_that_is_not_about_npac_is_passed_by(write, tmp_path):
    write("npac.toml", "project = 'outer'\n")
    write("a/pyproject.toml", "dependencies = ['npac'\n")
    assert discover(tmp_path / "a")[0].project == "outer"
    write("a/pyproject.toml", "[tool.npac]\nx = \n")
    _, mistakes = discover(tmp_path / "a")
    assert [(each.line, each.path) for each in mistakes] == [(2, str(tmp_path / "a/pyproject.toml"))]


def test_an_npac_that_is_no_table(write):
    found = problems(write("pyproject.toml", "[tool]\nnpac = 3\n"))
    assert found == [(2, 8, "`tool.npac` must be a table, not a number", "write the table [tool.npac]")]


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "npac.toml").mkdir()
    project, mistakes = discover(tmp_path)
    assert project == Project(tmp_path, tmp_path / "npac.toml")
    where = f"{tmp_path / 'npac.toml'}:1:1"
    assert [str(each) for each in mistakes] == [
        f"{where}: the file cannot be read: it is a folder; make it readable or remove it"
    ]


def test_a_dangling_link_is_not_passed_by(tmp_path):
    os.symlink(tmp_path / "nowhere", tmp_path / "npac.toml")
    _, mistakes = discover(tmp_path)
    assert [each.message for each in mistakes] == ["the file cannot be read: No such file or directory"]


def test_excluded_paths(write, tmp_path, monkeypatch):
    write("npac.toml", "exclude = ['vendor/', 'gen/*.yaml', '*.tmp.yaml', 'deep/er']\n")
    project, _ = discover(tmp_path)
    monkeypatch.chdir(tmp_path)
    excluded = ["vendor/a.yaml", "x/vendor/b/c.yaml", "gen/a.yaml", "x/y.tmp.yaml", "deep/er/z/a.yaml"]
    kept = ["a.yaml", "vendored/a.yaml", "x/gen/a.yaml", "x/deep/er/a.yaml", "../vendor/a.yaml"]
    assert [path for path in excluded + kept if project.excludes(path)] == excluded
    assert project.excludes(tmp_path / "vendor")


def test_names_stand_for_codes(write):
    file = write("npac.toml", "ignore = ['bad-name', 'bad-nam']\n[severity]\nbad-name = 'note'\n")
    loaded = load(file, codes=CODES, names={"bad-name": "NPA105"})
    assert loaded is not None
    project, mistakes = loaded
    assert (project.ignore, project.severity) == (("NPA105",), {"NPA105": "note"})
    assert [(each.message, each.help) for each in mistakes] == [
        ("`bad-nam` is no code", "did you mean bad-name? a code is `NPA` and up to three digits, or its name")
    ]


def test_codes_are_ignored_by_files(write, tmp_path):
    text = (
        "ignore = ['NPA3']\n[per-file-ignores]\n'vendor' = ['NPA105']\n'gen/*.yaml' = ['NPA302', 'NPA303']\n"
    )
    write("npac.toml", text)
    project, mistakes = discover(tmp_path, codes=CODES)
    assert mistakes == []
    assert project.ignored_in(tmp_path / "a.yaml") == ("NPA3",)
    assert project.ignored_in(tmp_path / "x/vendor/a.yaml") == ("NPA3", "NPA105")
    assert project.ignored_in(tmp_path / "gen/a.yaml") == ("NPA3", "NPA302", "NPA303")
    assert problems(write("npac.toml", "per-file-ignores = {'a' = 'NPA3'}\n")) == [
        (
            1,
            27,
            "`per-file-ignores.a` must be a list of codes, not a text",
            'write a list of codes, as in ["NPA215", "NPA3"]',
        )
    ]


def test_a_file_extends_another(write, tmp_path):
    write(
        "npac.toml",
        "strict = true\nignore = ['NPA3']\nexclude = ['gen']\ncatalogs = ['c.yaml']\n"
        "[severity]\nNPA1 = 'note'\nNPA2 = 'note'\n[per-file-ignores]\n'sub/a.yaml' = ['NPA105']\n",
    )
    file = write(
        "sub/npac.toml", "extend = '../npac.toml'\nignore = []\nexclude = ['old']\nseverity.NPA2 = 'error'\n"
    )
    project, mistakes = discover(tmp_path / "sub", codes=(*CODES, "NPA201"))
    assert mistakes == []
    assert (project.root, project.path, project.strict, project.ignore) == (file.parent, file, True, ())
    assert project.severity == {"NPA1": "note", "NPA2": "error"}
    assert project.catalogs == (tmp_path / "c.yaml",)
    assert project.excluder(tmp_path / "sub/old/a.yaml") == file
    assert project.excluder(tmp_path / "sub/gen/a.yaml") == tmp_path / "npac.toml"
    assert project.ignored_in(tmp_path / "sub/a.yaml") == ("NPA105",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extend = 'npac.toml'\n", "`npac.toml` extends itself"),
        ("extend = '../nothing.toml'\n", "there is no file ../nothing.toml"),
        ("extend = '../pyproject.toml'\n", "../pyproject.toml holds no settings of npac"),
        ("extend = 3\n", "`extend` must be a text, not a number"),
    ],
)
def test_what_cannot_be_extended(write, text, message):
    write("pyproject.toml", "[project]\nname = 'x'\n")
    assert [each[2] for each in problems(write("sub/npac.toml", text))] == [message]


def test_mistakes_in_what_is_extended_are_told_at_their_place(write, tmp_path):
    base = write("npac.toml", "\nstrict = 1\n")
    write("sub/npac.toml", "extend = '..'\n")
    _, mistakes = discover(tmp_path / "sub")
    assert [(each.path, each.line) for each in mistakes] == [(str(base), 2)]
    write("npac.toml", "extend = 'sub'\n")
    _, mistakes = discover(tmp_path / "sub")
    assert [each.message for each in mistakes] == ["`sub` extends itself"]
