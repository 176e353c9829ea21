"""The fields of `LoraConfig`, PEFT's own targets by model type, and the releases of its checks, from the wheels of 0.5.0 to 0.21.2."""

from __future__ import annotations

from cfglint.frameworks.releases.versions import Version

NEWEST = "0.21.2"
RELEASES = (*"0.5.0 0.6.2 0.7.1 0.8.2 0.9.0 0.10.0 0.11.1 0.12.0 0.13.2 0.14.0 0.15.2 0.16.0 0.17.1 0.18.1 0.19.1 0.20.0".split(), NEWEST)
FIRST = "r target_modules lora_alpha lora_dropout fan_in_fan_out bias modules_to_save init_lora_weights layers_to_transform layers_pattern"
ADDED = {  # the fields by the release that added them
    (0,): f"{FIRST} task_type auto_mapping base_model_name_or_path revision inference_mode peft_type",
    (0, 6): "rank_pattern alpha_pattern",
    (0, 7): "loftq_config megatron_core megatron_config",
    (0, 8): "use_rslora",
    (0, 9): "use_dora",
    (0, 10): "layer_replication",
    (0, 12): "runtime_config",
    (0, 14): "exclude_modules eva_config lora_bias",
    (0, 15): "corda_config trainable_token_indices",
    (0, 16): "use_qalora qalora_group_size",
    (0, 17): "target_parameters",
    (0, 18): "alora_invocation_tokens arrow_config peft_version ensure_weight_tying",
    (0, 19): "lora_ga_config use_bdlora",
    (0, 20): "velora_config monteclora_config",
    (0, 21): "kasa_config",
}
FIELDS: dict[str, Version] = {name: release for release, names in ADDED.items() for name in names.split()}
# Model type -> PEFT's own targets, and the release that added them (utils/constants.py).
DEFAULTS: dict[str, tuple[str | tuple[str, ...], Version]] = {
    **dict.fromkeys(("t5", "mt5"), (("q", "v"), (0,))),
    **dict.fromkeys(("bart", "opt", "gptj", "gpt_neo", "llama"), (("q_proj", "v_proj"), (0,))),
    **dict.fromkeys(("gpt2", "gpt_bigcode"), (("c_attn",), (0,))),
    **dict.fromkeys(("bloom", "gpt_neox", "chatglm", "RefinedWebModel", "RefinedWeb", "falcon"), (("query_key_value",), (0,))),
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "electra", "layoutlm"), (("query", "value"), (0,))),
    "blip-2": (("q", "v", "q_proj", "v_proj"), (0,)),
    "deberta-v2": (("query_proj", "value_proj"), (0,)),
    "deberta": (("in_proj",), (0,)),
    "mpt": (("Wqkv",), (0,)),
    "btlm": (("c_proj", "c_attn"), (0,)),
    "codegen": (("qkv_proj",), (0,)),
    **dict.fromkeys(("mistral", "stablelm"), (("q_proj", "v_proj"), (0, 6))),
    "mixtral": (("q_proj", "v_proj"), (0, 8)),
    "phi": (("q_proj", "v_proj", "fc1", "fc2"), (0, 8)),
    "gemma": (("q_proj", "v_proj"), (0, 9)),
    "qwen2": (("q_proj", "v_proj"), (0, 12)),
    "gemma2": (("q_proj", "v_proj"), (0, 13)),
    **dict.fromkeys(("llama4", "gemma3_text", "qwen3"), (("q_proj", "v_proj"), (0, 16))),
    "rwkv": (("key", "value", "receptance", "output"), (0, 18)),
    "rwkv7": (("r_proj", "k_proj", "v_proj", "o_proj", "key", "value"), (0, 18)),
    "gemma4": (r".*language_model\..*\.(q_proj|v_proj)", (0, 19)),
    "nemotron_h": (("q_proj", "k_proj", "v_proj", "o_proj"), (0, 20)),
}
TASKS = ("SEQ_CLS", "SEQ_2_SEQ_LM", "CAUSAL_LM", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION")
BIASES = ("none", "all", "lora_only")
INITIALIZATIONS = {  # value of `init_lora_weights` -> the release that added it
    "gaussian": (0, 5), "loftq": (0, 7), "pissa": (0, 11), "olora": (0, 12), "eva": (0, 14), "corda": (0, 15), "orthogonal": (0, 16),
    "lora_ga": (0, 19), "mica": (0, 20),
}  # fmt: skip
PISSA = "pissa_niter_"  # with the number of iterations
ALL_LINEAR_SINCE: Version = (0, 8)
CHECKS_TASK: Version = (0, 14)
CHECKS_PATTERN: Version = (0, 14)
CHECKS_MAMBA: Version = (0, 16)
HAS_PARAMETERS: Version = (0, 17)
CONVERTS_EXPERTS: Version = (0, 19)  # with transformers 5: targets that became parameters of the experts
RESOLVES_STRINGS: Version = (0, 20)  # a pattern or `all-linear` is resolved before that
TAKES_LETTERS: Version = (0, 18)  # a string in the place of the list of `modules_to_save` counts as the list of its letters
MAMBA_TYPES = ("falcon_h1", "mamba", "mamba2", "falcon_mamba", "nemotron_h")
MAMBA_MODULES = ("out_proj", "conv1d")
# Experts that transformers 5 stores as parameters: model type -> the former name of each -> the parameter.
QWEN = {"gate": "gate.weight", "gate_proj": "gate_up_proj", "up_proj": "gate_up_proj", "down_proj": "down_proj"}
MIXTRAL = {"gate": "gate.weight", "w1": "gate_up_proj", "w3": "gate_up_proj", "w2": "down_proj"}
CONVERTED: dict[str, dict[str, str]] = {
    **dict.fromkeys(("mixtral", "minimax", "minimax_m2"), MIXTRAL),
    **dict.fromkeys(
        (
            *("afmoe", "deepseek_v2", "deepseek_v3", "deepseek_v32", "dots1", "ernie4_5_moe", "glm4_moe", "glm4_moe_lite", "glm_moe_dsa"),
            *("glm4v_moe", "longcat_flash", "solar_open", "mellum", "qwen3_moe", "qwen3_omni_moe", "qwen3_omni_moe_thinker"),
            *("qwen3_omni_moe_text", "qwen3_next", "hunyuan_v1_moe", "flex_olmo", "olmoe", "sarvam_mla", "exaone_moe", "cohere2_moe"),
        ),
        QWEN,
    ),
}
FUSED = "gate_up_proj"
