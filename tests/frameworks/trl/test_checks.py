"""Start-up checks of TRL that depend on the launch, the release or several keys."""

from __future__ import annotations

import pytest

from cases import each_case

HEAD = "output_dir: out\ndataset_name: d\n"
GROUPS = "num_generations: 8\nper_device_train_batch_size: 1\n"


@pytest.mark.parametrize(("gpus", "expected"), [(8, []), (4, ["TRL030"]), (None, [])])
def test_groups_depend_on_the_processes(trl, codes, gpus, expected):
    assert codes(trl(HEAD + GROUPS, "grpo", gpus), "error") == expected


@pytest.mark.parametrize(("micro", "gpus", "verdict"), [(1, None, None), (8, None, "accept"), (1, 8, "accept"), (1, 4, "reject")])
def test_whether_it_starts_may_depend_on_their_number(trl, micro, gpus, verdict):
    assert trl(f"{HEAD}num_generations: 8\nper_device_train_batch_size: {micro}\n", "grpo", gpus).verdict == verdict


def test_a_file_on_its_own_may_get_its_batch_elsewhere(trl, codes):
    text = HEAD + "per_device_train_batch_size: 1\nepsilon_high: 0.3\n"
    assert codes(trl(text, "grpo"), "error") == ["TRL030"]
    assert codes(trl(text, "grpo", complete=False), "error") == []


def test_only_the_first_reason_is_given(trl, codes):
    assert codes(trl(HEAD + GROUPS + "generation_batch_size: 12\nsteps_per_generation: 3\n", "grpo")) == ["TRL032"]
    assert codes(trl(HEAD + "num_generations: 8\ngeneration_batch_size: 12\n", "grpo", 8)) == ["TRL031"]


@pytest.mark.parametrize(("release", "expected"), [("0.19.0", []), ("0.19.1", ["TRL031"])])
def test_up_to_0_19_0_only_the_micro_batch_divides_a_generation(trl, codes, release, expected):
    """trl 0.19.0 grpo_config.py:547 lacks the brackets of `generation_batch_size % (micro * processes)`."""
    assert (
        codes(trl(HEAD + "num_generations: 4\nper_device_train_batch_size: 4\ngeneration_batch_size: 40\n", "grpo", 8, release=release))
        == expected
    )


@pytest.mark.parametrize(("size", "expected"), [(8, ["TRL039"]), (64, [])])
def test_a_generation_has_a_micro_batch_of_each_process(trl, codes, size, expected):
    sizes = f"num_generations: 4\nper_device_train_batch_size: 4\ngeneration_batch_size: {size}\n"
    assert codes(trl(HEAD + sizes, "grpo", 8, release="0.19.0"), "error") == expected


def test_what_is_written_for_four_bits_is_not_handed_on(trl, codes):
    assert codes(trl(HEAD + "model_name_or_path: m\nload_in_4bit: 2\n", "sft", 1), "error") == []


@each_case(
    ("trainer", "lines", "refusals"),
    [
        ("grpo", "loss_type: dapo", {"0.21.0": ["TRL051"], "0.22.0": []}),
        ("grpo", "loss_type: cispo", {"0.25.1": ["TRL051"], "0.26.0": []}),
        ("grpo", "loss_type: sapo", {"0.25.1": ["TRL051"], "0.26.0": []}),
        ("grpo", "loss_type: luspo", {"0.27.1": ["TRL051"], "0.28.0": []}),
        ("grpo", "loss_type: vespo", {"0.29.1": ["TRL051"], "1.0.0": []}),
        ("dpo", "loss_type: aot\nuse_weighting: true", {"0.28.0": [], "0.29.0": ["TRL050"]}),
        ("dpo", "loss_type: exo_pair\nlabel_smoothing: 0", {"0.28.0": [], "0.29.0": ["TRL050"]}),
        ("dpo", "loss_type: kto_pair", {"0.9.6": ["TRL050"], "0.28.0": ["TRL050"], "0.29.0": ["TRL051"]}),
        ("dpo", "loss_type: hinge\nuse_liger_loss: true", {"0.24.0": ["TRL064"]}),
        ("dpo", "loss_type: apo_zero\nuse_liger_loss: true", {"0.24.0": []}),
    ],
)
def test_losses_of_a_release(trl, codes, trainer, lines, refusals):
    text = f"{HEAD}model_name_or_path: m\n{lines}\n"
    assert {release: codes(trl(text, trainer, 8, release=release), "error") for release in refusals} == refusals


