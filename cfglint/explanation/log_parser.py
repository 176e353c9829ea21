"""Training logs: the numbers that a trainer prints when a run begins, among progress bars and other output.

A *banner* is one such block of lines. The Hugging Face trainer prints `***** Running training *****` and the lines
after it (transformers 5.23.0 trainer.py:1620-1630), and so do trainers modelled on it, such as PaddleNLP's.
GPT-NeoX prints all its arguments (2026-05 megatron/neox_arguments/arguments.py:757-786), DeepSpeed its
configuration (0.19.8 runtime/config.py:673-680).
"""

from __future__ import annotations

import re
from itertools import islice

from cfglint.source.annotations import Iterable, Iterator
from cfglint.source.limits import LONGEST_NUMBER
from cfglint.source.record import Record

HUGGINGFACE = "huggingface"
NEOX = "neox"
DEEPSPEED = "deepspeed"

STARTS = (
    ("***** Running training *****", HUGGINGFACE),
    ("faster free finetuning", HUGGINGFACE),  # of Unsloth, in lines of its own
    ("-------------------- arguments --------------------", NEOX),
    ("DeepSpeedEngine configuration:", DEEPSPEED),
)
MAX_STEPS_GIVEN = "max_steps is given, it will override"
REACH = 80  # lines after the start of a banner that are searched for its numbers
ARGUMENTS_REACH = 1000  # the same for a list of all arguments

LINES = (
    ("Num examples =", "num_examples"),
    ("Num Epochs =", "num_epochs"),
    ("Num update steps per epoch =", "steps_per_epoch"),
    ("Instantaneous batch size per device =", "micro_batch"),
    ("batch size has been adjusted to:", "adjusted_batch"),
    ("Total train batch size (w. parallel, distributed & accumulation) =", "global_batch"),
    ("Gradient Accumulation steps =", "accumulation"),
    ("Total optimization steps =", "total_steps"),
    ("Number of trainable parameters =", "trainable_parameters"),
)
# The same in Unsloth's lines, several to a line.
UNSLOTH = (
    (re.compile(r"\bNum GPUs used = "), "gpus"),
    (re.compile(r"\bBatch size per device = "), "micro_batch"),
    (re.compile(r"\bGradient [Aa]ccumulation steps = (?=\d+$|\d+ *\|?$)"), "accumulation"),
    (re.compile(r"\bTotal batch size (?:\([\d x]+\) )?= "), "global_batch"),
    (re.compile(r"\bTotal steps = "), "total_steps"),
)
LAST_OF_BANNER = "total_steps"
ARGUMENTS = {
    "train_batch_size": "global_batch",
    "train_micro_batch_size_per_gpu": "micro_batch",
    "gradient_accumulation_steps": "accumulation",
    "train_iters": "total_steps",
    "train_epochs": "num_epochs",
    "global_num_gpus": "gpus",
    "world_size": "gpus",
    "model_parallel_size": "tensor_parallel",
    "pipe_parallel_size": "pipeline_parallel",
    "seq_length": "seq_length",
}

MARKS = tuple(mark for mark, _ in (*STARTS, *LINES))
OF_BANNERS = (  # a line has one of these, or nothing of a banner
    *(*MARKS, *ARGUMENTS, MAX_STEPS_GIVEN, "Num GPUs used", "atch size", "ccumulation steps", "Total steps"),
    *("transformers_version", "world"),
)
BLOCK = 256  # pieces of a log that are searched together

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_NUMBER = re.compile(r"\s*([0-9][0-9,_]*(?:\.[0-9]+)?)")
_ARGUMENT = re.compile(rf"(?:^|\s)({'|'.join(ARGUMENTS)}) \.* (\S+)")  # names that are longer than the dots have no dots
_RELEASE = re.compile(r'"transformers_version": "([0-9][0-9.a-z]*)"')
_WORLD_SIZE = re.compile(r"\bworld[_ ]size\s*[:=]\s*([0-9]+)")


class TrainingBanner(Record):
    """The numbers that one training run printed: `line` is the line number of the banner, `framework` the trainer.

    `numbers` holds the printed numbers, by the names of `LINES` and `ARGUMENTS`. `max_steps_given` and `release`
    (of transformers) come from the lines before it.
    """

    line: int
    framework: str
    release: str | None = None
    max_steps_given: bool = False
    style: str = ""
    numbers: dict[str, int] = {}

    def __getitem__(self, name: str) -> int | None:
        return self.numbers.get(name)

    @property
    def complete(self) -> bool:
        """Whether it has everything that the arithmetic needs."""
        return LAST_OF_BANNER in self.numbers and "global_batch" in self.numbers

    @property
    def paddle(self) -> bool:
        """Whether the line has the format of PaddleNLP's logger: `[2025-09-27 09:32:23,874] [    INFO] - `."""
        return self.style.startswith("[") and "[    INFO] - " in self.style


def read(lines: Iterable[str]) -> list[TrainingBanner]:
    """The banners of a log in their order, one for every run that started.

    A launcher and its workers may print the same arguments: equal consecutive banners count once, and DeepSpeed's own
    lines count only in a log without other banners.
    """
    loader = Loader()
    for block in blocks(lines):
        loader.take(block)
    return loader.end()


