"""`cfglint plan`: which batch sizes and GPU counts reach a global batch size, and their consequences."""

from __future__ import annotations

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.asked_runs import runs_asked
from cfglint.cli.console import columns, fail, uses_colour, warn_of
from cfglint.cli.options import UsageError, add_pace_options, add_run_options, load_configuration, pace_given, positive
from cfglint.cli.single_report import MOST_RUNS, add_report_options, name_readers, only_of, the_reports, write_text
from cfglint.report import plans
from cfglint.rewrite.plan import Pace, Plan, joined, plan, table
from cfglint.rewrite.retarget import MissingFactError, current_gpus
from cfglint.run.checked import CheckedRun
from cfglint.run.paths import UnknownKindError
from cfglint.source.annotations import Sequence
from cfglint.source.change import EditRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import PlanTable


FORMATS = ("text", "json", "markdown", "csv", "html")
USUAL = (1, 2, 4, 8, 16, 32, 64)  # GPU counts that are tried for a target where neither the run nor the command line states one
FOR_SEVERAL = ("text", "markdown", "json")  # formats of the plans of several runs
MOST_COUNTS = 32  # maximum length of a range that is not powers of two


def add_arguments(parser: Parser) -> None:
    """The options of `plan`."""
    parser.takes_command = True
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a file or folder, or the files of one run")
    add_run_options(parser)
    parser.add_argument("--gpus", type=counts, metavar="N,N,...", help="GPU counts; 8-64 means 8,16,32,64")
    parser.add_argument("--global-batch", type=positive, metavar="G", help="global batch size to reach (default: the current one)")
    parser.add_argument("--from-gpus", type=positive, metavar="N", help="current GPU count, if the files leave it open")
    parser.add_argument("--max-micro-batch", type=positive, metavar="M", help="largest micro batch size (default: the current one)")
    add_pace_options(parser, several=True)
    add_report_options(parser, FORMATS)
    parser.hide("--strict-keys", "--stdin-filename")
    parser.add_example("cfglint plan train.yaml --gpus 8,16,32 --global-batch 256", "the batch sizes that reach 256")
    parser.add_example(
        "cfglint plan train.yaml --gpus 1,2 --from-gpus 1 --gpu T4,L4 --gpu-price 0.35,0.7", "where it fits, on several cards"
    )
    parser.add_example(
        "cfglint plan train.yaml --gpus 8-64 --from-gpus 8 --num-examples 128770 --time-per-step 2.1",
        "with steps and hours",
    )


def counts(text: str) -> list[int]:
    """A list of GPU counts such as 8,16,32, 8-64 (8, 16, 32, 64) or 7-9 (7, 8, 9)."""
    found: list[int] = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        found += between(positive(low), positive(high)) if dash else [positive(low)]
    return list(dict.fromkeys(found))


def between(low: int, high: int) -> list[int]:
    """The counts of a range: powers of two if they end at its last count, else each one; raises ValueError for too many."""
    doubled = [low]
    while doubled[-1] * 2 <= high:
        doubled.append(doubled[-1] * 2)
    if doubled[-1] == high:
        return doubled
    if high < low or high - low >= MOST_COUNTS:
        raise ValueError(f"{low}-{high} is neither a range by doubling nor one of at most {MOST_COUNTS} counts")
    return list(range(low, high + 1))


def cards_with_pace(arguments: Namespace) -> list[tuple[str | None, Pace]]:
    """The cards that are asked about, each with its speed and price; raises UsageError unless every card has its own."""
    named: list[str | None] = [*(arguments.gpu.split(",") if arguments.gpu else ())] or [None]
    columns: list[Sequence[float | None]] = []
    for option in ("time_per_step", "tokens_per_second", "gpu_price"):
        values = getattr(arguments, option) or [None]
        if len(values) != len(named) and values != [None]:
            raise UsageError(f"--{option.replace('_', '-')} needs a value for each card of --gpu {arguments.gpu or 'CARD'}")
        columns.append(values * len(named) if values == [None] else values)
    if arguments.log is not None:
        if len(named) > 1:
            raise UsageError("--log: the speed of a log is that of one card; pass --time-per-step with a value for each")
        return [(named[0], pace_given(arguments, columns[-1][0]))]
    return [
        (name.strip() if name else None, Pace(step, tokens, gpu_price=price, row=arguments.seq_length))
        for name, step, tokens, price in zip(named, *columns, strict=True)
    ]


