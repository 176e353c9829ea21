"""The checks that Megatron-SWIFT makes of its arguments before it builds a trainer, in the order in which a run reaches them.

Source: ms-swift 4.6.0 megatron/arguments/megatron_args.py:843-1015, sft_args.py; the releases are those whose source has the check.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import set_key
from cfglint.frameworks.megatron_swift.batch import data_parallel
from cfglint.frameworks.megatron_swift.config import MegatronSwiftConfig
from cfglint.frameworks.refusal import Refusal
from cfglint.source.annotations import Iterator

INPUT, SIZES, OPTIONS = "SWM001", "SWM002", "SWM003"
MODEL_NAMED = Releases((4, 5, 3))
OWN_TRAINER = Releases((4,))  # before, Megatron-LM checks its arguments
GROUPED = Releases((4, 0, 1))
SIZE_KEYS = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")


def failed(config: MegatronSwiftConfig) -> list[Refusal]:
    """The checks that fail."""
    return [each for check in CHECKS for each in check(config)]


def inputs(config: MegatronSwiftConfig) -> Iterator[Refusal]:
    """The model and the data that every run needs."""
    sources = [
        name for name in ("model", "mcore_model", "mcore_adapter", "adapters", "load", "resume_from_checkpoint") if name in config.known
    ]
    if not config.is_whole or (config.own("load_args") and any(name in config.values for name in sources[1:])):
        return
    if not any(name in config.values for name in sources):
        end = "" if config.own_version in MODEL_NAMED else "`"
        text = f"ValueError: Please set --model <model_id_or_path>{end}, model: None"
        yield Refusal(INPUT, ["model"], "`--model` is missing", text, ["give `--model` a model id or a path"])
    data = [name for name in ("dataset", "cached_dataset") if name in config.known]
    if not any(name in config.values for name in data):
        text = "ValueError: self.dataset: [], self.cached_dataset: []. Please input the training dataset."
        if "cached_dataset" not in config.known:
            text = "ValueError: self.dataset: [], Please input the training dataset."
        yield Refusal(INPUT, ["dataset"], "`--dataset` is missing", text, ["give `--dataset` an id or a path"])


def options(config: MegatronSwiftConfig) -> Iterator[Refusal]:
    """Options that exclude each other."""
    if config.own_version not in OWN_TRAINER:
        return
    if config.own("recompute_granularity") == "selective" and config.own("recompute_method") is not None:
        text = "ValueError: recompute method is not yet supported for selective recomputing granularity"
        message = "`recompute_method` requires `recompute_granularity full`"
        yield Refusal(OPTIONS, ["recompute_method", "recompute_granularity"], message, text, [set_key("recompute_granularity", "full")])
    if config.own("group_by_length") and config.own("padding_free") and config.own_version in GROUPED:
        text = "ValueError: group_by_length is not compatible with padding_free."
        message = "`group_by_length` requires `padding_free false`"
        yield Refusal(OPTIONS, ["group_by_length", "padding_free"], message, text, [set_key("padding_free", False)])
    limit = config.own("save_total_limit")
    if limit is not None and config.own("async_save"):
        text = "ValueError: async_save is not supported with save_total_limit."
        message = "`async_save` is incompatible with `save_total_limit`"
        yield Refusal(OPTIONS, ["async_save", "save_total_limit"], message, text, ["remove one of them"])
    elif isinstance(limit, int) and limit < 2:
        text = "ValueError: save_total_limit must be greater than or equal to 2."
        yield Refusal(
            OPTIONS, ["save_total_limit"], f"`save_total_limit` is {limit}; it must be at least 2", text, [set_key("save_total_limit", 2)]
        )
    needed = [] if config.own("sequence_parallel") else ["`--sequence_parallel true`"]
    needed += [] if (config.integer(SIZE_KEYS[0]) or 1) > 1 else [f"`--{SIZE_KEYS[0]}` to 2 or more"]
    if config.own("tp_comm_overlap") and needed:
        text = "ValueError: Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is enabled"
        message = "`tp_comm_overlap` requires `sequence_parallel` and a tensor-parallel size above 1"
        yield Refusal(OPTIONS, ["tp_comm_overlap"], message, text, [f"set {' and '.join(needed)}"])


def sizes(config: MegatronSwiftConfig) -> Iterator[Refusal]:
    """The processes against the GPUs of one copy of the model, and the global batch against one micro batch of all copies."""
    gpus, model = config.facts.gpus, config.model_size
    if gpus and model and gpus % model:
        written = [name for name in SIZE_KEYS if name in config.values]
        message = f"{gpus} processes are not a multiple of tensor x pipeline x context parallel size ({model})"
        text = f"RuntimeError: world_size ({gpus}) is not divisible by {model}"
        yield Refusal(SIZES, written, message, text, ["choose sizes whose product divides the number of processes"])
        return
    micro, total, replicas = config.integer("micro_batch_size"), config.integer("global_batch_size"), data_parallel(config)
    if micro is None or total is None or not replicas or micro < 1:
        return
    if total % (micro * replicas):
        text = f"global batch size ({total}) is not divisible by micro batch size ({micro}) times data parallel size ({replicas})"
        error = f"ValueError: {text}." if config.own_version in OWN_TRAINER else f"AssertionError: {text}"
        message = f"`global_batch_size` ({total}) is not a multiple of micro batch x data parallel ({micro * replicas})"
        remedy = [f"set `--global_batch_size` to a multiple of {micro * replicas}"]
        yield Refusal(SIZES, ["global_batch_size", "micro_batch_size"], message, error, remedy)


CHECKS = (inputs, options, sizes)
