"""What changed between axolotl's releases: each row has lines, the releases that refuse them and those that accept them.

Every row was taken from the sources of all releases; those of 0.6.0, 0.9.2, 0.12.2, 0.16.1 and 0.19.0 were also seen by running them.
"""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.findings._places import PLACES
from cfglint.frameworks.axolotl import FRAMEWORK, NEWEST
from cfglint.frameworks.axolotl._tables import RELEASES, VALIDATORS
from cfglint.frameworks.axolotl.batch import warmup_steps
from cfglint.frameworks.axolotl.by_hand import BY_HAND
from cfglint.frameworks.axolotl.refusals import CODES
from cfglint.frameworks.axolotl.releases import HISTORY, library
from cfglint.frameworks.releases.versions import dotted, parse_version

LIGER = "plugins: [axolotl.integrations.liger.LigerPlugin]\n"
KERNELS = "plugins: [axolotl.integrations.kernels.KernelsPlugin]\n"
BATCH = "micro_batch_size: 2\ngradient_accumulation_steps: 4\n"


def verdict(axolotl, lines, release, gpus=1):
    return axolotl(BATCH + lines, gpus, target={"axolotl": release}).verdict


@each_case(
    ("lines", "refuse", "accept"),
    [
        ("num_epochs: 1.5\n", "0.5.2 0.6.0", "0.7.0 0.21.0"),
        ("optimizer: lion_pytorch\n", "0.8.0 0.16.1", "0.5.2 0.7.0"),
        ("optimizer: dion\ndion_lr: 0.01\n", "0.11.0", "0.12.0 0.21.0"),
        ("optimizer: ao_adamw_8bit\n", "0.12.0 0.21.0", "0.6.0 0.11.0"),
        ("optimizer: muon\ndeepspeed: ds.json\n", "0.8.0 0.21.0", ""),
        ("lr_scheduler: rex\n", "0.7.0", "0.8.0 0.21.0"),
        ("sdp_attention: true\nflash_attention: true\n", "0.8.1 0.16.1", "0.8.0 0.17.0"),
        ("attn_implementation: fa2\n", "0.17.0 0.21.0", "0.11.0 0.16.1"),
        ("s2_attention: true\n", "0.17.0 0.21.0", "0.5.2 0.16.1"),
        ("gradient_checkpointing: offload\n", "0.7.0", "0.8.0 0.21.0"),
        ("gradient_checkpointing: unsloth\n", "0.9.2 0.21.0", "0.6.0 0.9.1"),
        ("save_safetensors: false\n", "0.14.0 0.21.0", "0.5.2 0.13.2"),
        ("rl: grpo\n", "0.6.0", "0.7.0 0.21.0"),
        ("rl: dpo\nrpo_alpha: 1.0\n", "0.16.0 0.21.0", "0.8.0 0.15.0"),
        ("fsdp: [full_shard]\n", "0.5.2 0.9.2 0.19.0 0.20.0 0.21.0", ""),
        ("fsdp: [full_shard]\nfsdp_config: {fsdp_offload_params: true}\n", "0.20.0 0.21.0", "0.5.2 0.19.0"),
        (f"{KERNELS}nvfp4_merge_aware: true\n", "0.19.0", "0.21.0"),
        ("fsdp_config: {fsdp_version: 1}\n", "0.20.0 0.21.0", "0.12.0 0.19.0"),
        ("streaming: true\n", "0.13.1 0.21.0", "0.12.2"),
        ("pretraining_dataset: [{path: d}]\nmax_steps: 5\nval_set_size: 0.1\n", "0.13.1 0.21.0", "0.12.2"),
        ("relora: true\n", "0.12.0 0.21.0", "0.11.0"),
        ("relora_steps: 100\n", "0.5.2 0.11.0", "0.12.0"),
        ("torch_compile: true\ndeepspeed: ds.json\n", "0.5.2 0.12.2", "0.13.1 0.21.0"),
        ("deepcompile: true\n", "0.12.0 0.21.0", "0.11.0"),
        ("deepspeed: {zero_optimization: {stage: 1}, train_micro_batch_size_per_gpu: auto}\n", "0.6.0 0.12.2", "0.13.1 0.21.0"),
        ("fp8_config: {recipe: tensorwise}\n", "0.19.0 0.21.0", "0.18.0"),
        ("excess_length_strategy: raise\n", "0.12.2", "0.9.2 0.13.1 0.21.0"),
        ("chat_template: gemma4\n", "0.16.0", "0.16.1 0.21.0"),
        ("datasets: [{type: _synthetic, sequence_length: x}]\n", "0.16.0 0.21.0", "0.15.0"),
        ("plugins: [axolotl.integrations.no.Plugin]\n", "0.21.0", "0.19.0 0.20.0"),
        ("plugins: [LigerPlugin]\n", "0.5.2 0.19.0 0.21.0", ""),
        ("plugins: [axolotl.integrations.liger.Liger]\n", "0.5.2 0.19.0 0.21.0", ""),
        ("fsdp_config: {reshard_after_forward: false}\n", "0.14.0 0.19.0", "0.13.1"),
        ("fsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\n", "", "0.13.1 0.14.0 0.19.0"),
        ("capabilities:\n", "0.5.2 0.17.0", "0.18.0 0.21.0"),
        ("fsdp_config: {a: 1}\ndeepspeed: ds.json\n", "0.12.2", "0.13.1 0.14.0"),  # a model without any value
        ("env_capabilities: {}\n", "0.6.0 0.17.0", "0.5.2 0.18.0"),
        ("adapter: unknown\n", "0.16.1 0.21.0", "0.12.2"),
    ],
)
def test_a_release_refuses(axolotl, lines, refuse, accept):
    found = {release: verdict(axolotl, lines, release) for release in (*refuse.split(), *accept.split())}
    assert found == {**dict.fromkeys(refuse.split(), "reject"), **dict.fromkeys(accept.split(), "accept")}


