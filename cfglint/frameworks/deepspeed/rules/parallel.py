"""Rules about tensor and expert parallelism, and other settings that the engine uses before the optimizer."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import WARN, Finding, config_error, init_error
from cfglint.findings.wording import described, listed, spelled
from cfglint.frameworks.deepspeed._tables import CHOICES
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.remedies import choice, mistyped, not_attribute
from cfglint.source.annotations import ConfigValue, Iterator

LEVELS = CHOICES["log_level",]
SIZES_COMPARED = (0, 18, 6)  # the two sizes of tensor parallelism


@init_error(
    "DSP070",
    source="deepspeed 0.19.8 utils/logging.py:188, runtime/engine.py:584",
    releases=(Releases((0, 19, 3), of="the key"),),
    bad=(
        '{"train_batch_size": 8, "log_level": "verbose"}\n',
        '{"train_batch_size": 8, "log_level": 10}\n',
    ),
    good='{"train_batch_size": 8, "log_level": "debug"}\n',
    example={"gpus": 8, "at": "/log_level"},
    old_names=("log-level",),
)
def invalid_log_level(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`log_level` is not one of debug, info, warning, error and critical."""
    value = config.values.get("log_level")
    if value is None or not config.looks_up("log_level"):
        return
    if not isinstance(value, str):
        yield mistyped(config.setting("log_level"), "a string", not_attribute(value, "lower"), 'set `log_level` to "info"')
    elif value.lower() not in LEVELS:
        raised = f"ValueError: {value.lower()} is not one of the valid logging levels."
        text = f"`log_level` is {spelled(value)}; it must be {listed(map(spelled, LEVELS))}"
        yield Finding(config.setting("log_level"), text, exception=raised, help=choice("log_level", value, LEVELS, quoted=True))


