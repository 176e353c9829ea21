"""Options that several commands use, and the values computed from them."""

from __future__ import annotations

import os

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.console import warn
from cfglint.findings.wording import counted, first_few
from cfglint.frameworks import file_kinds, trainers
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.versions import INSTALLED, is_version
from cfglint.project import settings_file
from cfglint.project.selection import Selection
from cfglint.project.settings_file import LARGEST, Configuration, DeclaredRun, with_settings
from cfglint.run.paths import LaunchChoiceError, ScanStats, is_program, is_script
from cfglint.source import CfglintError
from cfglint.source.annotations import Callable, Collection
from cfglint.source.files import EXTENSIONS, FileProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.memory.inputs import Model
    from cfglint.launch.overrides import Override
    from cfglint.project.baseline import Baseline
    from cfglint.rewrite.plan import Pace

MOST_UNKNOWN = 10  # codes without a rule that are named
LISTED = "`cfglint check --show runs` lists them"
RUN = "run"  # the topic of the options that describe a run
LONGEST_LINE = 100_000  # characters of a launch line; parsing takes quadratic time in the length of a word


class UsageError(CfglintError):
    """Invalid or contradictory arguments; the message names the remedy. Exit status 2."""


def add_run_options(parser: Parser) -> None:
    parser.add_argument("--run", action="store_true", topic=RUN, help="the paths are one complete run: what is absent is missing")
    parser.add_argument("--kind", choices=file_kinds(), help="the kind of the (first) file (default: detected)")
    add_fact_options(parser)
    parser.add_argument("--section", metavar="KEY", topic=RUN, help="the config is the mapping under KEY in the file")
    parser.add_argument("--stdin-filename", metavar="NAME", topic=RUN, help="the file name for standard input (`-`)")


def add_fact_options(parser: Parser) -> None:
    def add(name: str, text: str, **details: object) -> None:
        parser.add_argument(name, help=text, topic=RUN, **details)

    parser.add_argument("--gpus", type=positive, metavar="N", help="number of GPUs of the launch")
    add("--nodes", "number of nodes, if a launch line leaves it open", type=positive, metavar="N")
    add("--env", "a shell variable of a launch script; repeatable", action="append", default=[], metavar="NAME=VALUE")
    versions = "release of a framework, or `installed`: those of the environment; repeatable"
    add("--target", versions, action="append", default=[], metavar="NAME==VERSION")
    add("--num-examples", "number of training samples, to compute steps", type=positive, metavar="N")
    add("--count-data", "count the rows of local data files over 256 MB, too", action="store_true")
    add("--set", "an override passed on the launch line; repeatable", action="append", default=[], metavar="KEY=VALUE")
    add("--args", "the arguments of a launch line, as one string", metavar="TEXT")
    add("--model", "for memory: a config.json, its folder, or a known name", metavar="PATH|NAME")
    add("--gpu", "the card: its memory, and what frameworks refuse on it (T4)", type=card, metavar="CARD")
    add("--gpu-memory", "memory of a GPU in GiB (79.2), or a card (80GB, H100)", type=gpu_memory, metavar="GIB")
    add("--seq-length", "tokens per sample, if the files leave it open", type=positive, metavar="N")
    add("--trainer", "the TRL trainer (default: detected)", choices=trainers)
    strict = "the script adds no keys of its own: unknown ones are errors of the config"
    add("--strict-keys", strict, action="store_true")
    add("--config", "a cfglint.toml or pyproject.toml (default: the nearest one)", metavar="FILE")


def add_pace_options(parser: Parser, several: bool = False) -> None:
    """Add the options for the speed of a run, as it was measured, and the price of its GPUs; of `several` cards if these are compared."""
    number = several_numbers if several else above_zero
    parser.add_argument("--time-per-step", type=number, metavar="SECONDS", help="measured on the current GPUs")
    parser.add_argument("--tokens-per-second", type=number, metavar="T", help="measured, of all current GPUs")
    parser.add_argument("--log", metavar="LOG", help="log of an earlier run, whose speed is scaled by the samples of each GPU")
    parser.add_argument("--gpu-price", type=number, metavar="P", help="of a GPU for an hour, in any currency")


