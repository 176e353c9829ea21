"""TRL: files from which `TrlParser` fills a trainer's configuration class, a subclass of `TrainingArguments`."""

from __future__ import annotations

from cfglint.frameworks import modelled_releases
from cfglint.frameworks.base import CERTAIN, MAYBE, NO_MATCH, Framework
from cfglint.frameworks.huggingface import FRAMEWORK as TRAINER
from cfglint.frameworks.huggingface import NEWEST as NEWEST_TRANSFORMERS
from cfglint.frameworks.huggingface import named_file, top_keys
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import OLDEST, RELEASES
from cfglint.frameworks.releases.history import holds
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Collection, Final
from cfglint.source.document import Document, Path

KIND: Final = "trl"
PACKAGE = "trl"
NEWEST = RELEASES["trl"]
TRANSFORMERS = "transformers"
FIRST_WITH_NEWEST = (1,)  # releases of TRL that run with the newest transformers

TRAINERS = tuple("sft dpo kto reward grpo rloo distillation orpo cpo gkd bco prm ppo online_dpo nash_md xpo".split())

# Top-level keys that only the classes of TRL's trainers have.
OWN = frozenset(
    "assistant_only_loss center_rewards_coefficient chat_template_path completion_only_loss dataset_text_field desirable_weight"
    " eval_packing f_divergence_type generation_batch_size importance_sampling_level log_completions mask_truncated_completions"
    " max_completion_length max_prompt_length num_completions_to_print num_generations num_generations_eval packing packing_strategy"
    " padding_free precompute_ref_log_probs ref_model_init_kwargs ref_model_mixup_alpha ref_model_sync_steps reward_funcs"
    " reward_weights rpo_alpha scale_rewards steps_per_generation sync_ref_model undesirable_weight"
    " vllm_importance_sampling_correction vllm_importance_sampling_mode vllm_server_host".split()
)
# Keys that TRL's scripts have in common with other programs; several together identify TRL.
SHARED = frozenset(
    "attn_implementation beta bnb_4bit_quant_type dataset_name dataset_num_proc dataset_test_split dataset_train_split load_in_4bit"
    " lora_target_modules lora_task_type loss_type max_length max_seq_length model_init_kwargs model_revision torch_dtype"
    " use_bnb_nested_quant use_peft use_vllm".split()
)
# Keys of other programs whose files have some of the same names: open-instruct, ms-swift.
OTHERS = frozenset(
    "attn_impl checkpointing_steps external_plugins rlhf_type split_dataset_ratio train_type tuner_type use_flash_attn"
    " use_slow_tokenizer with_tracking".split()
)
LAUNCHER_FILE = "accelerate_config"  # for `accelerate launch`, which the command `trl` starts
ENOUGH = 3  # names of several kinds that together identify a file


