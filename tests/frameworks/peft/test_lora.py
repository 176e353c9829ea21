"""What PEFT does with an adapter: which modules it is put on, what it refuses, release by release."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.evaluate import Reason, Unknown
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.peft import lora, quantization
from cfglint.frameworks.peft.adapters import Place, outcome
from cfglint.frameworks.peft.modules import modules_of
from cfglint.frameworks.refusal import Refusal

NEW, OLD = (5, 24, 0), (4, 57, 1)
PEFT = (0, 21, 2)
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 3}
PHI3 = {"model_type": "phi3", "architectures": ["Phi3ForCausalLM"], "num_hidden_layers": 2}
QWEN3_MOE = {
    "model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "num_hidden_layers": 2, "num_experts": 4, "decoder_sparse_step": 1,
    "mlp_only_layers": [],
}  # fmt: skip
DEEPSEEK = {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "num_hidden_layers": 3, "first_k_dense_replace": 1}
HYBRID = {
    "model_type": "qwen3_next", "architectures": ["Qwen3NextForCausalLM"], "num_hidden_layers": 4,
    "layer_types": ["linear_attention"] * 3 + ["full_attention"],
}  # fmt: skip
SEVEN = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def attach(config, values, peft=PEFT, transformers=NEW):
    lora.checked(values, peft)
    return lora.attached(values, modules_of(config, transformers), peft, transformers)


@each_case(
    ("config", "values", "peft", "number"),
    [
        (LLAMA, {"target_modules": ["q_proj", "v_proj"]}, PEFT, 6),
        (LLAMA, {}, PEFT, 6),
        (LLAMA, {"target_modules": r".*\.(q_proj|v_proj)"}, PEFT, 6),
        (LLAMA, {"target_modules": ["self_attn.q_proj"]}, PEFT, 3),
        (LLAMA, {"target_modules": ["q_proj"], "layers_to_transform": [0, 2]}, PEFT, 2),
        (LLAMA, {"target_modules": "all-linear"}, PEFT, 21),
        (LLAMA, {"target_modules": ["q_proj", "lm_head"], "modules_to_save": ["lm_head"]}, PEFT, 3),
        (LLAMA, {"target_modules": ["q_proj", "v_proj"], "exclude_modules": r".*\.1\..*"}, PEFT, 4),
        (QWEN3_MOE, {"target_modules": SEVEN, "lora_dropout": 0.05}, (0, 18, 1), 8),
        (HYBRID, {"target_modules": ["q_proj", "in_proj_ba"]}, PEFT, 4),
    ],
)
def test_the_modules_with_an_adapter(config, values, peft, number):
    assert len(attach(config, values, peft).modules) == number


@each_case(
    ("config", "values", "peft", "key", "words"),
    [
        (LLAMA, {"target_modules": ["c_attn"]}, PEFT, "target_modules", "not found in the base model"),
        (LLAMA, {"target_modules": "q_proj"}, PEFT, "target_modules", "Target modules q_proj not found"),
        (LLAMA, {"target_modules": []}, PEFT, "target_modules", "No `target_modules` passed"),
        (LLAMA, {"target_modules": ["mlp"]}, PEFT, "target_modules", "is not supported"),
        (
            LLAMA,
            {"target_modules": ["q_proj"], "layers_to_transform": [7]},
            PEFT,
            "layers_to_transform",
            "You specified 'layers_to_transform'",
        ),
        (LLAMA, {"target_modules": ["q_proj"], "r": 0}, PEFT, "r", "`r` should be a positive integer"),
        (LLAMA, {"target_modules": ["q_proj"], "bias": "yes"}, PEFT, "bias", "NotImplementedError"),
        (LLAMA, {"target_modules": ["q_proj"], "exclude_modules": ["x"]}, (0, 13, 2), "exclude_modules", "unexpected keyword"),
        (LLAMA, {"target_modules": ["q_proj"], "modules_to_save": "lm_head"}, (0, 17, 1), "modules_to_save", "AttributeError"),
        (PHI3, {}, PEFT, "target_modules", "Please specify `target_modules`"),
        (QWEN3_MOE, {"target_modules": SEVEN, "lora_dropout": 0.05}, PEFT, "lora_dropout", "lora_dropout != 0"),
        (QWEN3_MOE, {"target_modules": ["q_proj", "up_proj"]}, PEFT, "target_modules", "Cannot convert PEFT target(s) up_proj"),
        (QWEN3_MOE, {"target_modules": "all-linear"}, (0, 19, 1), "target_modules", "not found"),
    ],
)
def test_what_is_refused(config, values, peft, key, words):
    with pytest.raises(Refusal) as found:
        attach(config, values, peft)
    assert found.value.key == key
    assert words in found.value.exception


def test_entries_that_fit_nothing():
    found = attach(PHI3, {"target_modules": ["q_proj", "o_proj"], "modules_to_save": ["score"]})
    assert (found.without_module, found.without_saved) == (["q_proj"], ["score"])
    assert attach(LLAMA, {"target_modules": ["q_proj"], "modules_to_save": "lm_head"}).trains_all


def test_modules_depend_on_the_config_and_the_release():
    names = modules_of({**DEEPSEEK, "q_lora_rank": None}, NEW).kinds
    assert "model.layers.0.self_attn.q_proj" in names
    assert "model.layers.0.mlp.gate_proj" in names
    assert "model.layers.1.mlp.gate_proj" not in names
    assert "model.layers.0.self_attn.q_a_proj" in modules_of({**DEEPSEEK, "q_lora_rank": 8}, NEW).kinds
    assert "model.layers.0.mlp.experts.0.gate_proj" in modules_of(QWEN3_MOE, OLD).kinds
    assert modules_of({**LLAMA, "auto_map": {}}, NEW) is None
    assert modules_of({"model_type": "unheard_of", "architectures": ["Unheard"]}, NEW) is None


@each_case(
    ("values", "key"),
    [
        ({"load_in_4bit": True, "load_in_8bit": True}, "load_in_8bit"),
        ({"load_in_4bit": "true"}, "load_in_4bit"),
        ({"load_in_4bit": True, "bnb_4bit_compute_dtype": "bf16"}, "bnb_4bit_compute_dtype"),
        ({"load_in_4bit": True, "bnb_4bit_quant_storage": "bf16"}, "bnb_4bit_quant_storage"),
        ({"load_in_4bit": True, "bnb_4bit_quant_type": "int4"}, "bnb_4bit_quant_type"),
    ],
)
def test_what_is_refused_of_quantization(values, key):
    with pytest.raises(Refusal) as found:
        quantization.checked(values)
    assert found.value.key == key


def test_an_adapter_on_a_quantised_model():
    modules = modules_of(LLAMA, NEW)
    quantization.checked({"load_in_4bit": True, "bnb_4bit_compute_dtype": "bfloat16"})
    quantization.attached({"target_modules": ["q_proj"], "modules_to_save": ["lm_head", "embed_tokens"]}, modules)
    with pytest.raises(Refusal):
        quantization.attached({"init_lora_weights": "pissa"}, None)
    with pytest.raises(Refusal):
        quantization.attached({"modules_to_save": ["down_proj"]}, modules)


@each_case(("field", "other"), [("layers_to_transform", {"layers_pattern": "layers"}), ("loftq_config", {"init_lora_weights": "loftq"})])
def test_a_field_of_an_unknown_value_is_not_missing(field, other):
    facts = LaunchFacts(target={"peft": "0.19.1"})
    values = [other, {**other, field: Unknown(Reason("program", "a value that was not followed"))}]
    refusals = [outcome(Place(each, "", "", "train.py", (5, 0)), facts).refused for each in values]
    assert [refusal is not None for refusal in refusals] == [True, False]


def test_a_field_that_no_release_has_is_refused_whatever_its_value():
    values = {"ranks": Unknown(Reason("program", "a value that was not followed"))}
    assert outcome(Place(values, "", "", "train.py", (5, 0)), LaunchFacts(target={"peft": "0.19.1"})).refused.key == "ranks"
