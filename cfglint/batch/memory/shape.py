"""The shape of a causal language model: sizes, weight matrices, parameter counts.

Source: the modeling files of transformers 5.23.0 (`models/*/modeling_*.py`), and for chatglm, baichuan, internlm, internlm2 and qwen those
of the checkpoints. The parameters of all ARCHITECTURES are counted; what a layer keeps for its backward pass was examined for some of
them only. The others, and a model type that is not among them, which is taken for Llama, give estimates of class C.
"""

from __future__ import annotations

from cfglint.source.annotations import Any, ConfigValue, Mapping
from cfglint.source.record import Record, changed

GATED = "gated"  # Llama: RMSNorm, separate q, k and v, a gated feed-forward part
NEOX = "gpt_neox"
GPT2 = "gpt2"
PHI = "phi"
T5 = "t5"


class Architecture(Record):
    """The differences between the code of a model type and that of Llama.

    `block` is the structure of a layer; `norms` the number of norms in a layer; `fp32_norm`: the norm multiplies by its weight in fp32;
    `head_norm`: q and k are normalised per head, `full_norm`: over all heads; `fused`: q, k, v and gate, up are one matrix each;
    `softcap`: logits and attention scores pass through tanh; `tied`: head and embedding are one matrix unless config.json specifies
    otherwise; `biases` of q, k and v, of the output and of the feed-forward part, for layers like GPT-NeoX's. `embedding_norms` counts the
    vectors of hidden size that norms, token types and poolers add. `halved`: config.json gives the feed-forward width twice as large.
    `examined`: the activations of its code were compared with traces. `text_only`: images or sound have an encoder that is not counted.
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
    full_norm: bool = False
    biases: tuple[bool, bool, bool] = (True, True, True)
    embedding_norms: int = 0
    head_bias: bool = False
    halved: bool = False
    examined: bool = True
    text_only: bool = False


def unexamined(block: str = GATED, **properties: Any) -> Architecture:
    """An architecture whose parameters are counted, and whose activations are like those of a similar one."""
    return Architecture(block, examined=False, **properties)


NO_BIAS = (False, False, False)
LLAMA = Architecture()
ARCHITECTURES = {
    name: architecture
    for architecture, names in (
        (LLAMA, "llama mistral mixtral granite"),
        (Architecture(qkv_bias=True), "qwen2"),
        (Architecture(head_norm=True), "qwen3"),
        (Architecture(fp32_norm=True, tied=True), "gemma"),
        (Architecture(fp32_norm=True, tied=True, norms=4, softcap=True), "gemma2"),
        (Architecture(fused=True), "phi3"),
        (Architecture(norm_weights=0), "olmo"),
        (Architecture(GPT2, tied=True, dropout=0.1, norm_weights=2), "gpt2"),
        (Architecture(NEOX, norm_weights=2), "gpt_neox"),
        (Architecture(PHI, norms=1, norm_weights=2, head_bias=True), "phi"),
        (unexamined(), "baichuan internlm internlm2 internlm3 deepseek deepseek_v2 deepseek_v3 gpt_oss"),
        (unexamined(qkv_bias=True, halved=True), "qwen"),
        (unexamined(qkv_bias=True), "qwen2_moe chatglm glm"),
        (unexamined(qkv_bias=True, norms=4), "glm4"),
        (unexamined(head_norm=True), "qwen3_moe"),
        (unexamined(qkv_bias=True, text_only=True), "qwen2_vl qwen2_5_vl"),
        (unexamined(head_norm=True, text_only=True), "qwen3_vl qwen3_5"),
        (unexamined(fp32_norm=True, tied=True, norms=4, head_norm=True), "gemma3_text"),
        (unexamined(fp32_norm=True, tied=True, norms=4, head_norm=True, text_only=True), "gemma3"),
        (unexamined(text_only=True), "llava internvl"),
        (unexamined(tied=True), "smollm3 minicpm"),
        (unexamined(full_norm=True), "olmo2 olmoe"),
        (unexamined(norms=1, tied=True), "cohere"),
        (unexamined(norm_weights=2), "stablelm"),
        (unexamined(NEOX, norms=1, norm_weights=2, biases=NO_BIAS, tied=True), "falcon"),
        (unexamined(NEOX, norm_weights=2, tied=True), "opt gpt_bigcode starcoder2 glm-6b"),
        (unexamined(NEOX, norms=1, norm_weights=2, biases=(False, False, True), head_bias=True), "gptj"),
        (unexamined(NEOX, norm_weights=2, biases=(False, True, True), tied=True), "gpt_neo"),
        (unexamined(NEOX, biases=NO_BIAS, tied=True), "mpt"),
        (unexamined(NEOX, norm_weights=2, tied=True, embedding_norms=2), "bloom distilbert deberta-v2"),
        (unexamined(NEOX, norm_weights=2, tied=True, embedding_norms=3), "roberta xlm-roberta"),
        (unexamined(NEOX, norm_weights=2, tied=True, embedding_norms=4), "bert electra"),
        (unexamined(T5, tied=True, text_only=True), "whisper"),
        (unexamined(T5, tied=True), "t5"),
        (unexamined(T5), "mt5"),
    )
    for name in names.split()
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


class Latent(Record):
    """The ranks and widths of DeepSeek's latent attention; `query` is 0 where queries are not compressed."""

    query: int
    keys: int
    plain: int
    rotary: int
    value: int


