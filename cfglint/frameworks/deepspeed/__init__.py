"""DeepSpeed: the JSON that `deepspeed.initialize` loads, or that a trainer passes to it."""

from __future__ import annotations

from cfglint.frameworks.base import CERTAIN, MAYBE, NO_MATCH, Framework
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import OLDEST, RELEASES
from cfglint.source.document import MAPPING, SCALAR, Document, Node
from cfglint.source.loaders import HJSON, Loader

NEWEST = RELEASES["deepspeed"]
# Top-level keys that only DeepSpeed configs have.
SIGNS = frozenset(
    """
    zero_optimization train_micro_batch_size_per_gpu zero_allow_untested_optimizer zero_force_ds_cpu_optimizer wall_clock_breakdown
    steps_per_print prescale_gradients gradient_predivide_factor sparse_gradients comms_logger flops_profiler torch_autocast
    managed_gradient_accumulation communication_data_type data_efficiency compression_training
    """.split()
)
# Keys of DeepSpeed if they are sections with one of these keys; in other files they are plain values.
SECTIONS = {
    "fp16": ("enabled", "loss_scale", "auto_cast", "initial_scale_power"),
    "bf16": ("enabled", "immediate_grad_update", "check_grad_overflow"),
    "bfloat16": ("enabled",),
    "amp": ("enabled", "opt_level"),
    "activation_checkpointing": ("partition_activations", "cpu_checkpointing", "number_checkpoints", "contiguous_memory_optimization"),
    "tensor_parallel": ("autotp_size",),
    "elasticity": ("micro_batch_sizes", "max_train_batch_size"),
    "hybrid_engine": ("enabled", "max_out_tokens"),
    "sparse_attention": ("mode",),
    "curriculum_learning": ("curriculum_type",),
    "compile": ("deepcompile",),
    "aio": ("block_size", "queue_depth"),
}
SECTION_NAMES = frozenset(SECTIONS)
# Keys that Trainer configs have too.
SHARED = frozenset(
    "train_batch_size gradient_accumulation_steps gradient_clipping tensorboard wandb csv_monitor optimizer scheduler".split()
)
# Keys of other kinds of files that share some keys with DeepSpeed.
OTHERS = frozenset(
    """
    compute_environment deepspeed_config num_layers num-layers pipe_parallel_size pipe-parallel-size per_device_train_batch_size
    model_name_or_path architectures log_history global_step
    """.split()
)


class DeepSpeed(Framework):
    kind = "deepspeed"
    title = "DeepSpeed"
    package = "deepspeed"
    newest = NEWEST
    repository_owners = ("deepspeedai", "microsoft")
    oldest = OLDEST["deepspeed"]
    can_be_referenced = True
    is_engine = True
    rule_families = {"DSP": title}
    rules = "keys values zero optimizer parallel removed_sections no_effect"
    further_rules = "passed_objects"
    file_match = (
        "ds_config.json",
        "ds_config_*.json",
        "ds_config-*.json",
        "ds_z*_config.json",
        "deepspeed_config.json",
        "deepspeed_config_*.json",
    )
    only_syntax = "json"  # with hjson
    telling_keys = SIGNS | SECTION_NAMES | SHARED
    history_tables = ("deepspeed.models.KEY_HISTORY", "deepspeed.models.MODEL_HISTORY")
    parts = {
        "config": "deepspeed.config.DeepSpeedConfig",
        "batch": "deepspeed.batch.resolve",
        "numbers": "deepspeed.batch.numbers",
        "refusals": "deepspeed.checks.refusals",
        "refused": "deepspeed.rules.refused",
        "model": "deepspeed.memory.model",
        "memory": "deepspeed.memory.inputs",
        "account": "deepspeed.summary.account",
        "learn": "deepspeed.models.learn",
    }

    def detect(self, document: Document) -> int:
        if document.syntax != "json":
            return NO_MATCH
        named = looks_like_its_name(document.path)
        if document.root is None or document.root.kind != MAPPING:
            if document.root is not None and not document.problems:
                first = document.root.items()[:1]
                known = any(key.raw in SIGNS for item in first for key, _ in item.pairs())
                return CERTAIN if known else MAYBE if named and document.root.kind != SCALAR else NO_MATCH
            text = document.text
            if any(f'"{key}"' in text or text.startswith(key) or f"\n{key}:" in text for key in SIGNS):
                return CERTAIN
            return MAYBE if named and text.strip() else NO_MATCH
        keys = {key.raw: value for key, value in document.root.children}
        if not OTHERS.isdisjoint(keys):
            return NO_MATCH
        if not SIGNS.isdisjoint(keys):
            return CERTAIN
        sections = sum(1 for key, inner in SECTIONS.items() if key in keys and holds(keys[key], inner))
        shared = len(SHARED.intersection(keys))
        if sections > 1 or (sections and (named or shared)) or (named and shared):
            return CERTAIN
        return MAYBE if sections or shared > 1 or (named and not keys) else NO_MATCH

    def may_be(self, names: list[str], path: str) -> bool:
        if path.lower().endswith((".yaml", ".yml")):
            return False
        telling = not SIGNS.isdisjoint(names) or not SECTION_NAMES.isdisjoint(names)
        return telling or len(SHARED.intersection(names)) > 1 or looks_like_its_name(path)

    def has_typical_name(self, path: str) -> bool:
        return looks_like_its_name(path)

    def loader(self, document: Document, facts: LaunchFacts) -> Loader:
        """The hjson loader, which accepts comments, missing quotes and a missing last brace, and rejects duplicate keys."""
        if document.is_call:
            return super().loader(document, facts)

        return HJSON


def looks_like_its_name(path: str) -> bool:
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    return name.startswith(("ds_", "ds-", "zero")) or "deepspeed" in name or "ds_config" in name or "dsconfig" in name


def holds(node: Node, keys: tuple[str, ...]) -> bool:
    return node.kind == MAPPING and any(key.raw in keys for key, _ in node.children)


FRAMEWORK = DeepSpeed()
