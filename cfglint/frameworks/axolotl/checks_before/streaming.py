"""Streamed data and pretraining: checks before pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.frameworks.axolotl.refusals import STREAMING, Data, excludes, refuses, requires


def tokens_per_second_of_pretraining(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:828 does."""
    if data.get("pretraining_dataset") and data.get("include_tokens_per_second", False):
        says = "pretraining_dataset and include_tokens_per_second cannot be used together."
        raise excludes(STREAMING, "include_tokens_per_second", "pretraining_dataset", says)


def pretraining_steps(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1849 does."""
    if data.get("pretraining_dataset") and not data.get("max_steps"):
        says = (
            "max_steps must be set when using iterable pretraining_dataset, Trainer can't infer length and schedule optimizer/learning "
            "rate without it!"
        )
        raise requires(STREAMING, "pretraining_dataset", "max_steps", says, note=": a streamed data set has no length", at="max_steps")


def pretraining_loader(data: Data) -> None:
    """Complete the values as utils/schemas/validation.py:1867 does."""
    if not data.get("pretraining_dataset"):
        return
    given = data.get("accelerator_config", {})
    if not given:
        data["accelerator_config"] = {"split_batches": False, "dispatch_batches": False}
        return
    data["accelerator_config"] = {**given}
    for name in ("split_batches", "dispatch_batches"):
        if given.get(name) is None:
            data["accelerator_config"][name] = False


def pretraining_evaluation(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1886 does."""
    if data.get("pretraining_dataset") and data.get("val_set_size"):
        says = "val_set_size is not supported with pretraining_dataset. Use test_datasets to specify evaluation datasets for pretraining."
        raise excludes(STREAMING, "val_set_size", "pretraining_dataset", says, remedy="use `test_datasets`")


def streamed_evaluation(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1896 does."""
    if data.get("streaming") and data.get("val_set_size"):
        says = (
            "val_set_size is not supported with streaming datasets. Use test_datasets to specify evaluation datasets when streaming is "
            "enabled."
        )
        raise excludes(STREAMING, "val_set_size", "streaming", says, remedy="use `test_datasets`")


def streamed_steps(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1906 does."""
    if data.get("streaming") and not data.get("max_steps"):
        says = "max_steps must be set when using streaming datasets. Trainer cannot infer dataset length for iterable datasets."
        raise requires(STREAMING, "streaming", "max_steps", says, note=": a streamed data set has no length", at="max_steps")


def several_packed_streams(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:1916 does."""
    if data.get("streaming") and data.get("sample_packing") and data.get("datasets") and len(data.get("datasets")) > 1:
        says = "Sample packing with multiple streaming datasets is not yet supported"
        message = "`sample_packing` with `streaming` supports a single data set"
        raise refuses(STREAMING, ("sample_packing", "streaming", "datasets"), message, says, raises="NotImplementedError")
