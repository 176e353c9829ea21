"""Failures after validation: the parallel sizes, the optimizer."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import Example, Finding, rule
from cfglint.frameworks.axolotl import KIND
from cfglint.frameworks.axolotl.parallel import problem
from cfglint.frameworks.axolotl.trainer_arguments import BUILT, DION, DION_RATE, UNHANDLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.findings.vocabulary import Kind
    from cfglint.frameworks.axolotl.config import AxolotlConfig

KINDS: tuple[Kind, ...] = (KIND,)
COSINE_MIN, COSINE_CONSTANT = "cosine_min_lr_ratio", "cosine_constant_lr_ratio"
ONE_CYCLE = (
    "epochs",
    "steps_per_epoch",
    "pct_start",
    "anneal_strategy",
    "cycle_momentum",
    "base_momentum",
    "max_momentum",
    "div_factor",
    "final_div_factor",
    "three_phase",
    "last_epoch",
)
BASE = "base_model: org/model\nlearning_rate: 2.0e-5\ndatasets:\n  - {path: data.jsonl, type: alpaca}\n"


@rule(
    "AXL041",
    "axolotl-parallel-sizes",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=BASE + "context_parallel_size: 2\n",
    good=BASE + "context_parallel_size: 2\ndp_shard_size: 4\nfsdp_config: {fsdp_version: 2}\n",
    example={"kind": KIND, "at": "/context_parallel_size", "gpus": 8},
)
def parallel_sizes(config: AxolotlConfig) -> Iterator[Finding]:
    """The product of the parallel sizes is not the number of processes.

    axolotl passes only the sizes in the file to accelerate, so `context_parallel_size: 2` alone is refused on 8 GPUs:
    `dp_replicate_size` x `dp_shard_size` x tensor x context parallel size has to be the number of processes.

    Run-time error: `ValueError: ParallelismConfig total_size (2) does not match num_processes (8). Please adjust ...`.

    Fix: write `dp_shard_size` (with `fsdp_config`) for the rest of the processes.

    Source: axolotl 0.21.0 utils/distributed.py:345-446, utils/trainer.py:672; accelerate 1.15.0 parallelism_config.py:336-380.
    """
    if config.model is None or not config.parsed:
        return
    found = problem(config.model, config.facts.gpus)
    if found is not None:
        first, *others = [config.place((key,)) for key in found.keys]
        written = [each for each in others if each.written]
        yield Finding(
            first, found.message, related=written, exception=f"ValueError: {found.says}", fails_at=found.fails_at, help=found.remedy
        )


@rule(
    "AXL042",
    "axolotl-optimizer-unhandled",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=(BASE + "optimizer: ao_adamw_8bit\n", BASE + "optimizer: dion\n"),
    good=BASE + "optimizer: adamw_torch_8bit\n",
    example={"kind": KIND, "at": "/optimizer"},
)
def optimizer_unhandled(config: AxolotlConfig) -> Iterator[Finding]:
    """An optimizer that is in axolotl's list, and that its builder does not build.

    These are `ao_adamw_4bit` and `ao_adamw_8bit` from 0.12.0 on, and `dion` without `dion_lr`.

    Run-time error: `ValueError: Unhandled optimizer: ao_adamw_8bit. Please raise an Issue.`

    Fix: use `adamw_torch_8bit` or `adamw_torch_4bit`, the names of torchao's optimizers in transformers; for `dion` set `dion_lr`.

    Source: axolotl 0.21.0 core/builders/base.py:345-525.
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


@rule(
    "AXL044",
    "axolotl-empty-learning-rate",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    raises="TypeError: '<=' not supported between instances of 'float' and 'str'",
    bad=BASE.replace("2.0e-5", '""'),
    good=BASE,
    example={"kind": KIND, "at": "/learning_rate"},
)
def empty_learning_rate(config: AxolotlConfig) -> Iterator[Finding]:
    """`learning_rate` is the empty string, which axolotl does not convert to a number.

    Run-time error: `TypeError: '<=' not supported between instances of 'float' and 'str'`.

    Fix: use a number.

    Source: axolotl 0.21.0 utils/schemas/training.py:320-325; torch 2.13 optim/adam.py:58.
    """
    if config.parsed and config.model is not None and config.model.learning_rate == "":
        yield Finding(
            config.place(("learning_rate",)),
            "`learning_rate` is empty; a number is required",
            help="set `learning_rate: 2.0e-5`, or another number",
        )


@rule(
    "AXL045",
    "axolotl-cosine-ratio",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=(
        BASE + "cosine_min_lr_ratio: 10\n",
        Example(BASE + "cosine_min_lr_ratio: 0.1\ncosine_constant_lr_ratio: 80\n", "/cosine_constant_lr_ratio"),
    ),
    good=BASE + "cosine_min_lr_ratio: 0.1\ncosine_constant_lr_ratio: 0.8\n",
    example={"kind": KIND, "at": "/cosine_min_lr_ratio"},
)
def cosine_ratio(config: AxolotlConfig) -> Iterator[Finding]:
    """`cosine_min_lr_ratio` or `cosine_constant_lr_ratio` is not between 0 and 1.

    Run-time error: `AssertionError: cosine_min_lr_ratio must be between 0.0 and 1.0`.

    Fix: use a fraction: 0.1 for 10 % of the peak learning rate.

    Source: axolotl 0.21.0 core/trainers/mixins/scheduler.py:83-124.
    """
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


@rule(
    "AXL043",
    "axolotl-schedule-argument",
    ERROR,
    kinds=KINDS,
    fails_at="init",
    bad=BASE + "lr_scheduler: one_cycle\nlr_scheduler_kwargs: {num_cycles: 2}\n",
    good=BASE + "lr_scheduler: one_cycle\nlr_scheduler_kwargs: {pct_start: 0.1}\n",
    example={"kind": KIND, "at": "/lr_scheduler_kwargs/num_cycles"},
)
def schedule_argument(config: AxolotlConfig) -> Iterator[Finding]:
    """An argument that torch's `OneCycleLR` does not have.

    `one_cycle` is a schedule of axolotl's own, which passes `lr_scheduler_kwargs` to torch; `rex` ignores them.

    Run-time error: `TypeError: OneCycleLR.__init__() got an unexpected keyword argument 'num_cycles'`.

    Fix: pct_start, anneal_strategy, cycle_momentum, base_momentum, max_momentum, div_factor, final_div_factor, three_phase and
    last_epoch are the arguments that there are.

    Source: axolotl 0.21.0 core/trainers/mixins/scheduler.py:67-82; torch 2.13 optim/lr_scheduler.py.
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
