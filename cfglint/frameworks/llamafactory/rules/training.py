"""Rules about requirements of the trackers, and about the arguments that the trainer receives."""

from __future__ import annotations

from cfglint.findings.rule import Finding, config_error
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.rules import BASE, KIND
from cfglint.source.annotations import Iterator


@config_error(
    "LLF065",
    raises="ValueError: `--project` must be specified when using Trackio.",
    source="llamafactory 0.9.5 hparams/parser.py:136",
    bad=BASE + 'report_to: trackio\nproject: ""\n',
    good=BASE + "report_to: trackio\nproject: mine\n",
    example={**KIND, "at": "/project"},
)
def trackio_project(config: LlamaFactoryConfig) -> Iterator[Finding]:
    """Trackio needs a project; an empty `project` is none."""
    if "trackio" in config.arguments.trackers and not config.arguments["project"]:
        yield Finding(
            config.field("project"),
            "`report_to: trackio` requires `project`",
            depends_on=config.unset("project"),
            help="set `project: NAME`, or another tracker in `report_to`",
        )
