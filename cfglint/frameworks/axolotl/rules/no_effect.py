"""Values that axolotl accepts and then ignores, overrides or uses differently."""

from __future__ import annotations

from cfglint.findings.diagnostic import INFO
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.axolotl.batch import counted, evaluates, streams
from cfglint.frameworks.axolotl.config import AxolotlConfig
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


@rule("AXL060")
def axolotl_batch_size_not_divided(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or not model.batch_size or config.get("batch_size") is None:
        return
    micro, accumulation = model.micro_batch_size, model.gradient_accumulation_steps
    real = micro * accumulation
    if model.batch_size != real:
        setting, fix = config.place(("batch_size",)), None
        if "gradient_accumulation_steps" not in config.values and micro > 0 and model.batch_size % micro == 0:
            from cfglint.findings.fix_builders import renamed, replaced, several

            implied = model.batch_size // micro
            parts = [replaced(setting, implied), renamed(setting, "gradient_accumulation_steps")]
            fix = several(parts, f"replace it with `gradient_accumulation_steps: {implied}`", safe=False)
        message = f"`batch_size` is {model.batch_size}, but micro batch {micro} x accumulation {accumulation} = {real} per GPU"
        remedy = f"remove it and set `gradient_accumulation_steps: {max(model.batch_size // micro, 1)}`" if micro > 0 and not fix else None
        note = f"axolotl computes the number of steps for {model.batch_size}"
        yield Finding(setting, message, help=remedy, fix=fix, note=note)


@rule("AXL061")
def axolotl_steps_without_processes(config: AxolotlConfig) -> Iterator[Finding]:
    model, world = config.model, config.facts.gpus
    if config.parsed and model is not None and model.ddp is False and not model.fsdp_config and world is not None and world > 1:
        message = f"with `ddp: false` axolotl computes the number of steps for 1 process, but {world} processes run"
        note = f"a step consumes {world} times the samples that the number of steps is computed with"
        yield Finding(config.place(("ddp",)), message, note=note, help=remove_key("ddp"))


@rule("AXL062")
def axolotl_never_evaluates(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or model.rl or model.eval_strategy == "no":
        return
    count = model.evals_per_epoch
    if count and not evaluates(model):
        message = "`evals_per_epoch` has no effect: there is no evaluation set (`val_set_size`, `test_datasets`)"
        remedy = set_key("val_set_size", 0.05) | remove_key("evals_per_epoch")
        severity = INFO if model.val_set_size == 0 and config.get("val_set_size") is not None else None
        yield Finding(config.place(("evals_per_epoch",)), message, help=remedy, severity=severity)
    elif count and not model.eval_steps and not model.eval_strategy and model.num_epochs and count * model.num_epochs <= 1:
        message = f"`evals_per_epoch: {count}` with {shown(model.num_epochs)} epoch never evaluates"
        note = "it becomes an interval of the whole run or more, which axolotl drops"
        yield Finding(config.place(("evals_per_epoch",)), message, note=note, help="replace it with `eval_strategy: epoch`")


def shown(number: float) -> str:
    """A number without a superfluous fraction."""
    return str(int(number)) if float(number).is_integer() else str(number)


@rule("AXL063")
def axolotl_deprecated_key(config: AxolotlConfig) -> Iterator[Finding]:
    if config.model is None:
        return
    for old, new in RENAMED.items():
        if config.get(old) is not None:
            message = f"deprecated key `{old}`; use `{new}`"
            yield Finding(config.place((old,)), message, on_key=True, note="it still works", help=f"rename it to `{new}`")


@rule("AXL064")
def axolotl_max_steps_beyond_data(config: AxolotlConfig) -> Iterator[Finding]:
    model, total = config.model, beyond_data(config)
    if model is not None and total is not None:
        message = f"`max_steps` is {model.max_steps}, which overrides `num_epochs`: {shown(model.num_epochs)} epochs are {total} steps"
        note = "the run goes over the data again until then"
        remedy = either("max_steps", "num_epochs")
        yield Finding(config.place(("max_steps",)), message, related=(config.place(("num_epochs",)),), note=note, help=remedy)


def beyond_data(config: AxolotlConfig) -> int | None:
    """The steps of the epochs, if `max_steps` is known to exceed them."""
    model = config.model
    if not config.parsed or model is None or not model.max_steps or config.get("num_epochs") is None:
        return None
    total = counted(config)
    return total if total is not None and model.max_steps > total else None


@rule("AXL065")
def axolotl_epochs_overridden(config: AxolotlConfig) -> Iterator[Finding]:
    model = config.model
    if not config.parsed or model is None or config.get("num_epochs") is None or streams(config) or beyond_data(config) is not None:
        return
    if isinstance(model.max_steps, int) and model.max_steps > 0:
        message = f"`num_epochs` is overridden by `max_steps` ({model.max_steps})"
        remedy = either("num_epochs", "max_steps")
        yield Finding(config.place(("num_epochs",)), message, related=(config.place(("max_steps",)),), help=remedy)
