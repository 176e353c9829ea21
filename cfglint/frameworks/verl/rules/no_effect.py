"""Rules about settings with which verl starts, and that have no effect or another one than their author would expect."""

from __future__ import annotations

from cfglint.findings.remedy import set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import DEFAULT
from cfglint.findings.wording import counted
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.frameworks.verl.sizes import (
    ACTOR,
    BATCH,
    CRITIC,
    CRITIC_MICRO,
    DYNAMIC,
    LOG_PROB,
    MICRO,
    MINI,
    PER_NODE,
    REF,
    ROLLOUT,
    SAMPLES,
    quotient,
    uses_critic,
    uses_reference,
)
from cfglint.source.annotations import Iterator, Sequence

ENGINES = (0, 8)  # the first release whose workers are built on engines
KL_LOSS = f"{ACTOR}.use_kl_loss"
KL_REWARD = "algorithm.use_kl_in_reward"


@rule("VRL040")
def ineffective_critic_micro_batch(config: VerlConfig) -> Iterator[Finding]:
    setting = config.setting(CRITIC_MICRO)
    if config.version >= ENGINES and uses_critic(config.tree) and setting.origin != DEFAULT and setting.value is not None:
        message = f"`{CRITIC_MICRO}` has no effect: the critic packs its batches by tokens"
        yield Finding(setting, message, help="set `critic.ppo_max_token_len_per_gpu` to limit the memory of the critic")


@rule("VRL041")
def single_sample_group(config: VerlConfig) -> Iterator[Finding]:
    setting = config.setting(SAMPLES)
    is_said = config.copy is None or setting.origin != DEFAULT  # a copy may draw its samples by a key of its own
    if config.value("algorithm.adv_estimator") == "grpo" and config.sizes.samples == 1 and is_said:
        message = f"`{SAMPLES}` is 1, so each group of GRPO has a single sample"
        remedy = f"set `{SAMPLES}` to the samples of a group, for example 8"
        yield Finding(setting, message, related=[config.setting("algorithm.adv_estimator")], help=remedy)


@rule("VRL042")
def unused_setting(config: VerlConfig) -> Iterator[Finding]:
    if config.refused or not config.has_rollout:  # a misspelt key may be the one that uses it
        return
    tree = config.tree
    # whether a part of the run is used; None if that is unknown, or if the release does not have its switch
    loss, reward = (tree.is_true(key) if tree.raw(key) is not None else None for key in (KL_LOSS, KL_REWARD))
    parts = (
        (loss, (f"{ACTOR}.kl_loss_coef", f"{ACTOR}.kl_loss_type"), KL_LOSS, "`{}` is not true"),
        (reward, ("algorithm.kl_ctrl", "algorithm.kl_penalty"), KL_REWARD, "`{}` is not true"),
        (uses_reference(tree), (REF,), KL_LOSS, "the run uses no reference policy"),
        (uses_critic(tree), (CRITIC,), "algorithm.adv_estimator", "the run trains no critic"),
        (config.sizes.is_dynamic is not True, (MICRO, f"{ROLLOUT}.{LOG_PROB}_per_gpu"), DYNAMIC, "`{}` is true"),
    )
    keys = [".".join(map(str, path)) for path in config.origins]
    for is_used, prefixes, cause, why in parts:
        if is_used is not False:
            continue
        below = [key for key in keys if key in prefixes or key.startswith(tuple(f"{prefix}." for prefix in prefixes))]
        written = (setting for setting in map(config.setting, below) if setting.origin != DEFAULT and setting.path != ("critic.enable",))
        settings = [*written]
        if settings:
            more = f" and {counted(len(settings) - 1, 'other setting')} have" if len(settings) > 1 else " has"
            message = f"`{settings[0].name}`{more} no effect: {why.format(cause)}"
            remedy = f"remove {'them' if len(settings) > 1 else f'`{settings[0].name}`'}, or change `{cause}`"
            yield Finding(settings[0], message, related=[config.setting(cause)], on_key=True, help=remedy)


def trained_sections(config: VerlConfig) -> Sequence[str]:
    """The sections of actor and critic that the engine of FSDP trains."""
    if config.version < ENGINES or not config.sizes.is_fsdp:
        return ()
    return (ACTOR, CRITIC) if uses_critic(config.tree) else (ACTOR,)


