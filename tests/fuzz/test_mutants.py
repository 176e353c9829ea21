"""The fuzzer with a fixed seed over the examples: a few hundred mutants hold all properties."""

from __future__ import annotations

import pytest
from mutations import BATCH, Fuzzer, reduced
from properties import Bench, Broken
from seeds import Case, of_examples, of_rules

MUTANTS = 25


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("seeds", [of_examples, of_rules])
def test_mutants_keep_every_property(seed, seeds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fuzzer = Fuzzer(str(tmp_path), seed, [seeds()])
    for _ in range(MUTANTS):
        fuzzer.step()
    assert fuzzer.executions == MUTANTS
    assert fuzzer.bench.codes
    assert [str(failure) for failure in fuzzer.failures.values()] == []


def test_the_same_seed_gives_the_same_mutants(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn = []
    for _ in range(2):
        fuzzer = Fuzzer(str(tmp_path), 3, [of_examples()])
        drawn.append([fuzzer.mutator.mutant(fuzzer.rng.choice(fuzzer.groups[0])).files for _ in range(50)])
    assert drawn[0] == drawn[1]


def test_mutants_do_not_change_each_others_answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fuzzer = Fuzzer(str(tmp_path), 4, [of_examples(), of_rules()])
    fuzzer.recent.extend(fuzzer.mutator.mutant(fuzzer.rng.choice(fuzzer.rng.choice(fuzzer.groups))) for _ in range(BATCH))
    fuzzer.together()
    assert fuzzer.bench.commands > BATCH
    assert [str(failure) for failure in fuzzer.failures.values()] == []


def test_a_failure_is_made_small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def prove(bench, case, rng):
        if "lr: 3" in case.files["b"]:
            raise Broken("test", "lr", "3")

    case = Case({"a": "x", "b": "# long\nseed: 1\nlr: 3 # why\nzero: {}\n"}, ["--run", "--gpus", "8"], 2)
    small = reduced(Bench(str(tmp_path)), prove, case, 0.5, "test: lr", ())
    assert (small.files, small.flags, small.paths) == ({"b": "lr: 3"}, [], ["b"])
