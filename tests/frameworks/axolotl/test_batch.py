"""axolotl's own arithmetic, each line with numbers that the real axolotl 0.21.0 gives."""

from __future__ import annotations

import pytest

from cases import each_case

BATCH = ("micro_batch", "accumulation", "data_parallel", "global_batch")
FSDP = "fsdp_config: {fsdp_version: 2}\n"


def numbers(run, *names):
    assert run.verdict == "accept", [each.message for each in run.diagnostics]
    return tuple(run.resolved[name] for name in names)


@each_case(
    ("lines", "gpus", "expected"),
    [
        ("", 1, (1, 1, 1, 1)),
        ("micro_batch_size: 2\ngradient_accumulation_steps: 4\n", 8, (2, 4, 8, 64)),
        ('micro_batch_size: "4"\ngradient_accumulation_steps: 2.0\n', 2, (4, 2, 2, 16)),
        ("micro_batch_size: 2\nbatch_size: 10\n", 2, (2, 1, 2, 20)),  # the accumulation keeps its default
        ("micro_batch_size: 2\nbatch_size: 10\ngradient_accumulation_steps: null\n", 2, (2, 5, 2, 20)),
        ("micro_batch_size: 4\nddp: false\n", 8, (4, 1, 8, 4)),
        (f"{FSDP}tensor_parallel_size: 2\ndp_shard_size: 4\nmicro_batch_size: 3\n", 8, (3, 1, 4, 12)),
        (f"{FSDP}sequence_parallel_degree: 2\ndp_shard_size: 4\n", 8, (1, 1, 4, 4)),
    ],
)
def test_batch(axolotl, lines, gpus, expected):
    assert numbers(axolotl(lines, gpus), *BATCH) == expected


@each_case(
    ("lines", "total", "warmup"),
    [
        ("num_epochs: 2\n", 500, 15),
        ("num_epochs: 1.5\nwarmup_ratio: 0.1\n", 375, 37),  # cut off
        ("warmup_steps: 1\n", 250, 2),
        ("warmup_steps: 20\n", 250, 20),
        ("max_steps: 100\n", 100, 3),
        ("max_steps: 9000\nwarmup_ratio: 0.1\n", 9000, 25),  # of the smaller number
        ("num_epochs: 100\n", 25000, 100),  # no more than 100
        ("micro_batch_size: 2\nbatch_size: 10\n", 50, 2),  # counted with batch_size, trained with 2
        ("sample_packing: true\n", None, None),
        ("sample_packing: true\nmax_steps: 40\nwarmup_steps: 4\n", 40, 4),
        ("streaming: true\nmax_steps: 1000\n", 1000, 30),
    ],
)
def test_steps(axolotl, lines, total, warmup):
    batch = "" if "micro_batch_size" in lines else "micro_batch_size: 2\ngradient_accumulation_steps: 1\n"
    assert numbers(axolotl(batch + lines, 1, 500), "total_steps", "warmup_steps") == (total, warmup)


def test_packed_rows_have_a_length(axolotl):
    run = axolotl("sample_packing: true\nsequence_len: 4096\nmicro_batch_size: 2\n", 8)
    assert numbers(run, "seq_length", "tokens_per_step") == (4096, 2 * 8 * 4096)


@pytest.mark.parametrize(
    ("lines", "key", "raises"),
    [
        ("gradient_accumulation_steps: null\n", "/gradient_accumulation_steps", "TypeError: unsupported operand"),
        ("micro_batch_size: null\n", "/micro_batch_size", "TypeError: unsupported operand"),
        ("batch_size: 8\n", "/batch_size", "ValidationError"),
        ("num_epochs: 0\nsaves_per_epoch: 1\n", "/num_epochs", "ZeroDivisionError: float division by zero"),
        pytest.param(f"saves_per_epoch: 1{'0' * 309}\n", "/saves_per_epoch", "OverflowError: int too large", id="beyond floats"),
    ],
)
def test_no_batch(axolotl, lines, key, raises):
    (error,) = [each for each in axolotl(lines).diagnostics if each.severity == "error"]
    assert (error.code, error.key, error.fails_at) == ("AXL012", key, "config")
    assert error.exception.startswith(raises)


@each_case(
    ("lines", "gpus", "verdict"),
    [
        ("context_parallel_size: 2\n", 2, "accept"),
        ("context_parallel_size: 2\n", 8, "reject"),
        (f"{FSDP}context_parallel_size: 2\n", 8, "reject"),  # the rest is not written
        (f"{FSDP}context_parallel_size: 2\ndp_shard_size: 4\n", 8, "accept"),
        (f"{FSDP}context_parallel_size: 2\ndp_replicate_size: 4\n", 8, "reject"),
        ("deepspeed: {zero_optimization: {stage: 3}}\ncontext_parallel_size: 2\nsample_packing: true\n", 8, "accept"),
        ("tensor_parallel_size: 2\ndp_replicate_size: 2\ndp_shard_size: 2\n", 8, "reject"),
        ("dp_replicate_size: 2\n", 8, "reject"),
        ("context_parallel_size: 2\n", None, "accept"),
        (f"{FSDP}dp_replicate_size: 8\n", 8, "accept"),  # replicas alone
        (f"{FSDP}dp_replicate_size: 4\n", 8, "reject"),  # the rest is not written
        (f"{FSDP}dp_replicate_size: 2\ndp_shard_size: 4\n", 8, "accept"),
        (f"{FSDP}dp_replicate_size: 2\ndp_shard_size: 2\n", 8, "reject"),
        (f"{FSDP}dp_shard_size: 2\n", 8, "reject"),
        (f"{FSDP}dp_shard_size: 1\n", 8, "accept"),
        (f"{FSDP}tensor_parallel_size: 2\ndp_replicate_size: 4\n", 8, "reject"),  # replicas of tensor parallelism need shards
        (f"{FSDP}tensor_parallel_size: 2\ndp_replicate_size: 2\ndp_shard_size: 2\n", 8, "accept"),
        ("dp_shard_size: 2\ntensor_parallel_size: 2\n", 4, "reject"),  # without fsdp_config
    ],
)
def test_parallel_sizes(axolotl, found, lines, gpus, verdict):
    run = axolotl(lines, gpus)
    assert run.verdict == verdict
    assert [code for code, _ in found(run)] == ([] if verdict == "accept" else ["AXL041"])
