"""What older releases of DeepSpeed accept: verdicts recorded with the real 0.14.4, 0.15.4, 0.16.9, 0.17.6 and 0.18.9."""

from __future__ import annotations

from cases import each_case

ADAM = {"optimizer": {"type": "Adam"}}
SEPARATE = {"bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp32"}}
ELASTIC = {"enabled": True, "max_train_batch_size": 2000, "micro_batch_sizes": [1], "version": 0.1}


@each_case(
    ("values", "release", "accepted"),
    [
        ({"zero_optimization": {"reduce_bucket_size": 2.5}}, "0.14.4", True),
        ({"zero_optimization": {"reduce_bucket_size": 2.5}}, "0.15.4", False),
        ({"optimizer": {"type": "Adam"}, "zero_optimization": {"stage": "2"}}, "0.14.4", False),
        ({"optimizer": {"type": "Adam"}, "zero_optimization": {"stage": "2"}}, "0.15.4", True),
        ({"zero_optimization": {"offload_param": ""}}, "0.14.4", True),
        ({"zero_optimization": {"offload_param": ""}}, "0.16.9", False),
        ({"wandb": {"project": 3}}, "0.14.4", True),
        ({"wandb": {"project": 3}}, "0.16.9", False),
        ({"fp16": {"enabled": True, "initial_scale_power": "16"}}, "0.16.9", False),
        ({"fp16": {"enabled": True, "initial_scale_power": "16"}}, "0.17.6", True),
        ({"seq_parallel_communication_data_type": "cpu"}, "0.15.4", True),
        ({"seq_parallel_communication_data_type": "cpu"}, "0.16.9", False),
        ({"hybrid_engine": {"max_out_tokens": 0}}, "0.18.9", True),
        ({"progressive_layer_drop": {"theta": 0.5}}, "0.18.9", False),
        ({"compression_training": {"row_pruning": {}}}, "0.18.9", False),
        ({"bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp16"}}, "0.12.4", True),
        ({"bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp16"}}, "0.12.5", False),
        ({**ADAM, "bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "bf16"}}, "0.17.5", False),
        ({**ADAM, "bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "bf16"}}, "0.17.6", True),
        ({**ADAM, "bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp16"}}, "0.17.6", False),
        # The bf16 optimizer takes the place of that of stage 1, up to 0.10.0 with offload, too (runtime/engine.py).
        ({**ADAM, **SEPARATE, "zero_optimization": {"stage": 1}}, "0.9.4", True),
        ({**ADAM, **SEPARATE, "zero_optimization": {"stage": 1, "offload_optimizer": {"device": "cpu"}}}, "0.10.0", True),
        ({**ADAM, **SEPARATE, "zero_optimization": {"stage": 2}}, "0.10.0", False),
        ({**ADAM, **SEPARATE, "zero_optimization": {"stage": 2}}, "0.10.1", True),
        ({"bf16": None}, "0.17.0", False),  # get_bfloat16_enabled of runtime/config.py asks for the key alone
        ({"bf16": None}, "0.17.1", True),
        ({"tensor_parallel": {"autotp_size": "auto"}}, "0.18.5", True),  # "auto" is dropped; `initialize` compares it from 0.18.6 on
        ({"tensor_parallel": {"autotp_size": "auto"}}, "0.18.6", False),
        ({"tensor_parallel": {"autotp_size": "x"}}, "0.18.5", False),
        ({"elasticity": ELASTIC}, "0.18.9", False),
        ({"elasticity": {**ELASTIC, "ignore_non_elastic_batch_info": True}}, "0.18.9", True),
    ],
)
def test_verdict_by_release(runs, values, release, accepted):
    errors = runs.errors(values, target=release)
    assert ("refuses" if errors else "accepts", errors) == (("accepts", []) if accepted else ("refuses", errors))


def test_elasticity_chooses_the_batch(runs):
    batch = runs.of({"elasticity": ELASTIC}, gpus=6, target="0.18.9").configs[0].batch
    assert (batch.global_batch.value, batch.micro_batch.value, batch.accumulation.value) == (1680, 1, 280)
