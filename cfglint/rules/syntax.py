"""Rules about files that cannot be read, or whose reader drops a part of them."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.setting import WRITTEN, Setting
from cfglint.source.document import MAPPING, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cfglint.frameworks.base import Config
    from cfglint.source.document import Document, Path, Problem

UNREADABLE = ("unreadable", "too-large", "encoding", "control", "depth", "digits")


@rule("SRC001", "unreadable-file", ERROR, fails_at="load")
def unreadable_file(config: Config) -> Iterator[Finding]:
    """The file cannot be read as text at all.

    It is missing, a directory, not permitted, not UTF-8, or holds NUL or control characters, and no
    framework gets as far as its keys. Or it is larger than 5 MB, nested deeper than 200 levels, has more
    than a million keys, values and comments, or an integer of more than 500 digits: cfglint reads no further then.

    Fix: the message names the byte or the limit. Save the file as UTF-8 without a NUL.

    Source: the four limits are cfglint's own; a config of a run is a few kilobytes.
    """
    yield from _problems(config, lambda problem: problem.kind in UNREADABLE)


@rule(
    "SRC002",
    "does-not-parse",
    ERROR,
    fails_at="load",
    bad="{output_dir: out\n",
    good="{output_dir: out}\n",
    example={"kind": "huggingface"},
)
def does_not_parse(config: Config) -> Iterator[Finding]:
    """The framework's reader cannot parse the file.

    Each framework has a reader of its own, and they do not accept the same texts: DeepSpeed reads its
    file with hjson (comments and trailing commas are fine, duplicate keys are not), a trainer reads the
    same file with Python's json (neither is fine), GPT-NeoX and the Hugging Face parser read YAML 1.1 in
    pure Python (tabs between tokens are not fine). The message says which reader stumbles and where.

    Run-time errors: `yaml.scanner.ScannerError`, `yaml.parser.ParserError`, `json.decoder.JSONDecodeError`,
    `hjson.scanner.HjsonDecodeError`, `ValueError: Duplicate keys in DeepSpeed config`.

    Fix: mend the syntax at the place that is shown.

    Source: PyYAML 6.0.3, hjson 3.1.0, CPython 3.11 json/decoder.py; deepspeed 0.19.8
    runtime/config_utils.py:205, accelerate 1.15.0 utils/deepspeed.py:143.
    """
    yield from _problems(config, lambda problem: problem.kind not in UNREADABLE)


@rule(
    "KEY001",
    "duplicate-key",
    WARNING,
    bad="output_dir: out\nseed: 1\nseed: 2\n",
    good="output_dir: out\nseed: 2\n",
    example={"kind": "huggingface", "at": "/seed"},
)
def duplicate_key(config: Config) -> Iterator[Finding]:
    """A key stands twice in one mapping, and the reader takes the last without a word.

    The earlier value has no effect. People edit the first one and wonder why nothing changes.

    Fix: keep the one that is meant. Where the reader refuses duplicates (DeepSpeed's own), SRC002 reports
    an error instead.

    Source: PyYAML 6.0.3 constructor.py:125 (construct_mapping), CPython json/decoder.py (dict of pairs).
    """
    refused = {problem.start for _, problem in config.load_problems if problem.kind == "duplicate"}
    for document in config.documents:
        if not any(map(has_twins, document.mappings())):
            continue
        for path, _, node in document.walk():
            if has_twins(node):
                yield from _twins(document, path, node, refused)


def has_twins(node: Node) -> bool:
    """Whether a mapping has a key twice."""
    return node.kind == MAPPING and len({key.raw for key, _ in node.children}) != len(node.children)


def _twins(document: Document, path: Path, mapping: Node, refused: set[int]) -> Iterator[Finding]:
    last: dict[str, tuple[Node, Node]] = {key.raw: (key, value) for key, value in mapping.pairs()}
    for key, value in mapping.pairs():
        winner, kept = last[key.raw]
        if winner is key or key.raw == "<<" or winner.start in refused or key.start in refused:
            continue
        line = document.position(winner.start)[0]
        yield Finding(
            Setting((*path, key.raw), value.raw, WRITTEN, document, value, key),
            f"`{key.raw}` stands again at line {line}, and that one counts: this value has no effect",
            related=(Setting((*path, key.raw), kept.raw, WRITTEN, document, kept, winner),),
            on_key=True,
        )


def _problems(config: Config, wanted: Callable[[Problem], bool]) -> Iterator[Finding]:
    for document, problem in config.load_problems:
        if wanted(problem):
            node = Node("scalar", problem.start, problem.end)
            setting = Setting((), None, WRITTEN, document, node)
            yield Finding(setting, problem.message, exception=problem.exception, consumer_only=problem.only_here)
