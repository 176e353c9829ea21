"""Rules about scalars that a YAML 1.1 parser loads as an unexpected value."""

from __future__ import annotations

from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.base import Config
from cfglint.frameworks.remedies import replace
from cfglint.source.annotations import Iterator
from cfglint.source.document import SCALAR, Node
from cfglint.source.numbers import DIGITS


@rule("TYP001")
def octal_number(config: Config) -> Iterator[Finding]:
    for setting in plain_scalars(config):
        raw = setting.node.raw.lstrip("+-") if setting.node else ""
        if len(raw) > 1 and raw[0] == "0" and raw.isdigit() and type(setting.value) is int:
            text = f"`{setting.name}` is {raw}, which is octal in YAML 1.1: the value is {setting.value}"
            yield Finding(setting, text, help=f"write {int(raw)} or {setting.value}")


@rule("TYP002")
def sexagesimal_number(config: Config) -> Iterator[Finding]:
    for setting in plain_scalars(config):
        raw = setting.node.raw if setting.node else ""
        if ":" in raw and type(setting.value) in (int, float):
            text = f"`{setting.name}` is {raw}, which is base 60 in YAML 1.1: the value is {setting.value}"
            yield Finding(setting, text, help="write the number, or quote the string")


@rule("TYP003")
def none_is_string(config: Config) -> Iterator[Finding]:
    for setting in plain_scalars(config):
        if setting.value == "None" and not any(path == setting.path for path, _ in config.documents[0].missing):
            yield Finding(
                setting,
                f'`{setting.name}` is the string "None" in YAML, not null',
                note="it is a string that is not empty, so it counts as true",
                fix=replace(setting, None, "write null", safe=False),
            )


def plain_scalars(config: Config) -> list[Setting]:
    """Unquoted scalars of a config's YAML files that these rules check, with the values that the parser gives them."""
    if config.plain_scalars is None:
        config.plain_scalars = list(found_scalars(config))
    return config.plain_scalars


def found_scalars(config: Config) -> Iterator[Setting]:
    """The scalars of `plain_scalars`, from a walk over the files."""
    for document in config.documents:
        if document.syntax != "yaml" or not any(map(is_suspicious, document.leaves)):
            continue
        for path, key, node in document.walk():
            if is_suspicious(node) and path not in config.overridden:
                yield Setting(path, config.get(*path), WRITTEN, document, node, key)


def is_suspicious(node: Node) -> bool:
    """Whether a scalar may be one that these rules report."""
    if node.style or node.kind != SCALAR:
        return False
    number = node.raw.lstrip("+-")
    if number[:1] not in DIGITS or not number:
        return node.raw == "None"
    return ":" in number or (number[0] == "0" and number.isdigit() and len(number) > 1)
