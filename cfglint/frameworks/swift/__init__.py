"""ms-swift: `swift sft`, `swift pt` and `swift rlhf`."""

from __future__ import annotations

from cfglint.frameworks._releases import OLDEST, RELEASES
from cfglint.frameworks.base import CERTAIN, NO_MATCH, Framework, missing
from cfglint.frameworks.huggingface import FRAMEWORK as TRAINER
from cfglint.frameworks.huggingface import SWIFT, relative_of, top_keys
from cfglint.frameworks.versions import parse_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from cfglint.frameworks.base import Own
    from cfglint.frameworks.launch_facts import Launch, LaunchFacts
    from cfglint.frameworks.refusal import Refusal
    from cfglint.frameworks.swift.config import SwiftConfig
    from cfglint.source.document import Document, Path
    from cfglint.source.loaders import Loader
    from cfglint.source.values import ConfigValue

KIND: Final = "swift"
PACKAGE = "ms-swift"
NEWEST = RELEASES[PACKAGE]
COMMANDS = ("pt", "rlhf", "sft")
MODULES = tuple(f"swift.cli.{each}" for each in COMMANDS)
SCRIPTS = tuple(f"swift/cli/{each}.py" for each in COMMANDS)
RELATIVE = "ms-swift"
MEGATRON = frozenset(("micro_batch_size", "train_iters", "tensor_model_parallel_size"))
WRITTEN = frozenset(("swift_version", "model_info"))  # in the `args.json` of a checkpoint


class SwiftCommands(Framework["Own"]):
    """Command lines of ms-swift, and the files of their arguments."""

    package = PACKAGE
    oldest = OLDEST[PACKAGE]
    newest = NEWEST
    telling_keys = SWIFT
    reads_arguments = True

    def may_be(self, names: list[str], path: str) -> bool:
        """Whether the file has one of ms-swift's own keys."""
        return not SWIFT.isdisjoint(names)

    def failing(self, config: Own) -> list[Refusal]:
        """The checks of ms-swift that fail, in the order in which a run reaches them."""
        found: list[Refusal] = self.part("failing", missing)(config)
        return found

    def loader(self, document: Document, facts: LaunchFacts) -> Loader:
        """The loader for the words of a command; PyYAML's safe loader or Python's json for a file."""
        from cfglint.frameworks.swift.command_line import loader_of

        return loader_of(document)


class Swift(SwiftCommands["SwiftConfig"]):
    """Command lines of `swift sft`, `swift pt` and `swift rlhf`."""

    kind = KIND
    title = "ms-swift"
    repository_owners = ("modelscope",)
    base = TRAINER.kind
    estimates_memory = True
    parses_command = True
    rule_families = {"SWF": title}
    replaced_rules = ("HFT001", "HFT002", "KEY200", "KEY201", "KEY202", "TYP201")
    programs = MODULES
    parts = {
        "config": "swift.config.SwiftConfig",
        "batch": "swift.batch.resolve",
        "numbers": "swift.batch.numbers",
        "model": "huggingface.memory.model",
        "memory": "swift.memory.inputs",
        "failing": "swift.checks.failed",
        "split_rule": "swift.batch.split_rule",
        "account": "swift.summary.account",
    }

    def detect(self, document: Document) -> int:
        """Detect by the top-level keys; files for Megatron-SWIFT do not count."""
        names = top_keys(document)
        return CERTAIN if relative_of(names) == RELATIVE and names.isdisjoint(MEGATRON | WRITTEN) else NO_MATCH

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

    def operations(self, config: SwiftConfig) -> tuple[Any, ...]:
        """The operations of the Trainer."""
        return TRAINER.operations(config)

    def loaded(self, config: SwiftConfig) -> tuple[int | None, ConfigValue]:
        """(samples per epoch, samples that one process takes from the loader at a time)."""
        from cfglint.frameworks.swift.batch import loaded

        return loaded(config)


FRAMEWORK = Swift()
