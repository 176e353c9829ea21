from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfglint.batch.solver import (
    BATCH_INFEASIBLE,
    LAYOUT_INFEASIBLE,
    NO_CHANGE,
    OK,
    SCHEDULE_INFEASIBLE,
    SHRUNK,
    UNDERFILLED,
    Solution,
    Split,
    SplitProblem,
    SplitRule,
    bubble,
    filled,
    solve,
    working_gpu_counts,
)

RECORDED = Path(__file__).parents[3] / "shared" / "cases" / "solver.jsonl"


def triple(split: Split | None) -> tuple[int, int, int] | None:
    return None if split is None else (split.global_batch, *split.pair)


def test_a_right_config_is_left_alone() -> None:
    solution = solve(SplitProblem(8, 128, 4, 4))
    assert (solution.status, solution.changed, str(solution.chosen)) == (NO_CHANGE, [], "4 x 4 x 8 = 128")
    assert solution.reasons == ["already 128; nothing to change"]


def test_it_stays_even_when_a_larger_micro_batch_may_be_had() -> None:
    assert triple(solve(SplitProblem(8, 128, 4, 4, max_micro_batch=16)).chosen) == (128, 4, 4)


def test_micro_batch_stays_and_accumulation_follows_the_gpus() -> None:
    solution = solve(SplitProblem(2, 128, 4, 4))
    assert triple(solution.chosen) == (128, 4, 16)
    assert solution.changed == ["accumulation", "global_batch"]
    assert [split.pair for split in solution.options] == [(1, 64), (2, 32), (4, 16)]


def test_micro_batch_never_grows_unasked() -> None:
    assert triple(solve(SplitProblem(8, 104, 8, 1)).chosen) == (104, 1, 13)
    assert triple(solve(SplitProblem(8, 104, 8, 1, max_micro_batch=16)).chosen) == (104, 13, 1)


def test_a_cap_below_the_current_micro_batch_lowers_it() -> None:
    solution = solve(SplitProblem(8, 128, 4, 4, max_micro_batch=2))
    assert triple(solution.chosen) == (128, 2, 8)
    assert solution.changed == ["micro_batch", "accumulation"]
    assert solution.warnings == []


def test_a_micro_batch_of_half_the_current_one_or_less_is_a_warning() -> None:
    assert solve(SplitProblem(8, 104, 8, 1)).warnings == [SHRUNK]
    assert solve(SplitProblem(8, 40, 8, 1)).warnings == []


def test_the_bubble_of_a_pipeline() -> None:
    assert bubble(SplitProblem(4, 8, 1, 8, pipeline_parallel=4), (1, 8)) == pytest.approx(3 / 11)
    assert bubble(SplitProblem(4, 8, 1, 8), (1, 8)) == 0
    assert bubble(SplitProblem(4, 8, 1, 8), (1, None)) == 0  # the sizes of verl may be dynamic


def test_a_rule_of_the_trainer_limits_the_splits() -> None:
    rule = SplitRule(lambda micro, accumulation, processes: micro * accumulation * processes % 24 == 0, 24, "whole groups of 24")
    solution = solve(SplitProblem(8, 64, 8, 1, rule=rule))
    assert (solution.status, solution.options) == (SCHEDULE_INFEASIBLE, [])
    assert (triple(solution.below), triple(solution.above)) == ((48, 6, 1), (72, 3, 3))
    assert solution.reasons == ["no micro batch up to 8 and accumulation that make 8: whole groups of 24"]


def test_the_gpu_counts_that_keep_a_batch() -> None:
    problem = SplitProblem(8, 96, 4, 3, tensor_parallel=2)
    assert working_gpu_counts(problem, 40) == [2, 4, 6, 8, 12, 16, 24, 32]


