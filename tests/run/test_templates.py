"""Placeholders are unknown values: what they cause is not reported, and the verdict is not known."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.evaluate import Unknown
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.discovery import Discovery
from cfglint.run.templates import marks_of


@pytest.fixture
def checked(tmp_path):
    def run(name, text, **facts):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        [found] = Discovery(LaunchFacts(**facts)).runs([str(path)])
        return found

    return run


def codes(run):
    return [each.code for each in run.diagnostics]


BARE = """{
  "train_batch_size": CONFIG_BATCH_SIZE,
  "train_micro_batch_size_per_gpu": CONFIG_MBSIZE,
  "steps_per_print": 10,
  "zero_optimization": {"stage": 1},
  "fp16": {
    "enabled": CONFIG_FP16,
    "loss_scale": 0
  },
  "bf16": {
    "enabled": CONFIG_BF16
  }
}
"""


def test_bare_names_in_json(checked):
    run = checked("ds_config.json", BARE)
    assert codes(run) == []
    assert run.verdict is None
    assert run.resolved["global_batch"] is None


def test_a_single_bare_name(checked):
    run = checked("ds_config.json", '{"train_batch_size": 64, "bf16": {"enabled": CONFIG_BF16\n}}', gpus=8)
    assert (codes(run), run.verdict, run.resolved["global_batch"]) == ([], None, 64)


@each_case("name", ["MBSIZE", "QuantW_FORWARD", "CL_1st_MIN"])
def test_other_forms_of_bare_names(checked, name):
    run = checked("ds_config.json", BARE.replace("CONFIG_BF16", name))
    assert (codes(run), run.verdict) == ([], None)


def test_a_literal_in_capitals_is_no_placeholder(checked):
    assert checked("ds_config.json", '{"train_batch_size": 8, "fp16": {"enabled": TRUE\n}}').verdict is not None


def test_an_error_that_no_filling_changes(checked):
    run = checked("ds_config.json", BARE.replace('{"stage": 1}', '{"stage": 1, "overlap_com": true}'))
    assert "KEY102" in codes(run)
    assert run.verdict == "reject"


def test_an_error_of_some_allowed_releases_only_is_a_warning(checked):
    """DeepSpeed 0.19.7 accepts the key; that one filling of the placeholder is refused there, too, does not make it an error."""
    section = '{\n"enabled": CONFIG_CL,\n"curriculum_type": "seqlen",\n"min_difficulty": CONFIG_MIN\n}'
    text = f'{{\n"train_batch_size": CONFIG_BATCH,\n"curriculum_learning": {section}\n}}\n'
    run = checked("ds_config.json", text)
    assert [(each.code, each.severity, each.since) for each in run.diagnostics] == [("KEY100", "warning", {"deepspeed": "0.19.8"})]
    assert run.verdict is None


@each_case("value", ["{{ size }}", '"{{ size }}"', "${oc.env:SIZE,4}", "$SIZE", "__SIZE__", "<size>", '"${SIZE}"'])
def test_forms_in_yaml(checked, value):
    run = checked("train.yaml", f"output_dir: out\nlearning_rate: 1.0e-4\nper_device_train_batch_size: {value}\n", gpus=8)
    assert codes(run) == []
    assert run.verdict is None
    assert (run.resolved["micro_batch"], run.resolved["accumulation"]) == (None, 1)


ONE_LINE = '{"train_batch_size": PLACE, "train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": PLACE}}'


@each_case("value", ["${BS}", "$BS", "CONFIG_BATCH", "<bs>", "{{ bs }}", "__BS__"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_forms_on_one_line_of_json(checked, value, end):
    run = checked("ds.json", ONE_LINE.replace("PLACE", value) + end, gpus=8)
    assert (codes(run), run.verdict, run.resolved["micro_batch"], run.resolved["global_batch"]) == ([], None, 4, None)


def test_the_rest_of_a_line_with_a_placeholder_is_checked(checked):
    text = ONE_LINE.replace("PLACE", "${BS}").replace('"stage"', '"overlap_com": true, "stage"')
    [found] = [each for each in checked("ds.json", text).diagnostics if each.code == "KEY102"]
    assert (found.place.column, found.place.source) == (text.index('"overlap_com"') + 1, text)


@each_case("value", ["$", "some words", "{x}"])
def test_what_has_no_form_of_a_placeholder_is_refused(checked, value):
    assert checked("ds.json", ONE_LINE.replace("PLACE", value)).verdict == "reject"


@each_case("line", ["seed: ${seed}", "optim: ${optim}", "lr_scheduler_type: ${a.b}", "max_steps: ${x}0", "bf16: ${now:x}"])
def test_an_interpolation_to_another_file_is_unknown(checked, line):
    run = checked("train.yaml", f"output_dir: out\nnum_train_epochs: 1\nper_device_train_batch_size: 4\n{line}\n")
    assert (codes(run), run.verdict) == ([], None)


def test_a_long_file_with_a_placeholder_in_a_section(checked):
    own = "".join(f'"own{number}": 1, ' for number in range(60))
    text = f'{{"zero_optimization": {{"stage": "${{stage}}"}}, {own}"train_batch_size": "${{size}}", "steps_per_print": 10}}'
    run = checked("ds.json", text)
    values = run.configs[0].values
    assert (values["train_batch_size"], values["zero_optimization"], values["steps_per_print"]) == (Unknown(), {"stage": Unknown()}, 10)


@each_case(
    ("name", "text", "verdict", "numbers"),
    [
        ("config.yml", "base_model: a\ndatasets:\n  - path: <set>\n    type: alpaca\nmicro_batch_size: 2\n", None, {"micro_batch": 2}),
        (
            "config.yml",
            "base_model: a\ndatasets: [{path: s}]\nmicro_batch_size: 2\nnum_epochs: <n>\nmax_steps: <m>\n",
            None,
            {"micro_batch": 2},
        ),
        ("train.yaml", "output_dir: o\nlr_scheduler_type: <name>\nper_device_train_batch_size: 4\n", None, {"micro_batch": 4}),
        ("ds.json", '{"train_batch_size": 8, "zero_optimization": {"stage": $STAGE}, "fp16": [1]}', "reject", {}),
        ("ds.json", '{"train_batch_size": $BATCH, "train_micro_batch_size_per_gpu": 2}', None, {"micro_batch": 2, "global_batch": None}),
    ],
)
def test_what_does_not_depend_on_a_placeholder_is_known(checked, name, text, verdict, numbers):
    run = checked(name, text, gpus=4)
    assert (run.verdict, {key: run.resolved[key] for key in numbers}) == (verdict, numbers)
    assert not run.bug_reports


def test_a_reference_to_a_key_is_its_value(checked):
    run = checked("train.yaml", "size: 4\noutput_dir: out\nnum_train_epochs: 1\nper_device_train_batch_size: ${size}\n", gpus=8)
    assert run.verdict == "accept"
    assert run.resolved["micro_batch"] == 4


@pytest.mark.parametrize("line", ["run_name: <s>", "eos_token: <think>", 'chat_template: "{{ messages }}"', "hub_model_id: $NAME"])
def test_free_text_is_a_value(checked, line):
    run = checked("train.yaml", f"output_dir: out\nnum_train_epochs: 1\nper_device_train_batch_size: 4\n{line}\n")
    assert run.verdict == "accept"


def test_a_declared_file_is_taken_as_it_is(checked):
    run = checked("train.yaml", "output_dir: out\nnum_train_epochs: 1\nper_device_train_batch_size: <size>\n", kind_given=True)
    assert run.verdict == "reject"


def test_a_file_that_needs_its_template_language(checked):
    run = checked(
        "ds_config.json", '{% if large %}\n{"train_micro_batch_size_per_gpu": {{ size }}, "zero_optimization": {"stage": 2}}\n{% endif %}\n'
    )
    assert (run.verdict, codes(run)) == (None, [])
    assert run.is_unreadable_template


CHAT = """model_name_or_path: x
chat_template: "{% for m in messages %}{{ m }}{% endfor %}"
DAMAGE
per_device_train_batch_size: 4
output_dir: o
beta: 0.1
"""
DAMAGED = ("learning_rate 2.0e-5", "<<<<<<< HEAD\nlr: 1\n=======", "<html>", "\tx: 1", "loss_type: [a", "x: {a: 1]}")


@each_case("damage", DAMAGED)
def test_marks_within_a_string_excuse_no_damage_elsewhere(damage, checked):
    run = checked("train.yaml", CHAT.replace("DAMAGE", damage))
    assert not getattr(run, "is_unreadable_template", False)
    assert (run.verdict, codes(run)) == ("reject", ["SRC002"])


TEMPLATES = (
    ("train.yaml", "{% if x %}\noutput_dir: a\n{% else %}\noutput_dir: b\n{% endif %}\nper_device_train_batch_size: 4\n"),
    ("train.yaml", "output_dir: o\nper_device_train_batch_size: 4\nlearning_rate: {% if x %}1e-5{% else %}2e-5{% endif %}\n"),
    ("ds.json", '{"zero_optimization": {"stage": 2},\n{% if x %}\n"train_micro_batch_size_per_gpu": 4\n{% endif %}}\n'),
)


@each_case("template", TEMPLATES)
def test_marks_that_keep_a_file_from_being_read_make_a_template(template, checked):
    run = checked(*template)
    assert run.is_unreadable_template
    assert (run.verdict, codes(run)) == (None, [])


def test_a_template_that_is_broken_elsewhere_is_broken(checked):
    text = "x: {% if a %}1{% endif %}\noutput_dir: o\nper_device_train_batch_size: 4\n}]\n"
    assert checked("train.yaml", text).is_unreadable_template  # the first mistake is that of the mark
    run = checked("train.yaml", "output_dir: o\nper_device_train_batch_size: 4\n}]\n# {{ x }}\n")
    assert (run.verdict, codes(run)) == ("reject", ["SRC002"])


@each_case(
    ("text", "quoted"),
    [
        ("a: {}", False),
        ("a: 'b {}'", True),
        ('a: "b" {}', False),
        ('a: "it\'s {}"', True),
        ("a: 'b'\nc: {}", False),
        ("a: it's'\nc: {}", False),  # an open quote ends with its line
        ("a: it'\n{}", False),
        ('a: "b\\" {}', True),
    ],
)
def test_a_mark_in_a_quoted_string_of_its_line(text, quoted):
    marked = text.replace("{}", "{{ x }}")
    assert [is_quoted for _, _, is_quoted in marks_of(marked)] == [quoted]


@each_case(
    ("text", "marks"),
    [
        ("a {% b %} c", ["{% b %}"]),
        ("{% {{ x }}", ["{{ x }}"]),  # the first has no end
        ("{{ {% x }} %}", ["{{ {% x }}"]),
        ("{%} %}{{}}", ["{%} %}", "{{}}"]),
        ("{% a\n%} {{", ["{% a\n%}"]),
        ("{% {% {%", []),
    ],
)
def test_the_marks_of_a_template_language(text, marks):
    assert [text[start:end] for start, end, _ in marks_of(text)] == marks


def test_a_placeholder_for_a_list(checked):
    text = "output_dir: o\nper_device_train_batch_size: 4\nlr_scheduler_type: linear\nreport_to: "
    assert codes(checked("trainer.yaml", f"{text}unknown_tracker\n")) == ["HFT044"]
    run = checked("trainer.yaml", f"{text}${{TRACKERS}}\n")
    assert (codes(run), run.verdict) == ([], None)
