"""Values that axolotl accepts and then ignores, overrides or uses differently."""

from __future__ import annotations

from cfglint.findings.diagnostic import INFO, Fix
from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding, info, warning
from cfglint.findings.setting import Setting
from cfglint.frameworks.axolotl import KIND
from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.axolotl.normalization import evaluates
from cfglint.frameworks.axolotl.rules import BASE
from cfglint.frameworks.remedies import either
from cfglint.source.annotations import Iterator

RENAMED = {
    "evaluation_strategy": "eval_strategy",
    "noisy_embedding_alpha": "neftune_noise_alpha",
    "dpo_beta": "rl_beta",
    "eval_table_size": "generate_samples",
    "eval_max_new_tokens": "generation_max_new_tokens",
    "sequence_parallel_degree": "context_parallel_size",
    "dataset_processes": "dataset_num_proc",
    "gc_steps": "torch_empty_cache_steps",
    "pretrain_multipack_buffer_size": "streaming_multipack_buffer_size",
}


@warning(
    "AXL060",
    source="axolotl 0.21.0 utils/config/__init__.py:253-260, utils/schemas/training.py:120",
    bad=BASE + "micro_batch_size: 2\nbatch_size: 10\n",
    fixed=BASE + "micro_batch_size: 2\ngradient_accumulation_steps: 5\n",
    example={"kind": KIND, "at": "/batch_size", "gpus": 1},
)
def axolotl_batch_size_not_divided(config: AxolotlConfig) -> Iterator[Finding]:
    """`batch_size` only affects the number of steps, not the training batch size.

    `gradient_accumulation_steps` has the default 1, which is filled in before `batch_size` is divided: the Trainer takes
    `micro_batch_size` samples per GPU and step, while the number of steps is computed with `batch_size`. The run stops after a part
    of the data.
    """
    model = config.model
    if not config.parsed or model is None or not model.batch_size or config.get("batch_size") is None:
        return
    micro, accumulation = model.micro_batch_size, model.gradient_accumulation_steps
    real = micro * accumulation
    if model.batch_size != real:
        is_free = "gradient_accumulation_steps" not in config.values
        fix = divided(config.place(("batch_size",)), micro, model.batch_size) if is_free else None
        yield Finding(
            config.place(("batch_size",)),
            f"`batch_size` is {model.batch_size}, but micro batch {micro} x accumulation {accumulation} = {real} per GPU",
            help=f"remove it and set `gradient_accumulation_steps: {max(model.batch_size // micro, 1)}`" if micro > 0 and not fix else None,
            fix=fix,
            note=f"axolotl computes the number of steps for {model.batch_size}",
        )


def divided(setting: Setting, micro: int, size: int) -> Fix | None:
    """The fix that replaces `batch_size` by the accumulation that it implies."""
    from cfglint.findings.fix_builders import renamed, replaced, several

    if micro < 1 or size % micro:
        return None
    accumulation = size // micro
    parts = [replaced(setting, accumulation), renamed(setting, "gradient_accumulation_steps")]
    return several(parts, f"replace it with `gradient_accumulation_steps: {accumulation}`", safe=False)


@warning(
    "AXL061",
    source="axolotl 0.21.0 utils/config/__init__.py:273-281",
    bad=BASE + "ddp: false\n",
    good=BASE + "ddp: true\n",
    example={"kind": KIND, "at": "/ddp", "gpus": 8},
)
def axolotl_steps_without_processes(config: AxolotlConfig) -> Iterator[Finding]:
    """`ddp: false` leaves the processes out of the count of steps, and not out of the run.

    The Trainer still runs data-parallel and consumes that many times more samples, so the run goes over the data that many times.
    """
    model, world = config.model, config.facts.gpus
    if config.parsed and model is not None and model.ddp is False and not model.fsdp_config and world is not None and world > 1:
        yield Finding(
            config.place(("ddp",)),
            f"with `ddp: false` axolotl computes the number of steps for 1 process, but {world} processes run",
            note=f"a step consumes {world} times the samples that the number of steps is computed with",
            help="remove `ddp`",
        )


