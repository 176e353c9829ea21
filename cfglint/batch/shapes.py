"""Shapes of published models that are often fine-tuned, by the name of their checkpoint.

The rows are in the generated module `_shapes`, which is imported only where a shape is asked for.
"""

from __future__ import annotations

from functools import cache

from cfglint.batch._shapes import MODELS, MORE, SAME
from cfglint.batch.memory.shape import Shape, of_config
from cfglint.source.annotations import ConfigTable, Iterator
from cfglint.source.record import Record

COLUMNS = tuple(
    """
    model_type hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads vocab_size
    tie_word_embeddings
    """.split()
)
SWITCHES = frozenset(("bias", "multi_query", "use_qkv_bias"))  # written as 1
# Published models whose complete shape is not in the table, by the hidden size of their config.json (`d_model` or `n_embd` in some).
HIDDEN_SIZES: dict[int, str] = {
    1024: "opt-350m",
    2304: "minicpm-v-2",
    4096: "minicpm-llama3-v-2_5 llava-v1.6-mistral-7b mt5-xxl",
}
VARIANTS = ("-hf", "-instruct", "-base", "-chat", "-it", "-pt", "-python", "-deduped", "-thinking", "-v0.1", "-v0.2", "-v0.3")
DATES = ("-2407", "-2409", "-2410", "-2411", "-2501", "-2503", "-2507")
LENGTHS = ("-1m", "-32k", "-16k", "-8k")
QUANTISED = ("-unsloth-bnb-4bit", "-bnb-4bit", "-int4", "-int8", "-gptq", "-gptq-int4", "-gptq-int8", "-awq", "-4bit", "-8bit")
ENDINGS = (*VARIANTS, *DATES, *LENGTHS, *QUANTISED, "-si")
# Organisations that publish models under their own names, or copies of others' that they did not change.
PUBLISHERS = frozenset(
    (
        *("01-ai", "ai-modelscope", "allenai", "baai", "baichuan-inc", "bigcode", "bigscience", "codellama", "databricks", "deepseek-ai"),
        *("eleutherai", "facebook", "facebookai", "google", "google-bert", "google-t5", "huggingfaceh4", "huggingfacetb", "huggyllama"),
        *("ibm-granite", "internlm", "llava-hf", "liuhaotian", "llm-research", "lmms-lab", "lmsys", "meta-llama", "microsoft", "mistralai"),
        *("mosaicml", "nousresearch", "open-r1", "openai", "openai-community", "opengvlab", "openbmb", "openlm-research", "princeton-nlp"),
        *("qwen", "shanghai_ai_laboratory", "stabilityai", "thudm", "tiiuae", "tinyllama", "togethercomputer", "unsloth", "upstage"),
        *("zai-org", "zhipuai"),
    )
)


class Published(Record):
    """A published model that a checkpoint's name leads to: its name in the table, whether the checkpoint is quantised, and whether only the
    folder's name or an unknown organisation says so.
    """

    name: str
    quantised: bool
    assumed: bool


@cache
def table_names() -> dict[str, str]:
    """The names of the table, and the checkpoints of the same shape, with the name of their row."""
    return {name: name for name in MODELS} | SAME


def config_of(name: str) -> ConfigTable:
    """The sizes of a published model under the names of its config.json; KeyError for one that is not in the table."""
    config: ConfigTable = {**dict(zip(COLUMNS, MODELS[name], strict=True)), **MORE.get(name, {})}
    return {key: value == 1 if key in SWITCHES else value for key, value in config.items()}


def shape_of(name: str) -> Shape:
    return of_config(config_of(name))


def known_name(text: str) -> str | None:
    """The table's name for a model name: `meta-llama/Llama-3.1-8B-Instruct` is llama-3-8b, `Qwen2_5-7B` qwen2.5-7b; None for another."""
    return row_of(text) or row_of(text.replace("_", "."))


def row_of(text: str) -> str | None:
    """The name in the table for a spelling of a model name."""
    names = table_names()
    return next((names[name] for name in spellings(text) if name in names), None)


def published(text: str) -> Published | None:
    """The published model that the checkpoint of a run is, by its name; None for another one."""
    name = known_name(text)
    if name is None:
        return None
    owner, _, rest = text.strip().rpartition("/")
    return Published(name, rest.lower().endswith(QUANTISED), (bool(owner) and owner.lower() not in PUBLISHERS) or row_of(text) is None)


def hidden_size_of(text: str) -> int | None:
    """The hidden size of a published model, whose name may have any common spelling; None for another model."""
    name = known_name(text)
    if name is not None:
        return shape_of(name).hidden
    sizes = {model: size for size, names in HIDDEN_SIZES.items() for model in names.split()}
    return next((sizes[name] for name in spellings(text) if name in sizes), None)


def spellings(text: str) -> Iterator[str]:
    """The name of a checkpoint without its organisation, then also without each of its endings."""
    name = text.rstrip("/").rpartition("/")[2].lower().removeprefix("meta-")
    name = name.rpartition("--")[2] if name.startswith("models--") else name  # a folder of the Hub's cache
    while True:
        yield name
        ending = max((each for each in ENDINGS if name.endswith(each)), key=len, default=None)
        if ending is None:
            return
        name = name.removesuffix(ending)
