"""A command of ms-swift as its parser takes it: what the configs of `swift` and `megatron` have in common."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.setting import DEFAULT, OVERRIDE, WRITTEN, Setting
from cfglint.frameworks.base import Config
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.swift.command_line import (
    CONFIG,
    FILE_WINS,
    VISIBLE,
    devices_per_process,
    has_known_options,
    named_by_option,
    named_file,
    shown_devices,
)
from cfglint.frameworks.swift.fields import Arguments, exists
from cfglint.frameworks.swift.parser import LEFT, RefusedWords, as_words, parse
from cfglint.frameworks.versions import Version
from cfglint.source.annotations import ConfigMapping, ConfigValue
from cfglint.source.document import SCALAR, Node
from cfglint.source.shell.command import CommandDocument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.launch.overrides import Override

ENVIRONMENT = "ENV"  # a key of a file, for variables


class CommandConfig(Config):
    """The arguments of a command. `known` are those that it has, `refused` the words that its parser refuses."""

    own_version: Version
    command: str
    known: Arguments
    refused: list[RefusedWords]
    root: ConfigValue
    _failing: list[Refusal] | None

    def _completed(self, values: ConfigMapping) -> ConfigMapping:
        """The values that the parser makes of the words."""
        document = self.documents[0]
        words = dict(values) if document.is_command else {str(key): as_words(value) for key, value in values.items() if key != ENVIRONMENT}
        by_option = not document.is_command and named_by_option(self.facts.launch.line)
        in_file = tuple(words) if by_option and self.own_version < FILE_WINS else ()
        if by_option and self.own_version >= FILE_WINS:
            words = {CONFIG: [named_file(self.facts.launch.line)]}  # no argument of this name: the file is not read
        unread = not (document.is_command or by_option) and self.own_version < FILE_WINS and self.facts.launch.line is not None
        if unread:
            words = {}
        overrides = [each for each in self.facts.overrides if each.key not in in_file]
        words.update((each.key, Unknown(*each.unknown) if each.unknown else each.texts) for each in overrides)
        parsed = parse(words, self.known)
        self.refused = [*parsed.refused, *([RefusedWords(LEFT, "", (named_file(self.facts.launch.line),))] if unread else [])]
        for override in overrides:
            self.overridden[(override.key,)] = str(override)
            if override.place is not None:
                self.override_places[(override.key,)] = override.place
        for name, option in parsed.options.items():
            if name != option and isinstance(document, CommandDocument):
                document.rename(option, name)
        return parsed.values

    def override_value(self, override: Override) -> ConfigValue:
        """The words of an override; the parser of the command takes them."""
        return override.texts

    @property
    def other_defaults(self) -> tuple[Reason, ...]:
        """None: the defaults are those of ms-swift."""
        return ()

    def has_field(self, key: str) -> bool:
        """Whether the command has an argument of this name."""
        return key in self.known

    def lacks_field(self, key: str) -> bool:
        """Whether commands of other releases have an argument of this name, and the targeted one has not."""
        return key not in self.known and exists(key)

    def words_setting(self, refused: RefusedWords) -> Setting:
        """The words that the parser refuses, with their place."""
        path, words = (refused.name,), " ".join(refused.words)
        if path in self.override_places:
            document, node = self.override_places[path]
            return Setting(path, words, OVERRIDE, document, node, None, self.overridden[path])
        key, value = self.documents[0].find(path)
        return Setting(path, words, WRITTEN if value is not None else DEFAULT, self.documents[0], value, key)

    @property
    def devices_setting(self) -> Setting:
        """The variable with the visible GPUs, with its place; the command if it is not set in the script."""
        document, line = self.documents[0], self.facts.launch.line
        word = shown_devices(line) if line is not None else None
        if word is None or not isinstance(document, CommandDocument) or word.place is None or word.place[0] != document.path:
            return self.setting()
        start, end = document.within(word.place)
        return Setting((VISIBLE[0],), word.string, WRITTEN, document, Node(SCALAR, start, end, word.string))

    @property
    def devices(self) -> tuple[int, int] | None:
        """(visible GPUs, processes) of a node; None if unknown, or if ms-swift does not compare them."""
        return devices_per_process(self.facts)

    @property
    def is_whole(self) -> bool:
        """Whether all arguments of the command are known."""
        line = self.facts.launch.line
        if line is None:
            return self.facts.complete
        return not (self.facts.launch.is_open or CONFIG in self.root) and has_known_options(line)

    def own(self, name: str) -> ConfigValue:
        """The value of a field; None if the release does not have it, or if it is unknown."""
        raise NotImplementedError

    @property
    def failing(self) -> list[Refusal]:
        """The checks of ms-swift that fail, in the order in which a run reaches them."""
        if self._failing is None:
            self._failing = self.checked()
        return self._failing

    def checked(self) -> list[Refusal]:
        """The failing checks of the command."""
        raise NotImplementedError
