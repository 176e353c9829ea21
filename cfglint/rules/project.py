"""Rules that hold a run to the project's own word: its house schemas, its promises, its comments."""

from __future__ import annotations

from cfglint.findings.diagnostic import INFO, UNUSED_IGNORE, WARNING
from cfglint.findings.rule import RULES, RUN, Finding, rule
from cfglint.frameworks.setting import WRITTEN, Setting
from cfglint.rules.engine import apply
from cfglint.source.document import SCALAR, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.findings.diagnostic import Diagnostic
    from cfglint.findings.rule import Rule
    from cfglint.frameworks.base import Config
    from cfglint.run.loaded import LoadedRun

PROMISE_BROKEN = "RUN100"
HOUSE_RULE = "HSE001"

NAMES = {"global_batch": "a global batch of {}", "total_steps": "{} total steps", "tokens_per_step": "{} tokens per step"}
DECIDING = {"total_steps": ("max_steps", "train_iters", "num_train_epochs"), "tokens_per_step": ("seq_length", "max_length")}
NEED_GPUS = "BAT"  # the family whose findings come and go with the GPU count


def project_rules() -> list[Rule]:
    """The rules that look at a run as a whole."""
    return [each for each in RULES if each.scope == RUN]


def inspect_run(run: LoadedRun) -> list[Diagnostic]:
    """The promises that a run breaks and the house rules that it violates."""
    chosen = [each for each in project_rules() if each.code != UNUSED_IGNORE]
    return apply(chosen, run, run.configs[0]) if run.configs else []


def inspect_comments(run: LoadedRun) -> list[Diagnostic]:
    """The comments of a run that silence nothing."""
    return apply([each for each in project_rules() if each.code == UNUSED_IGNORE], run, run.configs[0])


@rule(
    HOUSE_RULE,
    "house-rule",
    WARNING,
    scope=RUN,
    bad="output_dir: out\nper_device_train_batch_size: 4\nseed: 1\n",
    good="output_dir: out\nper_device_train_batch_size: 4\nseed: 42\n",
    example={"kind": "huggingface", "at": "/seed", "house": {"properties": {"seed": {"const": 42}}}},
)
def house_rule(run: LoadedRun) -> Iterator[Finding]:
    """A value is not what the organisation's own schema asks for.

    `house-schema = "policy.json"` in the configuration names a JSON Schema that every config has to satisfy;
    a table gives one a kind: `house-schema = { deepspeed = "policy/deepspeed.json" }`. The schema sees the
    values as the framework's reader takes them. `x-message` in a part of it replaces the validator's words:
    `{"maximum": 1.0, "x-message": "we clip at 1.0; ask the training team for more"}`.

    The framework would start: the verdict stays, and the severity is a warning. The exit status is 1 all the
    same, for the rule is the project's own word.

    Fix: do what the schema asks for, or silence it where there is a reason:
    `# cfglint: ignore[HSE001] reason`.

    Source: the house's schema.
    """
    house = run.facts.house
    if house is None:
        return
    for config in run.configs:
        if config.load_problems:
            continue
        for each in house.violations(config.kind, config.values):
            yield Finding(config.setting(*each.path), f"house rule: {each.message}")


@rule(
    PROMISE_BROKEN,
    "promise-broken",
    WARNING,
    scope=RUN,
    bad='{"train_batch_size": 512}\n',
    good='{"train_batch_size": 256}\n',
    example={"kind": "deepspeed", "gpus": 8, "at": "/train_batch_size", "promises": {"global_batch": 256}},
)
def promise_broken(run: LoadedRun) -> Iterator[Finding]:
    """The run resolves to another number than its declaration promises.

    A declared run may say what it comes to: `global-batch = 256`, `total-steps = 12000`,
    `tokens-per-step = 1048576`. A change of GPUs, of a file, or of a version that moves the number is found
    here, before the run is compared with the last one and does not fit.

    The framework would start: the verdict stays, and the severity is a warning. The exit status is 1 all the
    same, for the promise is the project's own word. A number that the files and facts do not decide (no
    `gpus`, no `num-examples`) is reported as info.

    Fix: `cfglint fix FILES --run --gpus N --global-batch G` restores the batch; or change the promise along
    with the run, so that the change is seen in review.

    Source: the `[[run]]` table of the configuration.
    """
    resolved = run.resolved if run.facts.promises else {}
    broken = bool(run.configs) and (bool(run.configs[0].load_problems) or run.configs[0].batch.problem is not None)
    for name, promised in run.facts.promises.items():
        actual, told = resolved.get(name), NAMES[name]
        if actual is None and not broken:
            text = f"the declaration promises {told.format(promised)}, and the files and facts do not decide that number"
            yield Finding(_deciding(run.configs[0], name), text, severity=INFO)
        elif actual is not None and actual != promised:
            text = f"the run resolves to {told.format(actual)}{_equation(run, name)}, its declaration promises {promised}"
            yield Finding(_deciding(run.configs[0], name), text)


def _deciding(config: Config, name: str) -> Setting:
    """The written setting that decides a number most directly."""
    for key in DECIDING.get(name, ()):
        if config.has(key):
            return config.setting(key)
    batch = config.batch
    terms = (batch.global_batch, batch.micro_batch, batch.accumulation)
    return next((each for each in terms if each.written and each.node is not None), batch.global_batch)


def _equation(run: LoadedRun, name: str) -> str:
    """` = 4 x 8 x 16`, where the three terms give the global batch."""
    micro, accumulation, parallel = (run.resolved[key] for key in ("micro_batch", "accumulation", "data_parallel"))
    if name != "global_batch" or not (micro and accumulation and parallel):
        return ""
    return f" = {micro} x {accumulation} x {parallel}" if micro * accumulation * parallel == run.resolved[name] else ""


@rule(
    UNUSED_IGNORE,
    "unused-ignore",
    WARNING,
    scope=RUN,
    bad="output_dir: out\nper_device_train_batch_size: 8  # cfglint: ignore[TYP001]\n",
    good="output_dir: out\nper_device_train_batch_size: 010  # cfglint: ignore[TYP001] two nibbles, on purpose\n",
    example={"kind": "huggingface"},
)
def unused_ignore(run: LoadedRun) -> Iterator[Finding]:
    """A comment silences a finding that is not there.

    `# cfglint: ignore[BAT001]` on a line, or on the line above it, silences the finding of that code on that
    line; a family (`ignore[BAT]`) and several codes (`ignore[BAT001, KEY]`) work too, and what follows the
    bracket is the reason. In JSON, where the framework's reader allows comments, it is `//` or `#`. The
    finding is gone, or the comment moved away from it, and would silence the next one unseen.

    Without a GPU count nothing is said of the `BAT` family, whose findings depend on it; a comment that
    another run of the same file needs is in use.

    Fix: remove the code, or the comment.

    Source: the comment itself.
    """
    for ignore in run.unused_ignores:
        setting = Setting((), None, WRITTEN, ignore.document, Node(SCALAR, ignore.start, ignore.end))
        if not ignore.code:
            yield Finding(setting, "this comment ignores nothing: it has to name a code, as in `# cfglint: ignore[BAT001]`")
        elif run.facts.gpus is not None or not ignore.code.startswith(NEED_GPUS):
            yield Finding(setting, f"nothing of {ignore.code} is found here, so there is nothing to ignore")
