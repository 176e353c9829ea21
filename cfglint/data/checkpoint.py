"""The folder of a checkpoint: what the names and the JSON files in it say. Nothing that is pickled is run.

This package is imported only for a run that resumes.
"""

from __future__ import annotations

import io
import os
import zipfile

from cfglint.source.annotations import ConfigMapping, ConfigValue
from cfglint.source.files import FileProblem, mapping_in, open_regular, read_bytes
from cfglint.source.record import Record
from cfglint.source.root import is_inside, places_of, root_of

STATE_FILE = "trainer_state.json"
OPTIMIZER_FILE = "optimizer.pt"
LARGEST_STATE = 20_000_000  # bytes of JSON: its `log_history` grows with the run
LARGEST_CONFIG = 100_000
NUMBERED = "checkpoint-"
LARGEST = 10**15  # of a step


STEP = "global_step"
OPTIMIZER = "_optim_states.pt"
MODEL = "_model_states.pt"
BF16 = "bf16_"


class Checkpoint(Record):
    """A folder with a checkpoint: its path as the run or the user names it, the names in it, and the state of the Trainer.

    `state` is None where its file cannot be read, `has_state` whether there is one. `root` is the folder that nothing that is read may lie
    outside of; empty for a folder that the user named.
    """

    path: str
    folder: str
    names: frozenset[str]
    state: ConfigMapping | None
    root: str = ""

    @property
    def has_state(self) -> bool:
        """Whether the Trainer's state was saved."""
        return STATE_FILE in self.names

    @property
    def has_optimizer(self) -> bool:
        """Whether the state of the optimizer was saved, in one of the forms of the Trainer."""
        return bool(self.names & {"optimizer.pt", "optimizer.bin"}) or any(
            name.startswith(("optimizer_", "global_step")) for name in self.names
        )

    @property
    def has_scheduler(self) -> bool:
        """Whether the state of the learning-rate schedule was saved; DeepSpeed keeps that of its own."""
        return "scheduler.pt" in self.names or any(name.startswith("global_step") for name in self.names)

    @property
    def processes(self) -> int | None:
        """The number of processes that saved it, each with a state of its random numbers; None if there is none."""
        several = sum(name.startswith("rng_state_") and name.endswith(".pth") for name in self.names)
        return several or (1 if "rng_state.pth" in self.names else None)

    def number(self, name: str) -> int | None:
        """A number of the state that is a sensible integer."""
        return integer((self.state or {}).get(name))

    def listed(self, name: str) -> frozenset[str]:
        """The names in a folder of the checkpoint; empty if there is none."""
        folder = os.path.join(self.folder, name)
        return names_in(folder) if os.path.basename(name) == name and may_read(folder, self.root) else frozenset()

    def inside(self, folder: str) -> frozenset[str]:
        """The names in a folder below the checkpoint; empty if there is none."""
        path = os.path.join(self.folder, folder)
        return names_in(path) if may_read(path, self.root) else frozenset()

    def content(self, name: str) -> str | None:
        """The content of a config file below the checkpoint; None if it cannot be read."""
        path = os.path.join(self.folder, name)
        try:
            return read_bytes(path, LARGEST_CONFIG, self.root or None).decode("utf-8", "replace")
        except FileProblem:
            return None

    def words_of_optimizer(self) -> frozenset[str]:
        """The strings in the saved state of the optimizer, whose pickle is read as a list of instructions, as far as possible."""
        import pickletools

        words: set[str] = set()
        try:
            with os.fdopen(open_regular(os.path.join(self.folder, OPTIMIZER_FILE), self.root or None), "rb") as file:
                data = file.read(LARGEST_CONFIG)
                if data[:2] == b"PK":
                    with zipfile.ZipFile(file) as archive:
                        [member] = [each for each in archive.infolist() if each.filename.endswith("/data.pkl")]
                        data = archive.read(member) if member.file_size < LARGEST_STATE else b""
            stream = io.BytesIO(data)
            while stream.tell() < len(data):  # before torch 1.6 several pickles, one after another
                words.update(argument for _, argument, _ in pickletools.genops(stream) if isinstance(argument, str))
        except (FileProblem, OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile):
            pass
        return frozenset(words)

    def text(self, name: str) -> str:
        """The content of a short file of the checkpoint; empty if there is none."""
        path = os.path.join(self.folder, name)
        if name not in self.names:
            return ""
        try:
            return read_bytes(path, 1000, self.root or None).decode("utf-8", "replace").strip()
        except FileProblem:
            return ""


