"""Defaults for facts that were not specified, each with its reason or source."""

from __future__ import annotations

from math import ceil

from cfglint.batch.solver import Solution, Split, SplitProblem, solve
from cfglint.findings.wording import amount, counted
from cfglint.generators.job_spec import Contradiction, JobSpec, Unreachable
from cfglint.source.annotations import Callable
from cfglint.source.record import Record

GPUS_PER_NODE = 8
CLIPPING = 1.0
LOGGING = 10  # steps between log entries


class Chosen(Record):
    """The batch sizes of a job, with the reason for them."""

    split: Split
    why: str

    @property
    def equation(self) -> str:
        """`micro batch 4 x accumulation 8 x 8 GPUs = 256`, for a comment."""
        split = self.split
        return f"{split.micro_batch} x {split.accumulation} x {split.data_parallel} data-parallel = global batch {split.global_batch}"

    @property
    def adjustable(self) -> str:
        """The purpose of the accumulation in a file for one GPU count, and how to keep the global batch on another."""
        return f"for a global batch of {self.split.global_batch}; on other GPU counts `cfglint fix --gpus N` keeps it"


def batch(job: JobSpec, cap: tuple[int, str]) -> Chosen:
    """The batch sizes for the global batch, else one micro batch for each replica and stage; `cap` limits an open micro batch."""
    (limit, why_limit), gpus, stages = cap, job.needed_gpus(), job.pipeline_parallel or 1
    micro = job.micro_batch or job.max_micro_batch
    problem = SplitProblem(gpus, 1, max_micro_batch=micro or limit, tensor_parallel=job.tensor_parallel or 1, pipeline_parallel=stages)
    replicas = problem.data_parallel
    if replicas is None:
        raise Unreachable(infeasible(solve(problem)))
    if job.global_batch is None:
        return Chosen(Split(problem.cap, stages, replicas), "" if micro else why_limit)
    if job.micro_batch is not None:
        per_step = job.micro_batch * replicas
        accumulation, rest = divmod(job.global_batch, per_step)
        if rest:
            near = [f"{number * per_step}" for number in (accumulation, accumulation + 1) if number]
            raise Unreachable(
                f"global batch {job.global_batch} is not a multiple of micro batch {job.micro_batch} x {replicas} data-parallel"
                f" (nearest: {' and '.join(near)}); change it or use --max-micro-batch"
            )
        return Chosen(Split(job.micro_batch, accumulation, replicas), "")
    problem = problem.replace(global_batch=job.global_batch, gpus_per_node=job.gpus_per_node or GPUS_PER_NODE)
    solution = solve(problem)
    split = solution.chosen
    if split is None:
        raise Unreachable(infeasible(solution))
    is_cap, per_replica = split.micro_batch == problem.cap, split.micro_batch * split.accumulation
    busy = " and keeps the pipeline busy" if stages > 1 else ""
    why = why_limit if is_cap else f"the largest up to {problem.cap} that divides {per_replica}{busy}"
    if job.max_micro_batch is not None:
        return Chosen(split, "" if is_cap else why)
    return Chosen(split, why if is_cap else f"{why}; {problem.cap} is {why_limit}")


def infeasible(solution: Solution) -> str:
    """The message that a global batch cannot be reached, with the nearest ones that can."""
    text = solution.reasons[0]
    near = [str(split.global_batch) for split in (solution.below, solution.above) if split]
    if near:
        text += f"; nearest global batches: {', '.join(near)}"
    if solution.gpu_counts:
        text += f"; GPU counts that work: {', '.join(map(str, solution.gpu_counts))}"
    return text


def total_steps(job: JobSpec, global_batch: int, seq_length: int | None) -> tuple[int | None, str]:
    """(the specified number of optimizer steps, its source), from steps or tokens; None for a run in epochs or of unknown length."""
    if job.tokens is None or not seq_length:
        return job.steps, ""
    per_step = global_batch * seq_length
    return ceil(job.tokens / per_step), f"{job.tokens:,} tokens at {global_batch} x {seq_length} = {per_step:,} per step"


def warmup_steps(job: JobSpec, total: int | None, rounded: Callable[[float], int] = ceil) -> int:
    """Steps of warm-up, 0 for a ratio of unknown total steps; raises Contradiction if the run is shorter."""
    warmup = job.warmup or 0
    steps = int(warmup) if warmup >= 1 else 0 if total is None else rounded(warmup * total)
    fitting_warmup(steps, total)
    return steps


