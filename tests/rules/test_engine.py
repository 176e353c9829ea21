"""Which findings stay errors, and how many a config may have: the launch, its program and its other files decide."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.evaluate import Reason, Unknown
from cfglint.findings.rule import COMBINATION, Finding
from cfglint.findings.setting import DEFAULT, Setting
from cfglint.launch import Launch
from cfglint.launch.program import ProgramFacts
from cfglint.rules import engine
from cfglint.rules.catalogue import every_rule
from cfglint.rules.reasons import TRAINER, unknowns
from examples import launch_of

TEXTS = {
    "accelerate": {"acc.yaml": "num_processes: 2\n"},
    "huggingface": {"train.yaml": "output_dir: out\nmax_steps: 5\n"},
    "deepspeed": {"ds.json": '{"train_batch_size": 8}'},
}
COMPLETE = {"gpus": 8, "complete": True, "kind_given": True}
RULES = {rule.code: rule for rule in every_rule()}


@pytest.fixture
def config_of(tmp_path):
    def of(kind, launch, **facts):
        config = launch_of(kind, TEXTS[kind], str(tmp_path), {**COMPLETE, **launch}).configs[0]
        config.facts = config.facts.replace(launch=Launch(**facts))
        return config

    return of


DOUBT = (Reason("program", "the parser of `train.py`"),)
SIZE = Reason("argument", "`x`", "train.py:5 reads the variable `BATCH`")
KEY = {"accelerate": "num_processes", "huggingface": "max_steps", "deepspeed": "train_batch_size"}
INIT, BATCH, UNKNOWN_KEY = "HFT048", "BAT001", "KEY201"


@each_case(
    ("kind", "code", "launch", "facts", "certain"),
    [
        ("huggingface", INIT, {}, {}, True),
        ("huggingface", INIT, {}, {"doubts": DOUBT}, False),
        ("huggingface", BATCH, {}, {"doubts": DOUBT}, False),
        ("deepspeed", "DSP010", {}, {"doubts": DOUBT}, True),
        ("deepspeed", BATCH, {}, {"doubts": DOUBT}, False),
        ("accelerate", "ACC001", {}, {"doubts": DOUBT}, True),
        ("accelerate", "ACC006", {}, {"doubts": DOUBT}, False),
        ("huggingface", INIT, {}, {"not_known": (SIZE,)}, False),
        ("huggingface", UNKNOWN_KEY, {}, {"not_known": (SIZE,)}, True),
        ("huggingface", "TYP200", {}, {"not_known": (SIZE,)}, True),
        ("huggingface", "RUN001", {}, {"not_known": (SIZE,)}, True),
        ("huggingface", "RUN004", {}, {"not_known": (SIZE,)}, False),
        ("deepspeed", "DSP010", {}, {"not_known": (SIZE,)}, True),
        ("deepspeed", BATCH, {}, {"not_known": (SIZE,)}, False),
    ],
)
def test_what_is_certain_of_a_launch(config_of, kind, code, launch, facts, certain):
    config = config_of(kind, launch, **facts)
    setting = config.setting(KEY[kind])
    reasons = [*unknowns(RULES[code], Finding(setting, "x"), setting, config)]
    assert reasons == ([] if certain else [*facts.get("doubts", ()), *facts.get("not_known", ())])


def program(**facts):
    return ProgramFacts("train.py", **facts)


@each_case(
    ("kind", "code", "stage", "own", "missed"),
    [
        ("huggingface", INIT, "init", True, True),
        ("huggingface", INIT, "first-step", True, True),
        ("huggingface", INIT, "config", True, False),
        ("huggingface", INIT, "init", False, False),
        ("deepspeed", "DSP010", "init", True, False),
        ("deepspeed", BATCH, "init", True, True),
    ],
)
def test_a_program_with_a_trainer_of_its_own_may_not_reach_a_later_check(config_of, kind, code, stage, own, missed):
    for launch, expected in ({"program": program(own_trainer=own)}, missed), ({}, False):
        config = config_of(kind, {}, **launch)
        setting = config.setting(KEY[kind])
        reasons = [*unknowns(RULES[code], Finding(setting, "x", fails_at=stage), setting, config)]
        assert (TRAINER in reasons) is expected


def test_only_a_launch_line_may_have_a_program_with_other_defaults(config_of):
    config = config_of("huggingface", {})
    assert not config.other_defaults
    config.documents[0].syntax = "shell"
    assert config.other_defaults
    for exact in (True, False):
        config.facts = config.facts.replace(launch=Launch(program=program(exact=exact)))
        assert bool(config.other_defaults) is not exact


def test_a_default_of_a_launch_line_is_not_certain(config_of):
    config = config_of("huggingface", {})
    config.documents[0].syntax = "shell"
    written, default = config.setting("max_steps"), Setting(("max_steps",), 5, DEFAULT)
    assert [*unknowns(RULES[INIT], Finding(written, "x"), written, config)] == []
    assert [each.what for each in unknowns(RULES[INIT], Finding(default, "x"), default, config)] == ["the defaults of the program"]


def test_values_that_the_program_sets_are_not_judged(config_of):
    config = config_of("huggingface", {})
    setting, other = config.setting("max_steps"), config.setting("output_dir")
    assert not engine.uses_unknown_value(Finding(setting, "x"), config)
    assert engine.uses_unknown_value(Finding(Setting(("max_steps",), Unknown(), DEFAULT), "x"), config)
    config.facts = config.facts.replace(launch=Launch(program=program(changed=("max_steps",))))
    assert engine.uses_unknown_value(Finding(setting, "x"), config)
    assert engine.uses_unknown_value(Finding(other, "x", related=(setting,)), config)
    assert not engine.uses_unknown_value(Finding(other, "x"), config)
    assert engine.has_unknown(config)
    assert not engine.has_unknown(config_of("huggingface", {}))


class Several:
    """A rule that yields findings, and then may fail."""

    code, name, severity, fails_at, raises = "X001", "x", "error", "init", "E: x"
    by_version, about, certainty = False, COMBINATION, "if-complete"
    kinds, releases = ("huggingface",), ()

    def __init__(self, number, error=None, finding=lambda config: Finding(config.setting("max_steps"), "x")):
        self.number, self.error, self.finding = number, error, finding

    def check(self, config):
        for _ in range(self.number):
            yield self.finding(config)
        if self.error:
            raise self.error


@each_case(("numbers", "kept"), [((999,), 999), ((1000,), 1000), ((1001,), 1000), ((600, 600), 1000), ((999, 1), 1000), ((5, 6), 11)])
def test_a_config_has_at_most_a_thousand_findings(config_of, numbers, kept):
    config = config_of("huggingface", {})
    assert len(engine.apply([Several(number) for number in numbers], config, config)) == kept


def test_an_error_of_a_rule_is_a_diagnostic_and_the_next_rule_runs(config_of):
    config = config_of("huggingface", {})
    found = engine.apply([Several(1, ValueError("bad")), Several(1)], config, config)
    assert [each.code for each in found] == ["X001", "INT000", "X001"]
    assert "ValueError: bad" in found[1].message
    config.facts = config.facts.replace(launch=Launch(program=program(changed=("x",))))
    assert [each.code for each in engine.apply([Several(1, TypeError("x"))], config, config)] == ["X001"]
    assert [each.code for each in engine.apply([Several(1, ValueError("x"))], config, config)] == ["X001", "INT000"]


@each_case(
    ("finding", "severities"),
    [
        (lambda config: Finding(config.setting("max_steps"), "x"), ["error"]),
        (lambda config: Finding(config.setting("max_steps"), "x", depends_on=config.rest), ["warning"]),
        (lambda config: Finding(config.absent("output_dir"), "x"), []),
        (lambda config: Finding(config.setting("max_steps"), "x", [config.absent("output_dir")]), []),
    ],
)
def test_what_becomes_of_an_error_in_a_part_of_a_run(config_of, finding, severities):
    partial, whole = config_of("huggingface", {"complete": False}), config_of("huggingface", {})
    assert [each.severity for each in engine.apply([Several(1, finding=finding)], partial, partial)] == severities
    assert [each.severity for each in engine.apply([Several(1, finding=finding)], whole, whole)] == ["error"]
