"""Batch sizes, warm-up, saving and evaluation: checks before pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.wording import spelled
from cfglint.frameworks.axolotl.refusals import BATCH, EVALUATION, SCHEDULE, Data, excludes, refuses, requires
from cfglint.frameworks.axolotl.releases import BATCH_ALONE

BATCH_KEYS = ("micro_batch_size", "gradient_accumulation_steps", "batch_size")
NO_STRATEGY = Releases((0, 9, 0))  # `eval_strategy: no` needs no evaluation data
METRICS = ("sacrebleu", "comet", "ter", "chrf", "perplexity")


def batch_size_alone(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:447 does."""
    if data.release not in BATCH_ALONE:
        one_batch_key(data)
        return
    if data.get("micro_batch_size") or data.get("gradient_accumulation_steps"):
        return
    if data.get("batch_size"):
        says = "At least two of micro_batch_size, gradient_accumulation_steps, batch_size must be set"
        message = "`batch_size` alone is refused"
        raise refuses(BATCH, "batch_size", message, says, remedy="set `micro_batch_size` and `gradient_accumulation_steps` instead")


def one_batch_key(data: Data) -> None:
    """Refuse fewer than two batch keys, as axolotl 0.18.0 utils/schemas/validation.py:361 does; their defaults do not count."""
    missing = [key for key in BATCH_KEYS if not data.get(key)]
    if len(missing) > 1:
        says = f"At least two of {', '.join(BATCH_KEYS)} must be set"
        keys = (missing[0], *(key for key in BATCH_KEYS if key not in missing))
        message = f"`{missing[0]}` is missing: this release requires `micro_batch_size` and `gradient_accumulation_steps`"
        raise refuses(BATCH, keys, message, says, remedy=f"set `{missing[0]}`")


