"""verl's SFT trainers: `verl.trainer.fsdp_sft_trainer` up to 0.7.0, and `verl.trainer.sft_trainer` on engines from 0.6 on.

Source: verl 0.3.0 to 0.7.0 trainer/fsdp_sft_trainer.py (_normalize_config_bsz, _build_dataloader), 0.6.1 to 0.9.1 trainer/sft_trainer.py
(_build_dataloader), workers/engine/utils.py (prepare_micro_batches).
"""

from __future__ import annotations

from math import prod

from cfglint.batch.nodes import Size
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.setting import OVERRIDE, WRITTEN, Batch, Layout, derived
from cfglint.frameworks.chosen_sizes import ChosenSizes
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.summary import BATCH as BATCH_GROUP
from cfglint.frameworks.summary import EXAMPLES, LAUNCH, LENGTH, PRECISION, RATE, Summary
from cfglint.frameworks.verl.by_hand import INIT, STEP
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.frameworks.verl.search_path import primary_of
from cfglint.frameworks.verl.sizes import BATCH, NODES, PER_NODE
from cfglint.frameworks.verl.values import ComposedConfig
from cfglint.source.annotations import Iterator, Sequence
from cfglint.source.document import Document

MEGATRON = "McoreEngineConfig"  # the class of the engine's config, which names no strategy (0.6.0 to 0.9.1 workers/config/engine.py)
MODEL_PARALLEL = {"tensor_parallel": "tensor_model", "pipeline_parallel": "pipeline_model", "context_parallel": "context"}
MICRO = "data.micro_batch_size_per_gpu"
SETTINGS = (
    (RATE, "learning rate", "optim.lr"),
    (PRECISION, "row length", "data.max_length"),
)


class SftSizes:
    """The numbers of an SFT run; each is None where it is unknown, or no integer."""

    def __init__(self, tree: ComposedConfig, on_engine: bool) -> None:
        self.tree = tree
        self.on_engine = on_engine
        self.gpus = tree.facts.gpus
        self.batch = tree.integer(BATCH)
        self.is_megatron = on_engine and str(tree.value("engine._target_")).endswith(MEGATRON)
        self.parallel_key = "engine.ulysses_sequence_parallel_size" if on_engine else "ulysses_sequence_parallel_size"
        self.sequence_parallel = tree.integer(self.parallel_key, 1)
        self.replica = self._replica(tree.value("engine.strategy", "fsdp"))
        each = self.replica
        self.data_parallel = self.gpus // each if self.gpus and each and self.gpus >= each else None

    def _replica(self, strategy: object) -> int | None:
        """The GPUs that hold the model, or one sequence, together; None for an engine of which that is not known."""
        if self.is_megatron:
            sizes = [self.tree.integer(f"engine.{each}_parallel_size", 1) or 0 for each in MODEL_PARALLEL.values()]
            return prod(sizes) or None
        return self.sequence_parallel if not self.on_engine or strategy in ("fsdp", "fsdp2") else None

    @property
    def layout(self) -> Layout:
        """The GPUs and the sizes that divide them."""
        if not self.is_megatron:
            return Layout(self.gpus, sequence_parallel=self.sequence_parallel or 1)
        return Layout(
            self.gpus, **{name: self.tree.integer(f"engine.{each}_parallel_size", 1) or 1 for name, each in MODEL_PARALLEL.items()}
        )

    @property
    def is_dynamic(self) -> bool | None:
        """Whether batches are packed by tokens."""
        return self.tree.is_true("data.use_dynamic_bsz") if self.on_engine else False

    @property
    def per_rank(self) -> int | None:
        """The rows of a step on each data-parallel rank, rounded down."""
        return self.batch // self.data_parallel if self.batch is not None and self.data_parallel else None

    @property
    def consumed(self) -> int | None:
        """The rows of a step on all ranks."""
        return self.per_rank * self.data_parallel if self.per_rank is not None and self.data_parallel else None

    @property
    def micro(self) -> int | None:
        """The micro batch; None if batches are packed."""
        return self.tree.integer(MICRO) if self.is_dynamic is False else None

    @property
    def accumulation(self) -> int | None:
        """The micro batches of a step."""
        rows, micro = self.per_rank, self.micro
        return rows // micro if rows and micro and rows % micro == 0 else None

    @property
    def steps_per_epoch(self) -> int | None:
        """The complete batches of the rows of one rank."""
        rows, most = self.tree.facts.num_examples, self.tree.value("data.train_max_samples", -1)
        if rows is None or not self.per_rank or not self.data_parallel or type(most) is not int:
            return None
        rows = min(rows, most) if most >= 0 else rows
        return rows // self.data_parallel // self.per_rank

    @property
    def total_steps(self) -> int | None:
        """The steps of the schedule: `total_training_steps`, else the epochs."""
        return self.tree.total_steps(self.steps_per_epoch)


