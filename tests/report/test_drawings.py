"""The drawings of pages, element by element, for the numbers at which they change.

`CFGLINT_UPDATE=1` rewrites the record; the difference is to be read.
"""

from __future__ import annotations

from cfglint.findings.diagnostic import Place
from cfglint.report.html import chart, excerpt, layout, memory, pictures, step, timeline
from cfglint.report.html.figures import Numbers
from records import check_parts

LAYOUTS = (
    *((count, 1, 1) for count in (None, 1, 2, 7, 8, 12, 13, 48, 49, 64, 100, 700, 4096)),
    *((None, 2, 1), (4, 2, 3), (1, 8, 1), (16, 1, 8), (3, 8, 8), (2, 16, 16), (2, 64, 64), (1, 64, 64), (None, 64, 64), (300, 4, 2)),
)
STEPS = (
    (None, None),
    (None, 3),
    (4, None),
    *((micro, 1) for micro in (1, 2, 3, 4, 5, 9, 10, 24, 25, 26)),
    *((2, count) for count in (5, 6, 16)),
)
RATES = (
    *((1000, 100, schedule, None, 0.0) for schedule in ("linear", "cosine", "constant", "WarmupLR", "polynomial", None)),
    *(
        (1000, 0, "linear", None, 0.0),
        (1000, 1000, "linear", None, 0.0),
        (1000, 1200, "linear", None, 0.0),
        (1000, 100, "linear", 500, 0.5),
    ),
    *(
        (1000, 100, "cosine", 500, 0.1),
        (1000, 100, "linear", 100, 0.0),
        (1000, 100, "linear", 2000, 0.0),
        (1000, -5, "constant", None, 0.0),
    ),
    (1, 0, "linear", None, 0.0),
)
TICKS = ((100, [25, 50, 100]), (100, range(1, 51)), (100, range(1, 52)), (100, None), (100, []), (3, [1, 2, 3]))
FULL = {
    "micro_batch": 4,
    "accumulation": 8,
    "data_parallel": 8,
    "tensor_parallel": 1,
    "pipeline_parallel": 1,
    "context_parallel": 1,
    "sequence_parallel": 1,
    "global_batch": 256,
    "steps_per_epoch": 100,
    "total_steps": 250,
    "warmup_steps": 10,
}
RUNS = (
    *(
        (8, {}),
        (None, {"data_parallel": None, "global_batch": None}),
        (1, {"data_parallel": 1, "global_batch": 32}),
        (8, {"total_steps": None}),
    ),
    *((8, {"tensor_parallel": 2, "data_parallel": 4}), (16, {"tensor_parallel": 2, "pipeline_parallel": 4, "data_parallel": 2})),
    *((8, {"tensor_parallel": 8, "data_parallel": 1}), (6, {"tensor_parallel": 4, "data_parallel": None})),
    *((None, {"tensor_parallel": 4, "data_parallel": None}), (8, {"accumulation": 1}), (8, {"micro_batch": 1, "accumulation": 1})),
    *(
        (8, {"accumulation": None}),
        (8, {"micro_batch": None}),
        (8, {"warmup_steps": None}),
        (8, {"warmup_steps": 0}),
        (8, {"warmup_steps": 1}),
    ),
    *((8, {"steps_per_epoch": None}), (8, {"steps_per_epoch": 250}), (8, {"steps_per_epoch": 251}), (8, {"total_steps": 0})),
    *((8, {"total_steps": 10**15}), (8, {"total_steps": 10**15 + 1}), (8, {"micro_batch": 0}), (8, {"steps_per_epoch": 1})),
)
MOMENTS = [("forward", {"weights": 10.0, "activations": 30.0}), ("update", {"weights": 10.0, "activations": 0.0})]
MEMORIES = (
    None,
    {"terms": {}, "moments": [], "available_gib": 80, "high_gib": None, "line": ""},
    *(
        {"terms": {"weights": 1, "activations": 2}, "moments": MOMENTS, "available_gib": card, "high_gib": high, "line": "fits"}
        for card, high in ((80, None), (80.5, 100.0), (None, None), (20, 50.0))
    ),
)


def plan(gpus, *options, **given):
    """A plan whose options are pairs of micro batch and accumulation; the first one is chosen."""
    splits = [{"micro_batch": micro, "accumulation": accumulation} for micro, accumulation in options]
    return {
        "gpus": gpus,
        "options": splits,
        "chosen": splits[0] if splits else None,
        "feasible": bool(splits),
        "hours": None,
        "total_steps": None,
        "alternatives": {"below": None, "above": None},
        **given,
    }


