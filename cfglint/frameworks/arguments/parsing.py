"""The words of a command as Python's `argparse` parses them: abbreviations, numbers of words, types, choices, and what is left over.

Source: CPython argparse.py (_get_option_tuples, _get_nargs_pattern, _get_values, _check_value).
"""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.launch.argparse_types import converted, invalid_choice, invalid_value
from cfglint.source.annotations import Any, Callable, ConfigTable, Mapping, Operand, TypeAlias
from cfglint.source.document import Document
from cfglint.source.record import Record
from cfglint.source.shell.command import CommandDocument, Words

OptionWords = list[str] | Unknown
Spelled: TypeAlias = Callable[[str], str]

NO = "no_"  # before the name of a flag that is true by default, which `HfArgumentParser` adds
LEFT = "left over"  # words that no option takes
INVALID = "invalid"  # words that argparse refuses
BOUNDS: dict[str | int | None, tuple[int, int | None]] = {None: (1, 1), "?": (0, 1), "*": (0, None), "+": (1, None)}
EXPECTED = {None: "one argument", "+": "at least one argument", 1: "1 argument"}


class Option(Record):
    """An option of a parser: the type of its words, its default, its choices, how many words it takes (`nargs`), what it stores without
    one, and the name of its value if that is another one; `own` if the framework itself defines it.
    """

    type: str
    default: Operand
    choices: tuple[Any, ...] = ()
    words: str | int | None = None
    stored: Operand = True
    dest: str = ""
    own: bool = True

    @property
    def is_list(self) -> bool:
        return self.words in ("*", "+") or (isinstance(self.words, int) and self.words > 0)


Options = Mapping[str, Option]


class RefusedWords(Record):
    """The words of an option that are refused: why (`LEFT`, `INVALID`), the option, its words, and argparse's message."""

    why: str
    name: str
    words: tuple[str, ...]
    message: str = ""
    candidates: tuple[str, ...] = ()


class Parsed(Record):
    """The values of the options, the word that sets each of them, and what is refused."""

    values: ConfigTable = {}
    options: dict[str, str] = {}
    refused: list[RefusedWords] = []


class ListedWords(Words):
    """Loads each option with the list of its words; unknown where one of them is."""

    def __init__(self, name: str) -> None:
        self.name = name

    def construct(self, document: Document) -> Operand:
        assert isinstance(document, CommandDocument)
        return {key: document.unknown.get(key, Unknown()) if words is None else words for key, words in document.words.items()}


def plain(name: str) -> str:
    """An option as argparse names it in its messages."""
    return f"--{name}"


def parse(given: Mapping[str, OptionWords], options: Options, shown: Spelled = plain) -> Parsed:
    """Parse the words of each option; `shown` is how the messages name an option."""
    parsed = Parsed()
    for name, words in given.items():
        names = candidates(name, options)
        spelled = [word for each in names for word in shown(each).split("/") if word.startswith(plain(name))]
        if len(spelled) > 1 and name not in names:
            message = f"ambiguous option: --{name} could match {', '.join(spelled)}"
            parsed.refused.append(RefusedWords(INVALID, name, (), message, tuple(spelled)))
        elif not names:
            left = () if isinstance(words, Unknown) else tuple(words)
            parsed.refused.append(RefusedWords(LEFT, name, left))
        elif is_negated(names[0], options) and names[0] not in options:
            positive = names[0].removeprefix(NO)
            parsed.values[positive], parsed.options[positive] = False, name
            if words and not isinstance(words, Unknown):  # it takes none
                parsed.refused.append(RefusedWords(LEFT, name, tuple(words)))
        else:
            take(parsed, name, names[0], words, options[names[0]], shown)
    return parsed


def candidates(name: str, options: Options) -> list[str]:
    """The options that a word may mean: the one of its name, else all whose names begin with it."""
    if name in options or is_negated(name, options):
        return [name]
    negated = [NO + option for option in options if is_negated(NO + option, options)] if NO.startswith(name[: len(NO)]) else []
    return sorted([option for option in (*options, *negated) if option.startswith(name)]) if name[:1].isalpha() else []


def is_negated(name: str, options: Options) -> bool:
    """Whether a word is `--no_x` of a flag that is true by default and takes a word."""
    positive = options.get(name.removeprefix(NO)) if name.startswith(NO) else None
    return positive is not None and positive.words == "?" and positive.default is True


def take(parsed: Parsed, written: str, name: str, words: OptionWords, option: Option, shown: Spelled) -> None:
    dest = option.dest or name
    parsed.options[dest] = written
    if isinstance(words, Unknown):
        parsed.values[dest] = words if option.words != 0 else option.stored
        return
    count = option.words
    least, most = BOUNDS[count] if not isinstance(count, int) else (count, count)
    taken = words[:most]
    if len(words) > len(taken):
        parsed.refused.append(RefusedWords(LEFT, written, tuple(words[len(taken) :])))
    if len(taken) < least:
        message = f"argument {shown(name)}: expected {EXPECTED.get(count, f'{count} arguments')}"
        parsed.refused.append(RefusedWords(INVALID, name, (), message))
        return
    values = [value_of(name, option, word, shown) for word in taken]
    refused = [value for value in values if isinstance(value, RefusedWords)]
    if refused:
        parsed.refused.append(refused[0])
    else:
        parsed.values[dest] = values if option.is_list else values[0] if values else option.stored


def value_of(name: str, option: Option, word: str, shown: Spelled) -> Operand:
    """The value of a word; why it is refused, if it is."""
    if option.choices:
        chosen = {str(choice): choice for choice in option.choices}
        if word in chosen:
            return chosen[word]
        listed = [repr(choice) for choice in option.choices]
        is_class = option.type[:1].isupper()  # an Enum, whose constructor is the type of the option
        message = invalid_value(shown(name), option.type, word) if is_class else invalid_choice(shown(name), word, listed)
        return RefusedWords(INVALID, name, (word,), message)
    if option.type == "dict" and word:  # whose constructor takes no text
        return RefusedWords(INVALID, name, (word,), invalid_value(shown(name), option.type, word))
    if option.type not in ("int", "float", "bool"):
        return word
    if option.type == "float" and word.isdecimal():
        return int(word)  # the same number, shown as it is written
    value = converted(option.type, word)
    return RefusedWords(INVALID, name, (word,), invalid_value(shown(name), option.type, word)) if value is None else value
