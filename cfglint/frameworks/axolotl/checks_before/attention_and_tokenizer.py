"""Attention, tokenizer and chat template: checks before pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.wording import spelled
from cfglint.frameworks.axolotl.refusals import ATTENTION, TOKENIZER, Data, excludes, requires

ADVISED = Releases((0, 18, 0))  # the message says what to provide
PROCESSOR = Releases((0, 17, 0))
LEGACY_ATTENTION = {  # in the order in which axolotl prefers them (enums.py:119-126)
    "xformers_attention": "xformers",
    "sage_attention": "sage",
    "flex_attention": "flex_attention",
    "flash_attention": "flash_attention_2",
    "sdp_attention": "sdpa",
    "eager_attention": "eager",
}


def attention(data: Data) -> None:
    """Check the values as utils/schemas/config.py:1640 does."""
    chosen = data.get("attn_implementation")
    flags = [flag for flag in LEGACY_ATTENTION if data.get(flag)]
    if data.get("gemma4_hybrid_attn_impl"):
        if not chosen and not flags:
            data["attn_implementation"] = chosen = "flash_attention_2"
        elif chosen and chosen != "flash_attention_2":
            says = (
                "gemma4_hybrid_attn_impl requires attn_implementation=flash_attention_2 (sliding-window layers run under FA2); got "
                f"{chosen!r}."
            )
            raise requires(
                ATTENTION,
                "gemma4_hybrid_attn_impl",
                "attn_implementation: flash_attention_2",
                says,
                note=f", and it is {spelled(chosen)}",
                at="attn_implementation",
            )
    if chosen and flags:
        says = (
            f"attn_implementation={chosen!r} cannot be combined with legacy attention flags ({', '.join(sorted(flags))}). The legacy "
            "flags are deprecated — set only `attn_implementation`."
        )
        raise excludes(ATTENTION, flags[0], "attn_implementation", says, remedy="remove the old key")
    if not chosen and flags:
        data["attn_implementation"] = LEGACY_ATTENTION[flags[0]]
    for flag in LEGACY_ATTENTION:
        data.pop(flag, None)


def mistral_tokenizer(data: Data) -> None:
    """Complete the values as utils/schemas/validation.py:747 does."""
    if data.get("tokenizer_use_mistral_common") is None:
        names = [data.get(key, "") for key in ("base_model", "base_model_config", "tokenizer_config")]
        if any("magistral" in name.lower() for name in names):
            data["tokenizer_use_mistral_common"] = True


def mistral_options(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:783 does."""
    if not data.get("tokenizer_use_mistral_common"):
        return
    for key, says in (
        ("added_tokens_overrides", "added_tokens_overrides is not supported with mistral-common tokenizer"),
        ("special_tokens", "special_tokens override is not supported with mistral-common tokenizer"),
        ("tokens", "tokens override is not supported with mistral-common tokenizer"),
        ("chat_template", "Setting chat_template is not supported with mistral-common tokenizer"),
        ("processor_kwargs", "processor_kwargs is not supported with mistral-common tokenizer"),
    ):
        if data.get(key) and (key != "processor_kwargs" or data.release in PROCESSOR):
            raise excludes(TOKENIZER, key, "the mistral-common tokenizer", says, at=(key, "tokenizer_use_mistral_common"))


def chat_template(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1824 does."""
    if data.get("chat_template") == "jinja" and not data.get("chat_template_jinja"):
        template = "'jinja'. Please provide the Jinja template string in chat_template_jinja field." if data.release in ADVISED else "jinja"
        says = f"chat_template_jinja is required when chat_template is set to {template}"
        raise requires(TOKENIZER, "chat_template: jinja", "chat_template_jinja", says)
    if data.get("chat_template_jinja") and not data.get("chat_template"):
        data["chat_template"] = "jinja"
