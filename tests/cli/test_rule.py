"""`cfglint rule`: by code and name, and looked for by family, key, word and exception."""

import pytest

from cfglint.cli import main


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("HFT00", "HFT007"),
        ("hft", "HFT007"),
        ("load_best_model_at_end", "HFT007"),
        ("ValueError: At most one of fp16 and bf16 can be True, but not both", "PRC200"),
    ],
)
def test_rules_are_found_by_what_is_known_of_them(capsys, text, code):
    assert main(["rule", text]) == 0
    assert code in [line.split()[0] for line in capsys.readouterr().out.splitlines()]


def test_a_word_of_no_page_is_refused(capsys):
    assert main(["rule", "no_such_key_anywhere"]) == 2
    assert "no rule has the code or name no_such_key_anywhere" in capsys.readouterr().err
