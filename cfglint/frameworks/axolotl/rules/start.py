"""Failures after validation: the parallel sizes, the optimizer."""

from __future__ import annotations

import math

from cfglint.findings.rule import Example, Finding, init_error, warning
from cfglint.frameworks.axolotl import KIND
from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.axolotl.parallel import problem
from cfglint.frameworks.axolotl.rules import BASE
from cfglint.frameworks.axolotl.trainer_arguments import BUILT, DION, DION_RATE, UNHANDLED
from cfglint.source.annotations import Iterator

COSINE_MIN, COSINE_CONSTANT = "cosine_min_lr_ratio", "cosine_constant_lr_ratio"
LORA = BASE + "micro_batch_size: 1\ngradient_accumulation_steps: 1\nadapter: lora\nlora_r: 8\nlora_alpha: 16\nlora_target_linear: true\n"
ONE_CYCLE = tuple(
    """
    epochs steps_per_epoch pct_start anneal_strategy cycle_momentum base_momentum max_momentum div_factor final_div_factor
    three_phase last_epoch
    """.split()
)


@init_error(
    "AXL041",
    source="axolotl 0.21.0 utils/distributed.py:345-446, utils/trainer.py:672; accelerate 1.15.0 parallelism_config.py:336-380",
    bad=BASE + "context_parallel_size: 2\n",
    good=BASE + "context_parallel_size: 2\ndp_shard_size: 4\nfsdp_config: {fsdp_version: 2}\n",
    example={"kind": KIND, "at": "/context_parallel_size", "gpus": 8},
)
def axolotl_parallel_sizes(config: AxolotlConfig) -> Iterator[Finding]:
    """The product of the parallel sizes is not the number of processes.

    axolotl passes only the sizes in the file to accelerate, so `context_parallel_size: 2` alone is refused on 8 GPUs:
    `dp_replicate_size` x `dp_shard_size` x tensor x context parallel size has to be the number of processes.

    Fix: write `dp_shard_size` (with `fsdp_config`) for the rest of the processes.
    """
    if config.model is None or not config.parsed:
        return
    found = problem(config.model, config.facts.gpus)
    if found is not None:
        first, *others = [config.place(path) for path in found.paths]
        written = [each for each in others if each.written]
        yield Finding(
            first, found.message, related=written, exception=found.exception, fails_at=found.fails_at, help=found.help_for(config.values)
        )


@init_error(
    "AXL042",
    source="axolotl 0.21.0 core/builders/base.py:345-525",
    bad=(BASE + "optimizer: ao_adamw_8bit\n", BASE + "optimizer: dion\n"),
    good=BASE + "optimizer: adamw_torch_8bit\n",
    example={"kind": KIND, "at": "/optimizer"},
)
def axolotl_optimizer_unhandled(config: AxolotlConfig) -> Iterator[Finding]:
    """An optimizer that is in axolotl's list, and that its builder does not build.

    These are `ao_adamw_4bit` and `ao_adamw_8bit` from 0.12.0 on, and `dion` without `dion_lr`.
    """
    if not config.parsed or config.model is None:
        return
    name = config.model.optimizer
    if name == DION and config.model.dion_lr is None:
        yield Finding(
            config.place(("optimizer",)),
            f"`optimizer: dion` requires `{DION_RATE}`",
            exception="KeyError: 'dion_learning_rate'",
            help=f"set `{DION_RATE}`, the learning rate of Dion's own parameters",
        )
    if name in UNHANDLED and config.own_version not in BUILT:
        yield Finding(
            config.place(("optimizer",)),
            f"`optimizer: {name}` is accepted, but axolotl cannot build it",
            exception=f"ValueError: Unhandled optimizer: {name}. Please raise an Issue.",
            help="set `optimizer: adamw_torch_8bit`, or another one",
        )


@init_error(
    "AXL044",
    raises="TypeError: '<=' not supported between instances of 'float' and 'str'",
    source="axolotl 0.21.0 utils/schemas/training.py:320-325; torch 2.13 optim/adam.py:58",
    bad=BASE.replace("2.0e-5", '""'),
    good=BASE,
    example={"kind": KIND, "at": "/learning_rate"},
)
def axolotl_empty_learning_rate(config: AxolotlConfig) -> Iterator[Finding]:
    """`learning_rate` is the empty string, which axolotl does not convert to a number."""
    if config.parsed and config.model is not None and config.model.learning_rate == "":
        yield Finding(
            config.place(("learning_rate",)),
            "`learning_rate` is empty; a number is required",
            help="set `learning_rate: 2.0e-5`, or another number",
        )


