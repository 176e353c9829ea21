"""Programs with an `Accelerator` and a training loop of their own: the loader sets the batch."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

IMPORTS = """import argparse, torch
from accelerate import Accelerator, DeepSpeedPlugin
from accelerate.utils import DataLoaderConfiguration, GradientAccumulationPlugin
from torch.utils.data import DataLoader
"""
MADE = "accelerator = Accelerator({})\nloader, tests = DataLoader(rows, {}), DataLoader(rows, batch_size=99)\n"
LOOP = """loader, tests = accelerator.prepare(loader, tests)
for epoch in range(epochs):
    for step, batch in enumerate(loader):
        with accelerator.accumulate(model):
            accelerator.backward(model(batch))
            optimizer.step()
"""
PROGRAM = IMPORTS + MADE + LOOP


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The run of a program, of a folder or of a launch line."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def report(code, *options, path="train.py", line=""):
        (tmp_path / "train.py").write_text(code)
        if line:
            (tmp_path / "run.sh").write_text(line + "\n")
        main(["check", path, "--gpus", "4", *options, "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        found["sizes"] = [[each["resolved"][name] for name in ("micro_batch", "accumulation", "global_batch")] for each in found["runs"]]
        return found

    return report


@pytest.mark.parametrize("path", ["train.py", "."])
def test_a_program_that_no_line_starts_is_a_run(run, path):
    found = run(PROGRAM.format("gradient_accumulation_steps=2", "8"), path=path)
    assert (found["sizes"], found["runs"][0]["kinds"], found["runs"][0]["files"][0].endswith("train.py")) == (
        [[8, 2, 64]],
        ["launch"],
        True,
    )


def test_an_accelerator_of_a_branch_that_is_not_taken_is_none(run):
    made = "if torch.cuda.is_available():\n    accelerator = Accelerator({})\nelse:\n    accelerator = Accelerator(mixed_precision='no')\n"
    found = run(IMPORTS + made.format("gradient_accumulation_steps=2") + MADE.partition("\n")[2].format("8") + LOOP)
    assert found["sizes"] == [[8, 2, 64]]


def test_of_a_function_that_makes_several_loaders_the_one_of_the_loop_counts(run):
    made = "def loader_of(part):\n    return DataLoader(rows[part], batch_size=6 if part == 'train' else 1)\n"
    called = "accelerator = Accelerator()\nloader, tests = loader_of('train'), loader_of('test')\n"
    assert run(IMPORTS + made + called + LOOP)["sizes"] == [[6, 1, 24]]
    assert run(IMPORTS + made + called.replace("'train'", "'test'") + LOOP)["sizes"] == [[1, 1, 4]]


def test_a_file_that_the_line_names_from_the_top_of_the_project_is_read(run, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "a.yaml").write_text("batch_size: 6\n")
    top = 'TOP=$(cd "$(dirname "$0")" && pwd)\nexport CONF=$TOP/conf/a.yaml\n'
    for given in ("sys.argv[1]", "os.environ['CONF']"):
        code = PROGRAM.format("", "**config").replace(
            "import argparse,", f"import os, sys, yaml\nconfig = yaml.safe_load(open({given}))\nimport"
        )
        found = run(code, path="run.sh", line=f"{top}accelerate launch --num_processes 2 train.py $CONF")
        assert found["sizes"] == [[6, 1, 12]]


@each_case(
    ("arguments", "loader", "sizes"),
    [
        ("", "batch_size=8", [8, 1, 32]),
        ("", "shuffle=True", [1, 1, 4]),
        ("", "batch_size=size()", [None, 1, None]),
        ("", "batch_sampler=sampler", [None, 1, None]),
        ("gradient_accumulation_steps=steps()", "8", [8, None, None]),
        ("split_batches=True", "8", [8, 1, 32]),
        ("dataloader_config=DataLoaderConfiguration(split_batches=True)", "8", [2, 1, 8]),
        ("gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=4)", "8", [8, 4, 128]),
        ("gradient_accumulation_steps=2, deepspeed_plugin=DeepSpeedPlugin(gradient_accumulation_steps=4)", "8", [8, 4, 128]),
        ("gradient_accumulation_steps=2, deepspeed_plugin=DeepSpeedPlugin(gradient_accumulation_steps=None)", "8", [8, 2, 64]),
        ("gradient_accumulation_steps=2, deepspeed_plugin=DeepSpeedPlugin(hf_ds_config='ds.json')", "8", [8, None, None]),
        ("parallelism_config=config", "8", [8, 1, None]),
    ],
)
def test_what_the_arguments_make_of_the_batch(run, arguments, loader, sizes):
    assert run(PROGRAM.format(arguments, loader))["sizes"] == [sizes]


@each_case(("given", "sizes"), [("", [8, 2, 64]), ("make()", [None, None, None])])
def test_an_accelerator_that_a_branch_makes(run, given, sizes):
    """The evaluation decides which branch it is."""
    start = "def start(given=None):\n    if given is None:\n        given = Accelerator(gradient_accumulation_steps=2)\n    return given\n"
    code = PROGRAM.format("", "batch_size=8").replace("accelerator = Accelerator()\n", f"{start}accelerator = start({given})\n")
    assert run(code, path="run.sh", line="accelerate launch --multi_gpu --num_processes 4 train.py --lr 1 --epochs 2")["sizes"] == [sizes]


@each_case(
    ("made", "later", "sizes"),
    [
        ("", "accelerator.gradient_accumulation_steps = 16 // accelerator.num_processes", [8, 4, 128]),
        ("gradient_accumulation_steps=2", "setattr(accelerator, 'gradient_accumulation_steps', 4)", [8, 4, 128]),
        ("gradient_accumulation_steps=2", "accelerator.gradient_accumulation_steps = steps()", [8, None, None]),
        ("gradient_accumulation_steps=2", "accelerator.name = 4", [8, 2, 64]),
        ("gradient_accumulation_plugin=plugin", "plugin.num_steps = 4", [8, 4, 128]),
    ],
)
def test_what_is_set_after_the_accelerator_is_made(run, made, later, sizes):
    code = IMPORTS + "plugin = GradientAccumulationPlugin(num_steps=2)\n" + MADE.format(made, "8") + later + "\n" + LOOP
    found = run(code)
    assert (found["sizes"], [each["code"] for each in found["diagnostics"]]) == ([sizes], [])


def test_a_loop_over_steps_takes_several_batches_in_each(run):
    code = IMPORTS + MADE.format("", "8") + "loader = accelerator.prepare(loader)\nbatches = iter(loader)\nfor step in range(1000):\n"
    code += "    for _ in range(4):\n        accelerator.backward(model(next(batches)))\n    optimizer.step()\n"
    found = run(code)
    assert (found["sizes"], found["runs"][0]["resolved"]["total_steps"]) == ([[8, 4, 128]], 1000)


def test_the_accumulation_of_an_accelerate_config_is_that_of_the_accelerator(run, tmp_path):
    engine = "deepspeed_config: {gradient_accumulation_steps: 8, zero_stage: 2}"
    config = f"distributed_type: DEEPSPEED\nnum_processes: 4\nnum_machines: 1\n{engine}\n"
    (tmp_path / "a.yaml").write_text(config)
    warm = "from transformers import get_linear_schedule_with_warmup as made\n"
    warm += "schedule = accelerator.prepare(made(optimizer, 800 // accelerator.gradient_accumulation_steps, 8000))\n"
    code = IMPORTS + MADE.format("", "8") + warm + LOOP
    found = run(code, path="run.sh", line="accelerate launch --config_file a.yaml train.py")
    assert (found["sizes"], found["runs"][0]["resolved"]["warmup_steps"]) == ([[8, 8, 256]], 100)


def test_a_batch_whose_parts_are_trained_on_has_no_known_size(run):
    within = "    for batch in loader:\n        results = generate(batch)\n        for start in range(0, 8, 4):\n"
    step = "            accelerator.backward(model(results[start : start + 4]))\n        optimizer.step()\n"
    code = IMPORTS + MADE.format("", "8") + "loader = accelerator.prepare(loader)\nfor epoch in range(2):\n" + within + step
    assert run(code)["sizes"] == [[None, None, None]]


def test_an_accelerator_splits_batches_before_its_first_release(run):
    assert run(PROGRAM.format("split_batches=True", "8"), "--target", "accelerate==0.34.2")["sizes"] == [[2, 1, 8]]


OWN_STEPS = """for step, batch in enumerate(loader):
    {}
    accelerator.backward(model(batch))
    {}
    optimizer.step()
