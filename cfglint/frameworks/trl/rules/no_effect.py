"""Rules about keys of a TRL file that have no effect because of another key, or of the trainer itself."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.base import FORK_KEYS
from cfglint.frameworks.remedies import either
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.rules import of, shown
from cfglint.frameworks.trl.rules.trainers import uses_zero3
from cfglint.source.annotations import Iterator

FLASH_ATTENTION = (
    *("flash_attention_2", "flash_attention_3", "kernels-community/flash-attn2", "kernels-community/flash-attn3"),
    *("kernels-community/flash-attn", "kernels-community/vllm-flash-attn3"),
)
LORA_KEYS = ("lora_r", "lora_alpha", "lora_dropout", "lora_target_modules", "use_rslora", "use_dora")
LOADING = {"torch_dtype": "torch_dtype", "dtype": "dtype", "attn_implementation": "attn_implementation", "model_revision": "revision"}
# (field, value or None for any) -> what to write instead, and the releases that deprecate it for a removal in 2.0
DEPRECATED: dict[tuple[str, object], tuple[str, Releases]] = {
    ("packing_strategy", "bfd-requeue"): ("`bfd_split`", Releases((1, 0, 0), of="bfd-requeue")),
    ("loss_type", "chunked_nll"): ("`nll`, which computes the same", Releases((1, 15, 0), of="chunked_nll")),
    ("truncation_mode", "keep_end"): ("`keep_start`", Releases((1, 4, 0), of="keep_end")),
    ("use_transformers_paged", True): ("`use_transformers_continuous_batching`", Releases((1, 7, 0), of="`use_transformers_paged`")),
    ("vllm_importance_sampling_cap", None): (
        "`vllm_importance_sampling_clip_max`",
        Releases((1, 6, 0), of="`vllm_importance_sampling_cap`"),
    ),
}


@rule("TRL070")
def vllm_option_unused(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    strangers = [key for key in config.values if key not in args.fields.types]
    own_program = not config.facts.complete and "use_vllm" not in args and len(strangers) >= FORK_KEYS  # not that of TRL
    if not config.own_sampler or args["use_vllm"] or not args.known("use_vllm") or own_program:
        return
    given = [name for name in args.given if name.startswith("vllm_") and name in args.fields.own]
    if given:
        related = [of(config, name) for name in given[1:]]
        others = f" (and {len(given) - 1} more)" if related else ""
        message = f"`{given[0]}`{others} has no effect without `use_vllm: true`"
        remedy = set_key("use_vllm", True) | "remove the `vllm_` options"
        yield Finding(of(config, given[0]), message, on_key=True, related=related, help=remedy)


@rule("TRL071")
def reference_sync_option_unused(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    for name in ("ref_model_sync_steps", "ref_model_mixup_alpha"):
        if name in args and not args["sync_ref_model"] and args.known("sync_ref_model"):
            message = f"`{name}` has no effect without `sync_ref_model: true`"
            yield Finding(of(config, name), message, on_key=True, help=set_key("sync_ref_model", True) | remove_key(name))


@rule("TRL072")
def lora_option_unused(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    given = [name for name in LORA_KEYS if name in args]
    program = config.facts.launch.program
    own = any(name not in args.fields.types or (program is not None and name in program.fields) for name in (*config.values, *given))
    if len(given) > 1 and "use_peft" not in args and not own:
        message = f"`{given[0]}` has no effect without `use_peft: true`: the complete model is trained"
        yield Finding(of(config, given[0]), message, on_key=True, help=set_key("use_peft", True) | "remove the `lora_` options")


@rule("TRL073")
def quantized_without_adapter(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    own = any(name not in args.fields.types for name in config.values)
    for name in ("load_in_4bit", "load_in_8bit"):
        if args[name] is True and not peft(config) and args.known("use_peft") and not own:
            message = f"`{name}` requires adapters, and `use_peft` is false"
            note = "a quantized model cannot be trained itself"
            yield Finding(of(config, name), message, related=(of(config, "use_peft"),), note=note, help=set_key("use_peft", True))


@rule("TRL074")
def evaluation_generations_unused(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    if config.own_sampler and args["num_generations_eval"] and args.eval_strategy == "no" and not args["eval_on_start"]:
        setting = of(config, "num_generations_eval")
        remedy = set_key("eval_strategy", "epoch") | remove_key("num_generations_eval")
        yield Finding(setting, '`num_generations_eval` has no effect: `eval_strategy` is "no"', on_key=True, help=remedy)


@rule("TRL075")
def dpo_padding_free_ignored(config: TrlConfig) -> Iterator[Finding]:
    if config.only("dpo") and config.arguments["padding_free"] is True:
        message = "`padding_free` is not supported by the DPO trainer from TRL 0.29.0 on, which turns it off"
        yield Finding(of(config, "padding_free"), message, help=remove_key("padding_free"))


@rule("TRL076")
def deprecated_trl_option(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    for (name, value), (instead, releases) in DEPRECATED.items():
        if config.trl_version not in releases or name not in args or name not in args.fields.own:
            continue
        given = args[name]
        if given is not None and (value is None or (given == value and type(given) is type(value))):
            message = f"`{name}` is deprecated" if value is None else f"`{name}: {shown(value)}` is deprecated"
            yield Finding(of(config, name), message, note="it still works, and will be removed in TRL 2.0", help=f"use {instead}")


@rule("TRL077")
def dataset_name_overridden(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    mixture = args["datasets"]
    if isinstance(mixture, list) and mixture and all(isinstance(each, dict) for each in mixture) and args["dataset_name"]:
        message, related = "`dataset_name` is overridden by `datasets`", (of(config, "datasets"),)
        yield Finding(of(config, "dataset_name"), message, related=related, on_key=True, help=either("dataset_name", "datasets"))


REENTRANT = Releases((1, 9, 0))


@rule("TRL078")
def reentrant_checkpointing_forced(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    given = args["gradient_checkpointing_kwargs"]
    written = isinstance(given, dict) and given.get("use_reentrant") is False
    stage = (config.deepspeed.setting("zero_optimization.stage"),) if config.deepspeed is not None else ()
    forced = config.trl_version in REENTRANT or config.only("sft")
    if forced and written and peft(config) and args.checkpointing and uses_zero3(config):
        message = "`use_reentrant: false` is overridden by true, which LoRA with ZeRO stage 3 requires"
        related = (of(config, "use_peft"), *stage)
        remedy = remove_key("gradient_checkpointing_kwargs.use_reentrant")
        yield Finding(of(config, "gradient_checkpointing_kwargs"), message, related=related, help=remedy)


@rule("TRL079")
def model_option_overridden(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    given = args["model_init_kwargs"]
    if not isinstance(given, dict):
        return
    for name, key in LOADING.items():
        if name in args and key in given and given[key] != args[name]:
            message = f"`{name}` is overridden by `model_init_kwargs.{key}` ({shown(given[key])})"
            related, remedy = (of(config, "model_init_kwargs"),), either(name, f"model_init_kwargs.{key}")
            yield Finding(of(config, name), message, related=related, help=remedy)


@rule("TRL080")
def null_means_bf16(config: TrlConfig) -> Iterator[Finding]:
    if "bf16" in config.values and config.values["bf16"] is None and config.arguments["bf16"]:
        yield Finding(config.setting("bf16"), "`bf16` is null, which turns bf16 on", help=set_key("bf16", True) | set_key("bf16", False))


@rule("TRL088")
def packing_without_flash_attention(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    if not config.only("sft") or not args.known("packing", "padding_free", "packing_strategy"):
        return
    joined = "packing" if args["packing"] and args["packing_strategy"] != "wrapped" else "padding_free"
    kwargs = args["model_init_kwargs"] if args.known("model_init_kwargs") else None
    of_code = kwargs.get("attn_implementation") if isinstance(kwargs, dict) else None
    name = of_code if of_code is not None else args["attn_implementation"] if args.known("attn_implementation") else None
    if not args[joined] or not isinstance(name, str) or name.partition("@")[0].partition(":")[0] in FLASH_ATTENTION:
        return
    message = f"`{joined}` requires a flash attention implementation, and `attn_implementation` is {shown(name)}"
    remedy = set_key(f"{'model_init_kwargs.' * (of_code is not None)}attn_implementation", "flash_attention_2") | set_key(joined, False)
    yield Finding(of(config, joined), message, note="the samples of a row are not kept apart", help=remedy)
