"""The rows of transformers: `TrainingArguments.__post_init__` with what it calls, but for what it hands to DeepSpeed's integration."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import schema_source
from extract_rows import rows_of
from history_rows import Release
from row_expressions import walk
from row_sources import Package
from row_table_text import Function, Table

from cfglint.frameworks.huggingface.checks import truth
from cfglint.frameworks.huggingface.fields import HISTORY, SECTION
from cfglint.frameworks.huggingface.source_fields import find
from cfglint.frameworks.rows.evaluation import cannot_fail

PACKAGE = "transformers"
CONFIG, POST_INIT, CLASS = "config", "__post_init__", "TrainingArguments"
METHODS = {CONFIG: POST_INIT}  # what `compare_rows.py` calls
INSTALLED = True  # what it calls needs torch
FIXED = ("deepspeed", "push_to_hub_model_id", "push_to_hub_organization", "push_to_hub_token")  # read files, or ask the hub
NAME_FILES = ("accelerator_config", "fsdp_config")  # a string in these is the name of a file, whose content rows get
ANSWERS: dict[str, Any] = {  # what the environment answers there
    **dict.fromkeys(
        """is_accelerate_available is_available is_safetensors_available is_torch_available is_torch_bf16_cpu_available
        is_torch_bf16_gpu_available is_torch_cuda_available is_torch_tf32_available""".split(),
        True,
    ),
    **dict.fromkeys(
        """is_kubeflow_available is_sagemaker_dp_enabled is_sagemaker_mp_enabled is_torch_hpu_available is_torch_mps_available
        is_torch_neuron_available is_torch_npu_available is_torch_tpu_available is_torch_xla_available is_torch_xpu_available
        torch.version.hip""".split(),
        False,
    ),
    "default_logdir": "runs",
    "device": {"type": "cuda"},
    "str_to_bool": truth,
    "strtobool": truth,
}
FACTS = "device _setup_devices world_size get_available_reporting_integrations default_logdir".split()
GIVEN: dict[str, Any] = {**dict.fromkeys(FACTS, "fact"), "self.framework": "pt", "_convert_str_dict": "same"}
SHARDING = ["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"]
CONSTANTS = {  # of accelerate, the same in all releases
    "FSDP_SHARDING_STRATEGY": SHARDING,
    "FSDP_AUTO_WRAP_POLICY": ["TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"],
}
NODES = {name: ast.parse(repr(values), mode="eval").body for name, values in CONSTANTS.items()}
READ = ("training_args.py", "trainer_utils.py", "trainer_pt_utils.py", "debug_utils.py", "utils/generic.py", "utils/import_utils.py")
ELSEWHERE = ("deepspeed_plugin", "hf_deepspeed_config")  # fields that only the integration of DeepSpeed reads


class Accelerate:
    """In the place of accelerate, of which only constants count."""

    def imported(self, base: str, what: str | None, depth: int = 0) -> tuple[Any, Any]:
        """What a name of it is."""
        return (NODES[what], None) if what in NODES else (f"{base}.{what}" if what else base, None)


def table(folders: Mapping[Release, Path]) -> Table:
    """The rows of all releases; those of a release whose files are the same as before are the same."""
    made, known = Table(), dict[str, list[Function]]()
    for version, folder in sorted(folders.items()):
        root = find(folder).root
        text = "".join((root / name).read_text(encoding="utf-8") for name in READ if (root / name).exists())
        if text not in known:
            known = {text: [*functions(folder)]}
        made.add(version, known[text])
    return made


def functions(folder: Path) -> Iterator[Function]:
    """The functions of a release."""
    package = Package(str(find(folder).root.parent), PACKAGE)
    package.others["accelerate"] = Accelerate()  # type: ignore[assignment]
    module = package.module("transformers.training_args")
    definition = module.names[CLASS]
    found = next(each for each in definition.body if isinstance(each, ast.FunctionDef) and each.name == POST_INIT)
    yield Function(CLASS, CONFIG, "", kept(rows_of(package, module, found, (definition, module), given=GIVEN)[0]))


def kept(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows that decide something: none for what is logged, but for a condition that may fail, and what the parser has parsed already."""
    return [
        {"when": row["when"], "try": None} if "warn" in row else row
        for row in rows
        if not row.keys() & {"first", "todo"}
        and not ("warn" in row and all(map(cannot_fail, row["when"])))
        and row.get("set") not in ELSEWHERE
        and not any(isinstance(each, list) and each[:1] == ["parsed"] for part in row.values() for each in walk(part))
    ]


def original(sources: Any, name: str, folder: Path) -> Any:
    """The class."""
    return getattr(sources.module("transformers.training_args"), name, None)


def defaults(name: str, release: str) -> dict[str, Any]:
    """The fields of an object that `compare_rows.py` begins with."""
    return {name: row[2] for name, row in HISTORY.fields(SECTION, schema_source.release(release)).items()}
