"""What accelerate makes of a string that is to be a DeepSpeed configuration and is not an existing file."""

from __future__ import annotations

NOT_A_CONFIG = "ValueError: Expected a string path to an existing deepspeed config, or a dictionary, or a base64 encoded string. Received: "


def refused_config(text: str) -> str:
    """The exception for a string that names no existing file; empty if it is a JSON object, plain or base64-encoded.

    accelerate's `HfDeepSpeedConfig` serves the Trainer, TRL, LLaMA-Factory, axolotl and `accelerate launch`: none of them has names
    for configurations. Plain JSON is read from accelerate 1.4 on; the Trainer itself reads it in every release.
    Source: accelerate 1.15.0 utils/deepspeed.py:136-158; 0.26.1 to 1.3.0 without the first `json.loads`.
    """
    import json
    from base64 import urlsafe_b64decode

    try:
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            value = json.loads(urlsafe_b64decode(text).decode("utf-8"))
    except (ValueError, RecursionError):
        return NOT_A_CONFIG + text
    return "" if isinstance(value, dict) else f"AttributeError: '{type(value).__name__}' object has no attribute 'get'"
