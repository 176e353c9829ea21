"""Rules about requirements of the trackers, and about the arguments that the trainer receives."""

from __future__ import annotations

from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.source.annotations import Iterator


@rule("LLF065")
def trackio_project(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if "trackio" in config.arguments.trackers and not config.arguments["project"]:
        yield Finding(
            config.field("project"),
            "`report_to: trackio` requires `project`",
            depends_on=config.unset("project"),
            help="set `project: NAME`, or another tracker in `report_to`",
        )