def add_target_options(parser: Parser) -> None:
    parser.add_argument("--global-batch", type=positive, metavar="G", help="global batch size to reach (default: the current one)")
    parser.add_argument("--from-gpus", type=positive, metavar="N", help="current GPU count, if the files leave it open")
    parser.add_argument("--max-micro-batch", type=positive, metavar="M", help="largest micro batch size (default: the current one)")


def gpus_not_used(set_by_lines: dict[str, int], gpus: int) -> list[str]:
    """The note that launch lines do not use `--gpus`, because they set another number, given by their places; empty if none does."""
    others = {place: number for place, number in set_by_lines.items() if number != gpus}
    if not others:
        return []
    first, *more = others.values()
    starting = f"{first_few(others)} starts on {counted(first, 'GPU')}"
    if more:
        numbers = first_few(f"{place}: {number}" for place, number in others.items())
        starting = f"{len(others)} launch lines start on other numbers of GPUs ({numbers})"
    return [f"`--gpus {gpus}` is not used: {starting}; for another number: cfglint plan {next(iter(others))} --gpus {gpus}"]


def pace_given(arguments: Namespace, price: float | None) -> Pace:
    """The speed that the options give, or the log that they name, with the price of a GPU."""
    from cfglint.rewrite.plan import Pace

    if arguments.log is None:
        return Pace(arguments.time_per_step, arguments.tokens_per_second, gpu_price=price, row=arguments.seq_length)
    from cfglint.explanation.log_file import Log

    try:
        pace = Log(arguments.log).pace(price)
    except FileProblem as error:
        raise UsageError(f"--log {arguments.log}: {error}") from error
    if pace is None:
        raise UsageError(f"--log {arguments.log}: shows neither the training's time nor a progress bar; pass --time-per-step")
    return pace


def add_finding_options(parser: Parser) -> None:
    add_code_options(parser)
    parser.add_argument("--fail-on", choices=("error", "warning", "info"), help="lowest severity for exit status 1 (default: error)")


def add_code_options(parser: Parser) -> None:
    parser.add_argument("--select", type=codes, metavar="CODES", help="report only these: BAT001,KEY,ignored-key")
    parser.add_argument("--ignore", type=codes, metavar="CODES", help="do not report these; for a line: `# cfglint: ignore[CODE] REASON`")


def add_output_options(parser: Parser, formats: tuple[str, ...]) -> None:
    """Add the options for the output; a format and a file can be given several times, in pairs."""
    parser.add_argument("--format", action="append", default=[], choices=formats, help="default: by --output")
    parser.add_argument("--output", action=paired, default=[], metavar="FILE", help="write to this file; its suffix decides the format")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")


def paired(namespace: Namespace, file: str) -> None:
    """Assign a file to the --format before it; earlier formats go to standard output."""
    unpaired = len(namespace.format) - 1 - len(namespace.output)
    namespace.output = [*namespace.output, *[None] * unpaired, file]


def positive(text: str) -> int:
    """A positive integer."""
    number = int(text)
    if not 0 < number <= LARGEST:
        raise ValueError(text)
    return number


def tokens(text: str) -> int:
    """A number of tokens such as 300e9."""
    return positive(text) if text.isdecimal() else int(above_zero(text))


def several_numbers(text: str) -> list[float]:
    """A number above 0, or one for each card."""
    return [above_zero(each) for each in text.split(",")]


def gpu_memory(text: str) -> float:
    """A number of GiB such as 79.2, or a card such as 80GB or H100."""
    from cfglint.batch.cards import offered

    return offered(text)


def card(text: str) -> str:
    """A card such as T4, A100-80GB, RTX-4090 or MI300X; several for `plan`."""
    from cfglint.batch.cards import find

    for each in text.split(","):
        if find(each) is None:
            warn(f"--gpu {each}: unknown card, so nothing is checked for it; known are such as T4, A100-80GB, RTX-4090, H100, MI300X, cpu")
    return text


def model_of(text: str | None) -> Model | None:
    """The model that a flag or a declared run names; raises UsageError if its shape is unknown."""
    if text is None:
        return None
    from cfglint.frameworks.memory.named_models import UnknownModel, named_model

    try:
        return named_model(text)
    except UnknownModel as error:
        raise UsageError(f"--model {error}") from error


