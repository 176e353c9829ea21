"""Findings that came and went."""

from __future__ import annotations

BAD = '{{"train_batch_size": {0}, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": {1}}}'


def codes(found):
    return [each.code for each in found]


def engine(size, steps):
    return {"ds.json": BAD.format(size, steps)}


def test_new_and_gone(compare):
    compared = compare(engine(256, 8), engine(256, 4), gpus=8)
    assert (codes(compared.new), codes(compared.gone)) == (["BAT001"], [])
    compared = compare(engine(256, 4), engine(256, 8), gpus=8)
    assert (codes(compared.new), codes(compared.gone)) == ([], ["BAT001"])


def test_a_finding_whose_numbers_change_is_the_same(compare):
    compared = compare(engine(256, 4), engine(256, 2), gpus=8)
    assert (compared.new, compared.gone) == ([], [])
    assert not compared.empty


def test_a_finding_that_moves_is_the_same(compare):
    compared = compare(engine(256, 4), {"ds.json": "\n\n" + BAD.format(256, 4).replace(",", ",\n")}, gpus=8)
    assert compared.empty


def test_a_file_of_another_name_has_the_same_findings(compare):
    assert compare(engine(256, 4), {"other.json": BAD.format(256, 4)}, gpus=8).empty


def test_a_warning_that_becomes_an_error_is_new(compare):
    compared = compare(engine(256, 8), engine(256, 8), gpus=8, new_facts={"gpus": 16})
    assert codes(compared.new) == ["BAT001"]


def test_one_more_of_the_same_kind(compare):
    before = {"ds.json": '{"train_batch_size": 8, "train_batchsize": 1}'}
    after = {"ds.json": '{"train_batch_size": 8, "train_batchsize": 1, "gradient_cliping": 1}'}
    compared = compare(before, after, gpus=8, kind="deepspeed")
    assert [each.key for each in compared.new] == ["/gradient_cliping"]


def test_silenced_findings_do_not_count(compare):
    compared = compare(engine(256, 8), engine(256, 4), gpus=8)
    compared.new[0].suppressed = "configuration"
    assert compared.new == []


def test_new_runs_bring_their_findings(compare):
    compared = compare(None, engine(256, 4), gpus=8)
    assert codes(compared.new) == ["BAT001"]
    assert compare(engine(256, 4), None, gpus=8).new == []


def test_worst_first(compare):
    after = {
        "ds.json": '{"gradient_cliping": 1, "train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}'
    }
    compared = compare(engine(256, 8), after, gpus=8)
    assert [each.severity for each in compared.new] == ["error", "warning"]
