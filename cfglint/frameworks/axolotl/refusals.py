"""Refusals by axolotl's checks, with keys, message, exception and remedy, their pages and places; the values that the checks get."""

from __future__ import annotations

from cfglint.findings.remedy import Remedy
from cfglint.findings.rule import pages_of_checks
from cfglint.frameworks.axolotl import KIND, PACKAGE
from cfglint.frameworks.axolotl.releases import ever
from cfglint.frameworks.refusal import Refusal, Removal
from cfglint.frameworks.releases._modelled import RENAMED
from cfglint.frameworks.releases.versions import Version, name_at
from cfglint.source.annotations import Any, ConfigMapping, ConfigTable, Operand, Sequence

MODEL = "AxolotlConfigWCapabilities"

# The kinds of refusals: the codes of their pages.
FIELD = "AXL002"
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


CODES = {check: code for code, checks in pages_of_checks(KIND).items() for check in checks}
REMOVED_KEYS = {check.removeprefix("validate_") for check, code in CODES.items() if code == REMOVED and check.startswith("validate_")}


def code_of(validator: str) -> str:
    """The code of the page that speaks of a validator; that of every other one of plugins, or of axolotl itself, or of a model in it."""
    return FIELD if validator[:1].isupper() else CODES.get(validator) or CODES["*.*" if "." in validator else "*"]


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
    steps = (remedy,) if isinstance(remedy, str | Remedy) else remedy
    return Refusal(kind, (keys,) if isinstance(keys, str) else keys, message, exception, steps)


def renamed(key: Any, release: Version) -> Any:
    """The name of a key in a release, if a later one than the checks were written for has renamed it."""
    return name_at(key, PACKAGE, release) if isinstance(key, str) else key


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

    `changed` are the names of the values that may differ from the defaults.
    """

    changed: set[str]

    def __init__(self, values: ConfigTable, release: Version) -> None:
        self.__dict__.update(values, changed=set())
        self.release = release

    def __setattr__(self, name: str, value: object) -> None:
        self.changed.add(name)
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Operand:
        current = renamed(name, self.release) if not name.startswith("__") else name
        if ever(name):
            return self.__dict__.get(current)
        raise RuntimeError(f"axolotl has no field {name}")
