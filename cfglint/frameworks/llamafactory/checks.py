"""What LLaMA-Factory's classes, `get_train_args` and the loader of the model refuse: their rows, on the values of a file."""

from __future__ import annotations

import functools

from cfglint.frameworks.huggingface import KIND as LIBRARY
from cfglint.frameworks.huggingface.arguments import EVALUATES
from cfglint.frameworks.llamafactory import KIND
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.refusal import Refusal, Words
from cfglint.frameworks.releases.history import DEFAULT, TYPE
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.rows.refusals import PROCESSES, Check, Plan, pages_of
from cfglint.frameworks.rows.table import table_of
from cfglint.source.annotations import Any, Callable

CLASSES = ("ModelArguments", "DataArguments", "TrainingArguments", "FinetuningArguments")  # in the order in which they are built
QUANTIZED = "quantization_config"  # of the model's config.json
PARALLEL = "parallel_mode"
KEPT = ("stage", "dataset", "model_name_or_path", "do_train", "quantization_bit", "streaming")


@functools.cache
def plan(release: Version, library: Version) -> Plan:
    names = (*(("class", name) for name in CLASSES), ("parser", "get_train_args"))
    before = (row for row in table_of(LIBRARY).rows("config", "TrainingArguments", library) if row.get("set") == "output_dir")
    return Plan(
        {
            "config": [*EVALUATES, *before, *(row for stage, name in names for row in table_of(KIND).rows(stage, name, release))],
            "init": table_of(KIND).rows("model", "configure_quantization", release),
        }
    )


ONE_PROCESS = "ParallelMode.NOT_PARALLEL", "ParallelMode.NOT_DISTRIBUTED"  # on one GPU and on several


def refusals(config: LlamaFactoryConfig) -> list[Refusal]:
    args, fields = config.arguments, config.own_fields
    launched = config.launched
    one_process = PROCESSES if launched is None or config.world_size is None else ONE_PROCESS[config.world_size > 1]
    mode = "ParallelMode.DISTRIBUTED" if launched else one_process
    defaults = {**args.defaults, **{name: row[DEFAULT] for name, row in fields.items()}, PARALLEL: mode}
    defaults[QUANTIZED] = config.quantization_of_model()[0]
    written = {**args.given, **{name: value for name, value in config.values.items() if name in fields}}
    (written if "report_to" in written else defaults)["report_to"] = args.trackers
    words = Words(KEPT, {(PARALLEL,): None, (QUANTIZED,): None}, lambda key: key in fields and "bool" in str(fields[key][TYPE]))
    varying = (PARALLEL, QUANTIZED, "report_to", *args.unknown)
    return Check(plan(config.own_version, config.version), written, defaults, varying, facts(config), pages_of(KIND)).refusals(words)


def facts(config: LlamaFactoryConfig) -> Callable[..., Any]:
    def answer(name: str, *arguments: Any) -> Any:
        if name == "constant":
            return arguments[0]
        if name == "version":
            return dotted(config.version) if arguments[0] == "transformers" else None
        return {
            "is_deepspeed_zero3_enabled": config.zero3,
            "is_env_enabled": False,
            "is_fsdp_enabled": config.loads_once,
            "is_torch_bf16_gpu_available": True,
            "is_torch_npu_available": False,
        }.get(name)

    return answer