def two_batch_sizes(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:502 does."""
    if data.get("gradient_accumulation_steps") and data.get("batch_size"):
        says = "please set only one of gradient_accumulation_steps or batch_size"
        raise excludes(BATCH, "batch_size", "gradient_accumulation_steps", says, remedy="remove `batch_size`")


def two_warmups(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:526 does."""
    if data.get("warmup_steps") and data.get("warmup_ratio"):
        raise excludes(SCHEDULE, "warmup_ratio", "warmup_steps", "warmup_steps and warmup_ratio are mutually exclusive")


def saves(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:533 does."""
    strategy = data.get("save_strategy")
    if strategy and data.get("save_steps") and strategy != "steps":
        says = "save_strategy and save_steps mismatch. Please set save_strategy to 'steps' or remove save_steps."
        raise requires(SCHEDULE, "save_steps", "save_strategy: steps", says, note=f", and it is {spelled(strategy)}")
    if data.get("saves_per_epoch") and data.get("save_steps"):
        says = "save_steps and saves_per_epoch are mutually exclusive and cannot be used together."
        raise excludes(SCHEDULE, "saves_per_epoch", "save_steps", says)


def best_without_metric(data: Data) -> None:
    """Check the values as utils/schemas/config.py:1905 does."""
    if data.get("save_strategy") == "best" and not data.get("metric_for_best_model"):
        says = (
            "save_strategy: 'best' requires metric_for_best_model to be set. Please specify the metric to use, e.g. "
            "metric_for_best_model: eval_loss"
        )
        raise requires(SCHEDULE, "`save_strategy: best`", "`metric_for_best_model`, such as `eval_loss`", says)


def former_strategy(data: Data) -> None:
    """Complete the values as utils/schemas/validation.py:714 does."""
    if data.get("evaluation_strategy") is not None and data.get("eval_strategy") is None:
        data["eval_strategy"] = data.get("evaluation_strategy")


def evaluations(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:561 does."""
    strategy = data.get("eval_strategy")
    if strategy and data.get("eval_steps") and strategy != "steps":
        says = "eval_strategy and eval_steps mismatch. Please set eval_strategy to 'steps' or remove eval_steps."
        raise requires(EVALUATION, "eval_steps", "eval_strategy: steps", says, note=f", and it is {spelled(strategy)}")
    none = data.get("val_set_size") == 0 and not data.get("test_datasets")
    if none and (data.get("eval_steps") or strategy) and (strategy != "no" or data.release not in NO_STRATEGY):
        key = "eval_steps" if data.get("eval_steps") else "eval_strategy"
        says = "eval_steps and eval_strategy are not supported with val_set_size == 0"
        raise requires(
            EVALUATION, f"`{key}`", "evaluation data, and `val_set_size` is 0", says, remedy="set `val_set_size` or `test_datasets`"
        )
    evaluations_per_epoch(data, strategy)
    if data.get("do_bench_eval") and not (data.get("evals_per_epoch") or data.get("eval_steps")):
        says = "do_bench_eval requires evals_per_epoch or eval_steps to be set."
        raise requires(EVALUATION, "`do_bench_eval`", "`evals_per_epoch` or `eval_steps`", says)


def evaluations_per_epoch(data: Data, strategy: object) -> None:
    """Refuse other settings of the evaluation interval together with `evals_per_epoch`."""
    if data.get("evals_per_epoch") and data.get("eval_steps"):
        says = "eval_steps and evals_per_epoch are mutually exclusive and cannot be used together."
        raise excludes(EVALUATION, "evals_per_epoch", "eval_steps", says)
    if data.get("evals_per_epoch") and strategy and strategy != "steps":
        says = "eval_strategy must be empty or set to `steps` when used with evals_per_epoch."
        raise requires(EVALUATION, "`evals_per_epoch`", f"`eval_strategy: steps` or none, and it is {spelled(strategy)}", says)


def two_evaluation_sets(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:335 does."""
    if data.get("test_datasets") and data.get("val_set_size"):
        says = "non-zero val_set_size should not be used with test_datasets configuration"
        raise excludes(EVALUATION, "val_set_size", "test_datasets", says)


def benchmark_set(data: Data) -> None:
    """Complete the values as utils/schemas/validation.py:344 does."""
    if data.get("do_bench_eval") and not data.get("test_datasets") and not data.get("val_set_size"):
        data["test_datasets"] = [{"path": "axolotl-ai-co/empty-test-ds"}]


def packed_evaluation(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:359 does."""
    packed, table = data.get("sample_packing"), data.get("eval_table_size")
    if packed and table and data.get("eval_sample_packing") is not False:
        says = (
            "eval_table_size and eval_sample_packing are not supported together with sample_packing. Please set 'eval_sample_packing' "
            "to false."
        )
        raise excludes(EVALUATION, "eval_table_size", "sample_packing", says, note=" unless `eval_sample_packing` is false")
    if packed and data.get("eval_sample_packing") is None and not table:
        data["eval_sample_packing"] = True
    if packed and data.get("eval_sample_packing") is False and data.get("remove_unused_columns") is None:
        data["remove_unused_columns"] = False


def generated_evaluation(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:726 does."""
    if data.get("do_causal_lm_eval") and data.get("eval_sample_packing"):
        says = "do_causal_lm_eval is enabled, eval_sample_packing must be set to False"
        raise requires(EVALUATION, "do_causal_lm_eval", "eval_sample_packing: false", says)
    metrics = data.get("eval_causal_lm_metrics")
    if metrics and not isinstance(metrics, list):
        says = "eval_causal_lm_metrics must be a list"
        message = "`eval_causal_lm_metrics` is not a list"
        raise refuses(EVALUATION, "eval_causal_lm_metrics", message, says, remedy="remove `eval_causal_lm_metrics`")
    if metrics and set(metrics) - set(METRICS):
        says = f"eval_causal_lm_metrics must be one of {{{', '.join(map(repr, METRICS))}}}"  # a set: its order differs from run to run
        message = (
            f"`eval_causal_lm_metrics` contains {spelled(sorted(map(str, set(metrics) - set(METRICS))))}; known are {', '.join(METRICS)}"
        )
        raise refuses(EVALUATION, "eval_causal_lm_metrics", message, says)
