"""What `cfglint.log` compares the numbers of a log with: the files of its run and each fact that is given beside them."""

from __future__ import annotations

import cfglint
from cases import each_case

BANNER = """\
***** Running training *****
  Num examples = 1,050
  Num Epochs = 2
  Instantaneous batch size per device = 4
  Total train batch size (w. parallel, distributed & accumulation) = 64
  Gradient Accumulation steps = 2
  Total optimization steps = 34
"""
OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 22.20 GiB of which 687.12 MiB"
    " is free.\n"
)
TRAINER = {"train.yaml": "output_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\nnum_train_epochs: 2\n"}


def differing(found):
    return [(each["key"], each["config"]) for banner in found.banners for each in banner["differences"]]


@each_case(
    ("facts", "differences"),
    [
        ({}, []),  # the log says how many GPUs and samples there were
        ({"gpus": 8, "num_examples": 1050}, []),
        ({"gpus": 4}, [("global batch", 32), ("steps per epoch", 33), ("total steps", 66)]),
        ({"num_examples": 500}, [("steps per epoch", 8), ("total steps", 16)]),
        ({"kind": "huggingface", "target": {"transformers": "4.51.3"}}, [("steps per epoch", 16), ("total steps", 32)]),
    ],
)
def test_the_files_are_compared_at_the_numbers_of_the_log_or_at_those_that_are_given(facts, differences):
    found = cfglint.log(BANNER.splitlines(), TRAINER, **facts)
    assert differing(found) == differences
    assert bool(found) is not bool(differences)


@each_case(
    ("facts", "estimate"),
    [
        ({}, "the memory of this run cannot be estimated from its files: pass --model"),
        ({"model": "Qwen/Qwen2.5-7B"}, "the estimate: 72.0 GiB of 22.2 without activations does not fit"),  # the GPU is that of the log
        ({"model": "Qwen/Qwen2.5-7B", "gpu_memory": 79.0}, "the estimate: 72.0 GiB of 79 without activations: "),
    ],
)
def test_what_the_estimate_says_of_a_gpu_without_memory(facts, estimate):
    [failure] = cfglint.log([*BANNER.splitlines(), OUT_OF_MEMORY], TRAINER, **facts).failures
    assert failure["kind"] == "out-of-memory"
    assert estimate in failure["details"][-1]


def test_the_settings_of_the_project_are_those_of_the_comparison(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cfglint.toml").write_text('target = { transformers = "4.51.3" }\n')
    for settings, differences in ((True, [("steps per epoch", 16), ("total steps", 32)]), (False, [])):
        assert differing(cfglint.log(BANNER.splitlines(), TRAINER, settings=settings)) == differences
