"""Facts that do not go together, do not suffice, or cannot be said."""

from __future__ import annotations

from functools import cache

import pytest

from cases import each_case
from cfglint.generators import RUN, generate, kinds
from cfglint.generators.job_spec import Contradiction, JobSpec, Unreachable

MODEL = {"model": "pythia-160m", "steps": 1000}


class TestFactsThatExcludeEachOther:
    @each_case(
        ("facts", "says"),
        [
            ({"epochs": 1, "steps": 10}, "--epochs and --steps are incompatible; pass one of them"),
            ({"micro_batch": 1, "max_micro_batch": 2}, "--micro-batch and --max-micro-batch are incompatible; pass one of them"),
            ({"offload": "optimizer"}, "requires --zero 1, 2 or 3"),
            ({"offload": "optimizer", "zero": 0}, "requires --zero 1, 2 or 3"),
            ({"offload": "all", "zero": 2}, "requires --zero 3"),
            ({"tokens": 10**9}, "requires --seq-length"),
            ({"warmup": 2.5}, "or an integer number of steps"),
            ({"warmup": -1}, "or an integer number of steps"),
        ],
    )
    def test_are_refused_whatever_the_kind(self, facts, says):
        with pytest.raises(Contradiction, match=says):
            JobSpec(gpus=8, **facts)

    def test_a_fact_that_is_none(self):
        with pytest.raises(TypeError, match="no such fact: batch"):
            JobSpec(batch=1)


class TestFactsThatAKindCannotSay:
    @each_case(
        ("kind", "facts", "says"),
        [
            ("deepspeed", {"tensor_parallel": 2}, "--tp: not available for `deepspeed`, but for `neox`"),
            (
                "huggingface",
                {"pipeline_parallel": 2, "model": "pythia-1b"},
                "--pp, --model: not available for `huggingface`, but for `neox`",
            ),
            (
                "accelerate",
                {"learning_rate": 1e-5, "steps": 10},
                "--lr, --steps: not available for `accelerate`, but for `axolotl`, `deepspeed`",
            ),
            ("neox", {"lora": True, **MODEL}, "--lora: not available for `neox`, but for `axolotl`, .* `trl` and `verl`"),
            ("deepspeed", {"optimizer": "adafactor"}, "not available for DeepSpeed .valid: adamw, lion, sgd"),
            ("deepspeed", {"optimizer": "sgd", "zero": 2, "offload": "optimizer"}, "CPU optimizers are adamw, lion"),
            ("huggingface", {"optimizer": "lion", "zero": 2, "offload": "optimizer"}, "only adamw has a DeepSpeed CPU implementation"),
            ("neox", {"zero": 2, "tensor_parallel": 2, **MODEL}, "use --zero 1"),
            ("neox", {"zero": 1, "offload": "optimizer", "pipeline_parallel": 2, **MODEL}, "incompatible with the pipeline engine"),
            ("neox", {"zero": 3, "offload": "all", **MODEL}, "is not supported by GPT-NeoX"),
            ("neox", {"tensor_parallel": 8, **MODEL}, "--tp 8 does not divide the attention heads, 12"),
            ("neox", {"layers": 2, "hidden": 100, "heads": 3, "steps": 9}, "hidden=100 is not divisible by heads=3"),
            ("neox", {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 3, "steps": 9}, "is not divisible by kv-heads=3"),
            ("neox", {"layers": 2, "hidden": 64, "heads": 4, "steps": 9, "pipeline_parallel": 4}, "none of the 2 layers"),
            ("neox", {"model": "pythia-160m", "layers": 3, "steps": 9}, "remove --model layers=N"),
            ("neox", {"model": "gpt-5", "steps": 9}, "published shapes are pythia-14m"),
            ("neox", {"steps": 9}, "pass --model"),
            ("neox", {"model": "pythia-160m"}, "has no default length"),
            ("neox", {"model": "pythia-160m", "epochs": 1.5}, "integer number of epochs"),
            ("neox", {"model": "pythia-160m", "epochs": 2, "warmup": 100}, "or --num-examples too"),
            ("deepspeed", {"scheduler": "cosine"}, "requires the total steps"),
            ("deepspeed", {"warmup": 0.1}, "is a ratio of the run"),
            ("deepspeed", {"scheduler": "linear", "steps": 100, "warmup": 100}, "longer than the run .100 steps"),
            ("huggingface", {"steps": 100, "warmup": 200}, "longer than the run .100 steps"),
            ("huggingface", {"warmup": 1, "target": {"transformers": "4.42.4"}}, "does not accept a single warm-up step"),
            ("accelerate", {"gpus": 12}, "cannot be divided into nodes of 8"),
        ],
    )
    def test_are_refused_with_what_to_do(self, kind, facts, says):
        with pytest.raises(Contradiction, match=says):
            generate(kind, JobSpec(**{"gpus": 8, **facts}))

    def test_gpus_are_always_needed(self):
        with pytest.raises(Contradiction, match="--gpus is required"):
            generate("deepspeed", JobSpec(global_batch=8))

    def test_a_parallel_size_of_one_says_nothing(self):
        assert generate("huggingface", JobSpec(gpus=1, tensor_parallel=1)).split.global_batch == 8


