"""The shape of a causal language model: sizes, weight matrices, parameter counts.

Source: the modeling files of transformers 5.23.0 (`models/*/modeling_*.py`). A model type that is not in ARCHITECTURES is estimated
like Llama, because its code was not examined, and its estimate is of class C.
"""

from __future__ import annotations

from cfglint.source.record import Record, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

GATED = "gated"  # Llama: RMSNorm, separate q, k and v, a gated feed-forward part
NEOX = "gpt_neox"
GPT2 = "gpt2"
PHI = "phi"


class Architecture(Record):
    """The differences between the code of a model type and that of Llama.

    `block` is the structure of a layer; `norms` the number of norms in a layer; `fp32_norm`: the norm multiplies by its weight in fp32;
    `head_norm`: q and k are normalised per head; `fused`: q, k, v and gate, up are one matrix each; `softcap`: logits and attention
    scores pass through tanh; `tied`: head and embedding are one matrix unless config.json specifies otherwise.
    """

    block: str = GATED
    norms: int = 2
    qkv_bias: bool = False
    fp32_norm: bool = False
    head_norm: bool = False
    fused: bool = False
    softcap: bool = False
    tied: bool = False
    dropout: float = 0.0
    norm_weights: int = 1  # vectors of a norm: a weight, or weight and bias


LLAMA = Architecture()
ARCHITECTURES = {
    "llama": LLAMA,
    "mistral": LLAMA,
    "mixtral": LLAMA,
    "granite": LLAMA,
    "qwen2": Architecture(qkv_bias=True),
    "qwen3": Architecture(head_norm=True),
    "gemma": Architecture(fp32_norm=True, tied=True),
    "gemma2": Architecture(fp32_norm=True, tied=True, norms=4, softcap=True),
    "phi3": Architecture(fused=True),
    "olmo": Architecture(norm_weights=0),
    "gpt2": Architecture(GPT2, tied=True, dropout=0.1, norm_weights=2),
    "gpt_neox": Architecture(NEOX, norm_weights=2),
    "phi": Architecture(PHI, norms=1, norm_weights=2),
}


class Matrix(Record):
    """A weight matrix of a layer: its name in the model's code, its sizes, how many there are (experts), whether it has a bias."""

    name: str
    inputs: int
    outputs: int
    copies: int = 1
    bias: bool = False

    @property
    def size(self) -> int:
        """Weights without bias."""
        return self.inputs * self.outputs * self.copies


class Shape(Record):
    """The sizes of a model on one rank: tensor parallelism has already divided heads, intermediate and vocabulary sizes."""

    model_type: str
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool = False
    positions: int = 0  # learned position embeddings
    dropout: float = 0.0
    experts: int = 0
    experts_per_token: int = 0
    qkv_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    known: bool = True  # the code of this model type was examined

    @property
    def architecture(self) -> Architecture:
        """The properties of its model type."""
        return ARCHITECTURES.get(self.model_type, LLAMA)

    @property
    def block(self) -> str:
        """The structure of a layer."""
        return self.architecture.block

    @property
    def query_width(self) -> int:
        """Elements of a token's queries."""
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Elements of a token's keys."""
        return self.kv_heads * self.head_dim

    @property
    def matrices(self) -> list[Matrix]:
        """The weight matrices of one layer."""
        build = {GPT2: gpt2_matrices, NEOX: neox_matrices, PHI: phi_matrices}.get(self.block)
        if build is not None:
            return build(self)
        return (fused_matrices if self.architecture.fused else gated_matrices)(self)

    @property
    def matrix_weights(self) -> int:
        """Weights of a layer's matrices, without biases."""
        return sum(matrix.size for matrix in self.matrices)

    @property
    def layer(self) -> int:
        """Parameters of one layer."""
        biases = sum(matrix.outputs * matrix.copies for matrix in self.matrices if matrix.bias)
        norms = self.architecture.norms * self.architecture.norm_weights * self.hidden
        head_norms = 2 * self.head_dim if self.architecture.head_norm else 0
        return self.matrix_weights + biases + norms + head_norms

    @property
    def embedding(self) -> int:
        """Parameters of the embeddings."""
        return (self.vocabulary + self.positions) * self.hidden

    @property
    def head_matrix(self) -> int:
        """Weights of the head's matrix, tied or not."""
        return self.vocabulary * self.hidden

    @property
    def head(self) -> int:
        """Parameters of the head beyond the embedding."""
        if self.tied:
            return 0
        return self.head_matrix + (self.vocabulary if self.block == PHI else 0)

    @property
    def final_norm(self) -> int:
        """Parameters of the last norm."""
        return self.architecture.norm_weights * self.hidden

    @property
    def parameters(self) -> int:
        """All parameters."""
        return self.layers * self.layer + self.head + self.embedding + self.final_norm

    @property
    def largest_matrix(self) -> int:
        """Weights of the largest single parameter."""
        return max([self.head_matrix] + [matrix.size for matrix in self.matrices])

    @property
    def largest_layer_matrix(self) -> int:
        """Weights of a layer's largest matrix."""
        return max(matrix.size for matrix in self.matrices)

    def divided(self, tensor: int, pipeline: int) -> Shape:
        """The shape on one rank of a tensor- and pipeline-parallel run; the residual stream keeps its width."""
        if tensor == 1 and pipeline == 1:
            return self
        return changed(
            self,
            intermediate=ceiling(self.intermediate, tensor),
            heads=ceiling(self.heads, tensor),
            kv_heads=ceiling(self.kv_heads, tensor),
            vocabulary=ceiling(self.vocabulary, tensor),
            layers=ceiling(self.layers, pipeline),
        )