def above_zero(text: str) -> float:
    """A number above 0."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError(text)
    return number


def codes(text: str) -> list[str]:
    """A list of rule codes, families or names such as BAT001,KEY,ignored-key."""
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise ValueError(text)
    return found


def load_configuration(arguments: Namespace, read: Callable[[str], Configuration] = settings_file.read) -> Configuration:
    """The configuration in effect: that of --config, else the nearest one."""
    return settings_file.in_effect(arguments.config or settings_file.find(working_directory()), bool(arguments.config), read)


def working_directory() -> str:
    """The working directory; raises UsageError if it was deleted."""
    try:
        return os.getcwd()
    except OSError as error:
        raise UsageError(f"the working directory cannot be used: {error.strerror}") from error


def targets(arguments: Namespace) -> dict[str, str]:
    target = {}
    for text in arguments.target:
        if text == INSTALLED:
            continue
        name, _, version = map(str.strip, text.partition("=="))
        if not name or not is_version(version):
            raise UsageError(f"--target {text}: expected NAME==VERSION, such as transformers==4.57.1, or {INSTALLED}")
        from cfglint.frameworks.known_names import unknown_package

        wrong = unknown_package(name)
        if wrong:
            raise UsageError(f"--target {text}: {wrong}")
        target[name] = version
    return target


def environment(pairs: list[str]) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for text in pairs:
        name, mark, value = text.partition("=")
        if not mark or not name.replace("_", "a").isalnum() or name[0].isdigit():
            raise UsageError(f"--env {text}: expected NAME=VALUE")
        found.append((name, value))
    return tuple(found)


def overrides(pairs: list[str], line: str | None) -> tuple[Override, ...]:
    """The overrides `--set KEY=VALUE` and those of a launch line, without its words before the first option."""
    if not pairs and not line:
        return ()
    import shlex

    from cfglint.launch.overrides import ARGS, Override

    line = line or ""
    if len(line) > LONGEST_LINE:
        raise UsageError(f"--args: has {len(line):,} characters, the limit is {LONGEST_LINE:,}")
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"--args: {error}") from error
    found: list[Override] = []
    for word in words:
        if word.startswith("--"):
            key, mark, value = word[2:].partition("=")
            found.append(Override(key.replace("-", "_"), [value] if mark else [], ARGS))
        elif found:
            found[-1].texts.append(word)
    for text in pairs:
        key, mark, value = text.partition("=")
        if not mark or not key:
            raise UsageError(f"--set {text}: expected KEY=VALUE")
        found.append(Override(key, [value]))
    return tuple(found)


def facts_of(arguments: Namespace, project: Configuration, complete: bool) -> LaunchFacts:
    """The facts of undeclared runs, from the flags and the project's configuration, then from a log (`logged`); UsageError for a typo."""
    found = overrides(arguments.set, arguments.args)
    if found:
        from cfglint.frameworks.known_names import misspelt_key
        from cfglint.launch.overrides import ARGS

        has_program = any(map(is_program, getattr(arguments, "paths", [])))  # whose arguments are its own
        for override in found:
            near = None if has_program and override.origin == ARGS else misspelt_key(override)
            if near:
                raise UsageError(f"{override}: unknown key `{override.key}`; did you mean `{near}`?")
    facts = LaunchFacts(
        gpus=arguments.gpus,
        gpus_source=getattr(arguments, "gpus_source", "--gpus"),
        num_examples=arguments.num_examples,
        target=targets(arguments),
        complete=complete,
        kind_given=bool(arguments.kind),
        strict_keys=arguments.strict_keys,
        trainer=arguments.trainer,
        overrides=found,
        arguments=arguments.args or "",
        from_gpus=getattr(arguments, "from_gpus", None),
        nodes=arguments.nodes,
        environment=environment(arguments.env),
        model=model_of(arguments.model),
        seq_length=arguments.seq_length,
        installed=INSTALLED in arguments.target,
        resume=getattr(arguments, "resume", None),
        count_data=arguments.count_data,
        here=getattr(arguments, "here", False),
    )
    facts = with_settings(on_card(facts, arguments), project)
    for name, value in (getattr(arguments, "logged", None) or {}).items():
        if getattr(facts, name) is None:
            setattr(facts, name, value)
            facts.gpus_source = "the log" if name == "gpus" else facts.gpus_source
            facts.examples_source = "the log" if name == "num_examples" else facts.examples_source
    return facts


