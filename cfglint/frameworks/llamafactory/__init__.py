"""LLaMA-Factory: the YAML file of `llamafactory-cli train`, loaded by OmegaConf and parsed by `HfArgumentParser`."""

from __future__ import annotations

from cfglint.frameworks.base import CERTAIN, MAYBE, NO_MATCH, Framework
from cfglint.frameworks.huggingface import FRAMEWORK as TRAINER
from cfglint.frameworks.huggingface import relative_of, top_keys
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import OLDEST, RELEASES
from cfglint.frameworks.releases.versions import parse_version
from cfglint.launch import Launch
from cfglint.source.annotations import Final
from cfglint.source.document import Document, Path
from cfglint.source.loaders import Loader

KIND: Final = "llamafactory"
NEWEST = RELEASES["llamafactory"]

# Keys that only LLaMA-Factory has.
OWN = frozenset(
    """
    finetuning_type stage template cutoff_len dataset_dir lora_target lora_rank quantization_bit overwrite_cache plot_loss
    neat_packing freeze_trainable_layers pref_loss pref_beta eval_dataset enable_liger_kernel
    """.split()
)
# Keys that other kinds have, too.
SHARED = frozenset(("model_name_or_path", "dataset", "do_train", "output_dir", "per_device_train_batch_size", "max_samples", "val_size"))
TRAINING = frozenset(("stage", "do_train", "do_predict", "do_eval"))  # one of these is in every file for training or evaluation
OTHER_COMMANDS = frozenset(("infer_backend", "export_dir", "vllm_maxlen", "sglang_maxlen", "n_shot", "save_dir"))  # chat, api, export, eval
OUTPUTS = frozenset(("output_dir", "dataset", "eval_dataset", "num_train_epochs", "max_steps"))  # further keys of training files
FOREIGN = frozenset(("train_micro_batch_size_per_gpu", "compute_environment", "services", "jobs", "architectures", "base_model"))

OWN_PROGRAM = "src/train.py"  # of its repository, which calls `run_exp` and nothing else
OWN_OPTIONS = frozenset(("stage", "finetuning_type", "template", "cutoff_len", "dataset_dir"))


class LlamaFactory(Framework):
    kind = KIND
    title = "LLaMA-Factory"
    package = "llamafactory"
    newest = NEWEST
    repository_owners = ("hiyouga",)
    former_packages = ("llmtuner",)  # before 0.7.1
    source_paths = ("llamafactory", "llmtuner")
    oldest = OLDEST["llamafactory"]
    release_parts = 3  # 0.9.3 and 0.9.4 have other keys
    base = TRAINER.kind
    telling_keys = line_names = OWN
    replaced_rules = frozenset(("HFT001", "HFT002", "KEY200", "KEY201", "KEY202"))
    reads_arguments = True
    rule_families = {"LLF": title}
    rules = "keys values no_effect checks"
    file_match = ("llamafactory.yaml", "llamafactory.yml", "*.llamafactory.yaml", "*.llamafactory.yml")
    history_tables = ("llamafactory.releases.HISTORY",)
    parts = {
        "has_own_key": "llamafactory.releases.ever",
        "exceptions": "rows.refusals.row_exceptions",
        "batch": "huggingface.batch.resolve",
        "numbers": "llamafactory.summary.numbers",
        "samples": "llamafactory.samples.samples",
        "resumption": "llamafactory.resumption.resumption",
        "operations": "llamafactory.field_operations.ALL_OPERATIONS",
        "refusals": "llamafactory.checks.refusals",
        "refused": "llamafactory.rules.checks.refused",
        "unknown_keys": "llamafactory.rules.keys.unknown_keys",
        "config": "llamafactory.config.LlamaFactoryConfig",
        "model": "memory.named_models.model_of_names",
        "memory": "llamafactory.memory.inputs",
        "adapters": "llamafactory.adapters.adapters",
        "account": "llamafactory.summary.account",
        "learn": "llamafactory.releases.learn",
    }

    def detect(self, document: Document) -> int:
        """Detect by the top-level keys of a YAML file; files of its other commands do not count, and it cannot load JSON."""
        if document.syntax == "json":
            return NO_MATCH
        names = top_keys(document)
        own = len(names & OWN)
        if not own or names & FOREIGN or relative_of(names) == "ms-swift":
            return NO_MATCH
        if not names & (TRAINING if names & OTHER_COMMANDS else TRAINING | OUTPUTS):
            return NO_MATCH
        if own > 1 and own + len(names & SHARED) > 2:
            return CERTAIN
        return MAYBE if own > 1 and names & SHARED else NO_MATCH

    def may_be(self, names: list[str], path: str) -> bool:
        """Whether the file has two of LLaMA-Factory's own keys, or `model_name_or_path` as files of its other commands do."""
        return "model_name_or_path" in names or len(OWN.intersection(names)) > 1

    def related_tool(self, document: Document) -> str | None:
        names = top_keys(document)
        other = names & OTHER_COMMANDS or "adapter_name_or_path" in names
        return f"{self.title} inference" if other and names & OWN and "model_name_or_path" in names else None

    def takes(self, launch: Launch) -> bool:
        """Whether a line starts the program of its repository with options, `torchrun src/train.py --stage sft`: what is given to `run_exp`
        itself is used in their place.
        """
        line, command = launch.line, launch.command
        if line is None or command is None or line.program is None or line.module or any(file.role == "positional" for file in line.files):
            return False
        text = launch.project.read(launch.program_path) if launch.project is not None and launch.program_path else None
        if text is not None:
            return "run_exp()" in text and any(f"{name}." in text for name in (self.package, *self.former_packages))
        named = f"/{line.program.string}".endswith(f"/{OWN_PROGRAM}")
        return named and len(OWN_OPTIONS.intersection(command.words)) >= 2  # of these, on a line whose program is not in the project

    def packages(self) -> dict[str, str]:
        from cfglint.frameworks.llamafactory.releases import library

        return {self.package: self.newest, TRAINER.package: library(TRAINER.package, parse_version(self.newest))}

    def completed(self, facts: LaunchFacts) -> LaunchFacts:
        """The facts with the releases of transformers that a stated release of LLaMA-Factory accepts, where nothing states one."""
        if not facts.is_known(self.package) or TRAINER.package in facts.target:
            return facts
        from cfglint.frameworks.llamafactory.releases import library

        version = facts.version(self.package, self.newest)
        target = {**facts.target, TRAINER.package: library(TRAINER.package, version)}
        return facts.replace(target=target, bounds={**facts.bounds, TRAINER.package: (f">={library('transformers>=', version)}",)})

    def references(self, document: Document) -> list[tuple[Path, str, str]]:
        return TRAINER.references(document)

    def loader(self, document: Document, facts: LaunchFacts) -> Loader:
        """OmegaConf's loader; up to 0.9.3 PyYAML's, as for the Trainer. The newest releases do not load a JSON file.

        The arguments of a line without a file are parsed by HfArgumentParser.
        """
        from cfglint.frameworks.llamafactory import loader

        if document.is_command:
            return TRAINER.loader(document, facts)

        version = facts.version(self.package, self.newest)
        if document.syntax == "json":
            return loader.JSON if version in loader.JSON_REFUSED else TRAINER.loader(document, facts)
        if version in loader.OMEGACONF_LOADS:
            from cfglint.source.omegaconf import OMEGACONF

            return OMEGACONF
        return loader.MERGED if version in loader.OMEGACONF_MERGES else TRAINER.loader(document, facts)


FRAMEWORK = LlamaFactory()
