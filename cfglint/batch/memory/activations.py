"""The activations that a layer stores for its backward pass, and the memory that the backward needs in addition, in bytes per token.

Sources: the modeling files of transformers 5.23.0; ATen/autocast_mode.cpp of torch 2.13.0 (which operators run in fp32, the cache of
16-bit weights); peft 0.21.2 `tuners/lora/layer.py`. The sums were compared with allocation traces of the real models, operator by
operator.
"""

from __future__ import annotations

from cfglint.batch.memory.settings import ALL_LINEAR, EAGER, FUSED, Lora, Settings
from cfglint.batch.memory.shape import GATED, GPT2, NEOX, PHI, Matrix, Shape
from cfglint.source.record import Record

FP32_STREAM = 4


class Widths(Record):
    """Bytes per element of the loaded weights, of the matrix products and of the residual stream."""

    weights: int
    products: int
    residual: int


def adapted(shape: Shape, lora: Lora) -> list[Matrix]:
    """The matrices of a layer that get adapters: peft looks for the last part of a module's name; routers and fused experts get none."""
    linears = [matrix for matrix in shape.matrices if matrix.copies == 1 and matrix.name != "gate"]
    if ALL_LINEAR in lora.targets:
        return linears
    return [matrix for matrix in linears if matrix.name.rpartition(".")[2] in lora.targets]


