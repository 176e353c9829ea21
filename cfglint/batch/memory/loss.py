"""The tensors of size vocabulary x tokens that the loss of a causal language model allocates.

Sources: transformers `loss/loss_utils.py` ForCausalLMLoss (4.46 on) and the models' own forward before that; flash-attention's and
Megatron's cross entropy (`megatron/mpu/cross_entropy.py` of GPT-NeoX); Liger's fused linear cross entropy; TRL 1.16.0
`kernels/chunked_logprob.py`.
"""

from __future__ import annotations

from cfglint.batch.memory import settings as modes
from cfglint.batch.memory.settings import Settings
from cfglint.batch.memory.shape import Shape

LOSS_FUNCTION = (4, 46)  # before: `logits.float()` in the model, then a shifted copy
LABELS_SHIFTED = (4, 49)  # before: a shifted copy of the fp32 logits (4.48.1 measured; 4.48.3 and 4.49.0 loss/loss_utils.py read)
SMALLEST_CHUNK = 256  # rows of Liger's chunks, minimum
TILE = 4096 * 8192  # maximum number of logits that TRL computes at a time


def implementation(version: tuple[int, ...]) -> str:
    """The name of the way in which a release of transformers computes the loss."""
    if version < LOSS_FUNCTION:
        return modes.LOSS_FLOAT
    return modes.LOSS_COPY if version < LABELS_SHIFTED else modes.LOSS_PADDED


def bytes_of_loss(shape: Shape, run: Settings, element: int) -> tuple[int, int]:
    """Bytes allocated at the end of the forward and in the backward of the loss. `element` is the bytes per logit.

    Per logit: logits, their fp32 copy where they are 16-bit (with all copies that a release makes), and the log-softmax; in the backward
    the log-softmax, its gradient and that of the negative log-likelihood, 4 bytes each.
    """
    if run.loss == modes.LOSS_FUSED:
        return fused(shape, run, element)
    if run.loss == modes.LOSS_CHUNKED:
        return chunked(shape, run, element)
    if run.loss == modes.LOSS_NONE:  # another pipeline stage computes it
        return 0, 0
    if run.loss == modes.LOSS_IN_PLACE:
        forward, backward = element, 2 * element
    elif run.loss == modes.LOSS_MEGATRON:
        forward, backward = 6, 8
    else:
        shifted = {modes.LOSS_COPY: 4, modes.LOSS_FLOAT: element}.get(run.loss, 0)
        forward, backward = (8 if element == 4 else 10) + shifted, 12
    logits = shape.vocabulary * run.tokens
    softcap = element if shape.architecture.softcap else 0  # tanh keeps its output
    return (forward + softcap) * logits, (backward + softcap) * logits


def fused(shape: Shape, run: Settings, element: int) -> tuple[int, int]:
    """Liger's fused loss, without complete logits: the head's gradient is computed in the forward, in chunks, next to hidden states'."""
    rows = min(run.tokens, max(SMALLEST_CHUNK, run.tokens * shape.hidden // shape.vocabulary))
    head = shape.head_matrix * element if run.lora is None else 0
    needed = head + 2 * shape.hidden * run.tokens + 12 * shape.vocabulary * rows
    return needed, needed


def chunked(shape: Shape, run: Settings, element: int) -> tuple[int, int]:
    """TRL's chunked loss, without complete logits and nothing stored: the backward recomputes each tile and adds up gradients in fp32."""
    tile = element * min(TILE, run.tokens * shape.vocabulary)
    head = 4 * shape.head_matrix if run.lora is None else 0
    return tile, tile + 4 * shape.hidden * run.tokens + head
