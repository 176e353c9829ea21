"""Rules about `Accelerator(...)` calls in the program of a launch line."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import ARGUMENT, Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.remedies import choice
from cfglint.source.shell.tables import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.launch.config import LaunchConfig

PRECISIONS = ("no", "fp8", "fp16", "bf16")
# The parameters of accelerate 1.15.0 accelerator.py:234-258, and those of earlier releases.
PARAMETERS = names(
    "device_placement split_batches mixed_precision gradient_accumulation_steps cpu dataloader_config deepspeed_plugin fsdp_plugin"
    " torch_tp_plugin megatron_lm_plugin rng_types log_with project_dir project_config gradient_accumulation_plugin"
    " step_scheduler_with_optimizer kwargs_handlers dynamo_backend dynamo_plugin deepspeed_plugins parallelism_config"
)
EARLIER = names("fp16 logging_dir dispatch_batches even_batches use_seedable_sampler ipex_plugin use_configured_state")
LINE = "torchrun --nproc_per_node 8 train.py\n"
IMPORT = "from accelerate import Accelerator\n\n"


@rule(
    "LCH020",
    "invalid-accelerator-argument",
    ERROR,
    fails_at="config",
    bad=(
        {"train.sh": LINE, "train.py": IMPORT + "accelerator = Accelerator(mixed_precision='bfloat16')\n"},
        {"train.sh": LINE, "train.py": IMPORT + "accelerator = Accelerator(mixed_precison='bf16')\n"},
    ),
    good={"train.sh": LINE, "train.py": IMPORT + "accelerator = Accelerator(mixed_precision='bf16')\n"},
    example={"named": 1},
    about=ARGUMENT,
)
def invalid_accelerator_argument(config: LaunchConfig) -> Iterator[Finding]:
    """`Accelerator(...)` in the program has an argument or a precision that accelerate does not have.

    The program is read as a syntax tree; only literals are checked. Arguments of earlier releases are not reported.

    Fix: correct the name, or use one of the precisions.

    Source: accelerate 1.15.0 accelerator.py:234-258, 312-317.
    """
    call = config.accelerator
    for key, node in call.root.pairs() if call is not None and call.root is not None else ():
        assert call is not None
        value = call.values[key.raw]
        setting = Setting((key.raw,), value, WRITTEN, call, node, key)
        if key.raw not in PARAMETERS | EARLIER:
            raised = f"TypeError: Accelerator.__init__() got an unexpected keyword argument {key.raw!r}"
            yield Finding(
                setting,
                f"unknown argument `{key.raw}` is not accepted by Accelerator",
                exception=raised,
                on_key=True,
                help=f"remove `{key.raw}`",
            )
        elif key.raw == "mixed_precision" and isinstance(value, str) and value not in PRECISIONS:
            raised = f"ValueError: Unknown mixed_precision mode: {value}. Choose between {list(PRECISIONS)}"
            yield Finding(
                setting,
                f"`mixed_precision` is {setting.spelled}; it must be one of {', '.join(PRECISIONS)}",
                exception=raised,
                help=choice("mixed_precision", value, PRECISIONS, quoted=True),
            )