@config_error(
    "DSP071",
    source="deepspeed 0.19.8 __init__.py:550, runtime/engine.py:957, 1021, utils/groups.py:202-221",
    bad=(
        '{"train_batch_size": 8, "tensor_parallel": {"autotp_size": "auto"}}\n',
        '{"train_batch_size": 8, "tensor_parallel": {"autotp_size": 3}}\n',
        '{"train_batch_size": 8, "tensor_parallel": {"autotp_size": 2, "tp": {"tp_size": 4}}}\n',
    ),
    good='{"train_batch_size": 8, "tensor_parallel": {"autotp_size": 2}}\n',
    example={"gpus": 8, "at": "/tensor_parallel/autotp_size"},
    old_names=("autotp-size",),
)
def invalid_autotp_size(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`tensor_parallel.autotp_size` is a string, does not divide the GPUs, or differs from `tp.tp_size`.

    `deepspeed.initialize` compares the size with zero before it parses the config, so it fails for every
    string, `"2"` and `"auto"` included.

    The ranks form a mesh of `GPUs // autotp_size` by `autotp_size`; ranks outside of it fail.

    Fix: write an integer that divides the GPU count, the same in both places; 0 turns it off.
    """
    section = config.values.get("tensor_parallel")
    if not isinstance(section, dict) or not config.looks_up("tensor_parallel"):
        return
    size = section.get("autotp_size", 0)
    setting = config.setting("tensor_parallel", "autotp_size")
    if size and not isinstance(size, (int, float)):
        if size == "auto" and config.open:
            return
        raised = f"TypeError: '>' not supported between instances of '{type(size).__name__}' and 'int'"
        yield Finding(
            setting,
            f"`autotp_size` is {described(size)}, not a number",
            exception=raised,
            help="set `tensor_parallel.autotp_size` to a number",
        )
        return
    size, world = config.section("tensor_parallel")["autotp_size"], config.world_size
    if not isinstance(size, int) or size < 2:
        return
    if world is not None and size > world and config.trainer is not None:  # accelerate's own mesh fails before
        return
    if world is not None and world % size:
        raised = "IndexError: list index out of range" if size < world else "AssertionError"
        yield Finding(
            setting,
            f"`autotp_size` is {size}, which does not divide {world} GPUs",
            exception=raised,
            fails_at="init",
            help=f"set `tensor_parallel.autotp_size` to a divisor of {world}",
        )
    inner = config.section("tensor_parallel")["tensor_parallel"]
    if config.version >= SIZES_COMPARED and inner is not None and inner["tp_size"] not in (1, size):
        raised = f"ValueError: tensor_parallel.tp.tp_size ({inner['tp_size']}) does not match tensor_parallel.autotp_size ({size})."
        text = f"`tensor_parallel.tp.tp_size` is {inner['tp_size']}, but `autotp_size` is {size}"
        yield Finding(config.setting("tensor_parallel", "tp"), text, exception=raised, fails_at="init", help="remove `tensor_parallel.tp`")


@config_error(
    "DSP072",
    source="deepspeed 0.19.8 module_inject/auto_ep_config.py:76",
    bad='{"train_batch_size": 8, "expert_parallel": {"enabled": false, "load_balance_coeff": 0.01}}\n',
    good='{"train_batch_size": 8, "expert_parallel": {"enabled": false, "load_balance_coeff": null}}\n',
    example={"gpus": 8, "at": "/expert_parallel/load_balance_coeff"},
    old_names=("load-balance-coefficient",),
)
def unsupported_load_balance_coeff(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`expert_parallel.load_balance_coeff` is not supported; DeepSpeed raises even where AutoEP is off."""
    section = config.values.get("expert_parallel")
    if isinstance(section, dict) and section.get("load_balance_coeff") is not None and config.looks_up("expert_parallel"):
        raised = f"ValueError: load_balance_coeff={section['load_balance_coeff']!r} is not supported in this AutoEP build"
        text = "`expert_parallel.load_balance_coeff` is not supported"
        yield Finding(
            config.setting("expert_parallel", "load_balance_coeff"),
            text,
            exception=raised,
            help="remove `expert_parallel.load_balance_coeff`",
        )


@init_error(
    "DSP073",
    source="deepspeed 0.19.8 module_inject/auto_ep_config.py:104-330, module_inject/auto_ep_folding.py:75-258",
    bad='{"train_batch_size": 8, "expert_parallel": {"enabled": true, "autoep_size": 3}}\n',
    good='{"train_batch_size": 8, "expert_parallel": {"enabled": true, "autoep_size": 4}}\n',
    example={"gpus": 8, "at": "/expert_parallel/autoep_size"},
    old_names=("expert-parallel",),
)
def invalid_expert_parallel(config: DeepSpeedConfig) -> Iterator[Finding]:
    """Invalid setting of AutoEP (expert parallelism).

    The sizes have to divide the GPUs; implementations and functions have fixed choices; names of attributes
    are single words; folding experts into tensor parallelism has further limits. Nothing is checked while
    `enabled` is false.

    Run-time errors: `ValueError: expert_parallel.autoep_size * expert_parallel.expert_tensor_parallel_size
    (3 * 1 = 3) must divide the stage size`, `ValueError: score_func must be one of ('auto', 'softmax',
    'sigmoid')`, `ValueError: comm_max_tokens_per_rank must be a positive integer when
    comm_backend='deepep'` and others.

    Fix: change the value that the message names, or set `"enabled": false`.
    """
    section = config.values.get("expert_parallel")
    if not isinstance(section, dict) or not section.get("enabled") or not config.looks_up("expert_parallel"):
        return
    from cfglint.frameworks.deepspeed.experts import refusals

    for key, message in refusals(config, section):
        setting = config.setting("expert_parallel", key) if key else config.setting("expert_parallel")
        yield Finding(setting, message, exception=f"ValueError: {message}", help="set `expert_parallel.enabled` to false")


def module_names(config: DeepSpeedConfig) -> ConfigValue:
    """The module names that autocast is limited to."""
    section = config.values.get("torch_autocast")
    if not isinstance(section, dict) or not section.get("enabled"):
        return None
    return section.get("lower_precision_safe_modules")


@init_error(
    "DSP074",
    source="deepspeed 0.19.8 runtime/torch_autocast.py:43-52",
    bad='{"train_batch_size": 8, "torch_autocast": {"enabled": true, "lower_precision_safe_modules": ["Linear"]}}\n',
    good='{"train_batch_size": 8, "torch_autocast": {"enabled": true, "lower_precision_safe_modules": ["torch.nn.Linear"]}}\n',
    example={"gpus": 8, "at": "/torch_autocast/lower_precision_safe_modules"},
    old_names=("autocast-module-path",),
)
def autocast_module_without_package(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A module of `torch_autocast.lower_precision_safe_modules` is named without its package.

    DeepSpeed splits the name at the last dot and imports the part before it.
    """
    names = module_names(config)
    if not names or not isinstance(names, (list, str)):
        return
    bare = [name for name in names if isinstance(name, str) and "." not in name]
    if bare:
        raised = f"ValueError: Failed to import lower precision safe module {bare[0]}: not enough values to unpack (expected 2, got 1)"
        setting = config.setting("torch_autocast", "lower_precision_safe_modules")
        text = f"`lower_precision_safe_modules` has {spelled(bare[0])} without its package"
        yield Finding(setting, text, exception=raised, help="write the full name, such as torch.nn.Linear")


@init_error(
    "DSP075",
    source="deepspeed 0.19.8 runtime/model_checkpointing/data_parallel_writer_factory.py:92-96",
    when_partial=WARN,
    bad='{"train_batch_size": 8, "checkpoint": {"writer": {"type": "fast"}}}\n',
    good='{"train_batch_size": 8, "checkpoint": {"writer": {"type": "fast", "data_parallel": "replica"}}}\n',
    example={"gpus": 8, "at": "/checkpoint/writer"},
    old_names=("checkpoint-writer-without-unit",),
)
def checkpoint_writer_without_data_parallel(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`checkpoint.writer` without `data_parallel`, below stage 3 and without model parallelism.

    An empty section turns the writer on. Without `data_parallel`, DeepSpeed looks up a rank that only a
    model-parallel run has.
    """
    writer = config.get("checkpoint", "writer")
    if not isinstance(writer, dict) or writer.get("data_parallel") is not None or not config.looks_up("checkpoint", "writer"):
        return
    size = config.section("tensor_parallel")["autotp_size"]
    if config.stage in (0, 1, 2) and isinstance(size, int) and size < 2:
        raised = "AttributeError: 'UniversalParallelInfo' object has no attribute 'dp_rank'"
        setting = config.setting("checkpoint", "writer")
        text = "`checkpoint.writer` requires `data_parallel`"
        yield Finding(setting, text, exception=raised, help='set `checkpoint.writer.data_parallel` to "replica"')
