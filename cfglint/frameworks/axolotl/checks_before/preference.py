"""Preference and reinforcement learning: checks before pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.wording import spelled
from cfglint.frameworks.axolotl.refusals import RL, Data, differs, excludes, refuses, requires
from cfglint.source.annotations import ConfigValue

OF_ALL_PROCESSES = Releases((0, 21, 0))  # the generation batch is that of all processes
REENTRANT_KTO = Releases((), (0, 8, 0))


def reward_models(data: Data) -> None:
    """Complete the values as utils/schemas/validation.py:481-499 does."""
    for key, labels, kind in (
        ("reward_model", 1, "AutoModelForSequenceClassification"),
        ("process_reward_model", 2, "AutoModelForTokenClassification"),
    ):
        if data.get(key):
            if data.get("num_labels") is None:
                data["num_labels"] = labels
            if not (data.get("type_of_model") or data.get("model_type")):
                data["model_type"] = kind


def grpo_batch(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1022 does."""
    if data.get("rl") != "grpo":
        return
    given = data.get("trl") or {}
    generations = given.get("num_generations")
    if generations is None:
        return
    if generations < 2:
        says = f"GRPO requires `trl.num_generations >= 2` (got {generations})."
        needed = f"`trl.num_generations` of 2 or more, and it is {generations}"
        raise requires(RL, "GRPO", needed, says, remedy="set `trl.num_generations: 2`")
    gpus, explicit = data["capabilities"]["n_gpu"], given.get("generation_batch_size")
    if gpus is None and explicit is None:  # the launch is unknown
        return
    world = int(gpus or data.get("world_size") or 1)
    size, source = generation_batch(data, explicit, world)
    if size % generations != 0:
        says = (
            f"GRPO: generation batch size must be divisible by `trl.num_generations`. Got effective_gbs={size} (from {source}) and "
            f"num_generations={generations}."
        )
        message = f"the generation batch size {size} is not a multiple of `trl.num_generations` ({generations})"
        raise refuses(RL, ("trl.num_generations", "micro_batch_size", "gradient_accumulation_steps"), message, says)
    if world > 1 and size < generations * world:
        says = f"GRPO with world_size={world} requires effective_gbs >= num_generations * world_size = {generations * world}, got {size}."
        message = f"the generation batch size {size} is below `trl.num_generations` x GPUs ({generations} x {world})"
        raise refuses(RL, ("trl.num_generations", "micro_batch_size", "gradient_accumulation_steps"), message, says)


def generation_batch(data: Data, explicit: ConfigValue, world: int) -> tuple[int, str]:
    """(the generation batch size, its origin)."""
    if explicit is not None:
        return int(explicit), "trl.generation_batch_size"
    micro, accumulation = data.get("micro_batch_size") or 1, data.get("gradient_accumulation_steps") or 1
    source = f"micro_batch_size ({micro}) * gradient_accumulation_steps ({accumulation})"
    if data.release not in OF_ALL_PROCESSES:
        return int(micro) * int(accumulation), source
    return int(micro) * int(accumulation) * world, source + (f" * world_size ({world})" if world > 1 else "")


