"""axolotl: the YAML file of `axolotl train`, which pydantic validates and axolotl turns into the arguments of a Hugging Face Trainer."""

from __future__ import annotations

from cfglint.frameworks.base import CERTAIN, MAYBE, NO_MATCH, Framework
from cfglint.frameworks.huggingface import named_file
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import OLDEST, RELEASES
from cfglint.frameworks.releases.versions import parse_version
from cfglint.source.annotations import Final
from cfglint.source.document import Document, Path

KIND: Final = "axolotl"
PACKAGE = "axolotl"
NEWEST = RELEASES["axolotl"]
TRANSFORMERS = "5.20.1"  # pinned by 0.21.0
DEEPSPEED = "0.19.8"

# Top-level keys that only axolotl has.
OWN = frozenset(
    """
    sequence_len dataset_prepared_path sample_packing pad_to_sequence_len eval_sample_packing val_set_size num_epochs
    saves_per_epoch evals_per_epoch lora_target_linear lora_fan_in_fan_out train_on_inputs is_llama_derived_model wandb_log_model
    special_tokens loss_watchdog_threshold pretraining_dataset chat_template_jinja attn_implementation
    """.split()
)
# Keys that other kinds have, too.
SHARED = frozenset(
    """
    micro_batch_size datasets adapter lora_r load_in_8bit load_in_4bit wandb_project gradient_accumulation_steps learning_rate
    lr_scheduler optimizer flash_attention output_dir tokenizer_type model_type plugins
    """.split()
)
MODEL = "base_model"
DATA = frozenset(("datasets", "pretraining_dataset"))  # axolotl refuses a file without any of them


class Axolotl(Framework):
    kind = KIND
    title = "axolotl"
    package = PACKAGE
    newest = NEWEST
    repository_owners = ("axolotl-ai-cloud", "openaccess-ai-collective", "winglian")
    source_paths = ("axolotl",)
    oldest = OLDEST["axolotl"]
    base = "huggingface"
    reads_arguments = True
    rule_families = {"AXL": title}
    rules = "no_effect start validation"
    file_match = ("axolotl.yaml", "axolotl.yml", "*.axolotl.yaml", "*.axolotl.yml")
    only_syntax = "yaml"
    telling_keys = OWN | SHARED | {MODEL}
    # Rules of Trainer configs that rules of this kind replace: about keys, their types and their names, which its parser checks.
    replaced_rules = frozenset(
        """
        HFT001 HFT002 HFT013 HFT022 HFT026 HFT054 HFT060 HFT061 HFT063 HFT064 HFT066 HFT068 KEY200 KEY201 KEY202 KEY204 STP005
        STP007 STP009 STP012 TYP200 TYP201 TYP202
        """.split()
    )
    history_tables = ("axolotl.releases.HISTORY",)
    parts = {
        "exceptions": "axolotl.validation.exceptions",
        "config": "axolotl.config.AxolotlConfig",
        "refused": "axolotl.rules.validation.refused",
        "batch": "axolotl.batch.resolve",
        "operations": "huggingface.field_operations.OPERATIONS",
        "numbers": "axolotl.batch.numbers",
        "samples": "axolotl.samples.samples",
        "resumption": "axolotl.resumption.resumption",
        "model": "memory.named_models.model_of_names",
        "memory": "axolotl.memory.inputs",
        "adapters": "axolotl.adapters.adapters",
        "account": "axolotl.summary.account",
        "learn": "axolotl.releases.learn",
    }

    def detect(self, document: Document) -> int:
        root = document.root
        names = {key.raw for key, _ in root.pairs()} if root is not None else set()
        own, shared = len(names & OWN), len(names & SHARED)
        if document.syntax == "json" and not names & DATA:  # the settings of a program that has some of the names
            return NO_MATCH
        if MODEL not in names:
            return MAYBE if own > 1 and shared > 1 else NO_MATCH
        return CERTAIN if own + shared > 1 and (own or "micro_batch_size" in names or "datasets" in names) else NO_MATCH

    def may_be(self, names: list[str], path: str) -> bool:
        return MODEL in names or len(OWN.intersection(names)) > 1

    def packages(self) -> dict[str, str]:
        return {PACKAGE: NEWEST, "transformers": TRANSFORMERS}

    def completed(self, facts: LaunchFacts) -> LaunchFacts:
        """Complete the target releases: each axolotl pins its transformers, so a transformers release implies a release of axolotl."""
        if PACKAGE in facts.target or "transformers" not in facts.target:
            return facts
        from cfglint.frameworks.axolotl.releases import newest_with_transformers

        pinned, modelled = facts.target["transformers"], parse_version(TRANSFORMERS)
        version = facts.version("transformers", TRANSFORMERS)
        if version[:2] == modelled[:2]:
            return facts
        if version > modelled and "transformers" in facts.bounds:  # the newest release satisfies the bound
            return facts.replace(target={**facts.target, "transformers": TRANSFORMERS})
        implied = newest_with_transformers(version)
        if implied:
            return facts.replace(target={**facts.target, PACKAGE: implied})
        outside = {**facts.outside, PACKAGE: f"for transformers {pinned}"}
        return facts.replace(target={**facts.target, PACKAGE: NEWEST}, outside=outside)

    def references(self, document: Document) -> list[tuple[Path, str, str]]:
        name = named_file(document, "deepspeed")
        return [(("deepspeed",), name, "deepspeed")] if name else []


FRAMEWORK = Axolotl()
