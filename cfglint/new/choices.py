"""What nobody said, chosen so that it can be named: each choice with its reason or source."""

from __future__ import annotations

from math import ceil

from cfglint.batch.solver import Problem, Solution, Split, solve
from cfglint.new.job_spec import Contradiction, Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.new.job_spec import JobSpec

GPUS_PER_NODE = 8
PRECISION = "bf16"
WHY_PRECISION = "the exponents of fp32, so nothing has to be scaled (arXiv 1905.12322); Ampere and later have it"
LORA_RATE = 2.0e-4
WHY_LORA_RATE = "what QLoRA found for adapters of models up to 13B (arXiv 2305.14314, appendix B)"
CLIPPING = 1.0


class Choice:
    """A value with the reason for it."""

    __slots__ = ("value", "why")

    def __init__(self, value: int, why: str) -> None:
        self.value = value
        self.why = why


class Chosen:
    """The batch of a job: a split, and in words why this one."""

    __slots__ = ("split", "why")

    def __init__(self, split: Split, why: str) -> None:
        self.split = split
        self.why = why

    @property
    def equation(self) -> str:
        """`micro batch 4 x accumulation 8 x 8 GPUs = 256`, as a comment says it."""
        each = self.split
        return f"{each.micro_batch} x {each.accumulation} x {each.data_parallel} data-parallel = global batch {each.global_batch}"

    @property
    def adjustable(self) -> str:
        """What the accumulation is for, where the file is bound to its GPU count, and what keeps that on another one."""
        return f"for a global batch of {self.split.global_batch}; on other GPU counts `cfglint fix --gpus N` keeps it"


def batch(job: JobSpec, cap: Choice) -> Chosen:
    """The split of the job's global batch; `cap` bounds the micro batch where nobody did.

    Without a global batch it is the micro batch on every replica, once for each pipeline stage.
    """
    gpus, stages = job.needed_gpus(), job.pipeline_parallel or 1
    micro = job.micro_batch or job.max_micro_batch
    problem = Problem(gpus, 1, max_micro_batch=micro or cap.value, tensor_parallel=job.tensor_parallel or 1, pipeline_parallel=stages)
    replicas = problem.data_parallel
    if replicas is None:
        raise Unreachable(told(solve(problem)))
    if job.global_batch is None:
        return Chosen(Split(problem.cap, stages, replicas), "" if micro else cap.why)
    problem = problem.but(global_batch=job.global_batch, gpus_per_node=job.gpus_per_node or GPUS_PER_NODE)
    if job.micro_batch is not None:
        return Chosen(exact(problem, job.micro_batch), "")
    solution = solve(problem)
    if solution.chosen is None:
        raise Unreachable(told(solution))
    return Chosen(solution.chosen, why_micro(solution.chosen, problem, cap, job.max_micro_batch is not None))


def why_micro(split: Split, problem: Problem, cap: Choice, bounded: bool) -> str:
    """Why a micro batch below or at the cap, and where the cap comes from where nobody said it."""
    busy = ", and keeps the pipeline busy" if problem.pipeline_parallel > 1 else ""
    share = split.micro_batch * split.accumulation
    divides = f"the largest up to {problem.cap} that divides {share}{busy}"
    if bounded:
        return "" if split.micro_batch == problem.cap else divides
    return cap.why if split.micro_batch == problem.cap else f"{divides}; {problem.cap} is {cap.why}"


def exact(problem: Problem, micro_batch: int) -> Split:
    """The split with a micro batch that was asked for; Unreachable where it does not divide."""
    replicas = problem.data_parallel or 1
    accumulation, rest = divmod(problem.global_batch, micro_batch * replicas)
    if rest:
        near = [f"{number * micro_batch * replicas}" for number in (accumulation, accumulation + 1) if number]
        raise Unreachable(
            f"a global batch of {problem.global_batch} is no multiple of micro batch {micro_batch} x {replicas} data-parallel;"
            f" {' and '.join(near)} {'are' if len(near) > 1 else 'is'}, or say --max-micro-batch"
        )
    return Split(micro_batch, accumulation, replicas)