def ceiling(number: int, divisor: int) -> int:
    """The quotient rounded up."""
    return -(-number // divisor)


def gated_matrices(shape: Shape) -> list[Matrix]:
    """The matrices of Llama and its relatives; the experts of Mixtral are one parameter for gate and up, and one for down
    (transformers 5).
    """
    hidden, inner = shape.hidden, shape.intermediate
    attention = [
        Matrix("q_proj", hidden, shape.query_width, bias=shape.qkv_bias),
        Matrix("k_proj", hidden, shape.kv_width, bias=shape.qkv_bias),
        Matrix("v_proj", hidden, shape.kv_width, bias=shape.qkv_bias),
        Matrix("o_proj", shape.query_width, hidden, bias=shape.output_bias),
    ]
    if shape.experts:
        experts = shape.experts
        return [
            *attention,
            Matrix("gate", hidden, experts),
            Matrix("experts.gate_up_proj", hidden, 2 * inner, experts),
            Matrix("experts.down_proj", inner, hidden, experts),
        ]
    bias = shape.mlp_bias
    up = [Matrix("gate_proj", hidden, inner, bias=bias), Matrix("up_proj", hidden, inner, bias=bias)]
    return [*attention, *up, Matrix("down_proj", inner, hidden, bias=bias)]


def fused_matrices(shape: Shape) -> list[Matrix]:
    """The matrices of Phi-3: one for q, k and v, one for gate and up."""
    return [
        Matrix("qkv_proj", shape.hidden, shape.query_width + 2 * shape.kv_width),
        Matrix("o_proj", shape.query_width, shape.hidden),
        Matrix("gate_up_proj", shape.hidden, 2 * shape.intermediate),
        Matrix("down_proj", shape.intermediate, shape.hidden),
    ]


def gpt2_matrices(shape: Shape) -> list[Matrix]:
    """The matrices of GPT-2 (Conv1D, with biases)."""
    hidden, inner = shape.hidden, shape.intermediate
    return [
        Matrix("c_attn", hidden, 3 * hidden, bias=True),
        Matrix("c_proj", hidden, hidden, bias=True),
        Matrix("c_fc", hidden, inner, bias=True),
        Matrix("mlp.c_proj", inner, hidden, bias=True),
    ]


def neox_matrices(shape: Shape) -> list[Matrix]:
    """The matrices of GPT-NeoX and Pythia."""
    hidden, inner, width = shape.hidden, shape.intermediate, shape.query_width
    return [
        Matrix("query_key_value", hidden, width + 2 * shape.kv_width, bias=True),
        Matrix("dense", width, hidden, bias=True),
        Matrix("dense_h_to_4h", hidden, inner, bias=True),
        Matrix("dense_4h_to_h", inner, hidden, bias=True),
    ]


def phi_matrices(shape: Shape) -> list[Matrix]:
    """The matrices of Phi-1.5 and Phi-2."""
    hidden, inner = shape.hidden, shape.intermediate
    return [
        Matrix("q_proj", hidden, shape.query_width, bias=True),
        Matrix("k_proj", hidden, shape.kv_width, bias=True),
        Matrix("v_proj", hidden, shape.kv_width, bias=True),
        Matrix("dense", shape.query_width, hidden, bias=True),
        Matrix("fc1", hidden, inner, bias=True),
        Matrix("fc2", inner, hidden, bias=True),
    ]


class UnknownShape(ValueError):
    """A config.json lacks a size that the estimate needs; the message names it."""


def size(config: Mapping[str, Any], *names: str) -> int:
    """The first of some keys that is a positive integer."""
    for name in names:
        value = config.get(name)
        if type(value) is int and value > 0:
            return value
    raise UnknownShape(names[0])


def of_config(config: Mapping[str, Any]) -> Shape:
    """The shape that a Hugging Face config.json describes; raises UnknownShape if a size is missing."""
    inner = config.get("text_config")
    if isinstance(inner, dict) and "hidden_size" not in config:
        config = inner
    given = config.get("model_type")
    model_type = given if isinstance(given, str) else ""
    known = model_type in ARCHITECTURES and not config.get("auto_map")
    architecture = ARCHITECTURES.get(model_type, LLAMA)
    hidden, heads = size(config, "hidden_size", "n_embd"), size(config, "num_attention_heads", "n_head")
    tied = config.get("tie_word_embeddings")
    bias = config.get("attention_bias") is True
    dropout = config.get("resid_pdrop")
    return Shape(
        model_type=model_type,
        hidden=hidden,
        intermediate=intermediate(config, architecture, hidden),
        layers=size(config, "num_hidden_layers", "n_layer"),
        heads=heads,
        kv_heads=optional(config, "num_key_value_heads") or heads,
        head_dim=optional(config, "head_dim") or hidden // heads,
        vocabulary=size(config, "vocab_size"),
        tied=tied if isinstance(tied, bool) else architecture.tied,
        positions=optional(config, "n_positions") or 1024 if architecture.block == GPT2 else 0,
        dropout=dropout if isinstance(dropout, (int, float)) else architecture.dropout,
        experts=optional(config, "num_local_experts") or optional(config, "num_experts"),
        experts_per_token=optional(config, "num_experts_per_tok"),
        qkv_bias=bias or architecture.qkv_bias,
        output_bias=bias,
        mlp_bias=config.get("mlp_bias") is True,
        known=known,
    )


def optional(config: Mapping[str, Any], name: str) -> int:
    """A positive integer of a config; 0 if there is none."""
    value = config.get(name)
    return value if type(value) is int and value > 0 else 0


def intermediate(config: Mapping[str, Any], architecture: Architecture, hidden: int) -> int:
    """The width of the feed-forward part; GPT-2's default is four times the hidden size."""
    if architecture.block == GPT2:
        return optional(config, "n_inner") or 4 * hidden
    return optional(config, "moe_intermediate_size") or size(config, "intermediate_size")