def repeats(before: TrainingBanner | None, banner: TrainingBanner) -> bool:
    """Whether a banner repeats the one before it, printed by another process."""
    return before is not None and banner.framework == before.framework != HUGGINGFACE and banner.numbers == before.numbers


def pieces(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield (line number, content) of a log without terminal codes; lines are also split at carriage returns."""
    number = 1
    for line in lines:
        for piece in line.rstrip("\r\n").split("\r") if "\r" in line else (line.rstrip("\n"),):
            yield number, _ESCAPES.sub("", piece) if "\x1b" in piece else piece
        number += line.endswith("\n")  # a line without an end may come in parts


class Block:
    """Some pieces of a log, as (line number, content): a word that none of them has need not be looked for in each."""

    def __init__(self, lines: list[tuple[int, str]]) -> None:
        self.lines = lines
        self.text = "\n".join(text for _, text in lines)

    def words(self, words: Iterable[str]) -> list[str]:
        return [word for word in words if word in self.text]


def blocks(lines: Iterable[str]) -> Iterator[Block]:
    """Yield the pieces of a log, many at a time."""
    found = pieces(lines)
    while block := [*islice(found, BLOCK)]:
        yield Block(block)


class Loader(Record):
    """Scans a log and keeps the banners that are still being printed.

    Several processes may print theirs at the same time, line by line: a number belongs to the first open
    banner that lacks it.
    """

    banners: list[TrainingBanner] = []
    open: list[TrainingBanner] = []
    release: str | None = None
    max_steps_given: bool = False
    world_size: int | None = None
    is_log: bool = False  # whether it has a banner or a part of one, which a configuration file never has

    def take(self, block: Block) -> None:
        """Take some lines, of which those without any mark matter only inside of a banner."""
        words = block.words(OF_BANNERS)
        for number, text in block.lines if words or self.open else ():
            if self.open or any(word in text for word in words):
                self.is_log = self.is_log or any(mark in text for mark in MARKS) or any(argument(text))
                self.take_line(number, text)

    def end(self) -> list[TrainingBanner]:
        banners = [banner for banner in self.banners if banner.numbers]
        if any(banner.framework != DEEPSPEED for banner in banners):
            banners = [banner for banner in banners if banner.framework != DEEPSPEED]
        return [after for before, after in zip([None, *banners], banners, strict=False) if not repeats(before, after)]

    def take_line(self, number: int, text: str) -> None:
        for start, framework in STARTS:
            if start in text:
                self._begin(number, text, start, framework)
                self._collect(number, text)
                return
        if not self.banners and (any(announced(text)) or any(argument(text))):  # a part of a banner, without its first line
            self._begin(number, text, "", HUGGINGFACE if any(announced(text)) else DEEPSPEED)
        if self.open:
            self._collect(number, text)
        if MAX_STEPS_GIVEN in text:
            self.max_steps_given = True
        elif '"transformers_version"' in text:
            match = _RELEASE.search(text)
            self.release = match.group(1) if match else self.release
        elif "world" in text:
            size = _WORLD_SIZE.search(text)
            self.world_size = leading_integer(size.group(1)) if size else self.world_size

    def _begin(self, number: int, text: str, start: str, framework: str) -> None:
        banner = TrainingBanner(number, framework, self.release, self.max_steps_given, text.partition(start)[0] if start else "")
        if self.world_size is not None and framework == HUGGINGFACE:
            banner.numbers["gpus"] = self.world_size
        self.banners.append(banner)
        self.open.append(banner)
        self.max_steps_given = False

    def _collect(self, number: int, text: str) -> None:
        self.open = [
            training_banner
            for training_banner in self.open
            if number - training_banner.line <= (REACH if training_banner.framework == HUGGINGFACE else ARGUMENTS_REACH)
        ]
        for name, value, frameworks in (*announced(text), *argument(text)):
            for banner in self.open:
                if banner.framework in frameworks and name not in banner.numbers:
                    banner.numbers[name] = value
                    break


def announced(text: str) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """(name, number, frameworks) of a line of the Trainer's banner."""
    for mark, name in LINES:
        if mark in text:
            value = leading_integer(text.partition(mark)[2])
            if value is not None:
                yield name, value, (HUGGINGFACE,)
    for pattern, name in UNSLOTH if " | " in text else ():
        match = pattern.search(text)
        value = leading_integer(text[match.end() :]) if match else None
        if value is not None:
            yield name, value, (HUGGINGFACE,)


def argument(text: str) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """(name, number, frameworks) of a line `train_batch_size ............ 32`."""
    match = _ARGUMENT.search(text)
    if match:
        value = leading_integer(match.group(2))
        if value is not None:
            yield ARGUMENTS[match.group(1)], value, (NEOX, DEEPSPEED)


def leading_integer(text: str) -> int | None:
    """The integer at the start of a string: `1,230`, `37800.0`; None if there is none."""
    match = _NUMBER.match(text)
    if not match:
        return None
    digits, _, fraction = match.group(1).replace(",", "").replace("_", "").partition(".")
    return int(digits) if not fraction.strip("0") and len(digits) <= LONGEST_NUMBER else None
