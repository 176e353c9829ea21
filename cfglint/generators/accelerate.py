"""Generates a config for `accelerate launch`: processes, nodes and engine."""

from __future__ import annotations

from cfglint.generators import choices, deepspeed
from cfglint.generators.convert import Existing
from cfglint.generators.generated import Generated, GeneratedFile, Generator, Keys, Row, path_in
from cfglint.generators.job_spec import COMMON, JobSpec
from cfglint.source.annotations import Any

KIND = "accelerate"
NAME = "accelerate.yaml"
WORDS = {"bf16": "bf16", "fp16": "fp16", "fp32": "no"}
SECTION = "deepspeed_config"
OFFLOAD_DEVICES = ("offload_optimizer_device", "offload_param_device")


def launch(job: JobSpec, folder: str = "") -> Generated:
    """The config for a script about which nothing else is known."""
    rows = processes(job)
    name, why = choices.precision(job)
    rows.append(("mixed_precision", WORDS[name], why))
    if job.zero is not None:
        rows += [(f"{SECTION}.zero_stage", job.zero, deepspeed.SHARDS[job.zero])]
        accumulation, why = 1, "as the script does it; a trainer's own number has to be the same"
        if job.global_batch is not None:
            chosen = choices.batch(job, deepspeed.SMALLEST)
            accumulation, why = chosen.split.accumulation, f"{chosen.equation}; the script has to load {chosen.split.micro_batch} at a time"
        rows += [
            (f"{SECTION}.gradient_accumulation_steps", accumulation, why),
            (f"{SECTION}.gradient_clipping", *deepspeed.clipping(job, "")),
            (f"{SECTION}.{OFFLOAD_DEVICES[0]}", "cpu" if job.offload else None),
            (f"{SECTION}.{OFFLOAD_DEVICES[1]}", "cpu" if job.offload == "all" else None),
            (f"{SECTION}.zero3_save_16bit_model", True if job.zero == 3 else None, "else a saved model is a folder of pieces"),
            *construction_and_launcher(job),
        ]
    return Generated([GeneratedFile(NAME, KIND, Keys.of(*rows))], None, (f"start it with: {launcher(job, folder)} your_script.py",))


def launcher(job: JobSpec, folder: str) -> str:
    """The command that starts a script, on every machine."""
    ranks = " --machine_rank RANK --main_process_ip ADDRESS_OF_THE_FIRST" if choices.nodes(job) > 1 else ""
    return f"accelerate launch --config_file {path_in(folder, NAME)}{ranks}"


def trainer_launch_file(job: JobSpec, deepspeed_file: str) -> GeneratedFile:
    """The accelerate config for a Trainer run under DeepSpeed; precision and other settings are in the configs of these two."""
    why = "ZeRO, precision and gradient clipping are set there; repeated here they are rejected"
    file_row = (f"{SECTION}.deepspeed_config_file", deepspeed_file, why)
    return GeneratedFile(NAME, KIND, Keys.of(*processes(job), file_row, *construction_and_launcher(job)))


def processes(job: JobSpec) -> list[Row]:
    gpus, machines = job.needed_gpus(), choices.nodes(job)
    rank = 0 if machines > 1 else None
    return [
        ("compute_environment", "LOCAL_MACHINE"),
        ("distributed_type", "DEEPSPEED" if job.zero is not None else "MULTI_GPU" if gpus > 1 else "NO"),
        ("num_machines", machines),
        ("num_processes", gpus, "one for each GPU, of all machines together"),
        ("machine_rank", rank, "of the first node; every node passes its own with --machine_rank"),
    ]


def construction_and_launcher(job: JobSpec) -> list[Row]:
    """At stage 3 the model is sharded during construction; the launcher requires neither a hostfile nor password-less ssh."""
    sharded, standard = True if job.zero == 3 else None, "standard" if choices.nodes(job) > 1 else None
    why = "accelerate launch is run on every machine; the default, pdsh, wants a hostfile and ssh"
    return [
        (f"{SECTION}.zero3_init_flag", sharded, "splits weights while the model is built: no process holds all of it"),
        (f"{SECTION}.deepspeed_multinode_launcher", standard, why),
    ]


def read(existing: Existing, config: Any) -> None:
    for key in ("compute_environment", "distributed_type", "num_processes", "num_machines", "machine_rank"):
        existing.use(config, key)
    if config.started is not None:
        existing.facts["gpus"] = config.started
        existing.facts["gpus_per_node"] = config.per_machine
    if config.trainer is None and config.precision in WORDS.values():
        precision = next(fact for fact, word in WORDS.items() if word == config.precision)
        existing.take("precision", config, "mixed_precision", value=precision)
    if config.uses_deepspeed and config.deepspeed_file is None:
        existing.number("zero", config, SECTION, "zero_stage", default=2)
        existing.number("clipping", config, SECTION, "gradient_clipping")
        optimizer, weights = devices = [config.get(SECTION, key, default="none") for key in OFFLOAD_DEVICES]
        if optimizer == "cpu":
            moved = weights == "cpu" and existing.facts.get("zero") == 3
            existing.take("offload", config, SECTION, OFFLOAD_DEVICES[0], value="all" if moved else "optimizer")
        for key, device in zip(OFFLOAD_DEVICES, devices, strict=True):
            if device == "none" or existing.facts.get("offload") == "all":
                existing.use(config, SECTION, key)
    existing.use(config, SECTION, "deepspeed_config_file")


GENERATOR = Generator(
    makes="the file of `accelerate launch`: processes, machines, DeepSpeed or FSDP",
    takes=COMMON - {"num_examples"},
    generate=launch,
    read=read,
)
