"""accelerate: the config of `accelerate launch --config_file`, which starts the processes of a training script."""

from __future__ import annotations

from cfglint.frameworks.base import CERTAIN, MAYBE, NO_MATCH, Framework
from cfglint.frameworks.huggingface import named_file
from cfglint.frameworks.releases._modelled import OLDEST, RELEASES
from cfglint.source.annotations import Final, Syntax
from cfglint.source.document import Document, Path

KIND: Final = "accelerate"
NEWEST = RELEASES["accelerate"]
# Keys that `accelerate config` writes together with the type; one of them makes the detection certain.
COMPANIONS = frozenset(
    """
    num_processes num_machines machine_rank mixed_precision use_cpu main_training_function main_process_port deepspeed_config
    fsdp_config parallelism_config megatron_lm_config rdzv_backend gpu_ids downcast_bf16
    """.split()
)


class Accelerate(Framework):
    kind = KIND
    title = "accelerate"
    package = "accelerate"
    newest = NEWEST
    repository_owners = ("huggingface",)
    oldest = OLDEST["accelerate"]
    is_launcher = True
    rule_families = {"ACC": title}
    rules = "keys refused values"
    file_match = (
        "accelerate_config.yaml",
        "accelerate_config.yml",
        "accelerate_config_*.yaml",
        "**/accelerate_configs/*.yaml",
        "**/accelerate_configs/*.yml",
        "**/huggingface/accelerate/default_config.yaml",
    )
    telling_keys = COMPANIONS | {"compute_environment", "distributed_type"}
    history_tables = ("accelerate.releases.HISTORY",)
    parts = {
        "exceptions": "rows.refusals.row_exceptions",
        "config": "accelerate.config.AccelerateConfig",
        "launched_gpus": "accelerate.config.launched_gpus",
        "batch": "accelerate.config.resolve",
        "account": "accelerate.config.account",
        "refusals": "accelerate.checks.refusals",
        "card": "accelerate.config.card",
        "learn": "accelerate.releases.learn",
    }

    def syntax(self, path: str) -> Syntax:
        return "json" if path.endswith(".json") else "yaml"  # accelerate 1.15.0 commands/config/config_args.py, `load_config_from_file`

    def detect(self, document: Document) -> int:
        root = document.root
        names = {key.raw for key, _ in root.pairs()} if root is not None else set()
        companions = len(names & COMPANIONS)
        if "compute_environment" in names or "distributed_type" in names:
            return CERTAIN if companions else MAYBE
        return MAYBE if companions > 2 else NO_MATCH

    def may_be(self, names: list[str], path: str) -> bool:
        return "compute_environment" in names or "distributed_type" in names or len(COMPANIONS.intersection(names)) > 2

    def references(self, document: Document) -> list[tuple[Path, str, str]]:
        path = ("deepspeed_config", "deepspeed_config_file")
        name, found = named_file(document, *path), document.find(("distributed_type",))[1]
        engine = found.resolved().raw if found is not None else ""
        is_read = engine in ("", "DEEPSPEED") or not frozenset("${}<>").isdisjoint(engine)  # no other type, as far as the file says
        return [(path, name, "deepspeed")] if name not in ("", "none") and is_read else []


FRAMEWORK = Accelerate()
