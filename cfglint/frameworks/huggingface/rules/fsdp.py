"""Rules about fully sharded data parallelism: the options of `fsdp`, the section `fsdp_config`, and incompatible settings."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.diagnostic import WARNING
from cfglint.findings.releases import Releases
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import PLAIN_KEYS, READS_VERSION, SECTION_RULES, FsdpSection, of, refused, shown
from cfglint.frameworks.remedies import choice, excludes, replace
from cfglint.source.annotations import Iterator

TEXT_OF_BOOLEANS = (4, 41)  # a boolean is made a string from here on; before, only a string can be put into the environment
BOOLEANS: dict[str, Releases] = {
    "forward_prefetch": Releases((4, 39, 0)),  # misspelt before
    "use_orig_params": Releases(PLAIN_KEYS),
    "sync_module_states": Releases(PLAIN_KEYS),
    "cpu_ram_efficient_loading": Releases(TEXT_OF_BOOLEANS),
}
OF_FIRST = ("forward_prefetch", "use_orig_params")  # not read for FSDP 2
WORDS = ("full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2", "offload", "auto_wrap")
STRATEGIES = WORDS[:5]
LOCAL = "LOCAL_STATE_DICT"
STATE_TYPES = ("FULL_STATE_DICT", LOCAL, "SHARDED_STATE_DICT")
PREFETCHES = ("BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH")
LAYERS, ARGUMENT_OF_LAYERS = "transformer_layer_cls_to_wrap", "fsdp_transformer_layer_cls_to_wrap"
TRUTHS = ("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0")
KNOWN = frozenset(
    "version reshard_after_forward cpu_offload activation_checkpointing cpu_ram_efficient_loading state_dict_type auto_wrap_policy"
    " transformer_layer_cls_to_wrap min_num_params xla xla_fsdp_settings xla_fsdp_v2 xla_fsdp_grad_ckpt forward_prefetch"
    " backward_prefetch use_orig_params sync_module_states limit_all_gathers".split()
)


@rule("HFT020")
def invalid_fsdp_option(config: TrainerConfig) -> Iterator[Finding]:
    yield from refused(config, "HFT020")
    value = config.arguments["fsdp"]
    words = value if isinstance(value, list) and config.version < SECTION_RULES else []
    for word in (word for word in words if isinstance(word, str) and word not in WORDS):
        message = f"`fsdp` contains the unknown option {word}, which is ignored"
        yield Finding(of(config, "fsdp"), message, severity=WARNING, help=choice("fsdp", word, WORDS))


@rule("HFT021")
def invalid_fsdp_config_value(config: TrainerConfig) -> Iterator[Finding]:
    yield from refused(config, "HFT021")
    section = FsdpSection(config)
    values, first = section.values, section.version != 2
    if not config.uses_fsdp or values.get("xla"):
        return
    if config.version >= SECTION_RULES:
        if first:
            yield from _named(section, "reshard_after_forward", STRATEGIES)
            yield from _named(section, "backward_prefetch", PREFETCHES)
        yield from _named(section, "state_dict_type", STATE_TYPES)
        state = values.get("state_dict_type")
        if not first and isinstance(state, str) and state.upper() in (LOCAL, "2"):
            text = "ValueError: FSDP2 does not support LOCAL_STATE_DICT. Please set `fsdp_state_dict_type` to `SHARDED_STATE_DICT`"
            message = f"`fsdp_config.state_dict_type` is {shown(state)}, which FSDP2 does not support"
            remedy = set_key("fsdp_config.state_dict_type", "SHARDED_STATE_DICT")
            yield Finding(section.place("state_dict_type"), message, exception=text, fails_at="init", help=remedy)
        return
    if first and config.version >= READS_VERSION:
        yield from _named(section, "reshard_after_forward", STRATEGIES)
    prefetch = values.get("backward_prefetch", "NO_PREFETCH")
    if first and isinstance(prefetch, str) and prefetch.upper() not in PREFETCHES:
        text = f"ValueError: {prefetch.upper()!r} is not in list"
        yield not_named(section, "backward_prefetch", prefetch, shown(prefetch), PREFETCHES, text)
    for key in (each for each, releases in BOOLEANS.items() if each in values and config.version in releases):
        if not first and key in OF_FIRST:
            continue
        if (config.version >= TEXT_OF_BOOLEANS or isinstance(values[key], str)) and str(values[key]).lower() not in TRUTHS:
            text = f"ValueError: invalid truth value {str(values[key]).lower()}"
            message = f"`fsdp_config.{key}` is {shown(values[key])}, not a boolean"
            yield Finding(section.place(key), message, exception=text, fails_at="init", help=f"set `fsdp_config.{key}` to true or false")


def _named(section: FsdpSection, key: str, names: tuple[str, ...]) -> Iterator[Finding]:
    """The finding about a value that is no member of an enumeration; values of `reshard_after_forward` are made strings before."""
    value = section.values.get(key)
    if key == "reshard_after_forward" and key in section.values and not isinstance(value, Unknown):
        value = str(value)
    if isinstance(value, str) and not value.isdigit() and value.upper() not in (name.upper() for name in names):
        yield not_named(section, key, value, section.place(key).spelled, names, f"KeyError: {value.upper()!r}")


def not_named(section: FsdpSection, key: str, value: str, spelled: str, names: tuple[str, ...], text: str) -> Finding:
    message, remedy = f"`fsdp_config.{key}` is {spelled}; it must be one of {', '.join(names)}", choice(f"fsdp_config.{key}", value, names)
    return Finding(section.place(key), message, exception=text, fails_at="init", help=remedy)


@rule("HFT099")
def misspelt_layer_class(config: TrainerConfig) -> Iterator[Finding]:
    section = FsdpSection(config)
    written = ((of(config, ARGUMENT_OF_LAYERS), config.arguments[ARGUMENT_OF_LAYERS]), (section.place(LAYERS), section.values.get(LAYERS)))
    lists = ((setting, value if isinstance(value, list) else [value]) for setting, value in written)
    names = [(setting, name) for setting, values in lists for name in values if isinstance(name, str)]
    if not names or not config.uses_fsdp:
        return
    from cfglint.frameworks.memory.named_models import model_of
    from cfglint.frameworks.peft.modules import class_prefix

    model = model_of(config)
    prefix = class_prefix(model.shape.model_type, config.version) if model is not None else ""
    for setting, name in names:
        if prefix and name.lower().startswith(prefix.lower()) and not name.startswith(prefix):
            near = prefix + name[len(prefix) :]
            message = f"`{name}` is not a class of the model, whose classes begin with `{prefix}`; did you mean `{near}`?"
            text = f"ValueError: Could not find the transformer layer class {name} in the model."
            doubts = (Reason("file", model.assumption),) if model is not None and model.assumption else ()
            fix = replace(setting, near, f"write {near}", safe=False) if setting.value == name else None
            yield Finding(setting, message, exception=text, depends_on=doubts, fix=fix)


@rule("HFT022")
def fsdp_without_launcher(config: TrainerConfig) -> Iterator[Finding]:
    if config.uses_fsdp and config.launched is False and not FsdpSection(config).values.get("xla"):
        remedy = remove_key("fsdp") | "start the run on several GPUs with torchrun or accelerate launch"
        yield Finding(of(config, "fsdp"), "`fsdp` requires distributed training, but one process runs without a launcher", help=remedy)


@rule("HFT023")
def fsdp_with_deepspeed(config: TrainerConfig) -> Iterator[Finding]:
    if config.uses_fsdp and config.uses_deepspeed:
        yield excludes(of(config, "fsdp"), of(config, "deepspeed"))


@rule("HFT024")
def duplicate_activation_checkpointing(config: TrainerConfig) -> Iterator[Finding]:
    if not config.uses_fsdp or not config.arguments.checkpointing or config.launched is not True:
        return
    section = FsdpSection(config)
    value = section.values.get("activation_checkpointing")
    if value is True or (config.version < SECTION_RULES and value) or str(value).lower() in TRUTHS[:6]:
        key = config.arguments.checkpointing_key
        text = f"ValueError: `fsdp_config['activation_checkpointing']` and the `{key}` training argument can't both be set to True"
        place = section.place("activation_checkpointing")
        message = f"`fsdp_config.activation_checkpointing` is incompatible with `{key}`; enable only one of them"
        remedy = remove_key("fsdp_config.activation_checkpointing") | set_key(key, False)
        yield Finding(place, message, related=(config.setting(key),), exception=text, help=remedy)


@rule("HFT069")
def redundant_all_gather(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["fsdp"]
    words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    sharded = not {"full_shard", "hybrid_shard"}.isdisjoint(map(str, words)) or value is True
    if not config.uses_fsdp or not sharded or not config.arguments.checkpointing:
        return
    if FsdpSection(config).values.get("activation_checkpointing"):
        return
    key = config.arguments.checkpointing_key
    message = f"`{key}` gathers the parameters that FSDP shards once more in the backward pass"
    yield Finding(config.setting(key), message, help=set_key("fsdp_config.activation_checkpointing", True) & remove_key(key))


@rule("HFT025")
def unsupported_save_only_model(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    sharded = config.uses_fsdp and config.launched is True
    if not args["save_only_model"] or not (config.uses_deepspeed or sharded):
        return
    if args["load_best_model_at_end"]:
        wrapper = "DeepSpeed" if config.uses_deepspeed else "FSDP"
        text = f"ValueError: {wrapper} can't be used with `save_only_model` along with `load_best_model_at_end`."
        message = f"`save_only_model` is incompatible with `load_best_model_at_end` under {wrapper}"
        remedy = set_key("save_only_model", False) | set_key("load_best_model_at_end", False)
        yield Finding(of(config, "save_only_model"), message, related=(of(config, "load_best_model_at_end"),), exception=text, help=remedy)
        return
    state = FsdpSection(config).values.get("state_dict_type")
    if sharded and config.version >= SECTION_RULES and str(state).upper() == "SHARDED_STATE_DICT":
        text = "ValueError: save_only_model option is not compatible with FSDP state dict type 'SHARDED_STATE_DICT'"
        message = "`save_only_model` is incompatible with `fsdp_config.state_dict_type: SHARDED_STATE_DICT`"
        remedy = set_key("fsdp_config.state_dict_type", "FULL_STATE_DICT") | set_key("save_only_model", False)
        yield Finding(of(config, "save_only_model"), message, exception=text, help=remedy)


@rule("HFT026")
def unused_fsdp_config(config: TrainerConfig) -> Iterator[Finding]:
    section = config.section("fsdp_config")
    if section and any(section.values()) and not config.uses_fsdp:
        message = "`fsdp_config` is ignored, because `fsdp` is off"
        yield Finding(config.setting("fsdp_config"), message, on_key=True, help="set `fsdp` too" | remove_key("fsdp_config"))


@rule("KEY204")
def unknown_fsdp_config_key(config: TrainerConfig) -> Iterator[Finding]:
    section = FsdpSection(config)
    for key in section.values if config.uses_fsdp else ():
        if isinstance(key, str) and key not in KNOWN:
            message = f"unknown key `{key}` in `fsdp_config` is ignored"
            yield Finding(section.place(key), message, on_key=True, help=remove_key(f"fsdp_config.{key}"))
