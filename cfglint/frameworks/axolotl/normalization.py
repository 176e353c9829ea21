"""The values that axolotl computes after validation: batch, precision, intervals (utils/config/__init__.py:270-350 of 0.21.0)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.refusals import ATTENTION, BATCH, FSDP, AxolotlModel, refuses
from cfglint.frameworks.axolotl.releases import FSDP2_ONLY
from cfglint.frameworks.refusal import Refusal, Removal
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import ConfigTable

MICRO = "micro_batch_size"
ACCUMULATION = "gradient_accumulation_steps"
NAMED_DEEPSPEED = Releases((), (0, 13, 1))  # `deepspeed` is the name of a file
FIRST_OPTION: tuple[tuple[Version, str], ...] = (  # of those that axolotl reads under FSDP
    ((), "fsdp_activation_checkpointing"),
    ((0, 9, 0), "fsdp_version"),
    ((0, 12, 0), "activation_checkpointing"),
)


def normalize(model: AxolotlModel, capabilities: ConfigTable) -> Refusal | None:
    """Complete the values of the model; return the refusal if axolotl fails at that."""
    if model.release in NAMED_DEEPSPEED and isinstance(model.deepspeed, dict):  # setup_deepspeed_env puts it into the environment
        says = "str expected, not DictDefault"
        return refuses(FSDP, "deepspeed", "`deepspeed` is a mapping; this release requires the name of a file", says, raises="TypeError")
    if model.fsdp and model.fsdp_config is None and model.release not in FSDP2_ONLY:  # whose options prepare_optim_env reads
        says = f"'NoneType' object has no attribute '{next(name for since, name in reversed(FIRST_OPTION) if since <= model.release)}'"
        steps = ("set `fsdp_config`", Removal("fsdp"))
        return refuses(FSDP, ("fsdp", "fsdp_config"), "`fsdp` requires `fsdp_config`", says, remedy=steps, raises="AttributeError")
    # The accumulation is divided only where it is null or 0; the default of 1 is filled in before.
    micro, accumulation, size = model.micro_batch_size, model.gradient_accumulation_steps, model.batch_size
    try:
        model.gradient_accumulation_steps = accumulation or (size // micro)
        model.batch_size = size or micro * model.gradient_accumulation_steps
    except (TypeError, ZeroDivisionError) as error:
        key = MICRO if not micro and accumulation else ACCUMULATION
        message = f"`{key}` is {'null' if getattr(model, key) is None else getattr(model, key)}, and " + (
            "`micro_batch_size` is not a divisor" if isinstance(error, ZeroDivisionError) else "nothing else gives the batch size"
        )
        return refuses(BATCH, (key, "batch_size"), message, str(error), raises=type(error).__name__)
    # On a GPU with bf16, auto is true, else fp16 is; bf16 switches fp16 off.
    if model.bf16 == "auto" and (not model.fp16 or model.release < (0, 9, 1)):  # a written fp16 keeps `bf16: auto` off
        model.bf16 = bool(capabilities["bf16"])
        model.fp16 = model.fp16 or not model.bf16
    if model.fp16 and model.bf16 == "auto":
        model.bf16 = False
    if model.bf16:
        model.fp16 = False
    if model.tf32 == "auto":
        model.tf32 = bool(capabilities["tf32"])
    native = model.diffusion_lm is not None and not model.diffusion_lm["from_causal_lm"]
    refusal = intervals(model)
    if refusal is None and model.attn_implementation == "varlen" and not native and model.release >= (0, 21, 0):
        says = "attn_implementation: varlen is supported only for native full-sequence diffusion models that declare diffusion_varlen."
        message = "`attn_implementation: varlen` is for native diffusion models only"
        return refuses(ATTENTION, "attn_implementation", message, says, remedy="use another `attn_implementation`", raises="ValueError")
    return refusal


def intervals(model: AxolotlModel) -> Refusal | None:
    """Compute the intervals as lines 283-303 do: a number per epoch becomes a fraction of the run, below 1 only."""
    for per_epoch, steps, on in (("saves_per_epoch", "save_steps", True), ("evals_per_epoch", "eval_steps", evaluates(model))):
        count = getattr(model, per_epoch)
        if not count or not on:
            continue
        if not model.num_epochs:
            message = f"`{per_epoch}` is {count}, and `num_epochs` is 0: there is nothing to divide"
            return refuses(BATCH, ("num_epochs", per_epoch), message, "float division by zero", raises="ZeroDivisionError")
        try:
            fraction = 1.0 / (count * model.num_epochs)
        except OverflowError as error:
            return refuses(BATCH, per_epoch, f"`{per_epoch}` is too large to compute with", str(error), raises="OverflowError")
        if fraction < 1.0:
            setattr(model, steps, fraction)
    return None


def evaluates(model: AxolotlModel) -> bool:
    return bool(model.val_set_size or model.test_datasets)