def test_what_is_near_when_the_gpus_do_not_divide_the_batch() -> None:
    solution = solve(SplitProblem(6, 128, 4, 4))
    assert solution.status == BATCH_INFEASIBLE
    assert (triple(solution.below), triple(solution.above)) == ((126, 3, 7), (132, 2, 11))
    assert solution.gpu_counts == [4, 8]
    assert solution.reasons == ["128 is not a multiple of the data-parallel size 6"]


def test_node_aligned_counts_fill_nodes_or_an_even_part_of_one() -> None:
    solution = solve(SplitProblem(7, 60, 1, 1))
    assert (solution.gpus_below, solution.gpus_above) == (6, 10)
    assert (solution.node_gpus_below, solution.node_gpus_above) == (4, None)


def test_a_batch_smaller_than_the_data_parallel_size() -> None:
    solution = solve(SplitProblem(8, 3, 1, 1))
    assert (solution.status, solution.below, triple(solution.above)) == (BATCH_INFEASIBLE, None, (8, 1, 1))


def test_a_layout_that_does_not_fit_names_the_gpu_counts_that_do() -> None:
    solution = solve(SplitProblem(50, 48, 2, 2, tensor_parallel=2, pipeline_parallel=2))
    assert (solution.status, solution.data_parallel, solution.gpu_counts) == (LAYOUT_INFEASIBLE, None, [48, 52])
    assert solution.reasons == ["50 GPUs do not divide into replicas of 4 (tensor 2 x pipeline 2)"]
    assert solve(SplitProblem(3, 48, 2, 2, tensor_parallel=4)).gpu_counts == [4]


def test_a_full_pipeline_comes_before_the_micro_batch() -> None:
    solution = solve(SplitProblem(4, 12, 6, 1, pipeline_parallel=4))
    assert triple(solution.chosen) == (12, 3, 4)
    assert solution.reasons[-1] == "4 micro batches in 4 pipeline stages: 43% bubble"


def test_a_pipeline_that_cannot_be_filled_is_a_warning() -> None:
    solution = solve(SplitProblem(16, 8, 2, 1, pipeline_parallel=4))
    assert (solution.status, solution.warnings) == (NO_CHANGE, [UNDERFILLED])
    assert solution.bubble == pytest.approx(3 / 4)


@pytest.mark.parametrize("unknown", [None, 0, -4])
def test_an_unknown_micro_batch_needs_a_cap(unknown: int | None) -> None:
    with pytest.raises(ValueError, match="cap"):
        SplitProblem(8, 128, unknown, 4)
    solution = solve(SplitProblem(8, 128, unknown, unknown, max_micro_batch=8))
    assert triple(solution.chosen) == (128, 8, 2)
    assert solution.changed == ["micro_batch", "accumulation", "global_batch"]
    assert solution.warnings == []


@pytest.mark.parametrize("numbers", [{"gpus": 0}, {"global_batch": 0}, {"tensor_parallel": 0}, {"max_micro_batch": 0}])
def test_numbers_that_make_no_problem(numbers: dict[str, int]) -> None:
    problem = SplitProblem(8, 128, 4, 4)
    with pytest.raises(ValueError, match=r"at least 1|positive"):
        problem.replace(**numbers)


def test_large_numbers_are_no_search() -> None:
    started = time.process_time()
    solve(SplitProblem(99_991, 10_000_000, 8, 4))
    solve(SplitProblem(96_000, 8_648_640, 8, 4, max_micro_batch=1_000_000))
    solve(SplitProblem(65_536, 9_979_200, 8, 4, pipeline_parallel=64))
    assert time.process_time() - started < 1


# ---- against a search over everything


