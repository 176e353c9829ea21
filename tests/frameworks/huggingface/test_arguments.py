"""Values of `TrainingArguments` that are not known."""

from __future__ import annotations

import json

from cases import each_case
from cfglint.cli import main
from cfglint.evaluate import Reason, Unknown
from cfglint.findings.rule import Finding
from cfglint.frameworks.huggingface.arguments import Arguments
from cfglint.launch import Launch
from cfglint.rules import engine

PARSER = Reason("program", "the arguments of `train.py`", "own parser", opens=True)
VERSION = (4, 57, 1)


def test_a_default_that_the_program_may_replace_is_unknown_with_the_reason():
    arguments = Arguments({"max_steps": 5}, VERSION)
    assert (arguments["max_steps"], arguments["save_steps"], arguments.unknown) == (5, 500, [])
    arguments.leave_open([PARSER])
    assert (arguments["max_steps"], arguments["save_steps"].reasons) == (5, (PARSER,))
    assert (arguments.known("max_steps"), arguments.known("max_steps", "save_steps")) == (True, False)


@each_case(("values", "own"), [({"bf16": Unknown(PARSER)}, {}), ({}, {"bf16": Unknown(PARSER)})])
def test_an_unknown_value_is_no_default(values, own):
    arguments = Arguments(values, VERSION, own)
    assert arguments["bf16"].reasons == (PARSER,)
    assert not arguments.known("bf16")


def test_an_unknown_strategy_under_its_old_name_is_that_of_the_new_one():
    assert not Arguments({"evaluation_strategy": Unknown(PARSER)}, (4, 45, 0)).known("eval_strategy")


def test_numbers_and_findings_of_an_open_run(trainer):
    config = trainer("output_dir: o\nmax_steps: 5\nper_device_train_batch_size: 4\n", examples=1000).configs[0]
    open_config = type(config)(config.documents, config.facts.replace(launch=Launch(not_read=(PARSER,))), config.kinds)
    assert (config.batch.accumulation.value, config.numbers()["total_steps"]) == (1, 5)
    assert (open_config.batch.micro_batch.integer, open_config.batch.accumulation.integer) == (4, None)
    assert open_config.has_unknown
    assert engine.uses_unknown_value(Finding(open_config.setting("save_steps"), "x"), open_config)
    assert not engine.uses_unknown_value(Finding(open_config.setting("max_steps"), "x"), open_config)


@each_case(
    ("stated", "optimizer"),
    [
        ("transformers==4.57.1\ntorch==2.7.1", "adamw_torch"),
        ("transformers==4.57.1\ntorch==2.8.0", "adamw_torch_fused"),
        ("transformers==4.57.1", "adamw_torch_fused"),
        ("transformers==4.53.0\ntorch==2.8.0", "adamw_torch"),
    ],
)
def test_the_default_optimizer_is_fused_where_torch_has_it(tmp_path, monkeypatch, capsys, stated, optimizer):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text(f"{stated}\n")
    (tmp_path / "train.yaml").write_text("output_dir: o\nper_device_train_batch_size: 2\nlearning_rate: 1.0e-5\n")
    main(["explain", "train.yaml", "--format", "json"])
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert [each["value"] for each in settings if each["key"] == "/optim"] == [optimizer]
