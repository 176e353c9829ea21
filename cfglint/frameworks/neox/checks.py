"""What `NeoXArgs` refuses while it derives and checks its values: its rows, on the merged files."""

from __future__ import annotations

import re

from cfglint.findings.remedy import set_key
from cfglint.findings.vocabulary import Stage
from cfglint.findings.wording import spelled
from cfglint.frameworks.neox import KIND, NEWEST
from cfglint.frameworks.neox._tables import FIELDS
from cfglint.frameworks.neox.config import NeoXConfig, expand
from cfglint.frameworks.neox.fields import default, describe
from cfglint.frameworks.refusal import Refusal, Words
from cfglint.frameworks.releases.versions import parse_version
from cfglint.frameworks.rows.expressions import Raised
from cfglint.frameworks.rows.refusals import Check, Plan, pages_of, unknown_field
from cfglint.frameworks.rows.table import table_of
from cfglint.source import cached
from cfglint.source.annotations import Any

CONFIG: Stage = "config"
CLASS = "NeoXArgs"
STAGE, ATTENTION, HEADS, SIZES = "NEO012", "NEO020", "NEO022", "NEO023"
MISSING_SIZE, RATE, DATA, PRECISIONS, NO_SECTION = "NEO024", "NEO025", "NEO026", "PRC300", "PRC301"
LISTS = ("train_data_paths", "valid_data_paths", "test_data_paths")
PRECISION = ("precision", "bf16", "zero_optimization")
LENGTH = "Length of attention config list"
# What rules about the batch check, with what the launch decides.
BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "global_num_gpus")
CONSTANT = ("deepspeed",)  # without it nothing is checked, and a rule refuses that
MOST_LAYERS = 10_000
KEPT = ("num_layers", "hidden_size", "seq_length", "attention_config", "train_data_paths", "optimizer", "train_iters")
# The pages of values on which Python fails, where these have the type of the field.
OF_FIELDS = {
    "zero_optimization": "NEO012",
    "attention_config": "NEO020",
    "num_layers": "NEO020",
    "num_kv_heads": "NEO022",
    **{f"{split}_data_{part}": "NEO026" for split in ("train", "valid", "test") for part in ("paths", "weights")},
}


@cached
def plan() -> Plan:
    return Plan({CONFIG: table_of(KIND).rows(CONFIG, CLASS, parse_version(NEWEST))})


def refusals(config: NeoXConfig) -> list[Refusal]:
    written = {name: value for name, value in config.values.items() if name in FIELDS and name not in (*BATCH, *CONSTANT)}
    defaults = {name: unknown_field(name) if name in BATCH else default(name) for name in FIELDS}
    words = Words(KEPT, {(name,): "" for name in CONSTANT}, lambda key: key in FIELDS and FIELDS[key][0] == "bool")
    found: list[Refusal] = []
    for refusal in Check(plan(), written, defaults, BATCH, facts, pages_of(KIND)).refusals(words):
        if refusal.failed and not is_of_field(config, refusal):
            continue
        worded(config, refusal)
        if not (config.own_attention_kinds and " not recognized" in refusal.exception):
            found.append(refusal)
    own, attention = config.own_attention_kinds, config.derived.attention  # of the project's own copy of GPT-NeoX
    for kind in attention.kinds if own and attention is not None else ():
        if kind not in own:
            message = f"`attention_config` has the unknown attention type {spelled(kind)}"
            steps = [f"write one of {', '.join(map(str, own))}"]
            found.append(Refusal(ATTENTION, ["attention_config"], message, f"AssertionError: Attention type {kind} not recognized", steps))
    return found


def is_of_field(config: NeoXConfig, refusal: Refusal) -> bool:
    """Whether a field has a page for the failure of Python on its value, which neither a missing field nor another type explains."""
    root = str(refusal.paths[0][0]) if refusal.paths else ""
    if root in PRECISION and config.argument("zero_optimization") is None:
        refusal.kind = NO_SECTION
        return True
    if refusal.exception.startswith("ZeroDivisionError"):
        refusal.kind = HEADS if "num_kv_heads" in refusal.keys else SIZES
        return True
    if root not in OF_FIELDS or config.check_of(root).refusal(config.values.get(root)):
        return False
    refusal.kind = OF_FIELDS[root]
    if refusal.kind == ATTENTION:  # not what uses the list later
        typed = config.check_of("attention_config").refusal(config.values.get("attention_config")) is None
        return typed and refusal.exception == config.derived.attention_refusal and config.argument("num_layers") is not None
    return refusal.kind != HEADS or config.argument("num_attention_heads") is not None