class SftConfig(VerlConfig):
    """The composed config of an SFT trainer, whose processes torchrun starts."""

    has_rollout = False
    parts = {
        "batch": "verl.sft.batch",
        "numbers": "verl.sft.numbers",
        "choose_sizes": "verl.sft.choose",
        "account": "verl.sft.account",
    }

    @property
    def own_size(self) -> Size | None:
        """None: the launcher starts the processes."""
        return None

    def failed(self) -> list[Refusal]:
        return [*checks(sizes_of(self))] if self.values else []


def config_of(documents: list[Document], facts: LaunchFacts, kinds: Sequence[str]) -> VerlConfig:
    """The config that Hydra composes for a launch line: of an SFT trainer, or of reinforcement learning."""
    composed = SftConfig if primary_of(facts.launch).startswith("sft") else VerlConfig
    return composed(documents, facts, kinds)


def sizes_of(config: VerlConfig) -> SftSizes:
    return SftSizes(config.tree, config.primary != "sft_trainer")


def batch(config: VerlConfig) -> Batch:
    sizes = sizes_of(config)
    micro = config.setting(MICRO) if sizes.micro is not None else derived("micro_batch", None, "packed by tokens, or unknown")
    return Batch(
        sizes.layout,
        micro,
        derived("accumulation", sizes.accumulation, "rows of a rank / micro batch"),
        derived("data_parallel", sizes.data_parallel, f"GPUs / {'model' if sizes.is_megatron else 'sequence'}-parallel size"),
        config.setting(BATCH, value=sizes.batch),
        sizes.consumed,
        gpus_per_replica=sizes.replica or 1,
    )


def numbers(config: VerlConfig) -> dict[str, int | None]:
    sizes = sizes_of(config)
    return {"steps_per_epoch": sizes.steps_per_epoch, "total_steps": sizes.total_steps}


def account(config: VerlConfig) -> Summary:
    """The lines about length and learning rate."""
    sizes, summary = sizes_of(config), Summary(config.release)
    for group, label, key in SETTINGS if config.origins else ():
        summary.add(group, label, config.setting(key))
    needs = EXAMPLES if config.facts.num_examples is None else ""
    because = "rows of a rank / rows of a step on it, rounded down twice"
    summary.derive(LENGTH, "steps per epoch", "steps_per_epoch", sizes.steps_per_epoch, because, needs=needs)
    summary.derive(LENGTH, "total steps", "total_steps", sizes.total_steps, "steps per epoch x trainer.total_epochs", needs=needs)
    summary.derive(BATCH_GROUP, "rows per GPU", "rows_per_gpu", sizes.per_rank, "global batch / data parallel, rounded down")
    summary.derive(LAUNCH, "packed by tokens", "use_dynamic_bsz", sizes.is_dynamic, "data.use_dynamic_bsz")
    return summary


