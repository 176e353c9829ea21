"""A refusal by one of axolotl's checks: its topic, its keys, cfglint's message and axolotl's."""

from __future__ import annotations

from cfglint.frameworks.axolotl.releases import ever

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.findings.vocabulary import Stage
    from cfglint.frameworks.versions import Version

MODEL = "AxolotlConfigWCapabilities"
VALIDATION = "ValidationError"

# The topics of refusals; each has a rule of its own.
DATA = "data"
STREAMING = "streaming"
BATCH = "batch"
SCHEDULE = "schedule"
EVALUATION = "evaluation"
ATTENTION = "attention"
ADAPTER = "adapter"
QUANTIZATION = "quantization"
FSDP = "fsdp"
PARALLEL = "parallel"
RL = "rl"
OPTIMIZER = "optimizer"
LOSS = "loss"
CHECKPOINTING = "checkpointing"
REMOVED = "removed"
PLUGIN = "plugin"
MODEL_TYPE = "model-type"
PRECISION = "precision"
COMPILE = "compile"
TOKENIZER = "tokenizer"
TYPE = "type"


class Refusal(Exception):
    """A refusal by axolotl: the first key is the place of the finding, further keys are related.

    `raises` is the class of the exception that the user sees; pydantic wraps a ValueError into its ValidationError.
    """

    def __init__(
        self, topic: str, keys: tuple[str, ...], message: str, says: str, raises: str = VALIDATION, fails_at: Stage = "config"
    ) -> None:
        super().__init__(message)
        self.topic = topic
        self.paths = [tuple(key.split(".")) for key in keys]
        self.message = message
        self.says = says
        self.raises = raises
        self.fails_at = fails_at

    @property
    def exception(self) -> str:
        """The exception as the user sees it."""
        if self.raises == VALIDATION:
            return f"ValidationError: 1 validation error for {MODEL}: Value error, {self.says}"
        return f"{self.raises}: {self.says}"


class Data(dict):  # type: ignore[type-arg]
    """The values of the file as the checks of a release see them.

    `asked` is the key that was looked up last, for Python's own exceptions. `plugins` are the folders of axolotl's plugins that the
    file lists, `foreign_plugins` whether it lists others. `additions` are the values that a check writes into the DeepSpeed file.
    """

    def __init__(self, values: dict[Any, Any], plugins: list[str], foreign_plugins: bool, release: Version) -> None:
        super().__init__(values)
        self.release = release
        self.asked: Any = ""
        self.plugins = plugins
        self.foreign_plugins = foreign_plugins
        self.additions: dict[str, Any] = {}

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key."""
        self.asked = key
        return super().get(key, default)


class Model:
    """The values of the validated model, as attributes; a field that another release has or a plugin that is not loaded is None.

    `foreign_plugins` is whether the file lists third-party plugins.
    """

    def __init__(self, values: dict[str, Any], foreign_plugins: bool, release: Version) -> None:
        self.__dict__.update(values)
        self.foreign_plugins = foreign_plugins
        self.release = release

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if ever(name):
            return None
        raise RuntimeError(f"axolotl has no field {name}")
