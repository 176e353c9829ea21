"""A run of OpenRLHF: the arguments of its program."""

from __future__ import annotations

from cfglint.batch.nodes import Size
from cfglint.evaluate import Reason, Unknown
from cfglint.findings.rule import ARGUMENT, Rule
from cfglint.findings.setting import Setting
from cfglint.frameworks.arguments.config import OptionsConfig, nearest
from cfglint.frameworks.arguments.parsing import LEFT, RefusedWords
from cfglint.frameworks.base import FORK_KEYS
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.openrlhf import FRAMEWORK
from cfglint.frameworks.openrlhf.fields import HISTORY, NAMES, OTHER, SECTIONS, of_copy, options, program_of
from cfglint.source.annotations import ConfigMapping, Operand, Sequence
from cfglint.source.document import Document
from cfglint.source.shell.command import CommandDocument

OWN_COPY = "of the project"  # why the release is not that of a modelled one


class OpenRlhfConfig(OptionsConfig):
    """The config of a program. `values` are those that the line sets, by the names that the program reads."""

    framework = FRAMEWORK
    sole_consumer = True
    chooses_sizes = True
    has_dotted_options = True

    def __init__(self, documents: list[Document], facts: LaunchFacts, kinds: Sequence[str] = ()) -> None:
        if facts.launch.program_path and not facts.is_known(FRAMEWORK.package) and FRAMEWORK.package not in facts.outside:
            facts = facts.replace(outside={**facts.outside, FRAMEWORK.package: OWN_COPY})
        super().__init__(documents, facts, kinds)
        self.own_version = self.version
        self.program = program_of(facts.launch.line)
        self.uses_ray = self.program == OTHER
        self.copy = of_copy(self.facts)
        self.known = options(self.program, self.own_version) if self.copy is None else self.copy
        document = documents[0]
        loaded: Operand = FRAMEWORK.loader(document, facts).read(document).value
        words = dict(loaded)
        flags = document.flags if isinstance(document, CommandDocument) else {}
        dashed = [key for key in words if "-" in flags.get(key, "")[2:].partition("=")[0]]
        refused = [RefusedWords(LEFT, key, () if isinstance(words[key], Unknown) else tuple(words[key])) for key in dashed]
        self.values = self.parse_words({key: each for key, each in words.items() if key not in dashed}, facts.overrides)
        self.refused += refused
        unread = [reason for reason in facts.launch.not_read if reason.opens]  # it may set what the line does not
        closed = {option.dest or name: option.default for name, option in self.known.items() if not option.dest}
        self.defaults: ConfigMapping = dict.fromkeys(closed, Unknown(*unread)) if unread else closed

    @property
    def parser(self) -> str:
        return super().parser if self.copy is None else f"the project's {self.framework.title}"

    def unmodelled(self, rule: Rule) -> tuple[Reason, ...]:
        """The release of a copy in the project, whose arguments are read from its source."""
        return () if self.copy is not None and rule.about == ARGUMENT else super().unmodelled(rule)

    def exists(self, key: str) -> bool:
        return HISTORY.ever(key)

    @property
    def is_for_fork(self) -> bool:
        """Whether the line has an argument that no release has, and that is no typo, or several that the program does not have, where the
        project does not state the release.
        """
        if self.facts.is_known(self.package) or not self.known:
            return False
        names = {words.name for words in self.refused if words.why == LEFT and words.name not in self.known}
        return len(names) >= FORK_KEYS or any(not self.exists(name) and not nearest(self, name) for name in names)

    def value(self, name: str) -> Operand:
        """The value of an argument, unknown if it is; None without such an argument."""
        return self.values.get(name, self.defaults.get(name))

    def knows(self, key: str) -> bool:
        return not isinstance(self.value(key), Unknown)

    def own(self, name: str) -> Operand:
        value = self.value(name)
        return None if isinstance(value, Unknown) else value

    def key(self, role: str) -> str:
        """The name of the argument in the release that was called `role` before there were sections."""
        return role if self.own_version < SECTIONS else NAMES[role][-1 if self.uses_ray else 0]

    def integer(self, role: str, default: int | None = None) -> int | None:
        """The integer that an argument gives; the default where the release does not have it, None if it is unknown."""
        key = self.key(role)
        value = self.value(key) if key in self.known else default
        return value if type(value) is int else None

    def is_on(self, role: str) -> bool | None:
        value = self.value(self.key(role))
        return None if isinstance(value, Unknown) else bool(value)

    def setting(self, *path: str | int, value: object = None, because: str = "") -> Setting:
        """The value of an argument with its place; the name of an argument with sections is one step of its path."""
        name = ".".join(map(str, path))
        return super().setting(
            *([name] if name else []),
            value=self.own(name) if value is None else value,
            because=because or ("" if name in self.values else f"default of {self.release}"),
        )

    @property
    def own_size(self) -> Size | None:
        """The nodes of the actor, whose processes Ray starts."""
        nodes, each = self.integer("actor_num_nodes"), self.integer("actor_num_gpus_per_node")
        return Size(each, nodes) if self.uses_ray and each is not None and nodes is not None else None

    @property
    def gpus(self) -> int | None:
        """The processes that train the model."""
        size = self.own_size
        return size.processes if size is not None else None if self.uses_ray else self.facts.gpus
