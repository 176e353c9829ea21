"""What findings about refused arguments say, where the framework's own words, or the remedies of a row, are not the best."""

from __future__ import annotations

from math import inf

from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.wording import spelled as shown
from cfglint.frameworks.huggingface.batch import of
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.refusal import Refusal, Removal
from cfglint.frameworks.remedies import choice
from cfglint.source.annotations import Any

WORDS = ("full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2", "offload", "auto_wrap")
POLICIES = ("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP")
WARMUPS = {"of type int": "an integer >= 0", "either 0": "0 or an integer > 1"}  # words of the exception -> what is required


def say(refusal: Refusal, message: str, *steps: Remedy | str | None, rests_on: tuple[str, ...] = ()) -> None:
    """Change what is said of a refusal; it rests on the defaults of some fields, if the file does not set them."""
    refusal.message, refusal.read = message, rests_on
    refusal.help = [step for step in steps if step]


def improve(config: TrainerConfig, refusal: Refusal) -> None:
    args, name = config.arguments, refusal.key
    match refusal.kind:
        case "HFT004" if "evaluation" in refusal.exception:
            refusal.paths = [("logging_steps",), (args.strategy_key,)]
            every = shown(args["logging_steps"])
            message = f"`eval_strategy: steps` requires a positive `eval_steps` or `logging_steps`, but `logging_steps` is {every}"
            say(refusal, message, "set `eval_steps` to a positive number")
        case "HFT004":
            refusal.paths = [("logging_steps",)]
            message = f"`logging_steps` is {shown(args['logging_steps'])}; `logging_strategy: steps` requires a non-zero value"
            say(refusal, message, "set a positive `logging_steps`", '`logging_strategy: "no"`')
        case "HFT005":
            refusal.paths, value = refusal.paths[:1], of(config, name).value
            remedy = set_key(name, round(value)) if value < inf else None
            say(refusal, f"`{name}` is {value}; a number of steps above 1 must be an integer", remedy)
        case "HFT007":
            multiple_steps(config, refusal)
        case "HFT008":
            refusal.paths = refusal.paths[:1]
            message = f"`torch_empty_cache_steps` is {shown(of(config, name).value)}; it must be a positive integer"
            say(refusal, message, remove_key("torch_empty_cache_steps", " to keep the cache"))
        case "HFT009":
            kind, key = args["lr_scheduler_type"], args.strategy_key
            refusal.paths = [("lr_scheduler_type",)]
            message = f'`lr_scheduler_type: {kind}` requires evaluations, but `{key}` is "no"'
            say(refusal, message, set_key(key, "epoch"), "another `lr_scheduler_type`", rests_on=(key,))
        case "HFT010":
            refusal.paths = [("dataloader_prefetch_factor",)]
            message = "`dataloader_prefetch_factor` requires `dataloader_num_workers` > 0, but it is 0"
            steps = (set_key("dataloader_num_workers", 2), remove_key("dataloader_prefetch_factor"))
            say(refusal, message, *steps, rests_on=("dataloader_num_workers",))
        case "HFT020":
            fsdp_option(config, refusal)
        case "HFT021":
            fsdp_section(config, refusal)
        case "PRC200" | "PRC201":
            first, second = refusal.keys[:2]
            refusal.message = f"`{first}` is incompatible with `{second}`; enable only one of them"
            refusal.help = [set_key(first, False), set_key(second, False)]
        case "PRC202":
            say(refusal, f"`{name}: apex` does not support bf16", remove_key(name), set_key("fp16", True) & set_key("bf16", False))
        case "STP001":
            setting = of(config, name)
            required = next((required for part, required in WARMUPS.items() if part in refusal.exception), "a number >= 0")
            message = f"`{setting.name}` is {shown(setting.value)}; it must be {required}"
            say(refusal, message, set_key(setting.name, 0, " for no warm-up"))
        case "STP002":
            message = f"`warmup_ratio` is {shown(of(config, name).value)}; it must be between 0 and 1"
            say(refusal, message, "set `warmup_ratio` to a fraction of the steps, such as 0.03")


