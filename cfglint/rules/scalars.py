"""Rules about scalars that a YAML 1.1 reader takes for something else than they look like."""

from __future__ import annotations

from cfglint.findings.diagnostic import WARNING
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.setting import WRITTEN, Setting
from cfglint.source.document import SCALAR
from cfglint.source.numbers import DIGITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.base import Config
    from cfglint.source.document import Node

FIRST = "+-N" + DIGITS  # what a deceptive scalar begins with


@rule(
    "TYP001",
    "octal-number",
    WARNING,
    bad="output_dir: out\nper_device_train_batch_size: 010\n",
    good="output_dir: out\nper_device_train_batch_size: 10\n",
    example={"kind": "huggingface", "at": "/per_device_train_batch_size"},
)
def octal_number(config: Config) -> Iterator[Finding]:
    """A number with a leading zero is read as octal.

    YAML 1.1 takes `010` for 8. Nothing says so: the run starts with the other number.

    Fix: leave the zero out.

    Source: PyYAML 6.0.3 constructor.py:239 (construct_yaml_int), resolver.py:182.
    """
    for setting in plain_scalars(config):
        raw = setting.node.raw.lstrip("+-") if setting.node else ""
        if len(raw) > 1 and raw[0] == "0" and raw.isdigit() and type(setting.value) is int:
            yield Finding(setting, f"`{raw}` is octal in YAML 1.1: the framework reads {setting.value}")


@rule(
    "TYP002",
    "sexagesimal-number",
    WARNING,
    bad="output_dir: out\nsave_steps: 1:30\n",
    good="output_dir: out\nsave_steps: 90\n",
    example={"kind": "huggingface", "at": "/save_steps"},
)
def sexagesimal_number(config: Config) -> Iterator[Finding]:
    """Numbers with a colon are read in base 60.

    YAML 1.1 takes `1:30` for 90, so a time or a ratio becomes a plain number without a word.

    Fix: write the number, or quote the text.

    Source: PyYAML 6.0.3 constructor.py:241, resolver.py:186.
    """
    for setting in plain_scalars(config):
        raw = setting.node.raw if setting.node else ""
        if ":" in raw and type(setting.value) in (int, float):
            yield Finding(setting, f"`{raw}` is base 60 in YAML 1.1: the framework reads {setting.value}")


@rule(
    "TYP003",
    "none-is-text",
    WARNING,
    bad="output_dir: out\nsave_total_limit: None\n",
    good="output_dir: out\nsave_total_limit: null\n",
    fixed="output_dir: out\nsave_total_limit: null\n",
    example={"kind": "huggingface", "at": "/save_total_limit"},
)
def none_is_text(config: Config) -> Iterator[Finding]:
    """`None` in YAML is the text "None", not nothing.

    The key is set to four letters: where a number is expected the run dies when it is used, hours later
    for a key such as `save_total_limit`; where text is taken, a file or an experiment of that name appears.

    Fix: `null`, `~`, or leave the key out.

    Source: PyYAML 6.0.3 resolver.py:194 (only `~`, `null`, `Null`, `NULL` and nothing are null).
    """
    for setting in plain_scalars(config):
        if setting.value == "None":
            from cfglint.findings.fix_builders import replace

            yield Finding(
                setting,
                f"`{setting.name}` is the text 'None' to YAML; nothing is `null`",
                fix=replace(setting, None, "write null", safe=False),
            )


def plain_scalars(config: Config) -> list[Setting]:
    """Unquoted scalars of a config's YAML files that may be more than they look, with the values that its reader gives them."""
    if config.plain_scalars is None:
        config.plain_scalars = list(found_scalars(config))
    return config.plain_scalars


def found_scalars(config: Config) -> Iterator[Setting]:
    """The same, found by a walk over the files."""
    for document in config.documents:
        if document.syntax != "yaml" or not any(map(deceptive, [node for node in document.leaves if node.raw[:1] in FIRST])):
            continue
        for path, key, node in document.walk():
            if deceptive(node) and path not in config.overridden:
                yield Setting(path, config.get(*path), WRITTEN, document, node, key)


def deceptive(node: Node) -> bool:
    """Whether a scalar may be one that these rules speak of."""
    if node.style or node.kind != SCALAR:
        return False
    number = node.raw.lstrip("+-")
    if number[:1] not in DIGITS or not number:
        return node.raw == "None"
    return ":" in number or (number[0] == "0" and number.isdigit() and len(number) > 1)
