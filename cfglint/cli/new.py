"""`cfglint new`: a config generated from a few facts."""

from __future__ import annotations

import os
import sys
from functools import partial

from cfglint.cli.argument_parser import Misused, Namespace, Parser
from cfglint.cli.console import fail, warn, warn_of
from cfglint.cli.options import UsageError, above_zero, gpu_memory, load_configuration, model_of, positive, targets, tokens
from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.generators import FRAMEWORK, RUN, existing_job, generate, kinds, set_frameworks, takes, trainers
from cfglint.generators.generated import Generated, GeneratedFile, path_in, schema_name
from cfglint.generators.job_spec import FLAGS, OPTIMIZERS, PRECISIONS, SCHEDULERS, SHORT, Contradiction, JobSpec, Unreachable
from cfglint.generators.neox_shapes import SHAPES
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.run.paths import LaunchChoiceError, UnknownKindError, line_of
from cfglint.source import files, writing
from cfglint.source.annotations import Any, Callable
from cfglint.source.file_source import FileSource, missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.cli.prompts import Asked
    from cfglint.frameworks.memory.inputs import Model

SHAPE_NAMES = ("layers", "hidden", "heads", "kv-heads")
JOB = "job"  # the topic of the options that few jobs need
STANDARD_OUTPUT = STANDARD_INPUT = "-"
INSTEAD = ({"micro_batch", "max_micro_batch"}, {"epochs", "steps", "tokens"}, {"model", "layers", "hidden", "heads", "kv_heads"})


def add_arguments(parser: Parser) -> None:
    """Add the options of `new`; all but the last ones are facts of the job."""
    parser.add_argument(
        "kind", nargs="?", choices=(*kinds(), RUN), metavar="KIND", help=f"{', '.join(kinds())}; or run, a consistent set of files"
    )
    parser.add_argument("--gpus", type=positive, metavar="N", help="number of GPUs of the launch")
    parser.add_argument("--gpus-per-node", topic=JOB, type=positive, metavar="N", help="GPUs per node (default: 8)")
    parser.add_argument("--global-batch", type=positive, metavar="G", help="samples per optimizer step")
    parser.add_argument("--max-micro-batch", type=positive, metavar="M", help="largest micro batch size that fits")
    parser.add_argument("--micro-batch", topic=JOB, type=positive, metavar="M", help="exactly this micro batch size")
    parser.add_argument("--zero", type=int, choices=("0", "1", "2", "3"), help="ZeRO stage")
    parser.add_argument("--offload", topic=JOB, action="store_true", help="offload the optimizer to the CPU")
    parser.add_argument("--offload-weights", topic=JOB, action="store_true", help="also offload the weights, at ZeRO stage 3")
    parser.add_argument("--precision", topic=JOB, choices=PRECISIONS, help=f"number format (default: {PRECISIONS[0]})")
    add_training(parser)
    add_model(parser)
    parser.add_argument("--framework", choices=set_frameworks, default=FRAMEWORK, help=f"of the set `run` (default: {FRAMEWORK})")
    parser.add_argument("--target", action="append", default=[], metavar="NAME==VERSION", help="a release; repeatable")
    parser.add_argument("--from", action="append", default=[], metavar="FILE", help="take the facts of a run; repeatable")
    parser.add_argument("--config", topic=JOB, metavar="FILE", help="a cfglint.toml or pyproject.toml (default: the nearest one)")
    parser.add_argument("--output", metavar="PATH", help="or -o: a folder or file; - prints (default: this folder)")
    parser.add_argument("--force", action="store_true", help="replace existing files")
    parser.add_example("cfglint new", "ask for the facts")
    parser.add_example("cfglint new huggingface --gpus 8 --global-batch 256 --epochs 3 --lr 2e-5", "a Trainer config")
    parser.add_example("cfglint new run --gpus 16 --global-batch 512 --max-micro-batch 4 -o configs", "a set")
    parser.add_example("cfglint new deepspeed --from train.yaml --gpus 8 --num-examples 128770 -o -", "with the facts of a run, printed")


