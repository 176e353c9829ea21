"""Rules about half precision in NeoXArgs."""

from __future__ import annotations

from cfglint.findings.rule import SKIP, Finding, config_error
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.derive import switched_on
from cfglint.frameworks.neox.fields import CANNOT
from cfglint.frameworks.neox.python_errors import describe
from cfglint.frameworks.neox.rules import RUN, elsewhere
from cfglint.source.annotations import Iterator


@config_error(
    "PRC300",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:967-980",
    bad="{precision: bfloat16, fp16: {enabled: true}, zero_optimization: {stage: 1}}\n",
    good="{precision: fp16, fp16: {enabled: true}}\n",
    example={**RUN, "at": "/precision"},
)
def precision_conflict(config: NeoXConfig) -> Iterator[Finding]:
    """`precision` and an enabled `fp16` or `bf16` section contradict each other.

    An enabled section must match `precision` exactly, if that is set: `fp16` matches the fp16 section, `bfloat16`
    (not `bf16`) the bf16 section. Only one of the two sections can be enabled. Any non-empty value enables a section, even the
    string "false".
    """
    precision = config.argument("precision")
    for section, needed in (("fp16", "fp16"), ("bf16", "bfloat16")):
        if not switched_on(config.argument(section)):
            continue
        if precision is None:
            precision = needed
        elif precision != needed:
            enabled = config.setting(section, "enabled")
            if config.argument("precision") is None:
                where, message = enabled, "`bf16` is incompatible with `fp16`; enable only one of them"
            else:
                where = config.setting("precision")
                message = f"`precision` is {describe(precision)}, but the enabled `{section}` section requires {needed}"
            yield Finding(
                where,
                message,
                related=(enabled,) if where is not enabled else (config.setting("fp16", "enabled"),),
                exception=f"AssertionError: DeepSpeed {section} field was set but precision conflicts",
                help=f"set `precision: {needed}`, or remove `{section}`"
                if where is not enabled
                else "set `bf16.enabled: false`, or set `fp16.enabled: false`",
            )


@config_error(
    "PRC301",
    old_names=("bfloat16-needs-zero-section",),
    when_partial=SKIP,
    raises="TypeError: 'NoneType' object is not subscriptable",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:999",
    bad="{precision: bfloat16}\n",
    good="{precision: bfloat16, zero_optimization: {stage: 0}}\n",
    example=RUN,
)
def bfloat16_without_zero_section(config: NeoXConfig) -> Iterator[Finding]:
    """bfloat16 requires a `zero_optimization` section.

    The code that warns about bfloat16 with ZeRO reads the section before its default is set.
    """
    if config.derived.precision == "bfloat16" and config.argument("zero_optimization") is None:
        name = "precision" if "precision" in config.values else "bf16"
        message = "bfloat16 requires a `zero_optimization` section"
        yield Finding(config.setting(name), message, help="add `zero_optimization: {stage: 0}`")


@config_error(
    "PRC302",
    old_names=("half-cross-entropy-needs-fp16",),
    raises="ValueError: NeoXArgs.validate_values() lm cross entropy in fp16 only support in fp16 mode.",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1314",
    bad="{fp16_lm_cross_entropy: true, precision: fp32}\n",
    good="{fp16_lm_cross_entropy: true, precision: fp16}\n",
    example={**RUN, "at": "/fp16_lm_cross_entropy"},
)
def fp16_cross_entropy_without_fp16(config: NeoXConfig) -> Iterator[Finding]:
    """`fp16_lm_cross_entropy` requires fp16."""
    if not config.argument("fp16_lm_cross_entropy") or config.derived.precision == "fp16":
        return
    if "precision" in config.values or not elsewhere(config, "fp16"):
        message = f"`fp16_lm_cross_entropy` requires fp16, but the precision is {config.derived.precision}"
        yield Finding(config.setting("fp16_lm_cross_entropy"), message, help="set `fp16_lm_cross_entropy: false`")


@config_error(
    "NEO011",
    raises=CANNOT,
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1464-1475, 982-987",
    bad="{fp16: {loss_scale: 0}}\n",
    good="{fp16: {enabled: true, loss_scale: 0}}\n",
    example={**RUN, "at": "/fp16"},
)
def section_without_enabled(config: NeoXConfig) -> Iterator[Finding]:
    """A `fp16`, `amp` or `flops_profiler` section has no `enabled`.

    With `precision: fp16` the fp16 section is enabled automatically and the key is optional.
    """
    for name in ("fp16", "amp", "flops_profiler"):
        section = config.argument(name)
        if not isinstance(section, dict) or "enabled" in section:
            continue
        if name == "fp16" and (config.derived.precision == "fp16" or elsewhere(config, "precision")):
            continue
        yield Finding(
            config.setting(name),
            f"`{name}.enabled` is missing; it is required",
            help=f"set `{name}.enabled: true`, or set `{name}.enabled: false`",
        )
