"""ms-swift: `swift sft`, `megatron sft`.

Source: ms-swift 3602360a5 swift/cli/main.py.
"""

from __future__ import annotations

from cfglint.launch.machine import number, visible
from cfglint.launch.size_variables import SIZE_VARIABLE, OfVariables
from cfglint.source.shell.placed_text import literal
from cfglint.source.shell.tables import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.launch_line import LaunchLine
    from cfglint.launch.surroundings import Surroundings
    from cfglint.source.shell.placed_text import Text


TRAINERS = ("sft", "pt", "rlhf")
# Fields with another default in ms-swift, or one that depends on its own arguments or on the checkpoint. Source: ms-swift 4.6.0
# trainers/arguments.py:130-220, arguments/sft_args.py.
OTHER_DEFAULTS = listed(
    "per_device_eval_batch_size learning_rate weight_decay adam_beta2 lr_scheduler_type warmup_steps gradient_checkpointing bf16 fp16 optim"
    " logging_steps logging_first_step report_to save_strategy save_steps eval_strategy eval_steps dataloader_num_workers"
    " dataloader_prefetch_factor dataloader_persistent_workers remove_unused_columns output_dir max_steps"
)


class Swift(OfVariables):
    """`swift sft`: torchrun if one of the variables is set, else one process for all GPUs."""

    name = "swift"
    commands = {"swift": ""}
    words = ("swift",)
    has_own_parser = True
    parser_of = "huggingface"
    own_fields = ("fsdp",)  # the name of a preset or the path of a file
    own_defaults = OTHER_DEFAULTS
    always_several = False  # whether it always starts torchrun

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        """Parse `swift sft`."""
        if not words or words[0].value not in TRAINERS:
            return False
        environment = line.call.environment
        line.module = True
        line.program = literal(f"{self.name} {words[0].value}")
        line.arguments = words[1:]
        if SIZE_VARIABLE in environment or self.nodes_variable in environment or self.always_several:
            line.inner = "torchrun"
            each = number(environment.get(SIZE_VARIABLE), 1, around.machine, line, "gpus_per_node")
            line.sized(each, number(environment.get(self.nodes_variable), 1, around.machine, line, "nodes"))
        else:
            line.gpus_per_node, line.nodes, line.processes = visible(line, around.machine), 1, 1
        return True


class MegatronLauncher(Swift):
    """`megatron sft`, always with torchrun."""

    name = "megatron"
    commands = {"megatron": ""}
    words = ("megatron",)
    parser_of = ""
    always_several = True


LAUNCHERS = (Swift(), MegatronLauncher())
