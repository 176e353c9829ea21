"""The #SBATCH header of a script and the variables that Slurm sets for it (sbatch(1), srun(1) of 22.05)."""

from __future__ import annotations

import re
from itertools import takewhile

from cfglint.batch.cards import CUDA, ROCM, find
from cfglint.evaluate import Reason
from cfglint.source.annotations import Sequence
from cfglint.source.record import Record
from cfglint.source.shell.placed_text import Text, TextPart, literal, unknown
from cfglint.source.shell.script import PLACEHOLDER, Script
from cfglint.source.shell.tables import names

SHORT = {
    "N": "nodes",
    "n": "ntasks",
    "G": "gpus",
    "c": "cpus-per-task",
    "p": "partition",
    "t": "time",
    "J": "job-name",
    "a": "array",
    "C": "constraint",
}
OPTIONS_OF = {  # a variable of the job -> the options of the header that may set it
    "SLURM_NNODES": ("nodes",),
    "SLURM_JOB_NUM_NODES": ("nodes",),
    "SLURM_NTASKS": ("ntasks",),
    "SLURM_NPROCS": ("ntasks",),
    "SLURM_NTASKS_PER_NODE": ("ntasks-per-node",),
    "SLURM_GPUS_PER_NODE": ("gpus-per-node",),
    "SLURM_GPUS": ("gpus",),
    "SLURM_GPUS_ON_NODE": ("gpus-per-node", "gres"),
    "SKYPILOT_NUM_NODES": ("nodes",),
    "SKYPILOT_NUM_GPUS_PER_NODE": ("gpus-per-node",),
}
OTHER_NAMES = {"tasks-per-node": "ntasks-per-node"}  # slurm_opt.c: both names have one value
SIZES = names("nodes ntasks ntasks-per-node gpus gpus-per-node gres gpus-per-task cpus-per-task")
MARK = "#SBATCH"
SUBMITTED_FROM = "SLURM_SUBMIT_DIR"
DEVICES = "CUDA_VISIBLE_DEVICES"
OF_NODES = ("gpus-per-node", "gres", "gpus")
OF_GPUS = (*OF_NODES, "gpus-per-task")
BETWEEN_FEATURES = re.compile(r"[&|,*()\[\]]").split
WORDS = re.compile(r"[^ \t\r]+").finditer


