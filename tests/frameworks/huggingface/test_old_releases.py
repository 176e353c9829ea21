"""What older releases of transformers accept, as they were asked with files of these keys."""

from __future__ import annotations

import pytest

from cfglint.cli import main
from cfglint.frameworks.huggingface.fields import defaults
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.versions import parse_version
from cfglint.run.checked import CheckedRun
from cfglint.source.parse import parse


@pytest.mark.parametrize(
    ("text", "release", "verdict"),
    [
        ("metric_for_best_model: 0.1\n", "4.30.2", "accept"),
        ("metric_for_best_model: 0.1\n", "4.42.4", "reject"),
        ("fsdp: null\n", "4.56.2", "reject"),
        ("fsdp: null\n", "4.57.1", "accept"),
        ("fsdp: 0\n", "4.57.1", "reject"),
        ("fsdp: 0\n", "5.5.4", "accept"),
        ("fsdp: 1\n", "5.5.4", "reject"),
        ("warmup_steps: -1\nwarmup_ratio: 0.1\n", "5.5.4", "accept"),
        ("warmup_steps: -1\n", "5.5.4", "reject"),
        ("fsdp: [bogus]\n", "5.5.4", "accept"),
        ("torch_empty_cache_steps: -1\n", "4.46.3", "accept"),
        ("torch_empty_cache_steps: -1\n", "5.5.4", "reject"),
        ("lr_scheduler_type: cosine_with_min_lr\nlr_scheduler_kwargs: {min_lr: 0}\n", "4.39.3", "reject"),
        ("lr_scheduler_type: cosine_with_min_lr\nlr_scheduler_kwargs: {min_lr: 0}\n", "4.40.0", "accept"),
        ("optim: galore_adamw\n", "4.38.2", "reject"),
        ("optim: rmsprop\n", "4.33.3", "reject"),
        ("optim: rmsprop\n", "4.34.0", "accept"),
        ("neftune_noise_alpha: 5.0\n", "4.34.1", "reject"),
        ("neftune_noise_alpha: 5.0\n", "4.35.0", "accept"),
        ("project: x\n", "4.57.0", "accept"),
        ("tp_size: 1\n", "4.51.3", "accept"),
        ("tp_size: 1\n", "4.52.0", "reject"),
        ("optim: adamw_apex_fused\n", "5.7.0", "accept"),
        ("optim: adamw_apex_fused\n", "5.8.0", "reject"),
        ("accelerator_config: {gradient_accumulation_kwargs: {foo: 1}}\n", "4.46.1", "reject"),
        ("accelerator_config: {gradient_accumulation_kwargs: {foo: 1}}\n", "4.46.3", "accept"),
        ("accelerator_config: {gradient_accumulation_kwargs: {foo: 1}}\n", "5.2.0", "reject"),
        ("accelerator_config: {gradient_accumulation_kwargs: [foo]}\n", "4.46.3", "accept"),
        ("accelerator_config: {gradient_accumulation_kwargs: 4}\n", "4.46.3", "reject"),
        ("accelerator_config: {gradient_accumulation_kwargs: {}}\n", "4.39.3", "reject"),
        ("ddp_backend: nccl\nuse_cpu: true\n", "4.52.4", "reject"),
        ("ddp_backend: gloo\nuse_cpu: true\n", "4.52.4", "accept"),
    ],
)
def test_a_release_decides(text, release, verdict):
    facts = LaunchFacts(gpus=2, num_examples=100, target={"transformers": release}, complete=True, kind_given=True, strict_keys=True)
    run = CheckedRun([parse("train.yaml", f"output_dir: out\n{text}", "yaml")], ["huggingface"], facts)
    assert run.verdict == verdict, [each.message for each in run.diagnostics]


@pytest.mark.parametrize(
    ("name", "release", "default"),
    [
        ("fsdp", "4.56.2", ""),
        ("fsdp", "4.57.0", []),
        ("fsdp", "4.57.1", None),
        ("lr_scheduler_kwargs", "4.57.4", {}),
        ("lr_scheduler_kwargs", "4.57.5", None),
    ],
)
def test_a_default_is_that_of_the_release(name, release, default):
    assert defaults(parse_version(release))[name] == default


@pytest.mark.parametrize("release", ["4.28.1", "4.30.0", "4.37.2", "4.38.0"])
def test_no_rule_breaks_in_a_release_before_a_field_that_axolotl_sets(tmp_path, monkeypatch, capsys, release):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text(f"transformers=={release}\n")
    (tmp_path / "sft.yaml").write_text(
        "base_model: a\ndatasets:\n  - path: b\n    type: alpaca\nsequence_len: 2048\nmicro_batch_size: 1\nlearning_rate: 1.0e-6\n"
    )
    assert main(["check", "sft.yaml"]) == 0
    assert "INT000" not in capsys.readouterr().out
