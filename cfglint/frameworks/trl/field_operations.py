"""The operations of TRL's classes and trainers on the parsed values of their fields, executed here, so that they fail in the same way.

They run after those of the Trainer. Line numbers are those of trl 1.16.0, peft's those of 0.19.1.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.huggingface.field_operations import INIT, Operation
from cfglint.frameworks.huggingface.field_operations import OPERATIONS as TRAINER_OPERATIONS
from cfglint.frameworks.huggingface.trainer_options import PREPARED, refused_preparation
from cfglint.frameworks.peft.fields import TASKS
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.source.annotations import Operand

CUTS_IN_ARROW = Releases((0, 16, 0), (1, 0, 0))  # SFT cuts samples by an operation of pyarrow
SLICES = (1, 8, 0)  # from here on SFT cuts each sample while it prepares the data; before, in the first batch
NEW_PREFERENCES = {"dpo": (0, 29, 0), "kto": (1, 3, 0)}  # the releases in which the trainers were rewritten
COMPARES = {"dpo": (0, 29, 0), "kto": (1, 8, 0), "reward": (0, 12, 0)}  # from here on the length of a sample is compared
CUTS_PROMPTS = Releases((0, 12, 0))  # DPO cuts each prompt and completion, as long as it has the fields
# SFT asks whether the data are conversations only without a name (0.8.5 trainer/sft_trainer.py:264).
NAMED_COLUMN = Releases(until=(0, 12, 0))
TEXT_LOOKED_UP = Releases((0, 15, 0), (0, 17, 0))  # SFT looks up the column `dataset_text_field` in every data set
CHARS_PER_TOKEN = 3.6  # by which packing multiplies the length at first (0.12.0 trainer/utils.py:606, ConstantLengthDataset)
CUTS_BATCHES = (1, 3, 0)  # KTO cuts whole batches from here on; before, it makes room for a token in the length of each sample
COPIES_OPTIONS = (1, 8, 0)
PACKS_IN_BINS = (0, 24, 0)  # the oldest release whose packing was compared
COUNTS_BINS = Releases((0, 29, 0), (1, 0, 0))  # which cut samples themselves
BIN_STRATEGIES = ("bfd", "bfd_split")
MAPS = ("sft", "dpo", "kto", "reward", "orpo", "cpo")  # the trainers that prepare their data by `map`
PLAUSIBLE_PROCESSES = 64  # `map` lowers a larger number to the rows of the data set, an integer
# The names of any release of transformers since 4.46, and `mamba`, which 4.46 to 4.51 have.
CACHES = (
    *("static", "offloaded_static", "sliding_window", "hybrid", "hybrid_chunked", "offloaded_hybrid", "offloaded_hybrid_chunked"),
    *("dynamic", "offloaded", "quantized", "paged", "mamba"),
)


def adapters(config: TrlConfig) -> bool:
    """Whether the scripts wrap the model into LoRA adapters: every value of their field except false does."""
    return config.has_field("use_peft") and config.arguments["use_peft"] is not False and config.arguments.known("use_peft")


def skips_preparation(config: TrlConfig) -> bool:
    argument = config.arguments["dataset_kwargs"]
    return isinstance(argument, dict) and bool(argument.get("skip_prepare_dataset"))


def prepares(config: TrlConfig) -> bool:
    return config.only("sft") and not skips_preparation(config)


def passes(value: object, config: TrlConfig) -> None:
    """Compute the number of samples as trainer/utils.py:951 (RepeatSampler) does; it must be a valid length."""
    if not config.own_sampler:
        return
    if value is None:
        raise TypeError("unsupported operand type(s) for *: 'NoneType' and 'int'")
    limit = config.arguments["max_steps"]
    unlimited = isinstance(limit, (int, float)) and limit <= 0
    if isinstance(value, int) and value < 0:
        raise ValueError("__len__() should return >= 0")
    if unlimited and (not isinstance(value, int) or value == 0):
        raise ValueError(f"args.max_steps must be set to a positive value if dataloader does not have a length, was {limit}")


def repeats(value: object, config: TrlConfig) -> None:
    """Repeat each prompt as trainer/utils.py:932 (RepeatSampler) does: its length is an integer, or there is none."""
    if not config.own_sampler or not isinstance(value, float):
        return
    limit = config.arguments["max_steps"]
    if not isinstance(limit, (int, float)) or limit > 0:
        raise TypeError("'float' object cannot be interpreted as an integer")
    raise ValueError(f"args.max_steps must be set to a positive value if dataloader does not have a length, was {limit}")


def weights(value: Operand, config: TrlConfig) -> None:
    """Use the weights as trainer/grpo_trainer.py:569-574 does: a tensor is made of them."""
    if config.own_sampler and value is not None:
        len(value)
        if isinstance(value, dict):
            raise TypeError("must be real number, not dict")


def generates_itself(config: TrlConfig) -> bool:
    """Whether the trainer generates with transformers, and so builds a GenerationConfig."""
    return config.own_sampler and config.arguments["use_vllm"] is False and config.arguments.known("use_vllm")


def refuses_cache(value: object, config: TrlConfig) -> bool:
    """Check the cache as transformers 5.23.0 generation/configuration_utils.py:686 (GenerationConfig.validate) does, 4.46.3 :725."""
    options = config.arguments["generation_kwargs"]
    replaced = options is not None and (not isinstance(options, dict) or "cache_implementation" in options)
    return value is not None and value not in CACHES and generates_itself(config) and not replaced


def preparing_processes(value: Operand, config: TrlConfig) -> None:
    """Compare and count the processes as the `map` of datasets 5.2.0 arrow_dataset.py does; a streamed data set has none."""
    if value is None or config.streams or not config.only(*MAPS) or (config.only("sft") and not prepares(config)):
        return
    if value < 0:
        raise ValueError("num_proc must be an integer > 0.")
    if isinstance(value, float) and value > 1 and (value % 1 == 0 or value < PLAUSIBLE_PROCESSES):
        raise TypeError("'float' object cannot be interpreted as an integer")


def sample_length(value: Operand, config: TrlConfig) -> None:
    """Cut each sample as trainer/sft_trainer.py:1440 and data_utils.py:746 do, or compare its length; 0.17.0 trainer/kto_trainer.py:221."""
    if value is None:
        return
    release, packs = config.trl_version, config.arguments["packing"]
    evaluates_packed = bool(config.arguments["eval_packing"]) and config.arguments.eval_strategy in ("steps", "epoch")
    if prepares(config) and release >= PACKS_IN_BINS and (packs or evaluates_packed):
        packed_length(value, config.arguments["packing_strategy"], release)
    if prepares(config) and release >= SLICES and not packs:
        _ = [0][:value]
    elif prepares(config) and packs and config.arguments["packing_strategy"] == "bfd" and isinstance(value, int) and value < 0:
        raise ValueError(f"`start`(0) should be greater than or equal to 0 and not greater than `stop`({value})")
    elif prepares(config) and release in CUTS_IN_ARROW:
        if isinstance(value, (list, dict)):
            raise TypeError("an integer is required")
        if isinstance(value, int) and value < 0:
            raise ValueError(f"`start`(0) should be greater than or equal to 0 and not greater than `stop`({value})")
    elif prepares(config) and release < PREPARED.until and isinstance(value, (str, list, dict)):
        _ = value * CHARS_PER_TOKEN if packs else None  # type: ignore[operator]
        raise TypeError(f"argument 'max_length': '{type(value).__name__}' object cannot be interpreted as an integer")
    elif config.only("kto") and release < COMPARES["kto"]:
        value -= 1 if release < CUTS_BATCHES else len([0][:value])
    elif config.only("orpo", "cpo", *(("dpo",) if release < CUTS_PROMPTS.since else ())):
        _ = 1 > value  # noqa: SIM300
    elif config.only(*(name for name, since in COMPARES.items() if since <= release)):
        _ = value > 1


def packed_length(value: Operand, strategy: Operand, release: Version) -> None:
    """Cut the data into blocks as data_utils.py:696-828 does; each exception was seen with the code of 0.24.0 to 1.16.0."""
    if strategy == "wrapped":
        _ = 1 / value
    elif strategy in BIN_STRATEGIES and isinstance(value, float):
        if release in COUNTS_BINS:
            raise TypeError("'float' object cannot be interpreted as an integer")
        raise AttributeError("'float' object has no attribute 'bit_length'")
    elif strategy == BIN_STRATEGIES[1] and type(value) is int and value <= 0:
        raise IndexError(f"index {value} is out of bounds for axis 0 with size 0")
    elif strategy == BIN_STRATEGIES[0] and value == 0:
        if release in COUNTS_BINS:
            raise ValueError("range() arg 3 must not be zero")
        raise AssertionError


def refuses_reference_batch(value: Operand, config: TrlConfig) -> object:
    """Whether the loader of the reference pass refuses it (trainer/dpo_trainer.py:1180); null and 0 mean the batch of the evaluation."""
    rewritten = config.only(*(name for name, since in NEW_PREFERENCES.items() if since <= config.trl_version))
    return value and (not isinstance(value, int) or value < 0) and rewritten and config.arguments["precompute_ref_log_probs"]


def dataset_options(value: Operand, config: TrlConfig) -> object:
    refused = refused_preparation(value, config.trl_version) if config.only("sft") else ""
    if refused:
        raise TypeError(refused.partition(": ")[2])
    return config.only("sft") and value is not None and value.get("skip_prepare_dataset")


def cut_part(value: Operand, config: TrlConfig) -> object:
    """Cut a prompt or completion as DPO does (0.12.0 trainer/dpo_trainer.py:744, 0.17.0 :604)."""
    return config.trl_version in CUTS_PROMPTS and config.only("dpo") and value is not None and [0][:value]


# fmt: off
OPERATIONS = (
    # the column of the text is looked up, also for conversations (0.15.2 trainer/sft_trainer.py:430)
    Operation("dataset_text_field", INIT,
        lambda value, config: config.trl_version in (TEXT_LOOKED_UP if value is None else NAMED_COLUMN) and not isinstance(value, str)
        and prepares(config), "KeyError: {value!r}"),
    Operation("precompute_ref_batch_size", INIT, refuses_reference_batch,
        "ValueError: batch_size should be a positive integer value, but got batch_size={value}"),
    Operation("num_generations", INIT, repeats),
    Operation("cache_implementation", INIT, refuses_cache,
        f"ValueError: Invalid `cache_implementation` ({{value}}). Choose one of: {CACHES[:-1]}"),
    # trainer/grpo_trainer.py:1172
    Operation("generation_kwargs", INIT, lambda value, config: value is not None and generates_itself(config) and dict(value)),
    Operation("dataset_num_proc", INIT, preparing_processes),
    # trainer/rloo_trainer.py:269
    Operation("model_init_kwargs", INIT,
        lambda value, config: config.trl_version >= COPIES_OPTIONS and config.only("rloo") and value and dict(value)),
    # peft tuners/lora/layer.py (update_layer)
    Operation("lora_r", INIT, lambda value, config: adapters(config) and value <= 0,
        "ValueError: `r` should be a positive integer value but the value passed is {value}"),
    Operation("lora_r", INIT, lambda value, config: adapters(config) and isinstance(value, (float, bool)),
        "TypeError: empty(): argument 'size' (position 1) must be tuple of ints, but found element of type {kind} at pos 0"),
    Operation("lora_alpha", INIT, lambda value, config: adapters(config) and value / 1),  # divided by r
    # and torch 2.13 nn/modules/dropout.py
    Operation("lora_dropout", INIT, lambda value, config: adapters(config) and value > 0.0 and value > 1.0,
        "ValueError: dropout probability has to be between 0 and 1, but got {value}"),
    # PEFT converts a list to a set (tuners/lora/config.py, __post_init__)
    *(Operation(name, INIT,
        lambda value, config: adapters(config) and value is not None and not isinstance(value, str) and iter(value))
        for name in ("lora_target_modules", "lora_modules_to_save")),
    Operation("lora_task_type", INIT, lambda value, config: adapters(config) and value is not None and value not in TASKS,
        f"ValueError: Invalid task type: '{{value}}'. Must be one of the following task types: {', '.join(TASKS)}."),
    # trainer/sft_trainer.py:1008
    Operation("dataset_kwargs", INIT, dataset_options),
    Operation("max_length", INIT, sample_length),
    Operation("max_seq_length", INIT, sample_length),
    *(Operation(name, INIT, cut_part) for name in ("max_prompt_length", "max_completion_length")),
    # a former name (0.12.0 trainer/dpo_config.py:187)
    Operation("max_target_length", INIT,
        lambda value, config: config.arguments["max_completion_length"] is None and cut_part(value, config)),
    # transformers 5.23.0 generation/configuration_utils.py (GenerationConfig.validate)
    Operation("max_completion_length", INIT, lambda value, config: config.own_sampler and value is not None and value <= 0,
        "ValueError: `max_new_tokens` must be greater than 0, but is {value}."),
    Operation("reward_weights", INIT, weights),
    Operation("num_iterations", INIT, passes),
)
# fmt: on
ALL_OPERATIONS = (*TRAINER_OPERATIONS, *OPERATIONS)
