"""The arguments of a TRL trainer after `__post_init__`: those of `TrainingArguments`, of its own class and of the script."""

from __future__ import annotations

from cfglint.frameworks.huggingface.arguments import DICT_FIELDS, Arguments
from cfglint.frameworks.trl.releases import HISTORY
from cfglint.frameworks.versions import parse_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.trl.fields import Fields
    from cfglint.frameworks.versions import Version

# Fields that take inline JSON in addition to those of TrainingArguments (trl 1.16.0 trainer/*_config.py, _VALID_DICT_FIELDS).
INLINE_JSON: dict[Version, tuple[str, ...]] = {
    parse_version("0.17.0"): ("model_init_kwargs",),
    parse_version("1.16.0"): (
        "model_init_kwargs",
        "dataset_kwargs",
        "chat_template_kwargs",
        "generation_kwargs",
        "teacher_model_init_kwargs",
    ),
}
CHECKPOINTING, RENAMED_CHECKPOINTING = "gradient_checkpointing", "activation_checkpointing"  # the new name has the default of the old one
PRECISION_BY_DEFAULT = parse_version("1.16.0")  # from here on bf16 is on unless fp16 is (trl 1.16.0 trainer/base_config.py:111)


class TrlArguments(Arguments):
    """The values of a trainer's fields: `given` by the file, or the defaults of its class.

    `undecided` are fields whose value is unknown: the trainer is unknown, or the parser refused the string.
    """

    def __init__(
        self,
        values: dict[Any, Any],
        version: Version,
        fields: Fields,
        release: Version,
        refused: set[str],
        own_defaults: dict[str, Any] | None = None,
    ) -> None:
        self.fields = fields
        self.dict_fields = (*DICT_FIELDS, *(name for name in INLINE_JSON[release] if name in fields.types))
        super().__init__(values, version, own_defaults)
        self.undecided = self.undecided | (fields.undecided - self.given.keys()) | refused
        if release == PRECISION_BY_DEFAULT and self["bf16"] is None and not self.undecided & {"bf16", "fp16"}:
            self.defaults = {**self.defaults, "bf16": not self["fp16"]}
            self.given.pop("bf16", None)

        if RENAMED_CHECKPOINTING in self.defaults and CHECKPOINTING not in self.given:
            self.defaults = {**self.defaults, RENAMED_CHECKPOINTING: self.defaults[CHECKPOINTING]}

    def release_defaults(self, version: Version) -> dict[str, Any]:
        """The fields of the trainer's class with their defaults."""
        return self.fields.defaults

    def exists(self, name: str) -> bool:
        """Whether any release has a field of this name, for any trainer."""
        return super().exists(name) or HISTORY.ever(name)

    def kind_of(self, name: str) -> str:
        """The type of a field, as `huggingface.fields` names it."""
        of_own_class = name in self.fields.own or not super().exists(name)  # TRL's, or a field that the program defines
        return self.fields.types[name] if of_own_class else super().kind_of(name)
