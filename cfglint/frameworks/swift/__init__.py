"""ms-swift: `swift sft`, `swift pt` and `swift rlhf`."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.base import CERTAIN, NO_MATCH, Framework
from cfglint.frameworks.huggingface import FRAMEWORK as TRAINER
from cfglint.frameworks.huggingface import SWIFT, relative_of, top_keys
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._modelled import OLDEST, RELEASES
from cfglint.frameworks.releases.versions import parse_version
from cfglint.source.annotations import Final
from cfglint.source.document import Document, Path

KIND: Final = "swift"
PACKAGE = "ms-swift"
NEWEST = RELEASES[PACKAGE]
COMMANDS = ("pt", "rlhf", "sft")
RELATIVE = "ms-swift"
MEGATRON = frozenset(("micro_batch_size", "train_iters", "tensor_model_parallel_size"))
WRITTEN = frozenset(("swift_version", "model_info"))  # in the `args.json` of a checkpoint
LIBRARY = "trl"
LIBRARY_CHECKS = Releases((3, 5), (4, 2))  # whose GRPO has the checks of that library; it requires this one at least:
LIBRARY_OLDEST = "0.17.0"


class SwiftCommands(Framework):
    package = PACKAGE
    oldest = OLDEST[PACKAGE]
    newest = NEWEST
    telling_keys = SWIFT
    reads_arguments = True

    def may_be(self, names: list[str], path: str) -> bool:
        return not SWIFT.isdisjoint(names)


class Swift(SwiftCommands):
    kind = KIND
    title = "ms-swift"
    repository_owners = ("modelscope",)
    source_paths = ("/swift/",)
    source_folder = "swift"
    base = TRAINER.kind
    parses_command = True
    rule_families = {"SWF": title}
    rules = "arguments no_effect"
    replaced_rules = ("HFT001", "HFT002", "KEY200", "KEY201", "KEY202", "TYP201")
    programs = tuple(f"swift.cli.{each}" for each in COMMANDS)
    scripts = tuple(f"swift/cli/{each}.py" for each in COMMANDS)
    parts = {
        "exceptions": "rows.refusals.row_exceptions",
        "config": "swift.config.SwiftConfig",
        "refused": "swift.rules.arguments.refused",
        "words": "swift.parsed_command.OPTIONS",
        "loaded": "swift.batch.loaded",
        "batches_because": "swift.batch.batches_because",
        "operations": "huggingface.field_operations.OPERATIONS",
        "batch": "swift.batch.resolve",
        "numbers": "swift.batch.numbers",
        "adapters": "swift.adapters.adapters",
        "samples": "swift.samples.samples",
        "resumption": "huggingface.resumption.resumption",
        "model": "memory.named_models.model_of_names",
        "memory": "swift.memory.inputs",
        "refusals": "swift.checks.failed",
        "split_rule": "swift.batch.split_rule",
        "account": "swift.summary.account",
    }

    def detect(self, document: Document) -> int:
        names = top_keys(document)
        return CERTAIN if relative_of(names) == RELATIVE and names.isdisjoint(MEGATRON | WRITTEN) else NO_MATCH

    def packages(self) -> dict[str, str]:
        from cfglint.frameworks.swift.fields import libraries

        return {PACKAGE: NEWEST, **libraries(parse_version(NEWEST))}

    def completed(self, facts: LaunchFacts) -> LaunchFacts:
        """The facts with the releases of TRL, if it is not stated which, where these decide about the sizes of a generation."""
        from cfglint.frameworks.swift.fields import libraries

        version = facts.version(PACKAGE, NEWEST)
        if facts.is_known(LIBRARY) or version not in LIBRARY_CHECKS:
            return facts
        newest = libraries(version)[LIBRARY]
        bounds = facts.bounds.get(LIBRARY, (f">={LIBRARY_OLDEST},<={newest}",))
        return facts.within({LIBRARY: newest}).replace(bounds={**facts.bounds, LIBRARY: bounds})

    def references(self, document: Document) -> list[tuple[Path, str, str]]:
        """The DeepSpeed file that an argument names, unless it is one of the package's."""
        from cfglint.frameworks.swift.fields import FILES, HISTORY

        return [reference for reference in TRAINER.references(document) if reference[1] not in HISTORY.names(FILES)]


FRAMEWORK = Swift()