def on_card(facts: LaunchFacts, arguments: Namespace) -> LaunchFacts:
    if arguments.gpu and "," in arguments.gpu:
        raise UsageError(f"--gpu {arguments.gpu}: several cards are compared by `cfglint plan`; pass one")
    return facts.on_card(arguments.gpu, arguments.gpu_memory)


def facts_of_declared(run: DeclaredRun, arguments: Namespace, project: Configuration) -> LaunchFacts:
    """The facts of a declared run; flags take precedence."""
    facts = facts_of(arguments, project, complete=True)
    if not arguments.gpus and run.gpus is not None:
        facts.gpus, facts.gpus_source = run.gpus, f"the declared run in {project.path}"
    if arguments.num_examples is None and run.num_examples is not None:
        facts.num_examples, facts.examples_source = run.num_examples, f"the declared run in {project.path}"
    given = targets(arguments)
    facts.target = {**project.target, **run.target, **given}
    declared = {package: f"the declared run in {project.path}" for package in run.target if package not in given}
    facts.target_from = {**facts.target_from, **declared}
    facts.installed = facts.installed or run.installed
    facts.kind_given = bool(arguments.kind or run.kind)
    facts.strict_keys = arguments.strict_keys or run.strict_keys
    facts.trainer = arguments.trainer or run.trainer
    try:
        own = overrides([f"{key}={value}" for key, value in run.overrides], run.arguments)
    except UsageError as error:
        raise UsageError(f"{project.path}, the run of {run.files[0]}: {error}") from error
    facts.overrides = (*own, *facts.overrides)
    facts.arguments = arguments.args or run.arguments or ""
    facts.expected_numbers = run.expected_numbers
    facts.model = facts.model or model_of(run.model)
    facts.card = facts.gpu_memory = None
    return on_card(facts, arguments).on_card(run.gpu, run.gpu_memory).on_card(project.gpu, project.gpu_memory)


def baseline_of(arguments: Namespace, project: Configuration) -> Baseline | None:
    """The baseline in effect, empty if it is about to be written."""
    path = getattr(arguments, "baseline", None) or project.baseline
    is_written = getattr(arguments, "write_baseline", False)
    if path is None:
        if is_written:
            raise UsageError("--write-baseline: pass --baseline FILE, or set `baseline` in the configuration")
        return None
    from cfglint.project import baseline

    return baseline.Baseline(path, {}) if is_written else baseline.read(path)


def own_files(arguments: Namespace, project: Configuration) -> set[str]:
    """cfglint's own files, which do not count as skipped where a folder is walked."""
    path = getattr(arguments, "baseline", None) or project.baseline
    return {os.path.abspath(path)} if path else set()


def selection_of(arguments: Namespace, project: Configuration) -> Selection:
    """The selection of rules by flags and configuration; raises UsageError for an unknown code in a flag."""
    selection = Selection(project, arguments.select, arguments.ignore, getattr(arguments, "fail_on", None))
    misspelt = selection.misspelt()
    if misspelt:
        raise UsageError(unknown_rule(misspelt[0]))
    return selection


def unknown_rule(given: str) -> str:
    """The message for an unknown code or name of a rule, with the most similar one."""
    from cfglint.rules.catalogue import every_rule
    from cfglint.source.similar_keys import closest

    rules = every_rule()
    near = closest(given.lower(), [name for rule in rules for name in rule.names]) or closest(given.upper(), [rule.code for rule in rules])
    return f"no rule has the code or name {given}; " + (f"did you mean {near}?" if near else "`cfglint rule` lists them")


def warn_of_unknown_codes(selection: Selection) -> None:
    """Warn about unknown codes in the configuration; those in flags are usage errors."""
    codes = selection.unknown()
    for code in codes[:MOST_UNKNOWN]:
        warn(f"no rule has the code {code}")
    if len(codes) > MOST_UNKNOWN:
        warn(f"nor is there a rule for {len(codes) - MOST_UNKNOWN:,} others")


