"""Refusals and warnings that go beyond one rule's example; each verdict was seen with the real axolotl 0.21.0."""

from __future__ import annotations

from cases import each_case

ZERO = '{"zero_optimization": {"stage": 2}, "train_batch_size": %s}'


@each_case(
    ("lines", "expected"),
    [
        ("eval_steps: 3\n", []),  # val_set_size is not written
        ("val_set_size: 0\neval_steps: 3\n", [("AXL014", "/eval_steps")]),
        ('val_set_size: 0\neval_steps: 3\neval_strategy: "no"\n', [("AXL014", "/eval_steps")]),
        ('val_set_size: 0\neval_strategy: "no"\n', []),
        ("evaluation_strategy: epoch\neval_steps: 10\n", [("AXL014", "/eval_steps")]),  # carried over first
        ("evals_per_epoch: 2\neval_strategy: steps\nval_set_size: 0.1\n", []),
        ("sample_packing: true\neval_table_size: 5\neval_sample_packing: false\n", []),
        ("sample_packing: true\neval_table_size: 5\n", [("AXL014", "/eval_table_size")]),
        ("flash_attention: true\nsdp_attention: true\n", []),
        ("attn_implementation: fa2\n", [("AXL015", "/attn_implementation")]),
        ("attn_implementation: kernels-community/flash-attn3\n", []),
        ("adapter: lorax\n", [("AXL016", "/adapter")]),
        ("adapter: lorax\nplugins: [my_package.Plugin]\n", []),
        ("adapter: mixlora\nlora_r: 8\nlora_alpha: 8\nplugins: [axolotl.integrations.mixlora.MixLoraPlugin]\n", []),
        ("qat: {weight_dtype: int4}\nadapter: lora\n", []),
        ("qat: {weight_dtype: int4}\npeft: {loftq_config: {loftq_bits: 4}}\n", [("AXL017", "/qat")]),
        (
            "early_stopping_patience: 3\nsaves_per_epoch: 2\nevals_per_epoch: 2\nval_set_size: 0.1\n",
            [("AXL013", "/early_stopping_patience")],
        ),
        ("rl: kto\nskip_prepare_dataset: true\n", []),  # completes remove_unused_columns
        ("rl: kto\n", [("AXL020", "/rl")]),
        ("fsdp_config: {fsdp_use_orig_params: true}\n", []),  # dropped with a warning
        ("fsdp_version: 1\nfsdp_config: {version: 2}\n", [("AXL018", "/fsdp_version")]),
        ("max_packed_sequence_len: 0\n", []),
        ("rpo_alpha: 0\n", [("AXL024", "/rpo_alpha")]),
        ("optimizer:\n", [("HFT003", "/optimizer")]),
        ("lr_scheduler: cosin\n", [("HFT003", "/lr_scheduler")]),
        ("lr_scheduler: one_cycle\nlr_scheduler_kwargs: {pct_start: 0.1}\n", []),
        ("logging_steps: 0\n", [("HFT004", "/logging_steps")]),
        ("hub_strategy: foo\n", []),  # handed on with hub_model_id only
        ("hub_strategy: foo\nhub_model_id: a/b\n", [("HFT003", "/hub_strategy")]),
        ('tensor_parallel_size: "2"\n', [("AXL030", "/tensor_parallel_size")]),
        ("attn_implementation: varlen\n", [("AXL015", "/attn_implementation")]),
        ("torch_compile_backend: foo\n", []),  # handed on with torch_compile only
        ("torch_compile: true\ntorch_compile_backend: foo\n", [("HFT043", "/torch_compile_backend")]),
    ],
)
def test_errors(axolotl, found, lines, expected):
    assert found(axolotl(lines)) == expected


@each_case(
    ("lines", "expected"),
    [
        ("val_set_size: 0.1\nevals_per_epoch: 1\n", [("AXL062", "/evals_per_epoch")]),
        ("val_set_size: 0.1\nevals_per_epoch: 1\neval_strategy: steps\n", []),
        ("gradient_acumulation_steps: 4\n", [("AXL005", "/gradient_acumulation_steps")]),
        ("inference: true\nnum_epoch: 4\n", [("AXL005", "/num_epoch")]),  # `inference` is read, although the model has no such field
        ("gradient_acumulation_steps: 4\nplugins: [my_package.Plugin]\n", []),
        ("gradient_acumulation_steps:\n", []),  # null says nothing
        ("liger_rms_norm: true\n", [("AXL005", "/liger_rms_norm")]),
        ("liger_rms_norm: true\nplugins: [axolotl.integrations.liger.LigerPlugin]\n", []),
        ("fsdp_config: {fsdp_offload_params: true, ofload: 1}\n", [("AXL005", "/fsdp_config/ofload")]),
        ("batch_size: 8\nmicro_batch_size: 8\n", []),
    ],
)
def test_warnings(axolotl, found, lines, expected):
    assert found(axolotl(lines), "warning") == expected


