"""ms-swift: `swift sft`, `swift pt` and `swift rlhf`."""

from __future__ import annotations

from cfglint.frameworks._releases import RELEASES
from cfglint.frameworks.base import CERTAIN, NO_MATCH, Framework
from cfglint.frameworks.huggingface import FRAMEWORK as TRAINER
from cfglint.frameworks.huggingface import SWIFT, relative_of, top_keys
from cfglint.frameworks.versions import parse_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from cfglint.batch.solver import SplitRule
    from cfglint.frameworks.base import Config
    from cfglint.frameworks.launch_facts import Launch, LaunchFacts
    from cfglint.frameworks.memory_inputs import Inputs, Model
    from cfglint.frameworks.refusal import Refusal
    from cfglint.frameworks.resolved_batch import Batch
    from cfglint.frameworks.summary import Summary
    from cfglint.frameworks.swift.config import SwiftConfig
    from cfglint.source.document import Document, Path
    from cfglint.source.loaders import Loader

KIND: Final = "swift"
PACKAGE = "ms-swift"
OLDEST = "3.0.0"
NEWEST = RELEASES[PACKAGE]
COMMANDS = ("pt", "rlhf", "sft")
MODULES = tuple(f"swift.cli.{each}" for each in COMMANDS)
SCRIPTS = tuple(f"swift/cli/{each}.py" for each in COMMANDS)
RELATIVE = "ms-swift"
MEGATRON = frozenset(("micro_batch_size", "train_iters", "tensor_model_parallel_size"))
WRITTEN = frozenset(("swift_version", "model_info"))  # in the `args.json` of a checkpoint


class Swift(Framework["SwiftConfig"]):
    """Command lines of ms-swift and the files of their arguments."""

    kind = KIND
    title = "ms-swift"
    package = PACKAGE
    oldest = OLDEST
    newest = NEWEST
    repository_owners = ("modelscope",)
    base = TRAINER.kind
    estimates_memory = True
    telling_keys = SWIFT
    reads_arguments = True
    parses_command = True
    rule_families = {"SWF": title}
    replaced_rules = ("HFT001", "HFT002", "KEY200", "KEY201", "KEY202", "TYP201")
    programs = MODULES

    def detect(self, document: Document) -> int:
        """Detect by the top-level keys; files for Megatron-SWIFT do not count."""
        names = top_keys(document)
        return CERTAIN if relative_of(names) == RELATIVE and names.isdisjoint(MEGATRON | WRITTEN) else NO_MATCH

    def may_be(self, names: list[str], path: str) -> bool:
        """Whether the file has one of ms-swift's own keys."""
        return not SWIFT.isdisjoint(names)

    def takes(self, launch: Launch) -> bool:
        """Whether a line starts the module of a training command itself: `torchrun swift/cli/sft.py`."""
        line = launch.line
        if line is None or line.program is None:
            return False
        return self.runs(line) or line.program.string.replace("\\", "/").endswith(SCRIPTS)

    def packages(self) -> dict[str, str]:
        """ms-swift, and the transformers that its newest release accepts."""
        from cfglint.frameworks.swift.fields import libraries

        return {PACKAGE: NEWEST, **libraries(parse_version(NEWEST))}

    def references(self, document: Document) -> list[tuple[Path, str, str]]:
        """The DeepSpeed file that an argument names, unless it is one of the package's."""
        from cfglint.frameworks.swift.fields import FILES, HISTORY

        return [each for each in TRAINER.references(document) if each[1] not in HISTORY.names(FILES)]

    def config(self, documents: list[Document], kinds: list[str], facts: LaunchFacts) -> Config:
        """The config of the arguments of a command."""
        from cfglint.frameworks.swift.config import SwiftConfig

        return SwiftConfig(documents, kinds, facts)

    def batch(self, config: SwiftConfig) -> Batch:
        """The batch: the Trainer's, with the processes divided by the sequence-parallel size."""
        from cfglint.frameworks.swift.batch import resolve

        return resolve(config)

    def numbers(self, config: SwiftConfig) -> dict[str, int | None]:
        """Steps and warm-up, and the sizes of a generation."""
        from cfglint.frameworks.swift.batch import numbers

        return numbers(config)

    def model(self, config: SwiftConfig) -> Model | None:
        """The model that the arguments name."""
        return TRAINER.model(config)

    def memory(self, config: SwiftConfig, model: Model) -> Inputs | None:
        """The memory settings of a run."""
        from cfglint.frameworks.swift.memory import inputs

        return inputs(config, model)

    def operations(self, config: SwiftConfig) -> tuple[Any, ...]:
        """The operations of the Trainer."""
        return TRAINER.operations(config)

    def split_rule(self, config: SwiftConfig) -> SplitRule | None:
        """The requirement on the batch: complete groups of completions in a generation (GRPO), pairs in a micro batch (KTO)."""
        from cfglint.frameworks.swift.batch import split_rule

        return split_rule(config)

    def loaded(self, config: SwiftConfig) -> tuple[int | None, Any]:
        """(samples per epoch, samples that one process takes from the loader at a time)."""
        from cfglint.frameworks.swift.batch import loaded

        return loaded(config)

    def failing(self, config: SwiftConfig) -> list[Refusal]:
        """The checks of ms-swift that fail, in the order in which a run reaches them."""
        from cfglint.frameworks.swift.checks import failed

        return failed(config)

    def account(self, config: SwiftConfig) -> Summary:
        """The lines about the Trainer, and about what is trained."""
        from cfglint.frameworks.swift.summary import account

        return account(config)

    def load_rules(self) -> None:
        """Register the rules."""
        from cfglint.frameworks.swift import rules  # noqa: F401

    def loader(self, document: Document, facts: LaunchFacts) -> Loader:
        """The loader for the words of a command; PyYAML's safe loader or Python's json for a file."""
        from cfglint.frameworks.swift.command_line import loader_of

        return loader_of(document)


FRAMEWORK = Swift()
