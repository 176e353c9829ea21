"""What training banners tell, as text and as data, for the numbers at which it changes.

`CFGLINT_UPDATE=1` rewrites the record; the difference is to be read.
"""

from __future__ import annotations

import json
import re

from cases import each_case
from cfglint.explanation import log_analysis, log_parser
from cfglint.explanation.log_analysis import ExplainedLog
from cfglint.report import render_log
from records import check_parts

ENDLESS = 2**63 - 1
NAMES = ("Num examples", "Num Epochs", "Instantaneous batch size per device", "Gradient Accumulation steps")
START = "***** Running training *****\n"


def trainer(samples, epochs, micro, accumulation, total_batch, total, before="", style="", more=()):
    """The banner of the Trainer; a number that is None is not printed."""
    lines = [
        ("Num examples", samples),
        ("Num Epochs", epochs),
        ("Instantaneous batch size per device", micro),
        ("Total train batch size (w. parallel, distributed & accumulation)", total_batch),
        ("Gradient Accumulation steps", accumulation),
        *more,
        ("Total optimization steps", total),
    ]
    printed = "".join(f"{style}  {name} = {number:,}\n" for name, number in lines if number is not None)
    return f"{before}{style}{START}{printed}"


def listed(arguments):
    """A line for each argument."""
    return "".join(f"  {key} {'.' * 10} {value}\n" for key, value in arguments.items())


def neox(**arguments):
    """The arguments that GPT-NeoX prints."""
    return "-------------------- arguments --------------------\n" + "".join(
        f"  {key} {'.' * 10} {value}\n" for key, value in arguments.items()
    )


def engine(**arguments):
    """The configuration that DeepSpeed prints."""
    return "DeepSpeedEngine configuration:\n" + listed(arguments)


