"""Rules about the batch: one equation for all frameworks, whatever the names of their keys."""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix
from cfglint.findings.rule import BATCH, SKIP, Example, Finding, config_error, info, warning
from cfglint.findings.setting import AUTO, Setting
from cfglint.findings.wording import counted
from cfglint.frameworks.base import Config
from cfglint.frameworks.remedies import replace
from cfglint.frameworks.resolved_batch import Batch, BatchProblem
from cfglint.source.annotations import Iterator
from cfglint.source.limits import LONGEST_NUMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import BatchReason, Kind

DEEPSPEED: Kind = "deepspeed"
NEOX: Kind = "neox"


@config_error(
    "BAT001",
    source="deepspeed 0.19.8 runtime/config.py:593-655; gpt-neox (May 2026) megatron/neox_arguments/arguments.py:826-883",
    about=BATCH,
    kinds=(DEEPSPEED, NEOX),
    bad=(
        '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}\n',
        Example(
            "{train_batch_size: 100, train_micro_batch_size_per_gpu: 8, gradient_accumulation_steps: 4, num_layers: 2, hidden_size: 8,"
            " num_attention_heads: 2}\n",
            at="/train_batch_size",
            facts={"kind": NEOX, "gpus": None},
        ),
    ),
    fixed='{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n',
    example={"kind": DEEPSPEED, "gpus": 8, "at": "/train_batch_size"},
)
def batch_mismatch(config: Config) -> Iterator[Finding]:
    """The global batch size is not micro batch size x gradient accumulation steps x data-parallel size.

    The written batch sizes, with those that the framework derives from them, are inconsistent for this GPU
    count. The data-parallel size is the GPU count divided by the sizes of the model-parallel axes (tensor,
    pipeline, sequence), so a file that is valid on 8 GPUs fails on 4. A missing number is derived by floor
    division, and the check fails where that has a remainder.

    Fix: run `cfglint fix FILE --gpus N`, which keeps the global batch size and the micro batch size and sets the gradient
    accumulation steps; `--global-batch G` sets another global batch size. Without `train_batch_size` the
    framework computes it.
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
            f"`{batch.global_batch.name}` is {total}, not a multiple of micro batch {micro} x accumulation {accumulation}",
            note="this fails on every GPU count",
            related=(batch.micro_batch, batch.accumulation),
            exception="AssertionError: Check batch related parameters",
            help=f"set `{batch.global_batch.name}` to a multiple of {micro * accumulation}",
        )


@config_error(
    "BAT002",
    source="deepspeed 0.19.8 runtime/config.py:649; gpt-neox (May 2026) arguments.py:860",
    about=BATCH,
    kinds=(DEEPSPEED, NEOX),
    when_partial=SKIP,
    bad='{"gradient_accumulation_steps": 4}\n',
    good='{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}\n',
    example={"kind": DEEPSPEED, "gpus": 8},
)
def batch_missing(config: Config) -> Iterator[Finding]:
    """Neither the global batch size nor the micro batch size is set.

    One of the two is required; gradient accumulation steps alone are not enough. It is not reported for a
    file that is only a part of a run, because the caller may set it.
    """
    yield from _problem(config, "missing")


@config_error(
    "BAT003",
    source="deepspeed 0.19.8 runtime/config.py:593-655; gpt-neox (May 2026) arguments.py:846, 868",
    about=BATCH,
    bad='{"train_batch_size": "256"}\n',
    good='{"train_batch_size": 256}\n',
    example={"kind": DEEPSPEED, "gpus": 8, "at": "/train_batch_size"},
    old_names=("batch-type",),
)
def batch_not_a_number(config: Config) -> Iterator[Finding]:
    """A batch size is not a number.

    The framework does not convert it: a string, an unresolved `"auto"` or a list fails in the arithmetic, with
    an error that does not name the key.

    Run-time errors: `TypeError: '>' not supported between instances of 'str' and 'int'`,
    `TypeError: unsupported operand type(s) for //: 'str' and 'int'`.

    Fix: write the number without quotes. `"auto"` is only resolved in a file that a Hugging Face Trainer
    loads.
    """
    yield from _problem(config, "type")


@config_error(
    "BAT004",
    source="deepspeed 0.19.8 runtime/config.py:596-600; gpt-neox (May 2026) arguments.py:866-876",
    about=BATCH,
    bad='{"train_batch_size": 256, "gradient_accumulation_steps": 0}\n',
    good='{"train_batch_size": 256, "gradient_accumulation_steps": 1}\n',
    example={"kind": DEEPSPEED, "gpus": 8, "at": "/gradient_accumulation_steps"},
)
def batch_not_positive(config: Config) -> Iterator[Finding]:
    """A written or derived batch size is zero or negative.

    A derived one is 0 where the floor division gives 0: 4 samples cannot be distributed over 8 GPUs.

    Run-time errors: `AssertionError: Micro batch size per gpu: 0 has to be greater than 0`,
    `AssertionError: Gradient accumulation steps: 0 has to be greater than 0`, `ZeroDivisionError: integer
    division or modulo by zero`.

    Fix: use a global batch size of at least micro batch size x data-parallel size.
    """
    yield from _problem(config, "not-positive")


@config_error(
    "BAT005",
    source="gpt-neox (May 2026) arguments.py:926-935; accelerate 1.15.0 parallelism_config.py:366-377",
    about=BATCH,
    bad="{train_micro_batch_size_per_gpu: 4, model_parallel_size: 4, num_layers: 2, hidden_size: 8, num_attention_heads: 2}\n",
    good="{train_micro_batch_size_per_gpu: 4, model_parallel_size: 2, num_layers: 2, hidden_size: 8, num_attention_heads: 2}\n",
    example={"kind": NEOX, "gpus": 6},
    old_names=("layout-does-not-divide",),
)
def indivisible_gpu_count(config: Config) -> Iterator[Finding]:
    """The GPU count is not a multiple of the model-parallel sizes.

    Each replica of the model needs tensor x pipeline (x context x sequence) GPUs, and the GPU count has to be a
    multiple of that number.
    """
    yield from _problem(config, "layout")


@warning(
    "BAT006",
    source="gpt-neox (May 2026) arguments.py:892-935",
    about=BATCH,
    kinds=(NEOX,),
    bad="{global_num_gpus: 4, train_micro_batch_size_per_gpu: 4}\n",
    good="{global_num_gpus: 8, train_micro_batch_size_per_gpu: 4}\n",
    example={"kind": NEOX, "gpus": 8, "at": "/global_num_gpus"},
    old_names=("gpus-differ",),
)
def gpu_count_mismatch(config: Config) -> Iterator[Finding]:
    """The file sets a GPU count that differs from the launch.

    GPT-NeoX computes the batch with `global_num_gpus` if the file sets it, whatever the launch uses. The global
    batch size that it prints then differs from the one that the processes consume.
    """
    imposed, offered = config.get("global_num_gpus"), config.facts.gpus
    if isinstance(imposed, int) and offered is not None and imposed != offered:
        yield Finding(
            config.setting("global_num_gpus"),
            f"`global_num_gpus` is {imposed}, but {config.facts.gpus_source} is {offered}",
            note=f"GPT-NeoX computes the batch for {counted(imposed, 'GPU')}",
            help="remove `global_num_gpus`",
        )


@info(
    "BAT007",
    source="deepspeed 0.19.8 runtime/config.py:602",
    about=BATCH,
    kinds=(DEEPSPEED,),
    bad='{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n',
    good='{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}\n',
    example={"kind": DEEPSPEED, "at": "/train_batch_size"},
    old_names=("bound-to-gpu-count",),
)
def fixed_gpu_count(config: Config) -> Iterator[Finding]:
    """The three batch sizes are all set, so they are valid for one GPU count only.

    Without `--gpus` cfglint cannot check them; it reports the GPU count that they need. On any other count
    the framework fails to start.

    Fix: pass `--gpus N` (or declare it) to check the equation, or remove one of the three keys.
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
            f"these batch sizes only work on {gpus} GPU{'s' * (gpus > 1)} ({total} = {micro} x {accumulation} x {data_parallel})",
            related=(batch.micro_batch, batch.accumulation),
            note="on any other number the framework fails to start",
        )