def add_to(planned: list[tuple[CheckedRun, list[Plan]]], index: int, run: CheckedRun, found: list[Plan], card: str | None) -> None:
    """Add the plans of a run, on one of several cards, to those of the same run on the others."""
    for each in found:
        each.card = card
        each.refusals = [finding.message for finding in run.diagnostics if finding.severity == "error"] if card else []
    if card is not None and index < len(planned) and planned[index][0].written_at == run.written_at:
        planned[index][1].extend(found)
    else:
        planned.append((run, found))


def run(arguments: Namespace) -> int:
    """Plan and print; return exit status 1 if no GPU count reaches the target."""
    gpu_counts, arguments.gpus = arguments.gpus, None
    planned: list[tuple[CheckedRun, list[Plan]]] = []
    problems: list[str] = []
    try:
        project = load_configuration(arguments)
        asked = cards_with_pace(arguments)
        pace = asked[0][1]
        for arguments.gpu, pace_of_card in asked:
            runs = runs_asked(arguments, project, complete=True)
            for index, each in enumerate(runs):
                _ = each.batch
                if each.bug_reports:
                    return fail("\n".join(each.bug_reports))
                place = f"{each.written_at}: " if len(runs) > 1 else ""
                try:
                    is_open = not gpu_counts and arguments.global_batch is not None and current_gpus(each, each.facts) is None
                    counts = USUAL if is_open else gpu_counts or [None]
                    found = plan(each, counts, arguments.global_batch, arguments.max_micro_batch, pace_of_card)
                except MissingFactError as error:
                    problems.append(f"{place}{error.for_command_line}")
                except EditRefused as error:
                    problems.append(f"{place}{error}")
                else:
                    add_to(planned, index, each, found, arguments.gpu if len(asked) > 1 else None)
        problems = list(dict.fromkeys(problems))
        requested = the_reports(arguments, FORMATS)
        if len(planned) > 1 and any(form not in FOR_SEVERAL for form, _ in requested):
            only_of([each for each, _ in planned], "plan")
    except (UsageError, UnknownKindError) as error:
        return fail(str(error))
    name_readers(each for each, _ in planned)
    warn_of(problems)
    if not planned:
        return 2
    failed = max([write_text(_reports(form, planned, pace, output is None), output) for form, output in requested], default=0)
    found = [each for _, plans_of_run in planned for each in plans_of_run]
    bugs = list(dict.fromkeys(text for each in found for text in each.bugs))
    warn_of(bugs)
    if bugs or failed or problems:
        return 2
    return 0 if any(each.solution.feasible for each in found) else 1


def _reports(form: str, planned: list[tuple[CheckedRun, list[Plan]]], pace: Pace, printed: bool) -> str:
    """The plans of the runs; for people, those of runs with the same plans once, below their places."""
    tables = [(run, table(found, pace)) for run, found in planned]
    if len(tables) == 1:
        return _report(form, tables[0][1], tables[0][0], printed)
    if form == "json":
        return plans.render(form, joined([each for _, each in tables]))
    texts: dict[str, list[str]] = {}
    for run, each in tables:
        texts.setdefault(_report(form, each, run, printed), []).append(run.full_place)
    shown, gap = [*texts.items()][:MOST_RUNS], "\n" if form == "markdown" else ""
    left = [place for _, places in [*texts.items()][MOST_RUNS:] for place in places]
    rest = [f"not shown: {', '.join(left)}\n"] if left else []
    return "\n".join([*(f"{', '.join(dict.fromkeys(places))}\n{gap}{text}" for text, places in shown), *rest])


def _report(form: str, plan_table: PlanTable, run: CheckedRun, printed: bool) -> str:
    """The plans in a format; an HTML page also shows the current run."""
    if form != "html":
        return plans.render(form, plan_table, colour=printed and uses_colour(), width=columns() if printed else None)
    from cfglint.explanation.summary import explained
    from cfglint.report import html

    now = CheckedRun(run.documents, run.kinds, run.facts.replace(gpus=current_gpus(run, run.facts)))
    return html.plan(plan_table, explained(now))
