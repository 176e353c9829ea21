"""The plugins in the package of axolotl: their names, and the checks of their arguments.

`plugins:` lists classes as `module.Class` or `module:Class`; a module may leave out `axolotl.integrations.`
(integrations/base.py:374-414). Two are always loaded (one in 0.20.0, none before). Up to 0.20.0 a plugin that cannot be imported is
ignored. Third-party plugins and their keys are unknown. `BEFORE` and `AFTER` name the validator of each check, whose releases are in
the tables.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.refusals import PLUGIN, Data, refuses
from cfglint.frameworks.axolotl.releases import BUILT_IN_PLUGINS, REQUIRED_PLUGINS
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Callable
from cfglint.source.record import Record

PREFIX = "axolotl.integrations."
CONTEXT_PARALLEL, EXPERT_PARALLEL = "context_parallel", "expert_parallel"
SINCE = {  # the first releases with the folders that 0.5.2 does not have
    "context_parallel": (0, 20, 0),
    "coreweave": (0, 21, 0),
    "cut_cross_entropy": (0, 6, 0),
    "densemixer": (0, 11, 0),
    "diffusion": (0, 13, 1),
    "diffusion_decision": (0, 21, 0),
    "expert_parallel": (0, 17, 0),
    "fla_sm120_shim": (0, 20, 0),
    "hatchery": (0, 17, 0),
    "kd": (0, 7, 0),
    "kernels": (0, 14, 0),
    "llm_compressor": (0, 10, 0),
    "mixlora": (0, 20, 0),
    "mora": (0, 17, 0),
    "nebius": (0, 20, 0),
    "nemo_gym": (0, 16, 0),
    "swanlab": (0, 13, 1),
}
# Folder -> (class, the modules of the folder that contain it; empty for the package itself).
CLASSES = {
    "context_parallel": ("ContextParallelPlugin", ("", "plugin")),
    "coreweave": ("CoreWeavePlugin", ("", "plugin")),
    "cut_cross_entropy": ("CutCrossEntropyPlugin", ("",)),
    "densemixer": ("DenseMixerPlugin", ("", "plugin")),
    "diffusion": ("DiffusionPlugin", ("", "plugin")),
    "diffusion_decision": ("DiffusionDecisionPlugin", ("", "plugin")),
    "expert_parallel": ("ExpertParallelPlugin", ("", "plugin")),
    "fla_sm120_shim": ("FlaSm120ShimPlugin", ("",)),
    "grokfast": ("GrokfastPlugin", ("",)),
    "hatchery": ("HatcheryPlugin", ("", "plugin")),
    "kd": ("KDPlugin", ("",)),
    "kernels": ("KernelsPlugin", ("", "plugin")),
    "liger": ("LigerPlugin", ("", "plugin")),
    "llm_compressor": ("LLMCompressorPlugin", ("", "plugin")),
    "lm_eval": ("LMEvalPlugin", ("",)),
    "mixlora": ("MixLoraPlugin", ("", "plugin")),
    "mora": ("MoraPlugin", ("", "plugin")),
    "nebius": ("NebiusCompletionPlugin", ("completion",)),
    "nemo_gym": ("NemoGymPlugin", ("", "plugin")),
    "spectrum": ("SpectrumPlugin", ("",)),
    "swanlab": ("SwanLabPlugin", ("", "plugins")),
}


class NamedPlugin(Record):
    """A plugin as a file names it: `folder` of a plugin of axolotl, empty for any other; `problem` is the exception that ends the run.

    `ignored` is whether axolotl cannot import it and goes on without it.
    """

    index: int
    folder: str
    problem: str = ""
    ignored: bool = False


def built_in(release: Version) -> tuple[str, ...]:
    """The folders of the plugins that a release always loads."""
    if release in REQUIRED_PLUGINS:
        return (CONTEXT_PARALLEL, EXPERT_PARALLEL)
    return (CONTEXT_PARALLEL,) if release in BUILT_IN_PLUGINS else ()


def plugins_of(value: object, release: Version) -> list[NamedPlugin]:
    if isinstance(value, str):  # axolotl iterates over its letters
        return [of_release(resolve(0, value[0]), release)] if value else []
    return [of_release(resolve(index, name), release) for index, name in enumerate(value)] if isinstance(value, list) else []


def of_release(plugin: NamedPlugin, release: Version) -> NamedPlugin:
    """A plugin as a release finds it: a newer one is missing, and older releases ignore what they cannot import."""
    missing = f"ModuleNotFoundError: No module named '{PREFIX}{plugin.folder}'" if SINCE.get(plugin.folder, ()) > release else ""
    problem = plugin.problem or missing
    if not problem:
        return plugin
    return NamedPlugin(plugin.index, "", problem if release in REQUIRED_PLUGINS else "", bool(plugin.folder or plugin.problem))


def resolve(index: int, name: object) -> NamedPlugin:
    if not isinstance(name, str):
        return NamedPlugin(index, "", f"AttributeError: '{type(name).__name__}' object has no attribute 'partition'")
    module, colon, class_name = name.partition(":")
    if not colon:
        module, dot, class_name = name.rpartition(".")
        if not dot:
            return NamedPlugin(index, "", "ValueError: not enough values to unpack (expected 2, got 1)")
    ours = module.startswith(PREFIX)
    folder, _, inner = module.removeprefix(PREFIX).partition(".")
    known = CLASSES.get(folder)
    if known is not None and inner in known[1]:
        if class_name == known[0]:
            return NamedPlugin(index, folder)
        return (
            NamedPlugin(index, "", f"AttributeError: module '{PREFIX}{folder}' has no attribute '{class_name}'")
            if ours
            else NamedPlugin(index, "")
        )
    if ours and known is None:
        return NamedPlugin(index, "", f"ModuleNotFoundError: No module named '{PREFIX}{folder}'")
    return NamedPlugin(index, "")


def legacy_diffusion(data: Data) -> None:
    """Check the values as integrations/diffusion/plugin.py:33 does: when the plugin is registered: completes."""
    if data.get("diffusion") is None and data.get("diffusion_lm") is not None:
        return
    if data.get("save_strategy") == "best" and data.get("metric_for_best_model") is None:
        data["metric_for_best_model"] = "eval_loss"
    steps, ratio = data.get("warmup_steps"), data.get("warmup_ratio")
    if isinstance(steps, float) and 0 < steps < 1:
        if ratio is not None and ratio != steps:
            says = "Legacy diffusion fractional warmup_steps conflicts with an explicit warmup_ratio. Use only warmup_ratio."
            message = "a fractional `warmup_steps` of the diffusion plugin differs from `warmup_ratio`"
            raise refuses(PLUGIN, ("warmup_steps", "warmup_ratio"), message, says, raises="ValueError")
        data["warmup_ratio"], data["warmup_steps"] = steps, None


def hatchery(data: Data) -> None:
    """Complete the values as integrations/hatchery/plugin.py:38 does."""
    if data.get("remove_unused_columns") is None:
        data["remove_unused_columns"] = False


REGISTERING = Releases((0, 19, 0))  # a plugin's `register` gets the values
# Run when a plugin is registered, before all checks.
REGISTERED: dict[str, Callable[[Data], None]] = {"diffusion": legacy_diffusion, "hatchery": hatchery}
