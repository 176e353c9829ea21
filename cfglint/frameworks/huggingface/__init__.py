"""Hugging Face Trainer: files with `TrainingArguments`, parsed as `HfArgumentParser` does."""

from __future__ import annotations

from cfglint.frameworks.base import CERTAIN, MAYBE, NO_MATCH, Framework, imported
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import OLDEST, RELEASES
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Final
from cfglint.source.document import Document, Path
from cfglint.source.loaders import Loader

KIND: Final = "huggingface"
PACKAGE = "transformers"
NEWEST = RELEASES["transformers"]
# Top-level keys that only TrainingArguments has.
ENOUGH = 5  # with this many keys, all of them fields of TrainingArguments, a file is recognised as a Trainer config
ENOUGH_WITH_STRATEGY = 4  # if one of them is a strategy
STRATEGIES = frozenset(("eval_strategy", "evaluation_strategy", "save_strategy", "logging_strategy"))
OWN = frozenset(
    "per_device_train_batch_size per_device_eval_batch_size per_gpu_train_batch_size num_train_epochs lr_scheduler_type"
    " lr_scheduler_kwargs load_best_model_at_end metric_for_best_model gradient_checkpointing_kwargs activation_checkpointing_kwargs"
    " remove_unused_columns ddp_find_unused_parameters dataloader_num_workers dataloader_drop_last save_total_limit"
    " overwrite_output_dir logging_first_step neftune_noise_alpha label_smoothing_factor adam_epsilon bf16_full_eval fp16_full_eval"
    " accelerator_config hub_strategy hub_model_id".split()
)
# Keys that other tools have too.
SHARED = frozenset(
    "output_dir learning_rate gradient_accumulation_steps max_steps warmup_steps warmup_ratio weight_decay max_grad_norm adam_beta1"
    " adam_beta2 optim seed bf16 fp16 tf32 eval_strategy evaluation_strategy save_strategy logging_strategy logging_steps logging_dir"
    " save_steps eval_steps report_to run_name gradient_checkpointing do_train do_eval group_by_length deepspeed fsdp fsdp_config"
    " push_to_hub torch_compile".split()
)
# Keys of other files with some of the same names: a trainer's state, a model's config,
# a DeepSpeed or GPT-NeoX file.
FOREIGN = frozenset(
    "log_history trial_params architectures train_micro_batch_size_per_gpu train_batch_size num_layers pipe-parallel-size"
    " pipe_parallel_size compute_environment services jobs apiVersion".split()
)
LLAMA_FACTORY = frozenset(("finetuning_type", "dataset_dir", "cutoff_len", "lora_target", "stage", "template", "quantization_bit"))
SWIFT = frozenset(("rlhf_type", "tuner_type", "train_type", "split_dataset_ratio"))  # ms-swift
# Arguments of scripts with a training loop of their own (transformers' `*_no_trainer.py`, open-instruct), which have no TrainingArguments.
OWN_LOOP = frozenset(("checkpointing_steps", "use_slow_tokenizer", "with_tracking"))
AXOLOTL = frozenset(
    "base_model micro_batch_size sequence_len adapter sample_packing num_epochs val_set_size dataset_prepared_path datasets lora_r"
    " load_in_8bit wandb_project".split()
)


