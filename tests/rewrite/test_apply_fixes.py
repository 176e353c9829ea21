"""Fixes, applied: together they are what each says, and no run that starts is worse for them."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.rewrite.apply_fixes import _is_taken, apply_fixes
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.source import edit
from cfglint.source.change import EditRefused
from cfglint.source.parse import parse
from cfglint.source.tree_edits import Step


def trainer(text, **facts):
    """The run of a trainer's file."""
    return CheckedRun([parse("train.yaml", text, "yaml")], ["huggingface"], LaunchFacts(**facts))


@each_case(
    ("text", "mended"),
    [
        ("output_dir: out\nseed: '-1'\n", {}),  # text to one parser; the number is refused by all
        ("output_dir: out\nseed: '1'\n", {"train.yaml": "output_dir: out\nseed: 1\n"}),
        ("output_dir: out\nseed: '-1'\nadam_beta2: '0.9'\n", {"train.yaml": "output_dir: out\nseed: '-1'\nadam_beta2: 0.9\n"}),
    ],
)
@each_case("unsafe", [False, True])
def test_a_fix_that_would_keep_the_run_from_starting_is_left_out(text, mended, unsafe):
    run = trainer(text)
    assert run.verdict == "accept"
    assert apply_fixes(run, unsafe).texts == mended


@pytest.mark.parametrize(
    "text",
    [
        "{'save_strategy': 'no', \"dispatch_batches\": true}",
        "{save_strategy: 'no', dispatch_batches: true, }\n",
        "save_strategy: 'no'\ndispatch_batches: true",
        "dispatch_batches: true\nsave_strategy: 'no'\nwarmup_ratio: 0.1\nwarmup_steps: 0\n",
    ],
)
def test_the_edits_of_a_move_are_what_is_applied(text):
    run = trainer(text, kind_given=True)
    document = run.documents[0]
    fixes = [each.fix for each in run.diagnostics if each.fix and len(each.fix.changes) > 1]
    assert fixes
    for fix in fixes:
        after = text
        for each in sorted(fix.edits, key=lambda each: each.start, reverse=True):
            after = after[: each.start] + each.text + after[each.end :]
        assert after == edit.apply(document, [change for _, change in fix.changes])


@pytest.mark.parametrize("text", ["evaluation_strategy: 'no'\nevaluation_strategy: steps\n", "fp16_opt_level: O1\nfp16_opt_level: O2\n"])
def test_the_last_of_equal_keys_stays_for_without_it_the_first_would_count(text):
    run = trainer("output_dir: out\n" + text, kind_given=True)
    assert [each.fix for each in run.diagnostics if each.code == "KEY202"] == [None]
    assert apply_fixes(run, unsafe=True).texts == {}


SECTION = "output_dir: out\ndeepspeed:\n  zero_optimization: {stage: 2}\n  optimizer:\n    type: SGD\n    params: {lr: 5.0e-5}\nseed: 1\n"


def test_a_fix_of_a_section_stays_in_it():
    mended = apply_fixes(trainer(SECTION, gpus=8)).texts["train.yaml"]
    assert mended == SECTION.replace("lr: 5.0e-5}\n", "lr: 5.0e-5}\n  zero_allow_untested_optimizer: true\n")


def test_a_section_that_is_the_config_is_mended(tmp_path):
    (tmp_path / "job.yaml").write_text("model: x\nargs:\n  output_dir: out\n  seed: '1'\nseed: '2'\n", encoding="utf-8")
    gathering = Discovery(LaunchFacts(kind_given=True), "huggingface", ("args",))
    run = gathering.together([str(tmp_path / "job.yaml")])[0]
    assert list(apply_fixes(run).texts.values()) == ["model: x\nargs:\n  output_dir: out\n  seed: 1\nseed: '2'\n"]


@pytest.mark.parametrize(("written", "fixed"), [('"1e-8"', True), ('"nan"', False), ('"inf"', False)])
def test_no_fix_writes_a_number_that_json_does_not_have(written, fixed):
    text = f'{{train_batch_size: 8, optimizer: {{type: "AdamW", params: {{eps: {written}, weight_decay: 0}}}}}}'
    run = CheckedRun([parse("ds.json", text, "json")], ["deepspeed"], LaunchFacts(kind_given=True))
    assert [each.fix is not None for each in run.diagnostics if each.code == "DSP083"] == [fixed]


