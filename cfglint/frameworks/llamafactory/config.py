"""A LLaMA-Factory run: its file, and the trainer that it builds."""

from __future__ import annotations

from functools import cached_property
from os.path import isdir, join

from cfglint.batch.shapes import published
from cfglint.evaluate import Reason
from cfglint.findings.rule import FILE, Finding, Rule
from cfglint.findings.setting import NoSuchField, Setting
from cfglint.frameworks.base import Config
from cfglint.frameworks.huggingface import PACKAGE
from cfglint.frameworks.huggingface.arguments import Arguments
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.llamafactory import FRAMEWORK
from cfglint.frameworks.llamafactory.releases import arguments, ever, library
from cfglint.frameworks.peft.checkpoints import path_in_project
from cfglint.frameworks.releases.history import DEFAULT, Fields
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import ConfigMapping, ConfigTable, ConfigValue, Operand, Sequence
from cfglint.source.document import Document
from cfglint.source.files import mapping_in
from cfglint.source.root import root_of

INFO = "dataset_info.json"  # what `dataset_dir` has of data sets
FILLED_STEPS = ("num_stable_steps", "num_decay_steps")  # one and two thirds of the steps after warm-up; trainer_utils.py:556-570


class TrainerArguments(Arguments):
    """`TrainingArguments` of a LLaMA-Factory run. `own_version` is the release of LLaMA-Factory."""

    def __init__(self, values: ConfigMapping, version: Version, own_version: Version) -> None:
        self.own_version = own_version
        super().__init__(values, version)

    def __getitem__(self, name: str) -> Operand:
        """The value of a field as it is passed to the trainer."""
        if name == "remove_unused_columns":
            return False  # parser.py:437
        value = super().__getitem__(name)
        filled = name == "lr_scheduler_kwargs" and self.own_version >= (0, 9, 3)
        if filled and (value is None or isinstance(value, dict)) and self["lr_scheduler_type"] == "warmup_stable_decay":
            return {**dict.fromkeys(FILLED_STEPS, 1), **(value or {})}
        return value

    @property
    def checkpointing(self) -> Operand:
        """Whether the Trainer's own switch enables gradient checkpointing, in addition to LLaMA-Factory's."""
        return self["gradient_checkpointing"]


