"""verl's SFT trainers: `verl.trainer.fsdp_sft_trainer` up to 0.7.0, and `verl.trainer.sft_trainer` on engines from 0.6 on.

Source: verl 0.3.0 to 0.7.0 trainer/fsdp_sft_trainer.py (_normalize_config_bsz, _build_dataloader), 0.6.1 to 0.9.1 trainer/sft_trainer.py
(_build_dataloader), workers/engine/utils.py (prepare_micro_batches).
"""

from __future__ import annotations

from math import prod

from cfglint.batch.nodes import Size
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.setting import OVERRIDE, WRITTEN, Batch, Layout, derived
from cfglint.frameworks.chosen_sizes import ChosenSizes, by_ranks
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.summary import BATCH as BATCH_GROUP
from cfglint.frameworks.summary import EXAMPLES, LAUNCH, LENGTH, PRECISION, RATE, Summary
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.frameworks.verl.search_path import primary_of
from cfglint.frameworks.verl.sizes import BATCH, MEGATRON_SIZES, NODES, PER_NODE, product, quotient
from cfglint.frameworks.verl.summary import add_epochs
from cfglint.source.annotations import Iterator, Sequence
from cfglint.source.document import Document

MEGATRON = "McoreEngineConfig"  # the class of the engine's config, which names no strategy (0.6.0 to 0.9.1 workers/config/engine.py)
MICRO = "data.micro_batch_size_per_gpu"


class SftSizes:
    """The numbers of an SFT run; each is None where it is unknown, or no integer."""

    def __init__(self, config: VerlConfig) -> None:
        self.tree = tree = config.tree
        self.on_engine = config.primary != "sft_trainer"
        self.gpus = tree.facts.gpus
        self.batch = tree.integer(BATCH)
        self.is_megatron = self.on_engine and str(tree.value("engine._target_")).endswith(MEGATRON)
        self.parallel_key = "engine.ulysses_sequence_parallel_size" if self.on_engine else "ulysses_sequence_parallel_size"
        sequence_parallel = tree.integer(self.parallel_key, 1)
        self.layout = {"sequence_parallel": sequence_parallel or 1}
        # The GPUs that hold the model, or one sequence, together; None for an engine of which that is not known.
        self.replica = sequence_parallel
        if self.is_megatron:
            found = {name: tree.integer(f"engine.{key}_parallel_size", 1) or 0 for name, key in MEGATRON_SIZES.items()}
            self.layout, self.replica = {name: size or 1 for name, size in found.items()}, prod(found.values()) or None
        elif self.on_engine and tree.value("engine.strategy", "fsdp") not in ("fsdp", "fsdp2"):
            self.replica = None
        fits = config.values and self.gpus and self.replica and self.gpus >= self.replica
        self.data_parallel = quotient(self.gpus, self.replica) if fits else None
        self.is_dynamic = tree.is_true("data.use_dynamic_bsz") if self.on_engine else False  # whether batches are packed by tokens
        # The rows of a step on each data-parallel rank, rounded down, and on all of them.
        self.per_rank = rows = quotient(self.batch, self.data_parallel)
        self.consumed = product(rows, self.data_parallel)
        self.micro = micro = tree.integer(MICRO) if self.is_dynamic is False else None
        self.accumulation = rows // micro if rows and micro and rows % micro == 0 else None
        examples, most = tree.facts.num_examples, tree.value("data.train_max_samples", -1)
        if examples is not None and type(most) is int and most >= 0:
            examples = min(examples, most)
        self.steps_per_epoch = quotient(quotient(examples, self.data_parallel), rows) if type(most) is int else None
        self.total_steps = tree.total_steps(self.steps_per_epoch)


class SftConfig(VerlConfig):
    """The composed config of an SFT trainer, whose processes torchrun starts."""

    has_rollout = False
    own_size = None  # the launcher starts the processes
    parts = {"batch": "verl.sft.batch", "numbers": "verl.sft.numbers", "choose_sizes": "verl.sft.choose", "account": "verl.sft.account"}

    def failed(self) -> list[Refusal]:
        return [*checks(SftSizes(self))] if self.values else []


def config_of(documents: list[Document], facts: LaunchFacts, kinds: Sequence[str]) -> VerlConfig:
    """The config that Hydra composes for a launch line: of an SFT trainer, or of reinforcement learning."""
    composed = SftConfig if primary_of(facts.launch).startswith("sft") else VerlConfig
    return composed(documents, facts, kinds)