def add_training(parser: Parser) -> None:
    """Add the options for length, learning rate and similar settings."""
    add = partial(parser.add_argument, topic=JOB)
    parser.add_argument("--epochs", type=above_zero, metavar="E", help="passes over the data")
    parser.add_argument("--steps", topic=JOB, type=positive, metavar="S", help="optimizer steps, instead of --epochs")
    add("--tokens", type=tokens, metavar="T", help="tokens, such as 300e9, instead of --epochs")
    parser.add_argument("--num-examples", type=positive, metavar="N", help="training samples")
    parser.add_argument("--seq-length", type=positive, metavar="L", help="tokens per sample")
    parser.add_argument("--lr", type=above_zero, metavar="RATE", help="peak learning rate")
    add("--warmup", type=not_negative, metavar="W", help="warm-up: a fraction of the run if below 1, else steps")
    add("--optimizer", choices=OPTIMIZERS, help=f"optimizer (default: {OPTIMIZERS[0]})")
    add("--scheduler", choices=SCHEDULERS, help="the learning rate after warm-up")
    add("--trainer", choices=trainers, help="TRL: the trainer (default: sft)")
    add("--lora", action="store_true", help="train an adapter, not the complete model")


def add_model(parser: Parser) -> None:
    """Add the options that only GPT-NeoX files use."""
    add = partial(parser.add_argument, topic=JOB)
    published = f"GPT-NeoX: {', '.join(SHAPES)}, or layers=N,hidden=N,heads=N,kv-heads=N"
    model_help = f"{published}; else, for --gpu-memory: a config.json, its folder, or a known model"
    add("--model", metavar="NAME", action=to_model, help=model_help)
    parser.former = {f"--{name}": f"--model={name}=N" for name in SHAPE_NAMES}
    add(
        "--gpu-memory",
        type=gpu_memory,
        metavar="GIB",
        help="memory of a GPU, instead of --max-micro-batch",
    )
    add("--tp", type=positive, metavar="N", help="GPT-NeoX: tensor parallel size")
    add("--pp", type=positive, metavar="N", help="GPT-NeoX: pipeline stages")


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
        given = facts_given(arguments)
        if not given and not sources(arguments) and sys.stdin.isatty() and sys.stdout.isatty():
            from cfglint.cli.prompts import ask

            asked = answered(ask, arguments)
            arguments.kind, arguments.framework, given = asked.kind, asked.framework, asked.facts
        if arguments.kind is None:
            raise UsageError(f"what kind of config? {', '.join((*kinds(), RUN))}")
        model = shape_given(arguments, given)
        job = with_target_versions(JobSpec(**converted(arguments, given)), arguments)
        folder = folder_of(arguments.output)
        if arguments.gpu_memory is not None and job.micro_batch is None and job.max_micro_batch is None:
            job = with_memory_limit(job, arguments, model)
        made = generate(arguments.kind, job, arguments.framework, folder)
        doubts = check_generated(made, job, folder)
        write_or_print(made, arguments)
    except (UsageError, UnknownKindError, Contradiction, files.FileProblem) as error:
        return fail(str(error))
    except Unreachable as error:
        warn(str(error))
        return 1
    print_notes(made, doubts, arguments.output or "")
    return 0


def answered(ask: Callable[[str | None, str, int | None], Asked], arguments: Namespace) -> Asked:
    """The answers of the user; Ctrl-C ends the command and reports that nothing was written."""
    try:
        return ask(arguments.kind, arguments.framework, load_configuration(arguments).gpus)
    except KeyboardInterrupt:
        sys.stdout.write("\n")
        warn("nothing was written")
        raise


def sources(arguments: Namespace) -> list[str]:
    """The files of the run that the facts are taken from."""
    given: list[str] = getattr(arguments, "from")
    return given