@rule("VRL043")
def ineffective_gradient_clipping(config: VerlConfig) -> Iterator[Finding]:
    for section in trained_sections(config):
        clip, real = config.setting(f"{section}.grad_clip"), config.setting(f"{section}.optim.clip_grad")
        if clip.origin != DEFAULT and clip.value is not None and clip.value != real.value:
            message = f"`{section}.grad_clip` is not read by the engine, which clips at `{section}.optim.clip_grad` ({real.spelled})"
            yield Finding(clip, message, help=set_key(f"{section}.optim.clip_grad", clip.value))


@rule("VRL044")
def zero_warmup_steps(config: VerlConfig) -> Iterator[Finding]:
    for section in trained_sections(config):
        steps, ratio = config.setting(f"{section}.optim.lr_warmup_steps"), config.setting(f"{section}.optim.lr_warmup_steps_ratio")
        if steps.origin != DEFAULT and steps.value == 0 and isinstance(ratio.value, (int, float)) and ratio.value > 0:
            message = f"`lr_warmup_steps` is 0, which means that `lr_warmup_steps_ratio` ({ratio.spelled}) counts"
            remedy = set_key(f"{section}.optim.lr_warmup_steps_ratio", 0, " for a run without warm-up")
            yield Finding(steps, message, related=[ratio], help=remedy)


@rule("VRL045")
def offered_gpus_differ(config: VerlConfig) -> Iterator[Finding]:
    offered, sizes = config.facts.gpus, config.sizes
    if not config.has_rollout or offered is None or sizes.gpus is None or offered == sizes.gpus or (sizes.nodes or 1) > 1:
        return
    what = "Ray cannot place the workers" if offered < sizes.gpus else "the other GPUs are not used"
    message = f"`{PER_NODE}` is {sizes.gpus_per_node}, but the launch offers {offered} GPUs: {what}"
    yield Finding(config.setting(PER_NODE), message, help=set_key(PER_NODE, offered))


@rule("VRL046")
def uneven_mini_batches(config: VerlConfig) -> Iterator[Finding]:
    sizes = config.sizes
    if sizes.engine or not sizes.is_fsdp:
        return
    asked, trained, mini, parallel = sizes.mini_samples, sizes.trained_mini, sizes.mini_per_gpu, sizes.data_parallel
    if asked and trained and asked != trained:
        message = f"`{MINI}` x `{SAMPLES}` is {asked} samples, rounded down to {trained} for {parallel} data-parallel ranks"
        remedy = f"set `{MINI}` so that the product is a multiple of {parallel}"
        yield Finding(config.setting(MINI), message, related=[config.setting(SAMPLES)], help=remedy)
        return
    samples = quotient(sizes.step_samples, parallel)
    if samples and mini and samples > mini and samples % mini:
        message = f"a step has {samples} samples on each GPU: after mini batches of {mini} the last update has {samples % mini}"
        yield Finding(config.setting(MINI), message, related=[config.setting(BATCH)], help=f"set `{MINI}` to a divisor of `{BATCH}`")


@rule("VRL047")
def repeated_override(config: VerlConfig) -> Iterator[Finding]:
    seen: dict[str, object] = {}
    for override, _ in config.words:
        if override.key in seen and seen[override.key] != override.value and override.sign != "~":
            setting = config.setting(override.key)
            message = f"`{override.key}` is set again on this line: the earlier value has no effect"
            yield Finding(setting, message, on_key=True, help=f"remove all but one of the values of `{override.key}`")
        seen[override.key] = override.value


@rule("VRL048")
def steps_beyond_epochs(config: VerlConfig) -> Iterator[Finding]:
    steps, per_epoch = config.setting("trainer.total_training_steps"), config.sizes.steps_per_epoch
    epochs = config.tree.integer("trainer.total_epochs")
    if config.has_rollout and type(steps.value) is int and per_epoch and epochs is not None and steps.value > per_epoch * epochs:
        message = f"`total_training_steps` is {steps.value}, but {epochs} epochs of {per_epoch} steps end after {per_epoch * epochs}"
        remedy = f"set `trainer.total_epochs` to at least {-(-steps.value // per_epoch)}"
        yield Finding(steps, message, related=[config.setting("trainer.total_epochs")], help=remedy)
