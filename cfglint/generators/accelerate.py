"""Generates a config for `accelerate launch`: processes, nodes and engine."""

from __future__ import annotations

from cfglint.generators import choices, deepspeed, refuse_beyond
from cfglint.generators.convert import of_accelerate
from cfglint.generators.generated import Generated, GeneratedFile, Keys, path_in
from cfglint.generators.generator import Generator
from cfglint.generators.job_spec import COMMON, JobSpec

KIND = "accelerate"
NAME = "accelerate.yaml"
TAKES = COMMON - {"num_examples"}
WORDS = {"bf16": "bf16", "fp16": "fp16", "fp32": "no"}


def launch(job: JobSpec, folder: str = "") -> Generated:
    """The config for a script about which nothing else is known."""
    refuse_beyond(job, KIND)
    keys = processes(job)
    name, why = choices.precision(job)
    keys.add("mixed_precision", WORDS[name], why)
    if job.zero is not None:
        engine(keys, job)
    return Generated([GeneratedFile(NAME, KIND, keys)], None, (f"start it with: {launcher(job, folder)} your_script.py",))


def launcher(job: JobSpec, folder: str) -> str:
    """The command that starts a script, on every machine."""
    ranks = " --machine_rank RANK --main_process_ip ADDRESS_OF_THE_FIRST" if choices.nodes(job) > 1 else ""
    return f"accelerate launch --config_file {path_in(folder, NAME)}{ranks}"


def trainer_launch_file(job: JobSpec, deepspeed_file: str) -> GeneratedFile:
    """The accelerate config for a Trainer run under DeepSpeed; precision and other settings are in the configs of these two."""
    keys = processes(job)
    section = "deepspeed_config"
    why = "ZeRO, precision and gradient clipping are set there; repeated here they are rejected"
    keys.add(f"{section}.deepspeed_config_file", deepspeed_file, why)
    shard_during_construction(keys, job)
    standard_launcher(keys, job)
    return GeneratedFile(NAME, KIND, keys)


def processes(job: JobSpec) -> Keys:
    """Add nodes, processes and the launcher."""
    keys = Keys()
    gpus, machines = job.needed_gpus(), choices.nodes(job)
    kind = "DEEPSPEED" if job.zero is not None else "MULTI_GPU" if gpus > 1 else "NO"
    keys.add("compute_environment", "LOCAL_MACHINE")
    keys.add("distributed_type", kind)
    keys.add("num_machines", machines)
    keys.add("num_processes", gpus, "one for each GPU, of all machines together")
    if machines > 1:
        keys.add("machine_rank", 0, "of the first node; every node passes its own with --machine_rank")
    return keys


def engine(keys: Keys, job: JobSpec) -> None:
    """Add the DeepSpeed block, for a script without a DeepSpeed file."""
    section = "deepspeed_config"
    keys.add(f"{section}.zero_stage", job.zero, deepspeed.SHARDS[job.zero or 0])
    accumulation, why = 1, "as the script does it; a trainer's own number has to be the same"
    if job.global_batch is not None:
        chosen = choices.batch(job, deepspeed.SMALLEST)
        accumulation, why = chosen.split.accumulation, f"{chosen.equation}; the script has to load {chosen.split.micro_batch} at a time"
    keys.add(f"{section}.gradient_accumulation_steps", accumulation, why)
    keys.add(f"{section}.gradient_clipping", choices.CLIPPING if job.clipping is None else job.clipping)
    if job.offload:
        keys.add(f"{section}.offload_optimizer_device", "cpu")
    if job.offload == "all":
        keys.add(f"{section}.offload_param_device", "cpu")
    if job.zero == 3:
        keys.add(f"{section}.zero3_save_16bit_model", True, "else a saved model is a folder of pieces")
    shard_during_construction(keys, job)
    standard_launcher(keys, job)


def shard_during_construction(keys: Keys, job: JobSpec) -> None:
    """Make accelerate shard the model during construction: at stage 3 no process ever holds the complete model."""
    if job.zero == 3:
        keys.add("deepspeed_config.zero3_init_flag", True, "splits weights while the model is built: no process holds all of it")


def standard_launcher(keys: Keys, job: JobSpec) -> None:
    """Add the launcher that requires neither a hostfile nor password-less ssh."""
    if choices.nodes(job) > 1:
        why = "accelerate launch is run on every machine; the default, pdsh, wants a hostfile and ssh"
        keys.add("deepspeed_config.deepspeed_multinode_launcher", "standard", why)


GENERATOR = Generator(
    makes="the file of `accelerate launch`: processes, machines, DeepSpeed or FSDP", takes=TAKES, generate=launch, read=of_accelerate
)