@st.composite
def problems(draw: st.DrawFn) -> SplitProblem:
    size = st.sampled_from([1, 1, 2, 3, 4])
    period = draw(st.sampled_from([0, 0, 2, 3]))
    return SplitProblem(
        draw(st.integers(1, 48)),
        draw(st.integers(1, 160)),
        draw(st.integers(1, 12)),
        draw(st.integers(1, 12)),
        max_micro_batch=draw(st.none() | st.integers(1, 24)),
        tensor_parallel=draw(st.sampled_from([1, 1, 2])),
        pipeline_parallel=draw(size),
        context_parallel=draw(st.sampled_from([1, 1, 2])),
        gpus_per_node=draw(st.sampled_from([4, 8])),
        rule=SplitRule(lambda micro, accumulation, _: micro * accumulation % period == 0, period, "groups") if period else None,
    )


def searched(problem: SplitProblem, target: int, gpus: int) -> list[tuple[int, int]]:
    if gpus % problem.replica:
        return []
    replicas = gpus // problem.replica
    return [
        (micro, accumulation)
        for micro in range(1, problem.cap + 1)
        for accumulation in range(1, target // (micro * replicas) + 1)
        if micro * accumulation * replicas == target and (problem.rule is None or problem.rule.accepts(micro, accumulation, problem.gpus))
    ]


@settings(max_examples=60)
@given(problems())
def test_the_solver_finds_what_a_search_finds(problem: SplitProblem) -> None:
    solution = solve(problem)
    pairs = searched(problem, problem.global_batch, problem.gpus)
    assert [split.pair for split in solution.options] == pairs
    assert solution.feasible == bool(pairs)
    if solution.chosen is not None:
        assert_preferred(problem, solution, pairs)
    elif solution.status != LAYOUT_INFEASIBLE:
        assert_nearest(problem, solution)


def assert_preferred(problem: SplitProblem, solution: Solution, pairs: list[tuple[int, int]]) -> None:
    assert solution.chosen is not None
    chosen = solution.chosen.pair
    today = (problem.micro_batch, problem.accumulation)
    assert chosen == today or today not in pairs
    assert solution.status == (NO_CHANGE if chosen == today else OK)
    full = [pair for pair in pairs if filled(problem, pair)] or pairs
    if chosen != today:
        same = [pair for pair in full if pair[0] == problem.micro_batch]
        assert chosen == (same or [max(full)])[0]


def assert_nearest(problem: SplitProblem, solution: Solution) -> None:
    target, gpus = problem.global_batch, problem.gpus
    reachable = [total for total in range(1, target + 40 * gpus) if searched(problem, total, gpus)]
    assert (solution.below.global_batch if solution.below else None) == max((n for n in reachable if n < target), default=None)
    assert (solution.above.global_batch if solution.above else None) == min((n for n in reachable if n > target), default=None)
    counts = [count for count in range(1, 2 * gpus + 1) if searched(problem, target, count)]
    assert solution.gpus_below == max((n for n in counts if n < gpus), default=None)
    assert solution.gpus_above == min((n for n in counts if n > gpus), default=None)


# ---- recorded cases, where they are at hand


def recorded_problem(case: dict[str, Any]) -> SplitProblem:
    return SplitProblem(
        case["gpus"],
        case["target_global"],
        case["cur_micro"],
        case["cur_accum"],
        max_micro_batch=case["max_micro"],
        tensor_parallel=case["tp"],
        pipeline_parallel=case["pp"],
        context_parallel=case["cp"],
        sequence_parallel=case["sp"],
        gpus_per_node=case["node"],
    )


def named(split: Split | None) -> dict[str, int] | None:
    if split is None:
        return None
    return {"global": split.global_batch, "micro": split.micro_batch, "accum": split.accumulation}


def recorded_answer(case: dict[str, Any]) -> dict[str, Any]:
    solution = solve(recorded_problem(case))
    answer: dict[str, Any] = {"model_size": solution.problem.replica, "status": solution.status}
    if solution.status == LAYOUT_INFEASIBLE:
        return {**answer, "gpus_below": solution.gpus_below, "gpus_above": solution.gpus_above}
    answer["dp"] = solution.data_parallel
    if solution.chosen is None:
        answer["nearest_below"], answer["nearest_above"] = named(solution.below), named(solution.above)
        answer["gpu_alternatives"] = {
            "below": solution.gpus_below,
            "above": solution.gpus_above,
            "below_node_aligned": solution.node_gpus_below,
            "above_node_aligned": solution.node_gpus_above,
        }
        return answer
    short = {"micro_batch": "micro", "accumulation": "accum", "global_batch": "global"}
    answer["feasible"] = [list(split.pair) for split in solution.options]
    answer["chosen"] = named(solution.chosen)
    answer["changed"] = [short[name] for name in solution.changed]
    answer["warnings"] = solution.warnings
    if case["framework"] == "deepspeed_autotp":
        # DeepSpeed compares train_batch_size with the product over all GPUs, tensor-parallel ones included
        answer["config_train_batch_size"] = solution.chosen.micro_batch * solution.chosen.accumulation * case["gpus"]
    return answer


@pytest.mark.skipif(not RECORDED.exists(), reason="the recorded solver cases are not beside the repository")
def test_recorded_cases() -> None:
    cases = [case for case in map(json.loads, RECORDED.read_text().splitlines()) if of_a_framework_here(case)]
    assert len(cases) > 40
    expected = {case["id"]: {key: value for key, value in case["expected"].items() if "keep_micro" not in key} for case in cases}
    answers = {case["id"]: recorded_answer(case) for case in cases}
    assert {name: answer for name, answer in answers.items() if answer != expected[name]} == {}


def of_a_framework_here(case: dict[str, Any]) -> bool:
    """Whether a case is without interleaved pipelines, without torchtitan's, and without a preference for powers of two."""
    return case["vpp"] == 1 and case["framework"] != "torchtitan" and case["policy"] == "keep"


def test_the_reasons_name_what_decides() -> None:
    def reasons(problem: SplitProblem) -> list[str]:
        return solve(problem).reasons

    assert reasons(SplitProblem(8, 104, 8, 1)) == ["1 is the largest micro batch up to 8 that divides 13"]
    assert reasons(SplitProblem(2, 128, 4, 4)) == ["micro batch unchanged (4), so activation memory is unchanged"]
    in_two = "4 micro batches in 2 pipeline stages: 20% bubble"
    assert reasons(SplitProblem(2, 8, 3, 1, pipeline_parallel=2)) == [
        "2 is the largest micro batch up to 3 that divides 8 and keeps the pipeline busy",
        in_two,
    ]
    alone = ["1 is the largest micro batch up to 3 that divides 1", "1 micro batches in 2 pipeline stages: 50% bubble"]
    assert reasons(SplitProblem(2, 1, 3, 1, pipeline_parallel=2)) == alone


def test_one_sample_on_each_gpu_is_the_smallest_batch() -> None:
    assert triple(solve(SplitProblem(8, 12, 1, 1)).below) == (8, 1, 1)
    assert solve(SplitProblem(8, 7, 1, 1)).below is None


def test_half_the_micro_batch_is_a_warning_and_more_is_none() -> None:
    assert solve(SplitProblem(8, 32, 8, 1)).warnings == [SHRUNK]
    assert solve(SplitProblem(8, 40, 9, 1)).warnings == []


def test_numbers_below_one_are_unknown() -> None:
    unknown, smallest = SplitProblem(8, 128, 0, 0, max_micro_batch=4), SplitProblem(8, 128, 1, 1)
    assert (unknown.micro_batch, unknown.accumulation) == (None, None)
    assert (smallest.micro_batch, smallest.accumulation) == (1, 1)
    assert solve(SplitProblem(1, 1, 1)).status == OK
    for gpus, batch, tensor in ((0, 8, 1), (8, 0, 1), (8, 8, 0)):
        with pytest.raises(ValueError, match="at least 1"):
            SplitProblem(gpus, batch, 1, tensor_parallel=tensor)
    with pytest.raises(ValueError, match="a cap on it"):
        SplitProblem(8, 8, 0)
