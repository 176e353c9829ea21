"""The table of published shapes, and the names that lead to it; tools/shapes.txt has the published numbers of parameters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cases import each_case
from cfglint.batch._shapes import MODELS
from cfglint.batch.memory.shape import ARCHITECTURES, of_config
from cfglint.batch.shapes import HIDDEN_SIZES, Published, config_of, hidden_size_of, known_name, published, shape_of, spellings

ROOT = Path(__file__).parents[2]


@each_case("name", MODELS)
def test_every_row_describes_a_model(name: str) -> None:
    found = shape_of(name)
    assert found.parameters > 10_000_000
    assert found.model_type in ARCHITECTURES


def test_computed_parameters_are_the_published_ones() -> None:
    done = subprocess.run([sys.executable, "tools/rebuild_shapes.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@each_case(
    ("written", "name"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3-8b"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
        ("NousResearch/Llama-2-70b-hf", "llama-2-70b"),
        ("Qwen/Qwen2.5-0.5B-Instruct", "qwen2.5-0.5b"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
        ("mistralai/Mistral-7B-v0.1", "mistral-7b-v0.1"),
        ("google/gemma-2-2b-it", "gemma-2-2b"),
        ("EleutherAI/gpt-neox-20b", "neox-20b"),
        ("EleutherAI/pythia-1.4b-deduped", "pythia-1.4b"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama-3-8b"),
        ("microsoft/Phi-3-mini-4k-instruct", "phi-3-mini"),
        ("HuggingFaceTB/SmolLM2-135M", "smollm2-135m"),
        ("someone/llama-finetuned", None),
        ("", None),
    ],
)
def test_a_checkpoint_is_known_by_the_name_that_people_write(written: str, name: str | None) -> None:
    assert known_name(written) == name


@each_case(
    ("written", "name", "quantised", "assumed"),
    [
        ("Qwen/Qwen2.5-Coder-7B-Instruct", "qwen2.5-7b", False, False),
        ("gpt2", "gpt2", False, False),
        ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "llama-3-8b", True, False),
        ("unsloth/Qwen3-14B-unsloth-bnb-4bit", "qwen3-14b", True, False),
        ("Qwen/Qwen2-7B-Instruct-GPTQ-Int4", "qwen2.5-7b", True, False),
        ("/data/models/Llama-2-7b-hf", "llama-2-7b", False, True),
        ("./checkpoints/vicuna-7b-v1.5", "llama-2-7b", False, True),
        ("someone/Mistral-7B-v0.1", "mistral-7b-v0.1", False, True),
        ("/cache/models--Qwen--Qwen2.5-VL-3B-Instruct", "qwen2.5-vl-3b", False, True),
    ],
)
def test_the_model_of_a_run_is_known_by_its_name(written: str, name: str, quantised: bool, assumed: bool) -> None:
    assert published(written) == Published(name, quantised, assumed)


PUBLISHED = """
    01-ai/Yi-6B AI-ModelScope/gpt2 allenai/OLMo-1B-hf BAAI/bge-m3 baichuan-inc/Baichuan2-7B-Base bigcode/starcoder2-3b
    bigscience/bloom-560m codellama/CodeLlama-7b-hf databricks/dolly-v2-3b deepseek-ai/deepseek-llm-7b-base EleutherAI/pythia-1b
    facebook/opt-125m FacebookAI/roberta-base google/gemma-2b google-bert/bert-base-uncased google-t5/t5-small
    HuggingFaceH4/zephyr-7b-beta HuggingFaceTB/SmolLM2-135M huggyllama/llama-7b ibm-granite/granite-3.0-2b-instruct
    internlm/internlm2-7b llava-hf/llava-1.5-7b-hf liuhaotian/llava-v1.5-7b LLM-Research/Meta-Llama-3-8B
    lmms-lab/llava-onevision-qwen2-7b lmsys/vicuna-7b-v1.5 meta-llama/Llama-3.1-8B microsoft/phi-2 mistralai/Mistral-7B-v0.1
    mosaicml/mpt-7b NousResearch/Llama-2-7b-hf openai/whisper-small openai-community/gpt2 OpenGVLab/InternVL3-8B
    openbmb/MiniCPM-2B-sft-bf16 openlm-research/open_llama_7b princeton-nlp/Sheared-LLaMA-1.3B Qwen/Qwen2.5-7B
    Shanghai_AI_Laboratory/internlm2-7b stabilityai/stablelm-3b-4e1t THUDM/glm-4-9b-chat tiiuae/falcon-7b
    TinyLlama/TinyLlama-1.1B-Chat-v1.0 togethercomputer/LLaMA-2-7B-32K unsloth/Llama-3.2-1B upstage/SOLAR-10.7B-v1.0
    zai-org/chatglm3-6b ZhipuAI/glm-4-9b-chat
"""


@each_case("written", PUBLISHED.split())
def test_the_shape_of_a_checkpoint_is_not_an_assumption_under_the_name_of_its_publisher(written: str) -> None:
    found = published(written)
    assert found is not None
    assert not found.assumed


@each_case("written", ["someone/llama-3-8b-finetuned", "out/checkpoint-500", "Qwen/Qwen9-7B", "/data/models", "llama"])
def test_other_names_are_not_known(written: str) -> None:
    assert published(written) is None


def test_a_row_is_a_config_that_reads_back_as_the_same_shape() -> None:
    config = config_of("gemma-2-2b")
    assert (config["head_dim"], config["num_key_value_heads"]) == (256, 4)
    assert shape_of("gemma-2-2b").query_width == 8 * 256


@each_case("model_type", ["falcon", "bloom", "gpt_bigcode", "gptj", "gpt_neo", "mpt", "gpt2"])
def test_a_feed_forward_part_whose_width_config_json_does_not_have_is_four_times_as_wide(model_type: str) -> None:
    config = {"model_type": model_type, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100}
    assert of_config(config).intermediate == 256


@each_case(
    ("written", "size"),
    [
        ("meta-llama/Llama-2-13b-chat-hf", 5120),
        ("openbmb/MiniCPM-o-2_6", 3584),
        ("models/chatglm3-6b-base/", 4096),
        ("lmms-lab/llava-onevision-qwen2-72b-ov-si", 8192),
        ("bigscience/bloom", 14336),
        ("someone/llama-finetuned", None),
    ],
)
def test_the_hidden_size_of_a_checkpoint(written: str, size: int | None) -> None:
    assert hidden_size_of(written) == size


def test_a_hidden_size_is_written_once() -> None:
    names = [name for line in HIDDEN_SIZES.values() for name in line.split()]
    assert len(names) == len(set(names))
    assert not [name for name in names if known_name(name)]
    assert not [name for name in names for shorter in list(spellings(name))[1:] if shorter in names]
