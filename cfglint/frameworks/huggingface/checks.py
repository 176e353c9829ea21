"""What `TrainingArguments` refuses while it is built: its rows, on the values of a file."""

from __future__ import annotations

import functools
import os

from cfglint.frameworks.huggingface import KIND
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.row_reasons import Words
from cfglint.frameworks.row_refusals import Check, Pages, Plan
from cfglint.frameworks.row_table import Table
from cfglint.frameworks.unknown import Unknown
from cfglint.frameworks.versions import Version, dotted, parse_version
from cfglint.source.annotations import Any, Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage
    from cfglint.frameworks.huggingface.config import TrainerConfig

CONFIG: Stage = "config"
CLASS = "TrainingArguments"
TRUE, FALSE = ("y", "yes", "t", "true", "on", "1"), ("n", "no", "f", "false", "off", "0")
KEPT = ("fsdp", "save_strategy")
# The keys at which findings are, where it is not the first one that the message names.
PLACES: dict[str, tuple[str, ...]] = {}
OF_SECTIONS = {"fsdp": "HFT020", "fsdp_config": "HFT021", "accelerator_config": "KEY203"}  # the pages for values on which Python fails


@functools.cache
def table() -> Table:
    """The checks of transformers as rows."""
    return Table(os.path.join(os.path.dirname(__file__), "rows.json"))


@functools.cache
def pages() -> Pages:
    """The pages of transformers' checks."""
    return Pages(KIND)


@functools.cache
def plan(release: Version) -> Plan:
    """The rows of a release."""
    return Plan({CONFIG: table().rows(CONFIG, CLASS, release)})


def refusals(config: TrainerConfig) -> list[Refusal]:
    """Every refusal."""
    args = config.arguments
    written = {name: value for name, value in args.given.items() if name not in args.unparsed}
    for name in ("fsdp_config", "accelerator_config"):
        if isinstance(written.get(name), str):
            written[name] = Unknown((name,)) if (section := config.section(name)) is None else section
    defaults = {**args.defaults, **{name: Unknown((name,)) for name in (*args.undecided, *args.unparsed)}}
    words = Words(KEPT, {}, lambda key: args.kind_of(key) == "bool" if key in args.defaults else False, PLACES)
    found = Check(plan(config.version), written, defaults, args.undecided, facts(config), pages()).refusals(words)
    for refusal in found:
        if refusal.failed and refusal.paths:
            refusal.kind = OF_SECTIONS.get(str(refusal.paths[0][0]), refusal.kind)
    return found


def facts(config: TrainerConfig) -> Callable[..., Any]:
    """What the environment answers: a CUDA device that can do everything, and packages that are installed."""

    def answer(name: str, *arguments: Any) -> Any:
        if name == "is_accelerate_available" and arguments:
            return config.has_accelerate(parse_version(arguments[0]))
        if name in ("str_to_bool", "strtobool"):
            return truth(*arguments)
        if name.startswith("is_torch_greater_or_equal_than_"):
            return True
        if name == "path expanduser":
            return os.path.expanduser(*arguments)
        if name == "path join":
            return os.path.join(*arguments)
        if name == "get_full_repo_name":
            return "/" in arguments[0]
        if name == "version":
            return dotted(config.version) if arguments[0] == "transformers" else None
        return {
            "is_accelerate_available": True,
            "is_torch_available": True,
            "is_torch_bf16_gpu_available": True,
            "is_torch_tf32_available": True,
            "is_torch_cuda_available": True,
            "is_torch_bf16_cpu_available": True,
            "is_available": True,
            "is_safetensors_available": True,
            "is_torch_xla_available": False,
            "is_torch_tpu_available": False,
            "is_torch_npu_available": False,
            "is_torch_xpu_available": False,
            "is_torch_hpu_available": False,
            "is_torch_neuron_available": False,
            "is_torch_mps_available": False,
            "is_kubeflow_available": False,
            "device": {"type": "cuda"},
        }.get(name)

    return answer


def truth(text: Any) -> bool:
    """The value that a word of a boolean has for accelerate and transformers."""
    if text.lower() in (*TRUE, *FALSE):
        return text.lower() in TRUE
    raise ValueError(f"invalid truth value {text.lower()}")
