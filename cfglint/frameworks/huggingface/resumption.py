"""What the Trainer does with a checkpoint, release by release.

The counters come from `trainer_state.json`, the length of the run from its own arguments. From 4.36.0 to 5.1.0 the micro batch of the file
replaces the argument, in later releases with `auto_find_batch_size` only; the intervals of the callbacks are those of the file from 4.32.0.
transformers 4.57.6 trainer.py:2284-2301, 5.1.0 trainer.py:2129-2146, 5.24.0 trainer.py:1554-1567, 1694-1713.
"""

from __future__ import annotations

from cfglint.batch.steps import run_end, training_length
from cfglint.data.checkpoint import last_checkpoint, named_checkpoint
from cfglint.evaluate import Unknown
from cfglint.findings.setting import DERIVED, Setting
from cfglint.frameworks.huggingface.batch import of, steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.resumption import FLAG, KEY, Resumption, given_checkpoint
from cfglint.launch.command import readable
from cfglint.launch.overrides import Override
from cfglint.source.annotations import ConfigValue

INTERVALS = ("logging_steps", "eval_steps", "save_steps")
INTERVALS_RESTORED = (4, 32)
MICRO_RESTORED = (4, 36)
MICRO_OF_ARGUMENTS = (5, 2)  # from here on the file's only with `auto_find_batch_size`
OF_OPTIMIZER = ("learning_rate", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon")


def resumption(config: TrainerConfig) -> Resumption | None:
    return continued(config, given_checkpoint(config.facts) or (named_in_config(config) if config.script_resumes else None))


def continued(config: TrainerConfig, found: Resumption | None) -> Resumption | None:
    if found is None or found.checkpoint is None or not config.parsed:
        return found
    checkpoint = found.checkpoint
    found.begin = checkpoint.number("global_step")
    found.own_micro_batch = config.batch.micro_batch.integer
    is_restored = config.version >= MICRO_RESTORED and (config.version < MICRO_OF_ARGUMENTS or config.arguments["auto_find_batch_size"])
    saved = checkpoint.number("train_batch_size") if is_restored else None
    found.micro_batch = saved or found.own_micro_batch
    keys = [config.batch_keys["micro_batch"]] if saved else []
    if config.version >= INTERVALS_RESTORED and checkpoint.state is not None:
        keys += [name for name in INTERVALS if checkpoint.state.get(name) is not None]
    if checkpoint.has_optimizer and config.makes_optimizer:
        keys += [name for name in OF_OPTIMIZER if config.has_field(name)]
    found.restored = tuple(keys)
    found.end = end(config, found)
    return found


def named_in_config(config: TrainerConfig) -> Resumption | None:
    """The checkpoint that the run names, true for the last one of its output folder; a program that was read hands it to `train`."""
    program, setting = config.facts.launch.program, of(config, KEY)
    value: ConfigValue = config.arguments[KEY] if config.arguments.known(KEY) else None
    is_passed = passes(config)
    if program is not None and len(program.trainer_calls) == 1:
        passed = program.trainer_calls[0].resumes
        if not isinstance(passed, Unknown):
            value, is_passed = passed, config.facts.complete and program.trainer_calls[0].is_certain
            if value != setting.value:
                setting = Setting((KEY,), value, DERIVED, program.trainer_calls[0].document, because=f"`train` in {program.path}")
    if value is True:
        return last_of_output(config, setting) or Resumption(setting, "", None, is_passed)
    if not isinstance(value, str) or not value:
        return None
    name = real(config, value)
    return Resumption(setting, name, named_checkpoint(name, config.documents[0].path), is_passed)


def real(config: TrainerConfig, path: str) -> str:
    """A path from the working directory, of one that the script computes from its own folder."""
    project = config.facts.launch.project
    return (project.real(path) if project is not None else None) or readable(path)


def last_of_output(config: TrainerConfig, setting: Setting, is_unasked: bool = False) -> Resumption | None:
    output = config.arguments["output_dir"]
    last = last_checkpoint(real(config, output), config.documents[0].path) if isinstance(output, str) and output else None
    return Resumption(setting, last.path, last, passes(config), is_unasked) if last is not None else None


def passes(config: TrainerConfig) -> bool:
    """Whether the argument is known to reach `Trainer.train`, which the script has to hand it to."""
    return config.facts.complete and config.facts.launch.program is None


def with_micro_batch(config: TrainerConfig, size: int | None) -> TrainerConfig:
    """The same run with another micro batch, as the Trainer sets it after everything else was built."""
    if size is None or size == config.batch.micro_batch.integer:
        return config
    override = Override(config.batch_keys["micro_batch"], [str(size)], FLAG, values=(size,))
    facts = config.facts.replace(overrides=(*config.facts.overrides, override), resume=None)
    return type(config)(config.documents, facts, config.kinds)


def end(config: TrainerConfig, found: Resumption) -> int | None:
    begin = found.begin
    if begin is None or found.micro_batch is None:
        return None
    resumed = with_micro_batch(config, found.micro_batch)
    run, args = steps(resumed), resumed.arguments
    if run.total is None:
        return None
    examples, accumulation = resumed.loaded()[0], resumed.batch.accumulation.integer
    if run.batches is None or examples is None or accumulation is None:
        return run.total if begin < run.total else None
    limit, epochs = args["max_steps"], args["num_train_epochs"]
    length = training_length(run.batches, accumulation, epochs=epochs, max_steps=int(limit), version=resumed.version)
    skips = not args["ignore_data_skip"]
    return run_end(run.batches, accumulation, examples, length, resumed.version, begin=begin, skips=skips)[0]
