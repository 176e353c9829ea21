"""The fuzzer with a fixed seed over the examples: a few hundred mutants hold all properties."""

from __future__ import annotations

import pytest
from mutations import Fuzzer
from seeds import of_examples, of_rules

MUTANTS = 30


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
