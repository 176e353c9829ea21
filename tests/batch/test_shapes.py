"""The counts are those published with the weights (the totals of each checkpoint's safetensors index, or of its paper)."""

from __future__ import annotations

from cases import each_case
from cfglint.batch.shapes import ENDINGS, HIDDEN_SIZES, MODELS, SAME, config_of, hidden_size_of, known_name, shape_of, spellings

PUBLISHED = {
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "codellama-7b": 6_738_546_688,
    "codellama-13b": 13_016_028_160,
    "codellama-34b": 33_743_970_304,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "tinyllama-1.1b": 1_100_048_384,
    "smollm2-135m": 134_515_008,
    "smollm2-360m": 361_821_120,
    "smollm2-1.7b": 1_711_376_384,
    "yi-6b": 6_061_035_520,
    "yi-1.5-9b": 8_829_407_232,
    "yi-34b": 34_388_917_248,
    "deepseek-coder-1.3b": 1_346_471_936,
    "deepseek-coder-6.7b": 6_740_512_768,
    "deepseek-coder-33b": 33_342_991_360,
    "mistral-7b-v0.1": 7_241_732_096,
    "mistral-7b-v0.3": 7_248_023_552,
    "mistral-nemo-12b": 12_247_782_400,
    "mistral-small-24b": 23_572_403_200,
    "mixtral-8x7b": 46_702_792_704,
    "mixtral-8x22b": 140_630_071_296,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-0.6b": 596_049_920,
    "qwen3-1.7b": 1_720_574_976,
    "qwen3-4b": 4_022_468_096,
    "qwen3-8b": 8_190_735_360,
    "qwen3-14b": 14_768_307_200,
    "qwen3-32b": 32_762_123_264,
    "gemma-2b": 2_506_172_416,
    "gemma-7b": 8_537_680_896,
    "gemma-2-2b": 2_614_341_888,
    "gemma-2-9b": 9_241_705_984,
    "gemma-2-27b": 27_227_128_320,
    "phi-1.5": 1_418_270_720,
    "phi-2": 2_779_683_840,
    "phi-3-mini": 3_821_079_552,
    "phi-3-medium": 13_960_238_080,
    "phi-4": 14_659_507_200,
    "granite-3.1-8b": 8_170_848_256,
    "olmo-1b": 1_176_764_416,
    "olmo-7b": 6_888_095_744,
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
    "pythia-14m": 14_067_712,
    "pythia-31m": 30_494_720,
    "pythia-70m": 70_426_624,
    "pythia-160m": 162_322_944,
    "pythia-410m": 405_334_016,
    "pythia-1b": 1_011_781_632,
    "pythia-1.4b": 1_414_647_808,
    "pythia-2.8b": 2_775_208_960,
    "pythia-6.9b": 6_857_302_016,
    "pythia-12b": 11_846_072_320,
    "neox-20b": 20_554_567_680,
}


@each_case("name", MODELS)
def test_computed_parameters_are_the_published_ones(name: str) -> None:
    assert shape_of(name).parameters == PUBLISHED[name]


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


def test_other_names_lead_to_models_of_the_table() -> None:
    assert set(SAME.values()) <= set(MODELS)
    assert not set(SAME) & set(MODELS)


def test_a_row_is_a_config_that_reads_back_as_the_same_shape() -> None:
    config = config_of("gemma-2-2b")
    assert (config["head_dim"], config["num_key_value_heads"]) == (256, 4)
    assert shape_of("gemma-2-2b").query_width == 8 * 256


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
    assert not [name for name in names for shorter in list(spellings(name, ENDINGS))[1:] if shorter in names]