@init_error(
    "AXL045",
    source="axolotl 0.21.0 core/trainers/mixins/scheduler.py:83-124",
    bad=(
        BASE + "cosine_min_lr_ratio: 10\n",
        Example(BASE + "cosine_min_lr_ratio: 0.1\ncosine_constant_lr_ratio: 80\n", "/cosine_constant_lr_ratio"),
    ),
    good=BASE + "cosine_min_lr_ratio: 0.1\ncosine_constant_lr_ratio: 0.8\n",
    example={"kind": KIND, "at": "/cosine_min_lr_ratio"},
)
def axolotl_cosine_ratio(config: AxolotlConfig) -> Iterator[Finding]:
    """`cosine_min_lr_ratio` or `cosine_constant_lr_ratio` is not between 0 and 1."""
    model, launch = config.model, config.deepspeed
    if not config.parsed or model is None or not model.cosine_min_lr_ratio or (launch is not None and "scheduler" in launch.written):
        return
    checked = [COSINE_MIN] if model.lr_scheduler == "rex" else [COSINE_MIN, COSINE_CONSTANT]
    if model.lr_scheduler not in (None, "cosine", "rex") or (model.lr_scheduler != "rex" and model.lr_quadratic_warmup is True):
        return
    for key in checked:
        value = getattr(model, key)
        if value is not None and not 0 <= value <= 1:
            text = f"AssertionError: {key} must be between 0.0 and 1.0"
            yield Finding(
                config.place((key,)),
                f"`{key}` is {value:g}; it must be a fraction between 0 and 1",
                exception=text,
                help=f"set `{key}` to a fraction, such as 0.1",
            )
            return


@init_error(
    "AXL043",
    source="axolotl 0.21.0 core/trainers/mixins/scheduler.py:67-82; torch 2.13 optim/lr_scheduler.py",
    bad=BASE + "lr_scheduler: one_cycle\nlr_scheduler_kwargs: {num_cycles: 2}\n",
    good=BASE + "lr_scheduler: one_cycle\nlr_scheduler_kwargs: {pct_start: 0.1}\n",
    example={"kind": KIND, "at": "/lr_scheduler_kwargs/num_cycles"},
)
def axolotl_schedule_argument(config: AxolotlConfig) -> Iterator[Finding]:
    """An argument that torch's `OneCycleLR` does not have.

    `one_cycle` is a schedule of axolotl's own, which passes `lr_scheduler_kwargs` to torch; `rex` ignores them.

    Fix: pct_start, anneal_strategy, cycle_momentum, base_momentum, max_momentum, div_factor, final_div_factor, three_phase and
    last_epoch are the arguments that there are.
    """
    model = config.model
    if not config.parsed or model is None or model.lr_scheduler != "one_cycle" or model.jagged_restart_steps:
        return
    for key in model.lr_scheduler_kwargs or ():
        if key not in ONE_CYCLE:
            text = f"TypeError: OneCycleLR.__init__() got an unexpected keyword argument {key!r}"
            yield Finding(
                config.place(("lr_scheduler_kwargs", key)),
                f"`lr_scheduler: one_cycle` has no parameter `{key}`",
                exception=text,
                help=f"remove `lr_scheduler_kwargs.{key}`",
                on_key=True,
            )


@init_error(
    "AXL046",
    source="axolotl 0.21.0 core/builders/causal.py:445",
    bad=BASE.replace("path: data.jsonl, ", ""),
    good=BASE,
    example={"kind": KIND, "at": "/datasets/0/path"},
)
def axolotl_dataset_without_path(config: AxolotlConfig) -> Iterator[Finding]:
    """An entry of `datasets` has no `path`."""
    model = config.model
    if not config.parsed or model is None or model.rl or model.reward_model or model.process_reward_model:
        return
    for index, item in enumerate(model.datasets if isinstance(model.datasets, list) else ()):
        if isinstance(item, dict) and item.get("path") is None and item.get("type") != "_synthetic":
            yield Finding(
                config.place(("datasets", index, "path")),
                f"`datasets.{index}` has no `path`",
                exception="TypeError: argument should be a str or an os.PathLike object where __fspath__ returns a str, not 'NoneType'",
                help="add `path`: a file, a folder or a name on the Hub",
            )


@init_error(
    "AXL047",
    source="axolotl 0.21.0 utils/trainer.py:536, 557; utils/data/sft.py:124 computes it for `max_steps` as well",
    bad=(BASE + "num_epochs: .inf\n", BASE + "num_epochs: .nan\n"),
    good=BASE + "num_epochs: 3\n",
    example={"kind": KIND, "at": "/num_epochs"},
)
def axolotl_infinite_epochs(config: AxolotlConfig) -> Iterator[Finding]:
    """`num_epochs` is not finite, so that axolotl cannot compute the number of steps."""
    model = config.model
    if not config.parsed or model is None or not isinstance(model.num_epochs, float) or math.isfinite(model.num_epochs):
        return
    if model.pretraining_dataset or model.streaming or model.sample_packing_eff_est or (model.rl and model.max_steps):
        return
    is_number = not math.isnan(model.num_epochs)
    text = "OverflowError: cannot convert float infinity to integer" if is_number else "ValueError: cannot convert float NaN to integer"
    place = config.place(("num_epochs",))
    yield Finding(place, f"`num_epochs` is {place.spelled}; it must be finite", exception=text, help="set `num_epochs` to a finite number")


