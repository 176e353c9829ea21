"""The drawings of pages: what is drawn for which numbers, and what is said beside it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from cfglint.report.html import chart, layout, pictures, step, svg, timeline
from cfglint.report.html.figures import Numbers

SIZES = st.none() | st.integers(1, 8) | st.integers(1, 5000)


def parsed(drawing):
    return ElementTree.fromstring(str(drawing))


def cells(drawing, name):
    """The GPUs or samples of a class: the dashes that fit into its lines."""
    total = 0
    for path in parsed(drawing).findall("path"):
        if path.get("class") == name:
            side, gap = map(float, path.get("stroke-dasharray").split())
            total += sum(round((float(length) + gap) / (side + gap)) for length in re.findall(r"h([\d.]+)", path.get("d")))
    return total


def frames(drawing, name):
    return sum(path.get("d").count("z") for path in parsed(drawing).findall("path") if path.get("class") == name)


def words(drawing):
    return [text.text for text in parsed(drawing).iter("text")]


def numbers(gpus=None, **resolved):
    return Numbers(resolved, gpus)


class TestSvg:
    def test_text_is_escaped(self):
        assert str(svg.text(1, 2.25, "<b>&", class_='a"b')) == '<text x="1" y="2.2" class="a&#34;b">&lt;b&gt;&amp;</text>'

    def test_a_picture_without_a_label_is_nothing_to_a_screen_reader(self):
        assert parsed(svg.picture(1, 1)).get("aria-hidden") == "true"
        assert parsed(svg.picture(1, 1, label="x")).get("role") == "img"


class TestLayout:
    @each_case("replicas", [1, 2, 8, 12, 64, 100])
    def test_a_cell_for_each_gpu(self, replicas):
        drawing = layout.draw(replicas, 1, 1)
        assert cells(drawing, "m1") == 1
        assert cells(drawing, "m") == replicas - 1
        assert words(drawing) == []

    def test_a_frame_for_each_replica(self):
        drawing = layout.draw(4, 2, 3)
        assert (cells(drawing, "m1"), cells(drawing, "m")) == (6, 18)
        assert (frames(drawing, "o1"), frames(drawing, "o")) == (1, 3)

    def test_more_than_fit_are_counted(self):
        drawing = layout.draw(4096, 1, 1)
        shown = 1 + cells(drawing, "m")
        assert 64 < shown < 1000
        assert words(drawing) == [f"and {4096 - shown:,} more like these"]

    def test_not_known_how_many(self):
        drawing = layout.draw(None, 2, 1)
        assert cells(drawing, "m1") == 2
        assert cells(drawing, "m") == 0
        assert words(drawing) == ["?"] * layout.GHOSTS

    def test_a_replica_that_is_too_large(self):
        assert words(layout.draw(2, 64, 64)) == ["4,096 GPUs, 2 times"]

    @given(SIZES, st.integers(1, 64), st.integers(1, 64))
    def test_everything_stays_in_the_picture(self, replicas, columns, rows):
        root = parsed(layout.draw(replicas, columns, rows))
        _, _, width, height = map(float, root.get("viewBox").split())
        assert height <= layout.TALLEST + 20
        for path in root.findall("path"):
            for x, y, length in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)", path.get("d")):
                assert float(x) + float(length) <= width
                assert float(y) <= height


class TestStep:
    def test_a_square_for_each_sample_of_each_pass(self):
        drawing = step.draw(4, 3)
        assert cells(drawing, "m1") == 12
        assert words(drawing) == ["1", "2", "3", "update"]

    def test_many_passes_are_abbreviated(self):
        drawing = step.draw(2, 16)
        assert cells(drawing, "m1") == 8
        assert words(drawing) == ["1", "2", "3", "\u2026", "16", "update"]
        assert words(step.draw(2, 5)) == ["1", "2", "3", "4", "5", "update"]
        assert words(step.draw(2, 6)) == ["1", "2", "3", "\u2026", "6", "update"]

    def test_many_samples_are_a_number(self):
        assert words(step.draw(128, 1)) == ["128", "1", "update"]

    def test_what_is_not_known(self):
        assert words(step.draw(None, None)) == ["?", "1", "?", "update"]

    @given(SIZES, SIZES)
    def test_everything_stays_in_the_picture(self, micro, accumulation):
        root = parsed(step.draw(micro, accumulation))
        update = root.find("rect")
        assert float(update.get("x")) + float(update.get("width")) <= step.WIDTH


class TestTimeline:
    def points(self, lane):
        path = next(each for each in parsed(lane).findall("path") if each.get("class") == "rate")
        return [tuple(map(float, point.split())) for point in path.get("d").strip("M").split("L")]

    def test_up_and_down(self):
        assert self.points(timeline.rate(1000, 100, "linear")) == [(0, 25), (100, 1), (1000, 25)]

    def test_the_lowest_rate_is_kept_after_the_decay(self):
        assert self.points(timeline.rate(1000, 0, "linear", 500, 0.5)) == [(0, 1), (0, 1), (500, 13), (1000, 13)]

    def test_a_cosine_passes_its_middle_at_half(self):
        middle = dict(self.points(timeline.rate(1000, 0, "cosine")))[500]
        assert middle == pytest.approx(13, abs=0.1)

    def test_a_schedule_of_unknown_course_is_dashed(self):
        classes = [path.get("class") for path in parsed(timeline.rate(1000, 100, "polynomial")).findall("path")]
        assert classes == ["rate", "rate unsure"]

    def test_ticks_or_a_band(self):
        assert parsed(timeline.ticks(100, [25, 50, 100])).find("path").get("d") == "M250 1v8M500 1v8M1000 1v8"
        assert parsed(timeline.ticks(100, range(1, 101))).find("path").get("class") == "band"
        assert parsed(timeline.ticks(100, None)).find("path").get("class") == "band"
        assert parsed(timeline.ticks(100, [])).find("path") is None

    @given(
        st.integers(1, 10**9),
        st.integers(-5, 10**9),
        st.sampled_from(["linear", "cosine", "constant", "odd", None]),
        st.none() | st.integers(0, 10**9),
    )
    def test_any_run(self, total, warmup, schedule, decay):
        for path in parsed(timeline.rate(total, warmup, schedule, decay)).findall("path"):
            for point in path.get("d").strip("M").split("L"):
                x, y = map(float, point.split())
                assert 0 <= x <= timeline.SCALE
                assert 1 <= y <= timeline.HIGH + 1


class TestCaptions:
    def test_gpus(self):
        assert pictures.gpu_caption(numbers(8, data_parallel=8)) == "8 GPUs: 8 data-parallel replicas of 1 GPU each."
        assert pictures.gpu_caption(numbers(1, data_parallel=1)) == "1 GPU, one replica of the model."
        split = pictures.gpu_caption(numbers(16, data_parallel=2, tensor_parallel=4, pipeline_parallel=2))
        assert split == "16 GPUs: 2 data-parallel replicas of 8 GPUs (tensor parallel 4 \u00d7 pipeline 2) each."
        assert (
            pictures.gpu_caption(numbers(12, tensor_parallel=8)) == "12 GPUs cannot be split into replicas of 8 GPUs (tensor parallel 8)."
        )
        assert pictures.gpu_caption(numbers()) == "The number of replicas is unknown: pass --gpus N."

    def test_step(self):
        several = pictures.step_picture(numbers(8, data_parallel=8, micro_batch=4, accumulation=16)).caption
        assert several.startswith("Each replica in one optimizer step: 16 passes of 4 samples = 64 samples, then all replicas average")
        alone = pictures.step_picture(numbers(1, data_parallel=1, micro_batch=1, accumulation=1)).caption
        assert alone == "The replica in one optimizer step: 1 pass of 1 sample, then one update."
        assert "an unknown number of passes" in pictures.step_picture(numbers(micro_batch=4)).caption

    def test_numbers_that_cannot_be_drawn_are_not_known(self):
        drawn = pictures.draw(numbers(0, micro_batch=0, accumulation=-1, total_steps=0, data_parallel=0))
        assert drawn.lanes == []
        assert drawn.total is None

    def test_what_is_said_of_the_learning_rate(self):
        told = numbers(total_steps=100, warmup_steps=10)
        told.settings = {
            "schedule": {"value": "cosine"},
            "learning rate": {"value": 0.001},
            "evaluations": {"value": 2},
            "checkpoints": {"value": 0},
        }
        told.marks = {"evaluations": [50, 100]}
        assert [(lane.label, lane.words) for lane in pictures.lanes(told, told.resolved["total_steps"])] == [
            ("learning rate", "10 steps of warm-up, then cosine; highest 0.001"),
            ("evaluations", "2, every 50 steps"),
            ("checkpoints", "none"),
        ]

    @each_case("lowest", [None, "1e-5", True, 10**400, float("nan"), float("inf"), -1.0, 2.0])
    def test_a_lowest_rate_that_is_none(self, lowest):
        assert pictures.lowest_fraction(lowest, 1.0) == 0.0

    def test_numbers_beyond_all_bounds(self):
        huge = 10**400
        drawn = pictures.draw(numbers(huge, data_parallel=huge, micro_batch=huge, accumulation=huge, total_steps=huge, warmup_steps=huge))
        assert drawn.lanes == []
        pictures.draw(numbers(total_steps=100, warmup_steps=huge, steps_per_epoch=1))


class TestNumbers:
    def test_the_equation_that_does_not_hold(self):
        told = numbers(8, micro_batch=4, accumulation=4, data_parallel=8, global_batch=1024)
        assert (told.product, told.at_odds) == (128, True)

    def test_an_unknown_term_is_at_odds_with_nothing(self):
        told = numbers(micro_batch=4, accumulation=4, global_batch=1024)
        assert (told.product, told.at_odds) == (None, False)
        assert [(each.label, each.needs) for each in told.terms if each.value is None] == [("data parallel", "--gpus N")]

    def test_the_table_leaves_out_what_says_nothing(self):
        told = numbers(8, tensor_parallel=1, pipeline_parallel=2, micro_batch=4, consumed_batch=16, global_batch=16)
        assert [(each.label, each.value) for each in told.table] == [
            ("GPUs", 8),
            ("pipeline", 2),
            ("micro batch", 4),
            ("global batch", 16),
        ]


class TestChart:
    def plan(self, gpus, options, chosen=None, hours=None, near=(None, None)):
        return {
            "gpus": gpus,
            "options": [{"micro_batch": micro, "accumulation": accumulation} for micro, accumulation in options],
            "chosen": {"micro_batch": chosen} if chosen else None,
            "feasible": bool(options),
            "hours": hours,
            "hours_from": "measured",
            "total_steps": None,
            "alternatives": {"below": near[0], "above": near[1]},
        }

    def test_squares_neighbours_and_bars(self):
        drawing = chart.draw([self.plan(8, [(4, 8), (2, 16)], 4, hours=2.5), self.plan(12, [], near=(252, 264))], "plans")
        root = parsed(drawing)
        classes = [rect.get("class") for rect in root.iter("rect")]
        assert classes == ["cell chosen", "cell", "ground", "bar"]
        assert {"\u00d78", "\u00d716", "\u2715 252 or 264", "2.5 h", "hours"} <= set(words(drawing))
        assert root[0].get("aria-label") == "plans"

    def test_nothing_reachable_and_no_length(self):
        assert "hours" not in words(chart.draw([self.plan(12, [])], "plans"))


def test_gpus_that_no_replicas_fit_are_drawn_one_by_one():
    drawing = pictures.gpu_picture(numbers(gpus=3, tensor_parallel=2)).drawing
    assert cells(drawing, "m1") + cells(drawing, "m") == 3
    assert frames(drawing, "replica") == 0


@each_case(
    ("columns", "cell", "across"),
    [(1, 22, 8), (1, 14, 16), (1, 10, 24), (1, 4, 64), (2, 14, 7), (2, 10, 8), (2, 22, 5), (3, 22, 3), (16, 22, 0)],
)
def test_as_many_boxes_in_a_row_as_fit_but_a_multiple_of_the_gpus_of_a_node(columns, cell, across):
    assert layout.Grid(columns, 1, cell, dict(layout.CELLS)[cell]).across == across