def deepspeed(text, **facts):
    """The run of a DeepSpeed file."""
    return CheckedRun([parse("ds.json", text, "json")], ["deepspeed"], LaunchFacts(**facts))


LAID_OUT = """{
    "train_batch_size": 8,
    "offload_optimizer": {
        "device": "cpu",
        "fast_init": true
    },
    "zero_optimization": {
        "stage": 2
    }
}
"""
MOVED = """{
    "train_batch_size": 8,
    "zero_optimization": {
        "stage": 2,
        "offload_optimizer": {
            "device": "cpu",
            "fast_init": true
        }
    }
}
"""


def test_a_misplaced_key_is_moved_as_it_is_written():
    run = deepspeed(LAID_OUT)
    assert apply_fixes(run).texts == {}
    done = apply_fixes(run, unsafe=True)
    assert done.texts == {"ds.json": MOVED}
    assert [(each.key, each.after is None) for each in done.changed] == [
        ("/offload_optimizer", True),
        ("/zero_optimization/offload_optimizer", False),
    ]
    assert apply_fixes(deepspeed(MOVED), unsafe=True).texts == {}


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        (
            '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "gradient_clipping": 5e-1}}',
            '{"train_batch_size": 8, "zero_optimization": {"stage": 2}, "gradient_clipping": 5e-1}',
        ),
        ('{"train_batch_size": 8, "gradient_clipping": 1, "zero_optimization": {"stage": 2, "gradient_clipping": 5e-1}}', None),
        ('{"train_batch_size": 8, "loss_scale_window": 500}', None),  # without its section it would still have no effect
        ('{"train_batch_size": 8, "loss_scale_window": 500, "fp16": "auto"}', None),
    ],
)
def test_a_key_that_keeps_the_run_from_starting_is_moved_safely(text, moved):
    done = apply_fixes(deepspeed(text, target={"deepspeed": "0.19.8"}))
    assert done.texts == ({"ds.json": moved} if moved else {})


def test_a_key_of_a_block_is_moved_into_it_and_its_comment_is_told():
    text = "distributed_type: DEEPSPEED\nzero_stage: 3  # three\nnum_processes: 8\n"
    run = CheckedRun([parse("acc.yaml", text, "yaml")], ["accelerate"], LaunchFacts())
    done = apply_fixes(run)
    assert done.texts == {"acc.yaml": "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config: {zero_stage: 3}\n"}
    assert done.comments == [("acc.yaml", "# three")]
    assert ("acc.yaml", "comment removed with its key: # three") in done.titles


def test_many_fixes_of_a_file_take_one_parse(monkeypatch):
    run = trainer("output_dir: out\n" + "".join(f"name_{number}: None  # {number}\n" for number in range(200)))
    parsed = []
    monkeypatch.setattr(edit, "parse", lambda *arguments: parsed.append(1) or parse(*arguments))
    assert len(run.diagnostics) == 200  # each with the edits of its fix
    parsed.clear()
    done = apply_fixes(run, unsafe=True)
    assert (len(done.titles), len(done.changed), len(parsed)) == (200, 200, 1)
    assert done.texts["train.yaml"] == run.documents[0].text.replace("None", "null")


@each_case(
    ("taken", "span", "expected"),
    [
        ([("a", 10, 20)], ("a", 12, 15), True),
        ([("a", 10, 20)], ("a", 5, 30), True),
        ([("a", 10, 20)], ("a", 15, 30), True),
        ([("a", 10, 20)], ("a", 5, 12), True),
        ([("a", 10, 20)], ("a", 20, 25), True),  # they touch
        ([("a", 10, 20)], ("a", 21, 25), False),
        ([("a", 10, 20)], ("b", 12, 15), False),
        ([("a", 1, 2), ("a", 10, 20)], ("a", 4, 8), False),
    ],
)
def test_of_two_fixes_at_one_place_the_second_waits(taken, span, expected):
    assert _is_taken(span, taken) is expected


def test_a_refused_fix_does_not_keep_the_others_back(monkeypatch):
    run = trainer("output_dir: out\n" + "".join(f"name_{number}: None\n" for number in range(20)))
    assert len(run.diagnostics) == 20
    allowed = Step.replace

    def replace(step, change):
        if change.path == ("name_7",):
            raise EditRefused("not this one", 0)
        allowed(step, change)

    monkeypatch.setattr(Step, "replace", replace)
    done = apply_fixes(run, unsafe=True)
    assert [line for line in done.texts["train.yaml"].splitlines() if "None" in line] == ["name_7: None"]
