"""Rules about values that LLaMA-Factory refuses, fails on or interprets differently: of data, methods, optimizers, and of a wrong type."""

from __future__ import annotations

from os.path import dirname, exists, join, normpath

from cfglint.evaluate import Reason
from cfglint.findings.releases import Releases
from cfglint.findings.remedy import set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.huggingface.fields import OPTIMIZERS
from cfglint.frameworks.huggingface.rules import shown
from cfglint.frameworks.huggingface.rules.arguments import described, spelled_as_number
from cfglint.frameworks.llamafactory.config import INFO, LlamaFactoryConfig, comma_list
from cfglint.frameworks.llamafactory.field_operations import failures
from cfglint.frameworks.llamafactory.releases import choices, templates, types
from cfglint.frameworks.releases.history import DEFAULT
from cfglint.frameworks.releases.versions import Version, dotted, parse_version
from cfglint.frameworks.remedies import choice, insert, replace
from cfglint.source.annotations import Iterator

ALL_HELD_OUT = "ValueError: test_size=1.0 should be either positive and smaller than the number of samples"
NEWEST_DATASETS = (4, 0, 0)  # that LLaMA-Factory allows
STAGE_NAMED = Releases((0, 8, 3))  # in the message about an unknown stage
DATA = ("dataset", "eval_dataset")
GALORE_OPTIMIZERS = ("adamw_torch", "adamw_bnb_8bit", "adamw_8bit", "paged_adamw_8bit", "adafactor")
APOLLO_OPTIMIZERS = ("adamw_torch",)
FALSE_WORDS = ("false", "no", "off", "0", "n", "f")
OUTCOMES = {  # of a value that is none of the choices: llamafactory 0.9.5 model/model_utils/attention.py:86, rope.py:67
    "flash_attn": "LLaMA-Factory fails when it loads the model: NotImplementedError: Unknown attention type",
    "rope_scaling": "LLaMA-Factory passes it to the model as `rope_type`, where `cutoff_len` is above the length of the model",
}
CHECKED_ELSEWHERE = (
    *("finetuning_type", "stage", "infer_backend", "reward_model_type", "ref_model_quantization_bit", "reward_model_quantization_bit"),
)


@rule("LLF014")
def unknown_template(config: LlamaFactoryConfig) -> Iterator[Finding]:
    name = config.own("template")
    if name is None or (isinstance(name, str) and name in templates(config.own_version)):
        return
    from cfglint.frameworks.llamafactory.checkout import checkout_of

    checkout = checkout_of(config.documents[0].path)
    if checkout is not None and isinstance(name, str) and name in checkout.templates:
        return
    near = nearest_template(name, config.own_version) if isinstance(name, str) and not config.without_remedies else None
    message = f"`template` is {spelled(name)}, which LLaMA-Factory {dotted(config.own_version)} does not have"
    message += f"; did you mean `{near}`?" if near else ""
    setting = config.field("template")
    fix = replace(setting, near, f"write {near}", safe=False) if near else None
    hashable = not isinstance(name, (list, dict))
    raised = f"ValueError: Template {name} does not exist." if hashable else f"TypeError: unhashable type: '{type(name).__name__}'"
    remedy = None if near else "see the templates in `data/template.py` of LLaMA-Factory"
    yield Finding(setting, message, exception=raised, fix=fix, help=remedy)


def nearest_template(name: str, release: Version) -> str | None:
    from cfglint.source.similar_keys import names_of, near

    candidates = near(name, names_of(templates(release)))
    return min(((each.distance, each.name) for each in candidates if each.distance <= 1), default=(0, None))[1]


@rule("LLF110")
def samples_beyond_limit(config: LlamaFactoryConfig) -> Iterator[Finding]:
    examples, most, named = config.facts.num_examples, config.own("max_samples"), config.own("dataset")
    if config.facts.samples is not None or examples is None or type(most) is not int or not isinstance(named, (str, list)):
        return
    count = len(set(comma_list(named)))
    if examples > most * count:
        sets = f"each of {count} data sets" if count > 1 else "the data set"
        message = f"`max_samples` keeps at most {most:,} samples of {sets}, but --num-examples is {examples:,}"
        yield Finding(config.field("max_samples"), message, help=f"pass --num-examples {most * count}, or remove `max_samples`")


