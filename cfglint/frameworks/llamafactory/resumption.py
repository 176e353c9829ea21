"""The checkpoint that LLaMA-Factory continues from, which it also looks for by itself (0.9.5 hparams/parser.py:476-509)."""

from __future__ import annotations

from cfglint.frameworks.huggingface.resumption import continued, last_of_output, named_in_config
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.resumption import KEY, Resumption, given_checkpoint


def resumption(config: LlamaFactoryConfig) -> Resumption | None:
    """The checkpoint of a run: the one that it names, else the last one of an output folder that is not to be overwritten."""
    checkpoint = given_checkpoint(config.facts)
    if checkpoint is not None:
        return continued(config, checkpoint)
    if not config.trains or (config.stage in ("rm", "ppo") and config.method in ("full", "freeze")):
        return None
    if config.arguments[KEY] is None and config.arguments.known(KEY, "output_dir", "do_train"):
        overwrites = config.arguments["overwrite_output_dir"] if config.arguments.exists("overwrite_output_dir") else None
        return None if overwrites else continued(config, last_of_output(config, config.setting("output_dir"), is_unasked=True))
    return continued(config, named_in_config(config))
