from __future__ import annotations

from cases import each_case
from cfglint.batch import equation


@each_case(
    ("gpus", "micro", "accumulation", "total"),
    [(1, 32, 1, 32), (4, 8, 1, 32), (2, 8, 2, 32), (1, 8, 4, 32), (4, 8, 2, 64)],
)
def test_published_ways_to_a_global_batch(gpus: int, micro: int, accumulation: int, total: int) -> None:
    assert equation.product(micro, accumulation, gpus) == total
    assert equation.implied_gpus(total, micro, accumulation) == gpus


def test_nodes_times_gpus_is_data_parallel_only_without_model_parallelism() -> None:
    assert equation.data_parallel(2 * 4) == 8
    assert equation.data_parallel(2 * 4, 2, 2) == 2


@each_case(("gpus", "sizes"), [(10, (4,)), (2, (4,)), (0, ()), (8, (0,)), (8, (-2, -2))])
def test_a_layout_that_does_not_fit(gpus: int, sizes: tuple[int, ...]) -> None:
    assert equation.data_parallel(gpus, *sizes) is None


def test_implied_gpus_counts_the_whole_replica() -> None:
    assert equation.implied_gpus(256, 8, 8, 2, 2) == 16


@each_case(("total", "micro", "accumulation"), [(65, 8, 8), (8, 8, 8), (0, 1, 1), (64, 0, 8), (64, -8, -8)])
def test_numbers_that_imply_no_gpu_count(total: int, micro: int, accumulation: int) -> None:
    assert equation.implied_gpus(total, micro, accumulation) is None


def test_divisors() -> None:
    for number in range(1, 500):
        assert equation.divisors(number) == [d for d in range(1, number + 1) if number % d == 0]


def test_text() -> None:
    assert equation.text(2, 8, 4, 64) == "2 x 8 x 4 = 64"
