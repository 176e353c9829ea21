"""`cfglint new`: a config generated from a few facts."""

from __future__ import annotations

import json
import os
import sys
from functools import partial

from cfglint.cli.argument_parser import Misused, Namespace, Parser
from cfglint.cli.console import warn, warn_of
from cfglint.cli.options import UsageError, above_zero, gpu_memory, load_configuration, model_of, positive, targets, tokens
from cfglint.cli.prompts import ask
from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.frameworks import framework
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.memory.estimate import micro_batch_bound, missing_for
from cfglint.frameworks.memory.inputs import Model
from cfglint.generators import FRAMEWORK, RUN, existing_job, generate, kinds, run_of, set_frameworks, takes, trainers
from cfglint.generators.generated import Generated, GeneratedFile, path_in, schema_name
from cfglint.generators.job_spec import FLAGS, OPTIMIZERS, PRECISIONS, SCHEDULERS, SHORT, JobSpec, Unreachable
from cfglint.generators.neox import SHAPES
from cfglint.project.pinned_versions import Repositories
from cfglint.run.discovery import Discovery
from cfglint.run.paths import LaunchChoiceError, UnknownKindError, line_of
from cfglint.source import files, writing
from cfglint.source.annotations import Any
from cfglint.source.file_source import missing

SHAPE_NAMES = ("layers", "hidden", "heads", "kv-heads")
JOB = "job"  # the topic of the options that few jobs need
STANDARD_OUTPUT = STANDARD_INPUT = "-"
INSTEAD = ({"micro_batch", "max_micro_batch"}, {"epochs", "steps", "tokens"}, {"model", "layers", "hidden", "heads", "kv_heads"})


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add_rare = partial(parser.add_argument, topic=JOB)
    add("kind", nargs="?", choices=(*kinds(), RUN), metavar="KIND", help=f"{', '.join(kinds())}; or run, a consistent set of files")
    add("--gpus", type=positive, metavar="N", help="number of GPUs of the launch")
    add_rare("--gpus-per-node", type=positive, metavar="N", help="GPUs per node (default: 8)")
    add("--global-batch", type=positive, metavar="G", help="samples per optimizer step")
    add("--max-micro-batch", type=positive, metavar="M", help="largest micro batch size that fits")
    add_rare("--micro-batch", type=positive, metavar="M", help="exactly this micro batch size")
    add("--zero", type=int, choices=("0", "1", "2", "3"), help="ZeRO stage")
    add_rare("--offload", action="store_true", help="offload the optimizer to the CPU")
    add_rare("--offload-weights", action="store_true", help="also offload the weights, at ZeRO stage 3")
    add_rare("--precision", choices=PRECISIONS, help=f"number format (default: {PRECISIONS[0]})")
    add("--epochs", type=above_zero, metavar="E", help="passes over the data")
    add_rare("--steps", type=positive, metavar="S", help="optimizer steps, instead of --epochs")
    add_rare("--tokens", type=tokens, metavar="T", help="tokens, such as 300e9, instead of --epochs")
    add("--num-examples", type=positive, metavar="N", help="training samples")
    add("--seq-length", type=positive, metavar="L", help="tokens per sample")
    add("--lr", type=above_zero, metavar="RATE", help="peak learning rate")
    add_rare("--warmup", type=not_negative, metavar="W", help="warm-up: a fraction of the run if below 1, else steps")
    add_rare("--optimizer", choices=OPTIMIZERS, help=f"optimizer (default: {OPTIMIZERS[0]})")
    add_rare("--scheduler", choices=SCHEDULERS, help="the learning rate after warm-up")
    add_rare("--trainer", choices=trainers, help="TRL: the trainer (default: sft)")
    add_rare("--lora", action="store_true", help="train an adapter, not the complete model")
    published = f"GPT-NeoX: {', '.join(SHAPES)}, or layers=N,hidden=N,heads=N,kv-heads=N"
    model_help = f"{published}; else, for --gpu-memory: a config.json, its folder, or a known model"
    add_rare("--model", metavar="NAME", action=to_model, help=model_help)
    parser.former = {f"--{name}": f"--model={name}=N" for name in SHAPE_NAMES}
    add_rare("--gpu-memory", type=gpu_memory, metavar="GIB", help="memory of a GPU, instead of --max-micro-batch")
    add_rare("--tp", type=positive, metavar="N", help="GPT-NeoX: tensor parallel size")
    add_rare("--pp", type=positive, metavar="N", help="GPT-NeoX: pipeline stages")
    add("--framework", choices=set_frameworks, default=FRAMEWORK, help=f"of the set `run` (default: {FRAMEWORK})")
    add("--target", action="append", default=[], metavar="NAME==VERSION", help="a release; repeatable")
    add("--from", action="append", default=[], metavar="FILE", help="take the facts of a run; repeatable")
    add_rare("--config", metavar="FILE", help="a cfglint.toml or pyproject.toml (default: the nearest one)")
    add("--output", metavar="PATH", help="or -o: a folder or file; - prints (default: this folder)")
    add("--force", action="store_true", help="replace existing files")
    parser.add_example("cfglint new", "ask for the facts")
    parser.add_example("cfglint new huggingface --gpus 8 --global-batch 256 --epochs 3 --lr 2e-5", "a Trainer config")
    parser.add_example("cfglint new run --gpus 16 --global-batch 512 --max-micro-batch 4 -o configs", "a set")
    parser.add_example("cfglint new deepspeed --from train.yaml --gpus 8 --num-examples 128770 -o -", "with the facts of a run, printed")