@warning(
    "AXL062",
    source="axolotl 0.21.0 utils/config/__init__.py:295-303, core/builders/base.py:553",
    bad=(
        BASE + "val_set_size: 0.05\nevals_per_epoch: 1\nnum_epochs: 1\n",
        BASE + "evals_per_epoch: 4\n",
        BASE + "evals_per_epoch: 4\nval_set_size: 0\n",
    ),
    good=BASE + "val_set_size: 0.05\nevals_per_epoch: 4\nnum_epochs: 1\n",
    example={"kind": KIND, "at": "/evals_per_epoch"},
)
def axolotl_never_evaluates(config: AxolotlConfig) -> Iterator[Finding]:
    """Evaluations are configured, but none takes place.

    `evals_per_epoch` becomes a fraction of the run only where that is below 1: one evaluation in one epoch is dropped silently.
    Without an evaluation set (`val_set_size` or `test_datasets`) no evaluation takes place either; an info where the file says
    `val_set_size: 0`, as the number of evaluations is then unused by design.
    """
    model = config.model
    if not config.parsed or model is None or model.rl or model.eval_strategy == "no":
        return
    count = model.evals_per_epoch
    if count and not evaluates(model):
        yield Finding(
            config.place(("evals_per_epoch",)),
            "`evals_per_epoch` has no effect: there is no evaluation set (`val_set_size`, `test_datasets`)",
            help="set `val_set_size: 0.05`, or remove `evals_per_epoch`",
            severity=INFO if model.val_set_size == 0 and config.get("val_set_size") is not None else None,
        )
    elif count and not model.eval_steps and not model.eval_strategy and model.num_epochs and count * model.num_epochs <= 1:
        yield Finding(
            config.place(("evals_per_epoch",)),
            f"`evals_per_epoch: {count}` with {shown(model.num_epochs)} epoch never evaluates",
            note="it becomes an interval of the whole run or more, which axolotl drops",
            help="replace it with `eval_strategy: epoch`",
        )


def shown(number: float) -> str:
    """A number without a superfluous fraction."""
    return str(int(number)) if float(number).is_integer() else str(number)


@warning(
    "AXL063",
    source="axolotl 0.21.0 utils/schemas/deprecated.py, validation.py:603-630, 2276",
    bad=BASE + "evaluation_strategy: epoch\nval_set_size: 0.1\n",
    good=BASE + "eval_strategy: epoch\nval_set_size: 0.1\n",
    example={"kind": KIND, "at": "/evaluation_strategy"},
)
def axolotl_deprecated_key(config: AxolotlConfig) -> Iterator[Finding]:
    """The key has a new name.

    axolotl copies the value to the new name and warns; a later release drops it.
    """
    if not config.validation.accepted:
        return
    for old, new in RENAMED.items():
        if config.get(old) is not None:
            yield Finding(
                config.place((old,)),
                f"deprecated key `{old}`; use `{new}`",
                on_key=True,
                note="it still works",
                help=f"rename it to `{new}`",
            )


@warning(
    "AXL064",
    source="axolotl 0.21.0 core/builders/base.py:757",
    bad=BASE + "num_epochs: 2\nmax_steps: 5000\nmicro_batch_size: 8\n",
    good=BASE + "num_epochs: 2\nmax_steps: 100\nmicro_batch_size: 8\n",
    example={"kind": KIND, "at": "/max_steps", "gpus": 1, "num_examples": 1000},
)
def axolotl_max_steps_beyond_data(config: AxolotlConfig) -> Iterator[Finding]:
    """`max_steps` exceeds the steps of the epochs and takes precedence.

    The run goes over the data again until `max_steps` is reached; only warm-up and logging intervals follow from the smaller number.
    """
    model, total = config.model, beyond_data(config)
    if model is not None and total is not None:
        yield Finding(
            config.place(("max_steps",)),
            f"`max_steps` is {model.max_steps}, which overrides `num_epochs`: {shown(model.num_epochs)} epochs are {total} steps",
            related=(config.place(("num_epochs",)),),
            note="the run goes over the data again until then",
            help=either("max_steps", "num_epochs"),
        )


def beyond_data(config: AxolotlConfig) -> int | None:
    """The steps of the epochs, if `max_steps` is known to exceed them."""
    from cfglint.frameworks.axolotl.batch import counted

    model = config.model
    if not config.parsed or model is None or not model.max_steps or config.get("num_epochs") is None:
        return None
    total = counted(config)
    return total if total is not None and model.max_steps > total else None


@info(
    "AXL065",
    source="axolotl 0.21.0 core/builders/base.py:757; before 0.9.1 a written `max_steps` ends the run no later than the epochs do",
    bad=BASE + "num_epochs: 3\nmax_steps: 20\n",
    good=BASE + "num_epochs: 3\n",
    example={"kind": KIND, "at": "/num_epochs"},
    releases=Releases((0, 9, 1)),
)
def axolotl_epochs_overridden(config: AxolotlConfig) -> Iterator[Finding]:
    """`num_epochs` is overridden by `max_steps`."""
    from cfglint.frameworks.axolotl.batch import streams

    model = config.model
    if not config.parsed or model is None or config.get("num_epochs") is None or streams(config) or beyond_data(config) is not None:
        return
    if isinstance(model.max_steps, int) and model.max_steps > 0:
        yield Finding(
            config.place(("num_epochs",)),
            f"`num_epochs` is overridden by `max_steps` ({model.max_steps})",
            related=(config.place(("max_steps",)),),
            help=either("num_epochs", "max_steps"),
        )
