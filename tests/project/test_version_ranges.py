"""Which releases a requirement allows: as PEP 440 has it, and Poetry's `^` and `~`; and what each file of a repository says."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet

from cases import each_case
from cfglint.project.pinned_versions import (
    allowed,
    clauses_of,
    in_file,
    is_environment,
    is_option,
    is_side_group,
    may_name_versions,
    newest,
)

RELEASES = ("0.9.9", "1.0.0", "1.0.1", "1.1.0", "1.2.0", "1.2.3", "1.3.0", "2.0.0", "2.0.1", "2.1.0")
SPECIFIERS = (
    *(">=1.2", ">1.2", ">1.2.3", "<=1.2", "<1.2", "<=1.2.3", "<2", "==1.2", "==1.2.3", "==1.2.*", "!=1.2", "!=1.2.*", "~=1.2", "~=1.2.0"),
    *(">=1.0,<2", ">1.0,!=1.1.0,<=1.3", ">=1.2.3,<1.3", "==2", "===1.2.3", "~=1.0.1", "> 1.0 , < 2.0"),
)


@each_case(("spec", "release"), [(spec, release) for spec in SPECIFIERS for release in RELEASES])
def test_a_range_allows_what_pep_440_allows(spec, release):
    assert allowed(spec, release) is SpecifierSet(spec).contains(release)


@each_case(
    ("spec", "expected"),
    [
        ("^1.2", ("1.2.0", "1.2.3", "1.3.0")),
        ("^1.2.3", ("1.2.3", "1.3.0")),
        ("^0.9", ("0.9.9",)),
        ("^2", ("2.0.0", "2.0.1", "2.1.0")),
        ("~1.2", ("1.2.0", "1.2.3")),
        ("~1.2.3", ("1.2.3",)),
        ("~1", ("1.0.0", "1.0.1", "1.1.0", "1.2.0", "1.2.3", "1.3.0")),
    ],
)
def test_poetry_s_ranges(spec, expected):
    assert tuple(release for release in RELEASES if allowed(spec, release)) == expected


@each_case(
    ("spec", "expected"),
    [
        (">=1.2", "2.1.0"),
        (">=1.2,<2", "1.3.0"),
        ("<=1.2.9", "1.2.9"),
        ("<1.0", "0.9.9"),
        (">=3.1", "3.1"),
        ("~=3.1", "3.1"),
        (">3.1", None),
        ("!=1.0", "2.1.0"),
        ("<0.1", None),
    ],
)
def test_the_newest_release_of_a_range(spec, expected):
    assert newest(clauses_of(spec), [*RELEASES]) == expected


@each_case(
    ("spec", "expected"),
    [
        (">=1.2,<2", [(">=", "1.2"), ("<", "2")]),
        ("=== 1.2", [("===", "1.2")]),
        ("~=1.2", [("~=", "1.2")]),
        ("1.2", []),
        (">=x", []),
        ("", []),
        ("*", []),
    ],
)
def test_clauses(spec, expected):
    assert clauses_of(spec) == expected


@each_case(
    ("name", "text", "expected"),
    [
        ("requirements.txt", "transformers==4.40.0\n", ("4.40.0", True)),
        ("requirements.txt", "Transformers[torch] == 4.40.0 ; python_version > '3' # c\n", ("4.40.0", True)),
        ("requirements.txt", "transformers (>=4.40,<4.42)\n", ("4.41.2", False)),
        ("requirements.txt", "transformers>=4.40,<4.42\ntransformers==4.30.0\n", ("4.30.0", True)),
        ("requirements.txt", "transformers\n", None),
        ("requirements.txt", "transformers-more==1.0\nmore-transformers==2.0\n", None),
        ("requirements.txt", "transformers \\\n==4.40.0 --hash=sha256:1\n", ("4.40.0", True)),
        ("requirements.txt", "transformers @ git+https://github.com/huggingface/transformers@v4.40.0\n", ("4.40.0", True)),
        ("requirements.txt", "transformers @ git+https://github.com/huggingface/transformers@main\n", None),
        ("requirements.txt", "git+https://github.com/huggingface/transformers.git@0123456789abcdef0123456789abcdef01234567\n", ("", True)),
        ("requirements.txt", "git+https://github.com/huggingface/transformers@0123456#egg=transformers\n", ("", True)),
        ("requirements.txt", "git+https://github.com/huggingface/transformers@main\n", None),
        ("requirements.txt", "git+https://github.com/huggingface/transformers\n", None),
        ("requirements.txt", "# git+x/transformers@0123456\ngit+https://x/other@0123456\n", None),
        ("requirements.txt", "transformers==4.40.*\n", ("4.40.2", False)),
        ("environment.yml", "dependencies:\n  - transformers=4.40.0=py_0\n", ("4.40.0", True)),
        ("environment.yml", "dependencies:\n  - transformers=4.40\n", ("4.40.2", False)),
        ("environment.yml", "dependencies:\n  - 'conda-forge::transformers==4.40.1' # c\n", ("4.40.1", True)),
        ("environment.yml", "  - pip:\n    - transformers>=4.40,<4.41\n", ("4.40.2", False)),
        ("pyproject.toml", '[project]\ndependencies = ["torch", "transformers==4.40.0"]\n', ("4.40.0", True)),
        ("pyproject.toml", '[project]\noptional-dependencies = {x = ["transformers==4.40.0"]}\n', None),
        ("pyproject.toml", '[dependency-groups]\ntrain = ["transformers==4.40.0"]\ntest = ["transformers==4.30.0"]\n', ("4.40.0", True)),
        ("pyproject.toml", '[dependency-groups]\ndev = ["transformers==4.40.0"]\n', None),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntransformers = "4.40.0"\n', ("4.40.0", True)),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntransformers = {version = "^4.40", extras = ["x"]}\n', ("4.57.6", False)),
        ("pyproject.toml", '[tool.poetry.group.train.dependencies]\ntransformers = "~4.40"\n', ("4.40.2", False)),
        (
            "pyproject.toml",
            '[tool.poetry.group.train]\noptional = true\n[tool.poetry.group.train.dependencies]\ntransformers = "4.40"\n',
            None,
        ),
        ("pyproject.toml", '[tool.poetry.group.docs.dependencies]\ntransformers = "4.40"\n', None),
        ("pyproject.toml", "transformers = [\n", None),
        ("pyproject.toml", '[project]\ndependencies = "transformers==4.40"\n', None),
        ("setup.py", "setup(install_requires=['transformers==4.40.0'])\n", ("4.40.0", True)),
        ("setup.py", "base = ['transformers==4.40.0']\nsetup(install_requires=base + ['torch'])\n", ("4.40.0", True)),
        ("setup.py", "more = ['torch']\nsetup(install_requires=more + ('transformers==4.40.0',))\n", ("4.40.0", True)),
        ("setup.py", "install_requires = '''torch\ntransformers==4.40.0'''\n", ("4.40.0", True)),
        ("setup.py", "setup(extras_require={'x': ['transformers==4.40.0']})\n", None),
        ("setup.py", "setup(install_requires=read('transformers==4.40.0'))\n", None),
        ("setup.py", "x = x\nsetup(install_requires=[x, 'transformers==4.40.0', f'{x}'])\n", ("4.40.0", True)),
        ("setup.py", "setup(install_requires=[\n# transformers\n", None),
        ("setup.cfg", "[options]\ninstall_requires =\n  torch\n  transformers==4.40.0\n", ("4.40.0", True)),
        ("setup.cfg", "[options.extras_require]\nx = transformers==4.40.0\n", None),
        ("setup.cfg", "install_requires = transformers==4.40.0\n", None),
        (
            "uv.lock",
            '[[package]]\nname = "transformers"\nversion = "4.40.0"\n[[package]]\nname = "transformers"\nversion = "4.9.0"\n',
            ("4.40.0", True),
        ),
        ("uv.lock", '[[package]]\nname = "transformers"\nsource = "x"\n[[package]]\nname = "torch"\nversion = "4.9.0"\n', None),
        ("poetry.lock", '\n[[package]]\nname = "transformers"\nversion = "4.40.0"\n', ("4.40.0", True)),
    ],
)
def test_what_a_file_says(name, text, expected):
    found = in_file(name, text, "transformers")
    assert (None if found is None else (found.version, found.exact)) == expected


@each_case(
    ("path", "expected"),
    [
        ("requirements.txt", True),
        ("a/requirements-train.txt", True),
        ("requirements/base.txt", True),
        ("a/requirements/base.txt", True),
        ("a/base.txt", False),
        ("requirements/base.in", False),
        ("a/uv.lock", True),
        ("pyproject.toml", True),
        ("environment.yaml", True),
        ("conda_env.yml", True),
        ("conda-env.yml", True),
        ("my_environment.yml", False),
        ("environment.txt", False),
        ("setup.py", True),
        ("setup.txt", False),
    ],
)
def test_files_that_may_name_versions(path, expected):
    assert may_name_versions(path) is expected


@each_case(
    ("name", "side", "option", "environment"),
    [
        ("requirements-test.txt", True, False, False),
        ("requirements_tests.txt", True, False, False),
        ("requirements.testing.txt", True, False, False),
        ("development", True, False, False),
        ("train", False, False, False),
        ("latest", False, False, False),
        ("requirements/vllm.txt", False, True, False),
        ("requirements/base.txt", False, False, False),
        ("other/vllm.txt", False, False, False),
        ("environment.yml", False, False, True),
        ("environment.json", False, False, False),
    ],
)
def test_names_of_files_and_groups(name, side, option, environment):
    assert (is_side_group(name), is_option(name), is_environment(name)) == (side, option, environment)
