"""The changed lines of a script that no comparison of its launches covers: variables of the environment, commands before the launch, and
variables that something else than a launch line uses.
"""

from __future__ import annotations

import re

from cfglint.review.settings import shortened_pair
from cfglint.source.annotations import Collection, Iterator

ENDINGS = (".sh", ".bash", ".sbatch", ".slurm", ".pbs")
HERE = re.compile(r"(<<-?\s*[\"']?(\w+)[\"']?[^\n]*\n)(.*?)(^\s*\2\s*$)", re.DOTALL | re.MULTILINE)
ASSIGNMENT = re.compile(r"(export\s+|readonly\s+|local\s+|declare\s+(?:-\w+\s+)*)?([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
OPEN_LIST = re.compile(r"\w+\+?=\(")
COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
# What the comparison of launches covers itself, or what trains nothing: `for x in` and `cd` are evaluated, conditions compared apart.
COVERED = re.compile(
    r"(?:cd|for|if|elif|else|fi|then|do|done|case|esac|while|until|function|return|exit|break|continue|shift|;;|[(){}])(?!\S)|[^()\s]+\)$"
)
IDLE = re.compile(r"(?:echo|printf|mkdir|date|sleep|wait|true|:|clear|ls|pwd|hostname|nvidia-smi|which|set|ulimit|trap|tee)(?!\S)")
WRITING = re.compile(r"(?<![0-9&])>(?!&)")
# Variables of the environment that no training is computed from, and those that the evaluation of a launch knows.
WITHOUT_EFFECT = re.compile(
    r"(?:WANDB|SWANLAB|NCCL|MASTER|HF|HUGGINGFACE|GLOO|UCX|FI|SLURM|TRANSFORMERS|TOKENIZERS|RAY|HYDRA)_|CUDA_(?:VISIBLE_DEVICES|HOME)$"
    r"|(?:LD_LIBRARY_|PYTHON)?PATH$|(?:WORLD_SIZE|NNODES|NODE_RANK|RANK)$|.*(?:_TOKEN|_API_KEY|_DIR|_HOME|_CACHE|_PORT)$"
)
ABSENT = "(unset)"


def other_lines(before: str, after: str, launches: tuple[Collection[int], Collection[int]]) -> Iterator[str]:
    """What differs in the commands of a script that no launch covers, as `NAME` 1 -> 2; `launches` are the lines of those of each side."""
    sides = [commands(text) for text in (before, after)]
    texts = [[text for _, text in side] for side in sides]
    of_launches = [
        {text for number, text in side if any(line in number for line in lines)} for side, lines in zip(sides, launches, strict=True)
    ]
    gone, new = ([text for text in one if text not in other] for one, other in (texts, texts[::-1]))
    values: dict[str, list[str]] = {}
    for side, changed in enumerate((gone, new)):
        used = "\n".join(text for text in texts[side] if text not in of_launches[side] and not is_idle(text, texts[side]))
        for text in changed:
            found = ASSIGNMENT.fullmatch(text)
            if text in of_launches[side] or COVERED.match(text) or (found is None and is_idle(text, texts[side])):
                continue
            name = found.group(2) if found is not None else text
            by_launch = found is not None and any(re.search(rf"\$\{{?{name}\b", each) for each in of_launches[side])  # whose words are told
            if found is not None and (by_launch or not is_used(name, found.group(1) or "", used)):
                continue
            values.setdefault(name, [ABSENT, ABSENT])[side] = found.group(3) if found is not None else text
    for name, (was, now) in values.items():
        one, other = shortened_pair(was, now)
        if name in (was, now):
            yield f"`{other if was == ABSENT else one}` {'is new' if was == ABSENT else 'is gone'}"
        elif was != now:
            yield f"`{name}` {one} -> {other}"


def commands(text: str) -> list[tuple[range, str]]:
    """The commands of a script with the numbers of their lines, without comments and the texts that it writes inline."""
    blank = HERE.sub(lambda found: found[1] + "\n" * found[3].count("\n") + found[4], text)
    found: list[tuple[range, str]] = []
    first, parts = 1, list[str]()
    for number, line in enumerate(blank.splitlines(), 1):
        part = COMMENT.sub("", line).strip()
        first = first if parts else number
        parts.append(part.removesuffix("\\").strip())
        command = " ".join(filter(None, parts))
        is_open = command.count('"') % 2 or (OPEN_LIST.match(command) and command.count("(") > command.count(")"))
        if not (part.endswith("\\") or is_open):
            found += [(range(first, number + 1), command)] if command else []
            parts = []
    return found


def is_idle(text: str, every: Collection[str]) -> bool:
    """Whether a command trains nothing: one that prints, unless what it prints is written to a file."""
    is_written = WRITING.search(text) or any(other.startswith("}") and WRITING.search(other) for other in every)
    return IDLE.match(text) is not None and not is_written


def is_used(name: str, how: str, others: str) -> bool:
    """Whether something else than a launch may use a variable: the environment of a program, or another command."""
    if how.startswith("export"):
        return WITHOUT_EFFECT.match(name) is None
    uses = (line for line in others.splitlines() if ASSIGNMENT.fullmatch(line) is None and not line.startswith("for "))
    return any(re.search(rf"\$\{{?{name}\b", line) for line in uses) or f"export {name}" in others