class Trl(Framework):
    """Files for `TrlParser.parse_args_and_config` and for TRL's own scripts."""

    kind = KIND
    title = "TRL"
    package = PACKAGE
    newest = NEWEST
    repository_owners = ("huggingface", "lvwerra")
    oldest = OLDEST["trl"]
    base = "huggingface"
    trainers = TRAINERS
    reads_arguments = True
    rule_families = {"TRL": title}
    rules = "keys methods no_effect trainers"
    file_match = ("trl_config.yaml", "trl_config.yml", "*.trl.yaml", "*.trl.yml")
    only_syntax = "yaml"
    telling_keys, line_names = OWN | SHARED, OWN
    replaced_rules = ("HFT001", "HFT002", "KEY200", "KEY201", "KEY202", "TYP201")
    history_tables = ("trl.releases.ENTRY", "trl.releases.HISTORY")
    parts = {
        "exceptions": "rows.refusals.row_exceptions",
        "config": "trl.config.TrlConfig",
        "batch": "huggingface.batch.resolve",
        "words": "trl.parser.ARGUMENTS",
        "loaded": "trl.batch.loaded",
        "at_once": "trl.batch.at_once",
        "batches_because": "trl.summary.batches_because",
        "operations": "trl.field_operations.ALL_OPERATIONS",
        "refusals": "trl.checks.refusals",
        "refused": "trl.rules.refused",
        "numbers": "trl.batch.numbers",
        "samples": "trl.samples.samples",
        "resumption": "huggingface.resumption.resumption",
        "model": "memory.named_models.model_of_names",
        "memory": "trl.memory.inputs",
        "adapters": "trl.adapters.adapters",
        "quantization": "trl.adapters.quantization",
        "integer_storage": "trl.adapters.integer_storage",
        "split_rule": "trl.batch.split_rule",
        "account": "trl.summary.account",
        "constructors": "trl._signatures.PARAMETERS",
        "modules": "trl._imports.MODULES",
        "names": "trl._imports.NAMES",
        "learn": "trl.fields.learn",
    }

    def detect(self, document: Document) -> int:
        names = top_keys(document)
        own, shared = len(names & OWN), len(names & SHARED)
        if document.syntax != "yaml" or (not own and shared < ENOUGH) or names & OTHERS:
            return NO_MATCH
        clarity = TRAINER.detect(document)
        return CERTAIN if clarity == MAYBE and own > 1 else clarity

    def may_be(self, names: list[str], path: str) -> bool:
        return TRAINER.may_be(names, path)

    def packages(self) -> dict[str, str]:
        return {PACKAGE: NEWEST, TRANSFORMERS: NEWEST_TRANSFORMERS}

    def completed(self, facts: LaunchFacts) -> LaunchFacts:
        """The facts with the release of TRL or transformers that matches what is stated of the other, and of accelerate.

        Without one it is the newest TRL that can be installed with the others, and any transformers of its day that its requirements allow.
        """
        from cfglint.frameworks.releases.requirements import known_others, newest_with, required

        if PACKAGE not in facts.target:
            releases = modelled_releases(PACKAGE)
            newest = newest_with(PACKAGE, releases, known_others(facts, PACKAGE)) or releases[0]
            if newest != NEWEST:
                facts = facts.replace(target={**facts.target, PACKAGE: newest}, bounds={**facts.bounds, PACKAGE: (f"<={newest}",)})
        if TRANSFORMERS in facts.target or PACKAGE not in facts.target:
            return facts
        from cfglint.frameworks.trl._tables import TRANSFORMERS_OF_THE_DAY

        version = facts.version(PACKAGE, NEWEST)
        of_day = [release for since, release in TRANSFORMERS_OF_THE_DAY if since <= version][-1]
        of_transformers = {} if version >= FIRST_WITH_NEWEST else {TRANSFORMERS: of_day}
        needed = {TRANSFORMERS: (required(PACKAGE, version, TRANSFORMERS),)} if facts.is_known(PACKAGE) else {}
        return facts.replace(target={**facts.target, **of_transformers}, bounds={**facts.bounds, **needed})

    def started_by(self, program: str, facts: LaunchFacts) -> LaunchFacts:
        """The facts with the trainer of the program: by its configuration class, else by its name: `trl grpo`, `run_sft.py`."""
        from cfglint.frameworks.trl.releases import CLASSES

        arguments = facts.launch.program.arguments if facts.launch.program is not None else ""
        name = program.replace("\\", "/").rpartition("/")[2].removesuffix(".py").lower()
        parts = name.replace("-", "_").replace(".", "_").replace(" ", "_").split("_")
        named = [trainer for trainer in TRAINERS if trainer in parts]
        if facts.trainer is None and (arguments in CLASSES or len(named) == 1):
            facts = facts.replace(trainer=CLASSES.get(arguments) or named[0])
        return self.completed(facts)

    def references(self, document: Document) -> list[tuple[Path, str, str]]:
        found = TRAINER.references(document)
        name = named_file(document, LAUNCHER_FILE)
        return [*found, ((LAUNCHER_FILE,), name, "accelerate")] if name else found

    def argument_classes(self) -> dict[str, str]:
        from cfglint.frameworks.trl.releases import CLASSES

        return CLASSES

    def has_class(self, name: str, facts: LaunchFacts) -> bool:
        """Whether a class that can be imported configures a trainer; before 0.12.0 `PPOConfig` is no subclass of `TrainingArguments`."""
        from cfglint.frameworks.trl.fields import trainers_of
        from cfglint.frameworks.trl.releases import CLASSES

        release = facts.version(PACKAGE, NEWEST)
        if name not in CLASSES or CLASSES[name] in trainers_of(release):
            return True
        return not any(holds(since, until, release) for since, until in self.importable(PACKAGE, name))

    def script_classes(self) -> Collection[str]:
        from cfglint.frameworks.trl.releases import OTHER_CLASSES

        return OTHER_CLASSES

    def fields_of_class(self, name: str) -> set[str]:
        from cfglint.frameworks.trl.releases import CLASSES, HISTORY, OTHER_CLASSES

        return set(HISTORY.names(CLASSES.get(name) or OTHER_CLASSES.get(name, "")))

    def field_in_place(self, trainer: str, keyword: str, release: Version) -> tuple[str, str] | None:
        from cfglint.frameworks.trl.arguments import OLD_NAMES
        from cfglint.frameworks.trl.releases import CLASSES, HISTORY

        name = trainer.removesuffix("Trainer") + "Config"
        own = CLASSES.get(name, "")
        known = HISTORY.fields(own, release) if own else {}
        renamed = (new for section, old, new, _ in OLD_NAMES if section == own and old == keyword)
        found = next((each for each in (keyword, *renamed) if each in known), "")
        return (name, found) if found else None


FRAMEWORK = Trl()
