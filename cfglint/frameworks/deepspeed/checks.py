"""What `DeepSpeedConfig` refuses while it is built: its rows, in the order of the constructor, but for those of the batch (`batch.py`)."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.wording import described, listed, spelled
from cfglint.frameworks.deepspeed import FRAMEWORK
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.refusal import Refusal, Removal, Words
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.remedies import choice
from cfglint.frameworks.rows.refusals import BATCH, Check, Plan, pages_of, unknown_field
from cfglint.frameworks.rows.table import table_of
from cfglint.source import cached
from cfglint.source.annotations import ConfigTable

CONSTRUCTOR = "DeepSpeedConfig"
PRECISIONS, SUM, MODULES = "PRC100", "DSP010", "TYP107"
COEFFICIENT = "DSP072"
OF_ENGINE = {"expert_parallel": "DSP073", "curriculum_learning": "DSP076"}  # sections that the engine checks by rows, and their pages
SWITCHES = {page: f"{section}.enabled" for section, page in OF_ENGINE.items()}
WORLD = "world_size"
MODELS = ("zero_optimization", "fp16", "bf16", "compile", "tensor_parallel")  # sections whose rows get the values of their models
KEPT = ("stage", "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
# The pages of keys on which Python fails; other rules have the sections that are no mappings.
OF_KEYS = {
    "communication_data_type": "TYP104",
    "seq_parallel_communication_data_type": "TYP104",
    "seq_parallel_comm_data_type": "TYP104",
    "checkpoint": "TYP106",
    "vocabulary_size": "TYP112",
    "optimizer": "TYP112",
    "curriculum_learning": OF_ENGINE["curriculum_learning"],
}
ATTRIBUTES = {"optimizer_params": ("optimizer", "params"), "keep_in_fp32_modules": ("data_types", "keep_in_fp32_modules")}  # and their keys
NORM = ("optimizer", "params", "max_grad_norm")
WRITER = "writer contains invalid value"


@cached
def plan(release: Version, asks_engine: bool) -> Plan:
    keys, sanity, engine = (table_of(FRAMEWORK.kind).rows(stage, CONSTRUCTOR, release) for stage in ("keys", "sanity", "engine"))
    return Plan({"config": [*keys, *sanity], "init": engine if asks_engine else []})


def refusals(config: DeepSpeedConfig) -> list[Refusal]:
    written = {**config.values, **{name: unknown_field(name) for name in BATCH}}
    defaults: ConfigTable = {WORLD: unknown_field(WORLD) if config.world_size is None else config.world_size}
    for name in MODELS:
        section = config.section(name)
        refused = {str(fault.path[0]): unknown_field(name) for fault in section.faults if fault.path}
        (written if config.section_key(name) in written else defaults)[name] = {**section.values, **refused}
    rows = plan(config.version, not written.keys().isdisjoint(OF_ENGINE))
    check = Check(rows, written, defaults, (), lambda *_: None, pages_of(FRAMEWORK.kind))
    return [refusal for refusal in check.refusals(Words(KEPT, {(WORLD,): ""}, lambda key: True)) if is_worded(config, refusal)]


def is_worded(config: DeepSpeedConfig, refusal: Refusal) -> bool:
    """Say what is wrong where the framework's words do not; whether a page speaks of the refusal at all."""
    from cfglint.frameworks.rows.reasons import first_words

    refusal.paths = [(*ATTRIBUTES.get(each[0], each[:1]), *each[1:]) for each in refusal.paths]
    if WRITER in refusal.exception:
        refusal.paths = [("checkpoint", "writer", refusal.exception.partition(" for ")[2].partition(",")[0])]
    path, failed = refusal.paths[0] if refusal.paths else ("",), refusal.failed
    if failed:
        root, path = path[0], next((path[:end] for end in range(1, len(path)) if not isinstance(config.get(*path[:end]), dict)), path)
        if root not in OF_KEYS or path == ("checkpoint",) or refusal.exception.endswith("'keys'"):
            return False
        refusal.kind, refusal.paths = OF_KEYS[str(root)], [NORM if root == "optimizer" else (root,) if root in OF_ENGINE else path]
    setting, kind = config.setting(*refusal.paths[0]), refusal.kind
    name, value = setting.name, setting.value
    choices, said = refusal.exception.partition("expecting one of ")[2], first_words(refusal.exception.partition(": ")[2])
    if kind in SWITCHES:
        switch = SWITCHES[kind]
        refusal.paths = [each for each in refusal.paths if dotted(each) != switch] or [(switch.partition(".")[0],)]
        steps = [step for step in refusal.help if not (isinstance(step, Removal) and step.key == switch)]
        what = "no" if refusal.exception.startswith("KeyError: ") else "a wrong value:"
        refusal.message, refusal.help = (
            f"`{name}` has {what} {said}" if failed else said or refusal.message,
            [*steps, set_key(switch, False)],
        )
    elif "no attribute" in refusal.exception:
        wanted = "a string" if refusal.exception.endswith(("'lower'", "'upper'")) else "an object"
        refusal.message, refusal.help = f"`{name}` is {spelled(value)}, not {wanted}", [remove_key(name)]
    elif refusal.exception.startswith("TypeError"):
        remedy = "remove `optimizer.params.max_grad_norm`, and set top-level `gradient_clipping`"
        is_number = isinstance(value, str) and value.isdecimal()
        refusal.message = f"`{name}` is {described(value)}, not a number"
        refusal.help = [remedy] if refusal.paths[0] == NORM else [set_key(name, int(value))] if is_number else [remove_key(name)]
    elif choices:
        names = choices.strip("[]").replace("'", "").lower().split(", ")
        refusal.message = f"`{name}` is {spelled(value)}; it must be {listed(map(spelled, names))}"
        refusal.help = [choice(name, value, names)]
    elif kind == MODULES:
        refusal.message = f'`{name}` is {spelled(value)}; it must be "auto" or a list of strings'
        refusal.help = [set_key(name, "auto"), "write a list of strings"]
    elif "only supported with ZeRO" in refusal.exception:
        stages = refusal.exception.partition("with ")[2].removesuffix(".").removesuffix(" for now")
        refusal.message = f"`{name}` requires {stages}, but the stage is {config.stage}"
    elif kind == PRECISIONS:
        refusal.help = [set_key(config.at(section, "enabled").name, False) for section in ("fp16", "bf16")]
        return {"fp16.enabled", "bf16.enabled"}.isdisjoint(config.mismatched_keys)  # of which the trainer fails before
    elif kind == COEFFICIENT:
        refusal.message = f"`{name}` is not supported"
    elif kind == SUM:
        refusal.help = [set_key(name, "mean")]
    return True
