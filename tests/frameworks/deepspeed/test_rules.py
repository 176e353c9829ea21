"""Start-up checks and traps that take more than one key to see."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.deepspeed.models import model_of
from cfglint.frameworks.releases.history import DEFAULT

ADAM = {"optimizer": {"type": "Adam", "params": {"lr": 1e-4}}}
CPU = {"device": "cpu"}

NO_MAPPING = "argument after ** must be a mapping, not NoneType"


def zero(stage, **more):
    return {"zero_optimization": {"stage": stage, **more}}


def scheduler(name, **params):
    return {**ADAM, "scheduler": {"type": name, "params": params}}


def test_a_sound_config_has_no_findings(runs):
    values = {
        **zero(3, offload_optimizer={**CPU, "pin_memory": True}, offload_param=CPU, overlap_comm=True),
        **scheduler("WarmupDecayLR", total_num_steps=1000, warmup_num_steps=100),
        "bf16": {"enabled": True},
        "gradient_clipping": 1.0,
        "wall_clock_breakdown": False,
    }
    assert runs.codes(values) == []


class TestSections:
    @pytest.mark.parametrize("key", ["bf16", "aio", "expert_parallel", "datastates_ckpt"])
    def test_null_is_taken(self, runs, key):
        assert runs.errors({key: None}) == []

    @each_case(
        ("key", "exception"),
        [
            ("zero_optimization", f"TypeError: deepspeed.runtime.zero.config.DeepSpeedZeroConfig() {NO_MAPPING}"),
            ("fp16", f"TypeError: deepspeed.runtime.precision_config.DeepSpeedFP16Config() {NO_MAPPING}"),
            ("bfloat16", f"TypeError: deepspeed.runtime.precision_config.DeepSpeedBF16Config() {NO_MAPPING}"),
            ("optimizer", "AttributeError: 'NoneType' object has no attribute 'keys'"),
            ("pipeline", "AttributeError: 'NoneType' object has no attribute 'items'"),
            ("checkpoint", "AttributeError: 'NoneType' object has no attribute 'get'"),
            ("tensor_parallel", "AttributeError: 'NoneType' object has no attribute 'get'"),
            ("timers", "TypeError: argument of type 'NoneType' is not iterable"),
            ("wandb", "ValidationError: 1 validation error for DeepSpeedMonitorConfig: wandb: Input should be a valid dictionary"),
        ],
    )
    def test_null_is_refused(self, runs, key, exception):
        found = runs.exceptions({key: None})
        assert len(found) == 1
        assert found[0].startswith(exception)

    def test_timers_may_be_text(self, runs):
        assert runs.errors({"timers": "auto"}) == []
        assert runs.errors({"timers": "throughput"}) == ["TYP103"]

    def test_a_monitor_may_be_auto(self, runs):
        assert runs.errors({"wandb": "auto"}) == []

    def test_bfloat16_counts_where_bf16_is_null(self, runs):
        assert runs.errors({"bf16": None, "bfloat16": {"enabled": True, "nonsense": 1}}) == ["KEY102"]
        assert runs.codes({"bf16": {}, "bfloat16": {"enabled": True, "nonsense": 1}}) == ["PRC107"]

    def test_every_fault_of_a_section_is_told(self, runs):
        assert runs.errors(zero(4, reduce_bucket_size="5e8", overlap_com=True)) == ["TYP102", "TYP100", "KEY102"]

    def test_an_old_boolean_reads_the_old_bucket(self, runs):
        assert runs.errors({"zero_optimization": True, "allgather_size": 5, **ADAM}) == ["DSP016"]


class TestOptimizers:
    @each_case("name", ["adam", "ADAM", "AdamW", "lion", "SGD", "NAdam", "LBFGS"])
    def test_known_names(self, runs, name):
        assert "DSP040" not in runs.codes({"optimizer": {"type": name, "params": {"lr": 0.1}}})

    @each_case("name", ["sgd", "rmsprop", "FusedAdam", "DeepSpeedCPUAdam", "OneBitAdam", ""])
    def test_unknown_names(self, runs, name):
        assert runs.errors({"optimizer": {"type": name, "params": {"lr": 0.1}}}) == ["DSP040"]

    def test_one_bit_adam_was_known(self, runs):
        values = {"optimizer": {"type": "OneBitAdam", "params": {"lr": 0.1, "freeze_step": 10}}}
        assert runs.errors(values, target="0.19.6") == []

    @each_case(
        ("params", "sections", "exception"),
        [
            ({"set_grad_none": True}, zero(2, offload_optimizer=CPU), "DeepSpeedCPUAdam.__init__() got an unexpected keyword argument"),
            ({"bias_correction": True, "torch_adam": True}, {}, "AdamW.__init__() got an unexpected keyword argument 'bias_correction'"),
            ({"fused": True}, {}, "FusedAdam.__init__() got an unexpected keyword argument 'fused'"),
            ({"amsgrad": True}, {}, "FusedAdam does not support the AMSGrad variant"),
            ({"torch_adam": True, "betas": [0.9, 1.5]}, {}, "ValueError: Invalid beta parameter at index 1: 1.5"),
            ({"torch_adam": True, "lr": -1}, {}, "ValueError: Invalid learning rate: -1"),
        ],
    )
    def test_the_class_decides_what_is_taken(self, runs, params, sections, exception):
        found = runs.exceptions({**sections, "optimizer": {"type": "Adam", "params": params}})
        assert len(found) == 1
        assert exception in found[0]

    @pytest.mark.parametrize(
        "params", [{"fused": True, "torch_adam": True}, {"foreach": False, "torch_adam": True}, {"adam_w_mode": False}]
    )
    def test_what_the_class_or_deepspeed_takes(self, runs, params):
        assert runs.errors({"optimizer": {"type": "Adam", "params": params}}) == []

    def test_max_grad_norm_moves_to_the_top(self, runs):
        run = runs.of({"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 0.1, "max_grad_norm": 0.3}}})
        (found,) = run.diagnostics
        assert found.code == "DSP041"
        assert found.fix.safe
        assert len(found.fix.edits) == 2

    def test_zero_takes_the_tried_ones(self, runs):
        sgd = {"optimizer": {"type": "SGD", "params": {"lr": 0.1}}}
        assert runs.errors({**zero(2), **sgd}) == ["DSP012"]
        assert runs.errors({**zero(2), **sgd, "zero_allow_untested_optimizer": True}) == []
        assert runs.errors({**zero(0), **sgd}) == []

    def test_auto_is_filled_by_a_trainer_in_a_fragment(self, runs):
        values = {"optimizer": {"type": "AdamW", "params": {"lr": "auto", "torch_adam": True}}}
        assert runs.errors(values) == ["DSP043"]
        assert runs.errors(values, complete=False) == []


class TestSchedules:
    @each_case(
        ("name", "params"),
        [
            ("WarmupLR", {}),
            ("WarmupLR", {"warmup_max_lr": None, "warmup_num_steps": True}),
            ("WarmupCosineLR", {"total_num_steps": 10000, "cos_min_ratio": "any"}),
            ("OneCycle", {"cycle_min_lr": "any", "cycle_max_lr": 1, "cycle_first_step_size": "5"}),
            ("StepLR", {"step_size": 10}),
        ],
    )
    def test_accepted(self, runs, name, params):
        assert runs.errors(scheduler(name, **params)) == []

    @each_case(
        ("name", "params", "exception"),
        [
            ("WarmupLR", {"warmup_num_steps": 2.5}, "ValueError: warmup_num_steps must be a positive integer, got 2.5"),
            ("WarmupLR", {"warmup_max_lr": "auto"}, "TypeError: unsupported operand type(s) for -: 'str' and 'float'"),
            ("WarmupDecayLR", {}, "TypeError: WarmupDecayLR.__init__() missing 1 required positional argument: 'total_num_steps'"),
            ("WarmupDecayLR", {"total_num_steps": "auto"}, "TypeError: '<' not supported between instances of 'str' and 'int'"),
            ("WarmupCosineLR", {"total_num_steps": 9, "warmup_max_lr": 1}, "TypeError: WarmupCosineLR.__init__() got an unexpected"),
            ("OneCycle", {"cycle_max_lr": 1}, "TypeError: OneCycle.__init__() missing 1 required positional argument: 'cycle_min_lr'"),
            ("OneCycle", {"cycle_min_lr": 0, "cycle_max_lr": 1, "decay_mom_rate": "a"}, "TypeError: must be real number, not str"),
            ("LRRangeTest", {"lr_range_test_step_size": 0}, "ValueError: lr_range_test_step_size must be a positive integer, got 0"),
            ("Nonsense", {}, "AssertionError: DeepSpeed does not recognize LR scheduler Nonsense"),
        ],
    )
    def test_refused(self, runs, name, params, exception):
        found = runs.exceptions(scheduler(name, **params))
        assert len(found) == 1
        assert found[0].startswith(exception)

    @pytest.mark.parametrize(
        ("sections", "wrapper"), [(zero(2), "DeepSpeedZeroOptimizer"), ({"bf16": {"enabled": True}}, "FP16_Optimizer")]
    )
    def test_torch_schedules_need_a_bare_optimizer(self, runs, sections, wrapper):
        assert runs.exceptions({**scheduler("StepLR", step_size=10), **sections}) == [f"TypeError: {wrapper} is not an Optimizer"]

    def test_params_have_to_be_there(self, runs):
        assert runs.errors({**ADAM, "scheduler": {"type": "WarmupLR"}}) == ["STP102"]

    def test_nothing_is_looked_at_without_an_optimizer(self, runs):
        assert runs.codes({"scheduler": {"type": "Nonsense"}}) == ["STP104"]

    def test_steps_were_not_checked_before(self, runs):
        assert runs.errors(scheduler("WarmupLR", warmup_num_steps=0), target="0.19.2") == []


class TestPrecision:
    def test_half_master_weights(self, runs):
        half = {"bf16": {"enabled": True, "bf16_master_weights_and_grads": True}}
        assert runs.errors({**half, **ADAM}) == ["PRC101"]
        assert runs.errors({**half, **ADAM, **zero(2)}) == ["PRC102"]
        assert runs.errors({**half, **ADAM, **zero(2, offload_optimizer=CPU)}) == []
        half["bf16"]["bf16_optimizer_states"] = True
        assert runs.errors({**half, **ADAM, **zero(2)}) == []

    @pytest.mark.parametrize(("stage", "expected"), [(0, ["PRC103"]), (1, []), (2, []), (3, [])])
    def test_accumulating_in_another_type_needs_zero(self, runs, stage, expected):
        values = {**zero(stage), **ADAM, "bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp32"}}
        assert runs.errors(values) == expected

    def test_accumulation_type_is_not_asked_for_without_need(self, runs):
        assert runs.errors({"data_types": {"grad_accum_dtype": "nonsense"}}) == []

    def test_no_norm_needs_no_clipping(self, runs):
        values = {**zero(2, compute_grad_norm=False), **ADAM}
        assert runs.errors(values) == ["DSP014"]
        assert runs.errors({**values, "gradient_clipping": 0}) == []


class TestFirstStep:
    @pytest.mark.parametrize(
        "values", [{"gradient_clipping": None}, {"gradient_clipping": "1.0"}, {"steps_per_print": 0}, {"steps_per_print": "auto"}]
    )
    def test_dies_at_the_first_step(self, runs, values):
        run = runs.of({"train_batch_size": 8, **ADAM, **values})
        assert run.verdict == "reject"
        assert run.fails_at == "first-step"

    @pytest.mark.parametrize(
        "values", [{"gradient_clipping": 0}, {"gradient_clipping": True}, {"steps_per_print": None}, {"steps_per_print": 0.5}]
    )
    def test_starts(self, runs, values):
        assert runs.errors({**ADAM, **values}) == []

    def test_a_number_as_text_for_a_compiled_optimizer_is_a_warning(self, runs):
        run = runs.of({"train_batch_size": 8, **zero(2, offload_optimizer=CPU), "optimizer": {"type": "Adam", "params": {"lr": "1e-4"}}})
        assert ("DSP083", "warning") in [(each.code, each.severity) for each in run.diagnostics]
        assert run.verdict == "accept"


class TestParallel:
    def test_the_second_partition_divides_the_gpus(self, runs):
        values = {**zero(3, zero_hpz_partition_size=8), **ADAM}
        assert runs.errors({"train_batch_size": 12, **values}, gpus=12) == ["DSP018"]
        assert runs.errors({"train_batch_size": 4, **values}, gpus=4) == []
        assert runs.errors(values, gpus=None) == []

    @each_case(("gpus", "found"), [(4, ["DSP110"]), (8, ["BAT001"]), (16, ["BAT001", "DSP110"])])
    def test_a_batch_that_autotp_makes_smaller(self, runs, gpus, found):
        """On 8 GPUs the numbers contradict each other, and a step would consume just as many samples as `train_batch_size` says."""
        sizes = {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}
        run = runs.of({**sizes, "tensor_parallel": {"autotp_size": 2}}, gpus=gpus)
        assert sorted(each.code for each in run.diagnostics) == found

    def test_autotp_size_is_no_text(self, runs):
        assert runs.errors({"tensor_parallel": {"autotp_size": "2"}}) == ["DSP071"]

    @each_case(
        ("values", "message"),
        [
            ({"autoep_size": 3}, "must divide the stage size"),
            ({"expert_tensor_parallel_size": 2}, "is not supported yet"),
            ({"score_func": "tanh"}, "score_func must be one of"),
            ({"comm_backend": "deepep"}, "comm_max_tokens_per_rank must be a positive integer"),
            ({"router_pattern": "a.b"}, "must be a direct attribute name"),
            ({"num_limited_groups": 4, "num_expert_groups": 2}, "must be <= num_expert_groups"),
        ],
    )
    def test_experts(self, runs, values, message):
        found = runs.exceptions({"expert_parallel": {"enabled": True, **values}})
        assert len(found) == 1
        assert message in found[0]
        assert runs.errors({"expert_parallel": {"enabled": False, **values}}) == []


def test_a_secondary_partition_of_two_needs_an_even_number_of_gpus(runs):
    values = {**zero(3, zero_hpz_partition_size=2), **ADAM, "train_batch_size": 12}
    assert [runs.errors(values, gpus=gpus) for gpus in (3, 4)] == [["DSP018"], []]


class TestFragments:
    """A file that may be a part of a run: nothing that someone else can bring is an error."""

    def test_missing_optimizer_and_auto(self, runs):
        values = {**zero(2), "bf16": {"enabled": "auto"}, "gradient_clipping": "auto", "train_batch_size": "auto"}
        values |= scheduler("WarmupLR", warmup_type="auto")
        assert runs.of(values, complete=False).diagnostics == []
        assert runs.of(values).verdict == "reject"

    def test_what_is_wrong_for_everybody_stays(self, runs):
        assert runs.errors(zero(2, overlap_com=True), complete=False) == ["KEY102"]
        assert runs.codes(scheduler("WarmupLR", warmup_type="cosine"), complete=False) == ["STP106"]


class TestReaders:
    """DeepSpeed reads hjson, a trainer that names the file reads JSON."""

    TWICE = '{"train_batch_size": 8, "steps_per_print": 1, "steps_per_print": 2, "zero_optimization": {"stage": 4}}'
    COMMENT = '{"train_batch_size": 8, /* later: 16 */ "zero_optimization": {"stage": 4}}'

    def test_declared_its_own_reader_decides(self, runs):
        assert [found.code for found in runs.text(self.TWICE).diagnostics] == ["SRC002"]
        assert [found.code for found in runs.text(self.COMMENT).diagnostics] == ["TYP102"]

    @pytest.mark.parametrize(("text", "code"), [(TWICE, "SRC002"), (COMMENT, "SRC003")])
    def test_undeclared_what_one_of_them_accepts_is_a_warning(self, runs, text, code):
        found = {each.code: each.severity for each in runs.text(text, complete=False).diagnostics}
        assert found[code] == "warning"
        assert found["TYP102"] == "error"

    def test_what_neither_takes_is_an_error(self, runs):
        (found,) = runs.text('{"train_batch_size": 8, "zero_optimization": {"stage": ]', complete=False).diagnostics
        assert (found.code, found.severity) == ("SRC002", "error")


class TestTraps:
    @each_case(
        ("values", "code"),
        [
            ({**zero(2, stage3_max_live_parameters=1e8), **ADAM}, "DSP100"),
            ({**zero(1, offload_param=CPU), **ADAM}, "DSP101"),
            ({**zero(0, offload_optimizer=CPU), **ADAM}, "DSP102"),
            ({"zero_optimisation": {"stage": 2}}, "KEY105"),
            ({"activation_checkpointing": {"partitioned_activations": True}}, "KEY105"),
            ({"prescale_gradients": "false"}, "DSP106"),
        ],
    )
    def test_taken_and_not_done(self, runs, values, code):
        assert runs.codes(values) == [code]

    @pytest.mark.parametrize(
        "values",
        [
            {**zero(2, stage3_gather_16bit_weights_on_model_save=True), **ADAM},
            {**zero(2, zero_hpz_partition_size=1, sub_group_size=1e9), **ADAM},
            {"comms_logger": {"enabled": True}},
        ],
    )
    def test_not_worth_a_word(self, runs, values):
        assert runs.codes(values) == []


@pytest.mark.parametrize(
    ("section", "name", "values"),
    [
        ("zero_optimization", "round_robin_gradients", zero(3)),
        ("zero_optimization.offload_optimizer", "super_offload", zero(2, offload_optimizer=CPU)),
    ],
)
def test_a_default_that_has_no_effect_is_not_reported(runs, monkeypatch, section, name, values):
    field = model_of(section).fields[name]
    monkeypatch.setattr(field, "rows", tuple((*row[:DEFAULT], True, *row[DEFAULT + 1 :]) for row in field.rows))
    assert runs.codes({**values, **ADAM}) == []


def test_a_trainer_brings_the_optimizer():
    from cfglint.frameworks.base import Config
    from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
    from cfglint.frameworks.launch_facts import LaunchFacts
    from cfglint.source.parse import parse

    document = parse("ds.json", '{"zero_optimization": {"stage": 2}, "gradient_accumulation_steps": 2}', "json")
    facts = LaunchFacts(gpus=1, complete=True, kind_given=True)
    values = {"zero_optimization": {"stage": 2}, "gradient_accumulation_steps": 2, "train_micro_batch_size_per_gpu": 4}
    config = DeepSpeedConfig([document], facts, values=values, trainer=Config([document], facts), world_size=8)
    assert config.has_optimizer
    assert config.batch.global_batch.value == 64
    assert config.batch.problem is None


class TestHints:
    @pytest.mark.parametrize(
        ("values", "hint"),
        [
            ({"offload_optimizer": {"device": "cpu"}}, "move it into `zero_optimization`"),
            ({"optimizer": {"type": "AdamW", "gradient_clipping": 1.0}}, "move it to the top level"),
            ({"bf16": {"enabled": False, "loss_scale_window": 100}}, "move it into `fp16`"),
            ({"gradient_cliping": 1.0}, "did you mean `gradient_clipping`?"),
        ],
    )
    def test_where_a_key_belongs(self, runs, values, hint):
        (found,) = runs.of({"train_batch_size": 8, **values}).diagnostics
        assert found.message.endswith(f"; {hint}")

    def test_common_words_get_no_suggestion(self, runs):
        found = runs.of({"train_batch_size": 8, "seed": 42, "verbose": True, "pipeline": {"seed": 1}}).diagnostics
        assert [(each.code, "did you mean" in each.message) for each in found] == [("KEY105", False)] * 3
        (found,) = runs.of({"train_batch_size": 8, "zero_optimization": {"stage": 0, "verbose": True}}).diagnostics
        assert found.message == "unknown key `verbose` in `zero_optimization`"

    def test_an_optimizer_that_was_removed(self, runs):
        (found,) = runs.of({"train_batch_size": 8, "optimizer": {"type": "OneBitAdam", "params": {"lr": 0.1}}}).diagnostics
        assert found.message == '`optimizer.type` is "OneBitAdam", which was removed in DeepSpeed 0.19.7'


@pytest.mark.parametrize(("complete", "severity"), [(True, "error"), (False, "warning")])
def test_lists_are_for_the_autotuner_in_a_file_that_is_not_declared(runs, complete, severity):
    values = {"zero_optimization": {"stage": 0, "overlap_comm": [True, False]}, "autotuning": {"enabled": True}}
    assert runs.codes(values, severity, complete=complete) == ["TYP100"]


def test_a_file_that_one_of_two_readers_takes_is_checked_all_the_same(runs):
    text = '{"train_batch_size": 64, // for 8 GPUs\n"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}'
    found = [(each.code, each.severity) for each in runs.text(text, complete=False).diagnostics]
    assert found == [("BAT001", "error"), ("SRC003", "warning")]


@pytest.mark.parametrize(("value", "advice"), [(True, 'use `"offload_optimizer": {"device": "cpu"}`'), (False, "remove it")])
def test_what_replaces_an_old_switch(runs, value, advice):
    run = runs.of({"train_batch_size": 8, "zero_optimization": {"stage": 2, "cpu_offload": value}}, complete=False)
    (found,) = [each for each in run.diagnostics if each.code == "KEY104"]
    assert advice in (found.help or found.fix.title)