def to_model(arguments: Namespace, text: str) -> None:
    """Store the name of a model, or the sizes of one: `layers=12,hidden=768,heads=12`."""
    if text.partition("=")[0] not in SHAPE_NAMES:
        arguments.model = text
        return
    for part in text.split(","):
        name, _, number = part.strip().partition("=")
        if name not in SHAPE_NAMES:
            raise Misused(f"--model {text}: {name!r} is none of {', '.join(SHAPE_NAMES)}")
        try:
            setattr(arguments, name.replace("-", "_"), positive(number))
        except ValueError:
            raise Misused(f"--model {text}: {name} expects a positive integer") from None


def not_negative(text: str) -> float:
    """A ratio below 1 or a number of steps, 0 or more."""
    return 0.0 if float(text) == 0 else above_zero(text)


def run(arguments: Namespace) -> int:
    """Generate, check and write; return exit status 1 if the GPUs cannot reach the global batch size."""
    try:
        given = {name: getattr(arguments, SHORT.get(name, name), None) for name in FLAGS}
        given["offload"] = "all" if arguments.offload_weights else "optimizer" if arguments.offload else None
        given["target"] = targets(arguments) or None
        given = {name: value for name, value in given.items() if value is not None and value is not False}
        sources = getattr(arguments, "from")
        if not given and not sources and sys.stdin.isatty() and sys.stdout.isatty():
            try:
                asked = ask(arguments.kind, arguments.framework, load_configuration(arguments).gpus)
            except KeyboardInterrupt:
                sys.stdout.write("\n")
                warn("nothing was written")
                raise
            arguments.kind, arguments.framework = asked.kind, asked.framework
            given = asked.facts
        if arguments.kind is None:
            raise UsageError(f"what kind of config? {', '.join((*kinds(), RUN))}")
        is_neox = "neox" in {arguments.kind, arguments.framework if arguments.kind == RUN else ""}
        # The model whose memory is estimated: only GPT-NeoX files contain its name as a fact.
        model = None if is_neox or arguments.gpu_memory is None else model_of(given.pop("model", None))
        job = with_target_versions(JobSpec(**(with_facts_of_run(arguments, sources, given) if sources else given)), arguments)
        folder = folder_of(arguments.output)
        if arguments.gpu_memory is not None and job.micro_batch is None and job.max_micro_batch is None:
            job = with_memory_limit(job, arguments, model)
        generated = generate(arguments.kind, job, arguments.framework, folder)
        doubts = doubts_about(generated, job, folder)
        write_or_print(generated, arguments)
    except Unreachable as error:
        warn(str(error))
        return 1
    output = arguments.output or ""
    for file in generated.files:
        for name, value, why in file.reasons if file.is_json else ():  # which has no comments
            spelled = "{...}" if isinstance(value, dict) else json.dumps(value)
            warn(f"{output if names_file(output) else file.name}: {name} {spelled}: {why}")
    warn_of(doubts)
    first = path_in(folder, generated.files[0].name)
    warn_of(note.replace(first, output) if names_file(output) else note for note in generated.notes)  # the last one starts the run
    return 0


def with_facts_of_run(arguments: Namespace, paths: list[str], given: dict[str, Any]) -> dict[str, Any]:
    """The facts of the existing run of --from, which has no option for the kind of its files, overridden by those of flags."""
    facts = LaunchFacts(gpus=given.get("gpus"), num_examples=given.get("num_examples"), target=given.get("target") or {}, complete=True)
    discovery = Discovery(facts)
    absent = [path for path in paths if path != STANDARD_INPUT and not os.path.exists(line_of(path)[0])]
    if absent:
        raise UsageError(f"--from {', '.join(absent)}: no such file")
    try:
        source = discovery.together(paths)[0]
    except LaunchChoiceError:
        raise
    except UnknownKindError as error:
        raise UsageError(f"--from {error.path}: not recognised as a training config") from error
    unread = [document.path for document in source.documents if missing(document) or document.problems]
    unread = unread or discovery.request.stats.unreadable
    if unread:
        raise UsageError(f"--from {', '.join(unread)}: cannot be read; run `cfglint check` for the reason")
    found = existing_job(source)
    replaced = [name for group in INSTEAD if group & given.keys() for name in group]
    if given.get("gpus", found.facts.get("gpus")) != found.facts.get("gpus"):
        replaced.append("gpus_per_node")
    found.drop([*replaced, *given])
    beyond = found.drop(JobSpec(**found.facts).beyond(takes(arguments.kind, arguments.framework)))
    warn_of(f"no counterpart, left out: {setting}" for setting in [*beyond, *found.left])
    return {**found.facts, **given}


