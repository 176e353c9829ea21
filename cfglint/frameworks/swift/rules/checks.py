"""Rules about ms-swift's own checks: each failing check of `swift/checks.py` is a finding at its argument."""

from __future__ import annotations

from cfglint.findings.rule import Example, ExampleFacts, Text, config_error, rule_of
from cfglint.frameworks.swift.rules import BASE, GRPO, LINE, OLDER, RLHF, failing
from cfglint.source.annotations import Callable


def check_of(
    code: str, bad: Text | tuple[Text | Example, ...], good: str, example: ExampleFacts = LINE, *, source: str
) -> Callable[[Callable[[], None]], None]:
    """Register the rule of one kind of failing checks; its page is the docstring of the decorated function."""
    return rule_of(lambda config: failing(config, code), config_error(code, source=source, bad=bad, good=good, example=example))


@check_of("SWF010", "swift sft --dataset data.jsonl\n", f"{BASE}\n", source="ms-swift 4.6.0 arguments/base_args/model_args.py:220")
def missing_model() -> None:
    """The run has no `--model`.

    Fix: `--model` with the id of a model, or a path. `--model_name_or_path` and `--model_id_or_path` are no arguments of ms-swift.
    """


@check_of("SWF011", "swift sft --model org/model\n", f"{BASE}\n", source="ms-swift 4.6.0 arguments/sft_args.py:221")
def missing_dataset() -> None:
    """The run has no training data."""


@check_of(
    "SWF012",
    (
        f"CUDA_VISIBLE_DEVICES=0,1,2,3 {BASE} --deepspeed zero2\n",
        f"CUDA_VISIBLE_DEVICES=0,1 {BASE} --fsdp fsdp2\n",
        f"CUDA_VISIBLE_DEVICES=0,1 {BASE} --use_liger_kernel true\n",
        f"CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=2 {GRPO} --use_vllm true --vllm_mode colocate\n",
        f"CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=3 {BASE}\n",
    ),
    f"CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=4 {BASE} --deepspeed zero2\n",
    source="ms-swift 4.6.0 cli/main.py:30 and 73, utils/env.py:64-76, arguments/sft_args.py:255 and 290, trainers/arguments.py:278, "
    "arguments/rlhf_args.py:542",
)
def several_gpus_per_process() -> None:
    """DeepSpeed, FSDP, Liger and vLLM do not support several GPUs for one process.

    Such a process spreads the model over them (`device_map`). `swift sft` starts one process for each GPU only if `NPROC_PER_NODE` is
    set, exported or before the command; without it there is one process, however many GPUs are visible. The visible GPUs have to be a
    multiple of the processes.
    """


@check_of(
    "SWF013",
    (f"{BASE} --deepspeed default-zero2\n", f"{BASE} --fsdp 'full_shard auto_wrap'\n"),
    f"{BASE} --deepspeed zero2\n",
    source="ms-swift 4.6.0 arguments/sft_args.py:263-275 and 296-316, utils/utils.py:490",
)
def unreadable_swift_config() -> None:
    """The value of `--deepspeed` or `--fsdp` is neither a name that ms-swift has, an existing file, nor JSON.

    It has names for its own files (`zero0`, `zero1`, `zero2`, `zero3`, `zero2_offload`, `zero3_offload`; `fsdp2`) and takes every other
    value for JSON. The names of 2.x (`default-zero2`) and the values of the Trainer's `--fsdp` are none.
    """


@check_of(
    "SWF014",
    (f"{BASE} --fsdp fsdp2 --deepspeed zero2\n", f"{BASE} --fsdp fsdp2 --save_only_model true\n"),
    f"{BASE} --fsdp fsdp2\n",
    source="ms-swift 4.6.0 arguments/sft_args.py:294 and 347",
)
def swift_fsdp_conflict() -> None:
    """FSDP is incompatible with DeepSpeed, and with `save_only_model` as long as the state dict is sharded."""


@check_of(
    "SWF015",
    (f"{BASE} --packing true\n", f"{BASE} --padding_free true --attn_impl sdpa\n"),
    f"{BASE} --packing true --attn_impl flash_attn\n",
    source="ms-swift 4.6.0 arguments/sft_args.py:187-200",
)
def flash_attention_required() -> None:
    """`packing` and `padding_free` need a flash attention implementation, named by `--attn_impl`."""


@check_of(
    "SWF016",
    (f"{BASE} --quant_method bnb\n", f"{BASE} --quant_method bnb --quant_bits 3\n", f"{BASE} --quant_method quanto --quant_bits 3\n"),
    f"{BASE} --quant_method bnb --quant_bits 4\n",
    source="ms-swift 4.6.0 arguments/base_args/quant_args.py:46-100",
)
def invalid_quantization() -> None:
    """The method of quantization needs a number of bits, and supports only some."""


@check_of(
    "SWF017",
    (
        f"{BASE} --warmup_ratio 0.05 --warmup_steps 10\n",
        f"{BASE} --lazy_tokenize true --packing true --attn_impl flash_attn\n",
        f"{BASE} --streaming true\n",
    ),
    f"{BASE} --warmup_ratio 0.05\n",
    source="ms-swift 4.6.0 trainers/arguments.py:226-240, arguments/base_args/base_args.py:166-170; transformers 5.19.0 trainer.py:730",
)
def swift_arguments_conflict() -> None:
    """Two arguments exclude each other, or one needs another: warm-up given twice, streaming without `max_steps`."""


