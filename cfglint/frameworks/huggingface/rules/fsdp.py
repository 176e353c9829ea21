"""Rules about fully sharded data parallelism: the options of `fsdp`, the section `fsdp_config`, and incompatible settings."""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.findings.diagnostic import WARNING
from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import Setting
from cfglint.findings.wording import spelled
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import of, shown
from cfglint.frameworks.remedies import choice, either, excludes, mistyped, not_attribute
from cfglint.frameworks.versions import Version
from cfglint.source.annotations import ConfigMapping, ConfigValue, Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage

NULL_IS_OFF = (4, 57)  # from here on null is treated as an empty string
ZERO_IS_OFF = (5, 0)  # from here on so is every false value
PLAIN_KEYS = (4, 32)  # the keys of fsdp_config have the prefix `fsdp_` before
TEXT_OF_BOOLEANS = (4, 41)  # a boolean is made a string from here on; before, only a string can be put into the environment
BOOLEANS: dict[str, Releases] = {
    "forward_prefetch": Releases((4, 39, 0)),  # misspelt before
    "use_orig_params": Releases(PLAIN_KEYS),
    "sync_module_states": Releases(PLAIN_KEYS),
    "cpu_ram_efficient_loading": Releases(TEXT_OF_BOOLEANS),
}
SECTION_RULES = (5, 10)  # FSDP2 and checks of fsdp_config from here on
WORDS = ("full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2", "offload", "auto_wrap")
STRATEGIES = ("full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2")
FSDP2_STRATEGIES = ("full_shard", "shard_grad_op")
POLICIES = ["TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"]
LOCAL = "LOCAL_STATE_DICT"
STATE_TYPES = ("FULL_STATE_DICT", LOCAL, "SHARDED_STATE_DICT")
PREFETCHES = ("BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH")
TRUTHS = ("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0")
SHARED_TRUTHS = {"cpu_ram_efficient_loading": "false", "activation_checkpointing": None}
FSDP1_TRUTHS = {
    "forward_prefetch": "false",
    "use_orig_params": "true",
    "sync_module_states": "true",
    "limit_all_gathers": None,
}
KNOWN = frozenset(
    """
    version reshard_after_forward cpu_offload activation_checkpointing cpu_ram_efficient_loading state_dict_type auto_wrap_policy
    transformer_layer_cls_to_wrap min_num_params xla xla_fsdp_settings xla_fsdp_v2 xla_fsdp_grad_ckpt forward_prefetch
    backward_prefetch use_orig_params sync_module_states limit_all_gathers
    """.split()
)


class FsdpSection:
    """The section `fsdp_config` without its `fsdp_` prefixes; `place` returns the key as written."""

    def __init__(self, config: TrainerConfig) -> None:
        self.config = config
        written = config.section("fsdp_config") or {}
        self.values: ConfigMapping = {}
        self.spelling: ConfigMapping = {}
        strips = config.version >= SECTION_RULES or "fsdp_config" in config.files
        for key, value in written.items():
            is_prefixed = isinstance(key, str) and key.startswith("fsdp_")
            if config.version < PLAIN_KEYS and not is_prefixed and key != "xla":
                continue
            name = key[5:] if is_prefixed and (strips or config.version < PLAIN_KEYS) else key
            self.values[name] = value
            self.spelling[name] = key

    def place(self, key: str) -> Setting:
        """The setting of a key."""
        return self.config.setting("fsdp_config", self.spelling.get(key, key))

    @property
    def version(self) -> int | None:
        """FSDP 1 or 2; None where the value is not a number."""
        if self.config.version < SECTION_RULES:
            return 1
        try:
            return int(self.values.get("version", 2))
        except (TypeError, ValueError):
            return None


def words(config: TrainerConfig) -> list[ConfigValue]:
    """The options of `fsdp`, where it is a string or a list."""
    value = config.arguments["fsdp"]
    return value.split() if isinstance(value, str) else value if isinstance(value, list) else []