class Layer:
    """One layer of a model in a run; every method gives bytes per token."""

    def __init__(self, shape: Shape, run: Settings, widths: Widths) -> None:
        self.shape = shape
        self.run = run
        self.widths = widths
        self.trained = run.lora is None
        self.targets = {matrix.name: matrix for matrix in adapted(shape, run.lora)} if run.lora is not None else {}

    def inputs(self, width: int, *names: str) -> int:
        """The bytes of an activation that linear layers store as their input.

        Trained linear layers store one tensor together, or a copy each if autocast casts it. A frozen one stores none; its adapter
        stores a copy, in fp32 unless autocast casts it, and a dropout mask of one byte per element.
        """
        lora = self.run.lora
        if lora is None:
            # autocast makes a 16-bit copy of the input for every linear layer that uses it
            return width * (2 * len(names) if self.widths.products == 2 and self.widths.residual == FP32_STREAM else self.widths.products)
        readers = sum(name in self.targets for name in names)
        if not lora.fp32 and not lora.dropout:  # the adapters read the activation itself
            return width * self.widths.products * min(readers, 1)
        copy = 2 if self.run.autocast or not lora.fp32 else 4
        return readers * width * (copy + (1 if lora.dropout else 0))

    def saved(self) -> int:
        """All activations that one layer stores from its forward pass to its backward pass."""
        return {GATED: self.gated, NEOX: self.neox, GPT2: self.gpt2}.get(self.shape.block, self.phi)()

    def missing_in_first(self) -> int:
        """The activations that the first layer does not store under adapters: its input needs no gradient (unless checkpointing
        requires one).

        These are those of its norm and, in a parallel layer without an adapter before it, those of the whole feed-forward part.
        """
        if self.trained or self.run.checkpointing:
            return 0
        if self.shape.block == PHI and "fc1" not in self.targets:
            return self.layer_norm() + self.python_gelu()
        if self.shape.block == NEOX and "dense_h_to_4h" not in self.targets:
            return self.layer_norm() + self.widths.products * self.shape.intermediate
        return self.rms_norm() if self.shape.block == GATED else self.layer_norm()

    def scores(self, kept_mask: int = 0) -> int:
        """The bytes that attention stores beyond q, k, v and its output: log-sum-exp; eager, the softmax in fp32 and its 16-bit copy."""
        shape = self.shape
        if self.run.attention != EAGER:
            return 4 * shape.heads
        softmax = 4 if self.widths.products == 4 else 4 + self.widths.products
        tanh = self.widths.products if shape.architecture.softcap else 0
        return shape.heads * self.run.sequence * (softmax + tanh + kept_mask)

    def rms_norm(self) -> int:
        """An RMSNorm: its input in fp32 and, where its weight is trained, the normalised input."""
        hidden, residual = self.shape.hidden, self.widths.residual
        if self.run.fused_kernels:  # Liger stores the unchanged input, which is the tensor of the residual stream
            return residual * hidden
        return 4 * hidden + (residual * hidden if self.trained and self.shape.architecture.norm_weights else 0)

    def norms(self) -> int:
        """All norms of a gated layer; Gemma's multiplies by its weight in fp32 and so keeps one more fp32 tensor."""
        architecture, hidden = self.shape.architecture, self.shape.hidden
        plain = architecture.norms * self.rms_norm()
        if not architecture.fp32_norm or self.run.fused_kernels:
            return plain
        return plain + 2 * ((4 - self.widths.residual) * hidden if self.trained else 4 * hidden)

    def gated(self) -> int:
        """A layer of Llama and its relatives."""
        shape, element = self.shape, self.widths.products
        fused = shape.architecture.fused
        attention_inputs = ("qkv_proj",) if fused else ("q_proj", "k_proj", "v_proj")
        kept = self.norms() + self.inputs(shape.hidden, *attention_inputs) + self.attention()
        if not self.trained:
            kept += self.inputs(shape.query_width, "o_proj")
        if shape.experts:
            return kept + self.experts()
        feed_forward_inputs = ("gate_up_proj",) if fused else ("gate_proj", "up_proj")
        gate_and_up = 2 if self.run.fused_kernels else 3  # gate, its activation, up; a fused kernel recomputes the activation
        down = element * shape.intermediate if self.trained else self.inputs(shape.intermediate, "down_proj")
        return kept + self.inputs(shape.hidden, *feed_forward_inputs) + gate_and_up * element * shape.intermediate + down

    def attention(self) -> int:
        """The attention of a layer: q, k, v, the output, the scores; k and v are repeated without a fused kernel for grouped heads."""
        shape, element = self.shape, self.widths.products
        if shape.delta is not None:  # q, k and v before and after the convolution and its activation; gate, state and output
            return element * (3 * (2 * shape.delta.keys + shape.delta.values) + 3 * shape.delta.values)
        query, keys = element * shape.query_width, element * shape.kv_width
        values = keys
        kept = 0
        if shape.architecture.head_norm:
            per_element = (6 if element == 2 else 8) if self.trained else 4
            kept += per_element * (shape.query_width + shape.kv_width)
        if shape.architecture.fused:
            values = query + 2 * keys  # v is a view, so the complete fused projection stays allocated
        if self.run.attention != FUSED:
            keys, values = query, max(values, query)
        return kept + query + keys + values + query + self.scores()

    def experts(self) -> int:
        """The experts of a mixture: each token's input, gate and up, product and output, once for each of its experts."""
        shape, element = self.shape, self.widths.products
        each = element * shape.hidden + 4 * element * shape.intermediate + 2 * element * shape.hidden
        return self.inputs(shape.hidden, "gate") + shape.experts_per_token * each + element * shape.hidden + 8 * shape.experts

    def layer_norm(self) -> int:
        """A LayerNorm keeps its input; autocast runs it in fp32."""
        return (4 if self.run.autocast else self.widths.residual) * self.shape.hidden

    def python_gelu(self) -> int:
        """NewGELU written in Python: x, x / 2, tanh, 1 + tanh; under autocast its power is fp32, and so is what follows."""
        return (14 if self.run.autocast else 4 * self.widths.products) * self.shape.intermediate

    def down(self, name: str) -> int:
        """The input of the second matrix of the feed-forward part."""
        width = self.shape.intermediate
        return self.widths.products * width if self.trained else self.inputs(width, name)

    def dropout_masks(self) -> int:
        """Masks of residual dropout, a byte per element, after attention and after the feed-forward part."""
        return 2 * self.shape.hidden if self.shape.dropout else 0

    def gpt2(self) -> int:
        shape, element = self.shape, self.widths.products
        kept = 2 * self.layer_norm() + self.inputs(shape.hidden, "c_attn") + 4 * element * shape.hidden
        kept += self.inputs(shape.hidden, "c_fc") + self.dropout_masks() + self.python_gelu() + self.down("mlp.c_proj")
        return kept + self.scores(kept_mask=1)

    def neox(self) -> int:
        """A layer of GPT-NeoX with parallel residuals: both norms use the same input."""
        shape, element, width = self.shape, self.widths.products, self.shape.query_width
        kept = self.layer_norm() + self.inputs(shape.hidden, "query_key_value") + self.inputs(shape.hidden, "dense_h_to_4h")
        kept += 3 * element * (width + shape.kv_width) + self.scores()  # the fused projection, rotated q and k, the output
        return kept + element * shape.intermediate + self.down("dense_4h_to_h")

    def phi(self) -> int:
        """A layer of Phi-2: one norm for attention and feed-forward part."""
        shape, element = self.shape, self.widths.products
        kept = self.layer_norm() + self.inputs(shape.hidden, "q_proj", "k_proj", "v_proj", "fc1")
        kept += element * (2 * shape.query_width + 2 * shape.kv_width) + self.scores() + self.dropout_masks()
        return kept + self.python_gelu() + self.down("fc2")

    def transient(self) -> int:
        """The bytes that a backward needs beyond stored activations: gradients of the feed-forward part, or of eager scores."""
        shape, element, residual = self.shape, self.widths.products, self.widths.residual
        inner = shape.intermediate * (shape.experts_per_token or 1)
        needed = (1 if shape.block == NEOX else 2) * element * inner + 2 * residual * shape.hidden
        if shape.architecture.fused:
            needed += element * inner
        lora = self.run.lora
        if lora is not None and any(matrix.inputs == shape.intermediate for matrix in self.targets.values()):
            needed += (8 if lora.dropout else 4) * shape.intermediate  # the fp32 copy of the input, and its dropped-out copy
        if self.run.attention == EAGER:
            needed = max(needed, shape.heads * self.run.sequence * (5 if element == 2 else 8))
        return needed

    def final_norm(self) -> int:
        """The last norm and the input of the language-model head."""
        hidden, residual, element = self.shape.hidden, self.widths.residual, self.widths.products
        if self.shape.block != GATED:
            return (residual + element) * hidden
        return (4 + (residual + element if self.trained else 0)) * hidden