@check_of(
    "SWF018",
    (
        f"{GRPO} --truncation_strategy right\n",
        f"{GRPO} --cached_dataset folder\n",
        f"{GRPO} --reward_funcs soft_overlong\n",
        f"{RLHF} --rlhf_type kto --loss_type kto apo\n",
        f"{RLHF} --rlhf_type kto --sequence_parallel_size 2\n",
        f"{RLHF} --rlhf_type orpo --padding_free true --attn_impl flash_attn\n",
        f"{RLHF} --rlhf_type gkd --teacher_model org/teacher --seq_kd true\n",
        f"{RLHF} --rlhf_type dpo --ref_model org/model\n",
        f"{GRPO} --use_liger_kernel true --log_entropy true\n",
        f"{GRPO} --use_liger_kernel true --advantage_estimator rloo\n",
        f"{RLHF} --rlhf_type gkd --teacher_model org/teacher --teacher_model_server http://host:8000 --gkd_logits_topk 8\n",
        f"{RLHF} --rlhf_type gkd --teacher_model org/teacher --gkd_logits_topk 0\n",
        Example(f"{RLHF} --rlhf_type gkd --teacher_model org/teacher --multi_turn_scheduler name\n", facts=OLDER),
    ),
    f"{RLHF} --rlhf_type dpo --tuner_type full --ref_model org/model\n",
    source="ms-swift 4.6.0 arguments/rlhf_args.py:299, 323-365, 405-417, 545-569, 715-730, 749-773",
)
def preference_training_refuses() -> None:
    """The kind of preference training does not support an argument."""


@check_of(
    "SWF019",
    (
        f"{GRPO} --use_vllm true\n",
        f"{GRPO} --vllm_mode colocate\n",
        f"{GRPO} --use_vllm true --vllm_mode server\n",
        f"{GRPO} --use_vllm true --vllm_mode colocate --async_generate true\n",
    ),
    f"{GRPO} --use_vllm true --vllm_mode colocate\n",
    source="ms-swift 4.6.0 arguments/rlhf_args.py:445-462",
)
def vllm_mode() -> None:
    """`use_vllm` and `vllm_mode` need each other, and `server` needs the address of a server.

    Lines for 3.0 to 3.10 have `--use_vllm true` alone.
    """


@check_of(
    "SWF020",
    (
        f"NPROC_PER_NODE=4 {GRPO} --num_generations 6\n",
        f"NPROC_PER_NODE=4 {GRPO} --num_generations 4 --generation_batch_size 6\n",
        f"NPROC_PER_NODE=4 {GRPO} --num_generations 4 --generation_batch_size 8 --steps_per_generation 4\n",
        f"NPROC_PER_NODE=4 {GRPO} --num_generations 1\n",
        f"NPROC_PER_NODE=4 {GRPO} --per_device_train_batch_size 2 --per_device_eval_batch_size 3 --split_dataset_ratio 0.1\n",
        f"NPROC_PER_NODE=8 {GRPO} --num_generations 8 --steps_per_generation 0\n",
        Example(f"NPROC_PER_NODE=4 {GRPO} --num_generations 6\n", facts=OLDER),
        Example(f"NPROC_PER_NODE=4 {GRPO} --num_generations 1\n", facts=OLDER),
        Example(f"NPROC_PER_NODE=4 {GRPO} --num_generations 4 --generation_batch_size 8 --steps_per_generation 2\n", facts=OLDER),
    ),
    f"NPROC_PER_NODE=8 {GRPO} --num_generations 8\n",
    source="ms-swift 4.6.0 rlhf_trainers/args_mixin.py:193-245, arguments/rlhf_args.py:410; trl 0.24.0 trainer/grpo_config.py:640-690",
)
def indivisible_generations() -> None:
    """The completions of a generation are not a multiple of those per prompt, or of the samples of all processes.

    A generation has micro batch x processes x `steps_per_generation` completions; without that argument the accumulation counts, which
    is 1 for GRPO if it is not set. With an evaluation set the evaluation batch of all processes counts too, which is 1 x processes by
    default.
    """


@check_of(
    "SWF021",
    (
        f"{BASE} --model_type qwen3-8b\n",
        f"{BASE} --template qwen-7b\n",
        f"{BASE} --tuner_type qlora\n",
        f"{BASE} --loss_type listwise_generative_reranker\n",
        f"{RLHF} --rlhf_type dpo --callbacks name\n",
    ),
    f"{BASE} --model_type qwen3\n",
    source="ms-swift 4.6.0 model/model_meta.py:238, template/register.py:50, pipelines/train/tuner.py:350, trainers/mixin.py:90, "
    "161, 1111, 1115",
)
def unregistered_name() -> None:
    """The package does not register this name of a model type, template, tuner, loss, optimizer, callback or metric.

    A plugin (`--external_plugins`) might.

    QLoRA is `--tuner_type lora` with `--quant_method bnb --quant_bits 4`.
    """


@check_of(
    "SWF022",
    (f"{BASE} --warmup_ratio 5\n", f"{BASE} --task_type seq_cls\n", f"{BASE} --rope_scaling ntk\n", f"{BASE} --rope_scaling yarn\n"),
    f"{BASE} --rope_scaling yarn --max_model_len 65536\n",
    source="ms-swift 4.6.0 trainers/arguments.py:233, model/model_meta.py:319, arguments/base_args/model_args.py:144-179",
)
def swift_value_out_of_range() -> None:
    """A value is outside the range that ms-swift accepts, or missing."""
