"""Rules about arguments that ms-swift silently ignores or replaces."""

from __future__ import annotations

from cfglint.findings.rule import Finding, info, warning
from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.frameworks.swift.rules import BASE, LINE
from cfglint.source.annotations import Iterator

EVALUATION = ("eval_strategy", "eval_steps", "load_best_model_at_end")


@warning(
    "SWF050",
    source="ms-swift 4.6.0 arguments/sft_args.py:231",
    bad=f"{BASE} --eval_strategy epoch\n",
    good=f"{BASE} --eval_strategy epoch --split_dataset_ratio 0.01\n",
    example=LINE,
)
def no_evaluation_set(config: SwiftConfig) -> Iterator[Finding]:
    """An evaluation is asked for, and there is no evaluation set: ms-swift sets `eval_strategy` to `no`, whatever is written.

    `split_dataset_ratio` is 0 by default (0.01 before 3.6).
    """
    written = config.values.get("eval_strategy")
    if written in ("steps", "epoch") and config.arguments.known("eval_strategy") and config.arguments.eval_strategy == "no":
        yield Finding(
            config.setting("eval_strategy"),
            f"`eval_strategy {written}` has no effect: there is no evaluation set",
            note="ms-swift sets it to `no`",
            help="give `--val_dataset`, or set `--split_dataset_ratio 0.01`",
        )


@warning(
    "SWF051",
    source="ms-swift 4.6.0 arguments/base_args/quant_args.py:47",
    bad=f"{BASE} --quant_bits 4\n",
    good=f"{BASE} --quant_bits 4 --quant_method bnb\n",
    example=LINE,
)
def quantization_without_method(config: SwiftConfig) -> Iterator[Finding]:
    """`quant_bits` alone quantizes nothing: without `quant_method` the weights are loaded as they are."""
    if config.values.get("quant_bits") and config.arguments.known("quant_method") and config.own("quant_method") is None:
        yield Finding(
            config.setting("quant_bits"),
            "`quant_bits` has no effect without `quant_method`: the weights are not quantized",
            help="set `--quant_method bnb`, or remove `--quant_bits`",
        )


@warning(
    "SWF052",
    source="ms-swift 4.6.0 arguments/base_args/model_args.py:130",
    bad=f"{BASE} --torch_dtype float32\n",
    good=f"{BASE} --torch_dtype bfloat16\n",
    example=LINE,
)
def float32_trains_in_fp16(config: SwiftConfig) -> Iterator[Finding]:
    """`torch_dtype float32` switches on fp16 mixed precision, as `float16` does."""
    if config.values.get("torch_dtype") == "float32" and "fp16" not in config.values and "bf16" not in config.values:
        yield Finding(
            config.setting("torch_dtype"),
            "`torch_dtype float32` trains with fp16 mixed precision",
            help="set `--torch_dtype bfloat16`, or add `--fp16 false`",
        )


@info(
    "SWF053",
    source="ms-swift 4.6.0 utils/env.py:64-76",
    bad=f"CUDA_VISIBLE_DEVICES=0,1,2,3 {BASE}\n",
    good=f"CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=4 {BASE}\n",
    example=LINE,
)
def model_spread_over_gpus(config: SwiftConfig) -> Iterator[Finding]:
    """Several GPUs are visible to each process: they share one copy of the model, and do not train on different samples."""
    if config.is_spread and config.devices is not None and not any(each.kind == "SWF012" for each in config.failing):
        seen, local = config.devices
        message = (
            f"{seen} GPUs are visible to {local} {'processes' if local > 1 else 'process'}: the model is spread over {seen // local} GPUs"
        )
        yield Finding(
            config.devices_setting,
            message,
            note=f"data parallel is {local}",
            help=f"set `NPROC_PER_NODE={seen}` to train on {seen} samples at once",
        )
