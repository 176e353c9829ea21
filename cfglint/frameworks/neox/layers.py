"""The kinds of layers of a GPT-NeoX model.

Source: gpt-neox 2026-05 megatron/model/transformer.py:893-1010, megatron/model/gpt2_model.py.
"""

from __future__ import annotations

from cfglint.source.numbers import is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.neox.config import NeoXConfig


def transformer(config: NeoXConfig) -> bool:
    """Whether some layer is an ordinary transformer layer, with attention and an MLP."""
    attention = config.derived.attention
    return attention is not None and any(kind not in ("gmlp", "amlp", "rwkv", "mamba") for kind in attention.kinds)


def dense(config: NeoXConfig) -> bool:
    """Whether some transformer layer has GPT-NeoX's own MLP, not experts or that of Transformer Engine."""
    experts, interval = config.argument("moe_num_experts"), config.argument("moe_expert_interval")
    all_experts = is_number(experts) and experts > 1 and interval in (1, -1)
    return transformer(config) and not config.argument("te_layernorm_mlp") and not all_experts


def own_attention(config: NeoXConfig) -> bool:
    """Whether transformer layers use GPT-NeoX's own attention, not Transformer Engine's."""
    return transformer(config) and not config.argument("te_mha") and not config.argument("te_fp8_mha")
