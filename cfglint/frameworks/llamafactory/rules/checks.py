"""What LLaMA-Factory's classes and parser refuse: the checks are rows (`_rows.py`), of which the pages have words of the messages."""

from __future__ import annotations

from cfglint.findings.remedy import Remedy, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.batch import wanted_steps
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.releases import arguments, is_required
from cfglint.source.annotations import Iterator
from cfglint.source.record import changed

NO_ARGUMENT = "TypeError: ModelArguments.__init__() missing 1 required positional argument: 'model_name_or_path'"
NO_FOLDER = "TypeError: {}.__init__() missing 1 required positional argument: 'output_dir'"


def refused(config: LlamaFactoryConfig, code: str) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind == code:
            if (code, refusal.key) == ("LLF012", "streaming"):  # whose remedy is the number of steps of an epoch
                refusal.help = (Remedy(wanted_steps(config).alternatives[:1]), set_key("streaming", False))
            of_model = config.quantization_of_model()[1] if refusal.fails_at == "init" else ()
            places = [config.field(path[0]) if len(path) == 1 else config.setting(*path) for path in refusal.paths or [()]]
            yield refusal.finding(places, config.values, depends_on=(*config.unset(*refusal.read), *of_model))


@rule("LLF002")
def model_missing(config: LlamaFactoryConfig) -> Iterator[Finding]:
    for finding in refused(config, "LLF002"):
        yield changed(finding, setting=config.absent(*finding.setting.path))
    if config.readable and is_required("model_name_or_path", config.own_version) and "model_name_or_path" not in config.values:
        remedy = "set `model_name_or_path` to a folder or a name on the Hugging Face Hub"
        yield Finding(config.absent("model_name_or_path"), "`model_name_or_path` is required", exception=NO_ARGUMENT, help=remedy)
    if config.readable and config.arguments.lacks("output_dir"):
        owner = "TrainingArguments" if arguments(config.own_version).get("ray_run_name") else "Seq2SeqTrainingArguments"
        message = "`output_dir` is required before transformers 4.49"
        yield Finding(config.absent("output_dir"), message, exception=NO_FOLDER.format(owner), help=set_key("output_dir", "out"))
