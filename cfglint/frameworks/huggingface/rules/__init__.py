"""Helpers shared by the Trainer rules."""

from __future__ import annotations

from cfglint.findings.rule import Finding
from cfglint.findings.setting import Setting
from cfglint.findings.wording import spelled as shown
from cfglint.frameworks.huggingface.batch import of
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.source.annotations import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.refusal import Refusal
    from cfglint.source.document import Path

__all__ = ["article", "lost_strategy", "of", "place", "refusals_of", "refused", "shown", "strategy"]


def refusals_of(config: TrainerConfig, page: str) -> Iterator[Refusal]:
    return (argument_refusal for argument_refusal in config.argument_refusals if argument_refusal.kind == page)


def refused(config: TrainerConfig, page: str) -> Iterator[Finding]:
    from cfglint.frameworks.huggingface.argument_words import BETTER

    better = BETTER.get(page)
    for refusal in refusals_of(config, page):
        if better is not None:
            better(config, refusal)
        places = [place(config, path) for path in refusal.paths or [()]]
        yield refusal.finding(places, config.values, depends_on=config.unset(*refusal.read))


def place(config: TrainerConfig, path: Path) -> Setting:
    if len(path) < 2 or path[0] == "fsdp":
        return of(config, str(path[0])) if path else config.setting()
    if path[0] == "fsdp_config":
        from cfglint.frameworks.huggingface.fsdp_section import FsdpSection

        return FsdpSection(config).place(str(path[1]))
    return config.setting(*path)


def strategy(config: TrainerConfig) -> Setting:
    return config.setting(config.arguments.strategy_key, value=config.arguments.eval_strategy)


def lost_strategy(config: TrainerConfig) -> Setting | None:
    """The removed `evaluation_strategy`, if the best model could be loaded with it: then it is the only cause of that error."""
    former = config.setting("evaluation_strategy")
    if not former.written or config.declares("evaluation_strategy"):
        return None
    args = config.arguments
    is_cause = args["load_best_model_at_end"] and args.eval_strategy != args["save_strategy"] == former.value
    return former if is_cause else None


def article(value: object) -> str:
    names = {str: "a string", bool: "a boolean", int: "an integer", float: "a number", list: "a list", dict: "a mapping"}
    return names.get(type(value), shown(value))
