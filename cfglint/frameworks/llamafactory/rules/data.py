"""Rules about values that `DataArguments` refuses, and templates that do not exist."""

from __future__ import annotations

from cfglint.findings.remedy import set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig, comma_list
from cfglint.frameworks.llamafactory.releases import templates
from cfglint.frameworks.releases.history import DEFAULT
from cfglint.frameworks.releases.versions import Version, dotted, parse_version
from cfglint.frameworks.remedies import replace
from cfglint.source.annotations import Iterator

ALL_HELD_OUT = "ValueError: test_size=1.0 should be either positive and smaller than the number of samples"
NEWEST_DATASETS = (4, 0, 0)  # that LLaMA-Factory allows


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
    yield Finding(
        setting, message, exception=raised, fix=fix, help=None if near else "see the templates in `data/template.py` of LLaMA-Factory"
    )


def nearest_template(name: str, release: Version) -> str | None:
    """The template of a release that a misspelt name resembles."""
    from cfglint.source.similar_keys import names_of, near

    ranked = sorted(
        (candidate.distance, candidate.name) for candidate in near(name, names_of(templates(release))) if candidate.distance <= 1
    )
    return ranked[0][1] if ranked else None


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
    from os.path import dirname, exists, join

    name = config.own("new_special_tokens_config")
    if not isinstance(name, str) or "$" in name:
        return
    folder = dirname(config.documents[0].path)
    if not exists(name) and not exists(join(folder, name)):
        message = f"`new_special_tokens_config` names `{name}`, which does not exist"
        remedy = "write the path as seen from that folder, or an absolute one"
        note = "LLaMA-Factory looks for it where it is started, and fails without it"
        yield Finding(config.field("new_special_tokens_config"), message, depends_on=config.rest, note=note, help=remedy)