def test_a_list_is_no_number_of_generations(trl, codes):
    [found] = trl(HEAD + "num_generations: []\n", "grpo").diagnostics
    assert (found.code, found.exception) == ("TYP200", "TypeError: unsupported operand type(s) for %: 'int' and 'list'")


def test_a_program_of_its_own_may_turn_vllm_on(trl, codes):
    text = HEAD + "num_generations: 8\nvllm_mode: colocate\n"
    own = "my_task: a\nmy_data: b\nmy_project: c\n"
    assert codes(trl(text, "grpo", complete=False)) == codes(trl(text + own, "grpo")) == ["TRL070"]
    assert codes(trl(text + own, "grpo", complete=False)) == []


def test_evaluation_needs_whole_groups_too(trl, codes):
    text = HEAD + "num_generations: 8\nper_device_eval_batch_size: 4\n"
    assert codes(trl(text, "grpo")) == []
    assert codes(trl(text + "eval_strategy: steps\neval_steps: 10\n", "grpo"), "error") == ["TRL034"]
    assert codes(trl(text + "eval_strategy: steps\neval_steps: 10\n", "grpo", 2), "error") == []


def test_old_releases_raise_later(trl):
    assert trl(HEAD + GROUPS, "grpo").fails_at == "config"
    assert trl(HEAD + GROUPS, "grpo", release="0.17.0").fails_at == "init"


def test_releases_before_generations_of_several_steps_count_one_micro_batch(trl):
    text = HEAD + GROUPS + "gradient_accumulation_steps: 8\n"
    assert trl(text, "grpo", release="0.17.0").verdict == "accept"
    (finding,) = [each for each in trl(text, "grpo", release="0.16.1").diagnostics if each.code == "TRL030"]
    assert (finding.severity, finding.key) == ("error", "/num_generations")
    assert "(1 x 1)" in finding.message
    assert trl(text, "grpo", release="0.14.0").verdict == "accept"


def test_groups_are_blamed_on_what_the_file_says(trl):
    (finding,) = trl(HEAD + "per_device_train_batch_size: 1\n", "grpo").diagnostics
    assert (finding.code, finding.key) == ("TRL030", "/per_device_train_batch_size")


def test_beta_of_grpo_is_nothing_by_default(trl, codes):
    text = HEAD + "num_generations: 8\nsync_ref_model: true\n"
    assert codes(trl(text, "grpo"), "error") == ["TRL052"]
    assert codes(trl(text, "grpo", release="0.17.0"), "error") == []
    assert codes(trl(HEAD + "sync_ref_model: true\n", "dpo"), "error") == []


def test_vespo_is_refused_with_vllm_only(trl, codes):
    text = HEAD + "num_generations: 8\nloss_type: vespo\n"
    assert codes(trl(text, "grpo")) == []
    assert codes(trl(text + "use_vllm: true\n", "grpo"), "error") == ["TRL056"]


def test_kto_without_its_kl_term_takes_any_batch(trl, codes):
    text = HEAD + "per_device_train_batch_size: 1\ntrain_sampling_strategy: random\n"
    assert codes(trl(text, "kto"), "error") == ["TRL054", "TRL054"]
    assert codes(trl(text + "loss_type: apo_zero_unpaired\n", "kto"), "error") == []


def test_the_trainers_own_checks_hold(trl, codes):
    text = HEAD + "fp16: true\nbf16: true\n"
    assert trl(text).verdict == "reject"
    assert codes(trl(HEAD + "label_names: labels\n")) == []  # TRL names the columns itself


def test_too_few_prompts_for_one_generation(trl, codes):
    text = HEAD + "num_generations: 2\nper_device_train_batch_size: 64\n"
    assert codes(trl(text, "grpo", 8, 100), "error") == ["TRL060"]
    assert codes(trl(text + "max_steps: 10\n", "grpo", 8, 100), "error") == []


def test_a_deepspeed_file_meets_the_trainers_own_defaults(trl, codes):
    file = '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}, "bf16": {"enabled": false}}'
    text = HEAD + "deepspeed: ds.json\n"
    assert codes(trl(text, files={"ds.json": file}), "error") == ["RUN001"]
    assert codes(trl(text, files={"ds.json": file}, release="0.17.0"), "error") == []


KTO = "output_dir: out\ndesirable_weight: 1.0\nper_device_train_batch_size: 1\n"


