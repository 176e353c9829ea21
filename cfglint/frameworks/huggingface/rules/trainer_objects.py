"""The rules about what a program gives its trainer beside the arguments: callbacks, and a training set that is streamed."""

from __future__ import annotations

from cfglint.findings.diagnostic import IN_BRANCH
from cfglint.findings.remedy import Remedy, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.huggingface.batch import no_length, wanted_steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import of
from cfglint.source.annotations import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.launch.program import TrainerCall

EARLY_STOPPING = "EarlyStoppingCallback"
METRIC_ALONE = (4, 49)  # from here on the callback requires a metric only, not `load_best_model_at_end`
CHECK_LENGTH = ("Trainer", "Seq2SeqTrainer", "SFTTrainer")


@rule("HFT070")
def early_stopping_without_metric(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    best, metric, when = args["load_best_model_at_end"], args["metric_for_best_model"], args.eval_strategy
    for call in trainer_calls(config):
        if EARLY_STOPPING not in call.callbacks:
            continue
        if config.version < METRIC_ALONE and best is False:
            key, text, remedy = "load_best_model_at_end", "load_best_model_at_end = True", set_key("load_best_model_at_end", True)
        elif metric is None and best is False and args["lr_scheduler_type"] != "reduce_lr_on_plateau":
            key, text, remedy = "metric_for_best_model", "metric_for_best_model to be defined", set_key("metric_for_best_model", "loss")
        elif when == "no" and "evaluation_strategy" not in config.values:  # else its former name is the cause
            key, text, remedy = args.strategy_key, "IntervalStrategy of steps or epoch", set_key(args.strategy_key, "epoch")
        else:
            continue
        yield of_call(
            call,
            "callbacks",
            f"`{EARLY_STOPPING}` requires `{key}`",
            of(config, key),
            f"AssertionError: {EARLY_STOPPING} requires {text}",
            remedy,
        )


@rule("HFT071")
def streamed_data_without_steps(config: TrainerConfig) -> Iterator[Finding]:
    limit = config.arguments["max_steps"]
    for call in trainer_calls(config):
        if call.streams and call.name in CHECK_LENGTH and isinstance(limit, (int, float)) and limit <= 0:
            yield of_call(
                call,
                "train_dataset",
                "`max_steps` is required: the training set is streamed and has no length",
                of(config, "max_steps"),
                no_length(config.version),
                wanted_steps(config),
            )


def trainer_calls(config: TrainerConfig) -> tuple[TrainerCall, ...]:
    program = config.facts.launch.code
    return program.trainer_calls if program is not None else ()


def of_call(call: TrainerCall, key: str, message: str, field: Setting, exception: str, remedy: Remedy | str) -> Finding:
    node = next((pair for pair in call.document.roots[0].pairs() if pair[0].raw == key), None)
    setting = Setting((key,), call.document.values[key], WRITTEN, call.document, node[1], node[0]) if node is not None else field
    related = (field,) if setting is not field else ()
    doubts = () if call.is_certain else (IN_BRANCH,)
    return Finding(setting, message, exception=exception, related=related, depends_on=doubts, on_key=setting is not field, help=remedy)