@init_error(
    "AXL048",
    source="axolotl 0.21.0 core/builders/causal.py:158-167, utils/import_helper.py",
    bad=BASE + "trainer_cls: abc\n",
    good=BASE + "trainer_cls: package.module.Trainer\n",
    example={"kind": KIND, "at": "/trainer_cls"},
)
def axolotl_invalid_trainer_class(config: AxolotlConfig) -> Iterator[Finding]:
    """`trainer_cls` is not the path of a class in a module."""
    model = config.model
    if not config.parsed or model is None or config.validation.plugins or model.rl or model.reward_model or model.process_reward_model:
        return
    name = model.trainer_cls
    if name and "." not in name:
        yield Finding(
            config.place(("trainer_cls",)),
            f"`trainer_cls` is {name}, which names no module",
            exception=f"ValueError: Failed to load custom trainer class {name!r}: Invalid module string format: {name}",
            help="write it as `module.Class`, or remove it",
        )


@init_error(
    "AXL066",
    source="axolotl 0.21.0 utils/data/sft.py:473, core/builders/base.py:585; 0.9.2 utils/data/sft.py:414, core/trainer_builder.py:431",
    bad=(
        BASE + "val_set_size: null\n",
        Example(BASE + "rl: dpo\nval_set_size: null\neval_steps: 10\n", "/val_set_size", "ValueError: You have set `args.eval_strategy`"),
    ),
    good=BASE + "val_set_size: 0\n",
    example={"kind": KIND, "at": "/val_set_size"},
)
def axolotl_null_evaluation_set(config: AxolotlConfig) -> Iterator[Finding]:
    """`val_set_size` is null, which is not 0: it is compared with a number when the data is split.

    The data of preference training is split without that, but then its evaluation, if there is one, has no data.
    """
    from cfglint.frameworks.axolotl.batch import streams

    model = config.model
    if not config.parsed or model is None or model.val_set_size is not None or streams(config):
        return
    text = "TypeError: '>' not supported between instances of 'NoneType' and 'int'"
    asked = bool(model.eval_steps) or model.eval_strategy not in (None, "no")
    if model.rl:
        if model.test_datasets or not asked or model.eval_strategy == "no":
            return
        unit = "STEPS" if model.eval_steps else str(model.eval_strategy).upper()
        text = (
            f"ValueError: You have set `args.eval_strategy` to IntervalStrategy.{unit} but you didn't pass an `eval_dataset` to `Trainer`"
        )
    yield Finding(
        config.place(("val_set_size",)),
        "`val_set_size` is null; a number is required",
        exception=text,
        help="set `val_set_size: 0.1`" + ("" if asked else ", or set `val_set_size: 0` for no evaluation"),
    )


@warning(
    "AXL067",
    source="torch 2.13 distributed/fsdp/_flat_param.py (Cannot flatten integer dtype tensors)",
    bad=LORA + "load_in_8bit: true\nfsdp: [full_shard, auto_wrap]\nfsdp_config: {fsdp_sharding_strategy: FULL_SHARD}\n",
    good=LORA + "load_in_8bit: false\nfsdp: [full_shard, auto_wrap]\nfsdp_config: {fsdp_sharding_strategy: FULL_SHARD}\n",
    example={"kind": KIND, "at": "/load_in_8bit", "target": {"axolotl": "0.9.2"}},
)
def axolotl_8bit_weights_sharded(config: AxolotlConfig) -> Iterator[Finding]:
    """FSDP 1 cannot shard 8-bit weights.

    It joins the parameters of a layer to one tensor, which has to be of a floating-point type. torch raises `ValueError: Cannot flatten
    integer dtype tensors` when it wraps the model. 4-bit weights can be stored in such a type.
    """
    model = config.model
    if not config.parsed or model is None or not model.load_in_8bit or not model.fsdp:
        return
    section = model.fsdp_config if isinstance(model.fsdp_config, dict) else {}
    version = section.get("fsdp_version", config.get("fsdp_version"))
    if str(version) != "2":
        yield Finding(
            config.place(("load_in_8bit",)),
            "`load_in_8bit` is true, but FSDP 1 shards floating-point weights only",
            related=(config.place(("fsdp",)),),
            note="torch refuses to wrap such a model (ValueError: Cannot flatten integer dtype tensors)",
            help="set `load_in_8bit: false`, or use `load_in_4bit: true` with `adapter: qlora`",
        )
