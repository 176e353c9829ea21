"""Data sets, their preparation and padding: checks before pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.frameworks.axolotl.refusals import DATA, STREAMING, Data, refuses, requires


def deduplication_without_preparation(data: Data) -> None:
    """Check the values as utils/schemas/config.py:2225 does."""
    if data.get("dataset_exact_deduplication") and data.get("skip_prepare_dataset"):
        says = "dataset_exact_deduplication=True has no effect when skip_prepare_dataset=True."
        message = "`dataset_exact_deduplication` has no effect with `skip_prepare_dataset: true`, and is refused"
        raise refuses(
            DATA, ("dataset_exact_deduplication", "skip_prepare_dataset"), message, says, remedy="remove `dataset_exact_deduplication`"
        )


def deduplication_of_streams(data: Data) -> None:
    """Check the values as utils/schemas/config.py:2214 does."""
    if data.get("dataset_exact_deduplication") and (data.get("streaming") or data.get("pretraining_dataset")):
        says = "dataset_exact_deduplication is not available for streaming datasets. "
        message = "`dataset_exact_deduplication` does not support streaming data sets"
        raise refuses(
            STREAMING,
            "dataset_exact_deduplication",
            message,
            says,
            remedy="remove `dataset_exact_deduplication`",
            raises="NotImplementedError",
        )


def no_data(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:302 does."""
    if data.get("datasets") is None and data.get("pretraining_dataset") is None:
        says = "either datasets or pretraining_dataset is required"
        message = "no training data"
        raise refuses(DATA, "datasets", message, says, remedy="set `datasets` (a list with `path` and `type`) or `pretraining_dataset`")


def push_without_token(data: Data) -> None:
    """Check the values as utils/schemas/validation.py:324 does."""
    if data.get("push_dataset_to_hub") and data.get("hf_use_auth_token") is not True:
        says = "Require cfg.hf_use_auth_token to be True for push_dataset_to_hub"
        raise requires(DATA, "push_dataset_to_hub", "hf_use_auth_token: true", says)


def skipped_preparation(data: Data) -> None:
    """Complete the values as utils/schemas/validation.py:389 does."""
    if data.get("skip_prepare_dataset") and data.get("remove_unused_columns") is None:
        data["remove_unused_columns"] = False


def ignored_split(data: Data) -> None:
    """Fail where utils/schemas/validation.py:2525, which only warns, fails: a value that is not iterable ends the run."""
    for item in data.get("datasets", []) or []:
        if isinstance(item, dict):
            item.get("train_on_split")


def padding(data: Data) -> None:
    """Complete the values as utils/schemas/validation.py:459-478 does."""
    if data.get("sample_packing") and data.get("pad_to_sequence_len") is None:
        data["pad_to_sequence_len"] = True
    if data.get("reward_model") and data.get("pad_to_sequence_len") is None:
        data["pad_to_sequence_len"] = True
