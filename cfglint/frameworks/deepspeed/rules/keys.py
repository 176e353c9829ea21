"""Rules about keys: removed, renamed, unknown to a section, or read by nobody."""

from __future__ import annotations

from itertools import islice

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.deepspeed.known_keys import unread
from cfglint.frameworks.deepspeed.models import EARLY, MONITORS, SECTIONS, TWICE, UNKNOWN
from cfglint.frameworks.deepspeed.rules import DEEPSPEED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.findings.diagnostic import Fix
    from cfglint.frameworks.base import Version
    from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
    from cfglint.frameworks.deepspeed.models import Fault
    from cfglint.frameworks.schema import Candidate
    from cfglint.frameworks.setting import Setting

REFUSED = {
    "nebula": ((0, 19, 7), "Nebula checkpointing has been removed."),
    "compression_training": ((0, 19, 7), "The DeepSpeed compression library has been removed."),
    "amp": ((0, 19, 8), "NVIDIA Apex AMP integration has been removed. Use DeepSpeed 'fp16', 'bf16', or 'torch_autocast' instead."),
    "quantize_training": ((0, 19, 7), "Mixture-of-Quantization (MoQ) / 'quantize_training' has been removed."),
    "sparse_gradients": ((0, 19, 8), "Sparse compression of dense torch.nn.Embedding gradients has been removed."),
    "eigenvalue": ((0, 19, 8), "Eigenvalue-based Mixture-of-Quantization (MoQ) has been removed"),
    "sparse_attention": ((0, 19, 7), "DeepSpeed Sparse Attention has been removed"),
    "elasticity": ((0, 19, 8), "Elastic training has been removed; the 'elasticity' configuration block is no longer supported."),
    "graph_harvesting": ((0, 19, 8), "Graph harvesting has been removed"),
    "curriculum_learning": ((0, 19, 8), "Legacy top-level 'curriculum_learning' has been removed."),
    "progressive_layer_drop": ((0, 19, 8), "Progressive Layer Dropping has been removed"),
}
REFUSED_IN_ZERO = {
    "mics_shard_size": ((0, 19, 7), "MiCS ZeRO-3 sharding has been removed"),
    "mics_hierarchical_params_gather": ((0, 19, 7), "MiCS ZeRO-3 sharding has been removed"),
    "zeropp_loco_param": ((0, 19, 8), "LoCo-Zero++ has been removed"),
}
SLIPS = 5000  # keys nobody reads that are compared with known ones; a file with more holds somebody's data
COMMON_WORDS = frozenset(  # keys of some section that scripts and other sections use for things of their own
    """debug detailed device dtype enabled fast group metric mode names offload online overwrite params partition
    profile project ratio seed team type verbose workspace writer""".split()  # noqa: SIM905
)