def choose(config: VerlConfig, size: Size, batch: int, max_micro: int | None) -> ChosenSizes:
    """The values for a global batch on so many GPUs: complete rows on each rank, and the largest micro batch that divides them."""
    sizes, gpus = sizes_of(config), size.processes
    each = sizes.replica or 1
    if gpus % each:
        what = "model" if sizes.is_megatron else "sequence"
        return ChosenSizes({}, [f"{gpus} GPUs do not divide among groups of {each} ({what} parallel size)"])
    parallel = gpus // each
    if batch % parallel or batch < parallel:
        below = batch - batch % parallel
        reasons = [f"a global batch of {batch} does not divide among {parallel} data-parallel ranks"]
        return ChosenSizes({}, reasons, below=below or None, above=below + parallel)
    rows, now = batch // parallel, sizes.micro
    written = {
        key: count for key, count in ((NODES, size.nodes), (PER_NODE, size.per_node)) if config.setting(key).origin in (OVERRIDE, WRITTEN)
    }
    if sizes.is_dynamic:
        return ChosenSizes({BATCH: batch, **written}, ["batches are packed by tokens"], data_parallel=parallel)
    if now is None and max_micro is None:
        return ChosenSizes({}, [], missing="the current micro batch is unknown: pass --max-micro-batch")
    micro = max(size for size in range(1, min(max_micro or now or 1, rows) + 1) if rows % size == 0)
    kept = ["micro batch unchanged"] if micro == now else []
    return ChosenSizes({BATCH: batch, MICRO: micro, **written}, kept, micro, rows // micro, parallel)


def checks(sizes: SftSizes) -> Iterator[Refusal]:
    """The failing checks of an SFT run, in their order."""
    parallel, tree = sizes.data_parallel, sizes.tree
    rows, micro = sizes.batch, sizes.micro
    if not sizes.on_engine:
        if tree.value("data.chat_template") is not None and isinstance(tree.value("data.chat_template"), str):
            message = "`data.chat_template` is not supported yet"
            text = "ValueError: Apply Chat template from config is not supported yet."
            yield Refusal("VRL031", ("data.chat_template",), message, text, (remove_key("data.chat_template"),), INIT)
        if rows and parallel and rows % parallel:
            message = f"`{BATCH}` is {rows}, not a multiple of the {parallel} data-parallel ranks"
            text = f"AssertionError: Global batch size {rows} is not divisible by dp size {parallel}"
            yield Refusal("VRL032", (BATCH,), message, text, (f"set `{BATCH}` to a multiple of {parallel}",), INIT)
            return
        if (sizes.sequence_parallel or 1) > 1 and tree.is_true("use_remove_padding") is False:
            message = f"`{sizes.parallel_key}` above 1 requires `use_remove_padding=True`"
            text = "AssertionError: Sequence parallel is only supported when remove_padding is enabled"
            yield Refusal("VRL020", (sizes.parallel_key,), message, text, (set_key("model.use_remove_padding", True),), INIT)
    if sizes.per_rank and micro and micro > 0 and sizes.per_rank % micro and (not sizes.on_engine or tree.since(0, 7, 1)):
        message = f"`{MICRO}` is {micro}, which does not divide the {sizes.per_rank} rows of a step on each GPU"
        text = "AssertionError: data size must be divisible by force_group_size * micro_batch_size_per_gpu"
        stage = STEP if sizes.on_engine else INIT
        yield Refusal(
            "VRL032", (MICRO, BATCH), message, text if sizes.on_engine else "AssertionError", (f"set `{MICRO}` to a divisor",), stage
        )
    if sizes.per_rank == 0:
        message = f"`{BATCH}` is {rows}, less than one row for each of the {parallel} data-parallel ranks"
        text = "ValueError: batch_size should be a positive integer value, but got batch_size=0"
        yield Refusal("VRL032", (BATCH,), message, text, (f"set `{BATCH}` to a multiple of {parallel}",), INIT)
