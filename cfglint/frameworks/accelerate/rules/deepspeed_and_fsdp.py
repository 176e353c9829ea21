"""Rules about the DeepSpeed and FSDP blocks, and the DeepSpeed file."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import OVERRIDE, Setting
from cfglint.findings.wording import spelled
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.remedies import remove
from cfglint.source.annotations import Iterator

# Keys that must be in the DeepSpeed file if the launcher's block names one.
DEEPSPEED_FILE_KEYS = tuple(
    """
    gradient_accumulation_steps gradient_clipping zero_stage offload_optimizer_device offload_param_device offload_param_nvme_path
    offload_optimizer_nvme_path zero3_save_16bit_model mixed_precision
    """.split()
)


@rule("ACC012")
def setting_belongs_in_deepspeed_file(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.uses_deepspeed or not config.local or not named_file(config):
        return
    text = "ValueError: When using `deepspeed_config_file`, the following accelerate config variables will be ignored: "
    exception = f"{text}{list(DEEPSPEED_FILE_KEYS)}."
    settings = [config.setting("deepspeed_config", key) for key in config.section("deepspeed_config") if key in DEEPSPEED_FILE_KEYS]
    settings = [setting for setting in settings if setting.origin != OVERRIDE]  # the launcher compares the file alone
    if config.precision_named and ("mixed_precision",) not in config.overridden:
        settings.append(config.setting("mixed_precision" if config.get("mixed_precision") is not None else "fp16"))
    for setting in settings:
        file = named_file(config)
        message = f"`{setting.path[-1]}` must be set in the DeepSpeed config file, and not here as well"
        fix = remove(setting, f"remove `{setting.path[-1]}`", safe=False)
        yield Finding(setting, message, related=(file,) if file else (), exception=exception, on_key=True, fix=fix)


def named_file(config: AccelerateConfig) -> Setting | None:
    """The setting that names the DeepSpeed file: the launcher's, or the trainer's."""
    if config.section("deepspeed_config").get("deepspeed_config_file") not in (None, "none"):
        return config.setting("deepspeed_config", "deepspeed_config_file")
    if config.trainer is not None and config.trainer.get("deepspeed"):
        return config.trainer.setting("deepspeed")
    return None


@rule("ACC013")
def efficient_loading_without_sync(config: AccelerateConfig) -> Iterator[Finding]:
    if config.distributed != "FSDP" or not config.local:
        return
    section = config.section("fsdp_config")
    loading, sync = ((name, f"fsdp_{name}") for name in ("cpu_ram_efficient_loading", "sync_module_states"))
    found = [next((name for name in reversed(names) if name in section), "") for names in (loading, sync)]
    if found[1] and not section[found[1]] and (not found[0] or section[found[0]]):
        related = (config.setting("fsdp_config", found[0]),) if found[0] else ()
        message = f"`{found[1]}` is {spelled(section[found[1]])}, but `fsdp_cpu_ram_efficient_loading` requires true"
        yield Finding(config.setting("fsdp_config", found[1]), message, related=related, help=set_key(f"fsdp_config.{found[1]}", True))


@rule("ACC017")
def overridden_mixed_precision(config: AccelerateConfig) -> Iterator[Finding]:
    trainer = config.trainer
    if trainer is None or not config.precision_named or config.uses_deepspeed:
        return
    own = next((name for name in ("fp16", "bf16") if trainer.get(name)), None)
    if own and own != config.precision:
        setting = config.setting("mixed_precision")
        message = f"`mixed_precision` is {setting.spelled}, which the Trainer's `{own}` overrides"
        yield Finding(setting, message, related=(trainer.setting(own),), help=remove_key("mixed_precision"))
