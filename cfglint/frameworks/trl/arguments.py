"""The arguments of a TRL trainer after `__post_init__`: those of `TrainingArguments`, of its own class and of the script."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.frameworks.huggingface.arguments import DICT_FIELDS, Arguments
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.trl.fields import Fields
from cfglint.frameworks.trl.releases import HISTORY
from cfglint.source.annotations import ConfigMapping, ConfigTable

# Fields that take inline JSON in addition to those of TrainingArguments, and the first release in which they do
# (trl 1.16.0 trainer/*_config.py, _VALID_DICT_FIELDS).
INLINE_JSON: dict[str, Version] = {
    "model_init_kwargs": (0, 17, 0),
    **dict.fromkeys(("ref_model_init_kwargs", "teacher_model_init_kwargs"), (0, 19, 0)),
    "transformers_continuous_batching_config": (1, 7, 0),
    **dict.fromkeys(("chat_template_kwargs", "dataset_kwargs", "generation_kwargs"), (1, 11, 0)),
}
CHECKPOINTING, RENAMED_CHECKPOINTING = "gradient_checkpointing", "activation_checkpointing"  # the new name has the default of the old one

# (trainer, old name, new name, the first release whose `__post_init__` stores the value of the old one, where there is one, as the new);
# trl 0.16.1 trainer/sft_config.py, 0.26.1 trainer/grpo_config.py, trainer/dpo_config.py, experimental/kto, 0.22.0 trainer/rloo_config.py.
OLD_NAMES: tuple[tuple[str, str, str, Version], ...] = (
    ("sft", "max_seq_length", "max_length", (0, 16, 0)),
    ("sft", "use_liger", "use_liger_kernel", (0, 15, 0)),
    *((trainer, "use_liger_loss", "use_liger_kernel", (0, 25, 0)) for trainer in ("dpo", "kto", "grpo")),
    *(
        ("rloo", old, new, (0, 22, 0))
        for old, new in (
            *(("rloo_k", "num_generations"), ("cliprange", "epsilon"), ("kl_coef", "beta"), ("normalize_reward", "normalize_advantages")),
            *(("num_ppo_epochs", "num_iterations"), ("num_mini_batches", "steps_per_generation")),
            ("response_length", "max_completion_length"),
        )
    ),
)
REFUSED = Reason("file", "a string that the parser refuses")
EPISODES = "total_episodes"  # of RLOO in the same releases: `max_steps` is their number divided by the accumulation


class TrlArguments(Arguments):
    """The values of a trainer's fields: `given` by the file, or the defaults of its class; what its parser refused is unknown."""

    def __init__(
        self, values: ConfigMapping, version: Version, fields: Fields, release: Version, refused: set[str], own_defaults: ConfigTable
    ) -> None:
        self.fields = fields
        self.release = release
        self.dict_fields = (*DICT_FIELDS, *(name for name, since in INLINE_JSON.items() if name in fields.types and since <= release))
        super().__init__(values, version, own_defaults)
        self.given.update((name, Unknown(REFUSED)) for name in refused)
        if "bf16" in fields.own and self["bf16"] is None and self.known("fp16"):
            self.defaults = {**self.defaults, "bf16": not self["fp16"]}
            self.given.pop("bf16", None)

        if RENAMED_CHECKPOINTING in self.defaults and CHECKPOINTING not in self.given:
            self.defaults = {**self.defaults, RENAMED_CHECKPOINTING: self.defaults[CHECKPOINTING]}

    def _rename(self) -> None:
        super()._rename()
        for trainer, old, new, since in OLD_NAMES:
            if self.release >= since and self.fields.trainers == (trainer,) and self.given.get(old) is not None:
                self._move(old, new)
        episodes, accumulation = self.given.get(EPISODES), self["gradient_accumulation_steps"]
        counted = isinstance(episodes, int) and isinstance(accumulation, int) and accumulation
        if counted and self.fields.trainers == ("rloo",) and self.release >= OLD_NAMES[-1][-1]:
            self.given["max_steps"], self.source["max_steps"] = episodes // accumulation, EPISODES

    def release_defaults(self, version: Version) -> ConfigTable:
        return self.fields.defaults

    @property
    def releases(self) -> dict[str, Version]:
        return {"trl": self.release, **super().releases}

    def exists(self, name: str) -> bool:
        return super().exists(name) or HISTORY.ever(name)

    def kind_of(self, name: str) -> str:
        of_own_class = name in self.fields.own or not super().exists(name)  # TRL's, or a field that the program defines
        return self.fields.types[name] if of_own_class else super().kind_of(name)