def test_the_file_need_not_be_a_mapping(axolotl, found):
    assert found(axolotl(text="")) == [("AXL003", "/base_model"), ("AXL003", "/learning_rate"), ("AXL010", "/datasets")]
    assert found(axolotl(text="- a\n")) == [("AXL001", "")]


def test_a_file_for_a_fork_is_reported_once(axolotl, found):
    text = "base_model: m\ndatasets: [{path: d, type: alpaca}]\nlearning_rate: 0.1\nmy_a: 1\nmy_b: 2\nmicro_batch_sizes: 3\nmy_c: 4\n"
    assert found(axolotl(text=text, complete=False, kind_given=False), "warning") == [("AXL005", "/my_a"), ("AXL005", "/micro_batch_sizes")]
    assert len(found(axolotl(text=text), "warning")) == 4


def test_a_part_of_a_run_may_lack_keys(axolotl, found):
    run = axolotl(text="base_model: m\n", complete=False)
    assert (found(run), run.verdict) == ([], "accept")


def test_the_suggestion_is_not_a_removed_key(axolotl):
    (finding,) = axolotl("s2_attentions: true\n").diagnostics
    assert finding.help == "remove `s2_attentions`"
    (finding,) = axolotl("attention: sdpa\n").diagnostics
    assert finding.help == "did you mean `attn_implementation`?"
    (finding,) = axolotl("micro_batchsize: 4\n").diagnostics
    assert finding.help == "did you mean `micro_batch_size`?"


def test_deepspeed_is_compared_with_what_axolotl_hands_on(axolotl):
    lines = "deepspeed: ds.json\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\n"
    assert axolotl(lines, 8, files={"ds.json": ZERO % 64}).verdict == "accept"
    (error,) = [each for each in axolotl(lines, 8, files={"ds.json": ZERO % 60}).diagnostics if each.severity == "error"]
    assert (error.code, error.key) == ("RUN001", "/train_batch_size")


@each_case(
    ("target", "source", "verdict"),
    [
        ({"transformers": "5.20.1"}, {}, "reject"),
        ({"transformers": "4.46.0"}, {}, "accept"),  # the release 0.5.2 and 0.6.0 require
        ({"transformers": "4.30.0"}, {}, None),
        ({"transformers": "5.23.0"}, {}, None),
        ({"transformers": "5.23.0"}, {"transformers": "requirements.txt says >=4.40"}, "reject"),
        ({"axolotl": "0.12.0"}, {}, "accept"),
        ({"axolotl": "0.30.0"}, {}, None),
    ],
)
def test_the_release_of_a_run(axolotl, target, source, verdict):
    lines = "fsdp: [full_shard]\nfsdp_config: {fsdp_offload_params: false}\nmicro_batch_size: 1\ngradient_accumulation_steps: 8\n"
    run = axolotl(lines, target=target, target_from=source)
    assert run.verdict == verdict
    refused = [each.severity for each in run.diagnostics if each.key == "/fsdp"]
    assert refused == ([] if verdict == "accept" else ["error" if verdict else "warning"])


@each_case(
    ("lines", "expected"),
    [
        ('lora_dropout: "0.05"\nlora_target_linear: "yes"\n', []),  # as pydantic makes them
        ("lora_target_linear: 0.0\n", [("PFT001", "/lora_target_modules")]),
        ("lora_target_parameters: [q_proj.weight]\n", []),
    ],
)
def test_the_adapter_has_the_validated_values(axolotl, found, lines, expected):
    text = "base_model: meta-llama/Llama-3.1-8B\nlearning_rate: 2.0e-5\ndatasets:\n  - {path: d, type: alpaca}\nadapter: lora\nlora_r: 8\n"
    assert found(axolotl(text=f"{text}{lines}lora_alpha: 16\n")) == expected
