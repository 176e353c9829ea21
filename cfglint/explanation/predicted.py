"""Which rule predicts an exception: the words of the exceptions of rules' examples, without the values that differ from run to run."""

from __future__ import annotations

import re
from functools import cache

from cfglint.frameworks import framework, kinds
from cfglint.frameworks.base import Framework
from cfglint.launch.kinds import LAUNCHER
from cfglint.source.annotations import Iterable, Sequence

VALUE = re.compile(r"""(?<!\w)'[^']*'|"[^"]*"|`[^`]*`|[-+]?\d[\w.+-]*|(?:/[\w.-]+){2,}|\b(?:True|False|None)\b""")
NAME = re.compile(r"\b(?!True|False|None)[A-Za-z]\w{2,}")
WORD = re.compile(r"<>|[A-Za-z_][\w.()]*")
ALIKE = 0.75  # the part of the words that two exceptions have in common, in order
LEAST = 5  # words of an exception that is recognised by most of its words
# Names that a predicted exception marks, which are parts of its message: an exception without any of them is about something else.
MARKED, NAMED = re.compile(r"`([^`\s]+)`"), re.compile(r"\b(?!(?:True|False|None)\b)[A-Za-z_]\w*")
# Words that messages about anything have.
OF_ANY = frozenset(
    (
        *("<>", "a", "an", "and", "are", "be", "but", "by", "can", "cannot", "compatible", "for", "has", "have", "in", "is", "it", "not"),
        *("of", "on", "only", "or", "set", "should", "supported", "that", "the", "to", "use", "with"),
        *("at", "expected", "got", "greater", "has", "invalid", "least", "less", "must", "positive", "size", "than", "value"),
        *("Model", "Must", "as", "divisible", "dtype", "if", "incompatible", "multiple", "one", "require", "requires", "smaller"),
        *("strategy", "type", "when", "yet."),
    )
)
# Messages of Python itself: the values in them tell what they are about, so all of them have to be the same.
GENERAL = re.compile(
    r"object has no attribute|is not (?:an? )?(?:iterable|callable|subscriptable)|argument of type '\w+' is not iterable"
    r"|argument after \*\*|indices must be|cannot convert"
    r"|not supported between|could not convert|invalid literal|not enough values|too many values|^KeyError|^AttributeError"
    r"|is not a valid \w+$|must be (?:str|int|a string)|takes \d+ positional|division by zero|unhashable type"
    r"|^AssertionError$|^StopIteration|^ModuleNotFoundError|^ImportError: cannot import|is not JSON serializable"
    r"|not all arguments converted|got an unexpected keyword argument|is not in list$|cannot be interpreted as an integer"
)
# A keyword that a function does not have: which rule is about it follows from the function.
UNKNOWN_KEYWORD = re.compile(r"^TypeError: [\w.]+\(\) (?:got an unexpected keyword argument|missing \d+ required)")
NO_CLASS = ("__init__()",)  # what Python says up to 3.9, without the class
MISSING_FILE = re.compile(r"^FileNotFoundError: \[Errno 2\] No such file or directory: (.*)")
CONFIG_FILE = re.compile(  # not one of a model, nor data
    r"\.(?:ya?ml|hjson|jsonc)'$"
    r"|(?<![^/'])(?!(?:adapter_|generation_|tokenizer_|(?:pre)?processor_)?config\.json)[^/']*(?:conf|ds|zero|deepspeed|args|param)[^/']*\.json'$"
).search
VALIDATED = re.compile(r"validation errors? for (\w+)")
SERVING = "InferenceConfig"  # how the names of models end that no training uses
# What pydantic itself says of a field, whose name and value differ.
VALIDATIONS = tuple(
    re.compile(pattern).search
    for pattern in (
        r"Extra inputs are not permitted",
        r"Field required",
        r"Input should be (?:a valid \w+|greater than \d+)",
        r"Input should be",
    )
)
# What pydantic 1 says in the place of pydantic 2.
OLDER = (
    (re.compile(r"extra fields not permitted"), "Extra inputs are not permitted"),
    (re.compile(r"value (?:is not|could not be parsed to) a (?:valid )?dict\b"), "Input should be a valid dictionary"),
    (re.compile(r"value (?:is not|could not be parsed to) a (?:valid )?(\w+)"), r"Input should be a valid \1"),
    (re.compile(r"field required"), "Field required"),
)
FILE = re.compile(r"[\w/]+\.py")
CHECKED = re.compile(r"(?:Value error|Assertion failed), (.*?)(?: \[type=|$)")  # a validator's own message
VERL = "/verl/"
OF_LAUNCHER = "/accelerate/commands/"