class LlamaFactoryConfig(TrainerConfig):
    framework = FRAMEWORK
    sole_consumer = True
    evaluation_assumed = "the evaluation set is that of the file"
    seeded_at = "config"  # hparams/parser.py:529 (get_train_args)

    def __init__(self, documents: list[Document], facts: LaunchFacts, kinds: Sequence[str] = ()) -> None:
        self.own_version: Version = facts.version(FRAMEWORK.package, FRAMEWORK.newest)
        self.own_fields: Fields = arguments(self.own_version)
        accepted = {package: library(package, self.own_version) for package in (PACKAGE, "deepspeed")}
        super().__init__(documents, facts.within(accepted), kinds)

    def parsed_arguments(self) -> Arguments:
        return TrainerArguments(self.values, self.version, self.own_version)

    _completed = Config.launched_with  # nothing interpolates `${...}`

    override_value = Config.override_value

    def own(self, name: str) -> Operand:
        """The value of one of LLaMA-Factory's fields; None if the release does not have it."""
        if name not in self.own_fields:
            name = str(self.renamed((name,))[0])
        if name in self.own_fields:
            return self.values[name] if name in self.values else self.own_fields[name][DEFAULT]
        if not ever(name):
            raise NoSuchField(name)
        return None

    def field(self, name: str) -> Setting:
        value = self.own(name) if ever(name) and name not in self.arguments.defaults else self.arguments[name]
        return self.setting(name, value=value)

    @property
    def stage(self) -> Operand:
        return self.own("stage")

    @property
    def method(self) -> Operand:
        return self.own("finetuning_type")

    @property
    def trains(self) -> bool:
        return bool(self.arguments["do_train"])

    @property
    def has_adapter(self) -> bool:
        """Whether the run has an adapter, which is the default."""
        return bool(self.values.get("finetuning_type", "lora") == "lora")

    @property
    def may_resume(self) -> bool:
        """Whether a checkpoint is named, or the output folder may have one, which is looked for unasked."""
        output = self.arguments["output_dir"]
        return super().may_resume or (isinstance(output, str) and bool(output) and isdir(output))

    @property
    def evaluates(self) -> bool:
        """`do_eval` after TrainingArguments: a strategy other than "no" turns it on (transformers 5.6.0 training_args.py:1537)."""
        return bool(self.arguments["do_eval"]) or self.arguments.eval_strategy in ("steps", "epoch")

    @property
    def zero3(self) -> bool | None:
        """Whether the DeepSpeed file sets stage 3; None if its content is unknown."""
        section = self.section("deepspeed")
        if section is None and self.uses_deepspeed:
            return None
        zero = section.get("zero_optimization") if isinstance(section, dict) else None
        return isinstance(zero, dict) and zero.get("stage") == 3

    @property
    def loads_once(self) -> bool:
        """Whether FSDP lets rank 0 alone load the model, without which `is_fsdp_enabled` of transformers is false."""
        launcher = self.launcher
        if launcher is not None and launcher.fsdp_version:
            return bool(launcher.section("fsdp_config").get("fsdp_cpu_ram_efficient_loading", True))
        section = self.section("fsdp_config") or {}
        return self.uses_fsdp and str(section.get("cpu_ram_efficient_loading")).lower() == "true"

    def quantization_of_model(self) -> tuple[ConfigValue, tuple[Reason, ...]]:
        """(`quantization_config` of the model's `config.json`, None without one; what is not known of it)."""
        name = self.own("model_name_or_path")
        if not isinstance(name, str) or not (self.own("quantization_bit") or self.zero3 or self.loads_once):
            return None, ()

        path, found = path_in_project(name, self.documents[0].path), published(name)
        if path:
            return mapping_in(path, root_of(self.documents[0].path)).get("quantization_config"), ()
        quantised = found is not None and found.quantised
        is_known = found is not None and not found.assumed and not quantised
        not_read = () if is_known else (Reason("file", f"`config.json` of `{name}`", "it is not in the project"),)
        return {"quant_method": "?"} if quantised else None, not_read

    @property
    def launched(self) -> bool | None:
        """Whether torchrun starts the processes: with several GPUs, and for DeepSpeed and FSDP. None if that is unknown."""
        return True if self.uses_fsdp else super().launched

    @property
    def own_trainer(self) -> bool:
        """Whether another trainer runs: PPO's own loop, HyperParallel, or the fork of transformers that KTransformers uses."""
        return self.stage == "ppo" or bool(self.own("use_kt")) or (self.stage == "sft" and bool(self.own("use_hyper_parallel")))

    @property
    def makes_optimizer(self) -> bool:
        """Whether the trainer builds one of its optimizers: the DeepSpeed file has none, and Muon is not selected."""
        return super().makes_optimizer and not self.uses_muon

    @property
    def uses_muon(self) -> bool:
        """Whether Muon is the optimizer that is built, the last of the special optimizers (train/trainer_utils.py:532-548)."""
        earlier = ("use_galore", "use_apollo", "use_badam", "use_adam_mini")
        others = any(self.own(name) for name in earlier) or self.own("loraplus_lr_ratio") is not None
        return bool(self.own("use_muon")) and not others and super().makes_optimizer

    @cached_property
    def data_sets(self) -> tuple[str, ConfigTable]:
        """(the `dataset_info.json` of the run in the project, the data sets that it describes); none of one elsewhere, or not readable."""
        from cfglint.frameworks.training_data.files import local

        folder = self.own("dataset_dir")
        at = local(self, join(folder, INFO)) if isinstance(folder, str) else None
        return (at, mapping_in(at, root_of(at))) if at is not None else ("", {})

    @property
    def packs(self) -> bool:
        """Whether samples are packed into blocks, so that the number of rows differs from the number of samples."""
        packing = True if self.own("neat_packing") else self.own("packing")
        return self.stage in ("pt", "sft") and (self.stage == "pt" if packing is None else bool(packing))

    def loaded(self) -> tuple[int | None, Operand]:
        """(rows that the trainer gets, rows per batch): packed and streamed rows cannot be counted."""
        rows, micro = super().loaded()
        return (None if self.packs or self.own("streaming") or self.own_trainer else rows), micro

    def reaches(self, rule: Rule, finding: Finding) -> bool:
        """Whether the run reaches the stage of a finding: without `do_train` it does not train, and another trainer is not modelled."""
        declared = self.facts.complete and self.facts.launch.command is None
        if rule.about == FILE and not declared and str(finding.setting.value).startswith("examples/deepspeed/"):
            return False  # the run starts in LLaMA-Factory's own checkout, which contains the file
        if (self.trains and not self.own_trainer) or finding.setting.path == ("seed",):  # get_train_args itself seeds
            return True
        return (finding.fails_at or rule.fails_at) not in ("init", "first-step") or rule.on_construction or self.kind in rule.kinds

    def nested_configs(self) -> list[Config]:
        """The DeepSpeed configuration that the engine receives, if anything is trained."""
        return super().nested_configs() if self.trains and not self.own_trainer else []


def comma_list(value: object) -> Operand:
    """A string as the list that `split_arg` converts it to; any other value unchanged (data_args.py:148-151)."""
    return [item.strip() for item in value.split(",")] if isinstance(value, str) else value
