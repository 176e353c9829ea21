"""Refusals by axolotl's checks, made with keys, message, exception and remedy at once; and the values that the checks get."""

from __future__ import annotations

from cfglint.findings.remedy import Remedy
from cfglint.frameworks.axolotl import PACKAGE
from cfglint.frameworks.axolotl.releases import ever
from cfglint.frameworks.refusal import Refusal, Removal
from cfglint.frameworks.releases._modelled import RENAMED
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Any, ConfigMapping, ConfigTable, Operand, Sequence

MODEL = "AxolotlConfigWCapabilities"

# The kinds of refusals: the codes of their pages.
DATA = "AXL010"
STREAMING = "AXL011"
BATCH = "AXL012"
ATTENTION = "AXL015"
ADAPTER = "AXL016"
QUANTIZATION = "AXL017"
FSDP = "AXL018"
PARALLEL = "AXL019"
CHECKPOINTING = "AXL023"
REMOVED = "AXL024"
PLUGIN = "AXL025"
COMPILE = "AXL028"
TYPE = "AXL030"


KEPT = ("rl", "adapter", "base_model", "plugins")  # the method and the model of the run: removing one changes more than an option


def refuses(
    kind: str,
    keys: str | Sequence[str],
    message: str,
    says: str,
    *,
    remedy: Remedy | str | Sequence[Remedy | str | Removal] = (),
    raises: str = "",
) -> Refusal:
    """A refusal with a message of its own; `says` is axolotl's message.

    `raises` is the class of the exception that the user sees, if pydantic does not wrap a ValueError into its ValidationError.
    """
    exception = f"{raises}: {says}" if raises else f"ValidationError: 1 validation error for {MODEL}: Value error, {says}"
    return Refusal(
        kind, (keys,) if isinstance(keys, str) else keys, message, exception, (remedy,) if isinstance(remedy, str | Remedy) else remedy
    )


def renamed(key: Any, release: Version) -> Any:
    """The name of a key in a release, if a later one than the checks were written for has renamed it."""
    if not RENAMED or not isinstance(key, str):
        return key
    from cfglint.frameworks.releases.renamed_fields import name_at

    return name_at(key, PACKAGE, release)


class Data(dict):  # type: ignore[type-arg]
    """The values of the file as the checks of a release see them.

    `asked` is the key that was looked up last, for Python's own exceptions. `plugins` are the folders of axolotl's plugins that the
    file lists, `foreign_plugins` whether it lists others. `additions` are the values that a check writes into the DeepSpeed file.
    """

    def __init__(self, values: ConfigMapping, plugins: list[str], foreign_plugins: bool, release: Version) -> None:
        super().__init__(values)
        self.release = release
        self.asked: Operand = ""
        self.plugins = plugins
        self.foreign_plugins = foreign_plugins
        self.additions: ConfigTable = {}

    def get(self, key: object, default: object = None) -> Operand:
        self.asked = key
        return dict.get(self, renamed(key, self.release) if RENAMED else key, default)

    def __setitem__(self, key: object, value: object) -> None:
        super().__setitem__(renamed(key, self.release), value)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(renamed(key, self.release))


class AxolotlModel:
    """The values of the validated model, as attributes; a field that another release has or a plugin that is not loaded is None.

    `foreign_plugins` is whether the file lists third-party plugins. `changed` are the names of the values that may differ from the
    defaults.
    """

    changed: set[str]

    def __init__(self, values: ConfigTable, foreign_plugins: bool, release: Version) -> None:
        self.__dict__.update(values, changed=set())
        self.foreign_plugins = foreign_plugins
        self.release = release

    def __setattr__(self, name: str, value: object) -> None:
        self.changed.add(name)
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Operand:
        current = renamed(name, self.release) if not name.startswith("__") else name
        if ever(name):
            return self.__dict__.get(current)
        raise RuntimeError(f"axolotl has no field {name}")
