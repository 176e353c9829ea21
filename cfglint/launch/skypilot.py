"""Task files of SkyPilot: the commands of `run` are a script, and `resources` what its job requests.

Source: skypilot 0.14.1 sky/utils/schemas.py (get_task_schema), sky/backends/task_codegen.py:630-670 (the variables of a job).
"""

from __future__ import annotations

import re

from cfglint.batch.cards import find, of_instance
from cfglint.evaluate import Reason
from cfglint.launch.cells import CellScript
from cfglint.launch.slurm import Header
from cfglint.source.annotations import Iterator
from cfglint.source.document import MAPPING, SCALAR, Document, Node
from cfglint.source.parse import parse
from cfglint.source.shell.placed_text import Text, TextPart, unknown

SUFFIXES = (".yaml", ".yml")
RUN = re.compile(r"^run:[ \t]*\|[-+0-9]*[ \t]*(?:#.*)?\n((?:[ \t]*\n|[ \t]+.*\n?)*)", re.MULTILINE).search
RESOURCES = re.compile(r"^(?:resources|num_nodes):", re.MULTILINE).search
NULL = ("null", "~", "")
NAMES = {"gpus-per-node": "accelerators", "nodes": "num_nodes"}
ACCELERATORS = ("resources", "accelerators")


def is_task(path: str, text: str) -> bool:
    """Whether a file is a task: it has a script as `run`, and `resources` or `num_nodes` at the top."""
    return "run:" in text and path.lower().endswith(SUFFIXES) and RUN(text) is not None and RESOURCES(text) is not None


class TaskHeader(Header):
    """The request of a task under the names of Slurm's options; `card` is the card of its accelerators or of its instance type."""

    card: str = ""

    def count(self, name: str) -> int | None:
        """The number in `A100:4`; of `A100` 1."""
        return super().count(name) or (1 if name in self.options and ":" not in self.options[name].string else None)

    def named(self, option: str) -> str:
        return NAMES.get(option, option)

    def requested_card(self, srun: object) -> str:
        return self.card

    def environment(self) -> dict[str, Text]:
        """Nothing: the script assigns the variables of the job, so that it changes with them."""
        return {}

    def variables(self) -> dict[str, Text]:
        values = {
            "SKYPILOT_NODE_RANK": "0",
            "SKYPILOT_NODE_IPS": "\n".join(f"node{rank}" for rank in range(self.nodes)),
            "SKYPILOT_NUM_NODES": str(self.nodes),
        }
        if self.gpus_per_node:
            values["SKYPILOT_NUM_GPUS_PER_NODE"] = str(self.gpus_per_node)
        return {name: self.written(name, value) for name, value in values.items()}


def script(path: str, text: str) -> CellScript:
    """The commands of a task, behind assignments of its `envs` and of the variables of the job."""
    document, commands = parse(path, text, "yaml"), RUN(text)
    variables = {**variables_in(document, "envs"), **variables_in(document, "secrets"), **header(path, text).variables()}
    parts: list[TextPart] = []
    for name, value in variables.items():
        parts += [TextPart(f"export {name}='"), *value.parts, TextPart("'\n")]
    at = commands.start(1) if commands is not None else 0
    lines = (commands[1] if commands is not None else "").splitlines(keepends=True)
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    for line in lines:
        content = line[indent:] if line.strip() else "\n"
        parts.append(TextPart(content, (path, at + len(line) - len(content), at + len(line)) if line.strip() else None))
        at += len(line)
    return CellScript(path, text, parts)


def variables_in(document: Document, section: str) -> dict[str, Text]:
    node = document.find((section,))[1]
    pairs = node.resolved().pairs() if node is not None and node.kind == MAPPING else ()
    known = ((key.raw, value) for key, value in pairs if value.kind == SCALAR and key.raw.isidentifier() and "'" not in value.raw)
    return {
        name: Text((written(document, value),)) if value.raw not in NULL else unknown(Reason("environment", f"`{name}` of `{section}`"))
        for name, value in known
    }


def header(path: str, text: str) -> TaskHeader:
    document, options = parse(path, text, "yaml"), dict[str, Text]()
    nodes, requested = document.find(("num_nodes",))[1], document.find(ACCELERATORS)[1]
    if nodes is not None and nodes.kind == SCALAR:
        options["nodes"] = Text((written(document, nodes),))
    choices = (
        [*accelerators(document, requested.resolved())]
        if requested is not None and (requested.kind != SCALAR or requested.raw not in NULL)
        else []
    )
    counts = {choice.string.rpartition(":")[2] if ":" in choice.string else "1" for choice in choices}
    if len(counts) == 1:
        options["gpus-per-node"] = choices[0]
    instance = document.find(("resources", "instance_type"))[1]
    cards = [find(choice.string.partition(":")[0]) for choice in choices] or [of_instance(instance.raw) if instance is not None else None]
    names = {card.name if card is not None else "" for card in cards}
    return TaskHeader(options, names.pop() if len(names) == 1 else "")


def accelerators(document: Document, node: Node) -> Iterator[Text]:
    if node.kind == SCALAR and node.raw not in NULL:
        name, mark, count = node.raw.partition(":")
        place = written(document, node)
        yield Text((place.cut(0, len(name) + len(mark)), place.cut(len(name) + len(mark), len(node.raw))) if count else (place,))
    for key, value in node.pairs():
        yield Text((TextPart(f"{key.raw}:"), written(document, value)))
    for item in node.items():
        yield from accelerators(document, item)


def written(document: Document, node: Node) -> TextPart:
    plain = document.text[node.start : node.end].strip("\"'") == node.raw
    start = document.text.find(node.raw, node.start) if plain else 0
    return TextPart(node.raw, (document.path, start, start + len(node.raw)) if plain else None)