class Delta(Record):
    """The widths of Qwen 3.5's gated delta rule, which three of four layers have in the place of attention.

    Here all layers have it: the matrices of the others are of about the same size.
    """

    keys: int
    values: int


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
    shared: int = 0  # the width of the experts that every token passes
    dense_layers: int = 0  # the first layers of a mixture of experts, which have none, and their width
    dense_intermediate: int = 0
    latent: Latent | None = None
    delta: Delta | None = None
    cross_gate: int = 1  # T5: the matrices that read the input of the feed-forward part

    @property
    def architecture(self) -> Architecture:
        return ARCHITECTURES.get(self.model_type, LLAMA)

    @property
    def longest_row(self) -> int:
        """The most tokens that a row can have because positions are learned; 0 without that limit."""
        return max(self.positions - POSITIONS.get(self.model_type, 0) - (2 if self.model_type in PADDED else 0), 0)

    @property
    def block(self) -> str:
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
        hidden, inner, query, keys = self.hidden, self.intermediate, self.query_width, self.kv_width
        if self.block == GPT2:  # Conv1D, with biases
            sizes = [("c_attn", hidden, 3 * hidden), ("c_proj", hidden, hidden), ("c_fc", hidden, inner), ("mlp.c_proj", inner, hidden)]
            return [Matrix(*matrix, bias=True) for matrix in sizes]
        if self.block == NEOX:  # and others whose feed-forward part has no gate
            of_queries, of_output, of_feed_forward = self.architecture.biases
            return [
                Matrix("query_key_value", hidden, query + 2 * keys, bias=of_queries),
                Matrix("dense", query, hidden, bias=of_output),
                Matrix("dense_h_to_4h", hidden, inner, bias=of_feed_forward),
                Matrix("dense_4h_to_h", inner, hidden, bias=of_feed_forward),
            ]
        if self.block == PHI:  # Phi-1.5 and Phi-2
            projections = [("q_proj", hidden, query), ("k_proj", hidden, keys), ("v_proj", hidden, keys), ("dense", query, hidden)]
            return [Matrix(*matrix, bias=True) for matrix in (*projections, ("fc1", hidden, inner), ("fc2", inner, hidden))]
        if self.block == T5:  # the decoder has as many layers as the encoder: half of the layers also attend to the encoder
            attention = [Matrix(name, hidden, query) for name in ("q", "k", "v", "o")]
            return [
                *attention,
                Matrix("cross", hidden, query, 2),
                Matrix("wi", hidden, inner, self.cross_gate),
                Matrix("wo", inner, hidden),
            ]
        if self.architecture.fused:  # Phi-3: one for q, k and v, one for gate and up
            attention = [Matrix("qkv_proj", hidden, query + 2 * keys), Matrix("o_proj", query, hidden)]
            return [*attention, Matrix("gate_up_proj", hidden, 2 * inner), Matrix("down_proj", inner, hidden)]
        if not self.experts:
            up = [Matrix(name, hidden, inner, bias=self.mlp_bias) for name in ("gate_proj", "up_proj")]
            return [*attention_of(self), *up, Matrix("down_proj", inner, hidden, bias=self.mlp_bias)]
        # The experts of Mixtral are one parameter for gate and up, and one for down (transformers 5).
        shared = [Matrix("shared.gate_up_proj", hidden, 2 * self.shared), Matrix("shared.down_proj", self.shared, hidden)]
        return [
            *attention_of(self),
            Matrix("gate", hidden, self.experts),
            Matrix("experts.gate_up_proj", hidden, 2 * inner, self.experts),
            Matrix("experts.down_proj", inner, hidden, self.experts),
            *(shared if self.shared else []),
        ]

    @property
    def matrix_weights(self) -> int:
        """Weights of a layer's matrices, without biases."""
        return sum(matrix.size for matrix in self.matrices)

    @property
    def layer(self) -> int:
        biases = sum(matrix.outputs * matrix.copies for matrix in self.matrices if matrix.bias)
        norms = self.architecture.norms * self.architecture.norm_weights * self.hidden
        head_norms = 2 * self.head_dim if self.architecture.head_norm else 0
        if self.architecture.full_norm:
            head_norms = self.query_width + self.kv_width
        return self.matrix_weights + biases + norms + head_norms

    @property
    def embedding(self) -> int:
        return (self.vocabulary + self.positions + self.architecture.embedding_norms) * self.hidden

    @property
    def head_matrix(self) -> int:
        """Weights of the head's matrix, tied or not."""
        return self.vocabulary * self.hidden

    @property
    def head(self) -> int:
        """Parameters of the head beyond the embedding."""
        if self.tied:
            return 0
        return self.head_matrix + (self.vocabulary if self.architecture.head_bias else 0)

    @property
    def final_norm(self) -> int:
        return self.architecture.norm_weights * self.hidden

    @property
    def parameters(self) -> int:
        # Of a layer's experts, their router and what every token passes.
        experts = self.hidden * (self.experts * (3 * self.intermediate + 1) + 3 * self.shared) if self.experts else 0
        without = self.dense_layers * (experts - 3 * self.hidden * self.dense_intermediate)
        return self.layers * self.layer - without + self.head + self.embedding + self.final_norm

    def linear_weights(self, fused_experts: bool = False) -> int:
        """Weights of the linear layers in all blocks, which quantization makes smaller; without routed experts that are parameters."""
        rest = self.layers * (self.layer - self.matrix_weights) + self.head + self.embedding + self.final_norm
        experts = (self.layers - self.dense_layers) * self.hidden * self.experts * (3 * self.intermediate + 1) if fused_experts else 0
        return self.parameters - rest - experts

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
            delta=self.delta and Delta(ceiling(self.delta.keys, tensor), ceiling(self.delta.values, tensor)),
        )


