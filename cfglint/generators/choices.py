"""Defaults for facts that were not specified, each with its reason or source."""

from __future__ import annotations

from math import ceil

from cfglint.batch.solver import Solution, Split, SplitProblem, solve
from cfglint.findings.wording import counted
from cfglint.generators.generated import Keys
from cfglint.generators.job_spec import Contradiction, JobSpec, Unreachable
from cfglint.source.annotations import Callable
from cfglint.source.record import Record

GPUS_PER_NODE = 8
PRECISION = "bf16"
WHY_PRECISION = "same exponent range as fp32, no loss scaling (arXiv 1905.12322); Ampere and newer"
RATE = 2.0e-5
WHY_RATE = "Llama 2's for fine-tuning (arXiv 2307.09288, section 3.1)"
LION_RATE = 5.0e-6
WHY_LION_RATE = "a quarter of AdamW's: Lion's authors advise 3 to 10 times less (arXiv 2302.06675, section 5)"
LORA_RATE = 2.0e-4
WHY_LORA_RATE = "QLoRA's value for adapters of models up to 13B (arXiv 2305.14314, appendix B)"
CLIPPING = 1.0
LOGGING = 10  # steps between log entries


class Choice(Record):
    """A value with the reason for it."""

    value: int
    why: str


class Chosen(Record):
    """The batch sizes of a job, with the reason for them."""

    split: Split
    why: str

    @property
    def equation(self) -> str:
        """`micro batch 4 x accumulation 8 x 8 GPUs = 256`, for a comment."""
        each = self.split
        return f"{each.micro_batch} x {each.accumulation} x {each.data_parallel} data-parallel = global batch {each.global_batch}"

    @property
    def adjustable(self) -> str:
        """The purpose of the accumulation in a file for one GPU count, and how to keep the global batch on another."""
        return f"for a global batch of {self.split.global_batch}; on other GPU counts `cfglint fix --gpus N` keeps it"


def batch(job: JobSpec, cap: Choice) -> Chosen:
    """The batch sizes for the job's global batch; `cap` limits the micro batch if it is not specified.

    Without a global batch it is the micro batch on every replica, times the pipeline stages.
    """
    gpus, stages = job.needed_gpus(), job.pipeline_parallel or 1
    micro = job.micro_batch or job.max_micro_batch
    problem = SplitProblem(gpus, 1, max_micro_batch=micro or cap.value, tensor_parallel=job.tensor_parallel or 1, pipeline_parallel=stages)
    replicas = problem.data_parallel
    if replicas is None:
        raise Unreachable(infeasible(solve(problem)))
    if job.global_batch is None:
        return Chosen(Split(problem.cap, stages, replicas), "" if micro else cap.why)
    problem = problem.replace(global_batch=job.global_batch, gpus_per_node=job.gpus_per_node or GPUS_PER_NODE)
    if job.micro_batch is not None:
        return Chosen(exact(job.global_batch, job.micro_batch, replicas), "")
    solution = solve(problem)
    if solution.chosen is None:
        raise Unreachable(infeasible(solution))
    return Chosen(solution.chosen, why_micro(solution.chosen, problem, cap, job.max_micro_batch is not None))


def why_micro(split: Split, problem: SplitProblem, cap: Choice, bounded: bool) -> str:
    """The reason for the micro batch, and for its limit if that was not specified."""
    busy = " and keeps the pipeline busy" if problem.pipeline_parallel > 1 else ""
    per_replica = split.micro_batch * split.accumulation
    divides = f"the largest up to {problem.cap} that divides {per_replica}{busy}"
    if bounded:
        return "" if split.micro_batch == problem.cap else divides
    return cap.why if split.micro_batch == problem.cap else f"{divides}; {problem.cap} is {cap.why}"


def exact(global_batch: int, micro_batch: int, replicas: int) -> Split:
    """The batch sizes with a specified micro batch; raises Unreachable if it does not divide the global batch."""
    accumulation, rest = divmod(global_batch, micro_batch * replicas)
    if rest:
        near = [f"{number * micro_batch * replicas}" for number in (accumulation, accumulation + 1) if number]
        raise Unreachable(
            f"global batch {global_batch} is not a multiple of micro batch {micro_batch} x {replicas} data-parallel"
            f" (nearest: {' and '.join(near)}); change it or use --max-micro-batch"
        )
    return Split(micro_batch, accumulation, replicas)


def infeasible(solution: Solution) -> str:
    """The message that a global batch cannot be reached, with the nearest ones that can."""
    text = solution.reasons[0]
    near = [str(each.global_batch) for each in (solution.below, solution.above) if each]
    if near:
        text += f"; nearest global batches: {', '.join(near)}"
    if solution.gpu_counts:
        text += f"; GPU counts that work: {', '.join(map(str, solution.gpu_counts))}"
    return text


def total_steps(job: JobSpec, global_batch: int, seq_length: int | None) -> int | None:
    """The specified number of optimizer steps, from steps or tokens; None for a run in epochs or of unknown length."""
    if job.tokens is not None and seq_length:
        return ceil(job.tokens / (global_batch * seq_length))
    return job.steps


def why_steps(job: JobSpec, global_batch: int, seq_length: int | None) -> str:
    """The source of a number of steps."""
    if job.tokens is None:
        return ""
    return f"{job.tokens:,} tokens at {global_batch} x {seq_length} = {global_batch * (seq_length or 0):,} per step"