def worded(config: NeoXConfig, refusal: Refusal) -> None:
    refusal.message = re.sub(r"\w+\.validate_values\(\) ", "", refusal.message)
    refusal.exception, kind, key = refusal.exception.partition("\n")[0], refusal.kind, refusal.key
    if kind == ATTENTION:
        of_attention(config, refusal)
    elif kind == NO_SECTION:
        refusal.paths = [(name,) for name in PRECISION if name in config.values]
        refusal.message, refusal.help = "bfloat16 requires a `zero_optimization` section", [set_key("zero_optimization", {"stage": 0})]
    elif kind == MISSING_SIZE:
        refusal.message = f"`{key}` is missing; it has no default"
        if key == "num_layers":  # which the attention of the layers needs before
            refusal.exception = config.derived.attention_refusal or refusal.exception
    elif kind == PRECISIONS and "precision" not in config.values:
        refusal.paths = [(name, "enabled") for name in ("bf16", "fp16")]
        refusal.message = "`bf16` is incompatible with `fp16`; enable only one of them"
        refusal.help = [set_key("bf16.enabled", False), set_key("fp16.enabled", False)]
        refusal.read = ("bf16", "fp16")  # no `precision` of another file fits both
    elif kind == PRECISIONS:
        section = next(str(path[0]) for path in refusal.paths if len(path) > 1)
        refusal.help = [set_key("precision", "bfloat16" if section == "bf16" else section), set_key(f"{section}.enabled", False)]
    elif kind == STAGE and "stage" in config.derived.zero:
        stage = config.derived.zero["stage"]
        refusal.message = f"`zero_optimization.stage` is {describe(stage)}; it must be 0, 1, 2 or 3"
        refusal.help = [set_key("zero_optimization.stage", int(stage))] if stage in ("0", "1", "2", "3") else []
    elif kind == STAGE:
        refusal.message, refusal.help = "`zero_optimization.stage` is missing; it is required", [set_key("zero_optimization.stage", 1)]
    elif kind == RATE:
        rate = config.derived.lr
        refusal.message = f"`min_lr` is {config.argument('min_lr')}, more than the learning rate ({rate})"
        if rate is None:
            refusal.message, refusal.help = f"`{key}` is null, not a number", [set_key(key, 0.001), "another number"]
    elif kind == DATA and "One or more" in refusal.exception:
        absent = " and ".join(f"`{name}`" for name in LISTS if config.argument(name) is None)
        refusal.message, refusal.help = f"`{key}` also requires {absent}", [f"add {absent}", "use `data_path` alone"]
    elif kind in OF_FIELDS.values() and refusal.exception.startswith("TypeError"):
        refusal.message = f"`{key}` is {spelled(config.get(*refusal.paths[0]))}: {refusal.exception.partition(': ')[2]}"


def of_attention(config: NeoXConfig, refusal: Refusal) -> None:
    layers, attention, is_written = config.argument("num_layers"), config.derived.attention, "attention_config" in config.values
    refusal.paths = [("attention_config",), ("num_layers",)] if is_written else [("num_layers",)]
    if attention is None:
        refusal.message = f"`attention_config` cannot be expanded: {refusal.exception.partition(': ')[2]}"
        refusal.help = ["make the repeats of the patterns add up to `num_layers`"]
    elif LENGTH not in refusal.exception:
        name = refusal.exception.partition("Attention type ")[2].removesuffix(" not recognized")
        refusal.message = f"`attention_config` has the unknown attention type {name}; {refusal.message.partition('; ')[2]}"
    elif is_written:
        refusal.message = f"`attention_config` gives {attention.layers} layers, but `num_layers` is {describe(layers)}"
        refusal.help = [set_key("num_layers", attention.layers), f"make the patterns add up to {describe(layers)}"]
    else:
        refusal.message, refusal.help = (
            f"`num_layers` is {describe(layers)}; it must not be negative",
            ["set `num_layers` to a positive number"],
        )


def facts(name: str, *arguments: Any) -> Any:
    """What the environment answers: the attention of all layers, unless they are too many to write down."""
    if name != "expand_attention_types":
        return None
    try:
        attention = expand(*arguments)
    except AssertionError as error:
        raise Raised("AssertionError", str(error)) from None
    return attention.listed if attention.layers <= MOST_LAYERS else None