def test_refusals_without_a_validator_and_by_an_older_body_have_the_words_of_the_release(axolotl):
    raised = {
        ("fsdp: [full_shard]\n", "0.8.0"): "AttributeError: 'NoneType' object has no attribute 'fsdp_activation_checkpointing'",
        ("fsdp: [full_shard]\n", "0.9.2"): "AttributeError: 'NoneType' object has no attribute 'fsdp_version'",
        ("fsdp: [full_shard]\n", "0.19.0"): "AttributeError: 'NoneType' object has no attribute 'activation_checkpointing'",
        (f"{KERNELS}dsv4_fp4_grouped_mode: fp8\n", "0.19.0"): "='fp8' is not implemented for training",
        (f"{LIGER}capabilities: 1\n", "0.8.0"): "axolotl.integrations.config.AxolotlConfigWCapabilities() got multiple values for",
    }
    for (lines, release), words in raised.items():
        [error] = axolotl(BATCH + lines, 2, target={"axolotl": release}).findings("error")
        assert words in error.exception, (lines, release)


@each_case(
    ("attention", "refuse", "accept"),
    [
        ("flash_attention_2", "0.16.1", "0.17.0 0.18.0 0.19.0 0.20.0"),
        ("flash_attention_3", "0.16.1 0.19.0", "0.17.0 0.18.0 0.20.0"),
        ("kernels-community/flash-attn3", "0.16.1 0.19.0", "0.17.0 0.18.0 0.20.0"),
        ("sdpa", "0.16.1 0.17.0 0.18.0 0.19.0", "0.20.0"),
    ],
)
def test_the_attention_of_context_parallelism(axolotl, attention, refuse, accept):
    lines = f"context_parallel_size: 2\nattn_implementation: {attention}\n"
    found = {release: verdict(axolotl, lines, release, gpus=2) for release in (*refuse.split(), *accept.split())}
    assert found == {**dict.fromkeys(refuse.split(), "reject"), **dict.fromkeys(accept.split(), "accept")}


def test_what_ring_attention_requires_in_the_words_of_the_release(axolotl):
    raised = {
        "0.16.1": "flash_attention: true must be set with context_parallel_size > 1",
        "0.18.0": "context_parallel_size > 1 requires flash attention (attn_implementation: flash_attention_2 or flash_attention_3).",
        "0.19.0": "context_parallel_size > 1 requires attn_implementation: flash_attention_2.",
    }
    for release, words in raised.items():
        [error] = axolotl(f"{BATCH}context_parallel_size: 2\n", 2, target={"axolotl": release}).findings("error")
        assert words in error.exception, release


