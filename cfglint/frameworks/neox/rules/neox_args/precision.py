"""Rules about half precision in NeoXArgs."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.derive import switched_on
from cfglint.frameworks.neox.python_errors import describe
from cfglint.frameworks.neox.rules import elsewhere
from cfglint.source.annotations import Iterator


@rule("PRC300")
def precision_conflict(config: NeoXConfig) -> Iterator[Finding]:
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
                help=(set_key("precision", needed) | remove_key(section))
                if where is not enabled
                else (set_key("bf16.enabled", False) | set_key("fp16.enabled", False)),
            )


@rule("PRC301")
def bfloat16_without_zero_section(config: NeoXConfig) -> Iterator[Finding]:
    if config.derived.precision == "bfloat16" and config.argument("zero_optimization") is None:
        name = "precision" if "precision" in config.values else "bf16"
        message = "bfloat16 requires a `zero_optimization` section"
        yield Finding(config.setting(name), message, [config.absent("zero_optimization")], help=set_key("zero_optimization", {"stage": 0}))


@rule("PRC302")
def fp16_cross_entropy_without_fp16(config: NeoXConfig) -> Iterator[Finding]:
    if not config.argument("fp16_lm_cross_entropy") or config.derived.precision == "fp16":
        return
    if "precision" in config.values or not elsewhere(config, "fp16"):
        message = f"`fp16_lm_cross_entropy` requires fp16, but the precision is {config.derived.precision}"
        yield Finding(config.setting("fp16_lm_cross_entropy"), message, help=set_key("fp16_lm_cross_entropy", False))


@rule("NEO011")
def section_without_enabled(config: NeoXConfig) -> Iterator[Finding]:
    for name in ("fp16", "amp", "flops_profiler"):
        section = config.argument(name)
        if not isinstance(section, dict) or "enabled" in section:
            continue
        if name == "fp16" and (config.derived.precision == "fp16" or elsewhere(config, "precision")):
            continue
        yield Finding(
            config.setting(name),
            f"`{name}.enabled` is missing; it is required",
            help=set_key(f"{name}.enabled", True) | set_key(f"{name}.enabled", False),
        )
