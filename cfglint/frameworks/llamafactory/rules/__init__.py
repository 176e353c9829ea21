"""Functions that several rules of LLaMA-Factory use."""

from __future__ import annotations

from cfglint.findings.remedy import Remedy, set_key
from cfglint.findings.rule import Finding
from cfglint.frameworks.huggingface.batch import wanted_steps
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.source.annotations import Iterator

STREAMED = ("LLF012", "streaming")  # whose remedy is the number of steps of an epoch


def refused(config: LlamaFactoryConfig, code: str) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind == code:
            if (code, refusal.key) == STREAMED:
                refusal.help = (Remedy(wanted_steps(config).alternatives[:1]), set_key("streaming", False))
            of_model = config.quantization_of_model()[1] if refusal.fails_at == "init" else ()
            places = [config.field(path[0]) if len(path) == 1 else config.setting(*path) for path in refusal.paths or [()]]
            yield refusal.finding(places, config.values, depends_on=(*config.unset(*refusal.read), *of_model))