@cache
def known() -> dict[str, list[tuple[str, str, tuple[str, ...]]]]:
    """By class of the exception: (code, exception, its words) of every predicted one."""
    from cfglint.explanation._exceptions import EXCEPTIONS
    from cfglint.findings._example_findings import RAISED

    found: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {}
    rows = {(code, first_line(text)) for code, texts in RAISED.items() for text in texts}
    rows.update((code, text) for code, _, text in (line.partition(" ") for line in EXCEPTIONS.strip().splitlines()))
    examples = {words(text) for _, text in rows}
    for each in map(framework, kinds()):
        of_rows: Iterable[tuple[str, str]] = each.part("exceptions", lambda _: ())(each.kind)
        rows.update(row for row in of_rows if each.source_paths or words(row[1]) not in examples)
    for code, text in sorted(rows):
        found.setdefault(class_of(text), []).append((code, text, words(text)))
        if own := raised_in(text):
            found.setdefault(class_of(own), []).append((code, own, words(own)))
    return found


def raised_in(text: str) -> str:
    """The exception that a validator of pydantic raised itself, without the head that pydantic gives it; empty for any other."""
    match = CHECKED.search(text)
    return f"{'ValueError' if match.group().startswith('V') else 'AssertionError'}: {match.group(1)}" if match else ""


def first_line(text: str) -> str:
    """The first line of an exception, as records and logs have it."""
    return text.partition("\n")[0].rstrip()


def class_of(text: str) -> str:
    """The name of an exception's class without its package."""
    return text.partition(":")[0].rpartition(".")[2]


def words(text: str) -> tuple[str, ...]:
    """The words of an exception, each value as `<>`."""
    return tuple(WORD.findall(VALUE.sub(" <> ", text)))


def rules_of(text: str, files: Sequence[str] = ()) -> list[str]:
    """The codes of the rules that predict an exception, the likeliest first; `files` are those of its traceback."""
    from cfglint.explanation._exceptions import PATTERNS

    patterns = (line.partition(" ") for line in PATTERNS.strip().splitlines())
    about = next((code for code, _, pattern in patterns if re.match(pattern, text)), None)
    if about is not None and not (text.startswith("SystemExit") and any(VERL in file for file in files)):  # Hydra's parser
        return [about]
    if UNKNOWN_KEYWORD.search(text):
        own = words(text)  # with the name of the function
        rows = known().get("TypeError", [])
        if own[1:2] == NO_CLASS:  # any class may lack it: only a keyword that a rule names tells
            return list(dict.fromkeys(code for code, other, _ in rows if other == text))
        return list(dict.fromkeys(code for code, _, other in rows if other == own))
    missing = MISSING_FILE.search(text)
    text = raised_in(text) or text
    own = words(text)
    rows = known().get(class_of(text), [])
    if missing:  # a rule about a certain file is not about others, and one about any file is about configs: not weights, data or a cache
        rows = [row for row in rows if (file_of(row[1]) == file_of(text) if file_of(row[1]) else CONFIG_FILE(missing.group(1)))]
    validated = VALIDATED.search(text)
    for pattern, newer in OLDER if validated else ():
        text = pattern.sub(newer, text)
    if validated and validated.group(1).endswith(SERVING):
        return []
    if validated:  # of pydantic: what is wrong is in the message, the model says whose it is
        rows = [row for row in rows if model_of(row[1]) == validated.group(1)[:7]]
        refused_as = next((match.group() for pattern in VALIDATIONS if (match := pattern(text))), "")
        if refused_as:
            found = of_validation(rows, refused_as)
            return fitting(found, files) or list(dict.fromkeys(found))  # the traceback may end in pydantic
    if GENERAL.search(text):
        return fitting([code for code, other, read in rows if other == text or ("<>" in other and read == own)], files)
    said = {*NAMED.findall(text)}
    rows = [row for row in rows if not (marked := {*NAMED.findall(" ".join(MARKED.findall(row[1])))}) or not marked.isdisjoint(said)]
    rows = [row for row in rows if traits(row[2])[1] or shares_a_name(text, row[1]) or (own == row[2] and is_of(row[0], files))]
    rated = [(likeness(own, other), code) for code, _, other in rows]
    best = max((rate for rate, _ in rated), default=0.0)
    if best < ALIKE and "`" not in text:  # Markdown takes them for its own marks
        rated = [(likeness(own, words(other.replace("`", ""))), code) for code, other, _ in rows if "`" in other]
        best = max((rate for rate, _ in rated), default=0.0)
    return fitting([code for rate, code in rated if rate == best and rate >= ALIKE], files)


