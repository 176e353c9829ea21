"""What is recognised of a message in the project's own copy of verl."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks.verl.config import fixed_words


@each_case(
    ("exception", "words"),
    [
        ("ValueError: ten chars!", "ten chars!"),
        ("ValueError: nine char", ""),
        ("AssertionError: rollout.n must divide 8, and it does not", "rollout.n must divide"),
        ("ValueError: 12 (8)", ""),
    ],
)
def test_the_longest_part_without_values(exception, words):
    assert fixed_words(exception) == words
