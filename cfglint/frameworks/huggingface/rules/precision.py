"""Half precision: incompatible settings."""

from __future__ import annotations

from cfglint.findings.rule import Finding, config_error
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import of
from cfglint.frameworks.remedies import excludes, one_off
from cfglint.source.annotations import Iterator

ONE_OF_THEM = "; enable only one of them"


@config_error(
    "PRC200",
    old_names=("two-half-precisions",),
    raises="ValueError: At most one of fp16 and bf16 can be True, but not both",
    source="transformers 5.23.0 training_args.py:1784",
    bad="output_dir: out\nbf16: true\nfp16: true\n",
    good="output_dir: out\nbf16: true\nfp16: false\n",
    example={"at": "/fp16"},
)
def fp16_with_bf16(config: TrainerConfig) -> Iterator[Finding]:
    """`fp16` and `bf16` are both enabled.

    The string "false" counts as enabled too.

    Fix: disable one of them; use bf16 on Ampere GPUs and newer.
    """
    if config.arguments["fp16"] and config.arguments["bf16"]:
        yield excludes(of(config, "fp16"), of(config, "bf16"), one_off("fp16", "bf16"), ONE_OF_THEM)


@config_error(
    "PRC201",
    old_names=("two-half-evaluations",),
    raises="ValueError: At most one of fp16 and bf16 can be True for full eval, but not both",
    source="transformers 5.23.0 training_args.py:1787",
    bad="output_dir: out\nbf16_full_eval: true\nfp16_full_eval: true\n",
    good="output_dir: out\nbf16_full_eval: true\n",
    example={"at": "/fp16_full_eval"},
)
def fp16_eval_with_bf16_eval(config: TrainerConfig) -> Iterator[Finding]:
    """`fp16_full_eval` and `bf16_full_eval` are both enabled."""
    if config.arguments["fp16_full_eval"] and config.arguments["bf16_full_eval"]:
        remedy = one_off("fp16_full_eval", "bf16_full_eval")
        yield excludes(of(config, "fp16_full_eval"), of(config, "bf16_full_eval"), remedy, ONE_OF_THEM)


@config_error(
    "PRC202",
    raises="ValueError:  `--half_precision_backend apex`: GPU bf16 is not supported by apex.",
    source="transformers 4.42.4 training_args.py:1616, 4.57.6 training_args.py:1757",
    bad="output_dir: out\nbf16: true\nhalf_precision_backend: apex\n",
    good="output_dir: out\nbf16: true\n",
    example={"target": {"transformers": "4.42.4"}, "at": "/half_precision_backend"},
)
def bf16_with_apex(config: TrainerConfig) -> Iterator[Finding]:
    """apex does not support bf16."""
    args = config.arguments
    if not args["bf16"]:
        return
    old = args["fp16_backend"]
    name = "fp16_backend" if old and old != "auto" else "half_precision_backend"
    if args[name] == "apex":
        yield Finding(
            of(config, name),
            f"`{name}: apex` does not support bf16",
            related=(of(config, "bf16"),),
            help=f"remove `{name}`, or set `fp16: true` and `bf16: false`",
        )