def _problem(config: Config, reason: BatchReason) -> Iterator[Finding]:
    problem = config.batch.problem
    if problem is None or problem.reason != reason or any(key in config.mismatched_keys for key in config.batch_keys.values()):
        return
    batch = config.batch
    terms = () if reason == "layout" else (batch.global_batch, batch.micro_batch, batch.accumulation)
    fix = _solution(config) if reason == "mismatch" else None
    yield Finding(
        problem.setting,
        problem.message,
        related=[term for term in terms if term.written and term.path != problem.setting.path],
        exception=problem.exception,
        fails_at=problem.fails_at,
        fix=fix,
        help=None if fix else problem.help or _remedy(config, problem),
    )


def _remedy(config: Config, problem: BatchProblem) -> str | None:
    """The number to write, if it is certain."""
    setting, batch = problem.setting, config.batch
    if problem.reason == "type" and isinstance(setting.value, str) and len(setting.value) < LONGEST_NUMBER and setting.value.isdecimal():
        return f"set `{setting.name}` to {int(setting.value)}, without quotes"
    if problem.reason == "type" and isinstance(setting.value, str):
        return f"set `{setting.name}` to a positive integer"
    if problem.reason == "not-positive" and setting.path == batch.accumulation.path:
        return f"set `{setting.name}` to 1 for no accumulation"
    if problem.reason == "elasticity" and setting.path != ("elasticity",):
        return f"remove `{setting.name}`"
    if problem.reason == "missing":
        return f"set `{batch.micro_batch.name}`"
    if problem.reason == "mismatch" and setting.node is None and setting.path == batch.accumulation.path:
        return f'set `{setting.name}` to "auto"'
    factors = (batch.micro_batch.value, batch.accumulation.value, batch.data_parallel.value)
    if problem.reason != "mismatch" or not setting.written or setting.path != batch.global_batch.path:
        return None
    if not (batch.micro_batch.written and all(type(each) is int and each > 0 for each in factors)):
        return None
    micro, accumulation, data_parallel = factors
    return f"set `{setting.name}` to {micro * accumulation * data_parallel}, or remove `{setting.name}`"


def _written_terms(batch: Batch) -> tuple[Setting, Setting, Setting] | None:
    """Global batch size, micro batch size and accumulation steps, if all three are written as positive integers."""
    terms = (batch.global_batch, batch.micro_batch, batch.accumulation)
    if all(term.written and type(term.value) is int and term.value > 0 for term in terms):
        return terms
    return None


def _solution(config: Config) -> Fix | None:
    """The fix that sets the accumulation steps, if that alone makes the equation hold."""
    batch = config.batch
    terms = _written_terms(batch)
    data_parallel = batch.data_parallel.value
    if terms is None or type(data_parallel) is not int or data_parallel < 1:
        return None
    if any(term.node is not None and term.node.raw == AUTO for term in terms):  # the number is in the trainer's file
        return None
    accumulation, rest = divmod(batch.global_batch.value, batch.micro_batch.value * data_parallel)
    if rest or not accumulation:
        return None
    return replace(batch.accumulation, accumulation, f"set `{batch.accumulation.name}` to {accumulation}", safe=True)