def batch(config: VerlConfig) -> Batch:
    sizes = SftSizes(config)
    micro = config.setting(MICRO) if sizes.micro is not None else derived("micro_batch", None, "packed by tokens, or unknown")
    return Batch(
        Layout(sizes.gpus, **sizes.layout),
        micro,
        derived("accumulation", sizes.accumulation, "rows of a rank / micro batch"),
        derived("data_parallel", sizes.data_parallel, f"GPUs / {'model' if sizes.is_megatron else 'sequence'}-parallel size"),
        config.setting(BATCH, value=sizes.batch),
        sizes.consumed,
        gpus_per_replica=sizes.replica or 1,
    )


def numbers(config: VerlConfig) -> dict[str, int | None]:
    sizes = SftSizes(config)
    return {"steps_per_epoch": sizes.steps_per_epoch, "total_steps": sizes.total_steps}


def account(config: VerlConfig) -> Summary:
    sizes, summary = SftSizes(config), Summary(config.release)
    if config.origins:
        summary.add(RATE, "learning rate", config.setting("optim.lr"))
        summary.add(PRECISION, "row length", config.setting("data.max_length"))
    add_epochs(summary, config)
    needs = EXAMPLES if config.facts.num_examples is None else ""
    because = "rows of a rank / rows of a step on it, rounded down twice"
    summary.derive(LENGTH, "steps per epoch", "steps_per_epoch", sizes.steps_per_epoch, because, needs=needs)
    summary.derive(LENGTH, "total steps", "total_steps", sizes.total_steps, "steps per epoch x trainer.total_epochs", needs=needs)
    summary.derive(BATCH_GROUP, "rows per GPU", "rows_per_gpu", sizes.per_rank, "global batch / data parallel, rounded down")
    summary.derive(LAUNCH, "packed by tokens", "use_dynamic_bsz", sizes.is_dynamic, "data.use_dynamic_bsz")
    return summary


def choose(config: VerlConfig, size: Size, batch: int, max_micro: int | None) -> ChosenSizes:
    sizes, launched = SftSizes(config), {NODES: size.nodes, PER_NODE: size.per_node}
    written = {key: count for key, count in launched.items() if config.setting(key).origin in (OVERRIDE, WRITTEN)}
    what = "model" if sizes.is_megatron else "sequence"
    return by_ranks(sizes, (BATCH, MICRO), batch, size.processes, max_micro, what, written)


def checks(sizes: SftSizes) -> Iterator[Refusal]:
    tree, rows, parallel, per_rank, micro = sizes.tree, sizes.batch, sizes.data_parallel, sizes.per_rank, sizes.micro
    multiple = (f"set `{BATCH}` to a multiple of {parallel}",)
    if not sizes.on_engine:
        template, key = "data.chat_template", sizes.parallel_key
        if isinstance(tree.value(template), str):
            text = "ValueError: Apply Chat template from config is not supported yet."
            yield Refusal("VRL031", (template,), f"`{template}` is not supported yet", text, (remove_key(template),), "init")
        if rows and parallel and rows % parallel:
            message = f"`{BATCH}` is {rows}, not a multiple of the {parallel} data-parallel ranks"
            text = f"AssertionError: Global batch size {rows} is not divisible by dp size {parallel}"
            yield Refusal("VRL032", (BATCH,), message, text, multiple, "init")
            return
        if (tree.integer(key, 1) or 1) > 1 and tree.is_true("use_remove_padding") is False:
            message = f"`{key}` above 1 requires `use_remove_padding=True`"
            text = "AssertionError: Sequence parallel is only supported when remove_padding is enabled"
            yield Refusal("VRL020", (key,), message, text, (set_key("model.use_remove_padding", True),), "init")
    if per_rank and micro and micro > 0 and per_rank % micro and (not sizes.on_engine or tree.since(0, 7, 1)):
        message = f"`{MICRO}` is {micro}, which does not divide the {per_rank} rows of a step on each GPU"
        more = ": data size must be divisible by force_group_size * micro_batch_size_per_gpu" if sizes.on_engine else ""
        remedy = (f"set `{MICRO}` to a divisor",)
        yield Refusal("VRL032", (MICRO, BATCH), message, f"AssertionError{more}", remedy, "first-step" if sizes.on_engine else "init")
    if per_rank == 0:
        message = f"`{BATCH}` is {rows}, less than one row for each of the {parallel} data-parallel ranks"
        text = "ValueError: batch_size should be a positive integer value, but got batch_size=0"
        yield Refusal("VRL032", (BATCH,), message, text, multiple, "init")