def with_target_versions(job: JobSpec, arguments: Namespace) -> JobSpec:
    """Add the target versions to the job: those of the flags, else those of the configuration or the repository."""
    kinds = (arguments.framework if arguments.kind == RUN else arguments.kind, "deepspeed", "accelerate")
    packages = [package for kind in dict.fromkeys(kinds) for package in framework(kind).packages()]
    known = LaunchFacts(target={**load_configuration(arguments).target, **(job.target or {})})
    facts = Repositories({}).complete(known, os.path.join(os.getcwd(), "new"), packages)
    warn_of(f"for {package} {facts.target[package]} ({said_by})" for package, said_by in facts.target_from.items())
    return job.replace(target=facts.target) if facts.target else job


def with_memory_limit(job: JobSpec, arguments: Namespace, model: Model | None) -> JobSpec:
    """The job with the largest micro batch for the memory of the card, estimated from files generated with a micro batch of 1."""
    generated = generate(arguments.kind, job.replace(max_micro_batch=1), arguments.framework)
    facts = LaunchFacts(job.gpus, target=job.target or {}, complete=True, kind_given=True, trainer=job.trainer)
    facts = facts.replace(model=model, gpu_memory=arguments.gpu_memory, seq_length=job.seq_length)
    config = run_of(generated, facts).configs[0]
    lacking = missing_for(config)
    if lacking:
        raise UsageError(f"--gpu-memory needs {' and '.join(lacking)}")
    bound = micro_batch_bound(config)
    if bound is None:
        return job
    warn(f"{bound.reason} into {arguments.gpu_memory:g} GiB")
    return job.replace(max_micro_batch=bound.size)


def doubts_about(generated: Generated, job: JobSpec, folder: str) -> list[str]:
    """The warnings of cfglint about the generated files; an error would be a bug in cfglint, and raises UsageError."""
    facts = LaunchFacts(job.gpus, job.num_examples, job.target or {}, complete=True, kind_given=True, strict_keys=True, trainer=job.trainer)
    diagnostics = [diagnostic for diagnostic in run_of(generated, facts, folder).diagnostics if diagnostic.severity in (ERROR, WARNING)]
    error = next((diagnostic for diagnostic in diagnostics if diagnostic.severity == ERROR), None)
    if error is not None:
        raise UsageError(f"the files would be refused ({error.code}: {error.message}); please report this, nothing is written")
    return [f"{diagnostic.place.file}: {diagnostic.message} ({diagnostic.code})" for diagnostic in diagnostics]


def folder_of(output: str | None) -> str:
    """The folder of the output relative to the working directory; "" for that directory and for printed output."""
    if output in (None, STANDARD_OUTPUT):
        return ""
    folder = os.path.dirname(output) if names_file(output) else output
    return "" if folder in ("", ".") else folder


def names_file(output: str) -> bool:
    """Whether an output path means a file: judged by its suffix, unless it is an existing folder."""
    return output.endswith((".json", ".yaml", ".yml")) and not os.path.isdir(output)


def write_or_print(generated: Generated, arguments: Namespace) -> None:
    """Print the files, or write all of them; none if one of them exists already."""
    if arguments.output == STANDARD_OUTPUT:
        heads = len(generated.files) > 1
        sys.stdout.write("\n".join((f"==> {file.name} <==\n" if heads else "") + file.text for file in generated.files))
        return
    paths = destinations(generated, arguments.output or ".")
    there = [path for path in paths if os.path.lexists(path)]
    if there and not arguments.force:
        raise UsageError(f"{', '.join(there)}: there already; --force replaces, -o - prints")
    writes: list[writing.Write] = []
    for path, file in paths.items():
        file.has_schema = os.path.isfile(os.path.join(os.path.dirname(path), schema_name(file.kind)))
        if path in there:
            identity = files.read(path)[2]
            writes.append(writing.Edited(path, identity, identity.encoded(file.text)))
        else:
            writes.append(writing.New(path, file.text.encode("utf-8")))
    try:
        for path in paths:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    writing.write_all(writes)
    warn_of(write.note for write in writes if write.note)
    warn_of(f"wrote {path}" for path in paths)


def destinations(generated: Generated, output: str) -> dict[str, GeneratedFile]:
    """The path of each file; raises UsageError if one name is given for several files, or a name that the parser would refuse."""
    if not names_file(output):
        return {os.path.normpath(os.path.join(output, file.name)): file for file in generated.files}
    if len(generated.files) > 1:
        raise UsageError(f"-o {output}: these are {len(generated.files)} files; name a folder")
    [file] = generated.files
    wanted = os.path.splitext(file.name)[1]
    if os.path.splitext(output)[1] != wanted and (wanted == ".json" or output.endswith(".json") or file.kind == "neox"):
        raise UsageError(f"-o {output}: a {file.kind} file ends in {wanted}")
    return {output: file}