@each_case(
    ("lines", "refuse"),
    [("", "0.5.2 0.18.0"), ("micro_batch_size: 2\n", "0.5.2 0.18.0"), ("batch_size: 2\n", "0.5.2 0.18.0 0.19.0 0.21.0")],
)
def test_at_least_two_batch_keys_are_required_up_to_0_18(axolotl, lines, refuse):
    releases = ("0.5.2", "0.18.0", "0.19.0", "0.21.0")
    refused = [release for release in releases if axolotl(lines, target={"axolotl": release}).verdict == "reject"]
    assert refused == refuse.split()


@each_case(
    ("lines", "gpus", "release", "total"),
    [
        ("num_epochs: 2\n", 8, "0.9.2", 30),  # the Trainer's epochs, cut off
        ("num_epochs: 2\n", 8, "0.10.0", 32),  # axolotl's own count
        ("num_epochs: 2\nrl: dpo\n", 8, "0.9.2", 32),
        ("max_steps: 5000\n", 1, "0.9.0", 125),
        ("max_steps: 5000\n", 1, "0.9.1", 5000),
        ("ddp: false\n", 8, "0.12.0", 125),
        ("ddp: false\nfsdp_config: {fsdp_version: 2, offload_params: false}\n", 8, "0.12.0", 16),
        ("tensor_parallel_size: 2\ndp_shard_size: 4\nfsdp_config: {fsdp_version: 2}\n", 8, "0.14.0", 32),
        ("tensor_parallel_size: 2\ndp_shard_size: 4\nfsdp_config: {fsdp_version: 2}\n", 8, "0.15.0", 32),
        ("sequence_parallel_degree: 2\nflash_attention: true\n", 8, "0.9.2", 31),
    ],
)
def test_steps(axolotl, lines, gpus, release, total):
    assert axolotl(BATCH + lines, gpus, 1000, target={"axolotl": release}).resolved["total_steps"] == total


def test_the_batch_that_steps_are_counted_from(axolotl):
    lines = BATCH + "tensor_parallel_size: 2\ndp_shard_size: 4\nfsdp_config: {fsdp_version: 2}\n"
    sizes = {release: axolotl(lines, 8, target={"axolotl": release}).resolved["global_batch"] for release in ("0.14.0", "0.15.0")}
    assert sizes == {"0.14.0": 64, "0.15.0": 32}


@each_case(("release", "warmup"), [("0.9.2", 0), ("0.12.2", 7), ("0.13.1", 0), ("0.21.0", 0)])
def test_a_warm_up_of_zero(axolotl, release, warmup):
    run = axolotl(BATCH + "num_epochs: 2\nwarmup_steps: 0\n", 1, 1000, target={"axolotl": release})
    assert run.resolved["warmup_steps"] == warmup


@each_case(("release", "warmup"), [("0.9.2", 0), ("0.10.0", 0.1), ("0.21.0", 0.1)])
def test_a_warm_up_by_ratio_of_no_steps(axolotl, release, warmup):
    run = axolotl(f"{BATCH}num_epochs: 0\nwarmup_ratio: 0.1\n", 1, 1000, target={"axolotl": release})
    assert warmup_steps(run.configs[0]) == warmup


def test_a_stated_transformers_implies_the_newest_release_that_accepts_it(axolotl):
    run = axolotl(BATCH, target={"transformers": "5.5.0"})
    assert run.facts.target["axolotl"] == "0.16.1"
    assert library("transformers", parse_version("0.16.1")) == "5.5.0"


def test_the_tables_begin_and_end_with_the_modelled_releases():
    assert (dotted(RELEASES[0]), dotted(RELEASES[-1])) == (FRAMEWORK.oldest, NEWEST)
    assert HISTORY.since("", "fsdp_version") == (0, 12, 0)


def test_every_page_and_every_check_by_hand_follows_a_validator_of_a_release():
    """A misspelt name is in no table."""
    assert {*CODES, *(name for name in PLACES if not name.isupper()), *BY_HAND} - {"*", "*.*"} <= VALIDATORS.keys()


@pytest.mark.parametrize("release", RELEASES, ids=dotted)
def test_a_plain_file_is_accepted_by_every_release(axolotl, release):
    run = axolotl(BATCH, 8, 1000, target={"axolotl": dotted(release)})
    assert (run.verdict, run.diagnostics) == ("accept", [])
