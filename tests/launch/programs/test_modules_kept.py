"""The modules of a project are parsed once for all of its programs, which do not see what each other does to them."""

from __future__ import annotations

import json

from cfglint.cli import main
from cfglint.launch.programs import modules

HEAD = "from transformers import TrainingArguments\nimport shared\n"
CALL = "TrainingArguments(output_dir='o', per_device_train_batch_size=shared.SIZES['train'])\n"


def test_a_program_does_not_see_what_another_one_changes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shared.py").write_text("SIZES = {'train': 4}\n")
    (tmp_path / "a.py").write_text(f"{HEAD}shared.SIZES['train'] = 7\n{CALL}")
    (tmp_path / "b.py").write_text(HEAD + CALL)
    parsed: list[str] = []
    of_text = modules.parsed
    monkeypatch.setattr(modules, "module_in", modules.ParsedModules().get)
    monkeypatch.setattr(modules, "parsed", lambda text: parsed.append(text) or of_text(text))
    main(["check", "a.py", "b.py", "--format", "json"])
    sizes = [run["resolved"]["micro_batch"] for run in json.loads(capsys.readouterr().out)["runs"]]
    assert sizes == [7, 4]
    assert sorted(parsed) == sorted({*parsed})


def test_a_module_with_another_content_is_another_one():
    get = modules.ParsedModules().get
    first = get("a.py", "", "x = 1\n")
    assert get("a.py", "", "x = 1\n") is first
    assert get("a.py", "p", "x = 1\n") is not first
    assert get("a.py", "", "x = 2\n") is not first
    assert get("a.py", "", "x = (\n") is None


def test_so_many_characters_are_kept(monkeypatch):
    monkeypatch.setattr(modules, "MOST_KEPT", 100)
    get = modules.ParsedModules().get
    first = get("a.py", "", "x = 1\n" * 10)
    get("b.py", "", "x = 1\n" * 10)
    assert get("a.py", "", "x = 1\n" * 10) is not first
