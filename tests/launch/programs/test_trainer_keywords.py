"""The keywords of a trainer's constructor, against the parameters that it has in the release of the run."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

NEWEST = ("transformers==5.23.0", "trl==1.16.0")
IMPORTS = "from transformers import Trainer, TrainingArguments\nfrom trl import DPOConfig, DPOTrainer, SFTTrainer\n"
ARGUMENTS = IMPORTS + "args = TrainingArguments('o')\n"
CALL = "Trainer(model, args, tokenizer=tokenizer).train()\n"
HANDS_ON = "class Own(Trainer):\n    def __init__(self, own, *a, **more):\n        super().__init__(*a, **more)\n"


@pytest.fixture
def found(tmp_path, monkeypatch, capsys):
    """The findings about trainers' keywords in a program: (severity, key, exception)."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def report(code, releases=NEWEST, start=ARGUMENTS, rule="KEY206"):
        (tmp_path / "train.py").write_text(start + code)
        main(["check", "train.py", *(word for each in releases for word in ("--target", each)), "--format", "json"])
        every = json.loads(capsys.readouterr().out)["diagnostics"]
        return [(each["severity"], each["key"], each["exception"]) for each in every if each["code"] == rule]

    return report


def refused(name, key, severity="error"):
    return [(severity, f"/{key}", f"TypeError: {name}.__init__() got an unexpected keyword argument '{key}'")]


def test_a_renamed_keyword_is_accepted_until_its_decorator_is_removed(found):
    assert found(CALL, ["transformers==4.45.0"]) == found(CALL, ["transformers==4.57.1"]) == []
    assert found(CALL, ["transformers==5.0.0"]) == refused("Trainer", "tokenizer")


@each_case(
    ("code", "name", "key"),
    [
        ("SFTTrainer(model, args, max_seq_length=8).train()\n", "SFTTrainer", "max_seq_length"),
        ("DPOTrainer(model, args=DPOConfig('o'), beta=0.1).train()\n", "DPOTrainer", "beta"),
        ("class Own(Trainer):\n    pass\nOwn(model, args, tokenizer=t).train()\n", "Trainer", "tokenizer"),
        ("Trainer(model, args, tokenizer=t, **load()).train()\n", "Trainer", "tokenizer"),
        (HANDS_ON + "Own(1, model=model, args=args, tokenizer=t).train()\n", "Trainer", "tokenizer"),
    ],
)
def test_a_keyword_that_the_release_lacks_is_an_error(found, code, name, key):
    assert found(code) == refused(name, key)


@each_case(
    "code",
    [
        "class Own(Trainer):\n    def __init__(self, *a, tokenizer):\n        super().__init__(*a)\nOwn(m, args, tokenizer=t)\n",
        "from transformers.trainer import __version__\nif __version__ < '5':\n    " + CALL,
        "import unsloth\n" + CALL,
        HANDS_ON.replace("**more", "**{key: more[key] for key in known}") + "Own(1, model=model, args=args, tokenizer=t).train()\n",
        "from trl.experimental.cpo import CPOTrainer\nCPOTrainer(model, args, tokenizer=t)\n",
    ],
)
def test_no_finding_where_the_constructor_is_not_the_librarys_or_the_code_compares_releases(found, code):
    assert found(code) == []


IN_FUNCTION = "def main():\n    {}\n    Trainer(model, args, tokenizer=tokenizer).train()\nmain()\n"


@each_case(
    "code",
    [
        "if load():\n    " + CALL,
        "try:\n    " + CALL + "except TypeError:\n    pass\n",
        IN_FUNCTION.format("if load(): return"),
        IN_FUNCTION.format("if load(): exit(0)"),
        IN_FUNCTION.format("for each in load():\n        if each: return"),
        "import sys\nif load():\n    if more():\n        sys.exit()\n" + CALL,
    ],
)
def test_a_call_that_may_not_be_made_or_may_be_caught_is_a_warning(found, code):
    assert found(code) == refused("Trainer", "tokenizer", "warning")


@each_case(
    "code",
    [
        IN_FUNCTION.format("if load(): raise ValueError"),
        IN_FUNCTION.format("if load(): exit(1)"),
        IN_FUNCTION.format("if not load():\n        print('no training set')\n        return"),
        IN_FUNCTION.format("for each in (1, 2):\n        if load(): continue"),
        "def check():\n    if load():\n        return 1\ncheck()\n" + CALL,
    ],
)
def test_an_end_that_is_a_failure_or_is_elsewhere_leaves_a_call_certain(found, code):
    assert found(code) == refused("Trainer", "tokenizer")


def test_a_release_that_the_arguments_are_made_for_does_not_decide_about_the_trainer(found):
    code = "def build(k):\n    try:\n        return DPOConfig(**k)\n    except TypeError:\n        k.pop('x')\n"
    code += "        return DPOConfig(**k)\nDPOTrainer(m, args=build({'output_dir': 'o'}), tokenizer=t).train()\n"
    assert found(code, start=IMPORTS) == refused("DPOTrainer", "tokenizer")


def test_a_trainer_belongs_to_the_run_of_its_arguments(found):
    code = "Trainer(m, args, tokenizer=t).train()\nDPOTrainer(m, args=DPOConfig('o'), beta=0.1).train()\n"
    assert sorted(found(code)) == sorted([*refused("Trainer", "tokenizer"), *refused("DPOTrainer", "beta")])


