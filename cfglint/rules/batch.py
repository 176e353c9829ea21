"""Rules about the batch: one equation, whatever the framework calls its terms."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, INFO, WARNING
from cfglint.findings.rule import SKIP, Finding, rule
from cfglint.frameworks.setting import AUTO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.findings.diagnostic import Fix
    from cfglint.frameworks.base import Batch, Config
    from cfglint.frameworks.setting import Setting

DEEPSPEED = "deepspeed"
NEOX = "neox"


@rule(
    "BAT001",
    "batch-mismatch",
    ERROR,
    kinds=(DEEPSPEED, NEOX),
    fails_at="config",
    bad='{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}\n',
    good='{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n',
    fixed='{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n',
    example={"kind": DEEPSPEED, "gpus": 8, "at": "/train_batch_size"},
)
def batch_mismatch(config: Config) -> Iterator[Finding]:
    """The global batch is not micro batch x accumulation x data-parallel size.

    The numbers that are written, with those that the framework derives from them, do not multiply up on
    this many GPUs. The data-parallel size is the GPU count divided by the sizes of the model's own
    parallel axes (tensor, pipeline, sequence), so a file that is right on 8 GPUs is wrong on 4. A number
    that is missing is derived by floor division, and the check that follows catches what the floor lost.

    Run-time error: `AssertionError: Check batch related parameters. train_batch_size is not equal to
    micro_batch_per_gpu * gradient_acc_step * world_size 256 != 4 * 4 * 8`.

    Fix: `cfglint fix FILE --gpus N` keeps the global batch and the micro batch and sets the accumulation;
    `--global-batch G` aims at another one. Leaving out `train_batch_size` lets the framework compute it.

    Source: deepspeed 0.19.8 runtime/config.py:593-655; gpt-neox (May 2026)
    megatron/neox_arguments/arguments.py:826-883.
    """
    yield from _problem(config, "mismatch")
    batch = config.batch
    terms = _written_terms(batch)
    if terms is None or batch.layout.gpus is not None or batch.problem is not None:
        return
    total, micro, accumulation = (term.value for term in terms)
    if total % (micro * accumulation):
        yield Finding(
            batch.global_batch,
            f"no GPU count fits: {total} is not a multiple of {micro} x {accumulation}",
            related=(batch.micro_batch, batch.accumulation),
            exception="AssertionError: Check batch related parameters",
        )


@rule(
    "BAT002",
    "batch-missing",
    ERROR,
    kinds=(DEEPSPEED, NEOX),
    fails_at="config",
    when_partial=SKIP,
    bad='{"gradient_accumulation_steps": 4}\n',
    good='{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}\n',
    example={"kind": DEEPSPEED, "gpus": 8},
)
def batch_missing(config: Config) -> Iterator[Finding]:
    """Neither the global batch nor the micro batch is given.

    One of the two has to be there; accumulation alone says nothing. In a file that is only a part of a
    run this is no finding, for the caller may fill it in.

    Run-time error: `AssertionError: Either train_batch_size or train_micro_batch_size_per_gpu needs to be
    provided`.

    Fix: write `train_micro_batch_size_per_gpu`.

    Source: deepspeed 0.19.8 runtime/config.py:649; gpt-neox (May 2026) arguments.py:860.
    """
    yield from _problem(config, "missing")


@rule(
    "BAT003",
    "batch-type",
    ERROR,
    fails_at="config",
    bad='{"train_batch_size": "256"}\n',
    good='{"train_batch_size": 256}\n',
    example={"kind": DEEPSPEED, "gpus": 8, "at": "/train_batch_size"},
)
def batch_type(config: Config) -> Iterator[Finding]:
    """A batch size is not a number.

    Nothing converts it: text in quotes, `"auto"` that nobody fills, or a list reaches the arithmetic and
    dies there with an error that does not name the key.

    Run-time errors: `TypeError: '>' not supported between instances of 'str' and 'int'`,
    `TypeError: unsupported operand type(s) for //: 'str' and 'int'`.

    Fix: write the number without quotes. `"auto"` belongs only into a file that a Hugging Face trainer
    reads.

    Source: deepspeed 0.19.8 runtime/config.py:593-655; gpt-neox (May 2026) arguments.py:846, 868.
    """
    yield from _problem(config, "type")


@rule(
    "BAT004",
    "batch-not-positive",
    ERROR,
    fails_at="config",
    bad='{"train_batch_size": 256, "gradient_accumulation_steps": 0}\n',
    good='{"train_batch_size": 256, "gradient_accumulation_steps": 1}\n',
    example={"kind": DEEPSPEED, "gpus": 8, "at": "/gradient_accumulation_steps"},
)
def batch_not_positive(config: Config) -> Iterator[Finding]:
    """A batch size, or one that is derived, is zero or negative.

    It is written so, or the floor division that derives it comes to 0: 4 samples cannot be spread over 8
    GPUs.

    Run-time errors: `AssertionError: Micro batch size per gpu: 0 has to be greater than 0`,
    `AssertionError: Gradient accumulation steps: 0 has to be greater than 0`, `ZeroDivisionError: integer
    division or modulo by zero`.

    Fix: make the global batch at least micro batch x data-parallel size.

    Source: deepspeed 0.19.8 runtime/config.py:596-600; gpt-neox (May 2026) arguments.py:866-876.
    """
    yield from _problem(config, "not-positive")


@rule(
    "BAT005",
    "layout-does-not-divide",
    ERROR,
    fails_at="config",
    bad="{train_micro_batch_size_per_gpu: 4, model_parallel_size: 4, num_layers: 2, hidden_size: 8, num_attention_heads: 2}\n",
    good="{train_micro_batch_size_per_gpu: 4, model_parallel_size: 2, num_layers: 2, hidden_size: 8, num_attention_heads: 2}\n",
    example={"kind": NEOX, "gpus": 6},
)
def layout_does_not_divide(config: Config) -> Iterator[Finding]:
    """The GPUs are not a whole multiple of the model's parallel sizes.

    A copy of the model takes tensor x pipeline (x context x sequence) GPUs; what is left over after whole
    copies fits nothing. More GPUs asked of the layout than there are is the same mistake.

    Run-time error (GPT-NeoX): `AssertionError: (global_num_gpus / pp_size / mp_size) [1.5] must be a whole
    number`.

    Fix: use a GPU count that is a multiple, or change the parallel sizes.

    Source: gpt-neox (May 2026) arguments.py:926-935; accelerate 1.15.0 parallelism_config.py:366-377.
    """
    yield from _problem(config, "layout")


@rule(
    "BAT006",
    "gpus-differ",
    WARNING,
    kinds=(NEOX,),
    bad="{global_num_gpus: 4, train_micro_batch_size_per_gpu: 4}\n",
    good="{global_num_gpus: 8, train_micro_batch_size_per_gpu: 4}\n",
    example={"kind": NEOX, "gpus": 8, "at": "/global_num_gpus"},
)
def gpus_differ(config: Config) -> Iterator[Finding]:
    """The file imposes a GPU count that is not the one of the launch.

    GPT-NeoX computes its batch with `global_num_gpus` when the file has it, whatever was launched. The
    global batch that it prints is then not the one that the processes consume.

    Fix: take `global_num_gpus` out; it is found from the hosts.

    Source: gpt-neox (May 2026) arguments.py:892-935.
    """
    imposed, offered = config.get("global_num_gpus"), config.facts.gpus
    if isinstance(imposed, int) and offered is not None and imposed != offered:
        yield Finding(
            config.setting("global_num_gpus"),
            f"the batch is computed for {imposed} GPUs, and {config.facts.gpus_source} says {offered}",
        )


@rule(
    "BAT007",
    "bound-to-gpu-count",
    INFO,
    kinds=(DEEPSPEED,),
    bad='{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n',
    good='{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n',
    example={"kind": DEEPSPEED, "at": "/train_batch_size"},
)
def bound_to_gpu_count(config: Config) -> Iterator[Finding]:
    """The three batch sizes are all written, and hold on one GPU count only.

    Without `--gpus` cfglint cannot say whether they are right; it says for how many GPUs they are. On
    any other count the framework refuses to start.

    Fix: give `--gpus N` (or declare it) to have the equation checked, or leave one of the three out.

    Source: deepspeed 0.19.8 runtime/config.py:602.
    """
    batch = config.batch
    terms = _written_terms(batch)
    if terms is None or batch.layout.gpus is not None or batch.problem is not None:
        return
    total, micro, accumulation = (term.value for term in terms)
    data_parallel, rest = divmod(total, micro * accumulation)
    if not rest:
        gpus = data_parallel * batch.gpus_per_replica
        yield Finding(
            batch.global_batch,
            f"{total} = {micro} x {accumulation} x {data_parallel}: these numbers hold on "
            f"{gpus} GPU{'s' * (gpus > 1)} and on no other count",
            related=(batch.micro_batch, batch.accumulation),
        )


def _problem(config: Config, reason: str) -> Iterator[Finding]:
    problem = config.batch.problem
    if problem is None or problem.reason != reason or any(key in config.mismatched_keys for key in config.batch_keys.values()):
        return
    batch = config.batch
    terms = () if reason == "layout" else (batch.global_batch, batch.micro_batch, batch.accumulation)
    yield Finding(
        problem.setting,
        problem.message,
        related=[term for term in terms if term.written and term.path != problem.setting.path],
        exception=problem.exception,
        fails_at=problem.fails_at,
        fix=_solution(config) if reason == "mismatch" else None,
    )


def _written_terms(batch: Batch) -> tuple[Setting, Setting, Setting] | None:
    """Global batch, micro batch and accumulation when all three are written as positive whole numbers."""
    terms = (batch.global_batch, batch.micro_batch, batch.accumulation)
    if all(term.written and type(term.value) is int and term.value > 0 for term in terms):
        return terms
    return None


def _solution(config: Config) -> Fix | None:
    """Set the accumulation, when that alone makes the equation hold."""
    batch = config.batch
    terms = _written_terms(batch)
    ways = batch.data_parallel.value
    if terms is None or type(ways) is not int or ways < 1:
        return None
    if any(term.node is not None and term.node.raw == AUTO for term in terms):  # the trainer's file holds the number
        return None
    accumulation, rest = divmod(batch.global_batch.value, batch.micro_batch.value * ways)
    if rest or not accumulation:
        return None
    from cfglint.findings.fix_builders import replace

    return replace(batch.accumulation, accumulation, f"set {batch.accumulation.name} to {accumulation}", safe=True)