@rule("LLF107")
def validation_takes_all(config: LlamaFactoryConfig) -> Iterator[Finding]:
    size = config.own("val_size")
    if type(size) is float and size == 1 and config.own("dataset") and not config.own("streaming"):
        message = "`val_size: 1.0` is a ratio, which has to be below 1"
        remedy = set_key("val_size", 0.1) | set_key("val_size", 1, " for one sample")
        yield Finding(config.field("val_size"), message, exception=ALL_HELD_OUT, help=remedy)


@rule("LLF108")
def mixing_without_replacement(config: LlamaFactoryConfig) -> Iterator[Finding]:
    named, (pinned, _) = config.own("dataset"), config.facts.pinned.get("datasets", ("", ""))
    several = isinstance(named, str) and "," in named.strip(", ")
    if several and config.own("mix_strategy") == "interleave_once" and not (pinned and parse_version(pinned) > NEWEST_DATASETS):
        message = "`mix_strategy: interleave_once` requires a release of datasets that LLaMA-Factory 0.9.5 refuses"
        remedy = set_key("mix_strategy", "concat") | set_key("mix_strategy", "interleave_over")
        exception = "ValueError: all_exhausted_without_replacement is not supported. Please enter a valid stopping_strategy."
        note = "LLaMA-Factory requires datasets up to 4.0.0, which do not have this strategy"
        yield Finding(config.field("mix_strategy"), message, exception=exception, note=note, help=remedy)


@rule("LLF015")
def template_without_prompt_loss(config: LlamaFactoryConfig) -> Iterator[Finding]:
    row = templates(config.own_version).get(config.own("template"), ())
    if config.own("train_on_prompt") and row and row[DEFAULT]:
        message = f"`template: {config.own('template')}` does not support `train_on_prompt`"
        remedy = set_key("train_on_prompt", False) | "another `template`"
        yield Finding(config.field("train_on_prompt"), message, related=(config.field("template"),), help=remedy)


@rule("LLF019")
def special_tokens_file_missing(config: LlamaFactoryConfig) -> Iterator[Finding]:
    name = config.own("new_special_tokens_config")
    if not isinstance(name, str) or "$" in name:
        return
    folder = dirname(config.documents[0].path)
    if not exists(name) and not exists(join(folder, name)):
        message = f"`new_special_tokens_config` names `{name}`, which does not exist"
        remedy = "write the path as seen from that folder, or an absolute one"
        note = "LLaMA-Factory looks for it where it is started, and fails without it"
        yield Finding(config.field("new_special_tokens_config"), message, depends_on=config.rest, note=note, help=remedy)


@rule("LLF021")
def unknown_stage(config: LlamaFactoryConfig) -> Iterator[Finding]:
    stages = choices("stage", config.own_version)
    if config.stage not in stages and config.package not in config.facts.outside:  # a fork may have more
        message = f"`stage` is {spelled(config.stage)}; it must be one of {', '.join(stages)}"
        text = f"ValueError: Unknown task: {config.stage}." if config.own_version in STAGE_NAMED else "ValueError: Unknown task."
        yield Finding(config.field("stage"), message, exception=text, help=choice("stage", config.stage, stages))