def fitting_warmup(steps: int, total: int | None) -> None:
    """Raise Contradiction if warm-up is longer than the run."""
    if total is not None and steps >= total:
        raise Contradiction(f"--warmup {steps} is longer than the run ({total} steps)")


def nodes(job: JobSpec) -> int:
    """The number of nodes of the job; raises Contradiction if the GPUs do not fill them."""
    gpus, per_node = job.needed_gpus(), job.gpus_per_node or GPUS_PER_NODE
    if gpus <= per_node:
        return 1
    if gpus % per_node:
        raise Contradiction(f"{counted(gpus, 'GPU')} cannot be divided into nodes of {per_node}; pass --gpus-per-node")
    return gpus // per_node


def deepspeed_launcher(job: JobSpec) -> str:
    """The launcher of DeepSpeed, which starts the other machines itself."""
    return f"deepspeed --num_gpus {job.gpus}" if nodes(job) == 1 else "deepspeed --hostfile hostfile"


def torch_launcher(job: JobSpec) -> str:
    """The launcher of torch, started on every machine; empty for one GPU."""
    machines = nodes(job)
    processes = f"--nproc_per_node {job.needed_gpus() // machines}"
    if machines == 1:
        return "python" if job.gpus == 1 else f"torchrun {processes}"
    return f"torchrun --nnodes {machines} {processes} --node_rank RANK --master_addr ADDRESS_OF_THE_FIRST"


def node_variables(job: JobSpec) -> str:
    """The environment variables that make a command one of several nodes; empty for one node."""
    machines = nodes(job)
    return f"NNODES={machines} NODE_RANK=RANK MASTER_ADDR=ADDRESS_OF_THE_FIRST " if machines > 1 else ""


def precision(job: JobSpec) -> tuple[str, str]:
    if job.precision:
        return job.precision, ""
    return "bf16", "same exponent range as fp32, no loss scaling (arXiv 1905.12322); Ampere and newer"


def usual_rate(job: JobSpec) -> tuple[float, str]:
    if job.lora:
        return 2.0e-4, "QLoRA's value for adapters of models up to 13B (arXiv 2305.14314, appendix B)"
    if job.optimizer == "lion":
        return 5.0e-6, "a quarter of AdamW's: Lion's authors advise 3 to 10 times less (arXiv 2302.06675, section 5)"
    return 2.0e-5, "Llama 2's for fine-tuning (arXiv 2307.09288, section 3.1)"


def rate(job: JobSpec, usual: Callable[[JobSpec], tuple[float, str]] = usual_rate) -> tuple[float, str]:
    """(learning rate, reason); the usual one if none is specified."""
    return usual(job) if job.learning_rate is None else (job.learning_rate, "")


def length(
    job: JobSpec,
    chosen: Chosen,
    usual: tuple[float, str],
    predicted: Callable[[JobSpec, Chosen, float], int],
    name: str = "num_train_epochs",
) -> tuple[tuple[str, object, str], int | None]:
    """The row of steps, or of epochs under their `name`, `usual` ones with their reason if none are specified; and the number of optimizer
    steps, if it is known: `predicted` computes that of a number of epochs.
    """
    total, why = total_steps(job, chosen.split.global_batch, job.seq_length)
    if total is not None:
        return ("max_steps", total, why), total
    epochs, why = (job.epochs, "") if job.epochs else usual
    row = (name, int(epochs) if epochs % 1 == 0 else epochs, why)
    return row, None if job.num_examples is None else predicted(job, chosen, epochs)


def log_interval(job: JobSpec, total: int | None) -> int:
    """The number of steps between log entries: few enough for a curve, also in a short run."""
    logging_steps = job.logging_steps or LOGGING
    return 1 if total is not None and logging_steps > total else logging_steps


def unless(default: object, value: object) -> object:
    """A value, or None, which is not written, if it is the default of the framework."""
    return None if value == default else value


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
    """A note with the epochs of --steps or --tokens, if the number of examples is known, each of `per_example` samples."""
    total, _ = total_steps(job, split.global_batch, seq_length or job.seq_length)
    if total is None or job.num_examples is None:
        return ()
    epochs = total * split.global_batch / per_example / job.num_examples
    seen = f"{amount(total, 'step')} of {amount(split.global_batch, 'sample')} {'is' if total == 1 else 'are'}"
    return (f"{seen} {epochs:.3g} epochs of {amount(job.num_examples, 'example')}",)