@each_case(
    ("text", "options", "severity"),
    [
        (KTO, {}, "error"),
        (KTO + "fg_beta: 0.1\n", {}, "warning"),  # a class of the script has it, and its own trainer may read it
        (KTO + "fg_beta: 0.1\n", {"trainer": "kto"}, "error"),
        (KTO + "max_prompt_length: 5\n", {}, "error"),
        (KTO + "num_processes: 8\n", {}, "error"),
    ],
)
def test_checks_of_a_trainer_are_certain_only_if_it_is_trls(trl, text, options, severity):
    run = trl(text, **{"trainer": None, "complete": False, **options})
    assert [each.severity for each in run.diagnostics if each.code == "TRL054"] == [severity]


@each_case(
    ("trainer", "line", "exception"),
    [
        ("kto", "dataset_num_proc: 2.5", "TypeError: 'float' object cannot be interpreted as an integer"),
        ("sft", "dataset_num_proc: [8]", "TypeError: '<' not supported between instances of 'list' and 'int'"),
        ("sft", "dataset_num_proc: 1", ""),
        ("sft", "dataset_num_proc: 2.5\ndataset_streaming: true\nmax_steps: 5", ""),
        ("grpo", "dataset_num_proc: 2.5", ""),
        (
            "grpo",
            "num_generations: 8.0",
            "ValueError: args.max_steps must be set to a positive value if dataloader does not have a length, was -1",
        ),
        ("grpo", "num_generations: 8.0\nmax_steps: 5", "TypeError: 'float' object cannot be interpreted as an integer"),
        ("grpo", "cache_implementation: none", "ValueError: Invalid `cache_implementation` (none)"),
        ("rloo", "cache_implementation: true", "ValueError: Invalid `cache_implementation` (True)"),
        ("grpo", "cache_implementation: dynamic", ""),
        ("grpo", "cache_implementation: foo\ngeneration_kwargs: {cache_implementation: static}", ""),
        ("grpo", "generation_kwargs: '3'", "ValueError: dictionary update sequence element #0 has length 1; 2 is required"),
        ("rloo", "generation_kwargs: true", "TypeError: 'bool' object is not iterable"),
        ("rloo", "model_init_kwargs: '3'", "ValueError: dictionary update sequence element #0 has length 1; 2 is required"),
        ("rloo", "reward_weights: {a: 1}", "TypeError: must be real number, not dict"),
        ("grpo", "scale_rewards: [a]", "TypeError: unhashable type: 'list'"),
    ],
)
def test_values_that_a_trainer_cannot_use(trl, trainer, line, exception):
    """The exceptions follow from the sources of trl 1.16.0, transformers 5.23.0 and datasets 5.2.0."""
    batch = "per_device_train_batch_size: 8\n" if trainer in ("grpo", "rloo") else ""
    found = [each.exception for each in trl(HEAD + batch + line + "\n", trainer).diagnostics if each.code == "TYP200"]
    assert len(found) == bool(exception)
    assert "".join(found).startswith(exception)


def test_a_loss_is_not_judged_where_the_class_has_no_such_field(trl, codes):
    """Before 0.9.2 the loss of DPO is an argument of its trainer, not a key of a file."""
    options = {"target": {"trl": "0.8.0", "transformers": "4.38.2"}}
    assert "TRL051" not in codes(trl(HEAD + "loss_type: sigmoid\n", "dpo", **options))
    assert "TRL051" in codes(trl(HEAD + "loss_type: sigmoidd\n", "dpo"))


@pytest.mark.parametrize(("trainer", "release"), [("grpo", "0.28.0"), ("orpo", "0.28.0")])
def test_the_release_that_removed_a_key_is_that_of_the_class_of_the_run(trl, trainer, release):
    """KTO's class kept `max_prompt_length` longer than GRPO's and ORPO's did."""
    found = trl(HEAD + "max_prompt_length: 64\n", trainer, strict=True).diagnostics
    assert [each.message for each in found if each.code == "TRL011"] == [f"`max_prompt_length` was removed in TRL {release}"]


@pytest.mark.parametrize("release", ["1.0.0", "1.3.0", "1.10.0"])
def test_a_key_that_only_an_experimental_class_has_again_stays_removed(trl, codes, release):
    """The class for distillation got `max_prompt_length` in 1.1.0 and lost it in 1.10.0."""
    assert "TRL011" in codes(trl(HEAD + "max_prompt_length: 64\n", "grpo", release=release))


@each_case(("bits", "expected"), [("load_in_4bit", ["PFT004"]), ("load_in_8bit", [])])
def test_the_storage_is_passed_on_with_4_bits_only(trl, codes, bits, expected):
    assert codes(trl(HEAD + f"use_peft: true\n{bits}: true\nbnb_4bit_quant_storage: cpu\n"), "error") == expected