class Header(Record):
    """The options of a header: name to value with its place."""

    options: dict[str, Text]

    def __bool__(self) -> bool:
        return bool(self.options)

    def named(self, option: str) -> str:
        return f"{MARK} --{option}"

    def number(self, name: str) -> int | None:
        """An option as a number; of `2-4` the first."""
        text = self.options[name].string.partition("-")[0] if name in self.options else ""
        return int(text) if text.isdigit() and len(text) < 7 else None

    def count(self, name: str) -> int | None:
        """The number in `gpu:a100:4`, `a100:4` or `4`."""
        if name not in self.options:
            return None
        text = self.options[name].string.partition(",")[0].rpartition(":")[2]
        return int(text) if text.isdigit() and len(text) < 7 else None

    @property
    def nodes(self) -> int:
        given, tasks, each = self.number("nodes"), self.number("ntasks"), self.number("ntasks-per-node")
        return given or (1 if not tasks or not each else -(-tasks // each))

    @property
    def tasks(self) -> int:
        return self.number("ntasks") or self.nodes * (self.number("ntasks-per-node") or 1)

    @property
    def gpus_per_node(self) -> int | None:
        gres = self.options.get("gres")
        if "gpus-per-node" in self.options:
            return self.count("gpus-per-node")
        if gres is not None:
            for part in gres.string.split(","):
                if part.startswith("gpu"):
                    last = part.rpartition(":")[2]
                    return int(last) if last.isdigit() and len(last) < 7 else 1
        total = self.count("gpus")
        if total is not None:
            return total // self.nodes if total % self.nodes == 0 else None
        task = self.count("gpus-per-task")
        return task * self.tasks // self.nodes if task is not None else None

    @property
    def gpus_option(self) -> str:
        return next((name for name in OF_GPUS if name in self.options), "")

    def environment(self) -> dict[str, Text]:
        """The variables that the job starts with."""
        values = {"SLURM_NNODES": self.nodes, "SLURM_JOB_NUM_NODES": self.nodes}
        if self.number("ntasks") or self.number("ntasks-per-node"):
            values.update(SLURM_NTASKS=self.tasks, SLURM_NPROCS=self.tasks)
        names = {"SLURM_NTASKS_PER_NODE": "ntasks-per-node", "SLURM_CPUS_PER_TASK": "cpus-per-task"}
        found = {name: str(value) for name, value in values.items()}
        found.update({name: str(self.number(option)) for name, option in names.items() if self.number(option) is not None})
        each = self.gpus_per_node
        if "gpus-per-node" in self.options and each is not None:
            found["SLURM_GPUS_PER_NODE"] = str(each)
        if "gpus" in self.options and self.count("gpus") is not None:
            found["SLURM_GPUS"] = str(self.count("gpus"))
        if "gpus-per-task" in self.options and self.count("gpus-per-task") is not None:
            found["SLURM_GPUS_PER_TASK"] = str(self.count("gpus-per-task"))
        if each is not None and 0 < each < 1000:
            found["SLURM_GPUS_ON_NODE"] = str(each)
            found[DEVICES] = ",".join(map(str, range(each)))
        found["SLURM_JOB_NODELIST"] = found["SLURM_NODELIST"] = "node0" if self.nodes == 1 else f"node[0-{self.nodes - 1}]"
        for name in ("SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID"):
            found[name] = "0"
        return {name: self.written(name, value) for name, value in found.items()}

    def requested_card(self, srun: Sequence[Text]) -> str:
        """The card that the job requests, or a step with the words of `srun`: by its type `gpu:a100:4`, a constraint `a100&nvlink` or a
        partition `gpu-v100`; empty if none is named, or several.
        """
        written = {name: text.string for name, text in {**self.options, **options_in(srun[1:])}.items()}
        types = [word for name in OF_GPUS for part in written.get(name, "").split(",") for word in part.partition("(")[0].split(":")]
        for words in (types, BETWEEN_FEATURES(written.get("constraint", "")), written.get("partition", "").split(",")):
            names = {card for word in words if (card := card_in(word))}
            if names:
                return names.pop() if len(names) == 1 else ""
        return ""

    def written(self, variable: str, value: str) -> Text:
        """The value of a variable, with its place if it is a number of the header."""
        for option in OPTIONS_OF.get(variable, ()):
            text = self.options.get(option)
            last = text.string.rpartition(":")[2] if text is not None else ""
            if text is not None and last == value and "," not in text.string:
                return text[len(text) - len(last) :]
        return Text((TextPart(value),))


def devices_of_step(srun: Sequence[Text]) -> dict[str, Text]:
    """The variable with the GPUs that each node of a step has, if the words of its `srun` request them."""
    step = Header(options_in(srun[1:]))
    return {DEVICES: devices} if step.gpus_option in OF_NODES and (devices := step.environment().get(DEVICES)) is not None else {}


def card_in(word: str) -> str:
    """The GPU that a word names, as a whole or between its dashes; empty for other words, and for a part of a card (`a100_3g.20gb`)."""
    for each in (word, *re.split(r"[-_]", word)) if "." not in word else ():
        card = find(each) if len(each) > 1 else None
        if card is not None and card.device in (CUDA, ROCM):
            return card.name
    return ""


def header(script: Script) -> Header:
    options: dict[str, Text] = {}
    if MARK not in script.text:
        return Header(options)
    offset = 0
    for line in script.text.split("\n"):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            break
        if line.startswith(MARK) and line[len(MARK) : len(MARK) + 1] in (" ", "\t"):
            words = takewhile(lambda match: not match.group().startswith("#"), WORDS(line, len(MARK)))
            options.update(options_in([script.literal(offset + match.start(), offset + match.end()) for match in words]))
        offset += len(line) + 1
    return Header(options)


def submitted(script: Script, options: list[Text], folder: str | None) -> tuple[Header, dict[str, Text]]:
    """The header of a job that a script submits, and its variables: the options of the command override those of the script."""
    head = Header({**header(script).options, **options_in(options)})
    unclear = [text for name, text in head.options.items() if name in SIZES and (not text.known or PLACEHOLDER in text.string)]
    variables = head.environment()
    if unclear:  # what it computes hangs on them
        reasons = unclear[0].reasons or (Reason("argument", f"`{MARK}` with a value that the script computes"),)
        variables = dict.fromkeys(variables, unknown(*reasons))
    if folder is not None:
        variables[SUBMITTED_FROM] = literal(folder)
    return Header({name: text for name, text in head.options.items() if text not in unclear}), variables


def options_in(words: Sequence[Text]) -> dict[str, Text]:
    """The options of a header or of srun: `--name=value`, `--name value`, `-N value`, `-N4`."""
    found: dict[str, Text] = {}
    left = [*words]
    while left:
        word = left.pop(0)
        text = word.string
        if text.startswith("--"):
            name, mark, _ = text[2:].partition("=")
            value = word[len(name) + 3 :]
        elif text.startswith("-") and len(text) > 1:
            name, mark = SHORT.get(text[1], text[1]), text[2:]
            value = word[3 if mark.startswith("=") else 2 :]
        else:
            continue
        if not word.known:
            value = unknown(*word.reasons)
        if not mark and left and not left[0].string.startswith("-"):
            value = left.pop(0)
        bare = value.string.strip("\"'")
        start = value.string.find(bare)
        found[OTHER_NAMES.get(name, name)] = value[start : start + len(bare)] if value.known else value
    return found
