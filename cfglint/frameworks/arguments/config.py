"""The config of a command whose parser gives each option a value: places of its words, and what findings say of those it refuses."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.rule import Finding
from cfglint.findings.setting import DEFAULT, OVERRIDE, WRITTEN, Setting
from cfglint.frameworks.arguments.parsing import INVALID, Options, OptionWords, RefusedWords, candidates, parse, plain
from cfglint.frameworks.base import Config
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.remedies import rename
from cfglint.launch.overrides import Override
from cfglint.source.annotations import Callable, ConfigMapping, Iterator, Operand, Sequence
from cfglint.source.shell.command import ELLIPSES, CommandDocument
from cfglint.source.similar_keys import names_of, near

PAGES = (".md", ".markdown", ".mdx")  # whose commands often leave out what is not of interest
MOST_WORDS = 6  # of the words that a message shows


class OptionsConfig(Config):
    """The options of a command. `known` are those that it has, `refused` the words that its parser refuses."""

    own_version: Version
    known: Options
    refused: list[RefusedWords]
    other_defaults: tuple[Reason, ...] = ()  # the defaults are those of the framework

    @property
    def parser(self) -> str:
        """Whose parser takes the words: `ms-swift 4.6.0`."""
        return self.release

    def parse_words(
        self, words: dict[str, OptionWords], overrides: Sequence[Override], shown: Callable[[str], str] = plain
    ) -> ConfigMapping:
        """The values that the parser makes of the words and of what overrides them."""
        document = self.documents[0]
        words.update((override.key, override.texts if override.unknown is None else override.unknown) for override in overrides)
        found = parse(words, self.known, shown)
        self.refused = found.refused
        self.overridden.update(((override.key,), override) for override in overrides)
        for name, option in found.options.items():
            if name != option and isinstance(document, CommandDocument):
                document.rename(option, name)
        return found.values

    def override_value(self, override: Override) -> Operand:
        return override.texts

    def has_field(self, key: str) -> bool:
        return key in self.known

    def exists(self, key: str) -> bool:
        """Whether a command of any release has an option of this name."""
        raise NotImplementedError

    def lacks_field(self, key: str) -> bool:
        """Whether commands of other releases have an option of this name, and the targeted one has not."""
        return key not in self.known and self.exists(key)

    def words_setting(self, refused: RefusedWords) -> Setting:
        path, words = (refused.name,), " ".join(refused.words)
        override = self.overridden.get(path)
        if override is not None and override.place is not None:
            return Setting(path, words, OVERRIDE, *override.place, None, str(override))
        key, value = self.documents[0].find(path)
        return Setting(path, words, WRITTEN if value is not None else DEFAULT, self.documents[0], value, key)

    @property
    def is_whole(self) -> bool:
        """Whether all options of the command are known."""
        line = self.facts.launch.line
        if line is None:
            return self.facts.complete
        if self.facts.launch.further or line.call.path.lower().endswith(PAGES):
            return False
        is_value = False  # of the option before; another unknown word may stand for further options
        for word in line.arguments:
            if word.string in ELLIPSES or not (word.known or is_value):
                return False
            is_value = word.string.startswith("--") and "=" not in word.string
        return True

    def own(self, name: str) -> Operand:
        """The value of an option; None if the release does not have it, or if it is unknown."""
        raise NotImplementedError


def left_over(
    config: OptionsConfig, refused: RefusedWords, exception: Callable[[Sequence[str]], str], is_own: bool, successor: str
) -> Finding:
    """The finding about an option that the command does not have, or about the words behind one. `successor` is its name in other
    releases, `is_own` whether such a release has it.
    """
    name = refused.name
    option = next(iter(candidates(name, config.known)), "")
    if option:
        words, takes_none = list(refused.words[:MOST_WORDS]), option not in config.known or config.known[option].words == 0
        return Finding(
            config.words_setting(refused),
            f"`{name}` takes {'no' if takes_none else 'one'} word, and {' '.join(words)!r} follows",
            exception=exception(words),
            help=f"remove `{' '.join(words)}`" if takes_none else f"quote the value of `--{name}`, or remove the further words",
        )
    similar = successor if successor in config.known else nearest(config, name)
    message = f"{config.parser} has no argument `{name}`" if is_own else f"unknown argument `{name}` is refused by {config.parser}"
    setting, advice = config.words_setting(refused), f"write `--{similar}`" if similar else f"remove `--{name}`"
    return Finding(
        setting,
        message + (f"; did you mean `{similar}`?" if similar else ""),
        exception=exception([f"--{name}", *refused.words[:MOST_WORDS]]),
        on_key=True,
        help=advice,
        fix=rename(setting, similar, advice, safe=similar == successor) if similar and not config.without_remedies else None,
    )


def nearest(config: OptionsConfig, name: str) -> str:
    candidates = [] if config.without_remedies else near(name, names_of(config.known))
    return candidates[0].name if candidates else ""


def invalid(config: OptionsConfig) -> Iterator[Finding]:
    """The findings about words that argparse refuses."""
    for refused in config.refused:
        if refused.why != INVALID:
            continue
        name, words = refused.name, refused.words
        about = f"`{name}` is {words[0]}, which is not a valid value" if words else f"`{name}` has no value"
        if refused.candidates:
            about = f"`--{name}` is ambiguous: it could mean {len(refused.candidates)} options"
            advice = f"write the whole name: `{refused.candidates[0]}`, ..."
        elif (option := config.known[name]).choices:
            advice = f"set `--{name}` to one of {', '.join(str(choice) for choice in option.choices if choice is not None)}"
        elif option.is_list and isinstance(option.words, int):
            advice = f"write `--{name}` with {option.words} {'numbers' if option.type != 'str' else 'words'}"
        else:
            kinds = {"int": "an integer", "float": "a number", "bool": "true or false"}
            advice = f"write `--{name}` with {kinds.get(option.type, 'a value')}"
        exception = f"SystemExit: 2 (error: {refused.message})"
        yield Finding(config.words_setting(refused), about, exception=exception, help=advice, on_key=not words)
