"""Random generated configs before the installed DeepSpeed, transformers and accelerate.

Nothing is trained: the frameworks read the files, check them, fill them in and count the steps, for a world
that is only said to be as large as the job's.
"""

from __future__ import annotations

import os
import random
from math import ceil

import pytest

from cfglint.generators import RUN, generate, takes
from cfglint.generators.job_spec import OPTIMIZERS, PRECISIONS, SCHEDULERS, Contradiction, JobSpec, Unreachable

torch = pytest.importorskip("torch", reason="torch is not installed: there is no framework to ask")
deepspeed = pytest.importorskip("deepspeed", reason="deepspeed is not installed: nobody to ask about its files")
transformers = pytest.importorskip("transformers", reason="transformers is not installed: nobody to ask about a trainer's files")
accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed: nobody to ask about launch files")

EACH = 300  # configs of each kind
SEED = 20261120
INSTALLED = {"transformers": transformers.__version__, "deepspeed": deepspeed.__version__, "accelerate": accelerate.__version__}
NEEDS_PACKAGE = ("adamw-8bit", "lion")  # bitsandbytes


def jobs(kind, number):
    """(job, generated files) of random facts, as many as asked for."""
    chance = random.Random(f"{SEED} {kind}")
    made = []
    while len(made) < number:
        taken = takes(kind)
        facts = {name: value for name, value in random_facts(chance).items() if name in taken}
        try:
            job = JobSpec(**facts, target=INSTALLED)
            made.append((job, generate(kind, job)))
        except (Contradiction, Unreachable):
            continue
    return made


def random_facts(chance):
    """What somebody might say."""
    each = chance.choice((1, 2, 4, 8))
    gpus = each * chance.randint(1, 4)
    facts = {
        "gpus": gpus,
        "gpus_per_node": each,
        "global_batch": chance.choice((None, gpus * chance.randint(1, 64))),
        chance.choice(("micro_batch", "max_micro_batch")): chance.randint(1, 16),
        "zero": chance.choice((None, 0, 1, 2, 3)),
        "offload": chance.choice((None, None, "optimizer", "all")),
        "precision": chance.choice((None, *PRECISIONS)),
        "learning_rate": chance.choice((None, 1e-5, 2e-4, 0.001)),
        "optimizer": chance.choice((None, *OPTIMIZERS)),
        "scheduler": chance.choice((None, *SCHEDULERS)),
        "warmup": chance.choice((None, 0.0, 0.03, 1, 20)),
        "lora": chance.choice((None, True)),
        "num_examples": chance.randint(20_000, 10**6),
        "clipping": chance.choice((None, 0.5)),
        "weight_decay": chance.choice((None, 0.1)),
        **chance.choice(({}, {"epochs": chance.choice((1, 3, 2.5))}, {"steps": chance.randint(100, 10**5)})),
    }
    return {name: value for name, value in facts.items() if value is not None}


def write(made, folder):
    """The files in a folder, by name."""
    for file in made.files:
        (folder / file.name).write_text(file.text, encoding="utf-8")
    return {file.name: str(folder / file.name) for file in made.files}


@pytest.fixture
def world(monkeypatch):
    """A function that makes DeepSpeed and the trainer's arguments believe in so many processes, on GPUs that know bf16."""
    arguments = transformers.TrainingArguments
    size = {"processes": 1}

    def devices(self):
        self._n_gpu = 1
        return torch.device("cpu")

    monkeypatch.setattr(deepspeed.comm, "get_rank", lambda group=None: 0)
    monkeypatch.setattr(deepspeed.comm, "get_world_size", lambda group=None: size["processes"])
    monkeypatch.setattr(arguments, "world_size", property(lambda self: size["processes"]))
    monkeypatch.setattr(arguments, "_setup_devices", property(devices))
    monkeypatch.setattr(transformers.training_args, "is_torch_bf16_gpu_available", lambda: True)
    return lambda processes: size.update(processes=processes)


def engine_config(source, split):
    """DeepSpeed's own reading of a file or mapping, and that it has the split."""
    config = deepspeed.DeepSpeedConfig(source)
    batch = (config.train_batch_size, config.train_micro_batch_size_per_gpu, config.gradient_accumulation_steps)
    assert batch == (split.global_batch, split.micro_batch, split.accumulation)
    return config


def has_schedule(config, job):
    """DeepSpeed's schedule is built, and its warm-up and end are the asked ones."""
    if config.scheduler_name is None:
        assert job.scheduler in (None, "constant")
        return
    from deepspeed.runtime import lr_schedules

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=config.optimizer_params["lr"])
    schedule = getattr(lr_schedules, config.scheduler_name)(optimizer, **config.scheduler_params)
    assert schedule.warmup_num_steps >= 2
    if job.warmup and job.warmup > 2:
        assert schedule.warmup_num_steps == job.warmup
    if job.steps and config.scheduler_name != "WarmupLR":
        assert schedule.total_num_steps == job.steps


def test_deepspeed_takes_its_files(tmp_path, world):
    for job, made in jobs("deepspeed", EACH):
        world(job.gpus)
        [path] = write(made, tmp_path).values()
        config = engine_config(path, made.split)
        assert config.zero_optimization_stage == (job.zero or 0)
        assert (config.bfloat16_config.enabled, config.float16_config.enabled) == (job.precision in (None, "bf16"), job.precision == "fp16")
        assert config.gradient_clipping == (job.clipping or 1.0)
        has_schedule(config, job)


