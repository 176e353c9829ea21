"""Recognises, before anything is parsed, files that are certainly not training configs by their keys, and programs and notebooks that train
nothing by their text.
"""

from __future__ import annotations

import os

from cfglint.frameworks import detect, file_kinds, framework, kinds, related_tool
from cfglint.source import cached, files, outline
from cfglint.source.annotations import Iterator, Syntax
from cfglint.source.files import JSON_EXTENSIONS
from cfglint.source.root import root_of

ESCAPES = ("\\u00", "\\U", "\\x", "\\\n")  # escapes with which a key may be spelled, so that it cannot be found literally
WORD_BYTES = bytes(byte if chr(byte).isalnum() and byte < 128 else ord("_" if chr(byte) in "-_" else " ") for byte in range(256))
MOST_KEYS = 2000  # different ones at the top of a JSON file: more are a vocabulary
LARGEST = 5_000_000  # bytes of a program or notebook
PACKAGES = (b"transformers", b"trl", b"deepspeed", b"unsloth")
ACCELERATE, ACCELERATOR, BACKWARD = b"accelerate", b"Accelerator(", b".backward("  # a training loop of its own
CELLS, COMMANDS = b'"cell_type"', (b'"!', b'"%%')  # a notebook whose cells start commands
STARTING = (b"subprocess", b"os.system(", b"os.popen(", b"os.exec")  # a program that starts commands
LAUNCHES = b'torchrun|torch.distributed.|llamafactory-cli|accelerate launch|"accelerate"|"deepspeed"|\'deepspeed\'|deepspeed -'.split(b"|")
LOADS = ("safe_load(", "yaml.load(", "OmegaConf.load(", "json.load(")
STARTS = b"__main__"  # what a program has that may train by the modules that it imports
PARSERS = (b"HfArgumentParser(", b"TrlParser(", b"deepspeed.initialize(")
CUT = 5  # letters that identify a truncated key at the end of a file


def unrelated_keys(path: str, text: str, syntax: Syntax, sections: tuple[str, ...] = (), or_broken: bool = False) -> list[str] | None:
    """The top-level keys of a file that is of no kind and has none of some sections; None for one that must be parsed to decide.

    `or_broken`: empty for a content that cannot be parsed and has no known word.
    """
    names, is_ours = of_json(path, text) if syntax == "json" else of_yaml(path, text)
    if is_ours or not frozenset(sections).isdisjoint(names or ()):
        return None
    return [] if names is None and or_broken and has_no_known_word(path, text, sections) else names


def of_json(path: str, text: str) -> tuple[list[str] | None, bool]:
    """(keys of a strict JSON content, None for any other; whether a framework or a related tool recognises it)."""
    value = outline.json_value(text)
    if value is None:
        return None, False
    first = value[0] if value.__class__ is list and value else value
    if may_be_ours(outline.json_keys(first), path):
        document = outline.of_json(path, text, value)
        if any(detect(document)) or related_tool(document):
            return None, True
    return outline.json_keys(value), False


def of_yaml(path: str, text: str) -> tuple[list[str] | None, bool]:
    """(keys of a YAML content, None for one that is not certainly valid; whether a framework or a related tool may recognise it)."""
    names = outline.keys_of_lines(text.splitlines())
    if names is not None and may_be_ours(names, path):
        return None, True
    return names if names is not None and outline.is_yaml(text) else None, False


def may_be_ours(names: list[str], path: str) -> bool:
    """Whether some framework may recognise a file with these top-level keys: not a vocabulary, which has all words."""
    if len(names) > MOST_KEYS and path.lower().endswith(JSON_EXTENSIONS) and len({*names}) > MOST_KEYS:
        return False
    if telling_keys().isdisjoint("\n".join(names).replace("-", "_").split("\n")):
        return any(framework(kind).has_typical_name(path) for kind in file_kinds())
    return any(framework(kind).may_be(names, path) for kind in file_kinds())


