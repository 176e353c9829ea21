"""Rules about files that cannot be read or parsed, and about duplicate keys."""

from __future__ import annotations

from cfglint.findings.diagnostic import INFO
from cfglint.findings.rule import VALUE, Finding, load_error, warning
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.base import Config
from cfglint.source.annotations import Callable, Iterator
from cfglint.source.document import LIMIT, MAPPING, NOT_STRICT_JSON, SCALAR, Document, Node, Path, Problem

UNREADABLE = ("unreadable", "encoding", "control")


@load_error("SRC001", source="PyYAML 6.0.3 reader.py; CPython's UTF-8 decoder")
def unreadable_file(config: Config) -> Iterator[Finding]:
    """The file cannot be read as text.

    It is missing, a directory, not readable, not UTF-8, or contains NUL or control characters, and no
    framework can load it.

    Fix: go to the byte that the message names, and save the file as UTF-8 without NUL.
    """
    yield from _problems(config, lambda problem: problem.kind in UNREADABLE)


@load_error(
    "SRC002",
    source="PyYAML 6.0.3, hjson 3.1.0, CPython 3.11 json/decoder.py; deepspeed 0.19.8 runtime/config_utils.py:205, accelerate 1.15.0 "
    "utils/deepspeed.py:143",
    bad="{output_dir: out\n",
    good="{output_dir: out}\n",
    example={"kind": "huggingface"},
)
def does_not_parse(config: Config) -> Iterator[Finding]:
    """The framework's parser cannot parse the file.

    Each framework has its own parser, and they do not accept the same files: DeepSpeed uses hjson (accepts
    comments and trailing commas, rejects duplicate keys), the Hugging Face Trainer loads the same file with
    Python's json (rejects comments and trailing commas), GPT-NeoX and HfArgumentParser use PyYAML's pure Python
    YAML 1.1 parser (rejects tabs between tokens).

    Run-time errors: `yaml.scanner.ScannerError`, `yaml.parser.ParserError`, `json.decoder.JSONDecodeError`,
    `hjson.scanner.HjsonDecodeError`, `ValueError: Duplicate keys in DeepSpeed config`.

    Fix: correct the syntax at the reported place.
    """
    yield from _problems(config, lambda problem: problem.kind not in (*UNREADABLE, LIMIT, NOT_STRICT_JSON))


@warning(
    "SRC003",
    source="deepspeed 0.19.8 runtime/config.py:527; accelerate 1.15.0 utils/deepspeed.py:143",
    kinds=("deepspeed",),
    bad='{"train_batch_size": 8, // global\n "steps_per_print": 10}\n',
    good='{"train_batch_size": 8, "steps_per_print": 10}\n',
    example={"kind": "deepspeed", "complete": False, "kind_given": False},
)
def non_strict_json(config: Config) -> Iterator[Finding]:
    """The file is not strict JSON: DeepSpeed accepts it, the Hugging Face Trainer does not.

    DeepSpeed loads its config with hjson, which accepts comments, trailing commas and missing quotes. A trainer
    that names the file loads it with `json.load`, which raises. It is reported where the consumer of the
    file is not known; with `--kind deepspeed` it is not.

    Run-time error (in a trainer): `json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes`.
    """
    for finding in _problems(config, lambda problem: problem.kind == NOT_STRICT_JSON):
        finding.help = "remove it, or declare who reads the file (--kind)"
        yield finding


@warning(
    "SRC004",
    source="cfglint/source/limits.py",
    bad="output_dir: out\nmax_steps: " + "1" * 501 + "\n",
    good="output_dir: out\nmax_steps: 1000\n",
    example={"kind": "huggingface"},
)
def limit_exceeded(config: Config) -> Iterator[Finding]:
    """The file exceeds a limit of cfglint's own and is not checked.

    It is larger than 5 MB, is nested deeper than 200 levels, has more than a million keys, values and comments, expands
    to more than 10,000 entries by aliases and merge keys, or has an integer of more than 500 digits. This says nothing about
    the framework, which may load the file: the verdict is unknown (null), and the exit status is 2.

    Fix: move data out of the file, or check the config without it; a config is usually a few kilobytes.
    """
    for finding in _problems(config, lambda problem: problem.kind == LIMIT):
        finding.note = "this is a limit of cfglint; the framework may load the file"
        yield finding


@warning(
    "KEY001",
    source="PyYAML 6.0.3 constructor.py:125 (construct_mapping), CPython json/decoder.py (dict of pairs)",
    about=VALUE,
    bad="output_dir: out\nseed: 1\nseed: 2\n",
    good="output_dir: out\nseed: 2\n",
    example={"kind": "huggingface", "at": "/seed"},
)
def duplicate_key(config: Config) -> Iterator[Finding]:
    """A key is set twice in one mapping; the parser silently uses the last one.

    The earlier value has no effect. It is for information only if both are the same.

    Fix: keep one of them. Where the parser rejects duplicate keys (DeepSpeed's own), SRC002 reports an error
    instead.
    """
    refused = {problem.start for _, problem in config.load_problems if problem.kind == "duplicate"}
    for document in config.documents:
        if not any(map(has_duplicates, document.mappings())):
            continue
        for path, _, node in document.walk():
            if has_duplicates(node):
                yield from _duplicates(config, document, path, node, refused)


def has_duplicates(node: Node) -> bool:
    """Whether a mapping has a key twice."""
    return node.kind == MAPPING and len({key.raw for key, _ in node.children}) != len(node.children)


def _duplicates(config: Config, document: Document, path: Path, mapping: Node, refused: set[int]) -> Iterator[Finding]:
    last: dict[str, tuple[Node, Node]] = {key.raw: (key, value) for key, value in mapping.pairs()}
    for key, value in mapping.pairs():
        winner, kept = last[key.raw]
        if winner is key or key.raw == "<<" or winner.start in refused or key.start in refused:
            continue
        line = document.position(winner.start)[0]
        in_effect = kept.raw or None if kept.kind == SCALAR else config.get(*path, key.raw)
        yield Finding(
            Setting((*path, key.raw), value.raw, WRITTEN, document, value, key),
            f"duplicate key `{key.raw}`: this value is overridden at line {line}",
            related=(Setting((*path, key.raw), in_effect, WRITTEN, document, kept, winner),),
            on_key=True,
            severity=INFO if is_same(value, kept, document) else None,
            help=f"keep one of the two `{key.raw}`",
        )


def is_same(value: Node, other: Node, document: Document) -> bool:
    """Whether two values are written alike."""
    return value.kind == other.kind and document.text[value.start : value.end] == document.text[other.start : other.end]


def _problems(config: Config, wanted: Callable[[Problem], bool]) -> Iterator[Finding]:
    for document, problem in config.load_problems:
        if wanted(problem):
            node = Node("scalar", problem.start, problem.end)
            setting = Setting((), None, WRITTEN, document, node)
            yield Finding(
                setting,
                problem.message,
                exception=problem.exception,
                depends_on=config.other_parsers if problem.only_here else (),
                note=problem.note,
                help=problem.remedy,
            )
