"""Shapes of published models that are often fine-tuned, by the name of their checkpoint.

Source: the config.json of each checkpoint; `parameters` is the count that is published with its weights, and a test compares the
computed count with it. Sizes in the order of COLUMNS.
"""

from __future__ import annotations

from functools import cache

from cfglint.batch.memory.shape import of_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.batch.memory.shape import Shape

LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA, GEMMA2 = "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2"
PHI, PHI3, GPT2, NEOX = "phi", "phi3", "gpt2", "gpt_neox"
TIED, UNTIED = True, False
COLUMNS = (
    "model_type",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "vocab_size",
    "tie_word_embeddings",
)
Row = tuple[str, int, int, int, int, int, int, bool]

MODELS: dict[str, Row] = {
    "llama-2-7b": (LLAMA, 4096, 11008, 32, 32, 32, 32000, UNTIED),
    "llama-2-13b": (LLAMA, 5120, 13824, 40, 40, 40, 32000, UNTIED),
    "llama-2-70b": (LLAMA, 8192, 28672, 80, 64, 8, 32000, UNTIED),
    "codellama-7b": (LLAMA, 4096, 11008, 32, 32, 32, 32016, UNTIED),
    "codellama-13b": (LLAMA, 5120, 13824, 40, 40, 40, 32016, UNTIED),
    "codellama-34b": (LLAMA, 8192, 22016, 48, 64, 8, 32000, UNTIED),
    "llama-3-8b": (LLAMA, 4096, 14336, 32, 32, 8, 128256, UNTIED),
    "llama-3-70b": (LLAMA, 8192, 28672, 80, 64, 8, 128256, UNTIED),
    "llama-3.1-405b": (LLAMA, 16384, 53248, 126, 128, 8, 128256, UNTIED),
    "llama-3.2-1b": (LLAMA, 2048, 8192, 16, 32, 8, 128256, TIED),
    "llama-3.2-3b": (LLAMA, 3072, 8192, 28, 24, 8, 128256, TIED),
    "tinyllama-1.1b": (LLAMA, 2048, 5632, 22, 32, 4, 32000, UNTIED),
    "smollm2-135m": (LLAMA, 576, 1536, 30, 9, 3, 49152, TIED),
    "smollm2-360m": (LLAMA, 960, 2560, 32, 15, 5, 49152, TIED),
    "smollm2-1.7b": (LLAMA, 2048, 8192, 24, 32, 32, 49152, TIED),
    "yi-6b": (LLAMA, 4096, 11008, 32, 32, 4, 64000, UNTIED),
    "yi-1.5-9b": (LLAMA, 4096, 11008, 48, 32, 4, 64000, UNTIED),
    "yi-34b": (LLAMA, 7168, 20480, 60, 56, 8, 64000, UNTIED),
    "deepseek-coder-1.3b": (LLAMA, 2048, 5504, 24, 16, 16, 32256, UNTIED),
    "deepseek-coder-6.7b": (LLAMA, 4096, 11008, 32, 32, 32, 32256, UNTIED),
    "deepseek-coder-33b": (LLAMA, 7168, 19200, 62, 56, 8, 32256, UNTIED),
    "mistral-7b-v0.1": (MISTRAL, 4096, 14336, 32, 32, 8, 32000, UNTIED),
    "mistral-7b-v0.3": (MISTRAL, 4096, 14336, 32, 32, 8, 32768, UNTIED),
    "mistral-nemo-12b": (MISTRAL, 5120, 14336, 40, 32, 8, 131072, UNTIED),
    "mistral-small-24b": (MISTRAL, 5120, 32768, 40, 32, 8, 131072, UNTIED),
    "mixtral-8x7b": ("mixtral", 4096, 14336, 32, 32, 8, 32000, UNTIED),
    "mixtral-8x22b": ("mixtral", 6144, 16384, 56, 48, 8, 32768, UNTIED),
    "qwen2.5-0.5b": (QWEN2, 896, 4864, 24, 14, 2, 151936, TIED),
    "qwen2.5-1.5b": (QWEN2, 1536, 8960, 28, 12, 2, 151936, TIED),
    "qwen2.5-3b": (QWEN2, 2048, 11008, 36, 16, 2, 151936, TIED),
    "qwen2.5-7b": (QWEN2, 3584, 18944, 28, 28, 4, 152064, UNTIED),
    "qwen2.5-14b": (QWEN2, 5120, 13824, 48, 40, 8, 152064, UNTIED),
    "qwen2.5-32b": (QWEN2, 5120, 27648, 64, 40, 8, 152064, UNTIED),
    "qwen2.5-72b": (QWEN2, 8192, 29568, 80, 64, 8, 152064, UNTIED),
    "qwen3-0.6b": (QWEN3, 1024, 3072, 28, 16, 8, 151936, TIED),
    "qwen3-1.7b": (QWEN3, 2048, 6144, 28, 16, 8, 151936, TIED),
    "qwen3-4b": (QWEN3, 2560, 9728, 36, 32, 8, 151936, TIED),
    "qwen3-8b": (QWEN3, 4096, 12288, 36, 32, 8, 151936, UNTIED),
    "qwen3-14b": (QWEN3, 5120, 17408, 40, 40, 8, 151936, UNTIED),
    "qwen3-32b": (QWEN3, 5120, 25600, 64, 64, 8, 151936, UNTIED),
    "gemma-2b": (GEMMA, 2048, 16384, 18, 8, 1, 256000, TIED),
    "gemma-7b": (GEMMA, 3072, 24576, 28, 16, 16, 256000, TIED),
    "gemma-2-2b": (GEMMA2, 2304, 9216, 26, 8, 4, 256000, TIED),
    "gemma-2-9b": (GEMMA2, 3584, 14336, 42, 16, 8, 256000, TIED),
    "gemma-2-27b": (GEMMA2, 4608, 36864, 46, 32, 16, 256000, TIED),
    "phi-1.5": (PHI, 2048, 8192, 24, 32, 32, 51200, UNTIED),
    "phi-2": (PHI, 2560, 10240, 32, 32, 32, 51200, UNTIED),
    "phi-3-mini": (PHI3, 3072, 8192, 32, 32, 32, 32064, UNTIED),
    "phi-3-medium": (PHI3, 5120, 17920, 40, 40, 10, 32064, UNTIED),
    "phi-4": (PHI3, 5120, 17920, 40, 40, 10, 100352, UNTIED),
    "granite-3.1-8b": ("granite", 4096, 12800, 40, 32, 8, 49155, TIED),
    "olmo-1b": ("olmo", 2048, 8192, 16, 16, 16, 50304, TIED),
    "olmo-7b": ("olmo", 4096, 11008, 32, 32, 32, 50304, UNTIED),
    "gpt2": (GPT2, 768, 3072, 12, 12, 12, 50257, TIED),
    "gpt2-medium": (GPT2, 1024, 4096, 24, 16, 16, 50257, TIED),
    "gpt2-large": (GPT2, 1280, 5120, 36, 20, 20, 50257, TIED),
    "gpt2-xl": (GPT2, 1600, 6400, 48, 25, 25, 50257, TIED),
    "pythia-14m": (NEOX, 128, 512, 6, 4, 4, 50304, UNTIED),
    "pythia-31m": (NEOX, 256, 1024, 6, 8, 8, 50304, UNTIED),
    "pythia-70m": (NEOX, 512, 2048, 6, 8, 8, 50304, UNTIED),
    "pythia-160m": (NEOX, 768, 3072, 12, 12, 12, 50304, UNTIED),
    "pythia-410m": (NEOX, 1024, 4096, 24, 16, 16, 50304, UNTIED),
    "pythia-1b": (NEOX, 2048, 8192, 16, 8, 8, 50304, UNTIED),
    "pythia-1.4b": (NEOX, 2048, 8192, 24, 16, 16, 50304, UNTIED),
    "pythia-2.8b": (NEOX, 2560, 10240, 32, 32, 32, 50304, UNTIED),
    "pythia-6.9b": (NEOX, 4096, 16384, 32, 32, 32, 50432, UNTIED),
    "pythia-12b": (NEOX, 5120, 20480, 36, 40, 40, 50688, UNTIED),
    "neox-20b": (NEOX, 6144, 24576, 44, 64, 64, 50432, UNTIED),
}
# Models whose head width is not hidden size / heads, and models with experts.
HEAD_DIM = {"mistral-nemo-12b": 128, "mistral-small-24b": 128, "gemma-2b": 256, "gemma-7b": 256, "gemma-2-2b": 256, "gemma-2-9b": 256} | {
    "gemma-2-27b": 128
}
QWEN3_HEAD_DIM = 128
EXPERTS, EXPERTS_PER_TOKEN = 8, 2