@rule("LLF025")
def low_rank_optimizer(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.trains or not config.parsed or not config.makes_optimizer:
        return
    for name, taken in (("use_galore", GALORE_OPTIMIZERS), ("use_apollo", APOLLO_OPTIMIZERS)):
        if not config.own(name):
            continue
        optimizer, written = config.arguments.optimizer, "optim" in config.values
        if optimizer not in taken and optimizer in OPTIMIZERS:
            unknown = "Unknow" if config.own_version < (0, 9, 1) else "Unknown"
            text = f"NotImplementedError: {unknown} optim: OptimizerNames.{str(optimizer).upper()}."
            message = f"`{name}` requires `optim: adamw_torch`" + ("" if written else f" (the default is {optimizer})")
            setting = config.field("optim" if written else name)
            fix = (
                replace(setting, APOLLO_OPTIMIZERS[0], "write adamw_torch", safe=True)
                if written
                else insert(config, ("optim",), APOLLO_OPTIMIZERS[0], "add optim: adamw_torch", safe=True)
            )
            yield Finding(setting, message, exception=text, depends_on=config.unset("optim"), fix=fix)
        return


@rule("LLF026")
def layerwise_accumulation(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.trains or config.arguments["gradient_accumulation_steps"] == 1 or not config.makes_optimizer:
        return
    for switch, name, title in (("use_galore", "galore_layerwise", "GaLore"), ("use_apollo", "apollo_layerwise", "APOLLO")):
        if config.own(switch) and config.own(name):
            text = f"ValueError: Per-layer {title} does not support gradient accumulation."
            message = f"`{name}` requires `gradient_accumulation_steps: 1`"
            remedy = set_key("gradient_accumulation_steps", 1) | set_key(name, False)
            related = [config.field("gradient_accumulation_steps")]
            yield Finding(config.field(name), message, related=related, exception=text, help=remedy)
            return


@rule("LLF070")
def uncast_value(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.parsed:
        return

    for stumble in failures(config):
        setting = config.field(stumble.field)
        fix = spelled_as_number(setting, types(stumble.field, config.own_version)[0])
        message = f"`{stumble.field}` is {described(setting.value)}, which LLaMA-Factory cannot work with"
        remedy = None if fix or not isinstance(setting.value, list) else "write the names in one string, separated by commas"
        yield Finding(setting, message, exception=stumble.text, fails_at=stumble.fails_at, fix=fix, help=remedy)


@rule("LLF071")
def string_for_own_boolean(config: LlamaFactoryConfig) -> Iterator[Finding]:
    for name, value in config.values.items():
        if isinstance(value, str) and types(name, config.own_version)[:1] == ("bool",) and value.strip().lower() in FALSE_WORDS:
            setting = config.field(name)
            message = f"`{name}` is the string {shown(value)}, which counts as true"
            note = "LLaMA-Factory does not convert it, and a string that is not empty is true"
            yield Finding(setting, message, fix=replace(setting, False, "write false", safe=False), note=note)


@rule("LLF072")
def string_for_own_number(config: LlamaFactoryConfig) -> Iterator[Finding]:
    strings = {name: types(name, config.own_version) for name, value in config.values.items() if isinstance(value, str)}
    numeric = {name: kinds for name, kinds in strings.items() if "str" not in kinds and ("int" in kinds or "float" in kinds)}
    failing = {failure.field for failure in failures(config)} if numeric else ()
    for name, kinds in numeric.items():
        value = config.values[name]
        if name in failing or choices(name, config.own_version):
            continue
        setting = config.field(name)
        null = value.strip().lower() in ("none", "null") and "None" in kinds
        fix = replace(setting, None, "write null", safe=False) if null else spelled_as_number(setting, kinds[0])
        message = f"`{name}` is the string {shown(value)}, not {'null' if null else 'a number'}"
        yield Finding(setting, message, fix=fix, note="LLaMA-Factory does not convert it: what reads it fails or compares it wrongly")


@rule("LLF073")
def invalid_llamafactory_choice(config: LlamaFactoryConfig) -> Iterator[Finding]:
    for name, value in config.values.items():
        allowed = choices(name, config.own_version)
        if not allowed or name in CHECKED_ELSEWHERE or value in allowed:
            continue
        listed = ", ".join("null" if item is None else str(item) for item in allowed)
        of_mapping = value.get("rope_type", value.get("type")) if isinstance(value, dict) else value
        actual = "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else shown(value)
        yield Finding(
            config.field(name),
            f"`{name}` is {actual}; it must be one of {listed}",
            note=OUTCOMES.get(name, "LLaMA-Factory does not check it: the code that uses it takes another branch or fails"),
            help=choice(name, of_mapping, allowed),  # the type from the mapping in the model's own config
        )


@rule("LLF111")
def undefined_dataset(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.trains or config.own("tokenized_path"):
        return
    values = {key: comma_list(config.own(key)) for key in DATA}
    named = {key: [name for name in value if isinstance(name, str) and name] for key, value in values.items() if isinstance(value, list)}
    at, info = config.data_sets if named else ("", {})
    line, project = config.facts.launch.line, config.facts.launch.project
    started_in = project.real(f"{line.folder}/{config.own('dataset_dir')}/{INFO}") if line and project and line.folder else None
    is_known = started_in is not None and normpath(started_in) == normpath(at)
    for key, names in named.items() if info else ():
        for name in (name for name in names if name not in info):
            yield Finding(
                config.field(key),
                f"`{key}` names `{name}`, which {at} does not describe",
                exception=f"ValueError: Undefined dataset {name} in {INFO}.",
                depends_on=() if is_known else (Reason("environment", "the folder that the run starts in"),),
                help=f"describe `{name}` in {at}, or correct the name",
            )
