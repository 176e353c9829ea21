"""Launch lines: a command of a script that starts a training, with the files that it names."""

from __future__ import annotations

from cfglint.frameworks.base import LineFramework
from cfglint.launch.kinds import LAUNCH
from cfglint.source.document import Document


class LaunchFramework(LineFramework):
    """A command line. Its consumer is the parser of its arguments, or of the config file that it names."""

    kind = LAUNCH
    title = "launch line"
    no_generator = "a launch line is a command of a script; `cfglint new` prints the launch command for the files that it generates"
    rule_families = {"LCH": "Launch lines"}
    rules = "lines accelerate.rules.accelerator_calls"
    parts = {
        "config": "launch.config.consumer_config",
        "batch": "accelerate.own_loops.batch",
        "account": "accelerate.own_loops.account",
        "numbers": "accelerate.own_loops.numbers",
    }

    def title_of(self, document: Document) -> str:
        return "training loop with Accelerator" if document.is_call else self.title

    def packages(self) -> dict[str, str]:
        return {}


FRAMEWORK = LaunchFramework()
