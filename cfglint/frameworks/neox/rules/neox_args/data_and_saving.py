"""Rules about data paths and checkpoints in NeoXArgs."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.rules import elsewhere
from cfglint.source.annotations import Iterator

SPLITS = ("train", "valid", "test")


@rule("STP060")
def save_without_interval(config: NeoXConfig) -> Iterator[Finding]:
    save = config.argument("save")
    if save is not None and config.argument("checkpoint_factor") is None and config.argument("extra_save_iters") is None:
        yield Finding(
            config.setting("save"),
            "`save` requires `checkpoint_factor` or `extra_save_iters`",
            [config.absent("checkpoint_factor")],
            help=set_key("checkpoint_factor", 1000) | remove_key("save"),
        )


@rule("NEO026")
def conflicting_data_paths(config: NeoXConfig) -> Iterator[Finding]:
    names = [f"{split}_data_paths" for split in SPLITS]
    given = [name for name in names if config.argument(name) is not None]
    alone = config.argument("data_path")
    if len(given) == len(SPLITS) and alone is not None:
        text = "AssertionError: Please provide *either* `data_path` or `train/valid/test_data_path` in args"
        yield Finding(
            config.setting("data_path"), "`data_path` is incompatible with separate train, valid and test paths",
            related=(config.setting(names[0]),),
            exception=text, help=remove_key("data_path") | "remove the lists")  # fmt: skip
    elif given and len(given) < len(SPLITS) and not elsewhere(config, *names):
        absent = " and ".join(f"`{name}`" for name in names if name not in given)
        text = "AssertionError: One or more of train/valid/test data_path are not provided"
        yield Finding(
            config.setting(given[0]), f"`{given[0]}` also requires {absent}", exception=text, help=f"add {absent}, or use `data_path` alone"
        )
    labels = config.argument("train_label_data_paths")
    if labels and (alone or (not config.argument("train_data_paths") and not elsewhere(config, "train_data_paths"))):
        text = "AssertionError: Must use `train_label_data_paths` with `train_data_paths`, not `data_path`"
        message = "`train_label_data_paths` requires `train_data_paths` and is incompatible with `data_path`"
        yield Finding(
            config.setting("train_label_data_paths"),
            message,
            exception=text,
            help=remove_key("train_label_data_paths") | "use `train_data_paths` instead of `data_path`",
        )
    for split in SPLITS:
        yield from _weights(config, split)


def _weights(config: NeoXConfig, split: str) -> Iterator[Finding]:
    paths, weights = config.argument(f"{split}_data_paths"), config.argument(f"{split}_data_weights")
    if not isinstance(paths, list) or (weights is None and paths):
        return
    if weights is None and not paths:
        if not config.argument(f"pos_{split}_data_paths"):
            message = f"`{split}_data_paths` is empty"
            yield Finding(
                config.setting(f"{split}_data_paths"),
                message,
                exception="TypeError: object of type 'NoneType' has no len()",
                help=f"add a path to `{split}_data_paths`",
            )
    elif isinstance(weights, list) and len(weights) != len(paths):
        message = f"`{split}_data_weights` has {len(weights)} entries, but `{split}_data_paths` has {len(paths)}"
        yield Finding(
            config.setting(f"{split}_data_weights"),
            message,
            related=(config.setting(f"{split}_data_paths"),),
            exception="AssertionError",
            help="write one weight for each path" | remove_key(f"{split}_data_weights"),
        )