OLD, NEW = '  "transformers_version": "4.51.3",\n', '  "transformers_version": "4.52.0",\n'
GIVEN = "max_steps is given, it will override any value given in num_train_epochs\n"
PADDLE = "[2025-09-27 09:32:23,874] [    INFO] - "
BATCH = {"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}
LOGS = (
    *(trainer(128770, 3, 8, 8, 256, total) for total in (1509, 1512, 1500, 1600, 3, 0)),
    *(trainer(128770, 3, 8, 8, 256, 1509, release) for release in (OLD, NEW)),
    *(trainer(128770, 3, 8, 8, 256, 1512, release) for release in (OLD, NEW)),
    *(trainer(1047, 300, 10, 8, 80, total) for total in (3900, 4200)),
    *(trainer(1654, 3, 8, 1, 8, 621), trainer(1000, 1, 10, 1, 10, 100), trainer(5, 2, 1, 8, 8, 2), trainer(8, 2, 1, 8, 8, 2)),
    *(trainer(9, 1, 1, 8, 8, total) for total in (1, 2)),
    *(trainer(1000, 2, 8, 1, 32, total) for total in (62, 63, 64, 124, 126, 248, 250)),  # kept, dropped and split batches on 4 processes
    *(trainer(1001, 1, 1, 1, 1, 1001), trainer(100_001, 1, 1, 1, 1, 100_001), trainer(200_003, 3, 1, 2, 2, 300_003)),
    *(trainer(133_337, 3, 1, 4, 4, total) for total in (99_999, 100_002, 100_005)),
    *(
        trainer(80, 1, 1, 1, 8, 10, GIVEN),
        trainer(1260, 1, 1, 4, 4, 3, GIVEN),
        trainer(1000, 1, 10, 1, 10, 55),
        trainer(1000, 2, 10, 1, 10, 155),
    ),
    *(trainer(1920, ENDLESS, 8, 1, 192, 10), trainer(1921, ENDLESS, 8, 1, 192, 10)),
    *(
        trainer(1000, 1, 3, 4, 100, 10),
        trainer(None, 1, 10, 1, 10, 100),
        trainer(1000, 1, None, 1, 10, 100),
        trainer(1000, None, 10, 1, 10, None),
    ),
    trainer(1000, 1, 16, 1, 10, 100, more=(("batch size has been adjusted to:", None),)),
    trainer(1000, 1, 10, 1, 10, 100, style=PADDLE),
    *(trainer(1001, 1, 10, 1, 20, total) for total in (50, 51, 100, 101)),  # on 2 processes
    trainer(1000, 1, 10, 1, 10, 100, more=(("Num update steps per epoch", 100), ("Number of trainable parameters", 5))),
    trainer(1000, 1, 10, 1, 10, 100, "world size: 4\n") + trainer(1000, 2, 10, 1, 10, 200),
    neox(**BATCH, train_iters=1000, global_num_gpus=8, model_parallel_size=1, pipe_parallel_size=1, seq_length=2048),
    neox(**BATCH, train_iters=1000, global_num_gpus=16, model_parallel_size=2, pipe_parallel_size=0, seq_length=2048),
    neox(**BATCH, train_iters=1000, global_num_gpus=16, model_parallel_size=1, pipe_parallel_size=4),
    neox(**{**BATCH, "train_batch_size": 250}, train_epochs=2, seq_length=10),
    neox(train_batch_size=8) * 2,
    *(engine(**BATCH, world_size=8), engine(**BATCH, world_size=1), engine(**BATCH), engine(train_batch_size=8)),
    engine(**BATCH) + trainer(1000, 1, 10, 1, 10, 100),
)
CONFIGURED = {"micro_batch": 8, "accumulation": 4, "global_batch": 256, "steps_per_epoch": None, "total_steps": 1600}


def page_of(found):
    """The header and the content of the page about a log, an element a line."""
    page = render_log("html", "train.log", ExplainedLog(found, []))
    return re.search(r"<header.*</main>", page, re.DOTALL).group().replace("><", ">\n<").splitlines()


PAGES = (LOGS[0], LOGS[3], neox(train_batch_size=8) * 2, trainer(1921, ENDLESS, 8, 1, 192, 10))


def test_logs(root, updating):
    lines = []
    for log in LOGS:
        found = [log_analysis.explain(each) for each in log_parser.read(log.splitlines(keepends=True))]
        lines += [
            "=== " + " | ".join(log.split("\n")).replace("  ", " "),
            *render_log("text", "train.log", ExplainedLog(found, [])).splitlines(),
        ]
        lines += [json.dumps(each) for each in json.loads(render_log("json", "train.log", ExplainedLog(found, [])))["banners"]]
        lines += [f"hint {log_analysis.hint(each)}" for each in found]
        for each in found:
            log_analysis.compare(each, CONFIGURED, lambda key: f"train.yaml:{len(key)}")
            lines += [f"not {each.key} {each.logged} but {each.configured} ({each.place})" for each in each.differences]
        if log in PAGES:
            lines += ["=== the page about it: " + log.strip().split("\n")[-1].strip(), *page_of(found)]
    check_parts(root / "tests" / "explanation" / "expected" / "logs", "what a log says of its run", lines, updating)


def numbers_after(start, gap, line):
    """The numbers of a banner with a line so many lines after its start."""
    [found] = log_parser.read([start, *["x\n"] * (gap - 1), line])[:1] or [None]
    return found and found.numbers


@each_case(
    ("start", "gap", "line", "found"),
    [
        (START, 80, "  Num examples = 5\n", {"num_examples": 5}),
        (START, 81, "  Num examples = 5\n", None),
        (neox(), 1000, "  train_batch_size .... 5\n", {"global_batch": 5}),
        (neox(), 1001, "  train_batch_size .... 5\n", None),
    ],
)
def test_a_banner_is_searched_for_so_many_lines(start, gap, line, found):
    assert numbers_after(start, gap, line) == found


@each_case(
    ("text", "expected"),
    [
        ("1,230 x", 1230),
        (" 37800.0", 37800),
        ("37800.5", None),
        ("1_000", 1000),
        ("x", None),
        ("", None),
        ("9" * 30, int("9" * 30)),
        ("9" * 31, None),
    ],
    ids=lambda case: repr(case)[:30],
)
def test_the_integer_at_the_start_of_a_string(text, expected):
    assert log_parser.leading_integer(text) == expected
