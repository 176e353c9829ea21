"""Megatron-LM, whose programs take all settings as arguments of a launch line: it has no files."""

from __future__ import annotations

from cfglint.frameworks.base import LineFramework
from cfglint.launch import Launch
from cfglint.source.annotations import Final

KIND: Final = "megatron"
REQUIRED = ("micro_batch_size", "num_layers", "hidden_size", "num_attention_heads")  # without these, Megatron-LM does not start


class Megatron(LineFramework):
    """The arguments of Megatron-LM's programs, or of forks that compute the batch in the same way."""

    kind = KIND
    title = "Megatron-LM"
    no_generator = "Megatron-LM has no config files: its settings are the arguments of the launch line"
    parts = {
        "config": "megatron.config.MegatronConfig",
        "batch": "megatron.batch.batch",
        "numbers": "megatron.batch.numbers",
        "account": "megatron.batch.account",
        "model": "megatron.memory.model",
        "memory": "megatron.memory.inputs",
    }

    def takes(self, launch: Launch) -> bool:
        """Whether a line has the arguments without which Megatron-LM does not start."""
        return launch.command is not None and all(name in launch.command.words for name in REQUIRED)

    def packages(self) -> dict[str, str]:
        return {}


FRAMEWORK = Megatron()
