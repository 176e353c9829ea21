"""The memory of an optimizer: its states per trained parameter, and the temporary memory of its step.

Sources: torch 2.13.0 `optim/adam.py` (`_multi_tensor_adam` makes `exp_avg_sq_sqrt`, one more copy of a state; AdamW is Adam with
decoupled weight decay there), 2.2.2, 2.1.2 and 2.0.1 `optim/adamw.py` (2.0.1 adds `eps` to another copy, `denom`), 1.13.1 (a loop over
the tensors by default, whose `denom` is the quotient of a root), `optim/sgd.py`; transformers `optimization.py` Adafactor;
bitsandbytes' `optim/optimizer.py` (block-wise states: one byte each and a fp32 maximum per 256; paged states are unified memory,
outside of torch's allocator, and move to the CPU when the GPU is full).
"""

from __future__ import annotations

from cfglint.batch.memory import settings as modes

FOREACH, ONE_COPY = (2,), (2, 1)  # torch: several tensors at a time, and with one copy
BLOCK_STATE = 1 + 4 / 256
BLOCK_STATE_4BIT = 0.5 + 4 / 128
ADAFACTOR_ROWS = 0.001  # of a matrix: its row and column sums
NAMES = {
    name: kind
    for kind, names in {
        modes.ADAM_FUSED: "adamw_torch_fused adamw_apex_fused adamw_hf adamw_anyprecision",
        modes.ADAM_FOREACH: "adamw_torch adamw_torch_xla",
        modes.ADAM_8BIT: "adamw_bnb_8bit adamw_8bit adamw_torch_8bit ademamix_8bit",
        modes.ADAM_4BIT: "adamw_torch_4bit",
        modes.PAGED: "paged_adamw_8bit paged_ademamix_8bit paged_adamw paged_adamw_32bit paged_lion paged_lion_32bit paged_lion_8bit",
        modes.ONE_STATE: "lion lion_32bit adagrad rmsprop rmsprop_bnb rmsprop_bnb_32bit",
        modes.LION_8BIT: "lion_8bit rmsprop_bnb_8bit",
        modes.ADAFACTOR: "adafactor",
        modes.SGD: "sgd",
    }.items()
    for name in names.split()
}


def kind_of(name: str, torch: tuple[int, ...] = ONE_COPY) -> str | None:
    """The kind of states of an `optim` value of the Trainer; None for an optimizer that is not modelled."""
    kind = NAMES.get(name)
    if kind != modes.ADAM_FOREACH or torch >= ONE_COPY:
        return kind
    return modes.ADAM_TWICE if torch >= FOREACH else modes.ADAM_LOOP


def state_bytes(kind: str, width: int) -> float:
    """Bytes of state per trained parameter of `width` bytes: the states have the parameter's dtype."""
    fixed = {
        modes.ADAM_8BIT: 2 * BLOCK_STATE,
        modes.LION_8BIT: BLOCK_STATE,
        modes.ADAM_4BIT: 2 * BLOCK_STATE_4BIT,
        modes.SGD: 0.0,
        modes.PAGED: 0.0,
    }
    if kind in fixed:
        return fixed[kind]
    states: dict[str, float] = {modes.ADAFACTOR: 4 * ADAFACTOR_ROWS, modes.ONE_STATE: 1}
    return states.get(kind, 2) * width


def step_bytes(kind: str, width: int, trained: int, largest: int) -> int:
    """The temporary bytes of the step: copies of a state with foreach, fp32 work on the largest matrix with Adafactor."""
    if kind in (modes.ADAM_FOREACH, modes.ADAM_TWICE):
        return trained * width * (1 if kind == modes.ADAM_FOREACH else 2)
    if kind == modes.ADAM_LOOP:
        return 2 * largest * width
    if kind == modes.ADAFACTOR:
        return largest * (16 if width == 2 else 12)
    return 0