def dpo_losses(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:988 does."""
    losses, weights, rl = data.get("dpo_loss_type"), data.get("dpo_loss_weights"), data.get("rl")
    if rl == "dpo":
        if weights is not None and losses is None:
            raise requires(RL, "dpo_loss_weights", "dpo_loss_type", "`dpo_loss_weights` requires `dpo_loss_type` to be set")
        if losses is not None and weights is not None and len(losses) != len(weights):
            says = (
                f"`dpo_loss_type` and `dpo_loss_weights` must be the same length, but got {len(losses)} losses and {len(weights)} weights"
            )
            message = f"`dpo_loss_weights` has {len(weights)} entries, but `dpo_loss_type` has {len(losses)}"
            raise refuses(RL, ("dpo_loss_weights", "dpo_loss_type"), message, says)
    elif losses is not None or weights is not None:
        key = "dpo_loss_type" if losses is not None else "dpo_loss_weights"
        says = (
            f"`dpo_loss_type` and `dpo_loss_weights` are for DPO only,but got rl={rl!r}, dpo_loss_type={losses!r} and "
            f"dpo_loss_weights={weights!r}"
        )
        raise requires(RL, key, "rl: dpo", says, note=f", and `rl` is {spelled(rl)}")


def gdpo_aggregation(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:976 does."""
    if data.get("rl") == "gdpo" and data.get("trl", {}).get("multi_objective_aggregation") == "sum_then_normalize":
        says = "`multi_objective_aggregation` value set as `sum_then_normalize` => GRPO, but GDPO was selected"
        message = "`multi_objective_aggregation: sum_then_normalize` is GRPO, and `rl` is gdpo"
        raise refuses(RL, ("trl.multi_objective_aggregation", "rl"), message, says)


def rl_checkpointing(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:954 does."""
    if (
        data.get("rl")
        and data.get("gradient_checkpointing")
        and data.get("gradient_checkpointing_kwargs")
        and data.get("gradient_checkpointing_kwargs").get("use_reentrant")
        and data.get("load_in_4bit")
        and data.get("adapter") == "qlora"
        and (data["capabilities"]["n_gpu"] or 1) > 1
    ):
        says = (
            "The `use_reentrant: True` implementation of gradient checkpointing is not supported for distributed RL training with "
            "QLoRA. Please set `use_reentrant: False` in `gradient_checkpointing_kwargs`."
        )
        raise excludes(RL, "gradient_checkpointing_kwargs.use_reentrant: true", "`rl` and qlora", says, note=" on several GPUs")


def grpo_liger(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:942 does."""
    if (
        data.get("rl") == "grpo"
        and data.get("trl", {})
        and data.get("trl").get("use_liger_loss")
        and data.get("context_parallel_size", 1) > 1
    ):
        says = "GRPO + SP + Liger not currently supported"
        raise excludes(RL, "trl.use_liger_loss", "context_parallel_size above 1", says, note=" under GRPO")


def kto(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:930 does."""
    if data.get("rl") != "kto":
        return
    packed = next((key for key in ("sample_packing", "eval_sample_packing") if data.get(key)), "")
    if packed:
        raise excludes(RL, packed, "rl: kto", "sample_packing is not supported with kto")
    if data.get("remove_unused_columns") is not False:
        raise requires(RL, "rl: kto", "remove_unused_columns: false", "Set `remove_unused_columns: False` when using kto")
    given = data.get("gradient_checkpointing_kwargs")
    reentrant = isinstance(given, dict) and given.get("use_reentrant")
    if data.release in REENTRANT_KTO and data.get("gradient_checkpointing") and not reentrant:
        says = "Set `gradient_checkpointing_kwargs: {use_reentrant: true}` for when kto is enabled"
        raise requires(
            RL,
            "`gradient_checkpointing` with `rl: kto`",
            "`gradient_checkpointing_kwargs.use_reentrant: true`",
            says,
            at=("gradient_checkpointing", "rl"),
        )


def packed_rl(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:922 does."""
    if data.get("sample_packing") and data.get("rl"):
        raise excludes(RL, "sample_packing", "rl", "`sample_packing: true` does not work with RLHF training")


def two_betas(data: Data) -> None:
    """Check the values as utils/schemas/config.py:2122 does."""
    if data.get("beta") and data.get("trl", {}).get("beta") and data["beta"] != data["trl"]["beta"]:
        says = "beta and trl.beta must match or one must be removed"
        raise differs(RL, "beta", data["beta"], "trl.beta", data["trl"]["beta"], says)


def ebft_section(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:2399 does."""
    if data.get("rl") == "ebft" and not data.get("ebft"):
        says = (
            "`ebft` config section is required when `rl: ebft` is set. Add an `ebft:` section with at least `mode: structured` or "
            "`mode: strided`."
        )
        raise requires(RL, "rl: ebft", "ebft", says)


def ebft_compile(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:2410 does."""
    if (
        data.get("rl") == "ebft"
        and data.get("torch_compile") is True
        and (data.get("ebft") or {}).get("mode") == "strided"
        and data.get("gradient_checkpointing")
    ):
        says = (
            "EBFT strided mode: `torch_compile: true` with `gradient_checkpointing: true` causes CheckpointError (BlockMask metadata "
            "mismatch during recomputation)."
        )
        raise excludes(RL, "torch_compile", "gradient_checkpointing", says, note=" in strided EBFT")


def ebft_length(data: Data) -> None:
    """Fail where utils/schemas/validation.py:2497, which only warns, fails."""
    given = data.get("ebft") or {}
    if data.get("rl") != "ebft" or given.get("mode") != "strided":
        return
    length = data.get("sequence_len", 512)
    blocks = (length - given.get("generate_max_len", 8) - given.get("context_length", 8)) // given.get("stride", 8) + 1
    _ = (length + blocks * given.get("generate_max_len", 8)) * given.get("n_samples_per_prompt", 4) > 0
