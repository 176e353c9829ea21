"""What `TrainingArguments` refuses while it is built: its rows, on the values of a file."""

from __future__ import annotations

import os

from cfglint.evaluate import Unknown
from cfglint.findings.remedy import remove_key
from cfglint.findings.vocabulary import Stage
from cfglint.findings.wording import described
from cfglint.frameworks.huggingface import KIND
from cfglint.frameworks.refusal import Refusal, Words
from cfglint.frameworks.releases.versions import Version, dotted, parse_version
from cfglint.frameworks.rows.evaluation import value_at
from cfglint.frameworks.rows.refusals import Check, Plan, pages_of, unknown_field
from cfglint.frameworks.rows.table import table_of
from cfglint.source.annotations import Any, Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.huggingface.config import TrainerConfig

CONFIG: Stage = "config"
CLASS = "TrainingArguments"
OWNER_LOOKED_FOR = (4, 32)  # from here on huggingface_hub looks for an owner in push_to_hub_model_id
TRUE, FALSE = ("y", "yes", "t", "true", "on", "1"), ("n", "no", "f", "false", "off", "0")
THERE = tuple(
    f"is_{name}available"
    for name in ("", "accelerate_", "safetensors_", "torch_", "torch_bf16_gpu_", "torch_bf16_cpu_", "torch_tf32_", "torch_cuda_")
)
NOT_THERE = ("is_kubeflow_available", *(f"is_torch_{name}_available" for name in ("xla", "tpu", "npu", "xpu", "hpu", "neuron", "mps")))
# The pages for values on which Python fails.
ORDER = "not supported between instances of"
OF_FIELDS = {"fsdp": "HFT020", "fsdp_config": "HFT021", "accelerator_config": "KEY203", "torch_empty_cache_steps": "HFT008"}
_plans: dict[Version, Plan] = {}


def refusals(config: TrainerConfig) -> list[Refusal]:
    args = config.arguments
    written = {name: value for name, value in args.given.items() if name not in args.unparsed}
    for name in ("fsdp_config", "accelerator_config"):
        if isinstance(written.get(name), str):
            written[name] = unknown_field(name) if (section := config.section(name)) is None else section
    defaults = {**args.defaults, **{name: unknown_field(name) for name in args.unparsed}}
    words = Words((), {}, lambda key: args.kind_of(key) == "bool" if key in args.defaults else False)
    if config.version not in _plans:
        _plans[config.version] = Plan({CONFIG: table_of(KIND).rows(CONFIG, CLASS, config.version)})
    found = Check(_plans[config.version], written, defaults, args.unknown, facts(config), pages_of(KIND)).refusals(words)
    kept: dict[str, Refusal] = {}
    for number, refusal in enumerate(found):
        root = str(refusal.paths[0][0]) if refusal.paths else ""
        if refusal.failed:
            endless = refusal.exception.startswith("OverflowError")  # a number of steps without end
            refusal.kind = "HFT005" if endless else OF_FIELDS.get(root, refusal.kind)
            if ORDER in refusal.exception and len(refusal.paths[0]) > 1:
                value = value_at(written, refusal.paths[0])
                refusal.message, refusal.help = f"`{refusal.key}` is {described(value)}, not a number", [remove_key(refusal.key)]
        if root in OF_FIELDS and not isinstance(written.get(root), dict):  # one finding about the whole value
            refusal.paths = [(root,)]
            kept.setdefault(root, refusal)
        else:
            kept[f"{root} {number}"] = refusal
    return [*kept.values()]


def facts(config: TrainerConfig) -> Callable[..., Any]:
    """What the environment answers: a CUDA device that can do everything, and packages that are installed."""

    def answer(name: str, *arguments: Any) -> Any:
        if name == "is_accelerate_available" and arguments:
            return config.has_accelerate(parse_version(arguments[0]))
        if name in ("str_to_bool", "strtobool"):
            return truth(*arguments)
        if name in ("path expanduser", "path join"):
            return getattr(os.path, name[5:])(*arguments)
        if name == "get_full_repo_name":
            return config.version < OWNER_LOOKED_FOR or arguments[1] is not None or "/" in arguments[0]
        if name == "version":
            return dotted(config.version) if arguments[0] == "transformers" else None
        if name == "device":
            on_cpu = config.arguments["use_cpu"]
            return on_cpu if isinstance(on_cpu, Unknown) else {"type": "cpu" if on_cpu else "cuda"}
        return True if name in THERE or name.startswith("is_torch_greater_or_equal_than_") else False if name in NOT_THERE else None

    return answer


def truth(text: Any) -> bool:
    if text.lower() in (*TRUE, *FALSE):
        return text.lower() in TRUE
    raise ValueError(f"invalid truth value {text.lower()}")
