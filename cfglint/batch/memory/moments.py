"""The seven moments of a training step at which memory can peak, each with the tensors that are allocated then."""

from __future__ import annotations

from cfglint.batch.memory.activations import Layer, Widths
from cfglint.batch.memory.loss import bytes_of_loss
from cfglint.batch.memory.settings import FSDP, LOSS_CHUNKED, LOSS_FUSED, LOSS_NONE, MASKED, NONE, WIDTH, Settings
from cfglint.batch.memory.shape import GATED, Shape, ceiling
from cfglint.batch.memory.sharding import held
from cfglint.source.record import Record

TERMS = ("weights", "gradients", "optimizer", "activations", "logits", "buffers")
FORWARD_END, LOSS_BACKWARD, HEAD_GRADIENT = "forward end", "loss backward", "head weight gradient"
BACKWARD_TOP, BACKWARD_BOTTOM, BACKWARD_END = "backward, top layer", "backward, bottom layer", "backward end"
STEP = "optimizer step"


class Moment(Record):
    """The bytes that are allocated at one moment, by term."""

    name: str
    weights: float
    gradients: float
    optimizer: float
    activations: float = 0
    logits: float = 0
    buffers: float = 0

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.optimizer + self.activations + self.logits + self.buffers

    def terms(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in TERMS}


class TrainingStep:
    """One optimizer step of a run; the moments are composed of its parts."""

    def __init__(self, shape: Shape, run: Settings) -> None:
        run = run.effective()
        self.shape, self.run = shape, run
        # FSDP with mixed precision hands 16-bit parameters to the module, so its residual stream is 16-bit, while accelerate upcasts what
        # is trained to fp32. `prepare_model_for_kbit_training` makes the embeddings, and with them the residual stream, fp32.
        weights = WIDTH[run.loaded]
        products = 2 if run.autocast else weights
        residual = weights
        if run.sharded == FSDP and run.autocast:
            residual = 2
            if run.lora is None:
                weights = 4
        if run.quantization != NONE and run.kbit_fp32:
            residual = 4
        self.widths = widths = Widths(weights, products, run.residual or residual)
        self.held = held(shape, run, widths)
        if run.reference_model:
            self.held.weights += shape.parameters * WIDTH[run.loaded] * (self.held.fraction if run.sharded != NONE else 1)
        self.full = run.lora is None
        layer, tokens = Layer(shape, run, widths), run.tokens
        self.stream = widths.residual * shape.hidden * tokens  # the residual stream at one place
        self.layer = layer.saved() * tokens
        together = min(run.checkpoint_layers, shape.layers)
        self.recomputed = self.layer * together if run.checkpointing else 0
        self.transient = layer.transient() * tokens
        if run.quantization != NONE:
            self.transient += 2 * max(matrix.inputs * matrix.outputs for matrix in shape.matrices)  # the matrix in use, dequantised
        kept = ceiling(shape.layers, together) * self.stream if run.checkpointing else shape.layers * self.layer
        self.saved = kept - layer.missing_in_first() * tokens
        self.saved *= run.in_flight
        self.final_norm = layer.final_norm() * tokens if run.loss != LOSS_NONE else 0
        self.loss_forward, self.loss_backward = bytes_of_loss(shape, run, widths.products)
        self.mask = tokens * run.sequence * (1 + widths.products) if run.attention == MASKED else 0
        # Autocast caches a 16-bit copy of every fp32 weight that it casts, until its context ends.
        self.casts = bool(run.autocast) and widths.weights == 4 and run.sharded != FSDP
        self.layer_cast = 2 * shape.matrix_weights if self.casts else 0
        self.head_cast = 2 * shape.head_matrix if self.casts else 0
        self.trained_width = widths.weights if self.full else 0

    def moment(self, name: str, gradients: float, activations: float, *, logits: float = 0, buffers: float = 0) -> Moment:
        """A moment of forward or backward: the bytes that the rank always holds, plus the given ones."""
        state = self.held
        return Moment(name, state.weights, gradients, state.optimizer, activations, logits, state.buffers + self.mask + buffers)

    def moments(self) -> list[Moment]:
        shape, run, state, widths = self.shape, self.run, self.held, self.widths
        # The output of the last norm in fp32, which the copy made by autocast replaces.
        head_input = 4 * shape.hidden * run.tokens if self.casts and widths.residual == 4 and shape.block == GATED else 0
        casts = shape.layers * self.layer_cast  # 16-bit copies of all layers' weights
        casts_kept = 0 if run.checkpointing else casts  # when the backward begins: recomputation makes copies of its own
        kept = self.saved + self.final_norm
        # All saved activations, the last norm, the logits and the loss's first tensors. The cache keeps copies of trained weights only.
        cached = self.head_cast + (0 if run.checkpointing and not self.full else casts)
        moments = [
            self.moment(FORWARD_END, state.from_start, kept + head_input, logits=self.loss_forward, buffers=cached),
            # Usually 12 bytes per logit.
            self.moment(LOSS_BACKWARD, state.from_start, kept, logits=self.loss_backward, buffers=casts_kept + self.head_cast),
        ]
        if self.full and run.loss not in (LOSS_FUSED, LOSS_CHUNKED, LOSS_NONE):
            # The gradient of the head's weight is computed while the gradient of the logits is still allocated.
            copies = widths.products + (self.trained_width if self.trained_width != widths.products else 0)
            gradients, logits = state.from_start + copies * shape.head_matrix, widths.products * shape.vocabulary * run.tokens
            buffers = casts_kept + self.head_cast
            moments.append(self.moment(HEAD_GRADIENT, gradients, kept + head_input, logits=logits, buffers=buffers))
        # The gradients of head and last norm; that of a tied head is kept until the embedding's is added.
        head = (shape.head_matrix if shape.tied else shape.head) + shape.final_norm
        head_kept = head * self.trained_width * state.fraction
        # In the backward of the last layer all stored activations are still allocated, in that of the first nearly all gradients.
        top = max(state.from_start, head_kept)
        each = shape.layer * self.trained_width * state.fraction
        bottom = max(state.from_start, head_kept + (shape.layers - 1) * each) + each / 2
        stream = self.stream if run.checkpointing else 0
        # The embedding's gradient while it is added to an existing one (tied: both parts and their sum).
        embedding = 0.0
        if state.from_start or shape.tied:
            embedding = (2 if shape.tied else 1) * shape.embedding * self.trained_width
        top_casts = self.layer_cast if run.checkpointing else casts
        return [
            *moments,
            self.moment(BACKWARD_TOP, top, self.saved + self.recomputed + self.transient, buffers=top_casts),
            self.moment(BACKWARD_BOTTOM, bottom, stream + (self.recomputed or self.layer) + self.transient, buffers=self.layer_cast),
            self.moment(BACKWARD_END, max(state.from_start, state.gradients) + embedding, self.stream),
            # No activations; what the step allocates counts as the optimizer's.
            Moment(STEP, state.weights, state.step_gradients, state.optimizer + state.step, buffers=state.step_buffers),
        ]
