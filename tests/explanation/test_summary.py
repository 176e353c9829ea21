"""The account of a run: its lines, where each comes from, and what is unknown."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.cli import main
from cfglint.evaluate import Unknown
from cfglint.explanation.summary import RunSummary, origin, table
from cfglint.frameworks.huggingface.fields import FIELDS
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.summary import MOST_MARKS, Summary
from cfglint.run.discovery import Discovery

TRAINER = """\
output_dir: out
per_device_train_batch_size: 4
gradient_accumulation_steps: 8
num_train_epochs: 2
warmup_ratio: 0.1
bf16: true
eval_strategy: steps
eval_steps: 100
"""
DEEPSPEED = """\
{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
 "zero_optimization": {"stage": 2}}
"""


def test_a_diagram_has_all_steps_of_a_kind_or_none():
    marked = {}
    for count in (MOST_MARKS - 1, MOST_MARKS, MOST_MARKS + 1, MOST_MARKS + 2):
        summary = Summary("transformers 5.23.0", marks={})
        summary.mark("evaluations", iter(range(count)))
        marked[count] = len(summary.marks.get("evaluations", ()))
    assert marked == {MOST_MARKS - 1: MOST_MARKS - 1, MOST_MARKS: MOST_MARKS, MOST_MARKS + 1: 0, MOST_MARKS + 2: 0}


@pytest.fixture
def account(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(kind=None, facts=None, **texts):
        names = {"trainer": "train.yaml", "deepspeed": "ds.json", "neox": "neox.yml", "accelerate": "launch.yaml"}
        for name, text in texts.items():
            (tmp_path / names[name]).write_text(text, encoding="utf-8")
        return RunSummary(Discovery(facts or LaunchFacts(), kind).together([names[name] for name in texts])[0])

    return make


def line(account, label):
    (item,) = [each for each in account.items if each.label == label]
    return item.setting.value, origin(item)


def test_written_numbers_name_their_line(account):
    told = account(trainer=TRAINER, facts=LaunchFacts(gpus=8))
    assert line(told, "micro batch") == (4, "train.yaml:2")
    assert line(told, "accumulation") == (8, "train.yaml:3")
    assert line(told, "global batch") == (256, "4 x 8 x 8")
    assert line(told, "GPUs") == (8, "--gpus")


def test_defaults_name_the_release(account):
    told = account(trainer=TRAINER, facts=LaunchFacts(target={"transformers": "4.51.3"}))
    assert line(told, "schedule") == ("linear", "default of transformers 4.51.3")


@pytest.mark.parametrize(
    ("version", "an_epoch", "total", "how"),
    [("4.51.3", 39, 78, "rounded down (up to 4.51.3)"), ("4.52.0", 40, 80, "rounded up (from 4.52.0)")],
)
def test_the_length_says_how_it_comes_about(account, version, an_epoch, total, how):
    told = account(trainer=TRAINER, facts=LaunchFacts(gpus=2, num_examples=2510, target={"transformers": version}))
    assert line(told, "batches per epoch") == (314, "per process, of 2: 2,510 / 4 / 2, rounded up")
    assert line(told, "steps per epoch") == (an_epoch, f"314 batches / accumulation 8, {how}")
    assert line(told, "total steps") == (total, f"2 epochs x {an_epoch}")


def test_warm_up_and_evaluations(account):
    told = account(trainer=TRAINER, facts=LaunchFacts(gpus=1, num_examples=10_000, target={"transformers": "4.57.1"}))
    assert line(told, "total steps")[0] == 626
    assert line(told, "warm-up steps") == (63, "warmup_ratio 0.1 of 626, rounded up (train.yaml:5)")
    assert line(told, "evaluations") == (6, "eval_strategy is steps (train.yaml:7), every 100")


@pytest.mark.parametrize(("delay", "count"), [(0, 6), (400, 3), (10_000, 0)])
def test_a_delay_leaves_out_the_evaluations_before_it(account, delay, count):
    told = account(trainer=f"{TRAINER}max_steps: 600\neval_delay: {delay}\n", facts=LaunchFacts(gpus=1, num_examples=10_000))
    assert line(told, "evaluations")[0] == count


def test_max_steps_wins_over_epochs(account):
    told = account(trainer=TRAINER + "max_steps: 50\n", facts=LaunchFacts(gpus=1, num_examples=3200))
    assert line(told, "total steps") == (50, "max_steps")
    assert line(told, "epochs") == (0.5, "max_steps overrides num_train_epochs")


def test_what_is_unknown_names_the_flags(account):
    told = account(trainer=TRAINER)
    needs = {item.label: item.needs for item in told.unknown}
    assert needs["GPUs"] == needs["global batch"] == "--gpus N"
    assert needs["total steps"] == "--gpus N and --num-examples N"
    assert "micro batch" not in needs


def test_nothing_is_unknown_for_want_of_a_flag_that_is_there(account):
    told = account(trainer=TRAINER, facts=LaunchFacts(gpus=4))
    assert {item.needs for item in told.unknown} == {"--num-examples N"}


def test_a_deepspeed_file_says_who_filled_it(account):
    told = account(trainer=TRAINER + "deepspeed: ds.json\n", deepspeed=DEEPSPEED, facts=LaunchFacts(gpus=4))
    assert line(told, "ZeRO stage") == (2, "ds.json:2")
    assert line(told, "train_micro_batch_size_per_gpu") == (4, "auto: per_device_train_batch_size")
    assert line(told, "train_batch_size")[0] == 128


@pytest.mark.parametrize(
    ("more", "precision"),
    [
        ('"train_batch_size": 64', "fp32"),
        ('"train_batch_size": "auto"', None),  # who fills it adds the section that it lacks
        ('"train_batch_size": "auto", "fp16": {"enabled": false}', None),
        ('"train_batch_size": "auto", "bf16": {"enabled": true}', "bf16"),
    ],
)
def test_a_precision_that_a_trainer_may_add_is_not_known(account, more, precision):
    told, _ = line(account(deepspeed=f'{{"zero_optimization": {{"stage": 2}}, {more}}}'), "precision")
    assert (None if isinstance(told, Unknown) else told) == precision


def test_three_written_sizes_imply_the_gpus(account):
    told = account(
        deepspeed='{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "steps_per_print": 10}\n'
    )
    assert line(told, "GPUs implied") == (8, "global batch / (micro batch x accumulation)")
    assert line(told, "global batch") == (64, "ds.json:1")


def test_a_schedule_of_deepspeed_warms_up_for_two_steps_at_least(account):
    optimizer = '"optimizer": {"type": "AdamW", "params": {"lr": 0.1}}'
    scheduler = '"scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 1}}'
    text = f'{{"train_batch_size": 8, {optimizer}, {scheduler}}}'
    told = account("deepspeed", deepspeed=text)
    assert line(told, "schedule's warm-up")[0] == 2


def test_layout_of_neox(account):
    text = "pipe-parallel-size: 2\nmodel-parallel-size: 2\ntrain-micro-batch-size-per-gpu: 4\nseq-length: 2048\ntrain-iters: 100\n"
    told = account("neox", neox=text, facts=LaunchFacts(gpus=8, num_examples=1000))
    assert line(told, "data parallel") == (2, "8 GPUs / tensor parallel 2 / pipeline 2")
    assert line(told, "pipeline") == (2, "neox.yml:1")
    assert line(told, "tokens per step") == (16384, "global batch x 2,048")
    assert line(told, "steps per epoch") == (125, "1,000 samples / global batch = 125.00, rounded down")


@pytest.mark.parametrize(
    ("text", "clips", "how"),
    [
        ("gradient_clipping: 1.0\n", 0.0, "neox.yml:1: 1.0 is not passed to DeepSpeed, which then does not clip"),
        ("seed: 1\n", 0.0, "the default 1.0 is not passed to DeepSpeed, which then does not clip"),
        ("gradient_clipping: 0.5\n", 0.5, "neox.yml:1"),
        ("gradient_clipping: 1.0\ndeepspeed_extra_args: {gradient_clipping: 1.0}\n", 1.0, "neox.yml:2"),
    ],
)
def test_the_clipping_of_neox_is_what_the_engine_does(account, text, clips, how):
    assert line(account("neox", neox=text), "gradient clipping") == (clips, how)


def test_gpus_of_a_launch_file(account):
    launch = "distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 9\n"
    told = account(accelerate=launch, trainer=TRAINER)
    assert told.run.kinds == ["huggingface", "accelerate"]
    assert line(told, "GPUs") == (8, "launch.yaml:3")
    assert line(told, "processes per machine") == (4, "num_processes 9 (launch.yaml:3) / num_machines 2, 1 not started")
    assert line(told, "global batch")[0] == 256


def test_a_file_that_cannot_be_read_has_no_lines_but_its_error(account):
    told = account("huggingface", trainer="output_dir: [\n")
    assert told.items == []
    assert [each.severity for each in told.errors] == ["error"]


def test_plain_values_have_place_and_reason(account):
    told = table(account(trainer=TRAINER, facts=LaunchFacts(gpus=8)))
    assert told["resolved"]["global_batch"] == 256
    assert told["verdict"] == "accept"
    by_key = {each["key"]: each for each in told["settings"]}
    micro, size, rate, samples = (
        by_key[f"/{key}"] for key in ("per_device_train_batch_size", "global_batch", "learning_rate", "num_examples")
    )
    assert (micro["value"], micro["origin"], micro["file"], micro["line"]) == (4, "written", "train.yaml", 2)
    assert (size["origin"], size["because"], size["file"]) == ("derived", "4 x 8 x 8", None)
    assert (rate["value"], rate["origin"], rate["file"]) == (5e-05, "default", None)
    assert (samples["value"], samples["needs"]) == (None, "--num-examples N")


def test_every_good_example_is_told_without_a_fault(example_project):
    paths = sorted(path for path in (example_project / "examples" / "good").rglob("*") if path.suffix in (".yaml", ".yml", ".json"))
    for run in Discovery(LaunchFacts(gpus=8, num_examples=10_000)).runs([str(path) for path in paths]):
        told = RunSummary(run)
        assert told.items, run.documents[0].path
        assert [each for each in run.diagnostics if each.code == "INT000"] == []


@pytest.mark.parametrize(
    ("train_iters", "factor", "scale", "count"),
    [
        (100, 10, "linear", 10),
        (100, 2, "log", 8),
        (10**12, 1, "linear", None),
        (10**12, 1.000000001, "log", None),
        (10**400, 2, "log", None),
    ],
)
def test_checkpoints_are_counted_where_they_can_be(account, train_iters, factor, scale, count):
    text = f"save: out\ntrain_iters: {train_iters}\ncheckpoint_factor: {factor}\ncheckpoint_scale: {scale}\nextra_save_iters: [a]\n"
    found = [item.setting.value for item in account("neox", neox=text).items if item.label == "checkpoints"]
    assert found == ([count] if count else [])


def test_a_share_of_more_steps_than_a_float_can_count(account):
    told = account("neox", neox=f"train_iters: 1{'0' * 400}\nlr_decay_fraction: 0.5\nwarmup: 0.01\n")
    assert told.resolved["warmup_steps"] is None
    assert not told.run.bugs


def test_an_automatic_size_that_its_trainer_fills_is_not_null(capsys, tmp_path, monkeypatch):
    from cfglint.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}')
    assert main(["explain", "--all", "ds.json"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "micro batch" in line)
    assert line.split()[2] == "auto"


def test_what_the_trainer_fills_in_for_the_block_of_an_accelerate_config(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text("output_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\nbf16: true\n")
    clipping = FIELDS["max_grad_norm"][1]
    block = "deepspeed_config:\n  zero_stage: 2\n  gradient_accumulation_steps: 2\n"
    (tmp_path / "acc.yaml").write_text(f"distributed_type: DEEPSPEED\nnum_processes: 8\nmixed_precision: bf16\n{block}")
    assert main(["explain", "--all", "train.yaml", "acc.yaml", "--run"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"gradient clipping {clipping} auto: max_grad_norm" in shown
    assert f'"auto" filled in: train_micro_batch_size_per_gpu 4, train_batch_size 64, gradient_clipping {clipping}' in shown


def test_the_defaults_of_a_script_are_assumed_not_to_be_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = "torchrun --nproc_per_node ${1:-2} train.py --per_device_train_batch_size $B --save_total_limit 2 --per_device_eval_batch_size 1"
    (tmp_path / "run.sh").write_text(f'B="${{BATCH:-4}}"\nEPOCHS=${{SHORT:+1}}\n{line}\n', encoding="utf-8")
    (run,) = Discovery(LaunchFacts()).runs(["run.sh"])
    assert RunSummary(run).unset == ["`BATCH` is not set (run.sh:1)", "`$1` is not given (run.sh:3)"]


@pytest.mark.parametrize(
    ("before", "assumed"),
    [
        ('[ -n "$FAST" ] && B=1 || B=4', ["`FAST` is not set (run.sh:1)"]),
        ('if [ -z "$B" ]; then B=4; fi', ["`B` is not set (run.sh:1)"]),
        ("B=4; if [[ $FAST == 1 ]]; then B=1; fi", ["`FAST` is not set (run.sh:1)"]),
        ("if [[ -v FAST ]]; then B=1; elif true; then B=4; fi", ["`FAST` is not set (run.sh:1)"]),
        ('case "$MODE" in fast) B=1;; *) B=4;; esac', ["`MODE` is not set (run.sh:1)"]),
        ('B=4; case "$MODE" in fast) B=1;; esac', ["`MODE` is not set (run.sh:1)"]),
        ('B=4; [ -z "$CONDA" ] && source activate', []),  # nothing of the run depends on it
        ('FAST=; B=4; [ -n "$FAST" ] && B=1', []),
    ],
)
def test_a_variable_that_decides_a_branch_is_assumed_not_to_be_set(tmp_path, monkeypatch, before, assumed):
    monkeypatch.chdir(tmp_path)
    line = "torchrun --nproc_per_node 2 train.py --per_device_train_batch_size $B --save_total_limit 2 --per_device_eval_batch_size 1"
    (tmp_path / "run.sh").write_text(f"{before}\n{line}\n", encoding="utf-8")
    (run,) = Discovery(LaunchFacts()).runs(["run.sh"])
    assert (RunSummary(run).unset, run.resolved["micro_batch"]) == (assumed, 4)


@pytest.mark.parametrize(
    ("program", "unknown"),
    [
        (
            "from accelerate import Accelerator\nimport os\naccelerator = Accelerator(mixed_precision=os.environ['P'])\n"
            "model = accelerator.prepare(model)\nfor batch in batches:\n    accelerator.backward(model(batch))\n",
            "`mixed_precision`",
        ),
        (
            "from dataclasses import dataclass\nimport transformers\nfrom transformers import HfArgumentParser, Trainer\n"
            "@dataclass\nclass Arguments(transformers.TrainingArguments):\n    output_dir: str = 'out'\n"
            "    load_best_model_at_end: bool = True\n"
            "(args,) = HfArgumentParser(Arguments).parse_args_into_dataclasses()\nTrainer(model=None, args=args).train()\n",
            "`save_strategy`",
        ),
    ],
)
def test_a_run_should_not_start_where_what_decides_is_not_known(tmp_path, monkeypatch, capsys, program, unknown):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    main(["explain", "train.py"])
    assert capsys.readouterr().out.startswith(f"No error in what is known; not known: {unknown}")


@pytest.mark.parametrize(("parsed", "headline"), [("", "It would start"), ("p.parse_args()\n", "No errors found in this file")])
def test_a_program_whose_arguments_are_not_known_is_read_as_it_is(tmp_path, monkeypatch, capsys, parsed, headline):
    monkeypatch.chdir(tmp_path)
    options = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', default='d')\n"
    built = "from transformers import Trainer, TrainingArguments\nTrainer(model=None, args=TrainingArguments('o', max_steps=5)).train()\n"
    (tmp_path / "train.py").write_text(options + parsed + built, encoding="utf-8")
    main(["explain", "train.py"])
    assert capsys.readouterr().out.startswith(f"{headline}.")


@each_case(
    ("method", "given", "unknown"),
    [
        ("def create_scheduler(self, n, optimizer=None):\n        self.lr_scheduler = own(self.optimizer)", "", {"schedule"}),
        ("def create_scheduler(self, n, optimizer=None):\n        return super().create_scheduler(n, optimizer)", "", set()),
        (
            "def create_scheduler(self, n, optimizer=None):\n        self.lr_scheduler = get_scheduler(self.args.lr_scheduler_type, n)",
            "",
            set(),
        ),
        (
            "def create_scheduler(self, n, optimizer=None):\n        self.lr_scheduler = own(n) if n else super().create_scheduler(n)",
            "",
            {"schedule"},
        ),
        (
            "def create_optimizer(self):\n        self.optimizer = made(*Trainer.get_optimizer_cls_and_kwargs(self.args))",
            "",
            set(),
        ),
        (
            "def create_optimizer(self):\n        self.optimizer = Own(self.model, lr=self.args.learning_rate)",
            "",
            {"optimizer", "weight decay"},
        ),
        ("x = 1", ", optimizers=(Own(model), None)", {"optimizer", "learning rate", "weight decay"}),
        ("x = 1", ", optimizers=(None, Own(model))", {"schedule"}),
        ("x = 1", ", optimizers=made(model)", {"optimizer", "learning rate", "weight decay", "schedule"}),
    ],
)
def test_what_a_program_makes_itself_is_not_that_of_its_arguments(tmp_path, monkeypatch, method, given, unknown):
    monkeypatch.chdir(tmp_path)
    built = f"Own(model=model, args=TrainingArguments('o', max_steps=5){given}).train()\n"
    text = f"from transformers import Trainer, TrainingArguments\nclass Own(Trainer):\n    {method}\n{built}"
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    (run,) = Discovery(LaunchFacts()).runs(["train.py"])
    found = {item.label for item in RunSummary(run).items if item.group == "Learning rate" and item.setting.is_unknown}
    assert found == unknown
