"""Which releases a specifier allows, as pip, Poetry and conda have it; and which files state versions."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks.releases._modelled import RELEASES as NEWEST
from cfglint.frameworks.releases.bounds import allowed, has_lower_bound
from cfglint.project.allowed_releases import allowed_releases, newest_allowed
from cfglint.project.pinned_versions import ENVIRONMENT, is_option, may_name_versions, role_of
from cfglint.project.statements.statement import is_side_group, pep440
from cfglint.project.statements.tables import of_poetry

RELEASES = ("0.9.9", "1.0.0", "1.0.1", "1.1.0", "1.2.0", "1.2.3", "1.3.0", "2.0.0", "2.0.1", "2.1.0")


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
        ("1.2.*", ("1.2.0", "1.2.3")),
        (">=1.3 <2.1", ("1.3.0", "2.0.0", "2.0.1")),
        ("*", RELEASES),
    ],
)
def test_poetry_s_ranges(spec, expected):
    assert tuple(allowed(of_poetry(spec), RELEASES)) == expected


@each_case(
    ("spec", "expected"),
    [
        ("=1.2.3=py_0", "==1.2.3"),
        ("=1.2", "==1.2.*"),
        ("1.2.3", "==1.2.3"),
        (">=1.2,<2", ">=1.2,<2"),
        ("latest", ""),
        ("", ""),
    ],
)
def test_conda_s_specifiers(spec, expected):
    assert pep440(spec) == expected


def test_a_clause_that_is_none_is_left_out():
    assert allowed(">=1.2,x", ("1.1.0", "1.2.0")) == ["1.2.0"]


@each_case(
    ("spec", "expected"),
    [
        (">=4.40,<5", "4.57.6"),
        ("<=4.40", "4.40.0"),
        ("~=4.40.0", "4.40.2"),
        (">=9.1,<9.3", "9.1"),
        ("<4.20", "4.19.4"),
        ("", NEWEST["transformers"]),
    ],
)
def test_the_newest_allowed_release_is_a_modelled_one_if_there_is_one(spec, expected):
    assert newest_allowed("transformers", [spec]) == expected


def test_with_a_lower_bound_every_modelled_release_from_there_on_is_allowed():
    found = allowed_releases("transformers", (">=4.40,<4.43",))
    assert (found[0], found[-1], len(found)) == ("4.40.0", "4.42.4", 11)
    assert has_lower_bound(">=4.40,<4.43")


def test_without_a_lower_bound_those_of_the_eighteen_months_before_the_newest():
    assert allowed_releases("transformers", ("<4.50",))[0] == "4.32.0"
    assert allowed_releases("deepspeed", ("<=0.19.8",))[0] == "0.16.8"
    assert not has_lower_bound("<4.50")


def test_several_specifiers_allow_what_one_of_them_allows():
    assert allowed_releases("transformers", ("==4.40.0", "==4.42.4")) == ["4.40.0", "4.42.4"]


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
        ("my_environment.yml", True),
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
    assert (is_side_group(name), is_option(name), role_of(name) == ENVIRONMENT) == (side, option, environment)
