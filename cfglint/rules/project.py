"""Rules that check a run against its project: the policy schemas, the expected numbers, the ignore comments."""

from __future__ import annotations

from cfglint.findings.diagnostic import INFO, UNUSED_IGNORE, Diagnostic
from cfglint.findings.rule import BATCH, EXPECTATION, IGNORE_COMMENT, RULES, RUN, Finding, Rule, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.base import Config
from cfglint.rules.engine import CheckableRun, apply
from cfglint.source.annotations import Iterator
from cfglint.source.document import SCALAR, Node

NAMES = {"global_batch": "global batch size", "total_steps": "number of total steps", "tokens_per_step": "number of tokens per step"}
MISSING_FACTS = "declare what the number depends on, such as `gpus` or `num-examples`"
DECIDING = {"total_steps": ("max_steps", "train_iters", "num_train_epochs"), "tokens_per_step": ("seq_length", "max_length")}


def project_rules() -> list[Rule]:
    """The rules that check a run, not a single config."""
    return [each for each in RULES if each.scope == RUN]


def inspect_run(run: CheckableRun) -> list[Diagnostic]:
    """The expected numbers that a run does not reach, and the policy schemas that it violates."""
    return apply([each for each in RULES if each.about == EXPECTATION], run, run.configs[0]) if run.configs else []


def inspect_comments(run: CheckableRun) -> list[Diagnostic]:
    """The ignore comments of a run that suppress nothing."""
    return apply([each for each in RULES if each.about == IGNORE_COMMENT], run, run.configs[0])


@rule("HSE001")
def policy_violation(run: CheckableRun) -> Iterator[Finding]:
    policies = run.facts.policies
    if policies is None:
        return
    for config in run.configs:
        if config.load_problems:
            continue
        for violation in policies.violations(config.kind, config.values):
            yield Finding(config.setting(*violation.path), f"policy violation: {violation.message}")


@rule("RUN100")
def unexpected_number(run: CheckableRun) -> Iterator[Finding]:
    resolved = run.resolved if run.facts.expected_numbers else {}
    broken = bool(run.configs) and (bool(run.configs[0].load_problems) or run.configs[0].batch.problem is not None)
    for name, expected in run.facts.expected_numbers.items():
        actual, title = resolved.get(name), NAMES[name]
        if actual is None and not broken:
            text = f"{title} is unknown, expected {expected}"
            yield Finding(_deciding(run.configs[0], name), text, severity=INFO, help=MISSING_FACTS)
        elif actual is not None and actual != expected:
            yield Finding(
                _deciding(run.configs[0], name),
                f"{title} is {actual}{_equation(run, name)}, expected {expected}",
                help="change the files, or the declaration of the run",
            )


def _deciding(config: Config, name: str) -> Setting:
    """The written setting that determines a number most directly."""
    for key in DECIDING.get(name, ()):
        if config.has(key):
            return config.setting(key)
    batch = config.batch
    terms = (batch.global_batch, batch.micro_batch, batch.accumulation)
    return next((term for term in terms if term.written and term.node is not None), batch.global_batch)


def _equation(run: CheckableRun, name: str) -> str:
    """` = 4 x 8 x 16`, if three factors give the global batch size."""
    micro, accumulation, parallel = (run.resolved[key] for key in ("micro_batch", "accumulation", "data_parallel"))
    if name != "global_batch" or not (micro and accumulation and parallel):
        return ""
    return f" = {micro} x {accumulation} x {parallel}" if micro * accumulation * parallel == run.resolved[name] else ""


@rule(UNUSED_IGNORE)
def unused_ignore(run: CheckableRun) -> Iterator[Finding]:
    for ignore in run.unused_ignores:
        setting = Setting((), None, WRITTEN, ignore.document, Node(SCALAR, ignore.start, ignore.end))
        if not ignore.code:
            yield Finding(setting, "ignore comment without a code", help="name a code: `# cfglint: ignore[BAT001]`")
        elif run.facts.gpus is not None or not any(each.about == BATCH for each in RULES if each.code.startswith(ignore.code)):
            yield Finding(setting, f"unused ignore comment: no {ignore.code} finding on this line", help="remove the comment")
