"""What Megatron-SWIFT refuses of its arguments before it trains: the rows of its classes, then what Megatron-core and Megatron-LM check."""

from __future__ import annotations

from cfglint.frameworks.huggingface import PACKAGE as TRANSFORMERS
from cfglint.frameworks.megatron_swift.batch import data_parallel
from cfglint.frameworks.megatron_swift.config import MegatronSwiftConfig
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.swift import LIBRARY
from cfglint.frameworks.swift.checks import refused
from cfglint.frameworks.swift.fields import libraries
from cfglint.source.annotations import Iterator

SIZES = "SWM002"
SIZE_KEYS = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")


def failed(config: MegatronSwiftConfig) -> Iterator[Refusal]:
    """What the rows refuse; GPUs that are not those of complete copies of the model, which Megatron-core checks; a global batch that is not
    of complete micro batches of all copies, which Megatron-LM checks before ms-swift 4.0.
    """
    newest = libraries(config.own_version)
    releases = {name: config.facts.version(name, newest[name]) for name in (TRANSFORMERS, LIBRARY)}
    yield from refused(config, (f"megatron-{config.command}",), config.facts.gpus, releases)
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