def warmup_steps(job: JobSpec, total: int | None) -> int | None:
    """Steps of warm-up; a ratio requires the total steps. Raises Contradiction if they are unknown or too few."""
    if not job.warmup:
        return None
    if job.warmup < 1 and total is None:
        raise Contradiction(f"--warmup {job.warmup} is a ratio of the run: pass --steps, or --epochs with --num-examples")
    steps = int(job.warmup) if job.warmup >= 1 else ceil(job.warmup * (total or 0))
    fitting_warmup(steps, total)
    return steps


def fitting_warmup(steps: int, total: int | None) -> None:
    """Raise Contradiction if warm-up is longer than the run."""
    if total is not None and steps >= total:
        raise Contradiction(f"--warmup {steps} is longer than the run ({total} steps)")


def nodes(job: JobSpec) -> int:
    """The number of nodes of the job; raises Contradiction if the GPUs do not fill them."""
    gpus, each = job.needed_gpus(), job.gpus_per_node or GPUS_PER_NODE
    if gpus <= each:
        return 1
    if gpus % each:
        raise Contradiction(f"{counted(gpus, 'GPU')} cannot be divided into nodes of {each}; pass --gpus-per-node")
    return gpus // each


def deepspeed_launcher(job: JobSpec) -> str:
    """The launcher of DeepSpeed, which starts the other machines itself."""
    return f"deepspeed --num_gpus {job.gpus}" if nodes(job) == 1 else "deepspeed --hostfile hostfile"


def torch_launcher(job: JobSpec) -> str:
    """The launcher of torch, started on every machine; empty for one GPU."""
    machines = nodes(job)
    each = f"--nproc_per_node {job.needed_gpus() // machines}"
    if machines == 1:
        return "python" if job.gpus == 1 else f"torchrun {each}"
    return f"torchrun --nnodes {machines} {each} --node_rank RANK --master_addr ADDRESS_OF_THE_FIRST"


def made_for(job: JobSpec) -> str:
    """The comment above the keys of a file that depends on its GPU count."""
    gpus, machines = job.needed_gpus(), nodes(job)
    return f"Generated for {amount(gpus, 'GPU')}" + (f" on {machines} machines." if machines > 1 else ".")


def precision(job: JobSpec) -> tuple[str, str]:
    """(precision, reason); the default is bf16."""
    return (job.precision, "") if job.precision else (PRECISION, WHY_PRECISION)


def rate(job: JobSpec) -> tuple[float, str]:
    """(learning rate, reason); a common fine-tuning rate if none is specified."""
    if job.learning_rate is not None:
        return job.learning_rate, ""
    if job.lora:
        return LORA_RATE, WHY_LORA_RATE
    return (LION_RATE, WHY_LION_RATE) if job.optimizer == "lion" else (RATE, WHY_RATE)


def length(
    keys: Keys,
    job: JobSpec,
    chosen: Chosen,
    usual: tuple[float, str],
    predicted: Callable[[JobSpec, Chosen, float], int],
    name: str = "num_train_epochs",
) -> int | None:
    """Add steps, or the epochs under their `name`, `usual` ones with their reason if none are specified; return the number of optimizer
    steps, if it is known: `predicted` computes that of a number of epochs.
    """
    asked = total_steps(job, chosen.split.global_batch, job.seq_length)
    if asked is not None:
        keys.add("max_steps", asked, why_steps(job, chosen.split.global_batch, job.seq_length))
        return asked
    epochs, why = (job.epochs, "") if job.epochs else usual
    keys.add(name, int(epochs) if epochs % 1 == 0 else epochs, why)
    return None if job.num_examples is None else predicted(job, chosen, epochs)


def log_interval(job: JobSpec, total: int | None) -> int:
    """The number of steps between log entries: few enough for a curve, also in a short run."""
    logging_steps = job.logging_steps or LOGGING
    return 1 if total is not None and logging_steps > total else logging_steps


def amount(number: int, noun: str) -> str:
    """`1 step`, `1,173 steps`."""
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


def length_of(steps: int, examples: int) -> str:
    """`1,173 steps with 100,000 examples`."""
    return f"{amount(steps, 'step')} with {amount(examples, 'example')}"


def run_length(
    job: JobSpec, chosen: Chosen, usual: float, predicted: Callable[[JobSpec, Chosen, float], int], per_example: int = 1
) -> tuple[str, ...]:
    """A note with the steps of a run in epochs, or the epochs of a run in steps, if the number of examples is known."""
    if job.num_examples and not job.steps and not job.tokens:
        return (length_of(predicted(job, chosen, job.epochs or usual), job.num_examples),)
    return epochs_of(job, chosen.split, per_example)


def epochs_of(job: JobSpec, split: Split, per_example: int = 1, seq_length: int | None = None) -> tuple[str, ...]:
    """A note with the epochs that --steps or --tokens amount to, if the number of examples is known; `per_example` is samples per
    example.
    """
    total = total_steps(job, split.global_batch, seq_length or job.seq_length)
    if total is None or job.num_examples is None:
        return ()
    epochs = total * split.global_batch / per_example / job.num_examples
    seen = f"{amount(total, 'step')} of {amount(split.global_batch, 'sample')} {'is' if total == 1 else 'are'}"
    return (f"{seen} {epochs:.3g} epochs of {amount(job.num_examples, 'example')}",)
