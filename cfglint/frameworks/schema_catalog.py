"""The schemas as entries of a catalogue, in the form of https://www.schemastore.org: editors choose by the name of a file."""

from __future__ import annotations

from cfglint.frameworks import framework
from cfglint.frameworks.schema import kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Entry(TypedDict):
        """One schema of the catalogue."""

        name: str
        description: str
        fileMatch: list[str]
        url: str


FILE_MATCH = {  # names that no other kind of file has; a Trainer or TRL config has no usual name
    "accelerate": (
        "accelerate_config.yaml",
        "accelerate_config.yml",
        "accelerate_config_*.yaml",
        "**/accelerate_configs/*.yaml",
        "**/accelerate_configs/*.yml",
        "**/huggingface/accelerate/default_config.yaml",
    ),
    "axolotl": ("axolotl.yaml", "axolotl.yml", "*.axolotl.yaml", "*.axolotl.yml"),
    "deepspeed": (
        "ds_config.json",
        "ds_config_*.json",
        "ds_config-*.json",
        "ds_z*_config.json",
        "deepspeed_config.json",
        "deepspeed_config_*.json",
    ),
    "huggingface": ("training_args.yaml", "training_args.yml", "training_arguments.yaml", "*.trainer.yaml", "*.trainer.yml"),
    "llamafactory": ("llamafactory.yaml", "llamafactory.yml", "*.llamafactory.yaml", "*.llamafactory.yml"),
    "neox": ("**/gpt-neox/configs/*.yml", "*.neox.yml", "*.neox.yaml"),
    "trl": ("trl_config.yaml", "trl_config.yml", "*.trl.yaml", "*.trl.yml"),
}


def catalog(address: str) -> list[Entry]:
    """The entries of all schemas, each at an address that ends with the name of its kind."""
    return [entry(kind, address) for kind in kinds()]


def entry(kind: str, address: str) -> Entry:
    """The entry of a kind."""
    own = framework(kind)
    return {
        "name": own.title,
        "description": f"{own.title[0].upper()}{own.title[1:]} ({own.package} {own.newest})",
        "fileMatch": [*FILE_MATCH[kind]],
        "url": f"{address.rstrip('/')}/{kind}.json",
    }
