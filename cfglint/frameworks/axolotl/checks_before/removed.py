"""Keys that were removed or renamed: checks before pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl.refusals import REMOVED, Data, refuses

BOTH_NOISES = Releases((0, 11, 0))  # before, both keys passed by mistake
UNSLOTH = (
    "unsloth_cross_entropy_loss",
    "unsloth_lora_mlp",
    "unsloth_lora_qkv",
    "unsloth_lora_o",
    "unsloth_rms_norm",
    "unsloth_rope",
)


def former_noise(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:603 does."""
    if not data.get("noisy_embedding_alpha"):
        return
    if data.get("neftune_noise_alpha") and data.release not in BOTH_NOISES:
        return
    if data.get("neftune_noise_alpha"):
        says = (
            "noisy_embedding_alpha is deprecated, use neftune_noise_alpha; both are set, please remove the deprecated "
            "noisy_embedding_alpha setting"
        )
        message = "`noisy_embedding_alpha` is the old name of `neftune_noise_alpha`, and both are set"
        raise refuses(REMOVED, ("noisy_embedding_alpha", "neftune_noise_alpha"), message, says, remedy="remove `noisy_embedding_alpha`")
    data["neftune_noise_alpha"] = data.pop("noisy_embedding_alpha")


def former_buffer(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:615 does."""
    if not data.get("pretrain_multipack_buffer_size"):
        return
    if data.get("streaming_multipack_buffer_size"):
        says = (
            "pretrain_multipack_buffer_size is deprecated, use streaming_multipack_buffer_size; both are set, please remove the "
            "deprecated pretrain_multipack_buffer_size setting"
        )
        message = "`pretrain_multipack_buffer_size` is the old name of `streaming_multipack_buffer_size`, and both are set"
        raise refuses(
            REMOVED,
            ("pretrain_multipack_buffer_size", "streaming_multipack_buffer_size"),
            message,
            says,
            remedy="remove `pretrain_multipack_buffer_size`",
        )
    data["streaming_multipack_buffer_size"] = data.pop("pretrain_multipack_buffer_size")


def unsloth(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:281 does."""
    found = [key for key in UNSLOTH if data.get(key)]
    if found:
        says = (
            f"`{'`, `'.join(found)}` {'has' if len(found) == 1 else 'have'} been removed. Please use `lora_mlp_kernel`, "
            "`lora_qkv_kernel`, `lora_o_kernel` instead."
        )
        message = f"`{found[0]}` was removed"
        raise refuses(REMOVED, tuple(found), message, says, remedy="use `lora_mlp_kernel`, `lora_qkv_kernel` and `lora_o_kernel`")