def skipped_files(stats: ScanStats) -> list[str]:
    """The files that were skipped, and why, for the last line on standard error."""

    def several(paths: Collection[str], thing: str, what: str) -> list[str]:
        return [f"{counted(len(paths), thing)} {what}: {first_few(paths)}"] if paths else []

    parts = [f"{counted(number, name + ' file')} skipped (no checks for this kind)" for name, number in sorted(stats.related_tools.items())]
    parts += [f"{release}{instead}" for release, instead in stats.outside.items()]
    for name, number in sorted(stats.unmodelled.items()):
        parts.append(f"{counted(number, 'launch line')} of {name}, which is not modelled: only the launcher is checked")
    if stats.not_read:
        parts.append(f"not read: {first_few([*stats.not_read])}")
    if stats.not_known:
        parts.append(f"not known: {first_few([*stats.not_known])}")
    parts += several(stats.templates, "template", "that cannot be read before it is filled")
    if stats.unrecognized:
        parts.append(f"{counted(stats.unrecognized, 'file')} skipped (not a training config)")
    parts += several(stats.remnants, "file", "skipped, empty or not valid")
    if stats.unclear:
        parts.append(f"could not determine the kind of {first_few(stats.unclear)}; pass --kind")
    if stats.unsearched:
        parts.append(f"{stats.unsearched:,} files of the project searched for runs that read the named files, not the others")
    parts += several(stats.foreign, "file", "outside the project not read")
    parts += several(stats.unknown_kind, "run", "skipped, kind unknown; declare it with `kind`")
    parts += [f"{path}: {reason}" for path, reason in [*stats.unchecked.items()][:MOST_UNKNOWN]]
    if len(stats.unchecked) > MOST_UNKNOWN:
        parts.append(f"{counted(len(stats.unchecked) - MOST_UNKNOWN, 'further script')} not checked completely")
    parts += stats.unchosen[:MOST_UNKNOWN]
    parts += several(stats.beyond_limits, "file", "exceeding the limits of cfglint, not checked")
    missing = [path for path in stats.unreadable if is_missing(path)]
    if missing:
        parts.append(f"no such file or folder: {first_few(missing)}")
    closed = [path for path in stats.unreadable if path not in missing]
    thing = "folder" if all(map(os.path.isdir, closed)) else "file" if all(map(os.path.isfile, closed)) else "path"
    return [*parts, *several(closed, thing, "could not be opened")]


def is_missing(path: str) -> bool:
    """Whether the path does not exist; False if that cannot be determined, as below an unreadable folder."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def report_unchecked(stats: ScanStats, skip_unrecognized: bool = False) -> bool:
    """Whether a named path could not be checked; named files that are not recognised are listed, unless they may be skipped."""
    if stats.readers:
        stats.unrecognized_named = [pair for pair in stats.unrecognized_named if os.path.abspath(pair[0]) not in stats.files]
    if skip_unrecognized:
        stats.unrecognized += len(stats.unrecognized_named)
        stats.unrecognized_named.clear()
    for path, names in stats.unrecognized_named[:MOST_UNKNOWN]:
        if is_script(path) or is_program(path):
            warn(str(LaunchChoiceError(path, [], names)))
            continue
        from cfglint.explanation.log_file import Log
        from cfglint.run.broken import closest_kind, nothing_in

        if not path.endswith(EXTENSIONS) and Log(path).recognised:
            warn(f"{path}: this is a log: `cfglint log {path}` explains it")
            continue
        closest = closest_kind(names)
        kind = f" (closest: {closest}); pass --kind {closest}" if closest else "; pass --kind"
        warn(f"{path}: {nothing_in(path) or f'not recognised as a training config{kind}'}")
    if len(stats.unrecognized_named) > MOST_UNKNOWN:
        warn(f"{len(stats.unrecognized_named) - MOST_UNKNOWN:,} more files were not recognised")
    return bool(stats.unreadable or stats.beyond_limits or stats.unchosen or stats.unknown_kind or stats.unrecognized_named)