class Trainer(Framework):
    """Files from which `HfArgumentParser.parse_yaml_file` or `parse_json_file` creates `TrainingArguments`."""

    kind = KIND
    title = "Hugging Face trainer"
    package = PACKAGE
    newest = NEWEST
    repository_owners = ("huggingface",)
    oldest = OLDEST["transformers"]
    reads_arguments = True
    rule_families = {"HFT": title}
    further_rules = "adapters card resuming program_code"
    rules = "across arguments fsdp keys no_effect schedule training"
    file_match = ("training_args.yaml", "training_args.yml", "training_arguments.yaml", "*.trainer.yaml", "*.trainer.yml")
    telling_keys = OWN | SHARED | SWIFT | {"base_model"}
    history_tables = ("huggingface.fields.HISTORY",)
    parts = {
        "exceptions": "rows.refusals.row_exceptions",
        "base_fields": "huggingface.fields.FIELDS",
        "base_numbers": "huggingface.fields.NUMBERS",
        "parsed_types": "huggingface.fields.PARSED",
        "refused_words": "huggingface.cli_arguments.refusals",
        "config": "huggingface.config.TrainerConfig",
        "batch": "huggingface.batch.resolve",
        "numbers": "huggingface.batch.step_numbers",
        "samples": "huggingface.samples.samples",
        "resumption": "huggingface.resumption.resumption",
        "argument_refusals": "huggingface.checks.refusals",
        "refused": "huggingface.rules.refused",
        "operations": "huggingface.field_operations.OPERATIONS",
        "typed_words": "huggingface.cli_arguments.HfWords",
        "model": "memory.named_models.model_of_names",
        "memory": "huggingface.memory.inputs",
        "account": "huggingface.summary.account",
        "constructors": "huggingface._signatures.PARAMETERS",
        "modules": "huggingface._imports.MODULES",
        "names": "huggingface._imports.NAMES",
        "learn": "huggingface.fields.learn",
    }

    def detect(self, document: Document) -> int:
        names = top_keys(document)
        own = len(names & OWN)
        shared = len(names & SHARED)
        if not own + shared or names & FOREIGN or relative_of(names):
            return NO_MATCH
        if own and own + shared > 1:
            return CERTAIN
        if shared > 2 and "output_dir" in names and len(names) >= (ENOUGH_WITH_STRATEGY if names & STRATEGIES else ENOUGH):
            from cfglint.frameworks.huggingface.fields import FIELDS

            return CERTAIN if names <= FIELDS.keys() else MAYBE
        return MAYBE if own or shared > 2 else NO_MATCH

    def may_be(self, names: list[str], path: str) -> bool:
        if "base_model" in names or not OWN.isdisjoint(names) or not SWIFT.isdisjoint(names):
            return True
        return len(SHARED.intersection(names)) > 2

    def related_tool(self, document: Document) -> str | None:
        name = relative_of(top_keys(document))
        return name if name in ("axolotl", "ms-swift") else None

    def references(self, document: Document) -> list[tuple[Path, str, str]]:
        kinds = {"deepspeed": "deepspeed", "accelerator_config": KIND, "fsdp_config": KIND}
        return [((key,), name, kind) for key, kind in kinds.items() if (name := named_file(document, key))]

    def argument_classes(self) -> dict[str, str]:
        return {"TrainingArguments": "", "Seq2SeqTrainingArguments": ""}

    def field_in_place(self, trainer: str, keyword: str, release: Version) -> tuple[str, str] | None:
        from cfglint.frameworks.huggingface.fields import FIELDS, has_field

        return ("TrainingArguments", keyword) if keyword in FIELDS and has_field(keyword, release) else None

    def words(self, facts: LaunchFacts) -> Loader:
        words: Loader = imported(self.parts["typed_words"])(facts.launch, facts.version(PACKAGE, NEWEST))
        return words


def top_keys(document: Document) -> set[str]:
    root = document.root
    return {key.raw for key, _ in root.pairs()} if root is not None else set()


def relative_of(names: set[str]) -> str | None:
    if names & SWIFT and names & {"model", "dataset"}:
        return "ms-swift"
    if len(names & LLAMA_FACTORY) > 1:
        return "LLaMA-Factory"
    if "base_model" in names and len(names & AXOLOTL) > 2:
        return "axolotl"
    return None


def named_file(document: Document, *path: str) -> str:
    """The file that a key names: a string that is neither inline JSON nor a number, null or boolean; empty for other values."""
    found = document.find(path)[1]
    node = found.resolved() if found is not None else None
    if node is None or node.kind != "scalar" or node.raw.startswith("{"):
        return ""
    if node.style or not node.raw or document.is_call:  # in Python, a string has quotes
        return node.raw if node.style else ""
    word = node.raw.lower() in ("null", "~", "true", "false", "yes", "no", "on", "off")  # `none` is a string in YAML
    return "" if word or node.raw.replace(".", "", 1).lstrip("+-").isdigit() else node.raw


FRAMEWORK = Trainer()
