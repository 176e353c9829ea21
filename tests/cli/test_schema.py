"""`cfglint schema`: the schemas on standard output, as they lie in their files."""

from __future__ import annotations

import json

from cases import each_case
from cfglint.cli import main
from cfglint.frameworks.validation.schema import file_of, kinds


def test_lists_the_kinds(capsys):
    assert main(["schema"]) == 0
    assert {"deepspeed", "huggingface", "neox"} <= set(capsys.readouterr().out.split())


@each_case("kind", kinds())
def test_prints_a_schema(capsys, kind):
    assert main(["schema", kind]) == 0
    printed = capsys.readouterr().out
    with open(file_of(kind), encoding="utf-8") as file:
        assert printed == file.read()
    assert json.loads(printed)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_an_unknown_kind_is_an_error(capsys):
    assert main(["schema", "megatron"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "no schema for 'megatron'; there are: " in printed.err


def test_a_path_is_no_kind(capsys):
    assert main(["schema", "../schemas/neox"]) == 2
    assert capsys.readouterr().out == ""
