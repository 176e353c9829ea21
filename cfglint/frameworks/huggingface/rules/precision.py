"""Half precision: incompatible settings."""

from __future__ import annotations

from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import of
from cfglint.frameworks.remedies import excludes, one_off
from cfglint.source.annotations import Iterator

ONE_OF_THEM = "; enable only one of them"


@rule("PRC200")
def fp16_with_bf16(config: TrainerConfig) -> Iterator[Finding]:
    if config.arguments["fp16"] and config.arguments["bf16"]:
        yield excludes(of(config, "fp16"), of(config, "bf16"), one_off("fp16", "bf16"), ONE_OF_THEM)


@rule("PRC201")
def fp16_eval_with_bf16_eval(config: TrainerConfig) -> Iterator[Finding]:
    if config.arguments["fp16_full_eval"] and config.arguments["bf16_full_eval"]:
        remedy = one_off("fp16_full_eval", "bf16_full_eval")
        yield excludes(of(config, "fp16_full_eval"), of(config, "bf16_full_eval"), remedy, ONE_OF_THEM)


@rule("PRC202")
def bf16_with_apex(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    if not args["bf16"]:
        return
    old = args["fp16_backend"]
    name = "fp16_backend" if old and old != "auto" else "half_precision_backend"
    if args[name] == "apex":
        yield Finding(
            of(config, name),
            f"`{name}: apex` does not support bf16",
            related=(of(config, "bf16"),),
            help=f"remove `{name}`, or set `fp16: true` and `bf16: false`",
        )