"""


@each_case(
    ("before", "behind", "accumulation"),
    [
        ("pass", "if batch: print(batch)", 1),
        ("pass", "if (step + 1) % 2 == 0:\n        optimizer.step()\n    continue", 2),
        ("pass", "if (step + 1) % 2 == 0 or step == len(loader) - 1:\n        optimizer.step()\n    continue", 2),
        ("pass", "if (step + 1) % 2: continue", 2),
        ("pass", "if (step + 1) % 2 != 0: continue", 2),
        ("is_last = step % 4 == 3", "if (step + 1) % n() != 0: continue", None),
        ("is_last = (step + 1) % 4 == 0", "if not is_last: continue", 4),
        ("is_last = (step + 1) % 4 == 0", "if is_last:\n        optimizer.step()\n    continue", 4),
        ("if step % 2 == 0: continue", "pass", 1),
        ("pass", "if torch.isfinite(loss):\n        optimizer.step()\n    continue", 1),
        ("count += 1", "if count < 4: continue\n    count = 0", 4),
        ("count += 1", "if count < 4: continue", None),
        ("count += 1", "if count == 4:\n        optimizer.step()\n        count = 0\n    continue", 4),
        ("pass", "if wanted():\n        optimizer.step()\n    continue", None),
        ("pass", "for part in parts(): optimizer.step()", None),
        ("with accelerator.accumulate(model): pass", "if accelerator.sync_gradients: clip()", 8),
    ],
)
def test_when_the_optimizer_steps_in_a_loop_of_the_program(run, before, behind, accumulation):
    made = MADE.format("gradient_accumulation_steps=8", "batch_size=8")
    [sizes] = run(IMPORTS + made + OWN_STEPS.format(before, behind))["sizes"]
    assert sizes == [8, accumulation, accumulation and 32 * accumulation]


def test_a_loader_by_the_launch_line(run):
    code = IMPORTS + "parser = argparse.ArgumentParser()\nparser.add_argument('--rows', type=int, default=8)\nargs = parser.parse_args()\n"
    code += MADE.format("", "args.rows") + LOOP
    assert run(code)["sizes"] == [[8, 1, 32]]
    assert run(code, path="run.sh", line="accelerate launch --num_processes 2 train.py --rows 3")["sizes"] == [[3, 1, 6]]


OWN_CLASS = """from tqdm import tqdm
class Trains:
    def __init__(self):
        self.accelerator = Accelerator(gradient_accumulation_steps=2)
        self.loader = self.accelerator.prepare(DataLoader(rows, batch_size=8))
    def train(self):
        bar = tqdm(self.loader, total=len(self.loader))
        for step, batch in enumerate(bar):
            with self.accelerator.accumulate(self.model):
                self.accelerator.backward(self.model(batch))
                self.optimizer.step()