def ceiling(number: int, divisor: int) -> int:
    return -(-number // divisor)


def attention_of(shape: Shape) -> list[Matrix]:
    """The matrices of attention in a gated layer."""
    hidden, heads, latent, delta = shape.hidden, shape.heads, shape.latent, shape.delta
    if latent is not None:  # DeepSeek's, whose keys and values are compressed together
        width = heads * (latent.plain + latent.rotary)
        queries = [Matrix("q_a_proj", hidden, latent.query), Matrix("q_b_proj", latent.query, width)]
        return [
            *(queries if latent.query else [Matrix("q_proj", hidden, width)]),
            Matrix("kv_a_proj_with_mqa", hidden, latent.keys + latent.rotary),
            Matrix("kv_b_proj", latent.keys, heads * (latent.plain + latent.value)),
            Matrix("o_proj", heads * latent.value, hidden),
        ]
    if delta is not None:  # the gated delta rule: queries, keys and values together, the gate of the output, the output
        gates = [Matrix("in_proj_qkv", hidden, 2 * delta.keys + delta.values), Matrix("in_proj_z", hidden, delta.values)]
        return [*gates, Matrix("out_proj", delta.values, hidden)]
    inputs = [("q_proj", hidden, shape.query_width), ("k_proj", hidden, shape.kv_width), ("v_proj", hidden, shape.kv_width)]
    output = Matrix("o_proj", shape.query_width, hidden, bias=shape.output_bias)
    return [*(Matrix(*matrix, bias=shape.qkv_bias) for matrix in inputs), output]


class UnknownShape(ValueError):
    """A config.json lacks a size that the estimate needs; the message names it."""


HIDDEN = ("hidden_size", "n_embd", "d_model", "dim")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
INNER = ("intermediate_size", "ffn_hidden_size", "ffn_dim", "d_ff", "hidden_dim", "n_inner")
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
POSITIONS = {
    "gpt2": 0, "gpt_bigcode": 0, "gpt_neo": 0, "bert": 2, "distilbert": 0, "electra": 2, "roberta": 1, "xlm-roberta": 1, "opt": 2,
    "whisper": 0,
}  # learned position embeddings, and the rows of their table beyond the positions (OPT's offset, token types)  # fmt: skip
PADDED = ("roberta", "xlm-roberta")  # the first two of their positions are for padding
LATENT = ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")  # of DeepSeek's latent attention
LINEAR_HEAD = 128  # the default width of a head of the gated delta rule
FOUR_TIMES = ("falcon", "bloom", "gpt_bigcode", "gptj", "gpt_neo", "mpt")  # the feed-forward width where config.json has none


def of_config(config: Mapping[str, ConfigValue]) -> Shape:
    """The shape that a Hugging Face config.json describes; raises UnknownShape if a size is missing."""
    name = config.get("model_type")
    model_type = name if isinstance(name, str) else ""
    inner = next((part for key in ("text_config", "llm_config") if isinstance(part := config.get(key), dict)), None)
    if inner is not None and "hidden_size" not in config:
        config = {**inner, "tie_word_embeddings": inner.get("tie_word_embeddings", config.get("tie_word_embeddings"))}
    architecture = ARCHITECTURES.get(model_type, LLAMA)
    known = model_type in ARCHITECTURES and architecture.examined and not config.get("auto_map")
    hidden, heads = size(config, *HIDDEN), size(config, *HEADS)
    tied = config.get("tie_word_embeddings")
    bias = config.get("attention_bias") is True or config.get("bias") is True
    dropout = config.get("resid_pdrop")
    experts = optional(config, *EXPERTS)
    # The heads of keys and values are fewer than those of queries where these share them.
    shares_one = config.get("multi_query") is True and config.get("new_decoder_architecture") is not True
    # The width of the feed-forward part, or of an expert; the default of some is four times the hidden size.
    width = optional(config, "moe_intermediate_size") if experts else 0
    if not width and (architecture.block == GPT2 or config.get("model_type") in FOUR_TIMES):
        width = optional(config, *INNER) or 4 * hidden
    # The width of the experts that every token passes.
    shared = optional(config, "shared_expert_intermediate_size")
    shared = shared or optional(config, "n_shared_experts") * optional(config, "moe_intermediate_size")
    ranks = optional(config, "kv_lora_rank")
    latent = Latent(optional(config, "q_lora_rank"), ranks, *(size(config, key) for key in LATENT)) if ranks else None
    delta: Delta | None = None
    if optional(config, "linear_num_value_heads"):
        part_heads = {part: size(config, f"linear_num_{part}_heads") for part in ("key", "value")}
        widths = (count * (optional(config, f"linear_{part}_head_dim") or LINEAR_HEAD) for part, count in part_heads.items())
        delta = Delta(*widths)
    rows = optional(config, "n_positions", "max_position_embeddings") or 1024
    return Shape(
        model_type=model_type,
        hidden=hidden,
        intermediate=width or size(config, *INNER) // (2 if architecture.halved else 1),
        layers=size(config, *LAYERS) * (2 if architecture.block == T5 else 1),
        heads=heads,
        kv_heads=1 if shares_one else optional(config, "num_key_value_heads", "multi_query_group_num", "num_kv_heads") or heads,
        head_dim=optional(config, "head_dim", "d_kv") or hidden // heads,
        vocabulary=size(config, "vocab_size", "padded_vocab_size"),
        tied=tied if isinstance(tied, bool) else architecture.tied,
        positions=rows + POSITIONS[model_type] if model_type in POSITIONS else 0,  # none for rotary ones and ALiBi
        dropout=dropout if isinstance(dropout, (int, float)) else architecture.dropout,
        experts=experts,
        experts_per_token=optional(config, "num_experts_per_tok"),
        qkv_bias=bias or architecture.qkv_bias or config.get("use_qkv_bias") is True,
        output_bias=bias and model_type not in ("glm", "glm4"),
        mlp_bias=config.get("mlp_bias") is True,
        known=known,
        shared=shared if experts else 0,
        dense_layers=optional(config, "first_k_dense_replace") if experts else 0,
        dense_intermediate=optional(config, "intermediate_size"),
        latent=latent,
        delta=delta,
        cross_gate=2 if str(config.get("feed_forward_proj")).startswith("gated") else 1,
    )


def optional(config: Mapping[str, ConfigValue], *names: str) -> int:
    """The first of some keys that is a positive integer; 0 if there is none."""
    return next((value for name in names if type(value := config.get(name)) is int and value > 0), 0)


def size(config: Mapping[str, ConfigValue], *names: str) -> int:
    """The first of some keys that is a positive integer; raises UnknownShape if there is none."""
    value = optional(config, *names)
    if not value:
        raise UnknownShape(names[0])
    return value
