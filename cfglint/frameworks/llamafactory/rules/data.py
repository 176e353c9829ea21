"""Rules about values that `DataArguments` refuses, and templates that do not exist."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import counted, spelled
from cfglint.frameworks.history import DEFAULT
from cfglint.frameworks.huggingface.batch import OTHER_STEPS, wanted_steps
from cfglint.frameworks.llamafactory.arguments import comma_list
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.releases import templates
from cfglint.frameworks.llamafactory.rules import SMALL, conflict
from cfglint.frameworks.remedies import excludes, one_off, replace
from cfglint.frameworks.versions import Version, dotted
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number

EVALUATION_OF_VAL_SIZE = Releases((0, 9, 4))  # before, `predict_with_generate` requires `eval_dataset`


@rule("LLF010")
def validation_size(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.held_out:
        return
    if config.own("dataset") is None:
        text = "ValueError: Cannot specify `val_size` if `dataset` is None."
        yield conflict(
            config,
            "val_size",
            message="`val_size` requires `dataset`",
            exception=text,
            needs=("dataset",),
            remedy="set `dataset`, or remove `val_size`",
        )
    elif config.own("eval_dataset") is not None:
        text = "ValueError: Cannot specify `val_size` if `eval_dataset` is not None."
        yield excludes(config.field("val_size"), config.field("eval_dataset"), exception=text)


@rule("LLF011")
def interleave_probabilities(config: LlamaFactoryConfig) -> Iterator[Finding]:
    given = config.own("interleave_probs")
    if given is None:
        return
    if config.own("mix_strategy") == "concat":
        text = "ValueError: `interleave_probs` is only valid for interleaved mixing."
        message = "`interleave_probs` requires a `mix_strategy` that interleaves, and the default is concat"
        yield conflict(
            config,
            "interleave_probs",
            "mix_strategy",
            message=message,
            exception=text,
            needs=("mix_strategy",),
            remedy="set `mix_strategy: interleave_under`, or remove `interleave_probs`",
        )
        return
    count = comma_list(given)
    for name, words in (("dataset", "dataset"), ("eval_dataset", "eval dataset")):
        names = comma_list(config.own(name))
        if isinstance(count, list) and isinstance(names, list) and len(names) != len(count):
            text = f"ValueError: The length of {words} and interleave probs should be identical."
            numbers, of = counted(len(count), "number"), counted(len(names), "name")
            message = f"`interleave_probs` has {numbers}, but `{name}` has {of}: the counts must be equal"
            yield conflict(
                config,
                "interleave_probs",
                name,
                message=message,
                exception=text,
                remedy=f"write one number for each name, {len(names)} in all",
            )
            return


@rule("LLF012")
def streaming_options(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.own("streaming"):
        return
    size, steps = config.own("val_size"), config.arguments["max_steps"]
    if is_number(size) and SMALL < size < 1:
        text = "ValueError: Streaming mode should have an integer val size."
        message = f"`val_size` is {size}, a ratio, but `streaming` requires a number of samples"
        yield conflict(
            config, "val_size", "streaming", message=message, exception=text, remedy="set `val_size: 1000`, or another number of samples"
        )
    if config.own("max_samples") is not None:
        text = "ValueError: `max_samples` is incompatible with `streaming`."
        remedy = "remove `max_samples`; `max_steps` ends the run"
        yield excludes(config.field("max_samples"), config.field("streaming"), remedy, exception=text)
    if steps == -1:
        text = "ValueError: Please specify `max_steps` in streaming mode."
        yield conflict(
            config,
            "streaming",
            message="`streaming` requires `max_steps`",
            exception=text,
            needs=("max_steps",),
            remedy=f"{wanted_steps(config).removesuffix(OTHER_STEPS)}, or set `streaming: false`",
        )


@rule("LLF013")
def two_loss_masks(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.own("mask_history") and config.own("train_on_prompt"):
        yield excludes(config.field("mask_history"), config.field("train_on_prompt"), one_off("mask_history", "train_on_prompt"))


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
    from cfglint.frameworks.similar_keys import names_of, near

    ranked = sorted((each.distance, each.name) for each in near(name, names_of(templates(release))) if each.distance <= 1)
    return ranked[0][1] if ranked else None


@rule("LLF015")
def template_without_prompt_loss(config: LlamaFactoryConfig) -> Iterator[Finding]:
    row = templates(config.own_version).get(config.own("template"), ())
    if config.own("train_on_prompt") and row and row[DEFAULT]:
        message = f"`template: {config.own('template')}` does not support `train_on_prompt`"
        yield Finding(
            config.field("train_on_prompt"),
            message,
            related=(config.field("template"),),
            help="set `train_on_prompt: false`, or another `template`",
        )


@rule("LLF016")
def dataset_missing(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if config.trains and config.own("dataset") is None:
        yield Finding(
            config.field("do_train"),
            "`do_train` requires `dataset`",
            depends_on=config.unset("dataset"),
            help="set `dataset` to names of `dataset_info.json`",
        )


@rule("LLF017")
def evaluation_set_missing(config: LlamaFactoryConfig) -> Iterator[Finding]:
    size = config.own("val_size")
    if config.own("eval_dataset") is not None or not is_number(size):
        return
    unset = config.unset("eval_dataset") and config.unset("val_size")  # one of them is enough
    joint = config.own_version in EVALUATION_OF_VAL_SIZE
    asking = asks_for_evaluation(config)
    if asking is None and joint and config.own("predict_with_generate"):
        asking = "predict_with_generate"
    if asking is not None and size < SMALL:
        message = f"`{asking}` requires `eval_dataset` or `val_size`"
        exception = None if joint else "ValueError: Please specify dataset for evaluation."
        remedy = "set `val_size: 0.1`, or name an `eval_dataset`"
        yield Finding(config.field(asking), message, exception=exception, depends_on=unset, help=remedy)
    elif not joint and config.own("predict_with_generate"):
        message = "`predict_with_generate` requires `eval_dataset`: before 0.9.4, `val_size` does not count"
        exception = "ValueError: Cannot use `predict_with_generate` if `eval_dataset` is None."
        yield Finding(config.field("predict_with_generate"), message, exception=exception, depends_on=unset, help="name an `eval_dataset`")


def asks_for_evaluation(config: LlamaFactoryConfig) -> str | None:
    """The key of the Trainer that requires an evaluation set."""
    if config.arguments.eval_strategy in ("steps", "epoch"):
        return config.arguments.strategy_key
    if config.evaluates:
        return "do_eval"
    return "do_predict" if config.arguments["do_predict"] else None


@rule("LLF018")
def pixel_range(config: LlamaFactoryConfig) -> Iterator[Finding]:
    for what in ("image", "video"):
        most, least = f"{what}_max_pixels", f"{what}_min_pixels"
        if is_number(config.own(most)) and is_number(config.own(least)) and config.own(most) < config.own(least):
            text = f"ValueError: `{most}` cannot be smaller than `{least}`."
            message = f"`{most}` is {config.own(most)}, less than `{least}` ({config.own(least)})"
            name, other = (most, least) if most in config.values else (least, most)
            yield conflict(
                config,
                name,
                other,
                message=message,
                exception=text,
                needs=(most, least),
                remedy=f"set `{most}: {config.own(least)}` or more, or a smaller `{least}`",
            )


@rule("LLF019")
def special_tokens_file_missing(config: LlamaFactoryConfig) -> Iterator[Finding]:
    from os.path import dirname, exists, join

    name = config.own("new_special_tokens_config")
    if not isinstance(name, str) or "$" in name:
        return
    folder = dirname(config.documents[0].path)
    if not exists(name) and not exists(join(folder, name)):
        yield Finding(
            config.field("new_special_tokens_config"),
            f"`new_special_tokens_config` names `{name}`, which does not exist",
            depends_on=config.rest,
            note="LLaMA-Factory looks for it where it is started, and fails without it",
            help="write the path as seen from that folder, or an absolute one",
        )