@rule("HFT020")
def invalid_fsdp_option(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["fsdp"]
    if not value and "fsdp" not in config.arguments:
        return
    setting = of(config, "fsdp")
    modern = config.version >= SECTION_RULES
    if not modern and "fsdp" in config.arguments and is_refused_scalar(config, value):
        text = f"TypeError: argument of type '{type(value).__name__}' is not iterable"
        remedy = "set `fsdp: full_shard`, or remove `fsdp`"
        yield Finding(setting, f"`fsdp` is {shown(value)}; it must be a string of options or a boolean", exception=text, help=remedy)
    given = words(config)
    for word in given:
        if not isinstance(word, str):
            yield Finding(setting, f"`fsdp` contains {shown(word)}, which is not a string", exception=not_attribute(word, "upper"))
        elif word.lower() not in WORDS or (not modern and word not in WORDS):
            text = f"Unknown `fsdp` option: {word}" if modern else f"{word} is not a valid FSDPOption"
            if not modern and isinstance(value, list):
                remedy = choice("fsdp", word, WORDS)
                yield Finding(setting, f"`fsdp` contains the unknown option {word}, which is ignored", severity=WARNING, help=remedy)
                continue
            remedy = choice("fsdp", word, WORDS)
            yield Finding(setting, f"`fsdp` contains the unknown option {word}", exception=f"ValueError: {text}", help=remedy)
        elif modern and FsdpSection(config).version == 2 and word.lower() in STRATEGIES and word not in FSDP2_STRATEGIES:
            text = f"ValueError: `fsdp={word}` is only available with FSDP1."
            remedy = "set `fsdp_config.version: 1`, or another option in `fsdp`"
            yield Finding(setting, f"`fsdp: {word}` requires FSDP1, but `fsdp_config.version` is 2", exception=text, help=remedy)
    if not modern:
        yield from _old_conflicts(given, setting)


def _old_conflicts(given: list[ConfigValue], setting: Setting) -> Iterator[Finding]:
    if given == ["offload"]:
        message = "`fsdp: offload` requires a sharding option (full_shard or shard_grad_op)"
        yield Finding(
            setting, message, exception="ValueError: `--fsdp offload` can't work on its own.", help="set `fsdp: full_shard offload`"
        )
    elif "full_shard" in given and "shard_grad_op" in given:
        text = "ValueError: `--fsdp full_shard` is not compatible with `--fsdp shard_grad_op`."
        yield Finding(
            setting,
            "`fsdp` has the options full_shard and shard_grad_op, which are incompatible",
            exception=text,
            help="set `fsdp: full_shard`, or `fsdp: shard_grad_op`",
        )


def is_refused_scalar(config: TrainerConfig, value: object) -> bool:
    """Whether `fsdp` is null or a number in a release that searches it for options."""
    if value is None:
        return config.version < NULL_IS_OFF
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and (bool(value) or config.version < ZERO_IS_OFF)


@rule("HFT021")
def invalid_fsdp_config_value(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["fsdp_config"]
    on = config.uses_fsdp
    if value is not None and not isinstance(value, (dict, str)) and (on or config.version < SECTION_RULES):
        text = not_attribute(value, "get")
        if config.version >= SECTION_RULES and not isinstance(value, list):  # its keys are renamed first (training_args.py:2784)
            text = f"TypeError: '{type(value).__name__}' object is not iterable"
        yield mistyped(config.setting("fsdp_config"), "a mapping", text, "remove `fsdp_config`, or write a mapping")
        return
    section = FsdpSection(config)
    if not on or section.values.get("xla"):
        return
    if config.version >= SECTION_RULES:
        yield from _modern_values(section)
    else:
        yield from _old_values(section, words(config), config)


def _modern_values(section: FsdpSection) -> Iterator[Finding]:
    values = section.values
    if section.version is None:
        text = f"ValueError: invalid literal for int() with base 10: {values['version']!r}"
        if not isinstance(values["version"], str):
            kind = type(values["version"]).__name__
            text = f"TypeError: int() argument must be a string, a bytes-like object or a real number, not '{kind}'"
        yield Finding(
            section.place("version"),
            f"`fsdp_config.version` is {shown(values['version'])}, not an integer",
            exception=text,
            help="set `fsdp_config.version: 2`",
        )
    policy = values.get("auto_wrap_policy", POLICIES[0])
    if policy not in POLICIES:
        text = f"ValueError: `auto_wrap_policy` must be one of {POLICIES}, got {policy}."
        message = f"`fsdp_config.auto_wrap_policy` is {shown(policy)}; it must be one of {', '.join(POLICIES)}"
        yield Finding(
            section.place("auto_wrap_policy"), message, exception=text, help=choice("fsdp_config.auto_wrap_policy", policy, POLICIES)
        )
    truths = dict(SHARED_TRUTHS)
    if section.version == 2:
        truths["reshard_after_forward"] = "true"
    else:
        truths.update(FSDP1_TRUTHS)
    for key in truths:
        if key in values and str(values[key]).lower() not in TRUTHS:
            text = f"ValueError: invalid truth value {str(values[key]).lower()}"
            yield Finding(
                section.place(key),
                f"`fsdp_config.{key}` is {shown(values[key])}, not a boolean",
                exception=text,
                help=f"set `fsdp_config.{key}` to true or false",
            )
    if section.version != 2:
        yield from _named(section, "reshard_after_forward", STRATEGIES, "init", is_text=True)
        yield from _prefetch_of_another_type(section)
        yield from _named(section, "backward_prefetch", PREFETCHES, "init")
    yield from _named(section, "state_dict_type", STATE_TYPES, "init")
    state = values.get("state_dict_type")
    if section.version == 2 and isinstance(state, str) and state.upper() in (LOCAL, "2"):
        text = "ValueError: FSDP2 does not support LOCAL_STATE_DICT. Please set `fsdp_state_dict_type` to `SHARDED_STATE_DICT`"
        message = f"`fsdp_config.state_dict_type` is {shown(state)}, which FSDP2 does not support"
        remedy = "set `fsdp_config.state_dict_type: SHARDED_STATE_DICT`"
        yield Finding(section.place("state_dict_type"), message, exception=text, fails_at="init", help=remedy)


def _prefetch_of_another_type(section: FsdpSection) -> Iterator[Finding]:
    value = section.values.get("backward_prefetch", "")
    if not isinstance(value, (str, Unknown)):
        yield mistyped(
            section.place("backward_prefetch"), "a string", not_attribute(value, "upper"), "set `backward_prefetch: NO_PREFETCH`"
        )


def _named(section: FsdpSection, key: str, names: tuple[str, ...], fails_at: Stage, is_text: bool = False) -> Iterator[Finding]:
    """The finding about a value that is no member of an enumeration; `is_text`: other values are made strings before."""
    value = section.values.get(key)
    if is_text and key in section.values and not isinstance(value, Unknown):
        value = str(value)
    if key in section.values and isinstance(value, str) and not value.isdigit() and value.upper() not in (name.upper() for name in names):
        text = f"KeyError: {value.upper()!r}"
        message = f"`fsdp_config.{key}` is {section.place(key).spelled}; it must be one of {', '.join(names)}"
        yield Finding(section.place(key), message, exception=text, fails_at=fails_at, help=choice(f"fsdp_config.{key}", value, names))


def _old_values(section: FsdpSection, given: list[ConfigValue], config: TrainerConfig) -> Iterator[Finding]:
    values = section.values
    size, layers = values.get("min_num_params", 0), values.get("transformer_layer_cls_to_wrap")
    least = config.arguments["fsdp_min_num_params"]
    if isinstance(size, (int, float)) and isinstance(least, (int, float)):
        size = max(size, least)
    named = layers is not None or config.arguments["fsdp_transformer_layer_cls_to_wrap"] is not None
    if isinstance(size, (int, float)) and size > 0 and named:
        prefix = "--fsdp_" if config.version < PLAIN_KEYS else ""
        text = f"ValueError: `{prefix}min_num_params` and `{prefix}transformer_layer_cls_to_wrap` are mutually exclusive."
        message = "`fsdp_config.min_num_params` is incompatible with `transformer_layer_cls_to_wrap`"
        remedy = either("fsdp_config.min_num_params", "fsdp_config.transformer_layer_cls_to_wrap")
        yield Finding(section.place("min_num_params"), message, exception=text, help=remedy)
    sync = str(values.get("sync_module_states", "true")).lower()
    if config.version >= TEXT_OF_BOOLEANS and sync == "false" and str(values.get("cpu_ram_efficient_loading", "false")).lower() == "true":
        text = 'ValueError: `sync_module_states` must be `"True"` if `cpu_ram_efficient_loading` is `"True"`'
        message = "`fsdp_config.sync_module_states` is false, but `cpu_ram_efficient_loading` requires it"
        yield Finding(section.place("sync_module_states"), message, exception=text, help="set `fsdp_config.sync_module_states: true`")
    yield from _prefetch_of_another_type(section)
    prefetch = values.get("backward_prefetch", "NO_PREFETCH")
    if isinstance(prefetch, str) and prefetch.upper() not in PREFETCHES:
        text = f"ValueError: {prefetch.upper()!r} is not in list"
        message = f"`fsdp_config.backward_prefetch` is {shown(prefetch)}; it must be one of {', '.join(PREFETCHES)}"
        remedy = choice("fsdp_config.backward_prefetch", prefetch, PREFETCHES)
        yield Finding(section.place("backward_prefetch"), message, exception=text, fails_at="init", help=remedy)
    yield from _booleans(section, config.version)


def _booleans(section: FsdpSection, version: Version) -> Iterator[Finding]:
    values = section.values
    for key in (each for each, releases in BOOLEANS.items() if each in values and version in releases):
        if version < TEXT_OF_BOOLEANS and not isinstance(values[key], str):
            text = f"TypeError: str expected, not {type(values[key]).__name__}"
            message = f"`fsdp_config.{key}` is {shown(values[key])}; this release requires a string"
            quoted = f"set `fsdp_config.{key}` to {spelled(str(values[key]).lower())}"
            yield Finding(section.place(key), message, exception=text, fails_at="config", help=quoted)
        elif str(values[key]).lower() not in TRUTHS:
            text = f"ValueError: invalid truth value {str(values[key]).lower()}"
            message = f"`fsdp_config.{key}` is {shown(values[key])}, not a boolean"
            yield Finding(section.place(key), message, exception=text, fails_at="init", help=f"set `fsdp_config.{key}` to true or false")


@rule("HFT022")
def fsdp_without_launcher(config: TrainerConfig) -> Iterator[Finding]:
    if config.uses_fsdp and config.launched is False and not FsdpSection(config).values.get("xla"):
        yield Finding(
            of(config, "fsdp"),
            "`fsdp` requires distributed training, but 1 GPU runs without a launcher",
            help="remove `fsdp`, or start the run on several GPUs with torchrun or accelerate launch",
        )


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
        yield Finding(
            place,
            message,
            related=(config.setting(key),),
            exception=text,
            help=f"remove `fsdp_config.activation_checkpointing`, or set `{key}: false`",
        )


@rule("HFT069")
def redundant_all_gather(config: TrainerConfig) -> Iterator[Finding]:
    sharded = not {"full_shard", "hybrid_shard"}.isdisjoint(map(str, words(config))) or config.arguments["fsdp"] is True
    if not config.uses_fsdp or not sharded or not config.arguments.checkpointing:
        return
    if FsdpSection(config).values.get("activation_checkpointing"):
        return
    key = config.arguments.checkpointing_key
    yield Finding(
        config.setting(key),
        f"`{key}` gathers the parameters that FSDP shards once more in the backward pass",
        help=f"set `fsdp_config.activation_checkpointing: true`, and remove `{key}`",
    )


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
        yield Finding(
            of(config, "save_only_model"),
            message,
            related=(of(config, "load_best_model_at_end"),),
            exception=text,
            help="set `save_only_model: false`, or set `load_best_model_at_end: false`",
        )
    elif (
        sharded
        and config.version >= SECTION_RULES
        and str(FsdpSection(config).values.get("state_dict_type")).upper() == "SHARDED_STATE_DICT"
    ):
        text = "ValueError: save_only_model option is not compatible with FSDP state dict type 'SHARDED_STATE_DICT'"
        message = "`save_only_model` is incompatible with `fsdp_config.state_dict_type: SHARDED_STATE_DICT`"
        yield Finding(
            of(config, "save_only_model"),
            message,
            exception=text,
            help="set `fsdp_config.state_dict_type: FULL_STATE_DICT`, or set `save_only_model: false`",
        )


@rule("HFT026")
def unused_fsdp_config(config: TrainerConfig) -> Iterator[Finding]:
    section = config.section("fsdp_config")
    if section and any(section.values()) and not config.uses_fsdp:
        yield Finding(
            config.setting("fsdp_config"),
            "`fsdp_config` is ignored, because `fsdp` is off",
            on_key=True,
            help="set `fsdp` too, or remove `fsdp_config`",
        )


@rule("KEY204")
def unknown_fsdp_config_key(config: TrainerConfig) -> Iterator[Finding]:
    if not config.uses_fsdp:
        return
    section = FsdpSection(config)
    for key in section.values:
        if isinstance(key, str) and key not in KNOWN:
            yield Finding(
                section.place(key), f"unknown key `{key}` in `fsdp_config` is ignored", on_key=True, help=f"remove `fsdp_config.{key}`"
            )