Trains().train()
"""


def test_a_loader_of_an_object(run):
    assert run(IMPORTS + OWN_CLASS)["sizes"] == [[8, 2, 64]]


@each_case(
    ("arguments", "release", "severities"),
    [
        ("even_batches=False", "0.34.0", []),
        ("even_batches=False", "1.15.0", ["error"]),
        ("dataloader_config=own()", "0.27.0", ["error"]),
        ("logging_dir='logs'", "0.18.0", []),
        ("logging_dir='logs'", "0.20.0", ["error"]),
        ("mixed_precision='fp17'", "1.15.0", ["error"]),
        ("gradient_accumulation_steps=2, gradient_accumulation_plugin=GradientAccumulationPlugin()", "1.15.0", ["error"]),
    ],
)
def test_arguments_that_the_release_refuses(run, arguments, release, severities):
    found = run(PROGRAM.format(arguments, "8"), "--target", f"accelerate=={release}")["diagnostics"]
    assert [each["severity"] for each in found if each["code"] == "LCH020"] == severities


def test_a_release_that_nobody_states_gives_a_warning(run):
    [found] = run(PROGRAM.format("even_batches=False", "8"))["diagnostics"]
    assert (found["code"], found["severity"]) == ("LCH020", "warning")


@each_case(
    ("code", "batch", "after"),
    [
        (PROGRAM.format("gradient_accumulation_steps=2", "8"), "256", PROGRAM.format("gradient_accumulation_steps=8", "8")),
        (PROGRAM.format("gradient_accumulation_steps=2", "8"), "16", PROGRAM.format("gradient_accumulation_steps=1", "4")),
        (
            "size = 8\n" + PROGRAM.format("mixed_precision='bf16'", "size"),
            "16",
            "size = 4\n" + PROGRAM.format("mixed_precision='bf16'", "size"),
        ),
        (
            PROGRAM.format("mixed_precision='bf16'", "8"),
            "64",
            PROGRAM.format("mixed_precision='bf16', gradient_accumulation_steps=2", "8"),
        ),
    ],
)
@pytest.mark.usefixtures("run")
def test_fix_edits_the_loader_and_the_accelerator(tmp_path, code, batch, after):
    (tmp_path / "train.py").write_text(code)
    assert main(["fix", "train.py", "--gpus", "4", "--global-batch", batch]) == 0
    assert (tmp_path / "train.py").read_text() == after


@each_case(
    ("line", "batch", "script"),
    [
        ("torchrun --nproc_per_node 4 train.py --rows 8 --accum 2", 256, "torchrun --nproc_per_node 4 train.py --rows 8 --accum 8"),
        ("torchrun --nproc_per_node 4 train.py --accum=2 --rows=8", 32, "torchrun --nproc_per_node 4 train.py --accum=1 --rows=8"),
    ],
)
def test_fix_edits_the_line_that_starts_a_loop(run, tmp_path, capsys, line, batch, script):
    parsed = "parser = argparse.ArgumentParser()\nparser.add_argument('--rows', type=int, default=1)\n"
    parsed += "parser.add_argument('--accum', type=int, default=1)\nargs = parser.parse_args()\n"
    code = IMPORTS + parsed + MADE.format("gradient_accumulation_steps=args.accum", "args.rows") + LOOP
    run(code, path="run.sh", line=line)
    assert (main(["fix", "run.sh", "--global-batch", str(batch)]), capsys.readouterr())[0] == 0
    assert ((tmp_path / "run.sh").read_text(), (tmp_path / "train.py").read_text()) == (script + "\n", code)


def test_fix_refuses_a_loop_that_does_not_accumulate(run, tmp_path, capsys):
    code = IMPORTS + MADE.format("gradient_accumulation_steps=2", "8") + STEPS_EACH
    run(code, path="run.sh", line="torchrun --nproc_per_node 4 train.py")
    assert main(["fix", "run.sh", "--global-batch", "256"]) == 2
    assert "no edit of the batch keys" in capsys.readouterr().err
    assert (tmp_path / "train.py").read_text() == code


def test_fix_names_what_it_does_not_edit_of_a_loop(run, capsys):
    run(PROGRAM.format("gradient_accumulation_steps=int(s)", "8"))
    assert main(["fix", "train.py", "--gpus", "4", "--global-batch", "256"]) == 2
    assert "set `batch_size` (train.py:6)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("torch.optim.AdamW(model.parameters(), lr=2e-5)", {"optimizer": "AdamW", "learning rate": 2e-5}),
        ("torch.optim.SGD(model.parameters(), lr=args.rate)", {"optimizer": "SGD", "learning rate": 0.5}),
        ("torch.optim.SGD(model.parameters(), lr=rate())", {"optimizer": "SGD"}),
        ("torch.optim.SGD(model, lr=0.1), torch.optim.Adam(other, lr=0.1)", {}),
        ("other.AdamW(model.parameters(), lr=2e-5)", {}),
    ],
)
def test_the_optimizer_and_its_rate_are_those_of_the_program(tmp_path, monkeypatch, capsys, made, found):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    parsed = "parser = argparse.ArgumentParser()\nparser.add_argument('--rate', type=float, default=0.1)\nargs = parser.parse_args()\n"
    (tmp_path / "train.py").write_text(IMPORTS + parsed + MADE.format("", 8) + f"optimizer = {made}\n" + LOOP)
    (tmp_path / "run.sh").write_text("accelerate launch --num_processes 2 train.py --rate 0.5\n")
    main(["explain", "run.sh", "--format", "json"])
    settings = {each["name"]: each["value"] for each in json.loads(capsys.readouterr().out)["settings"]}
    assert {name: settings[name] for name in ("optimizer", "learning rate") if name in settings} == found


PARSED = "parser = argparse.ArgumentParser()\nparser.add_argument('--accum', type=int, default=1)\nargs = parser.parse_args()\n"
STEPS_EACH = "for batch in loader:\n    accelerator.backward(model(batch))\n    optimizer.step()\n"


@each_case(
    ("arguments", "line", "code"),
    [
        ("gradient_accumulation_steps=4", "", "LCH026"),
        ("gradient_accumulation_steps=1", "", None),
        ("gradient_accumulation_steps=args.accum", "torchrun --nproc_per_node 4 train.py --accum 8", "LCH026"),
        ("", "torchrun --nproc_per_node 4 train.py --accum 8", "LCH026"),
        ("", "torchrun --nproc_per_node 4 train.py", None),
        ("split_batches=True", "", "LCH027"),
        ("logging_dir='logs'", "", "LCH020"),
        ("fp16=True", "", "LCH020"),
    ],
)
def test_what_a_loop_or_a_release_makes_nothing_of(run, arguments, line, code):
    program = IMPORTS + PARSED + MADE.format(arguments, "batch_size=8") + STEPS_EACH
    found = run(program, path="run.sh" if line else "train.py", line=line)["diagnostics"]
    assert [each["code"] for each in found] == ([code] if code else [])


def test_batches_that_are_taken_before_they_are_gone_through_are_no_turns_of_the_loop(run):
    loop = """batches = iter(accelerator.prepare(loader))