@rule(
    "KEY100",
    "removed-key",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "sparse_gradients": false}\n',
    good='{"train_batch_size": 8}\n',
    fixed='{"train_batch_size": 8}\n',
    example={"gpus": 8, "at": "/sparse_gradients"},
    by_version=True,
)
def removed_key(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A feature that this DeepSpeed has dropped; the key is refused whatever its value.

    A leftover block would be ignored and the run would silently be another one, so DeepSpeed stops, even
    at `"amp": {"enabled": false}`.

    Run-time error: `DeepSpeedConfigError: Elastic training has been removed; the 'elasticity'
    configuration block is no longer supported.` and the like.

    Fix: take the key out. That is safe where the feature was off; where it was on, the run needs another
    way: `bf16` for `amp`, batch sizes of your own for `elasticity`,
    `data_efficiency.data_sampling.curriculum_learning` for `curriculum_learning`.

    Source: deepspeed 0.19.8 runtime/config.py:83-141; 0.19.7 has the first five of them.
    """
    for key, (since, message) in REFUSED.items():
        if key in config.values and config.version >= since:
            yield removed(config.setting(key), since, message)
    section = config.values.get("zero_optimization")
    for key, (since, message) in REFUSED_IN_ZERO.items():
        if isinstance(section, dict) and key in section and config.version >= since:
            yield removed(config.setting("zero_optimization", key), since, message)


def removed(setting: Setting, since: Version, message: str) -> Finding:
    """The finding for a key that is refused since a release."""
    from cfglint.findings.fix_builders import remove

    said = f"{setting.name} is refused since DeepSpeed {'.'.join(map(str, since))}: {message}"
    return Finding(
        setting, said, exception=f"DeepSpeedConfigError: {message}", fix=remove(setting, f"remove {setting.name}", safe=True), on_key=True
    )


@rule(
    "KEY101",
    "key-will-be-refused",
    WARNING,
    kinds=DEEPSPEED,
    bad='{"train_batch_size": 8, "sparse_gradients": false}\n',
    good='{"train_batch_size": 8}\n',
    example={"gpus": 8, "target": {"deepspeed": "0.19.0"}, "at": "/sparse_gradients"},
    by_version=True,
)
def key_will_be_refused(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A key that later releases of DeepSpeed refuse.

    The target version still takes it. From 0.19.7 or 0.19.8 on, DeepSpeed stops at the key, whatever its
    value: `DeepSpeedConfigError`.

    Fix: take it out before the upgrade.

    Source: deepspeed 0.19.8 runtime/config.py:83-141.
    """
    for key, (since, _) in REFUSED.items():
        if key in config.values and config.version < since:
            yield Finding(config.setting(key), f"{key} is refused from DeepSpeed {'.'.join(map(str, since))} on", on_key=True)


@rule(
    "KEY102",
    "unknown-section-key",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "overlap_com": true}}\n',
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "overlap_comm": true}}\n',
    fixed='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "overlap_comm": true}}\n',
    example={"gpus": 8, "at": "/zero_optimization/overlap_com"},
    by_version=True,
)
def unknown_section_key(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A key that a strict section does not have.

    `zero_optimization`, `fp16`, `bf16`, the monitors and some others are pydantic models that forbid what
    they do not know: a slip, a key of another section, or a key of a later release. A key whose value is
    `"auto"` is dropped before the model looks. Where a key has two names, the second one is unknown beside
    the first.

    Run-time error: `pydantic_core.ValidationError: 1 validation error for DeepSpeedZeroConfig ... Extra
    inputs are not permitted [type=extra_forbidden]`.

    Fix: the name that the finding offers, or another release of DeepSpeed.

    Source: deepspeed 0.19.8 runtime/config_utils.py:105-113.
    """
    for name in given_sections(config):
        for fault in config.section(name).faults:
            if fault.kind in (UNKNOWN, EARLY, TWICE):
                yield unknown(config, config.at(name, *fault.path), fault)


def given_sections(config: DeepSpeedConfig) -> Iterator[str]:
    """The strict sections that a config has something for."""
    values = config.values
    for name in SECTIONS:
        if name in values:
            yield name
    if "bfloat16" in values and values.get("bf16") is None and "bf16" not in values:
        yield "bf16"
    if any(key in values for key in MONITORS):
        yield "monitor"
    if "timers" in values:
        yield "throughput"


def unknown(config: DeepSpeedConfig, setting: Setting, fault: Fault) -> Finding:
    """The finding for a key that a model forbids, with the known one that may have been meant."""
    if fault.kind == EARLY:
        from cfglint.frameworks.schema import load

        known = load("deepspeed").lookup(tuple(str(step) for step in setting.path))
        said = f"DeepSpeed {'.'.join(map(str, config.version))} does not know {setting.name} yet"
        if known is not None and known.since:
            said += f"; {known.since} does"
        return Finding(setting, said, exception=fault.exception, on_key=True)
    if fault.kind == TWICE:
        from cfglint.findings.fix_builders import remove

        fix = remove(setting, f"remove {setting.path[-1]}", safe=True)
        return Finding(setting, f"{setting.name} stands under its other name as well", exception=fault.exception, fix=fix, on_key=True)
    hint, fix = nearest(config, setting)
    return Finding(setting, f"{setting.name} is no key of this section{hint}", exception=fault.exception, fix=fix, on_key=True)


def nearest(config: DeepSpeedConfig, setting: Setting) -> tuple[str, Fix | None]:
    """What to say of the key that may have been meant, and the renaming where it is in the same section."""
    from cfglint.findings.fix_builders import rename
    from cfglint.frameworks.schema import load

    section = tuple(str(step) for step in setting.path[:-1])
    found = load("deepspeed").nearest(section, str(setting.path[-1]), 1)
    if not found:
        return "", None
    candidate = found[0]
    if candidate.path[:-1] != section:
        return elsewhere(setting, candidate), None
    meant = f"; did you mean {candidate.path[-1]}?"
    if config.has(*candidate.path):
        return meant, None
    return meant, rename(setting, candidate.path[-1], f"rename it to {candidate.path[-1]}", safe=candidate.distance == 1)


def elsewhere(setting: Setting, candidate: Candidate) -> str:
    """What to say of a key of another section that has the same name or a near one; nothing for words that say little."""
    if candidate.path[-1] in COMMON_WORDS:
        return ""
    if candidate.path[-1] != setting.path[-1]:
        return f"; did you mean {candidate.name}?"
    home = ".".join(candidate.path[:-1])
    return f"; it belongs in {home}" if home else "; it belongs at the top level"


@rule(
    "KEY103",
    "deprecated-with-replacement",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "cpu_offload": false, "offload_optimizer": {"device": "cpu"}}}\n',
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "offload_optimizer": {"device": "cpu"}}}\n',
    fixed='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "offload_optimizer": {"device": "cpu"}}}\n',
    example={"gpus": 8, "at": "/zero_optimization/cpu_offload"},
    by_version=True,
)
def deprecated_with_replacement(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A deprecated key stands beside the key that replaced it.

    The old key is turned into the new one when the section is read, and may not find it taken, not even
    by the same meaning.

    Run-time error: `AssertionError: Cannot provide deprecated parameter 'cpu_offload' and replacing
    parameter 'offload_optimizer' together`.

    Fix: take the old key out.

    Source: deepspeed 0.19.8 runtime/config_utils.py:86-88, runtime/zero/config.py:183-215.
    """
    for old, new, _ in deprecated(config):
        if new and new in config.zero.given:
            from cfglint.findings.fix_builders import remove

            setting = config.at("zero_optimization", old)
            said = f"{old} is the old name of {new}, and both are given"
            raised = f"AssertionError: Cannot provide deprecated parameter '{old}' and replacing parameter '{new}' together"
            yield Finding(setting, said, exception=raised, fix=remove(setting, f"remove {old}", safe=True), on_key=True)


@rule(
    "KEY104",
    "deprecated-key",
    WARNING,
    kinds=DEEPSPEED,
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "stage3_gather_fp16_weights_on_model_save": true}}\n',
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "stage3_gather_16bit_weights_on_model_save": true}}\n',
    fixed='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "stage3_gather_16bit_weights_on_model_save": true}}\n',
    example={"gpus": 8, "at": "/zero_optimization/stage3_gather_fp16_weights_on_model_save"},
    by_version=True,
)
def deprecated_key(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A key of ZeRO that has a successor.

    DeepSpeed still takes it and warns: `Config parameter cpu_offload is deprecated use offload_optimizer
    instead`. `cpu_offload_use_pin_memory` is taken and does nothing at all.

    Fix: write the new key: `"offload_optimizer": {"device": "cpu"}` for `cpu_offload`,
    `"offload_param": {"device": "cpu"}` for `cpu_offload_param`, `pin_memory` inside those two.

    Source: deepspeed 0.19.8 runtime/zero/config.py:183-215, 275.
    """
    for old, new, advice in deprecated(config):
        if not new or new not in config.zero.given:
            setting = config.at("zero_optimization", old)
            yield Finding(setting, f"{old} is deprecated: {advice}", fix=modern(config, setting, old), on_key=True)


def deprecated(config: DeepSpeedConfig) -> Iterator[tuple[str, str, str]]:
    """(old key, new key, advice) of the deprecated keys that the ZeRO section has."""
    given = config.zero.given
    if "cpu_offload_param" in given:
        yield "cpu_offload_param", "offload_param", offloading(config, "cpu_offload_param", "offload_param")
    if "cpu_offload_use_pin_memory" in given:
        yield "cpu_offload_use_pin_memory", "", "it does nothing; pin_memory stands in offload_optimizer and offload_param"
    if "cpu_offload" in given:
        yield "cpu_offload", "offload_optimizer", offloading(config, "cpu_offload", "offload_optimizer")
    if "stage3_gather_fp16_weights_on_model_save" in given:
        new = "gather_16bit_weights_on_model_save"
        yield "stage3_gather_fp16_weights_on_model_save", new, f"use stage3_{new}"


def offloading(config: DeepSpeedConfig, old: str, new: str) -> str:
    """What to write in place of an old switch for offloading."""
    return f'use "{new}": {{"device": "cpu"}}' if config.zero[old] else "take it out, nothing is offloaded by default"


def modern(config: DeepSpeedConfig, setting: Setting, old: str) -> Fix | None:
    """The fix that says the same in the new way, where one is as short as the old."""
    from cfglint.findings.fix_builders import remove, rename

    if old == "stage3_gather_fp16_weights_on_model_save":
        return rename(setting, "stage3_gather_16bit_weights_on_model_save", "use the new name", safe=True)
    if old == "cpu_offload_use_pin_memory" or config.zero[old] in (False, None):
        return remove(setting, f"remove {old}", safe=True)
    return None


@rule(
    "KEY105",
    "unread-key",
    WARNING,
    kinds=DEEPSPEED,
    bad='{"train_batch_size": 8, "gradient_clip": 1.0}\n',
    good='{"train_batch_size": 8, "gradient_clipping": 1.0}\n',
    example={"gpus": 8, "at": "/gradient_clip"},
)
def unread_key(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A key that DeepSpeed never looks at.

    At the top level and in many sections (`optimizer`, `activation_checkpointing`, `flops_profiler`, `aio`,
    ...) DeepSpeed fetches the keys that it knows and says nothing about the others, so a slip is a setting
    that has no effect. Only a key that is close to a known one, or that another section has, is reported:
    anything else may be read by the training script.

    Fix: the name or the section that the finding offers.

    Source: deepspeed 0.19.8 runtime/config.py:482-591 (plain look-ups, no list of known keys).
    """
    for path in islice(unread(config.values), SLIPS):
        setting = config.setting(*path)
        hint, fix = nearest(config, setting)
        if hint:
            yield Finding(setting, f"nobody reads {setting.name}{hint}", fix=unsafe(fix), on_key=True)


def unsafe(fix: Fix | None) -> Fix | None:
    """A renaming that makes a dead key live changes the run."""
    if fix is not None:
        fix.safe = False
    return fix
