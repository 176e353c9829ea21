"""The config of a launch line: that of its consumer, and that of the line itself."""

from __future__ import annotations

from functools import cached_property

from cfglint.evaluate import Reason
from cfglint.frameworks import fed_by, framework
from cfglint.frameworks.base import Config
from cfglint.frameworks.launch import FRAMEWORK
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.launch import Launch
from cfglint.launch.command import borrowed, overrides
from cfglint.launch.kinds import LAUNCH
from cfglint.launch.program import ProgramCall
from cfglint.source.annotations import Any, Operand, Sequence
from cfglint.source.document import Document, Path
from cfglint.source.python.call import CallDocument
from cfglint.source.shell.command import CommandDocument
from cfglint.source.shell.tables import names

ACCELERATOR = "Accelerator"
PLUGINS = names(  # keywords that take the place of what the launcher passes on
    "cpu deepspeed_plugin deepspeed_plugins dynamo_backend dynamo_plugin fsdp_plugin megatron_lm_plugin parallelism_config torch_tp_plugin"
)


class LaunchConfig(Config):
    """The launch line itself: its words, its sizes, the refusals of its launcher; `accelerator` is the call of a loop of its own."""

    framework = FRAMEWORK

    def __init__(self, documents: list[Document], facts: LaunchFacts, kinds: Sequence[str] = ()) -> None:
        super().__init__(documents, facts, kinds)
        command = documents[0]
        calls = (document for document in documents if isinstance(document, ProgramCall))
        self.accelerator = next((call for call in calls if call.name == ACCELERATOR), None)  # the call that sets up the program
        self.command = command if isinstance(command, CommandDocument) else None
        if not isinstance(command, CommandDocument):  # a program that no line starts
            return
        self.values = {key: " ".join(words) if words else None for key, words in command.words.items()}
        node = command.find((command.size_key,))[1] if command.size_key else None
        if node is not None and node.raw.isdigit():
            self.values[command.size_key] = int(node.raw)

    @property
    def other_defaults(self) -> tuple[Reason, ...]:
        return ()

    def default(self, path: Path, missing: object) -> Operand:
        """The default that the program's own parser has for an option, as a word of the line."""
        default = default_of_program(self.facts.launch, path, missing)
        return missing if default is missing or isinstance(default, bool) else str(default)

    @cached_property
    def launcher(self) -> Any:
        """The config of `accelerate launch`, whose flags alone may be one; None for another launcher, or if it is not known."""
        pairs = [*zip(self.documents, self.kinds, strict=False)]
        document = next((document for document, kind in pairs if kind == "accelerate"), None)
        line = self.facts.launch.line
        if document is None and (line is None or line.values is None or any(file.kind == "accelerate" for file in line.files)):
            return None
        others = [document for document, kind in pairs if kind == "deepspeed"]
        documents = [document or self.documents[0], *others]
        found: Any = framework("accelerate").config(documents, ["accelerate", *["deepspeed"] * len(others)], self.facts)
        found.makes_plugins = self.accelerator is not None and PLUGINS.isdisjoint(self.accelerator.values)
        return found

    @cached_property
    def engine(self) -> Config | None:
        """The DeepSpeed config that the launcher passes on, if its file was found."""
        return next(iter(self.launcher.nested_configs()), None) if self.launcher is not None and self.launcher.uses_deepspeed else None

    def nested_configs(self) -> list[Config]:
        """The config of a framework that the arguments feed without a file, next to the file that another one loads."""
        launch = self.facts.launch
        is_launched = "accelerate" in self.kinds or launch.flags_alone
        if launch.consumer == LAUNCH and is_launched and self.accelerator is not None and self.launcher is not None:
            return [self.launcher, *self.launcher.nested_configs()]
        kind = fed_by(launch)
        return [framework(kind).config(self.documents, [kind], self.facts)] if kind not in ("", launch.consumer) else []


def default_of_program(launch: Launch, path: Path, missing: object) -> Operand:
    """The default that a program's own parser, or a class of its own, has for an option; `missing` if it is not known."""
    field = launch.parser.fields.get(str(path[0])) if launch.parser is not None and len(path) == 1 else None
    return field.default if field is not None and isinstance(field.default, (bool, int, float, str)) else missing


def consumer_config(documents: list[Document], facts: LaunchFacts, kinds: list[str]) -> Config:
    """The config of the consumer of a launch line, which is the first document."""
    launch = facts.launch
    consumer = launch.consumer
    if not consumer or consumer == LAUNCH:
        return LaunchConfig(documents, facts, kinds)
    program = launch.entry["program"] if launch.entry is not None else None
    facts = framework(consumer).started_by(program or "", facts)
    if launch.is_main:
        return framework(consumer).config(documents, [consumer, *kinds[1:]], facts)
    pairs = list(zip(documents[1:], kinds[1:], strict=True))
    first = next(index for index, (_, kind) in enumerate(pairs) if kind == consumer)
    ordered = [pairs[first], *pairs[:first], *pairs[first + 1 :]]
    built = ordered[0][0]
    own = borrowed(launch, built) if isinstance(built, CallDocument) else overrides(launch) if framework(consumer).reads_arguments else []
    facts = facts.replace(overrides=(*own, *facts.overrides))
    return framework(consumer).config([document for document, _ in ordered], [kind for _, kind in ordered], facts)
