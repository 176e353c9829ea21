"""A field that a release renamed is found under its new name where the code knows the former one."""

from __future__ import annotations

import pytest

from cfglint import generators
from cfglint.frameworks.huggingface import arguments
from cfglint.frameworks.huggingface.arguments import Arguments
from cfglint.frameworks.releases import _modelled as _releases
from cfglint.frameworks.releases import versions
from cfglint.generators.generated import Keys
from cfglint.generators.job_spec import JobSpec

RENAMED = {"transformers": {"no_cuda": ("use_cpu", "5.0.0"), "save_steps": ("save_interval", "5.0.0")}}


@pytest.fixture(autouse=True)
def renames(monkeypatch):
    for module in (_releases, versions, arguments, generators):
        monkeypatch.setattr(module, "RENAMED", RENAMED)


def test_the_name_is_that_of_the_release():
    names = [versions.current_name("no_cuda", {"transformers": release}) for release in ((4, 57, 0), (5, 1, 0))]
    assert names == ["no_cuda", "use_cpu"]


def test_a_value_is_read_under_the_new_name_and_keeps_its_key():
    args = Arguments({"use_cpu": True}, (5, 1, 0))
    assert (args["no_cuda"], args.written("no_cuda"), "no_cuda" in args) == (True, "use_cpu", True)
    assert Arguments({"no_cuda": False}, (4, 57, 0))["no_cuda"] is False


def test_generated_keys_are_renamed_with_their_reasons():
    keys = Keys.of(("section.no_cuda", True, "a reason"))
    renamed = keys.renamed(lambda name: versions.name_at(name, "transformers", (5, 1, 0)))
    assert (renamed.values, renamed.why) == ({"section": {"use_cpu": True}}, {"section.use_cpu": "a reason"})


@pytest.mark.parametrize(
    ("target", "name"), [(None, "save_interval"), ({"transformers": "5.1.0"}, "save_interval"), ({"transformers": "4.57.0"}, "save_steps")]
)
def test_generated_files_have_the_names_of_the_release_that_they_are_for(target, name):
    [file] = generators.generate("huggingface", JobSpec(gpus=1, save_steps=5, target=target)).files
    assert file.keys.values[name] == 5
