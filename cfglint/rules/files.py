"""Rules about files that a config names."""

from __future__ import annotations

from cfglint.findings.rule import FILE, WARN, Finding, config_error, warning
from cfglint.frameworks.base import Config
from cfglint.frameworks.remedies import replace
from cfglint.source.annotations import Iterator
from cfglint.source.document import Path

NULL_WORDS = ("none", "null")


@config_error(
    "RUN010",
    source="accelerate 1.15.0 utils/deepspeed.py:140-157; transformers 5.23.0 trainer_pt_utils.py (from_json_file), "
    "training_args.py:2775-2783; 5.9.0 training_args.py:2737-2744",
    kinds=("huggingface", "accelerate"),
    when_partial=WARN,
    bad=(
        "output_dir: out\nper_device_train_batch_size: 4\ndeepspeed: missing/ds_config.json\n",
        "output_dir: out\nper_device_train_batch_size: 4\ndeepspeed: none\n",
    ),
    good="output_dir: out\nper_device_train_batch_size: 4\n",
    example={"kind": "huggingface", "at": "/deepspeed"},
    about=FILE,
)
def missing_config_file(config: Config) -> Iterator[Finding]:
    """A configuration file that the config names does not exist.

    It is looked for next to the file that names it, in each folder above that one up to the root of the
    project, and in the working directory. `deepspeed` has no other values than a file, a mapping and encoded JSON: words such as
    `none`, `auto` and `zero3` are names of files too. Without `--run` this is a warning, since a program may write the
    file before training starts.

    From transformers 5.10 on `fsdp_config` is opened only where `fsdp` is set.

    Run-time errors: `ValueError: Expected a string path to an existing deepspeed config, or a dictionary, or
    a base64 encoded string` for a DeepSpeed file, `FileNotFoundError` for the others.
    """
    for path, name in config.documents[0].missing:
        if not config.opens(path):
            continue
        setting, off = config.setting(*path), name.lower() in NULL_WORDS
        where = "it is looked for beside the file, in the folders above it, and in the working directory"
        yield Finding(
            setting,
            f"`{path[-1]}` names `{name}`, which does not exist",
            exception=refused_file(path, name),
            help=f"write `{path[-1]}: null` to leave it out, or the path of a file" if off else f"correct the path: {where}",
            fix=replace(setting, None, "write null", safe=False) if off else None,
        )


def refused_file(path: Path, name: str) -> str:
    """The exception for a missing file that a key names."""
    if "deepspeed" not in str(path[-1]):
        return f"FileNotFoundError: [Errno 2] No such file or directory: '{name}'"
    from cfglint.frameworks.huggingface.deepspeed_argument import refused_config

    return refused_config(name)


@warning(
    "RUN011",
    source="transformers 5.23.0 integrations/deepspeed.py reads whatever path is given; the limit is cfglint's own",
    kinds=("huggingface", "accelerate"),
    bad="output_dir: out\nper_device_train_batch_size: 4\ndeepspeed: /etc/hostname\n",
    good="output_dir: out\nper_device_train_batch_size: 4\n",
    example={"kind": "huggingface", "at": "/deepspeed"},
    about=FILE,
)
def file_outside_project(config: Config) -> Iterator[Finding]:
    """A configuration file that the config names is outside the project, so cfglint did not read it.

    The root of the project is the top of its git work tree, else the folder of the cfglint configuration, else
    the working directory; links are resolved first. The content of such a file is neither read nor shown, because a
    config from elsewhere could name any file of the machine.
    """
    for path, name in config.documents[0].outside:
        yield Finding(
            config.setting(*path),
            f"`{path[-1]}` names `{name}`, which is outside the project and was not read",
            note="its content is not checked",
            help="name the file on the command line too, or move it into the project",
        )