def multiple_steps(config: TrainerConfig, refusal: Refusal) -> None:
    args = config.arguments
    save, every = args["save_steps"], args.eval_steps
    source = "eval_steps" if args["eval_steps"] else "logging_steps"
    rounded = save < 1 and every < 1 and (save * 1_000_000) % (every * 1_000_000) == 0
    release = ", and transformers before 4.53.0 compares rounded fractions" if rounded else ""
    saved, evaluated = (shown(each) if isinstance(each, bool) else f"{each:.15g}" for each in (save, every))
    refusal.paths = [("save_steps",), (source,)]
    message = f"`load_best_model_at_end` requires `save_steps` ({saved}) to be a multiple of `{source}` ({evaluated}){release}"
    nearest = set_key("save_steps", round(max(1, save // every) * every)) if 1 <= save < inf and 1 <= every < inf else None
    say(refusal, message, nearest, rests_on=("save_steps", source))


def fsdp_option(config: TrainerConfig, refusal: Refusal) -> None:
    value: Any = config.arguments["fsdp"]
    refusal.paths = [("fsdp",)]
    words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    said = refusal.exception
    word = next((each for each in words if isinstance(each, str) and each in said.replace("=", " ").replace("`", " ").split()), "")
    if not isinstance(value, str | list):
        message = f"`fsdp` is {shown(value)}; it must be a string of options or a boolean"
        say(refusal, message, set_key("fsdp", "full_shard"), remove_key("fsdp"))
    elif "Error: '" in said or "has no attribute" in said:
        other = next((each for each in words if not isinstance(each, str)), None)
        say(refusal, f"`fsdp` contains {shown(other)}, which is not a string")
    elif "FSDP1" in said:
        message = f"`fsdp: {word}` requires FSDP1, but `fsdp_config.version` is 2"
        say(refusal, message, set_key("fsdp_config.version", 1), "another option in `fsdp`")
    elif "can't work on its own" in said:
        say(refusal, "`fsdp: offload` requires a sharding option (full_shard or shard_grad_op)", set_key("fsdp", "full_shard offload"))
    elif "not compatible" in said:
        message = "`fsdp` has the options full_shard and shard_grad_op, which are incompatible"
        say(refusal, message, set_key("fsdp", "full_shard"), "`fsdp: shard_grad_op`")
    elif word:
        say(refusal, f"`fsdp` contains the unknown option {word}", choice("fsdp", word, WORDS))


def fsdp_section(config: TrainerConfig, refusal: Refusal) -> None:
    value = config.section("fsdp_config")
    if not isinstance(value, dict):
        message = f"`fsdp_config` is {shown(config.arguments['fsdp_config'])}, not a mapping"
        say(refusal, message, remove_key("fsdp_config"), "write a mapping")
        return
    refusal.paths = [path for path in refusal.paths if path[0] == "fsdp_config" and path[1:] != ("xla",)] or refusal.paths
    refusal.help = [each for each in refusal.help if not isinstance(each, Removal) or each.key != "fsdp"]
    key, said = refusal.key, refusal.exception
    found = shown(config.setting(*refusal.paths[0]).value)
    if "mutually exclusive" in said:
        refusal.message = "`fsdp_config.min_num_params` is incompatible with `transformer_layer_cls_to_wrap`"
    elif "sync_module_states` must" in said:
        message = "`fsdp_config.sync_module_states` is false, but `cpu_ram_efficient_loading` requires it"
        say(refusal, message, set_key("fsdp_config.sync_module_states", True))
    elif "auto_wrap_policy` must" in said:
        message = f"`{key}` is {found}; it must be one of {', '.join(POLICIES)}"
        say(refusal, message, choice(key, config.setting(*refusal.paths[0]).value, POLICIES))
    elif "str expected" in said:
        value = str(config.setting(*refusal.paths[0]).value).lower()
        say(refusal, f"`{key}` is {found}; this release requires a string", set_key(key, value))
    elif key == "fsdp_config.version":
        say(refusal, f"`{key}` is {found}, not an integer", set_key(key, 2))
    elif "invalid truth value" in said:
        say(refusal, f"`{key}` is {found}, not a boolean", f"set `{key}` to true or false")
    elif "startswith" in said:
        say(refusal, "a key of `fsdp_config` is no string")
    refusal.paths = refusal.paths[: 2 if "Error: `" in said else 1]