for _ in range(len(loader) // args.accum):
    taken = []
    for _ in range(args.accum):
        taken += [next(batches)]
    for batch in taken:
        accelerator.backward(model(batch))
    optimizer.step()
"""
    found = run(IMPORTS + PARSED + MADE.format("gradient_accumulation_steps=4", "batch_size=8") + loop)
    assert (found["diagnostics"], found["sizes"][0][1:]) == ([], [None, None])


LENGTH = """parser = argparse.ArgumentParser()
parser.add_argument('--epochs', type=int, default=3)
parser.add_argument('--max_steps', type=int)
args = parser.parse_args()
per_epoch = math.ceil(len(loader) / accelerator.gradient_accumulation_steps)
if args.max_steps is None:
    args.max_steps = args.epochs * per_epoch
schedule = get_scheduler(
    "cosine", optimizer=optimizer, num_warmup_steps=50 * accelerator.num_processes, num_training_steps=args.max_steps
)
loader = accelerator.prepare(loader)
args.epochs = math.ceil(args.max_steps / per_epoch)
done = 0
for epoch in trange(args.epochs, desc="Epoch"):
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch))
            optimizer.step()
        if accelerator.sync_gradients:
            done += 1
        if done >= args.max_steps:
            break
"""


@each_case(
    ("line", "settings"),
    [
        ("train.py", {"epochs": 3, "total steps": None, "warm-up": 50, "schedule": "cosine"}),
        ("train.py --epochs 7", {"epochs": 7, "total steps": None, "warm-up": 50, "schedule": "cosine"}),
        ("train.py --max_steps 400", {"total steps": 400, "warm-up": 50, "schedule": "cosine"}),
    ],
)
def test_the_length_of_a_loop(tmp_path, monkeypatch, capsys, line, settings):
    (tmp_path / ".git").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path)
    code = "import math\nfrom tqdm.auto import trange\nfrom transformers import get_scheduler\n" + IMPORTS
    code += MADE.format("gradient_accumulation_steps=2", 8) + LENGTH
    (tmp_path / "train.py").write_text(code)
    (tmp_path / "run.sh").write_text(f"accelerate launch --num_processes 2 {line}\n")
    main(["explain", "run.sh", "--format", "json"])
    found = {each["name"]: each["value"] for each in json.loads(capsys.readouterr().out)["settings"]}
    assert {name: found[name] for name in ("epochs", "total steps", "warm-up", "schedule") if name in found} == settings


FILE = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 2\nmixed_precision: bf16\ndeepspeed_config:\n"


@each_case(
    ("keyword", "config", "engine", "release", "accumulation"),
    [
        ("4", "  gradient_accumulation_steps: 8\n  zero_stage: 2\n", None, "1.15.0", 8),
        ("4", "  zero_stage: 2\n", None, "1.15.0", 4),
        ("4", "  deepspeed_config_file: ds.json\n", {"gradient_accumulation_steps": 16}, "1.15.0", 16),
        ("4", "  deepspeed_config_file: ds.json\n", {"gradient_accumulation_steps": "auto"}, "1.15.0", 4),
        ("4", "  deepspeed_config_file: ds.json\n", {}, "1.15.0", 1),
        ("4", "  deepspeed_config_file: ds.json\n", {"gradient_accumulation_steps": 16}, "0.20.3", 4),
    ],
)
def test_deepspeed_settings_of_the_launcher_take_precedence(run, tmp_path, keyword, config, engine, release, accumulation):
    (tmp_path / "accelerate.yaml").write_text(FILE + config)
    (tmp_path / "ds.json").write_text(json.dumps({"zero_optimization": {"stage": 2}, **(engine or {})}))
    line = "accelerate launch --config_file accelerate.yaml train.py"
    code = PROGRAM.format(f"gradient_accumulation_steps={keyword}", "batch_size=8")
    [sizes] = run(code, "--target", f"accelerate=={release}", path="run.sh", line=line)["sizes"]
    assert sizes == [8, accumulation, 16 * accumulation]


def test_a_loop_without_accumulate_under_deepspeed_steps_each_batch_since_accelerate_1_8(run, tmp_path):
    (tmp_path / "accelerate.yaml").write_text(FILE + "  gradient_accumulation_steps: 8\n  zero_stage: 2\n")
    line = "accelerate launch --config_file accelerate.yaml train.py"
    code = IMPORTS + MADE.format("", "batch_size=8") + STEPS_EACH
    assert run(code, "--target", "accelerate==1.8.0", path="run.sh", line=line)["sizes"] == [[8, 1, 16]]
    assert run(code, "--target", "accelerate==1.7.0", path="run.sh", line=line)["sizes"] == [[8, 8, 128]]


def test_an_accelerator_in_plain_python_is_one_process(run):
    code = PROGRAM.format("", "batch_size=8")
    assert run(code, path="run.sh", line="python train.py")["sizes"] == [[8, 1, 8]]


PIPELINE = """import argparse, deepspeed
from deepspeed.pipe import PipelineModule
parser = deepspeed.add_config_arguments(argparse.ArgumentParser())
parser.add_argument('-p', type=int, default=2)
args = parser.parse_args()
net = PipelineModule(layers=layers, num_stages=args.p)
engine, _, _, _ = deepspeed.initialize(args=args, model=net, model_parameters=net.parameters(), training_data=rows)
for step in range(40):
    engine.train_batch()