def test_a_keyword_that_the_config_of_the_run_gets_later_was_not_removed(tmp_path, monkeypatch, capsys):
    """The scripts of TRL 0.8 had a `max_length`; SFTConfig has it from 0.16.0 on."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("from trl import SFTConfig\nargs = SFTConfig('o', max_length=5)\n")
    main(["check", "train.py", "--target", "trl==0.12.1", "--target", "transformers==4.46.3", "--format", "json"])
    assert [each["message"] for each in json.loads(capsys.readouterr().out)["diagnostics"]] == ["unknown key `max_length`"]


OWN = "from dataclasses import dataclass\nfrom transformers import Seq2SeqTrainingArguments\nfrom trl import SFTConfig\n@dataclass\n"
OLDER = ("transformers==4.46.3", "trl==0.12.2")


@each_case(
    ("base", "body", "releases", "field"),
    [
        ("TrainingArguments", "alpha: float = 1.0", NEWEST, "alpha"),
        ("Seq2SeqTrainingArguments", "pass", NEWEST, "sortish_sampler"),
        ("TrainingArguments", "alpha: float = 1.0", OLDER, None),  # only an object whose class is `TrainingArguments` itself is converted
        ("TrainingArguments", "learning_rate: float = 1e-4\n    max_length: int = 512", NEWEST, None),
        ("TrainingArguments", "alpha: float = 1.0\n    def to_dict(self):\n        return {}", NEWEST, None),
        ("SFTConfig", "alpha: float = 1.0", NEWEST, None),
        ("unknown()", "alpha: float = 1.0", NEWEST, None),
    ],
)
def test_fields_that_a_converted_class_adds(found, base, body, releases, field):
    code = f"{OWN}class Own({base}):\n    {body}\nSFTTrainer(model, args=Own('o'))\n"
    error = ("error", "/args", f"TypeError: SFTConfig.__init__() got an unexpected keyword argument '{field}'")
    assert found(code, releases, start=IMPORTS, rule="KEY208") == ([error] if field else [])


STOPS = "from transformers import EarlyStoppingCallback, Trainer, TrainingArguments\n"
EVALUATED = "args = TrainingArguments('o', eval_strategy='epoch', save_strategy='epoch'%s)\n"
IN_CALL = "Trainer(model, args, callbacks=[EarlyStoppingCallback()]).train()\n"
ADDED = "trainer = Trainer(model, args)\ntrainer.add_callback(EarlyStoppingCallback())\ntrainer.train()\n"


def early_stopping(needed):
    return f"AssertionError: EarlyStoppingCallback requires {needed}"


@each_case(
    ("code", "release", "raised"),
    [
        (EVALUATED % "" + IN_CALL, "4.48.3", early_stopping("load_best_model_at_end = True")),
        (EVALUATED % ", metric_for_best_model='loss'" + IN_CALL, "4.48.3", early_stopping("load_best_model_at_end = True")),
        (EVALUATED % ", metric_for_best_model='loss'" + IN_CALL, "4.49.0", None),
        (EVALUATED % "" + IN_CALL, "4.49.0", early_stopping("metric_for_best_model to be defined")),
        (EVALUATED % "" + ADDED, "4.49.0", early_stopping("metric_for_best_model to be defined")),
        (
            "args = TrainingArguments('o', metric_for_best_model='f1')\n" + IN_CALL,
            "5.23.0",
            early_stopping("IntervalStrategy of steps or epoch"),
        ),
        ("args = TrainingArguments('o', metric_for_best_model='f1', evaluation_strategy='epoch')\n" + IN_CALL, "5.23.0", None),
        (EVALUATED % ", load_best_model_at_end=True" + IN_CALL, "4.48.3", None),
        (EVALUATED % "" + IN_CALL.replace(".train()", ".evaluate()"), "4.49.0", None),
        (EVALUATED % ", load_best_model_at_end=best()" + IN_CALL, "4.48.3", None),
        (EVALUATED % "" + ADDED.replace("trainer.train", "trainer.pop_callback(EarlyStoppingCallback)\ntrainer.train"), "4.49.0", None),
        (EVALUATED % "" + ADDED.replace("trainer.add", "if early():\n    trainer.add"), "4.49.0", None),
        (
            EVALUATED % "" + ADDED.replace("trainer.add", "if early():\n    trainer.add_callback(print)\ntrainer.add"),
            "4.49.0",
            early_stopping("metric_for_best_model to be defined"),
        ),
        (EVALUATED % "" + ADDED.replace("trainer.train", "changed(trainer)\ntrainer.train"), "4.49.0", None),
    ],
)
def test_early_stopping_needs_a_metric_and_evaluations(found, code, release, raised):
    assert [each[2] for each in found(code, [f"transformers=={release}"], STOPS, "HFT070")] == ([raised] if raised else [])


def test_a_line_may_give_what_early_stopping_needs(found):
    parsed = "from transformers import HfArgumentParser\n[args] = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
    assert [each[0] for each in found(parsed + IN_CALL, ["transformers==4.44.2"], STOPS, "HFT070")] == ["warning"]


STREAMS = "from datasets import load_dataset\nfrom transformers import Trainer, TrainingArguments\n"
TRAIN = "Trainer(model, args=TrainingArguments('o'%s), train_dataset=data).train()\n"


@each_case(
    ("data", "arguments", "count"),
    [
        ("load_dataset('c4', streaming=True)['train'].map(f).shuffle()", "", 1),
        ("load_dataset('c4', split='train', streaming=True)", ", max_steps=10", 0),
        ("load_dataset('c4', streaming=True)", "", 0),
        ("load_dataset('c4', split='train', streaming=stream)", "", 0),
        ("load_dataset('c4', split='train')", "", 0),
        ("list(load_dataset('c4', split='train', streaming=True).take(8))", "", 0),
    ],
)
def test_a_streamed_training_set_needs_a_number_of_steps(found, data, arguments, count):
    assert len(found(f"data = {data}\n{TRAIN % arguments}", start=STREAMS, rule="HFT071")) == count