@cached
def telling_keys() -> set[str]:
    """The keys of which a file has at least one if a framework recognises it, except by a typical file name."""
    return set().union(*(framework(kind).telling_keys for kind in file_kinds()))


def has_no_known_word(path: str, text: str, sections: tuple[str, ...] = ()) -> bool:
    """Whether a content, valid or not, has no word by which `broken.kind_of_text`, `detect` or `related_tool` could recognise it."""
    if any(mark in text for mark in ESCAPES) or may_be_ours([], path):
        return False
    words = text.encode("utf-8", "replace").translate(WORD_BYTES).split()
    known = known_words()
    if not known.isdisjoint(words) or any(name.encode() in words for name in sections):
        return False
    last = words[-1] if words else b""
    end = text.rstrip()
    line = end[end.rfind("\n") + 1 :].strip(" \t{\"'")
    return len(last) < CUT or not (len(line) == len(last) and line.isascii()) or not any(name.startswith(last) for name in known)


@cached
def known_words() -> set[bytes]:
    """The distinctive keys of each kind, and those of all schemas that have more than one word."""
    from cfglint.frameworks.validation import schema

    names = {name for kind in schema.kinds() for name in names_in(schema.file_of(kind)) if "_" in name or "-" in name}
    return {name.replace("-", "_").encode() for name in (*telling_keys(), *names)}


def names_in(path: str) -> Iterator[str]:
    """The keys at the second level of a schema, including its properties; found line by line, because the parsed schemas take megabytes."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith('  "'):
                yield line[3:].partition('"')[0]


def content_of(path: str) -> bytes:
    """The bytes of a program; empty if it cannot be read."""
    try:
        return files.read_bytes(path, LARGEST, root_of(path) if os.path.islink(path) else None)
    except files.FileProblem:
        return b""


def may_train(content: bytes) -> bool:
    """Whether a program may train: by its own text, or by that of a module that it may import."""
    return STARTS in content or has_marks(content)


def has_marks(content: bytes) -> bool:
    """Whether a program names a package of trainers and calls something that makes the arguments of one, or a notebook starts one."""
    if ACCELERATOR in content and BACKWARD in content and ACCELERATE in content:
        return True
    if CELLS in content and any(each in content for each in COMMANDS) and any(word in content for word in words_of_launchers()):
        return True
    return starts_commands(content) or (any(each in content for each in PACKAGES) and any(mark in content for mark in marks()))


def starts_commands(content: bytes) -> bool:
    return any(each in content for each in STARTING) and any(each in content for each in LAUNCHES)


def calls_marks(path: str, text: str) -> bool:
    """Whether the code of a program has what `has_marks` finds in its text, and not only in strings and comments."""
    from cfglint.launch.programs.modules import module_in

    module = module_in(path, "", text)
    names = (each.decode().strip("(.").rpartition(".")[2] for each in (*marks(), ACCELERATOR))
    return module is None or module.calls((*names,))


def loads_itself(text: str, name: str) -> bool:
    """Whether a program loads a file of this name, and neither parses arguments of a trainer nor builds one."""
    if f'{name}"' not in text and f"{name}'" not in text:
        return False
    return any(each in text for each in LOADS) and "Trainer" not in text and not has_marks(text.encode("utf-8", "replace"))


@cached
def marks() -> list[bytes]:
    """The calls by which a program is recognised."""
    classes = {name for kind in kinds() for name in framework(kind).argument_classes()}
    endings = [name for name in classes if name not in ("TrainingArguments", "Seq2SeqTrainingArguments")]
    return [b"TrainingArguments(", b"Trainer(", *PARSERS, *(f"{name}(".encode() for name in sorted(endings))]


@cached
def words_of_launchers() -> list[bytes]:
    """The words of which a launch line has one."""
    from cfglint.launch.launcher import marks as words
    from cfglint.launch.reader import LEAST

    return [word.encode() for word in words(LEAST)]
