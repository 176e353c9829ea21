"""Distributions that replace a package under another name, and the names that they add: accelerate-kt is accelerate with `kt_config`."""

from __future__ import annotations

from cfglint.source.annotations import Collection

# Distribution -> the package whose place it takes; empty for one that installs others.
FORKS = {"accelerate-kt": "accelerate", "transformers-kt": "transformers", "ktransformers": ""}
# The key that distributions of a family add (accelerate-kt 1.14.0.post1 commands/config/config_args.py, transformers-kt 5.6.0
# training_args.py), and what states the family in a config: LLaMA-Factory 0.9.5 requires both with `use_kt` (hparams/parser.py:210).
ADDED = {"kt_config": tuple(FORKS)}
MARKS = {"use_kt": "ktransformers"}


def named_in(text: str) -> list[str]:
    """The distributions that a config asks for."""
    return [distribution for mark, distribution in MARKS.items() if mark in text]


def adds(stated: Collection[str], key: object) -> bool:
    """Whether one of the distributions that a project states has a key that the package does not have."""
    return isinstance(key, str) and not set(ADDED.get(key, ())).isdisjoint(stated)
