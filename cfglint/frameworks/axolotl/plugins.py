"""The plugins in the package of axolotl: their names, and the checks of their arguments.

`plugins:` lists classes as `module.Class`, from 0.21.0 on also as `module:Class`; a module may leave out `axolotl.integrations.`
(integrations/base.py:374-414). Two are always loaded (one in 0.20.0, none before). Up to 0.20.0 a plugin that cannot be imported is
ignored. Third-party plugins and their keys are unknown.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.refusals import PLUGIN, Data, refuses
from cfglint.frameworks.axolotl.releases import BUILT_IN_PLUGINS, REQUIRED_PLUGINS
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Callable
from cfglint.source.record import Record

PREFIX = "axolotl.integrations."
NOT_FOUND = "ModuleNotFoundError: No module named"
CONTEXT_PARALLEL, EXPERT_PARALLEL = "context_parallel", "expert_parallel"
# Folder -> (class, the modules of the folder that contain it, empty for the package itself, the first release with it after 0.5.2).
CLASSES: dict[str, tuple[str, tuple[str, ...], Version]] = {
    "context_parallel": ("ContextParallelPlugin", ("", "plugin"), (0, 20, 0)),
    "coreweave": ("CoreWeavePlugin", ("", "plugin"), (0, 21, 0)),
    "cut_cross_entropy": ("CutCrossEntropyPlugin", ("",), (0, 6, 0)),
    "densemixer": ("DenseMixerPlugin", ("", "plugin"), (0, 11, 0)),
    "diffusion": ("DiffusionPlugin", ("", "plugin"), (0, 13, 1)),
    "diffusion_decision": ("DiffusionDecisionPlugin", ("", "plugin"), (0, 21, 0)),
    "expert_parallel": ("ExpertParallelPlugin", ("", "plugin"), (0, 17, 0)),
    "fla_sm120_shim": ("FlaSm120ShimPlugin", ("",), (0, 20, 0)),
    "grokfast": ("GrokfastPlugin", ("",), ()),
    "hatchery": ("HatcheryPlugin", ("", "plugin"), (0, 17, 0)),
    "kd": ("KDPlugin", ("",), (0, 7, 0)),
    "kernels": ("KernelsPlugin", ("", "plugin"), (0, 14, 0)),
    "liger": ("LigerPlugin", ("", "plugin"), ()),
    "llm_compressor": ("LLMCompressorPlugin", ("", "plugin"), (0, 10, 0)),
    "lm_eval": ("LMEvalPlugin", ("",), ()),
    "mixlora": ("MixLoraPlugin", ("", "plugin"), (0, 20, 0)),
    "mora": ("MoraPlugin", ("", "plugin"), (0, 17, 0)),
    "nebius": ("NebiusCompletionPlugin", ("completion",), (0, 20, 0)),
    "nemo_gym": ("NemoGymPlugin", ("", "plugin"), (0, 16, 0)),
    "spectrum": ("SpectrumPlugin", ("",), ()),
    "swanlab": ("SwanLabPlugin", ("", "plugins"), (0, 13, 1)),
}


class NamedPlugin(Record):
    """A plugin of the file: `folder` of one of axolotl's, `problem` that ends the run, `ignored` if axolotl goes on without it."""

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
    """The plugins of a release that `plugins` names; releases before 0.21.0 go on without one that they cannot import."""
    if value and not isinstance(value, str | list | dict):
        return [NamedPlugin(0, "", f"TypeError: '{type(value).__name__}' object is not iterable")]
    each = [*value[:1]] if isinstance(value, str) else value  # axolotl iterates over letters, too
    names = [*each] if isinstance(each, list | dict) else []
    plugins = []
    for plugin in (resolve(index, name, release) for index, name in enumerate(names)):
        is_newer = plugin.folder in CLASSES and CLASSES[plugin.folder][2] > release
        problem = f"{NOT_FOUND} '{PREFIX}{plugin.folder}'" if is_newer else plugin.problem
        is_ignored = problem.startswith(NOT_FOUND) and release not in REQUIRED_PLUGINS
        plugins.append(NamedPlugin(plugin.index, "", "" if is_ignored else problem, is_ignored) if problem else plugin)
    return plugins


def resolve(index: int, name: object, release: Version) -> NamedPlugin:
    with_colon = release in REQUIRED_PLUGINS
    if not isinstance(name, str):
        method = "partition" if with_colon else "rsplit"
        return NamedPlugin(index, "", f"AttributeError: '{type(name).__name__}' object has no attribute '{method}'")
    module, colon, class_name = name.partition(":") if with_colon else ("", "", "")
    if not colon:
        module, dot, class_name = name.rpartition(".")
        if not dot:
            return NamedPlugin(index, "", "ValueError: not enough values to unpack (expected 2, got 1)")
    ours = module.startswith(PREFIX)
    folder, _, inner = module.removeprefix(PREFIX).partition(".")
    known, problem = CLASSES.get(folder), ""
    if known is None:
        problem = f"{NOT_FOUND} '{PREFIX}{folder}'"
    elif inner in known[1]:
        if class_name == known[0]:
            return NamedPlugin(index, folder)
        problem = f"AttributeError: module '{PREFIX}{folder}' has no attribute '{class_name}'"
    return NamedPlugin(index, "", problem if ours else "")


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
