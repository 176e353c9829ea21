"""Rules about arguments that ms-swift silently ignores or replaces."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import counted
from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.source.annotations import Iterator


@rule("SWF050")
def no_evaluation_set(config: SwiftConfig) -> Iterator[Finding]:
    written = config.values.get("eval_strategy")
    if written in ("steps", "epoch") and config.arguments.known("eval_strategy") and config.arguments.eval_strategy == "no":
        message = f"`eval_strategy {written}` has no effect: there is no evaluation set"
        remedy = "give `--val_dataset`" | set_key("split_dataset_ratio", 0.01)
        yield Finding(config.setting("eval_strategy"), message, note="ms-swift sets it to `no`", help=remedy)


@rule("SWF051")
def quantization_without_method(config: SwiftConfig) -> Iterator[Finding]:
    if config.values.get("quant_bits") and config.arguments.known("quant_method") and config.own("quant_method") is None:
        message = "`quant_bits` has no effect without `quant_method`: the weights are not quantized"
        yield Finding(config.setting("quant_bits"), message, help=set_key("quant_method", "bnb") | remove_key("quant_bits"))


@rule("SWF052")
def float32_trains_in_fp16(config: SwiftConfig) -> Iterator[Finding]:
    if config.values.get("torch_dtype") == "float32" and "fp16" not in config.values and "bf16" not in config.values:
        message = "`torch_dtype float32` trains with fp16 mixed precision"
        yield Finding(config.setting("torch_dtype"), message, help=set_key("torch_dtype", "bfloat16") | set_key("fp16", False))


@rule("SWF053")
def model_spread_over_gpus(config: SwiftConfig) -> Iterator[Finding]:
    if config.is_spread and config.devices is not None and not any(refusal.kind == "SWF012" for refusal in config.refusals):
        seen, local = config.devices
        message = f"{seen} GPUs are visible to {counted(local, 'process')}: the model is spread over {seen // local} GPUs"
        remedy = set_key("NPROC_PER_NODE", seen, f" to train on {seen} samples at once")
        yield Finding(config.devices_setting, message, note=f"data parallel is {local}", help=remedy)
