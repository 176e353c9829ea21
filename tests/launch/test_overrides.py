"""Overrides of a launch line as OmegaConf loads them."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from cases import each_case
from cfglint.cli import main
from cfglint.frameworks.huggingface.cli_arguments import cast
from cfglint.launch.overrides import ARGS, Override, by_omegaconf

NUMBERS = st.from_regex(r"\A-?[0-9]{1,6}(\.[0-9]{0,4})?([eE][-+]?[0-9]{1,3})?\Z")
PATHS = st.from_regex(r"\A(\.{0,2}/)?[A-Za-z0-9_.,/~-]{1,8}\Z")
WORDS = st.sampled_from(
    [
        "true",
        "True",
        "tRue",
        "FALSE",
        "No",
        "ON",
        "null",
        "~",
        "y",
        "nan",
        ".inf",
        "inf",
        "None",
        "1_000",
        "0x10",
        "010",
        "1:30",
        "00",
        "-0",
        "a: b",
        "[1, 2]",
        '[1e-5, 0x10, {a: 2024-01-01, b: "${c}"}]',
        "'a b'",
        "x${oc.env:HOME}",
    ]
)


@settings(max_examples=50)
@given(st.one_of(NUMBERS, PATHS, WORDS))
@example("-0")
@example("1e400")
@example("./a")
@example("../..")
def test_plain_values_are_those_of_omegaconf(text):
    found = by_omegaconf(Override("value", [text], ARGS))
    wanted = OmegaConf.to_container(OmegaConf.from_dotlist([f"value={text}"]))["value"]
    assert (type(found), repr(found)) == (type(wanted), repr(wanted))


VALUES = [("out/model-7b", "out/model-7b"), ("128", 128), ("2e-5", 2e-5), ("1.0", 1.0), ("No", False), ("{a: 1}", {"a": 1})]


@each_case(("text", "value"), VALUES)
def test_values_by_their_form(text, value):
    assert by_omegaconf(Override("value", [text], ARGS)) == value


def test_several_words_of_an_option_that_is_not_known_are_a_list_and_one_word_is_a_string():
    found = [cast(Override("lora_target_modules", words, ARGS), (4, 57, 1)) for words in (["q", "v"], ['["q", "v"]'], ["4"])]
    assert found == [["q", "v"], '["q", "v"]', 4]


def test_an_abbreviation_of_several_options_leaves_each_of_them_unknown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    parsing = (
        "from transformers import HfArgumentParser, TrainingArguments\nHfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
    )
    (tmp_path / "train.py").write_text(parsing)
    (tmp_path / "run.sh").write_text("torchrun train.py --output_dir o --lr_scheduler cosine\n")
    main(["explain", "run.sh"])
    assert "schedule: `--lr_scheduler`, an abbreviation" in capsys.readouterr().out