"""


def test_the_stages_of_a_pipeline_divide_the_processes(run, tmp_path):
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4}')
    line = "deepspeed --num_gpus 8 train.py --deepspeed --deepspeed_config ds.json -p 4"
    assert run(PIPELINE, path="run.sh", line=line)["sizes"] == [[2, 4, 16]]


def test_a_module_in_a_folder_that_the_program_adds_to_its_path(run, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "settings.py").write_text("SIZE = 16\n")
    for added in ("os.path.join(os.path.dirname(__file__), 'shared')", "str(Path(__file__).parent / 'shared')", "'shared'"):
        code = f"import os, sys\nfrom pathlib import Path\nsys.path.append({added})\nfrom settings import SIZE\n"
        assert run(code + PROGRAM.format("", "SIZE"))["sizes"] == [[16, 1, 64]], added


ENGINE = """import deepspeed, torch
from torch.utils.data import DataLoader
loader = DataLoader(rows, batch_size={})
engine, _, _, _ = deepspeed.initialize(model=m, model_parameters=p, config="ds.json")
for epoch in range(3):
    for batch in loader:
        engine.backward(engine(batch))
        engine.step()
"""


@pytest.mark.parametrize(("size", "consumed"), [(2, 4), (100, 200)])
def test_an_engine_takes_the_batches_of_the_programs_own_loader(run, tmp_path, size, consumed):
    (tmp_path / "ds.json").write_text('{"train_batch_size": 4, "optimizer": {"type": "Adam", "params": {"lr": 1e-3}}}')
    found = run(ENGINE.format(size), path="run.sh", line="deepspeed --num_gpus 2 train.py")["runs"][0]["resolved"]
    assert (found["micro_batch"], found["global_batch"], found["consumed_batch"]) == (size, 4, consumed)
    assert main(["fix", "run.sh", "--global-batch", "64"]) == (0 if size == 2 else 2)


@each_case(
    ("loops", "sizes"),
    [
        ("for part in [loader, other]:\n    for batch in part:\n", [8, 2, 64]),
        ("for one, two in zip(loader, other):\n    if True:\n", [None, 2, None]),
        ("for batch in cycle(loader):\n    if True:\n", [8, 2, 64]),
        ("taken = iter(loader)\nwhile True:\n    batch = next(taken)\n    if True:\n", [8, 2, 64]),
    ],
)
def test_where_a_loop_takes_its_batches(run, loops, sizes):
    code = IMPORTS + "def cycle(loader):\n    while True:\n        for each in loader:\n            yield each\n\n"
    code += MADE.format("gradient_accumulation_steps=2", "batch_size=8") + "other = DataLoader(rows, batch_size=8)\n" + loops
    code += "        with accelerator.accumulate(model):\n            accelerator.backward(model(batch))\n            optimizer.step()\n"
    assert run(code)["sizes"] == [sizes]


OWN_ARGUMENTS = """import deepspeed, json, torch
from deepspeed.ops.adam import FusedAdam
from torch.utils.data import DataLoader
from transformers import HfArgumentParser, TrainingArguments, get_constant_schedule_with_warmup
(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
loader = DataLoader(rows, batch_size=args.per_device_train_batch_size)
optimizer = FusedAdam(model.parameters(), lr=args.learning_rate)
schedule = get_constant_schedule_with_warmup(optimizer, num_warmup_steps=10)
engine, optimizer, _, schedule = deepspeed.initialize(model=model, optimizer=optimizer, lr_scheduler=schedule, config=settings())
for epoch in range(2):
    for batch in loader:
        engine.backward(engine(batch))
        engine.step()
"""


def test_defaults_of_the_trainer_are_not_those_of_a_loop_that_reads_its_arguments(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(OWN_ARGUMENTS)
    (tmp_path / "run.sh").write_text(
        "deepspeed --num_gpus 2 train.py --output_dir o --per_device_train_batch_size 4 --learning_rate 1e-4\n"
    )
    main(["explain", "run.sh", "--format", "json"])
    found = {each["name"]: each["value"] for each in json.loads(capsys.readouterr().out)["settings"]}
    names = ("micro batch", "optimizer", "learning rate", "schedule", "precision")
    assert {name: found.get(name) for name in names} == {
        "micro batch": 4,
        "optimizer": "FusedAdam",
        "learning rate": 1e-4,
        "schedule": "constant_with_warmup",
        "precision": None,
    }


BY_TABLE = """import deepspeed, torch
from dataclasses import dataclass
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import HfArgumentParser, TrainingArguments

class Base:
    def train(self, model, args):
        loader = DataLoader(rows, batch_size=args.per_device_train_batch_size)
        {}
        for epoch in range(5):
            for batch in loader:
                engine.backward(engine(batch))
                engine.step()

METHODS = {{"base": Base}}
@dataclass
class Own:
    method: str = "other"

args, own = HfArgumentParser((TrainingArguments, Own)).parse_args_into_dataclasses()
METHODS[own.method]().train(model, args)
"""


def test_a_program_that_parses_a_trainers_arguments_and_has_a_loop_of_its_own(run, tmp_path):
    optimizer = {"optimizer": {"type": "AdamW", "params": {"lr": 1e-5}}}
    (tmp_path / "ds.json").write_text(json.dumps({"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, **optimizer}))
    line = "deepspeed --num_gpus 4 train.py --method base --output_dir o --per_device_train_batch_size 4"
    engine = "engine = deepspeed.initialize(model=model, config={})[0]"
    [by_engine] = run(BY_TABLE.format(engine.format("args.deepspeed")), path="run.sh", line=f"{line} --deepspeed ds.json")["runs"]
    assert [by_engine["resolved"][name] for name in ("micro_batch", "accumulation", "global_batch")] == [4, 2, 32]
    assert by_engine["verdict"] is None  # what the class itself checks was not asked
    assert [each["what"] for each in by_engine["not_read"]] == ["what `TrainingArguments` checks of the line"]
    [computed] = run(BY_TABLE.format(engine.format("settings()")), path="run.sh", line=line)["runs"]
    assert [computed["resolved"][name] for name in ("accumulation", "global_batch")] == [None, None]
    assert not computed["read"]


@each_case(
    ("prepared", "codes"),
    [
        ("accelerator.prepare(model)", ["LCH028"]),
        ("accelerator.prepare(model, DataLoader(rows, batch_size=8))", []),
        ("accelerator.prepare(model, anything())", []),
        ("accelerator.state.deepspeed_plugin.deepspeed_config[KEY] = 4\naccelerator.prepare(model)", []),
        ("if anything():\n    accelerator.prepare(model)", []),
    ],
)
def test_deepspeed_takes_an_open_micro_batch_from_a_prepared_loader(run, tmp_path, prepared, codes):
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": "auto"}')
    line = "accelerate launch --num_processes 4 --use_deepspeed --deepspeed_config_file ds.json train.py"
    model = 'accelerator = Accelerator()\nmodel = transformers.AutoModelForCausalLM.from_pretrained("gpt2")\n'
    found = run(f"import transformers\n{IMPORTS}{model}{prepared}\n", path="run.sh", line=line)
    assert [each["code"] for each in found["diagnostics"]] == codes


def test_a_dummy_optimizer_and_schedule_stand_for_those_of_the_deepspeed_config(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    engine = {
        "optimizer": {"type": "AdamW"},
        "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_max_lr": 1e-4, "total_num_steps": 9}},
    }
    (tmp_path / "ds.json").write_text(json.dumps({"zero_optimization": {"stage": 2}, **engine}))
    (tmp_path / "accelerate.yaml").write_text(FILE + "  deepspeed_config_file: ds.json\n")
    (tmp_path / "run.sh").write_text("accelerate launch --config_file accelerate.yaml train.py\n")
    imports = (
        "from accelerate.utils.deepspeed import DummyOptim, DummyScheduler\nfrom transformers import get_linear_schedule_with_warmup\n"
    )
    made = """plugin = accelerator.state.deepspeed_plugin
optimizer = (torch.optim.SGD if plugin is None else DummyOptim)(model.parameters(), lr=1e-4)
if plugin is None:
    schedule = get_linear_schedule_with_warmup(optimizer, 0, 9)
else:
    schedule = DummyScheduler(optimizer, total_num_steps=9)
optimizer, schedule = accelerator.prepare(optimizer, schedule)
"""
    (tmp_path / "train.py").write_text(imports + IMPORTS + MADE.format("", 8) + made + LOOP)
    main(["explain", "run.sh", "--format", "json"])
    settings = {each["name"]: each["value"] for each in json.loads(capsys.readouterr().out)["settings"]}
    assert (settings["optimizer"], settings["schedule"]) == ("AdamW", "WarmupDecayLR")


def test_an_engine_without_an_optimizer_trains_nothing_beside_an_accelerator(run, tmp_path):
    """It holds an average of the weights: the batch and the precision are those of the `Accelerator`."""
    (tmp_path / "average.json").write_text(json.dumps({"zero_optimization": {"stage": 3}, "bf16": {"enabled": False}}))
    parsed = "import deepspeed, json\nargs = argparse.ArgumentParser()\nargs.add_argument('--average')\nargs = args.parse_args()\n"
    config = "config = json.load(open(args.average))\nconfig['train_micro_batch_size_per_gpu'] = 1\n"
    code = IMPORTS + parsed + config + MADE.format("", 8) + "average, _, _, _ = deepspeed.initialize(model=other, config=config)\n"
    found = run(
        code + LOOP, path="run.sh", line="accelerate launch --num_processes 4 --mixed_precision bf16 train.py --average average.json"
    )
    assert found["sizes"] == [[8, 1, 32]]


@each_case(("collate", "micro"), [("lambda x: x", None), ("lambda rows: rows[0]", None), ("lambda rows: joined(rows)", 1), ("joined", 1)])
def test_a_loader_that_hands_on_single_elements_may_give_whole_batches(run, collate, micro):
    found = run(PROGRAM.format("", f"batch_size=1, collate_fn={collate}"))
    assert found["runs"][0]["resolved"]["micro_batch"] == micro


@each_case(
    ("plugin", "precision"),
    [("DeepSpeedPlugin(hf_ds_config=HfDeepSpeedConfig(config))", None), ("own()", None), ("DeepSpeedPlugin(zero_stage=2)", "fp32")],
)
def test_the_config_of_a_plugin_may_set_the_precision(run, capsys, plugin, precision):
    run(PROGRAM.format(f"deepspeed_plugin={plugin}", "8"), path="run.sh", line="deepspeed train.py")
    main(["explain", "run.sh", "--format", "json"])
    settings = {each["name"]: each["value"] for each in json.loads(capsys.readouterr().out)["settings"]}
    assert settings.get("precision") == precision


def test_a_loop_of_a_class_whose_arguments_are_a_dataclass_of_the_program(run, tmp_path):
    (tmp_path / "loops.py").write_text(
        IMPORTS + "from dataclasses import asdict\nclass Loop:\n    def __init__(self, args):\n        self.args = asdict(args)\n"
        "        self.accelerator = Accelerator(gradient_accumulation_steps=self.args['accumulation'])\n"
        "        self.loader = self.accelerator.prepare(DataLoader(rows, batch_size=self.args['batch']))\n"
        "    def train(self):\n        for batch in self.loader:\n            with self.accelerator.accumulate(model):\n"
        "                self.accelerator.backward(model(batch))\n                optimizer.step()\n"
    )
    code = "from dataclasses import dataclass\nfrom transformers import HfArgumentParser\nfrom loops import Loop\n@dataclass\nclass Own:\n"
    code += "    batch: int\n    accumulation: int = 1\n[args] = HfArgumentParser(Own).parse_args_into_dataclasses()\nLoop(args).train()\n"
    line = "accelerate launch --num_processes 4 train.py --batch 2 --accumulation 3"
    assert run(code, path="run.sh", line=line)["sizes"] == [[2, 3, 24]]
