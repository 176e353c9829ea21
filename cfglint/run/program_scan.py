"""Recognises programs and notebooks that train nothing by their text, before anything is parsed."""

from __future__ import annotations

import os

from cfglint.frameworks import framework, kinds
from cfglint.source import files
from cfglint.source.root import root_of

LARGEST = 5_000_000  # bytes of a program or notebook
PACKAGES = (b"transformers", b"trl", b"deepspeed", b"unsloth")
ACCELERATE, ACCELERATOR, BACKWARD = b"accelerate", b"Accelerator(", b".backward("  # a training loop of its own
CELLS, COMMANDS = b'"cell_type"', (b'"!', b'"%%')  # a notebook whose cells start commands
LOADS = ("safe_load(", "yaml.load(", "OmegaConf.load(", "json.load(")
STARTS = b"__main__"  # what a program has that may train by the modules that it imports
PARSERS = (b"HfArgumentParser(", b"TrlParser(", b"deepspeed.initialize(")

_marks: list[bytes] = []
_launchers: list[bytes] = []


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
    return any(each in content for each in PACKAGES) and any(mark in content for mark in marks())


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


def marks() -> list[bytes]:
    """The calls by which a program is recognised."""
    if not _marks:
        classes = {name for kind in kinds() for name in framework(kind).argument_classes()}
        endings = [name for name in classes if name not in ("TrainingArguments", "Seq2SeqTrainingArguments")]
        _marks.extend((b"TrainingArguments(", b"Trainer(", *PARSERS, *(f"{name}(".encode() for name in sorted(endings))))
    return _marks


def words_of_launchers() -> list[bytes]:
    """The words of which a launch line has one."""
    if not _launchers:
        from cfglint.launch.launcher import marks as words
        from cfglint.launch.reader import LEAST

        _launchers.extend(word.encode() for word in words(LEAST))
    return _launchers