def shares_a_name(text: str, predicted: str) -> bool:
    """Whether an exception has a name of a predicted one's values: only they tell what "`a` is incompatible with `b`" is about."""
    return not {*NAME.findall(text)}.isdisjoint(NAME.findall(" ".join(VALUE.findall(predicted))))


def is_of(code: str, paths: Sequence[str]) -> bool:
    """Whether a traceback goes through the code of a rule, or of its framework."""
    marks = (mark for each in map(framework, kinds()) if code.startswith(families([each])) for mark in each.source_paths)
    return any(mark in path for mark in marks for path in paths) or is_about(code, paths)


def file_of(text: str) -> str:
    """The name of the file that an exception says is missing, without its folder; empty if it names none."""
    match = MISSING_FILE.search(text)
    return match.group(1).strip("'").rpartition("/")[2] if match else ""


def is_about(code: str, paths: Iterable[str], kind: str = "") -> bool:
    """Whether a rule is about the code of a traceback, by the files that its source names, or about a kind."""
    if kind and code.startswith(families([framework(kind)])):
        return True
    from cfglint.rules.catalogue import rule_of

    rule = rule_of(code)
    named = FILE.findall(rule.source) if rule is not None else []
    return any(path.endswith(f"/{name}") for path in paths for name in named)


def of_validation(rows: list[tuple[str, str, tuple[str, ...]]], message: str) -> list[str]:
    """The rules that predict such a message of pydantic, whatever the field is: those whose message begins like it for the longest."""
    while message:
        found = [code for code, other, _ in rows if message in other]
        if found:
            return found
        message = message.rpartition(" ")[0]
    return []


def model_of(text: str) -> str:
    """The beginning of the name of the model that pydantic validated; releases have several names that begin alike."""
    match = VALIDATED.search(text)
    return match.group(1)[:7] if match else ""


def fitting(codes: list[str], files: Sequence[str]) -> list[str]:
    """The rules of the framework whose code raised an exception, of those that predict it; each once."""
    path = " ".join(files)
    if OF_LAUNCHER in path:
        codes = [code for code in codes if code.startswith(families([framework(LAUNCHER)]))] or codes
    marked = [each for each in map(framework, kinds()) if each.source_paths]
    special = families(marked)
    ours = families(each for each in marked if any(mark in path for mark in each.source_paths))
    fit = [code for code in codes if code.startswith(ours)] or [code for code in codes if not code.startswith(special)]
    return list(dict.fromkeys(fit or ([] if files else codes)))


def of_one_framework(codes: list[str]) -> list[str]:
    """Those of some rules that are about a framework whose runs pass through others, which raise the same without it."""
    return [code for code in codes if code.startswith(families(each for each in map(framework, kinds()) if each.source_paths))]


def families(found: Iterable[Framework]) -> tuple[str, ...]:
    """The prefixes of the codes of the rules of some frameworks, as they declare them."""
    return tuple(prefix for each in found for prefix in each.rule_families)


def likeness(first: tuple[str, ...], second: tuple[str, ...]) -> float:
    """How much of a predicted exception's words another one has, in the same order; its message may go on. 0 for short ones that differ."""
    if first == second:
        return 2.0
    fixed, telling, named = traits(second)
    if min(fixed, traits(first)[0]) < LEAST or not telling or (named and named.isdisjoint(first)):
        return 0.0
    if 3 * len(telling.intersection(first)) < 2 * len(telling):
        return 0.0
    from difflib import SequenceMatcher

    blocks = [
        get_matching_block
        for get_matching_block in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
        if get_matching_block.size
    ]
    common = sum(block.size for block in blocks)
    return common / max(len(second), blocks[-1].a + blocks[-1].size) if common >= LEAST else 0.0


@cache
def traits(said: tuple[str, ...]) -> tuple[int, frozenset[str], frozenset[str]]:
    """Of the words of an exception: the number of those that are no values, those that tell what it is about, and the names in these."""
    telling = frozenset(said[1:]) - OF_ANY
    return sum(word != "<>" for word in said), telling, frozenset(word for word in telling if "_" in word and "." not in word)


def is_alike(text: str, other: str) -> bool:
    """Whether two exceptions are the same but for their values; of a validator only its own message is compared."""
    if raised_in(text) and raised_in(other):
        text, other = raised_in(text), raised_in(other)
    return likeness(words(text), words(other)) >= ALIKE