def config_of(name: str) -> dict[str, Any]:
    """The sizes of a published model under the names of its config.json; KeyError for one that is not in the table."""
    row = MODELS[name]
    config: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
    if name in HEAD_DIM or row[0] == QWEN3:
        config["head_dim"] = HEAD_DIM.get(name, QWEN3_HEAD_DIM)
    if row[0] == "mixtral":
        config.update(num_local_experts=EXPERTS, num_experts_per_tok=EXPERTS_PER_TOKEN)
    return config


def shape_of(name: str) -> Shape:
    """The shape of a published model."""
    return of_config(config_of(name))


# Models with the same shape, and alternative names of checkpoints.
SAME = {
    "llama-3.1-8b": "llama-3-8b",
    "llama-3.1-70b": "llama-3-70b",
    "llama-3.3-70b": "llama-3-70b",
    "deepseek-r1-distill-llama-8b": "llama-3-8b",
    "deepseek-r1-distill-llama-70b": "llama-3-70b",
    "deepseek-r1-distill-qwen-14b": "qwen2.5-14b",
    "deepseek-r1-distill-qwen-32b": "qwen2.5-32b",
    "zephyr-7b-beta": "mistral-7b-v0.1",
    "mistral-7b-v0.2": "mistral-7b-v0.1",
    "mistral-7b": "mistral-7b-v0.1",
    "vicuna-7b-v1.5": "llama-2-7b",
    "vicuna-13b-v1.5": "llama-2-13b",
    "phi-3-mini-4k": "phi-3-mini",
    "phi-3-mini-128k": "phi-3-mini",
    "phi-3.5-mini": "phi-3-mini",
    "phi-3-medium-4k": "phi-3-medium",
    "phi-3-medium-128k": "phi-3-medium",
    "phi-1_5": "phi-1.5",
    "gpt-neox-20b": "neox-20b",
    "mistral-nemo": "mistral-nemo-12b",
    "mixtral-8x7b-v0.1": "mixtral-8x7b",
    "yi-1.5-6b": "yi-6b",
    "yi-1.5-34b": "yi-34b",
    "tinyllama-1.1b-chat-v1.0": "tinyllama-1.1b",
    "gpt2-small": "gpt2",
}
# Published models of other architectures, by the hidden size of their config.json (`d_model` or `n_embd` in some).
HIDDEN_SIZES: dict[int, str] = {
    512: "t5-small flan-t5-small mt5-small whisper-base",
    768: "bert-base-uncased bert-base-cased roberta-base deberta-v3-base t5-base flan-t5-base mt5-base whisper-small opt-125m gpt-neo-125m",
    896: "qwen2-0.5b llava-onevision-qwen2-0.5b-ov llava-onevision-qwen2-0.5b-si",
    1024: "bert-large-uncased roberta-large deberta-v3-large t5-large flan-t5-large mt5-large whisper-medium opt-350m bloom-560m"
    " qwen1.5-0.5b",
    1280: "whisper-large whisper-large-v2 whisper-large-v3",
    1536: "qwen2-1.5b qwen2-vl-2b bloom-1b1 deepseek-r1-distill-qwen-1.5b",
    2048: "opt-1.3b bloom-1b7 gpt-neo-1.3b qwen-1_8b qwen1.5-1.8b qwen2.5-vl-3b internlm2-1_8b flan-t5-xl mt5-xl deepseek-moe-16b"
    " deepseek-v2-lite deepseek-coder-v2-lite qwen3-30b-a3b",
    2304: "minicpm-2b-sft-bf16 minicpm-v-2",
    2560: "opt-2.7b bloom-3b gpt-neo-2.7b qwen1.5-4b",
    3072: "starcoder2-3b",
    3584: "qwen2-7b qwen2-vl-7b qwen2.5-vl-7b minicpm-v-2_6 minicpm-o-2_6 deepseek-r1-distill-qwen-7b"
    " llava-onevision-qwen2-7b-ov llava-onevision-qwen2-7b-si",
    4096: "llama-7b vicuna-7b-v1.1 vicuna-7b-v1.3 alpaca-7b chatglm-6b chatglm2-6b chatglm3-6b glm-4-9b qwen-7b qwen1.5-7b baichuan-7b"
    " baichuan2-7b internlm-7b internlm2-7b internlm2_5-7b deepseek-llm-7b opt-6.7b bloom-7b1 gpt-j-6b starcoderbase-7b openchat_3.5"
    " solar-10.7b-v1.0 minicpm-llama3-v-2_5 llava-v1.5-7b llava-v1.6-vicuna-7b llava-v1.6-mistral-7b t5-v1_1-xxl flan-t5-xxl mt5-xxl",
    4544: "falcon-7b",
    4608: "starcoder2-7b",
    5120: "llama-13b vicuna-13b-v1.1 vicuna-13b-v1.3 baichuan-13b baichuan2-13b qwen-14b qwen1.5-14b qwen1.5-32b qwq-32b qwen2.5-vl-32b"
    " opt-13b internlm-20b llava-v1.5-13b llava-v1.6-vicuna-13b deepseek-v2",
    6144: "starcoder starcoderbase starcoder2-15b internlm2-20b internlm2_5-20b",
    6656: "llama-30b llama-33b vicuna-33b-v1.3",
    7168: "opt-30b deepseek-v3 deepseek-r1",
    8192: "llama-65b falcon-40b qwen-72b qwen1.5-72b qwen2-72b qwen2-vl-72b qwen2.5-vl-72b deepseek-llm-67b"
    " llava-onevision-qwen2-72b-ov llava-onevision-qwen2-72b-si",
    9216: "opt-66b",
    14336: "bloom bloomz",
}
VARIANTS = ("-hf", "-instruct", "-base", "-chat", "-it", "-python", "-deduped", "-2407", "-2501", "-v0.1", "-v0.2", "-v0.3")
ENDINGS = (*VARIANTS, "-sft", "-int4", "-awq", "-1m", "-32k", "-16k", "-si")


def known_name(text: str) -> str | None:
    """The name in the table for a model name in common spelling: `meta-llama/Llama-3.1-8B-Instruct` is llama-3-8b; None for another
    model.
    """
    for name in spellings(text, VARIANTS):
        if SAME.get(name, name) in MODELS:
            return SAME.get(name, name)
    return None


def hidden_size_of(text: str) -> int | None:
    """The hidden size of a published model, whose name may have any common spelling; None for another model."""
    name = known_name(text)
    if name is not None:
        return MODELS[name][1]
    sizes = hidden_sizes()
    return next((sizes[name] for name in spellings(text, ENDINGS) if name in sizes), None)


@cache
def hidden_sizes() -> dict[str, int]:
    """The hidden sizes by the names of the models."""
    return {each: size for size, names in HIDDEN_SIZES.items() for each in names.split()}


def spellings(text: str, endings: tuple[str, ...]) -> Iterator[str]:
    """The name of a checkpoint without its organisation, then also without each of its endings."""
    name = text.rstrip("/").rpartition("/")[2].lower().removeprefix("meta-")
    while True:
        yield name
        ending = next((each for each in endings if name.endswith(each)), None)
        if ending is None:
            return
        name = name.removesuffix(ending)