PLANS = (
    [plan(8, (4, 8))],
    [plan(8, (4, 8), (1, 32), (2, 16)), plan(1024, (1, 1)), plan(7), plan(6, alternatives={"below": 252, "above": 1258})],
    [plan(8, (4, 8), hours=2.0), plan(16, (4, 4), hours=None), plan(7, hours=3.0), plan(32, (4, 2), hours=0.5)],
    [plan(8, (4, 8), total_steps=1500), plan(16, (4, 4), total_steps=0), plan(7, alternatives={"below": 252, "above": None})],
    [plan(8, (4, 8), total_steps=0)],
    [plan(7)],
)


def drawn():
    """(title, drawings and words)."""
    for numbers in LAYOUTS:
        yield f"replicas {numbers}", [layout.draw(*numbers)]
    for numbers in STEPS:
        yield f"step {numbers}", [step.draw(*numbers)]
    for numbers in RATES:
        yield f"rate {numbers}", [timeline.rate(*numbers)]
    for total, marks in TICKS:
        yield f"ticks {total} {marks}", [timeline.ticks(total, marks)]
    for plans in PLANS:
        yield f"plans {[(each['gpus'], each['hours'], each['total_steps']) for each in plans]}", [chart.draw(plans, "label")]
    for given in MEMORIES:
        bars = memory.bars(given)
        shown = (
            []
            if bars is None
            else [f"{bars.terms} {bars.card} {bars.line}", *(f"{each.name} {each.gib} {each.drawing}" for each in bars.bars)]
        )
        yield f"memory {given and (given['available_gib'], given['high_gib'])}", shown
    for gpus, changed in RUNS:
        found = pictures.draw(Numbers({**FULL, **changed}, gpus))
        lanes = [f"{lane.label}: {lane.words}" for lane in found.lanes]
        yield f"run {gpus} {changed}", [found.gpus.caption, found.step.caption, f"{found.total} {found.needs}", *lanes]


def test_drawings(root, updating):
    lines = [line for title, shown in drawn() for line in [f"=== {title}", *"\n".join(map(str, shown)).replace("><", ">\n<").splitlines()]]
    check_parts(root / "tests" / "report" / "expected" / "drawings", "what a drawing shows", lines, updating)


LINES = tuple(f"key{number}: {number}" for number in range(1, 13))


def place(line, file="x.yaml"):
    return Place(file, line, 7, line, 8, 0, 0, LINES[line - 1])


class TestAround:
    def numbers(self, *places):
        return [each.number for each in excerpt.around(places[0], list(places[1:]), LINES)]

    def test_the_line_has_its_neighbours(self):
        assert self.numbers(place(5)) == [4, 5, 6]
        assert self.numbers(place(1)) == [1, 2]
        assert self.numbers(place(12)) == [11, 12]

    def test_a_place_up_to_four_lines_away_is_shown_with_it(self):
        assert self.numbers(place(5), place(9)) == [4, 5, 6, 7, 8, 9, 10]
        assert self.numbers(place(5), place(10)) == [4, 5, 6]
        assert self.numbers(place(5), place(1)) == [1, 2, 3, 4, 5, 6]

    def test_a_place_of_another_file_is_not(self):
        assert self.numbers(place(5), place(6, "y.yaml")) == [4, 5, 6]
        assert [each.mark for each in excerpt.around(place(5), [place(6, "y.yaml")], LINES)] == ["", "5", ""]

    def test_only_the_first_mark_is_the_main_one(self):
        assert [(each.mark, each.main) for each in excerpt.around(place(5), [place(6)], LINES)][1:3] == [("5", True), ("6", False)]

    def test_a_fix_shows_a_place_up_to_four_lines_away(self):
        near, far, other = place(9), place(10), place(6, "y.yaml")
        assert excerpt.near_places(place(5), [near, far, other]) == [near]


class TestListing:
    def test_two_lines_around_a_link(self):
        found = excerpt.listing("\n".join(LINES) + "\n", {6: "error"}, [6], full=False)
        assert [(each.number, each.gap, each.severity, each.anchored) for each in found] == [
            (4, True, "", False),
            (5, False, "", False),
            (6, False, "error", True),
            (7, False, "", False),
            (8, False, "", False),
        ]

    def test_all_lines(self):
        found = excerpt.listing("a\nb", {}, [], full=True)
        assert [(each.number, each.text, each.gap) for each in found] == [(1, "a", False), (2, "b", False)]