def facts_given(arguments: Namespace) -> dict[str, Any]:
    """The facts given by flags."""
    given = {name: getattr(arguments, SHORT.get(name, name), None) for name in FLAGS}
    given["offload"] = "all" if arguments.offload_weights else "optimizer" if arguments.offload else None
    given["target"] = targets(arguments) or None
    return {name: value for name, value in given.items() if value is not None and value is not False}


def converted(arguments: Namespace, given: dict[str, Any]) -> dict[str, Any]:
    """The facts of the existing run, if there is one, overridden by those of flags."""
    if not sources(arguments):
        return given
    facts = LaunchFacts(gpus=given.get("gpus"), num_examples=given.get("num_examples"), target=given.get("target") or {}, complete=True)
    discovery = Discovery(facts)
    source = existing_run(discovery, sources(arguments))
    unread = [document.path for document in source.documents if missing(document) or document.problems]
    if unread or discovery.request.stats.unreadable:
        raise UsageError(
            f"--from {', '.join(unread or discovery.request.stats.unreadable)}: cannot be read; run `cfglint check` for the reason"
        )
    found = existing_job(source)
    replaced = [name for group in INSTEAD if group & given.keys() for name in group]
    if given.get("gpus", found.facts.get("gpus")) != found.facts.get("gpus"):
        replaced.append("gpus_per_node")
    found.drop([*replaced, *given])
    beyond = found.drop(JobSpec(**found.facts).beyond(takes(arguments.kind, arguments.framework)))
    warn_of(f"no counterpart, left out: {setting}" for setting in [*beyond, *found.left])
    return {**found.facts, **given}


def existing_run(discovery: Discovery, paths: list[str]) -> CheckedRun:
    """The run of --from, which has no option for the kind of its files."""
    absent = [path for path in paths if path != STANDARD_INPUT and not os.path.exists(line_of(path)[0])]
    if absent:
        raise UsageError(f"--from {', '.join(absent)}: no such file")
    try:
        return discovery.together(paths)[0]
    except LaunchChoiceError:
        raise
    except UnknownKindError as error:
        raise UsageError(f"--from {error.path}: not recognised as a training config") from error


def with_target_versions(job: JobSpec, arguments: Namespace) -> JobSpec:
    """Add the target versions to the job: those of the flags, else those of the configuration or the repository."""
    from cfglint.frameworks import framework
    from cfglint.project.pinned_versions import Repositories

    kinds = (arguments.framework if arguments.kind == RUN else arguments.kind, "deepspeed", "accelerate")
    packages = [package for kind in dict.fromkeys(kinds) for package in framework(kind).packages()]
    known = LaunchFacts(target={**load_configuration(arguments).target, **(job.target or {})})
    facts = Repositories({}).complete(known, os.path.join(os.getcwd(), "new"), packages)
    warn_of(f"for {package} {facts.target[package]} ({said_by})" for package, said_by in facts.target_from.items())
    return job.replace(target=facts.target) if facts.target else job


def shape_given(arguments: Namespace, given: dict[str, Any]) -> Model | None:
    """The model whose memory is estimated; only GPT-NeoX files contain its name as a fact, so it is removed for other kinds."""
    if "neox" in {arguments.kind, arguments.framework if arguments.kind == RUN else ""} or arguments.gpu_memory is None:
        return None
    return model_of(given.pop("model", None))


def with_memory_limit(job: JobSpec, arguments: Namespace, model: Model | None) -> JobSpec:
    """The job with the largest micro batch for the memory of the card, estimated from files generated with a micro batch of 1."""
    from cfglint.frameworks.memory.estimate import micro_batch_bound, missing_for

    made = generate(arguments.kind, job.replace(max_micro_batch=1), arguments.framework)
    texts = {file.name: file.text for file in made.files}
    facts = LaunchFacts(job.gpus, target=job.target or {}, complete=True, kind_given=True, trainer=job.trainer)
    facts = facts.replace(model=model, gpu_memory=arguments.gpu_memory, seq_length=job.seq_length)
    config = Discovery(facts, made.files[0].kind, source=FileSource(texts)).together(list(texts))[0].configs[0]
    missing = missing_for(config)
    if missing:
        raise UsageError(f"--gpu-memory needs {' and '.join(missing)}")
    bound = micro_batch_bound(config)
    if bound is None:
        return job
    warn_of([f"{bound.reason} into {arguments.gpu_memory:g} GiB"])
    return job.replace(max_micro_batch=bound.size)


