"""Rules about the data loader: its batches and workers."""

from __future__ import annotations

from cfglint.batch.steps import ZERO_IS_A_LIMIT
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.batch import batches_of_rank, takes_steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import of, shown
from cfglint.frameworks.remedies import choice
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number


@rule("HFT047")
def too_few_samples(config: TrainerConfig) -> Iterator[Finding]:
    examples = config.facts.num_examples
    if examples is None or not config.parsed or config.batch.problem is not None:
        return
    if examples == 0:
        if config.arguments["train_sampling_strategy"] in (None, "random") and not config.arguments["group_by_length"]:
            text = "ValueError: num_samples should be a positive integer value, but got num_samples=0"
            message = "the training set is empty: the number of samples (num-examples) is 0"
            yield Finding(of(config, "per_device_train_batch_size"), message, exception=text)
        return
    limit = config.arguments["max_steps"]
    if config.own_sampler or batches_of_rank(config) != 0 or not is_number(limit):
        return
    setting = of(config, "dataloader_drop_last")
    size = config.batch.micro_batch
    if config.version >= ZERO_IS_A_LIMIT and limit <= 0:
        text = f"ValueError: args.max_steps must be set to a positive value if dataloader does not have a length, was {limit}"
        message = f"`dataloader_drop_last` drops all {examples} samples: they do not fill one batch on each process"
        remedy = set_key("dataloader_drop_last", False) | "a smaller `per_device_train_batch_size`"
        yield Finding(setting, message, related=(size,), exception=text, help=remedy)
    elif config.version < ZERO_IS_A_LIMIT and config.launched is False:
        text = "TypeError: 'NoneType' object is not subscriptable"
        message = f"`dataloader_drop_last` drops all {examples} samples: they do not fill one batch"
        remedy = set_key("dataloader_drop_last", False) | "a smaller `per_device_train_batch_size`"
        yield Finding(setting, message, related=(size,), exception=text, fails_at="first-step", help=remedy)


@rule("HFT048")
def missing_dataloader_workers(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    workers = args["dataloader_num_workers"]
    if not is_number(workers):
        return
    if workers < 0:
        text = "ValueError: num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        remedy: Remedy | str = set_key("dataloader_num_workers", 0, " to load in the main process")
        message = f"`dataloader_num_workers` is {workers}; it must be >= 0"
        yield Finding(of(config, "dataloader_num_workers"), message, exception=text, help=remedy)
        return
    context = args["dataloader_multiprocessing_context"]
    for name, enabled, text in (
        ("dataloader_persistent_workers", bool(args["dataloader_persistent_workers"]), "persistent_workers option needs num_workers > 0"),
        (
            "dataloader_multiprocessing_context",
            context is not None,
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0",
        ),
    ):
        if enabled and workers == 0:
            unset = config.unset("dataloader_num_workers")
            message = f"`{name}` requires `dataloader_num_workers` > 0, but it is 0"
            remedy = set_key("dataloader_num_workers", 2) | remove_key(name)
            yield Finding(of(config, name), message, exception=f"ValueError: {text}", depends_on=unset, help=remedy)
    if context is not None and workers > 0 and context not in ("fork", "spawn", "forkserver"):
        text = "ValueError: multiprocessing_context option should specify a valid start method in ['fork', 'spawn', 'forkserver']"
        message = f"`dataloader_multiprocessing_context` is {shown(context)}; it must be fork, spawn or forkserver"
        remedy = choice("dataloader_multiprocessing_context", context, ("fork", "spawn", "forkserver"))
        yield Finding(of(config, "dataloader_multiprocessing_context"), message, exception=text, help=remedy)


@rule("HFT049")
def invalid_prefetch_factor(config: TrainerConfig) -> Iterator[Finding]:
    value, workers = config.arguments["dataloader_prefetch_factor"], config.arguments["dataloader_num_workers"]
    negative = is_number(value) and value < 0
    refused = negative or (is_number(value) and value == 0 and takes_steps(config))
    if refused and is_number(workers) and workers > 0:
        setting = of(config, "dataloader_prefetch_factor")
        message = f"`dataloader_prefetch_factor` is {value}; it must be above 0"
        text = "ValueError: prefetch_factor option should be non-negative" if negative else "AssertionError"
        remedy = set_key("dataloader_prefetch_factor", 2, ", which is the default")
        yield Finding(setting, message, exception=text, fails_at=None if negative else "first-step", help=remedy)
