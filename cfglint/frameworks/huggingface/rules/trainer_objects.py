"""The rules about what a program gives its trainer beside the arguments: callbacks, and a training set that is streamed."""

from __future__ import annotations

from cfglint.findings.rule import CODE, Example, Finding, first_step_error, init_error
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.huggingface.batch import wanted_steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import of
from cfglint.frameworks.program import BRANCH
from cfglint.source.annotations import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.program import TrainerCall

LINE = "torchrun --nproc_per_node 8 train.py\n"
STOPS = (
    "from transformers import EarlyStoppingCallback, Trainer, TrainingArguments\n\nargs = TrainingArguments('out'{})\n"
    "Trainer(model, args, callbacks=[EarlyStoppingCallback(3)]).train()\n"
)
STREAMS = (
    "from datasets import load_dataset\nfrom transformers import Trainer, TrainingArguments\n\n"
    "Trainer(model, args=TrainingArguments('out'{}), train_dataset=load_dataset('c4', split='train', streaming=True)).train()\n"
)
EVALUATED = ", eval_strategy='epoch', save_strategy='epoch'"
EARLY_STOPPING = "EarlyStoppingCallback"
METRIC_ALONE = (4, 49)  # from here on the callback requires a metric only, not `load_best_model_at_end`
INFERS_STEPS = (5, 14)  # transformers says so in its exception
CHECK_LENGTH = ("Trainer", "Seq2SeqTrainer", "SFTTrainer")


@first_step_error(
    "HFT070",
    source="transformers 5.23.0 trainer_callback.py:745-756, 4.48.3 trainer_callback.py:709-716",
    bad=(
        {"train.sh": LINE, "train.py": STOPS.format(EVALUATED)},
        Example({"train.sh": LINE, "train.py": STOPS.format(EVALUATED)}, facts={"target": {"transformers": "4.48.3"}}),
        {"train.sh": LINE, "train.py": STOPS.format(", metric_for_best_model='loss'")},
    ),
    good={"train.sh": LINE, "train.py": STOPS.format(EVALUATED + ", load_best_model_at_end=True")},
    example={"kind": "launch", "named": 1, "target": {"transformers": "5.23.0"}},
    about=CODE,
)
def early_stopping_without_metric(config: TrainerConfig) -> Iterator[Finding]:
    """`EarlyStoppingCallback` requires evaluations and `metric_for_best_model`.

    `load_best_model_at_end`, which sets the metric to "loss" if there is none, is required as well up to transformers 4.48.
    """
    args = config.arguments
    best, metric, when = args["load_best_model_at_end"], args["metric_for_best_model"], args.eval_strategy
    for call in trainer_calls(config):
        if EARLY_STOPPING not in call.callbacks:
            continue
        if config.version < METRIC_ALONE and best is False:
            key, text, remedy = "load_best_model_at_end", "load_best_model_at_end = True", "set `load_best_model_at_end: true`"
        elif metric is None and best is False and args["lr_scheduler_type"] != "reduce_lr_on_plateau":
            key, text, remedy = "metric_for_best_model", "metric_for_best_model to be defined", 'set `metric_for_best_model: "loss"`'
        elif when == "no" and "evaluation_strategy" not in config.values:  # else its former name is the cause
            key, text, remedy = args.strategy_key, "IntervalStrategy of steps or epoch", f"set `{args.strategy_key}: epoch`"
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


@init_error(
    "HFT071",
    source="transformers 5.23.0 trainer.py:666-671",
    bad=(
        {"train.sh": LINE, "train.py": STREAMS.format("")},
        Example({"train.sh": LINE, "train.py": STREAMS.format("")}, facts={"target": {"transformers": "4.57.6"}}),
    ),
    good={"train.sh": LINE, "train.py": STREAMS.format(", max_steps=1000")},
    example={"kind": "launch", "named": 1, "target": {"transformers": "5.23.0"}},
    about=CODE,
)
def streamed_data_without_steps(config: TrainerConfig) -> Iterator[Finding]:
    """The training set of `load_dataset(..., streaming=True)` has no length, so the Trainer requires `max_steps`."""
    limit = config.arguments["max_steps"]
    inferred = "so the number of training steps cannot be inferred; " if config.version >= INFERS_STEPS else ""
    for call in trainer_calls(config):
        if call.streams and call.name in CHECK_LENGTH and isinstance(limit, (int, float)) and limit <= 0:
            yield of_call(
                call,
                "train_dataset",
                "`max_steps` is required: the training set is streamed and has no length",
                of(config, "max_steps"),
                f"ValueError: The train_dataset does not implement __len__, {inferred}max_steps has to be specified.",
                wanted_steps(config),
            )


def trainer_calls(config: TrainerConfig) -> tuple[TrainerCall, ...]:
    """The calls of the program that build the trainer of the run."""
    program = config.facts.launch.code
    return program.trainer_calls if program is not None else ()


def of_call(call: TrainerCall, key: str, message: str, field: Setting, exception: str, remedy: str) -> Finding:
    """The finding about a keyword of a call that builds a trainer, and a field of its arguments that it requires."""
    node = next((pair for pair in call.document.root.pairs() if pair[0].raw == key), None)
    setting = Setting((key,), call.document.values[key], WRITTEN, call.document, node[1], node[0]) if node is not None else field
    return Finding(
        setting,
        message,
        exception=exception,
        related=(field,) if setting is not field else (),
        depends_on=() if call.is_certain else (BRANCH,),
        on_key=setting is not field,
        help=remedy,
    )
