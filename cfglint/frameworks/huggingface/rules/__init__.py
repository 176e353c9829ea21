"""Helpers shared by the Trainer rules."""

from __future__ import annotations

from cfglint.findings.rule import Check, Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.findings.wording import spelled as shown
from cfglint.frameworks.huggingface.argument_words import improve
from cfglint.frameworks.huggingface.batch import of
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.remedies import choice, raised_by
from cfglint.source.annotations import Callable, ConfigMapping, Iterable, Iterator, Sequence
from cfglint.source.document import Path
from cfglint.source.python.call import CallDocument

__all__ = ["of", "shown"]
PLAIN_KEYS = (4, 32)  # the keys of fsdp_config have the prefix `fsdp_` before
STRIPS_PREFIXES = (4, 52)  # of a section in the file itself; before, only of one in a file of its own
READS_VERSION = (5, 0)  # FSDP 1 unless the section says otherwise, and `reshard_after_forward` in its place
SECTION_RULES = (5, 10)  # FSDP2 and checks of fsdp_config from here on


def rule_about(code: str, subject: Callable[[TrainerConfig], tuple[object, ...] | None]) -> Callable[[Check], Check]:
    """Make a function the rule about something that only some runs have; it gets that, too."""

    def register(check: Check) -> Check:
        def of_config(config: TrainerConfig) -> Iterable[Finding]:
            found = subject(config)
            return check(config, *found) if found is not None else ()

        of_config.__name__ = check.__name__
        rule(code)(of_config)
        return check

    return register


def refusals_of(config: TrainerConfig, page: str) -> Iterator[Refusal]:
    return (refusal for refusal in config.argument_refusals if refusal.kind == page)


def refused(config: TrainerConfig, page: str) -> Iterator[Finding]:
    for refusal in refusals_of(config, page):
        improve(config, refusal)
        places = [place(config, path) for path in refusal.paths or [()]]
        yield refusal.finding(places, config.values, depends_on=config.unset(*refusal.read))


def place(config: TrainerConfig, path: Path) -> Setting:
    if len(path) < 2 or path[0] == "fsdp":
        return of(config, str(path[0])) if path else config.setting()
    return FsdpSection(config).place(str(path[1])) if path[0] == "fsdp_config" else config.setting(*path)


def keyword(document: CallDocument, name: str) -> Setting:
    """A keyword of a call in a program, at its place, or that of the call where it is not written."""
    key, node = document.find((name,))
    return Setting((name,), document.values.get(name), WRITTEN, document, node or document.roots[0], key)


def unlisted(config: TrainerConfig, name: str, value: object, what: str, allowed: Sequence[str], exception: str | None = None) -> Finding:
    return Finding(of(config, name), f"`{name}` is {shown(value)}{what}", exception=exception, help=choice(name, value, allowed))


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


class FsdpSection:
    """The section `fsdp_config` as a release reads it, without its `fsdp_` prefixes; `place` returns the key as written."""

    def __init__(self, config: TrainerConfig) -> None:
        self.config = config
        self.values: ConfigMapping = {}
        self.spelling: ConfigMapping = {}
        needs_prefix = config.version < PLAIN_KEYS
        strips = needs_prefix or config.version >= STRIPS_PREFIXES or "fsdp_config" in config.files
        for key, value in (config.section("fsdp_config") or {}).items():
            is_prefixed = isinstance(key, str) and key.startswith("fsdp_")
            if is_prefixed or key == "xla" or not needs_prefix:
                name = key[5:] if is_prefixed and strips else key
                self.values[name], self.spelling[name] = value, key

    def place(self, key: str) -> Setting:
        return self.config.setting("fsdp_config", self.spelling.get(key, key))

    @property
    def version(self) -> int | None:
        """FSDP 1 or 2; None where the value is not a number."""
        if self.config.version < READS_VERSION:
            return 1
        value = self.values.get("version", 2 if self.config.version >= SECTION_RULES else 1)
        return None if raised_by(int, value) else int(value)