def told(solution: Solution) -> str:
    """Why a batch cannot be had, and what comes nearest."""
    text = solution.reasons[0]
    near = [str(each.global_batch) for each in (solution.below, solution.above) if each]
    if near:
        text += f"; nearest global batches: {', '.join(near)}"
    if solution.gpu_counts:
        text += f"; GPU counts that work: {', '.join(map(str, solution.gpu_counts))}"
    return text


def total_steps(job: JobSpec, global_batch: int, seq_length: int | None) -> int | None:
    """The optimizer steps that were asked for, in steps or in tokens; None for a run in epochs, or of unknown length."""
    if job.tokens is not None and seq_length:
        return ceil(job.tokens / (global_batch * seq_length))
    return job.steps


def why_steps(job: JobSpec, global_batch: int, seq_length: int | None) -> str:
    """Where a number of steps comes from."""
    if job.tokens is None:
        return ""
    return f"{job.tokens:,} tokens at {global_batch} x {seq_length} = {global_batch * (seq_length or 0):,} a step"


def warmup_steps(job: JobSpec, total: int | None) -> int | None:
    """Steps of warm-up of a run whose total has to be known for a share of it; Contradiction where it is not, or too short."""
    if not job.warmup:
        return None
    if job.warmup < 1 and total is None:
        raise Contradiction(f"--warmup {job.warmup} is a share of the run: say --steps, or --epochs with --num-examples")
    steps = int(job.warmup) if job.warmup >= 1 else ceil(job.warmup * (total or 0))
    fitting_warmup(steps, total)
    return steps


def fitting_warmup(steps: int, total: int | None) -> None:
    """Raise Contradiction when warm-up takes longer than the run."""
    if total is not None and steps >= total:
        raise Contradiction(f"--warmup {steps}: the run is over after {total} steps, before the learning rate gets there")


def nodes(job: JobSpec) -> int:
    """Machines of the job, full of GPUs but for a single one; Contradiction where the GPUs leave one half empty."""
    gpus, each = job.needed_gpus(), job.gpus_per_node or GPUS_PER_NODE
    if gpus <= each:
        return 1
    if gpus % each:
        raise Contradiction(f"{gpus} GPUs do not fill nodes of {each}; say how many a node has with --gpus-per-node")
    return gpus // each


def deepspeed_launcher(job: JobSpec) -> str:
    """The launcher of DeepSpeed, which starts the other machines itself."""
    return f"deepspeed --num_gpus {job.gpus}" if nodes(job) == 1 else "deepspeed --hostfile hostfile"


def torch_launcher(job: JobSpec) -> str:
    """The launcher of torch, started on every machine; none for one GPU."""
    machines = nodes(job)
    each = f"--nproc_per_node {job.needed_gpus() // machines}"
    if machines == 1:
        return "python" if job.gpus == 1 else f"torchrun {each}"
    return f"torchrun --nnodes {machines} {each} --node_rank RANK --master_addr ADDRESS_OF_THE_FIRST"


def made_for(job: JobSpec) -> str:
    """The line above the keys of a file that is bound to its GPU count."""
    gpus, machines = job.needed_gpus(), nodes(job)
    return f"Made for {gpus} GPU{'s' if gpus > 1 else ''}" + (f" on {machines} machines." if machines > 1 else ".")


def precision(job: JobSpec) -> tuple[str, str]:
    """(precision, why); bf16 where nobody said."""
    return (job.precision, "") if job.precision else (PRECISION, WHY_PRECISION)


def rate(job: JobSpec, default: float, why: str) -> tuple[float, str]:
    """(learning rate, why); the framework's default where nobody said and all weights are trained."""
    if job.learning_rate is not None:
        return job.learning_rate, ""
    return (LORA_RATE, WHY_LORA_RATE) if job.lora else (default, why)