class TestBatchesThatCannotBeHad:
    def test_name_the_nearest(self):
        with pytest.raises(Unreachable, match="nearest global batches: 96, 104; GPU counts that work: 4, 5, 10"):
            generate("huggingface", JobSpec(gpus=8, global_batch=100))

    def test_name_the_nearest_with_the_micro_batch_that_was_asked_for(self):
        with pytest.raises(Unreachable, match="not a multiple of micro batch 3 x 8 data-parallel"):
            generate("huggingface", JobSpec(gpus=8, global_batch=64, micro_batch=3))

    def test_name_the_gpus_that_a_layout_fits_on(self):
        with pytest.raises(Unreachable, match="GPU counts that work: 4, 8"):
            generate("neox", JobSpec(gpus=6, tensor_parallel=4, global_batch=8, **MODEL))


CHANGES = {
    "gpus": 16,
    "gpus_per_node": 4,
    "global_batch": 512,
    "micro_batch": 2,
    "max_micro_batch": 2,
    "zero": 3,
    "precision": "fp16",
    "tensor_parallel": 2,
    "pipeline_parallel": 2,
    "seq_length": 777,
    "learning_rate": 3.3e-4,
    "warmup": 50,
    "epochs": 2.0,
    "steps": 4321,
    "tokens": 10**9,
    "num_examples": 98_765,
    "optimizer": "lion",
    "scheduler": "linear",
    "lora": True,
    "trainer": "dpo",
    "model": "pythia-70m",
    "layers": 6,
    "hidden": 512,
    "heads": 8,
    "kv_heads": 4,
}


@cache
def made(kind, **facts):
    """What is generated for the facts and said of it, or why nothing is."""
    try:
        found = generate(kind, JobSpec(**facts))
    except (Contradiction, Unreachable) as error:
        return str(error)
    return [(file.text, file.reasons) for file in found.files], found.notes


@pytest.mark.slow
@each_case("length", [{}, {"steps": 1000}, {"epochs": 3.0}])
@each_case("name", CHANGES)
@each_case("kind", [*kinds(), RUN])
def test_no_fact_is_dropped(kind, name, length):
    """Every flag changes the files or what is said of them, or is refused."""
    base = {"gpus": 8, "global_batch": 256, "zero": 1, "warmup": 10, **(length if kind != "accelerate" else {})}
    if kind == "accelerate":
        del base["warmup"]
    if kind == "verl":
        del base["warmup"], base["zero"]
    if kind == "neox":
        base = {**base, "model": "pythia-160m", "steps": None if "epochs" in length else 1000, "num_examples": 10_000}
    if name in ("epochs", "steps", "tokens"):
        base = {**base, "epochs": None, "steps": None, "seq_length": 512}
    if name in ("layers", "hidden", "heads", "kv_heads") and kind == "neox":
        base = {**base, "model": None, "layers": 12, "hidden": 768, "heads": 12}
    without = {**base, name: None} if base.get(name) == CHANGES[name] else base

    assert made(kind, **{**base, name: CHANGES[name]}) != made(kind, **without)
