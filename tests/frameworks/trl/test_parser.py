"""What TRL's parser makes of a file: casts, refused strings, unknown and removed keys by release."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.evaluate import Unknown
from cfglint.frameworks.trl.parser import cast, converted
from cfglint.launch.overrides import ARGS, Override

HEAD = "output_dir: out\ndataset_name: d\n"


@each_case(
    ("kind", "text", "value"),
    [
        ("float", "1e-5", 1e-5),
        ("int", " 4 ", 4),
        ("bool", "YES", True),
        ("bool", "f", False),
        ("int", "None", None),
        ("list:float", "0.5", 0.5),
        ("str", "null", "null"),
        ("dict", "", {}),
        ("list:DebugOption", "underflow_overflow", "underflow_overflow"),
        ("list:DatasetConfig", "org/data", "org/data"),
    ],
)
def test_strings_become_the_type_of_their_field(kind, text, value):
    assert cast({"key": text}, {"key": kind}, {"key"}) == ({"key": value}, [])


@pytest.mark.parametrize(
    ("kind", "text", "printed"),
    [
        ("int", "2.5", "argument --a_key/--a-key: invalid int value: '2.5'"),
        ("int", "1e3", "argument --a_key/--a-key: invalid int value: '1e3'"),
        ("dict", "{}", "argument --a_key/--a-key: invalid dict value: '{}'"),
        ("list:DebugOption", "", "argument --a_key/--a-key: invalid DebugOption value: ''"),
        ("ParallelismConfig", "2", "argument --a_key/--a-key: invalid ParallelismConfig value: '2'"),
        ("bool", "maybe", "argument --a_key/--a-key: Truthy value expected: got maybe but expected one of"),
    ],
)
def test_other_strings_are_refused_as_argparse_does(kind, text, printed):
    found, [refused] = cast({"a_key": text}, {"a_key": kind}, {"a_key"})
    assert found == {}
    assert refused.text.startswith(printed)


@each_case(
    ("kind", "given", "value"),
    [
        ("list:float", "0.5", [0.5]),
        ("list:float", ["0.5", "1"], [0.5, 1.0]),
        ("list:int", "2", [2]),
        ("list:str", "a", ["a"]),
        ("float", "0.5", 0.5),
    ],
)
def test_the_words_of_an_option_are_a_list_where_its_field_is_one(kind, given, value):
    assert cast({"key": given}, {"key": kind}, (), {"key"}) == ({"key": value}, [])


def test_the_word_of_a_list_that_argparse_refuses_is_named():
    found, [refused] = cast({"a": ["1", "x"]}, {"a": "list:float"}, (), {"a"})
    assert (found, refused.text) == ({}, "argument --a: invalid float value: 'x'")


def test_what_is_no_string_is_kept():
    values = {"a": 2.5, "b": None, "c": [1], "d": True}
    assert cast(values, dict.fromkeys("abcd", "int"), set("abcd")) == (values, [])


def test_argparse_casts_the_words_of_a_line_where_the_values_of_a_file_are_set_as_they_are(trl):
    """trl 0.8.6 commands/cli_utils.py: `parse_args_into_dataclasses` reads the line, `merge_dataclasses` sets the values of the file."""

    def strings(release, **options):
        run = trl(HEAD + 'save_steps: "10"\n', release=release, **options)
        return [each.code for each in run.diagnostics if each.code == "TYP200"], run.configs[0].values["save_steps"]

    of_line = (Override("save_steps", ["400"], ARGS),)
    assert strings("0.8.6") == (["TYP200"], "10")
    assert strings("0.8.6", overrides=of_line) == ([], 400.0)
    assert strings("1.16.0") == ([], 10.0)
    assert strings("1.16.0", overrides=of_line) == ([], 400.0)


def test_the_words_for_null_are_newer(trl, codes):
    text = HEAD + "max_length: none\n"
    assert codes(trl(text), "error") == []
    assert codes(trl(text, release="0.17.0"), "error") == ["TRL003"]


def test_the_words_for_null_are_refused_where_null_is_not_allowed(trl):
    """`_accept_none` wraps the parser of `T | None` alone (trl 1.16.0 scripts/_hf_argparser.py:188-214)."""
    for trainer, line, refused in (
        ("dpo", "beta: None", "argument --beta: invalid float value: 'None'"),
        ("sft", "learning_rate: none", "argument --learning_rate/--learning-rate: invalid float value: 'none'"),
        ("rloo", "num_generations: none", ""),
        ("grpo", "max_completion_length: NONE", ""),
        ("sft", "save_total_limit: null_", "argument --save_total_limit/--save-total-limit: invalid int value: 'null_'"),
        ("sft", "save_total_limit: none", ""),
    ):
        found = [each for each in trl(HEAD + line + "\n", trainer).diagnostics if each.code == "TRL003"]
        assert [each.exception for each in found] == ([f"SystemExit: 2 ({refused})"] if refused else []), line


def test_numbers_in_strings_count(trl):
    text = HEAD + 'per_device_train_batch_size: "4"\nlearning_rate: 1e-5\nsave_steps: "500"\n'
    run = trl(text, gpus=2)
    assert run.diagnostics == []
    assert run.resolved["global_batch"] == 8


def test_a_refused_string_leaves_its_number_unknown(trl, codes):
    run = trl(HEAD + 'per_device_train_batch_size: "2.5"\n', gpus=2)
    assert codes(run) == ["TRL003"]
    assert run.resolved["micro_batch"] is None
    assert run.fails_at == "config"


@pytest.mark.parametrize(("release", "verdict"), [("0.17.0", "accept"), ("0.18.2", "accept"), ("0.19.1", "reject"), ("1.16.0", "reject")])
def test_unknown_keys_are_refused_from_0_19_on(trl, release, verdict):
    assert trl(HEAD + "my_own: 1\n", release=release, strict=True).verdict == verdict


def test_a_script_may_have_keys_of_its_own(trl):
    assert trl(HEAD + "my_own: 1\nuse_lora: true\n").diagnostics == []


def test_keys_of_another_trainer_are_unknown_to_the_strict_parser(trl, codes):
    text = HEAD + "beta: 0.1\n"
    assert codes(trl(text, strict=True)) == ["TRL010"]
    assert codes(trl(text, "dpo", strict=True)) == []


def test_a_removed_key_says_what_is_lost(trl):
    [found] = trl(HEAD + "max_seq_length: 4096\n").diagnostics
    assert found.severity == "warning"
    assert "1024 tokens" in found.note
    assert found.fix.safe


def test_what_only_one_end_says_is_not_said_between_two_releases(trl, codes):
    text = HEAD + "max_prompt_length: 512\nnum_generations: 8\nper_device_train_batch_size: 6\n"
    assert codes(trl(text, "grpo", release="0.20.0", strict=True)) == ["TRL030"]
    assert codes(trl(text, "grpo", strict=True)) == ["TRL011", "TRL030"]


def test_the_environment_is_taken_out_first(trl, codes):
    assert codes(trl(HEAD + "env: {A: b}\n", strict=True)) == []
    assert trl(HEAD + "env: [A]\n").fails_at == "load"


@pytest.mark.parametrize("text", ["", "- a\n", "just text\n", "1: 2\n"])
def test_a_file_that_is_no_mapping_of_names_is_not_loaded(trl, text):
    run = trl(text)
    assert (run.verdict, run.fails_at) == ("reject", "load")


@each_case(
    ("text", "release", "exception"),
    [
        ("- a\n", "1.16.0", "ValueError: Config file train.yaml must contain a YAML mapping."),
        ("- a\n", "1.10.0", "ValueError: Config file train.yaml must contain a YAML mapping."),
        ("- a\n", "1.9.2", "TypeError: argument after ** must be a mapping, not list"),
        ("- a\n", "0.29.0", "TypeError: argument after ** must be a mapping, not list"),
        ("", "0.29.0", "TypeError: argument of type 'NoneType' is not iterable"),
        ("1: 2\n", "0.29.0", "TypeError: keywords must be strings"),
    ],
)
def test_the_exception_of_a_release_for_what_is_no_mapping(trl, text, release, exception):
    [found] = [each for each in trl(text, release=release).diagnostics if each.code == "TRL001"]
    assert found.exception == exception


def test_an_integer_beyond_the_limit_is_unknown():
    assert isinstance(converted("9" * 501, "int", True), Unknown)
    with pytest.raises(ValueError, match=r"^9"):
        converted("9" * 501 + "x", "int", True)


def test_each_release_has_its_own_defaults(trl):
    """bf16 is on by default from 0.19 on, gradient checkpointing from 0.22 on."""
    from cfglint.explanation.summary import RunSummary

    def lines(release):
        run = trl("output_dir: out\nper_device_train_batch_size: 4\n", release=release)
        found = {item.label: item.setting.value for item in RunSummary(run).items}
        return found["precision"], found["gradient checkpointing"], found["learning rate"]

    assert lines("0.17.0") == ("fp32", False, 2e-5)
    assert lines("0.20.0") == ("bf16", False, 2e-5)
    assert lines("0.25.0") == lines("1.16.0") == ("bf16", True, 2e-5)


REFUSED_AS_UNKNOWN = "Some specified config arguments are not used by the TrlParser: {'foo_bar': 1}"


@each_case(
    ("release", "exception"),
    [
        ("0.9.4", None),
        ("0.9.6", REFUSED_AS_UNKNOWN),
        ("0.12.2", REFUSED_AS_UNKNOWN),
        ("0.13.0", None),
        ("0.18.2", None),
        ("0.19.0", "Unknown arguments from config file: ['--foo_bar', '1']"),
        ("1.16.0", "Unknown arguments from config file: ['--foo_bar', '1']"),
    ],
)
def test_an_unknown_key_is_refused_before_013_and_from_019_on(trl, release, exception):
    [found] = [each for each in trl(HEAD + "foo_bar: 1\n", release=release, strict=True).diagnostics if each.code == "TRL010"]
    assert found.severity == ("error" if exception else "warning")
    assert (found.exception or "").startswith(f"ValueError: {exception}" if exception else "")


def test_the_words_for_null_are_only_for_optional_fields(trl, codes):
    """`top_k` of GRPO is a plain integer from 0.27 on."""
    assert codes(trl(HEAD + "num_generations: 8\ntop_k: none\n", "grpo", release="1.8.0"), "error") == ["TRL003"]
    assert codes(trl(HEAD + "max_length: none\n", release="1.8.0"), "error") == []
    assert codes(trl(HEAD + "max_length: none\n", release="1.5.1"), "error") == ["TRL003"]


def test_a_key_was_removed_from_the_class_of_the_run(trl):
    """`max_prompt_length` left KTO in 0.27, GRPO in 0.28 and DPO in 0.29; without a trainer the releases are all of these."""

    def messages(trainer, release):
        return [each.message for each in trl(HEAD + "max_prompt_length: 512\n", trainer, release=release).diagnostics]

    assert messages("grpo", "0.28.0") == ["`max_prompt_length` was removed in TRL 0.28.0"]
    assert messages("dpo", "0.28.0") == []
    assert messages("dpo", "0.29.0") == ["`max_prompt_length` was removed in TRL 0.29.0"]
    assert messages(None, "0.29.0") == ["`max_prompt_length` was removed in TRL 0.27.0 to 0.29.0, depending on the trainer"]
