"""A run of Megatron-SWIFT: the arguments of its command."""

from __future__ import annotations

from math import prod

from cfglint.evaluate import Unknown
from cfglint.findings.setting import Setting
from cfglint.frameworks.arguments.parsing import INVALID
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.megatron_swift import FRAMEWORK
from cfglint.frameworks.swift.fields import COMMON, HISTORY, own
from cfglint.frameworks.swift.parsed_command import CommandConfig, command_of
from cfglint.source.annotations import Operand, Sequence
from cfglint.source.document import Document


class MegatronSwiftConfig(CommandConfig):
    framework = FRAMEWORK
    sole_consumer = True
    batch_keys = {"micro_batch": "micro_batch_size", "global_batch": "global_batch_size"}

    def __init__(self, documents: list[Document], facts: LaunchFacts, kinds: Sequence[str] = ()) -> None:
        self.own_version = facts.version(FRAMEWORK.package, FRAMEWORK.newest)
        self.command = command_of(facts, documents[0])
        sections = dict.fromkeys((f"megatron {COMMON}", f"megatron {self.command}"))
        self.known = {name: own(row) for section in sections for name, row in HISTORY.fields(section, self.own_version).items()}
        self.refused = []
        super().__init__(documents, facts, kinds)
        reading = FRAMEWORK.loader(documents[0], facts).read(documents[0])
        self.load_problems.extend((documents[0], problem) for problem in reading.problems)
        self.root = reading.value if isinstance(reading.value, dict) else {}
        self.values = self._completed(self.root)
        self.unread = {words.name for words in self.refused if words.why == INVALID}

    def own(self, name: str) -> Operand:
        if name not in self.known or name in self.unread:
            return None
        value = self.values.get(name, self.known[name].default)
        return None if isinstance(value, Unknown) else value

    def integer(self, *names: str) -> int | None:
        """The value of the first of some fields that has an integer."""
        return next((value for name in names if isinstance(value := self.own(name), int)), None)

    def field(self, name: str) -> Setting:
        return self.setting(name, value=self.own(name), because="" if name in self.values else f"default of {self.release}")

    @property
    def model_size(self) -> int | None:
        """The GPUs of one copy of the model."""
        sizes = [self.integer(f"{axis}_parallel_size") or 0 for axis in ("tensor_model", "pipeline_model", "context")]
        return prod(sizes) if min(sizes) > 0 else None