def check_generated(made: Generated, job: JobSpec, folder: str) -> list[str]:
    """The findings of cfglint in the generated files: none, or warnings that follow from the facts.

    Raises UsageError if the framework would refuse them, which would be a bug in cfglint.
    """
    texts = {path_in(folder, file.name): file.text for file in made.files}
    facts = LaunchFacts(job.gpus, job.num_examples, job.target or {}, complete=True, kind_given=True, strict_keys=True, trainer=job.trainer)
    checked: CheckedRun = Discovery(facts, made.files[0].kind, source=FileSource(texts)).together(list(texts))[0]
    diagnostics = [diagnostic for diagnostic in checked.diagnostics if diagnostic.severity in (ERROR, WARNING)]
    error = [diagnostic for diagnostic in diagnostics if diagnostic.severity == ERROR]
    if error:
        raise UsageError(f"the files would be refused ({error[0].code}: {error[0].message}); please report this, nothing is written")
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


def write_or_print(made: Generated, arguments: Namespace) -> None:
    """Print the files, or write all of them; none if one of them exists already."""
    if arguments.output == STANDARD_OUTPUT:
        heads = len(made.files) > 1
        sys.stdout.write("\n".join((f"==> {file.name} <==\n" if heads else "") + file.text for file in made.files))
        return
    paths = destinations(made, arguments.output or ".")
    there = [path for path in paths if os.path.lexists(path)]
    if there and not arguments.force:
        raise UsageError(f"{', '.join(there)}: there already; --force replaces, -o - prints")
    for path, file in paths.items():
        file.has_schema = os.path.isfile(os.path.join(os.path.dirname(path), schema_name(file.kind)))
    writes = [overwriting(path, file.text) for path, file in paths.items()]
    try:
        for path in paths:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    writing.write_all(writes)
    warn_of(write.note for write in writes if write.note)
    warn_of(f"wrote {path}" for path in paths)


def overwriting(path: str, text: str) -> writing.Write:
    """The write of a file that may replace an existing one."""
    if not os.path.lexists(path):
        return writing.New(path, text.encode("utf-8"))
    identity = files.read(path)[2]
    return writing.Edited(path, identity, identity.encoded(text))


def destinations(made: Generated, output: str) -> dict[str, GeneratedFile]:
    """The path of each file; raises UsageError if one name is given for several files, or a name that the parser would refuse."""
    if not names_file(output):
        return {os.path.normpath(os.path.join(output, file.name)): file for file in made.files}
    if len(made.files) > 1:
        raise UsageError(f"-o {output}: these are {len(made.files)} files; name a folder")
    [file] = made.files
    wanted = os.path.splitext(file.name)[1]
    if os.path.splitext(output)[1] != wanted and (wanted == ".json" or output.endswith(".json") or file.kind == "neox"):
        raise UsageError(f"-o {output}: a {file.kind} file ends in {wanted}")
    return {output: file}


def print_notes(made: Generated, doubts: list[str], output: str) -> None:
    """Print the reasons for values in files without comments, the findings, and the notes, of which the last one starts the run."""
    for file in made.files:
        if file.is_json:
            called = output if names_file(output) else file.name
            warn_of(f"{called}: {name} {as_json(value)}: {why}" for name, value, why in file.reasons)
    warn_of(doubts)
    warn_of(note.replace(path_in(folder_of(output), made.files[0].name), output) if names_file(output) else note for note in made.notes)


def as_json(value: object) -> str:
    """A value in JSON; a section as three dots."""
    import json

    return "{...}" if isinstance(value, dict) else json.dumps(value)
