"""Published GPT-NeoX shapes: layers, width, heads, and the settings of their training.

Source: the files under configs/ of EleutherAI/gpt-neox at ea7aefd (May 2026). The sizes named `gpt3` are those
of Brown et al. 2020 (arXiv 2005.14165, table 2.1), `pythia` of Biderman et al. 2023 (arXiv 2304.01373, table 1),
`neox` of Black et al. 2022 (arXiv 2204.06745, section 2), `llama2` of Touvron et al. 2023 (arXiv 2307.09288), with the rate and
micro batch of llama/train_config.yml.
"""

from __future__ import annotations

from cfglint.batch.shapes import config_of
from cfglint.generators.job_spec import Contradiction
from cfglint.source.annotations import ConfigTable
from cfglint.source.record import Record

GPT3 = "gpt3"
PYTHIA = "pythia"
LLAMA = "llama"
SEQ_LENGTH = 2048
LLAMA_LENGTH = 4096

# Settings of every model of a family that differ from GPT-NeoX's defaults, except the sizes.
FAMILIES: dict[str, ConfigTable] = {
    GPT3: {"pos_emb": "rotary", "no_weight_tying": True},
    PYTHIA: {"pos_emb": "rotary", "rotary_pct": 0.25, "no_weight_tying": True, "gpt_j_residual": True},
    LLAMA: {
        "pos_emb": "rotary",
        "no_weight_tying": True,
        "norm": "rmsnorm",
        "rms_norm_epsilon": 1.0e-5,
        "activation": "swiglu",
        "mlp_multiple_of": 256,
        "use_bias_in_attn_linear": False,
        "make_vocab_size_divisible_by": 1,
    },
}
TOKENIZERS: dict[str, dict[str, str]] = {
    GPT3: {"vocab_file": "data/gpt2-vocab.json", "merge_file": "data/gpt2-merges.txt"},
    PYTHIA: {"tokenizer_type": "HFTokenizer", "vocab_file": "data/20B_tokenizer.json"},
    LLAMA: {"tokenizer_type": "SPMTokenizer", "vocab_file": "data/tokenizer.model"},
}


class NeoXShape(Record):
    """The sizes of a model; `rate` and `micro_batch` are those of its published config, `source` names that config."""

    layers: int
    hidden: int
    heads: int
    rate: float
    micro_batch: int
    source: str
    family: str = PYTHIA
    seq_length: int = SEQ_LENGTH
    kv_heads: int | None = None
    intermediate: int | None = None

    @property
    def weights(self) -> int:
        """The approximate number of weights in its layers: four matrices of attention and eight of the feed-forward part, h x h each."""
        return 12 * self.layers * self.hidden * self.hidden


def of_checkpoint(name: str, rate: float, micro_batch: int, source: str, family: str = PYTHIA, **more: int) -> NeoXShape:
    """The sizes of a checkpoint in `cfglint.batch.shapes`, with the settings of its training; rows of Llama have 4096 tokens."""
    config = config_of(name)
    layers, hidden, heads = (config[key] for key in ("num_hidden_layers", "hidden_size", "num_attention_heads"))
    length = LLAMA_LENGTH if family == LLAMA else SEQ_LENGTH
    return NeoXShape(layers, hidden, heads, rate, micro_batch, source, family, length, **more)


SHAPES = {
    "pythia-14m": of_checkpoint("pythia-14m", 1.0e-3, 32, "pythia/14M.yml"),
    "pythia-31m": of_checkpoint("pythia-31m", 1.0e-3, 32, "pythia/31M.yml"),
    "pythia-70m": of_checkpoint("pythia-70m", 1.0e-3, 32, "pythia/70M.yml"),
    "pythia-160m": of_checkpoint("pythia-160m", 6.0e-4, 32, "pythia/160M.yml"),
    "pythia-410m": of_checkpoint("pythia-410m", 3.0e-4, 32, "pythia/410M.yml"),
    "pythia-1b": of_checkpoint("pythia-1b", 2.5e-4, 4, "pythia/1B.yml"),
    "pythia-1.4b": of_checkpoint("pythia-1.4b", 2.0e-4, 16, "pythia/1-4B.yml"),
    "pythia-2.8b": of_checkpoint("pythia-2.8b", 1.6e-4, 8, "pythia/2-8B.yml"),
    "pythia-6.9b": of_checkpoint("pythia-6.9b", 1.2e-4, 8, "pythia/6-9B.yml"),
    "pythia-12b": of_checkpoint("pythia-12b", 1.2e-4, 8, "pythia/12B.yml"),
    "neox-20b": of_checkpoint("neox-20b", 9.7e-5, 4, "20B.yml"),
    "gpt3-125m": NeoXShape(12, 768, 12, 6.0e-4, 4, "125M.yml", family=GPT3),
    "gpt3-350m": NeoXShape(24, 1024, 16, 3.0e-4, 4, "350M.yml", family=GPT3),
    "gpt3-760m": NeoXShape(24, 1536, 16, 2.5e-4, 4, "760M.yml", family=GPT3),
    "gpt3-1.3b": NeoXShape(24, 2048, 16, 2.0e-4, 4, "1-3B.yml", family=GPT3),
    "gpt3-2.7b": NeoXShape(32, 2560, 32, 1.6e-4, 4, "2-7B.yml", family=GPT3),
    "gpt3-6.7b": NeoXShape(32, 4096, 32, 1.2e-4, 4, "6-7B.yml", family=GPT3),
    "gpt3-13b": NeoXShape(40, 5120, 40, 1.0e-4, 4, "13B.yml", family=GPT3),
    "gpt3-175b": NeoXShape(96, 12288, 96, 6.0e-5, 4, "175B.yml", family=GPT3),
    "llama2-7b": of_checkpoint("llama-2-7b", 2.0e-4, 4, "llama2/7B.yml", family=LLAMA, intermediate=32768),
    "llama2-13b": of_checkpoint("llama-2-13b", 2.0e-4, 4, "llama2/13B.yml", family=LLAMA, intermediate=41472),
    "llama2-70b": of_checkpoint("llama-2-70b", 2.0e-4, 4, "llama2/70B.yml", family=LLAMA, kv_heads=8, intermediate=86016),
}


def published(name: str) -> NeoXShape:
    """A shape by its name, in any case; raises Contradiction if there is none."""
    neo_xshape = SHAPES.get(name.lower())
    if neo_xshape is None:
        raise Contradiction(f"--model {name}: published shapes are {', '.join(SHAPES)}; or pass --model layers=N,hidden=N,heads=N")
    return neo_xshape


def nearest(shape: NeoXShape) -> str:
    """The name of the Pythia model whose number of weights is nearest, as a ratio."""
    own = max(shape.weights, 1)
    names = [name for name, neo_xshape in SHAPES.items() if neo_xshape.family == PYTHIA]
    return min(names, key=lambda name: max(SHAPES[name].weights / own, own / SHAPES[name].weights))
