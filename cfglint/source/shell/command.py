"""The arguments of one command as a document: keys and values have their places in the script; the loader of their strings."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.source.annotations import Callable, Collection, ConfigTable, ConfigValue
from cfglint.source.document import SCALAR, Document, Node, Part, Path, Problem
from cfglint.source.files import NOTEBOOK
from cfglint.source.loaders import Loader
from cfglint.source.shell import MARKDOWN, is_markdown
from cfglint.source.shell.placed_text import UNKNOWN, Place, Text, unknown, unknown_value
from cfglint.source.shell.reasons import ALL_OF_CALLER, PLACEHOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.shell.started_command import StartedCall


OPENING = (".", "…", "<", "{")  # first characters of a placeholder
TEXTS = ("token", "string", "format", "template", "prompt", "instruction", "delimiter", "separator")  # parts of option names
ELLIPSES = ("...", "…")
CAPITALS = ("TRUE", "FALSE", "YES", "NO", "ON", "OFF", "NONE", "NULL")  # values that may be written in capitals
SHOWN = (*MARKDOWN, NOTEBOOK, ".py")  # files whose commands may need files that others before them, or a program, create


def is_placeholder(text: str) -> bool:
    """Whether a value is to be filled in: `{batch size}`, `<N>`, `...`; inline JSON, lists and mappings such as `{a: 1}` are none, nor is
    what begins with an unknown variable.
    """
    first = text[:1]
    if first not in OPENING:
        return False
    return (
        text in ELLIPSES or (first == "<" and not text.startswith(UNKNOWN)) or (first == "{" and text[1:2].isalpha() and ": " not in text)
    )


def is_to_be_filled_in(word: Text) -> bool:
    """Whether a word is a placeholder; in a page that may be a name in capitals or in brackets, such as `BATCH_SIZE` and `[path]`."""
    text = word.string
    named = (text.isupper() and text not in CAPITALS) or (text[:1] == "[" and text[-1:] == "]" and text[1:-1].isidentifier())
    return is_placeholder(text) or (named and is_in_page(word))


def is_in_page(word: Text) -> bool:
    return word.place is not None and is_markdown(word.place[0])


def stands_for_more(word: Text) -> bool:
    """Whether a word is the `...` of a page, in the place of further arguments."""
    return word.string in ELLIPSES and is_in_page(word)


def is_all_of_caller(word: Text) -> bool:
    """Whether a word is `"$@"` of a script whose call is not known: any number of options with their values."""
    return ALL_OF_CALLER in word.reasons and not word.string.strip(UNKNOWN)


class CommandDocument(Part):
    """A command of a script. The root maps each option to its value, at their places in the script.

    `words` are the values as strings, None for unknown ones; `unknown` has the reasons, `sources` what they are computed from. `flags` are
    the options as written, `edges` tell whether the value of an option is written literally at its place.
    """

    def __init__(self, path: str, text: str, start: int, end: int) -> None:
        super().__init__(path, text, "shell", start, end)
        self.words: dict[str, list[str] | None] = {}
        self.sources: dict[str, str] = {}
        self.flags: dict[str, str] = {}
        self.assignments = False  # whether an argument is written `key=value`, for OmegaConf
        self.again: Callable[[str], CommandDocument] | None = None  # finds this launch in another version of the script
        self.siblings: list[StartedCall] = []  # other commands of the script, whose values must stay
        self.partners: Collection[int] = ()  # those of them that are runs of the same command, by position
        self.targeted = False  # whether these runs get the same target, so that an edit may change all of them
        self.following: Collection[str] = ()  # arguments of the batch, which may change with a value that they are computed from
        self.around: dict[Path, Node] = {}  # values that are no arguments of the program: options of the launcher, variables
        self.size_key = ""  # an option or variable that is not an argument of the program: the number of processes
        self.edges: dict[str, bool] = {}

    def find(self, path: Path) -> tuple[Node | None, Node | None]:
        """(key node, value node) at a path; of a value that is no argument, the value alone."""
        return (None, self.around[path]) if path in self.around else super().find(path)

    def key_text(self, path: Path) -> str:
        name = next((str(step) for step in path if str(step) in self.flags), str(path[-1]) if path else "")
        return self.flags.get(name, f"--{name}" if name and not self.assignments else name)

    def is_literal(self, key: str) -> bool:
        return self.edges.get(key, True)

    def add(self, key: str, flag: str, word: Text, texts: list[Text]) -> None:
        """Add an option; an earlier occurrence is replaced, because the last one counts."""
        root = self.roots[0]
        if key in self.words or key == self.size_key:
            root.children[:] = [pair for pair in root.children if pair[0].raw != key]
        start, end = self.within(word.place)
        if self.text.startswith("--", start):
            start += 2  # the name alone, as in the other kinds of file
        place = texts[0].place if len(texts) == 1 else None
        inside = place is not None and place[0] == self.path
        value_start, value_end = self.within(place if inside else None, (start, end))
        strings = [text.string for text in texts]
        root.children.append((Node(SCALAR, start, end, key), Node(SCALAR, value_start, value_end, " ".join(strings))))
        self.edges[key] = inside
        self.flags[key] = flag
        if len(texts) > 1 and strings[-1] in ELLIPSES:  # means further arguments
            texts, strings = texts[:-1], strings[:-1]
        # special tokens, prompts and templates, so that `<instruct>` or `{}` is the value itself
        is_text = any(mark in key for mark in TEXTS) and "tokenizer" not in key and key not in ("token", "hub_token", "hf_token")
        if any(map(is_to_be_filled_in, texts)) and not is_text:
            texts = [unknown(PLACEHOLDER)]
        if all(text.known for text in texts):
            self.words[key] = strings
            self.unknown.pop(key, None)
        else:
            self.words[key] = None
            self.unknown[key] = unknown_value(texts)
            self.sources[key] = " ".join(text.source for text in texts)

    def leave_out(self, key: str) -> None:
        """Remove an option that is not for the consumer of the others."""
        self.roots[0].children[:] = [pair for pair in self.roots[0].children if pair[0].raw != key]
        self.words.pop(key, None)

    def rename(self, key: str, name: str) -> None:
        """Expand the name of an abbreviated option; its place does not change."""
        for each, _ in self.roots[0].children:
            if each.raw == key:
                each.raw = name
        tables: tuple[ConfigTable, ...] = (self.words, self.unknown, self.sources, self.flags, self.edges)
        for table in tables:
            if key in table:
                table[name] = table.pop(key)

    def add_size(self, key: str, word: Text, value: Text) -> None:
        """Add the option or variable that sets the number of processes; it is not an argument of the program."""
        start, end = self.within(word.place)
        inside = value.place is not None and value.place[0] == self.path
        value_start, value_end = self.within(value.place if inside else None, (start, end))
        self.roots[0].children.append((Node(SCALAR, start, end, key), Node(SCALAR, value_start, value_end, value.string)))
        self.edges[key] = inside
        self.size_key = key

    def leave_open(self, key: str, reason: Reason) -> None:
        """Add an option that is missing and whose default is unknown."""
        start = self.extent[0]
        self.roots[0].children.append((Node(SCALAR, start, start, key), Node(SCALAR, start, start, "")))
        self.words[key] = None
        self.unknown[key] = Unknown(reason)
        self.flags[key] = f"--{key}"

    def within(self, place: Place | None, otherwise: tuple[int, int] | None = None) -> tuple[int, int]:
        """A span of this file; that of the command if a place is in another file or in none."""
        if place is None or place[0] != self.path or place[2] > len(self.text):
            return otherwise or (self.extent[0], min(self.extent[0] + 1, self.extent[1]))
        return place[1], place[2]

    def replaced(self, text: str) -> CommandDocument:
        """An empty document of another version of the file."""
        return CommandDocument(self.path, text, *self.extent)


class Words(Loader):
    """Loads each option with its value as a string, as the shell passes it, None for an option without one."""

    name = "sys.argv"

    def refusals(self, document: Document) -> list[Problem]:
        return []

    def construct(self, document: Document) -> ConfigTable:
        assert isinstance(document, CommandDocument)
        return {key: " ".join(words) if words else None for key, words in document.words.items()}

    def value_of(self, node: Node) -> ConfigValue:
        return node.raw


WORDS = Words()
