"""What Megatron-SWIFT refuses of its arguments before it trains: the rows of its classes, then what Megatron-core and Megatron-LM check."""

from __future__ import annotations

import re

from cfglint.frameworks.huggingface import PACKAGE as TRANSFORMERS
from cfglint.frameworks.megatron_swift.batch import data_parallel
from cfglint.frameworks.megatron_swift.config import MegatronSwiftConfig
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.swift import LIBRARY
from cfglint.frameworks.swift.checks import mappings, of_model, refused
from cfglint.frameworks.swift.fields import libraries
from cfglint.source.annotations import Iterator

SIZES, CONFLICT = "SWM002", "SWM003"
LAYOUT, MOST_LAYERS = "pipeline_model_parallel_layout", 10_000
# What is no name of libraries: of megatron-core's AttnBackend (from ms-swift 4.6 on flash_2 and its likes, too), of a type of torch.
NO_NAMES = {
    "attention_backend": (
        re.compile(r"(?!(?:flash|fused|unfused|local|auto)$|flash_)"),
        "KeyError: '{}'",
        "flash, fused, unfused, local or auto",
    ),
    "torch_dtype": (
        re.compile(r"(?:(?:bf|fp)\d+|auto)$|.*\W"),
        "AttributeError: module 'torch' has no attribute '{}'",
        "bfloat16 or float16",
    ),
}
SIZE_KEYS = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")


def failed(config: MegatronSwiftConfig) -> Iterator[Refusal]:
    """What the rows refuse; GPUs that are not those of complete copies of the model, which Megatron-core checks; a global batch that is not
    of complete micro batches of all copies, which Megatron-LM checks before ms-swift 4.0.
    """
    newest = libraries(config.own_version)
    releases = {name: config.facts.version(name, newest[name]) for name in (TRANSFORMERS, LIBRARY)}
    yield from refused(config, (f"megatron-{config.command}",), config.facts.gpus, releases)
    yield from mappings(config, kind=CONFLICT)
    yield from of_model(config, CONFLICT)
    yield from layout(config)
    for name, (no_name, text, names) in NO_NAMES.items():
        if isinstance(value := config.own(name), str) and no_name.match(value):
            message = f"`{name}` is {value}, which does not exist"
            yield Refusal(CONFLICT, [name], message, text.format(value), [f"set `--{name}` to {names}"])
    gpus, model = config.facts.gpus, config.model_size
    if gpus and model and gpus % model:
        written = [name for name in SIZE_KEYS if name in config.values]
        message = f"{gpus} processes are not a multiple of tensor x pipeline x context parallel size ({model})"
        text = f"RuntimeError: world_size ({gpus}) is not divisible by {model}"
        yield Refusal(SIZES, written, message, text, ["choose sizes whose product divides the number of processes"])
    micro, total, replicas = config.integer("micro_batch_size"), config.integer("global_batch_size"), data_parallel(config)
    if config.own_version < (4,) and micro and micro > 0 and total is not None and replicas and total % (micro * replicas):
        text = f"global batch size ({total}) is not divisible by micro batch size ({micro}) times data parallel size ({replicas})"
        message = f"`global_batch_size` ({total}) is not a multiple of micro batch x data parallel ({micro * replicas})"
        remedy = [f"set `--global_batch_size` to a multiple of {micro * replicas}"]
        yield Refusal(SIZES, ["global_batch_size", "micro_batch_size"], message, f"AssertionError: {text}", remedy)


def layout(config: MegatronSwiftConfig) -> Iterator[Refusal]:
    """The stages of a pipeline, as megatron-core reads them (transformer/pipeline_parallel_layer_layout.py: parse_str_to_list)."""
    text, stages = config.own(LAYOUT), config.integer("pipeline_model_parallel_size")
    if not isinstance(text, str):
        return
    unrolled = text.replace(",", "")
    for repeated in (r"\(([^)]+)\)\*(\d+)", r"(.)\*(\d+)"):
        unrolled = re.sub(repeated, lambda found: found[1] * min(int(found[2]), MOST_LAYERS), unrolled)
    if wrong := re.search(r"[^ELtm|]", unrolled):
        message = f"`{LAYOUT}` has the layer {wrong[0]!r}"
        remedy = ["use the layers E (embedding), t (decoder), m (MTP) and L (loss), with | between stages"]
        yield Refusal(CONFLICT, [LAYOUT], message, f"AssertionError: Invalid layer character: {wrong[0]} (stage=", remedy)
    elif stages and (count := unrolled.count("|") + 1) % stages:
        message = f"`{LAYOUT}` has {count} stages, not a multiple of `pipeline_model_parallel_size` ({stages})"
        exception = "AssertionError: The length of pipeline_model_parallel_layout must be divisible by pipeline_model_parallel_size"
        yield Refusal(CONFLICT, [LAYOUT, "pipeline_model_parallel_size"], message, exception, ["change one of them"])