def may_read(path: str, root: str) -> bool:
    """Whether a path is inside the folder that a run may read; any is where the user named the checkpoint."""
    return not root or is_inside(path, root)


def integer(value: ConfigValue) -> int | None:
    """A value that counts something; None for any other."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST else None


def names_in(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))
    except (OSError, ValueError):
        return frozenset()


def checkpoint_in(folder: str, name: str, root: str) -> Checkpoint | None:
    """The checkpoint in a folder, which a run calls by a name; None if there is no such folder."""
    if "\0" in folder or not os.path.isdir(folder) or not may_read(folder, root):
        return None
    names = names_in(folder)
    state = mapping_in(os.path.join(folder, STATE_FILE), root or None, LARGEST_STATE) if STATE_FILE in names else {}
    return Checkpoint(name, folder, names, state or None, root)


def named_checkpoint(name: str, origin: str) -> Checkpoint | None:
    """The checkpoint that a file of a run names, inside its project; None if it is not there."""
    root = root_of(origin)
    checkpoints = (checkpoint_in(folder, name, root) for folder in places_of(name, origin))
    return next((checkpoint for checkpoint in checkpoints if checkpoint is not None), None)


def last_checkpoint(output: str, origin: str) -> Checkpoint | None:
    """The checkpoint with the largest number in the output folder of a run; None if there is none."""
    root = root_of(origin)
    for folder in places_of(output, origin):
        if os.path.isdir(folder) and may_read(folder, root):
            numbers = sorted(step for step in map(step_of, names_in(folder)) if step is not None)
            for step in reversed(numbers):
                checkpoint = checkpoint_in(os.path.join(folder, f"{NUMBERED}{step}"), os.path.join(output, f"{NUMBERED}{step}"), root)
                if checkpoint is not None:
                    return checkpoint
            return None
    return None


def step_of(name: str, prefix: str = NUMBERED) -> int | None:
    """The number of a folder `checkpoint-N`, or of another prefix; None for another name."""
    digits = name.removeprefix(prefix)
    is_number = digits != name and digits.isascii() and digits.isdigit() and len(digits) < len(str(LARGEST))
    return int(digits) if is_number else None


class EngineState(Record):
    """The state of an engine: the data-parallel ranks whose optimizer states were saved, whether in bf16, and whether by ZeRO stage 3."""

    tag: str
    ranks: int
    bf16: bool
    stage3: bool

    @property
    def partitioned(self) -> bool:
        """Whether the optimizer states are divided over ranks; else they are those of stage 0, or were not saved."""
        return self.ranks > 0


def engine_tags(checkpoint: Checkpoint) -> list[str]:
    """The folders of the engine in a checkpoint, as the Trainer looks for them."""
    return sorted(name for name in checkpoint.names if name.startswith(STEP))


def engine_state(checkpoint: Checkpoint, tag: str = "") -> EngineState | None:
    """The state of a tag, else that which `latest` names; None where its files do not tell."""
    tag = tag or checkpoint.text("latest")
    names = checkpoint.listed(tag) if tag else frozenset()
    optimizers = [name for name in names if name.endswith(OPTIMIZER) and "zero_pp_rank_" in name]
    models = [name for name in names if name.endswith(MODEL)]
    if not models:
        return None
    ranks = {name.partition("zero_pp_rank_")[2].partition("_")[0] for name in optimizers}
    return EngineState(
        tag, len(ranks), any(name.startswith(BF16) for name in optimizers), any(name.startswith("zero_pp_rank_") for name in models)
    )
