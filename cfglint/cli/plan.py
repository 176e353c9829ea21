"""`cfglint plan`: which batch sizes and GPU counts reach a global batch size, and their consequences."""

from __future__ import annotations

from cfglint.cli.argument_parser import Namespace, Parser
from cfglint.cli.asked_runs import runs_asked
from cfglint.cli.console import fail, warn, warn_of
from cfglint.cli.options import UsageError, add_pace_options, add_run_options, add_target_options, load_configuration, pace_given, positive
from cfglint.cli.output import add_report_options, below_places, name_readers, refuse_several, reports, write
from cfglint.report import plans
from cfglint.rewrite.plan import Pace, Plan, joined, plan, table
from cfglint.rewrite.retarget import MissingFactError, current_gpus
from cfglint.run.checked import CheckedRun
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
    parser.takes_command = True
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a file or folder, or the files of one run")
    add_run_options(parser)
    parser.add_argument("--gpus", type=counts, metavar="N,N,...", help="GPU counts; 8-64 means 8,16,32,64")
    add_target_options(parser)
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
        first, dash, last = part.partition("-")
        low = positive(first)
        high = positive(last) if dash else low
        doubled = [low]
        while doubled[-1] * 2 <= high:
            doubled.append(doubled[-1] * 2)
        if doubled[-1] != high and not 0 <= high - low < MOST_COUNTS:
            raise ValueError(f"{low}-{high} is neither a range by doubling nor one of at most {MOST_COUNTS} counts")
        found += doubled if doubled[-1] == high else range(low, high + 1)
    return list(dict.fromkeys(found))


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


def run(arguments: Namespace) -> int:
    """Plan and print; return exit status 1 if no GPU count reaches the target."""
    gpu_counts, arguments.gpus = arguments.gpus, None
    planned: list[tuple[CheckedRun, list[Plan]]] = []
    problems: dict[str, None] = {}
    project = load_configuration(arguments)
    cards = cards_with_pace(arguments)
    pace = cards[0][1]
    for arguments.gpu, pace_of_card in cards:
        runs = runs_asked(arguments, project, complete=True)
        for index, run in enumerate(runs):
            _ = run.batch
            if run.bug_reports:
                return fail("\n".join(run.bug_reports))
            place = f"{run.written_at}: " if len(runs) > 1 else ""
            try:
                is_open = not gpu_counts and arguments.global_batch is not None and current_gpus(run, run.facts) is None
                tried = USUAL if is_open else gpu_counts or [None]
                plans_of_run = plan(run, tried, arguments.global_batch, arguments.max_micro_batch, pace_of_card)
            except (MissingFactError, EditRefused) as error:
                problems[f"{place}{error.for_command_line if isinstance(error, MissingFactError) else error}"] = None
                continue
            if run.facts.gpu_memory is not None and all(each.memory is None for each in plans_of_run):
                warn(f"{place}memory was not checked, because the shape of the model is not known: pass --model")
            for plan_on_card in plans_of_run if len(cards) > 1 else ():
                plan_on_card.card = arguments.gpu
                plan_on_card.refusals = [finding.message for finding in run.diagnostics if finding.severity == "error"]
            if len(cards) > 1 and index < len(planned) and planned[index][0].written_at == run.written_at:
                planned[index][1].extend(plans_of_run)  # of the same run, on another card
            else:
                planned.append((run, plans_of_run))
    requested = reports(arguments, FORMATS)
    if len(planned) > 1 and any(form not in FOR_SEVERAL for form, _ in requested):
        refuse_several([run for run, _ in planned], "plan")
    name_readers(run for run, _ in planned)
    warn_of(problems)
    if not planned:
        return 2
    tables = [(run, table(plans_of_run, pace)) for run, plans_of_run in planned]
    failed = write(arguments, lambda form, colour, width: as_report(form, tables, colour, width), FORMATS)
    all_plans = [card_plan for _, plans_of_run in planned for card_plan in plans_of_run]
    bugs = list(dict.fromkeys(text for card_plan in all_plans for text in card_plan.bugs))
    warn_of(bugs)
    if bugs or failed or problems:
        return 2
    return 0 if any(card_plan.retarget.feasible for card_plan in all_plans) else 1


def as_report(form: str, tables: list[tuple[CheckedRun, PlanTable]], colour: bool, width: int | None) -> str:
    """The plans of the runs; for people, those of runs with the same plans once; an HTML page also shows the current run."""
    if form == "html":
        from cfglint.explanation.summary import explained
        from cfglint.report import html

        [(run, plan_table)] = tables
        return html.plan(plan_table, explained(CheckedRun(run.documents, run.kinds, run.facts.replace(gpus=current_gpus(run, run.facts)))))
    if len(tables) == 1:
        return plans.render(form, tables[0][1], colour, width)
    if form == "json":
        return plans.render(form, joined([plan_table for _, plan_table in tables]))
    texts: dict[str, list[str]] = {}
    for run, plan_table in tables:
        texts.setdefault(plans.render(form, plan_table, colour, width), []).append(run.full_place)
    return below_places([*texts.items()], "\n" if form == "markdown" else "")