class Loader:
    """As much of a data loader as the count of steps looks at."""

    def __init__(self, length, examples):
        self.length = length
        self.dataset = range(examples)

    def __len__(self):
        return self.length


def counted(args, job, split):
    """What the trainer makes of its arguments: (total batch, steps)."""
    trainer = object.__new__(transformers.Trainer)
    trainer.args = args
    trainer.model = None
    trainer.is_deepspeed_enabled = bool(args.deepspeed)
    trainer.accelerator = type("Accelerator", (), {"parallelism_config": None})
    trainer._train_batch_size = args.train_batch_size
    batches = torch.utils.data.BatchSampler(range(job.num_examples), args.train_batch_size, False)
    shard = accelerate.data_loader.BatchSamplerShard(batches, split.data_parallel, 0)
    numbers = transformers.Trainer.set_initial_training_values(trainer, args, Loader(len(shard), job.num_examples))
    return trainer.get_total_train_batch_size(args), numbers[-1]


def trains_as_asked(args, job, split):
    """Batch, length, warm-up and schedule of the trainer's arguments."""
    total_batch, total = counted(args, job, split)
    assert (args.per_device_train_batch_size, args.gradient_accumulation_steps) == (split.micro_batch, split.accumulation)
    assert total_batch == split.global_batch
    if job.steps:
        assert total == job.steps
    else:
        an_epoch = job.num_examples / split.global_batch
        assert abs(total - (job.epochs or 3.0) * an_epoch) <= (job.epochs or 3.0) + 1
    warmup = args.get_warmup_steps(total)
    assert warmup == (0 if not job.warmup else job.warmup if job.warmup >= 1 else ceil(total * job.warmup))
    assert (args.bf16, args.fp16) == (job.precision in (None, "bf16"), job.precision == "fp16")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=args.learning_rate)
    transformers.get_scheduler(args.lr_scheduler_type, optimizer, warmup, total, scheduler_specific_kwargs=args.lr_scheduler_kwargs)
    if job.optimizer not in NEEDS_PACKAGE:
        transformers.Trainer.get_optimizer_cls_and_kwargs(args)
    return total


def fills(args, total, split):
    """The DeepSpeed file as the trainer fills it in: nothing is left to fill, and DeepSpeed takes it."""
    launch = args.hf_deepspeed_config
    launch.trainer_config_finalize(args, None, total)
    assert '"auto"' not in __import__("json").dumps(launch.config)
    engine_config(launch.config, split)


def parsed(path):
    """The trainer's arguments of a file, no key too many."""
    [args] = transformers.HfArgumentParser((transformers.TrainingArguments,)).parse_yaml_file(path)
    return args


@pytest.mark.skipif(transformers.__version__ < "5", reason="transformers before 5 counts its steps inside train()")
@pytest.mark.parametrize("kind", ["huggingface", RUN])
def test_transformers_takes_its_files(kind, tmp_path, monkeypatch, world):
    monkeypatch.chdir(tmp_path)
    for job, made in jobs(kind, EACH):
        paths = write(made, tmp_path)
        with monkeypatch.context() as launched:
            for name in [name for name in os.environ if name.startswith("ACCELERATE_")]:
                launched.delenv(name)
            if kind == RUN:
                for name, value in launcher_environment(paths["accelerate.yaml"], job).items():
                    launched.setenv(name, value)
            world(job.gpus)
            args = parsed(paths["train.yaml"])
            total = trains_as_asked(args, job, made.split)
            assert bool(args.deepspeed) == ("ds_config.json" in paths)
            if args.deepspeed:
                fills(args, total, made.split)
            os.environ.pop("ACCELERATE_USE_DEEPSPEED", None)  # the trainer's own note to accelerate


def launcher_environment(path, job):
    """What `accelerate launch` would hand to the processes that it starts, and that it starts as many as asked."""
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils import launch

    args = launch_command_parser().parse_args(["--config_file", path, "--main_process_ip", "localhost", "script.py"])
    args, defaults, named = _validate_launch_command(args)
    assert (args.num_processes, args.num_machines) == (job.gpus, max(job.gpus // job.gpus_per_node, 1))
    before = dict(os.environ)
    if args.use_deepspeed:
        fields = [*defaults.deepspeed_config, *["mixed_precision"] * bool(named)]
        args.deepspeed_fields_from_accelerate_config = ",".join(fields)
        environment = launch.prepare_deepspeed_cmd_env(args)[1]
    elif args.multi_gpu:
        environment = launch.prepare_multi_gpu_env(args)
    else:
        environment = launch.prepare_simple_launcher_cmd_env(args)[1]
    assert int(getattr(args, "nproc_per_node", None) or 1) == (job.gpus if args.num_machines == 1 else job.gpus_per_node)
    return {name: value for name, value in environment.items() if name.startswith("ACCELERATE_") and before.get(name) != value}


def test_accelerate_takes_its_files(tmp_path):
    for job, made in jobs("accelerate", EACH):
        [path] = write(made, tmp_path).values()
        environment = launcher_environment(path, job)
        assert environment["ACCELERATE_MIXED_PRECISION"] == {None: "bf16", "fp32": "no"}.get(job.precision, job.precision)
        assert environment.get("ACCELERATE_DEEPSPEED_ZERO_STAGE") == (None if job.zero is None else str(job.zero))
